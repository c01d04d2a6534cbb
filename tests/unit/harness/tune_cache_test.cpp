// The cache of `kiln tune`: what is written is read again, what is broken is refused with its place, and of two entries
// for one product the better stays.
#include <doctest/doctest.h>

#include <string>
#include <thread>
#include <vector>

#include "harness/host/files.hpp"
#include "harness/tune/tune_cache.hpp"
#include "ptx/diag/error.hpp"

namespace {

using namespace kiln::harness;

const TuneKey key{"bf16", 128, 4096, 4096, "sm_100a", "b200"};

TunedStrategy strategy() {
  TunedStrategy t;
  t.kernel = "gemm_f16";
  t.options = {{"tile", "256x128x64"}, {"stages", "7"}, {"ctas", "148"}};
  t.kiln = "0.1.0", t.date = "2026-11-28";
  t.clock_ghz = 1.8125;
  t.estimated_us = 20.5, t.predicted_us = 21.25, t.least_us = 20, t.most_us = 24.75;
  t.binds = "latency; busiest: HBM";
  t.legal = 5000, t.predicted = 12;
  return t;
}

TunedStrategy measured(double us) {
  TunedStrategy t = strategy();
  t.measured = TuneMeasurement{"NVIDIA H200", us, 19.5, 60};
  return t;
}

std::string refusal(const std::string& text) {
  try {
    (void)TuneCache::read(text, "t.json");
  } catch (const kiln::diag::InputError& error) {
    return error.what();
  }
  return "accepted";
}

// The cache of one entry with a piece of its text replaced.
std::string broken(const std::string& from, const std::string& to) {
  TuneCache cache;
  cache.set(key, measured(18));
  std::string text = cache.json();
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return refusal(text.replace(at, from.size(), to));
}

}  // namespace

TEST_CASE("a cache that is written and read is the same") {
  TuneCache cache;
  cache.set(key, strategy());
  cache.set({"e4m3", 1, 8, 16, "sm_90a", "h200"}, measured(18.125));
  const TuneCache again = TuneCache::read(cache.json(), "t.json");
  CHECK(again.all() == cache.all());
  REQUIRE(again.find(key));
  CHECK(*again.find(key) == strategy());
  CHECK_FALSE(again.find({"bf16", 128, 4096, 4096, "sm_100a", "mine"}));
  CHECK(TuneCache::read(TuneCache().json(), "t.json").all().empty());
}

TEST_CASE("a broken cache is refused with the place and what must stand there") {
  CHECK(broken("\"m\":128", "\"m\":0") == "t.json: /entries/0/m: must be a whole number from 1 to 2147483648; got 0");
  CHECK(broken("\"us\":18.0", "\"us\":-1") == "t.json: /entries/0/measured/us: must be above 0; got -1");
  CHECK(broken("\"date\":\"2026-11-28\"", "\"date\":\"28 Nov\"") ==
        "t.json: /entries/0/date: must be a day such as 2026-11-28; got \"28 Nov\"");
  CHECK(broken("\"stages\":\"7\"", "\"stages\":7") == "t.json: /entries/0/options/stages: must be a string; got 7");
  CHECK(broken("\"kernel\"", "\"kernal\"").starts_with("t.json: /entries/0/kernal: unknown key; known are type, m"));
  CHECK(broken("\"least_us\":20.0", "\"least_us\":22.0") ==
        "t.json: /entries/0: must have least_us <= predicted_us <= most_us");
  CHECK(broken("\"legal\":5000", "\"legal\":11") ==
        "t.json: /entries/0/predicted: must be a whole number from 1 to 11; got 12");
  CHECK(refusal("{\"tune_cache\": 2, \"entries\": []}") ==
        "t.json: /tune_cache: must be a whole number from 1 to 1; got 2");
  CHECK(refusal("{\"entries\": []}") == "t.json: /: \"tune_cache\" is missing");
  CHECK(refusal("{\"tune_cache\": 1, \"entries\": [").starts_with("t.json:1:"));
  TuneCache cache;
  cache.set(key, strategy());
  std::string twice = cache.json();
  const std::size_t begin = twice.find("\n{"), end = twice.find("\n]");
  twice.insert(end, "," + twice.substr(begin, end - begin));
  CHECK(refusal(twice) == "t.json: /entries/1: bf16 128x4096x4096 for sm_100a on b200 is there twice");
}

TEST_CASE("of two entries for a product, the one that was measured stays, or else the newer one") {
  TunedStrategy newer = strategy();
  newer.date = "2026-12-01", newer.kernel = "gemm_v7";
  TuneCache old, fresh, gpu;
  old.set(key, strategy()), fresh.set(key, newer), gpu.set(key, measured(18));
  const auto joined = [](TuneCache to, const TuneCache& from) {
    to.merge(from);
    return *to.find(key);
  };
  CHECK(joined(old, fresh) == newer);
  CHECK(joined(fresh, old) == newer);
  CHECK(joined(fresh, gpu) == measured(18));
  CHECK(joined(gpu, fresh) == measured(18));
}

TEST_CASE("processes that add to one file at the same time lose nothing") {
  const TemporaryFolder folder;
  const std::string path = folder.file("deep/tune.json");
  std::vector<std::thread> writers;
  for (std::uint64_t m = 1; m <= 8; ++m)
    writers.emplace_back([&, m] {
      TuneKey mine = key;
      mine.m = m;
      add_to_cache(path, {{mine, strategy()}});
    });
  for (std::thread& t : writers) t.join();
  CHECK(TuneCache::load(path).all().size() == 8);
}
