#include "harness/tune/tune_cache.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "harness/host/files.hpp"
#include "harness/json/json_node.hpp"

namespace kiln::harness {
namespace {

constexpr std::uint64_t form = 1;  // of the document
constexpr std::uint64_t most_extent = std::uint64_t{1} << 31;
constexpr std::size_t most_entries = 1'000'000;

double positive(const JsonNode& node) {
  const double value = node.number();
  if (!(value > 0)) node.fail("must be above 0; got {}", node.shown());
  return value;
}

const std::string& word(const JsonNode& node) {
  if (node.text().empty()) node.fail("must not be empty");
  return node.text();
}

// "2026-11-28".
const std::string& day(const JsonNode& node) {
  const std::string& text = node.text();
  bool good = text.size() == 10;
  for (std::size_t i = 0; good && i < text.size(); ++i)
    good = i == 4 || i == 7 ? text[i] == '-' : text[i] >= '0' && text[i] <= '9';
  if (!good) node.fail("must be a day such as 2026-11-28; got {}", node.shown());
  return text;
}

TuneKey key_of(const JsonNode& node) {
  const auto extent = [&](const char* name) { return node.at(name).whole(1, most_extent); };
  return {word(node.at("type")), extent("m"), extent("n"), extent("k"), word(node.at("target")), word(node.at("chip"))};
}

TuneMeasurement measurement_of(const JsonNode& node) {
  node.expect_object({"device", "us", "cublas_us", "repetitions"});
  TuneMeasurement m{word(node.at("device")), positive(node.at("us")), 0, node.at("repetitions").whole(1)};
  node.when("cublas_us", [&](const JsonNode& us) { m.cublas_us = positive(us); });
  return m;
}

TunedStrategy strategy_of(const JsonNode& node) {
  TunedStrategy t;
  t.kernel = word(node.at("kernel"));
  node.at("options").each_member(
      [&](const std::string& option, const JsonNode& value) { t.options.emplace_back(option, word(value)); });
  t.kiln = word(node.at("kiln")), t.date = day(node.at("date"));
  t.clock_ghz = positive(node.at("clock_ghz"));
  t.estimated_us = positive(node.at("estimated_us"));
  t.predicted_us = positive(node.at("predicted_us"));
  t.least_us = positive(node.at("least_us")), t.most_us = positive(node.at("most_us"));
  if (t.least_us > t.predicted_us || t.predicted_us > t.most_us)
    node.fail("must have least_us <= predicted_us <= most_us");
  t.binds = word(node.at("binds"));
  t.legal = node.at("legal").whole(1), t.predicted = node.at("predicted").whole(1, t.legal);
  node.when("measured", [&](const JsonNode& m) { t.measured = measurement_of(m); });
  return t;
}

bool is_better(const TunedStrategy& x, const TunedStrategy& y) {
  if (x.measured.has_value() != y.measured.has_value()) return x.measured.has_value();
  return x.date > y.date;
}

// Others wait until it is gone.
class FileLock {
 public:
  explicit FileLock(const std::string& path) : file_(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666)) {
    if (file_ < 0 || ::flock(file_, LOCK_EX) != 0) {
      const int error = errno;
      if (file_ >= 0) ::close(file_);
      diag::refuse("{}: cannot be locked: {}", path, std::strerror(error));
    }
  }
  ~FileLock() { ::close(file_); }
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;

 private:
  int file_;
};

}  // namespace

std::string text(const TuneKey& key) {
  return fmt::format("{} {}x{}x{} for {} on {}", key.type, key.m, key.n, key.k, key.target, key.chip);
}

TuneCache TuneCache::read(std::string_view json, const std::string& document) {
  const Json parsed = parse_json(json, document);
  const JsonNode root(parsed, document);
  root.expect_object({"tune_cache", "entries"});
  root.at("tune_cache").whole(form, form);
  TuneCache cache;
  root.at("entries").each_element(0, most_entries, [&](std::size_t, const JsonNode& node) {
    node.expect_object({"type", "m", "n", "k", "target", "chip", "kernel", "options", "kiln", "date", "clock_ghz",
                        "estimated_us", "predicted_us", "least_us", "most_us", "binds", "legal", "predicted",
                        "measured"});
    const TuneKey key = key_of(node);
    if (!cache.all_.emplace(key, strategy_of(node)).second) node.fail("{} is there twice", text(key));
  });
  return cache;
}

TuneCache TuneCache::load(const std::string& path) {
  const std::vector<std::uint8_t> bytes = read_file(path);
  return read({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, path);
}

Json entry_json(const TuneKey& key, const TunedStrategy& t) {
  Json options = Json::object();
  for (const auto& [option, value] : t.options) options[option] = value;
  Json j = {{"type", key.type},
            {"m", key.m},
            {"n", key.n},
            {"k", key.k},
            {"target", key.target},
            {"chip", key.chip},
            {"kernel", t.kernel},
            {"options", options},
            {"kiln", t.kiln},
            {"date", t.date},
            {"clock_ghz", t.clock_ghz},
            {"estimated_us", t.estimated_us},
            {"predicted_us", t.predicted_us},
            {"least_us", t.least_us},
            {"most_us", t.most_us},
            {"binds", t.binds},
            {"legal", t.legal},
            {"predicted", t.predicted}};
  if (const auto& m = t.measured) {
    j["measured"] = {{"device", m->device}, {"us", m->us}, {"repetitions", m->repetitions}};
    if (m->cublas_us > 0) j["measured"]["cublas_us"] = m->cublas_us;
  }
  return j;
}

// An entry is a line, so that two caches can be compared.
std::string TuneCache::json() const {
  std::string out = fmt::format("{{\"tune_cache\": {}, \"entries\": [", form);
  const char* between = "\n";
  for (const auto& [key, found] : all_) out += between + entry_json(key, found).dump(), between = ",\n";
  return out + "\n]}\n";
}

const TunedStrategy* TuneCache::find(const TuneKey& key) const {
  const auto found = all_.find(key);
  return found == all_.end() ? nullptr : &found->second;
}

void TuneCache::merge(const TuneCache& other) {
  for (const auto& [key, theirs] : other.all_) {
    const auto [mine, is_new] = all_.emplace(key, theirs);
    if (!is_new && is_better(theirs, mine->second)) mine->second = theirs;
  }
}

void add_to_cache(const std::string& path, const std::map<TuneKey, TunedStrategy>& found) {
  if (const std::string folder = std::filesystem::path(path).parent_path().string(); !folder.empty())
    make_folder(folder);
  const FileLock lock(path + ".lock");
  TuneCache cache = std::filesystem::exists(path) ? TuneCache::load(path) : TuneCache();
  for (const auto& [key, strategy] : found) cache.set(key, strategy);
  write_file(path, cache.json());
}

}  // namespace kiln::harness
