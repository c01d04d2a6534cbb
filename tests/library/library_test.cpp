// Every kernel of the table runs: on four shapes or more its result is right and, bit for bit, the one in golden.json,
// which both compilers and every processor must give; on small ones in 200 schedules. Nothing is reported. How its
// threads synchronise is proven without running it, for every launch; where a line says "proven": "launch", for its own,
// because there are too many ways for every one.
//
// A kernel that is new, or rightly gives another result, gets its line from a run with KILN_GOLDEN=FILE, which writes
// what came out to FILE; what it leaves on sm_90a ("sm_90a") from one with KILN_GOLDEN_SM_90A=FILE. KILN_SCHEDULES=1000
// runs so many schedules of each kernel, or a few more.
#include <doctest/doctest.h>

#include <fmt/format.h>

#include <array>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "dsl/entry.hpp"
#include "emit/emit.hpp"
#include "harness/compare/compare.hpp"
#include "harness/problem/fill.hpp"
#include "ptx/diag/render.hpp"
#include "ptx/parse/parse.hpp"
#include "sim/simulate.hpp"
#include "verifier/explore.hpp"
#include "verifier/verify.hpp"

namespace {

using namespace kiln;
using Json = nlohmann::ordered_json;

constexpr int least_schedules = 200;
constexpr std::size_t least_shapes = 4;
constexpr sim::Strategy strategies[] = {sim::Strategy::random, sim::Strategy::adversarial, sim::Strategy::pct};

Json golden() {
  std::ifstream in(KILN_SOURCE_DIR "/tests/library/golden.json");
  return Json::parse(in);
}

// A kernel at one shape: its text as a user would keep it, and its problem with inputs.
struct Problem {
  std::shared_ptr<const diag::Source> text;
  ir::Module module;
  launch::Contract contract;
};

// A number, extents in a list, or a string of numbers, one for each of several problems.
dsl::Size size(const Json& value) {
  if (value.is_string()) {
    std::istringstream text(value.get<std::string>());
    std::vector<std::uint64_t> numbers;
    for (std::string number; std::getline(text, number, ',');) numbers.push_back(std::stoull(number));
    return dsl::Size::list(std::move(numbers));
  }
  if (!value.is_array()) return value.get<std::uint64_t>();
  const auto extents = value.get<std::array<std::uint64_t, 3>>();
  return {extents[0], extents[1], extents[2]};
}

Problem problem(const dsl::Entry& entry, const Json& shape, isa::Target target) {
  dsl::Sizes sizes = dsl::standard_sizes(entry);
  for (const auto& item : shape.items()) {  // no structured binding: clang 14 does not let the macro's lambda see one
    REQUIRE_MESSAGE(sizes.count(item.key()), "golden.json: ", entry.name, " has no option --", item.key());
    sizes[item.key()] = size(item.value());
  }
  const dsl::Kernel kernel = entry.build(target, sizes);
  diag::Sink sink;
  const auto verified = verifier::verify(kernel.module, sink);
  REQUIRE(verified);
  const auto text = std::make_shared<const diag::Source>("kernel.ptx", emit::emit(*verified));
  Problem p{text, parse::parse(text, sink), entry.problem(kernel, sizes)};
  harness::fill(p.contract);
  return p;
}

Problem problem(const dsl::Entry& entry, const Json& shape) { return problem(entry, shape, entry.targets[0]); }

// The outputs in 16 hexadecimal digits (FNV-1a).
std::string digest(const launch::Contract& contract) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const launch::Expectation& e : contract.expectations)
    for (const std::uint8_t byte : contract.find(e.output)->bytes) hash = (hash ^ byte) * 0x100000001b3;
  return fmt::format("{:016x}", hash);
}

// Runs the problem; the contract then holds the results.
launch::Contract run(const Problem& p, std::uint64_t seed, sim::Strategy strategy) {
  launch::Contract contract = p.contract;
  sim::Options options;
  options.seed = seed;
  options.strategy = strategy;
  diag::Sink sink;
  const sim::Result result = sim::simulate(p.module, contract, options, sink);
  INFO(diag::render_text(sink));
  CHECK(result.outcome == sim::Outcome::finished);
  // A pair on sm_90a gives slots back without the scope that PTX asks for (docs/hopper.md).
  const bool hopper = p.module.target() == isa::sm_90a;
  for (const diag::Diagnostic& d : sink.all()) CHECK((hopper && d.slug == "mbarrier-scope"));
  return contract;
}

void check_right(const launch::Contract& contract) {
  CHECK_FALSE(contract.expectations.empty());
  for (const launch::Expectation& e : contract.expectations) {
    const harness::Comparison c = harness::compare(contract, e);
    INFO(e.output, ": ", c.wrong, " of ", c.elements, " wrong; got ", c.got, ", want ", c.want);
    CHECK(c.pass);
  }
}

}  // namespace

TEST_CASE("every kernel gives the right result, and the same bits as always, on every shape") {
  Json known = golden(), found = Json::object();
  for (const dsl::Entry& entry : dsl::kernel_table()) {
    const std::string name(entry.name);
    CAPTURE(name);
    REQUIRE_MESSAGE(known.contains(name), "tests/library/golden.json has no shapes for this kernel");
    CHECK(known[name].size() >= least_shapes);
    for (const Json& one : known[name]) {
      const std::string shape = one["shape"].dump();
      CAPTURE(shape);
      const launch::Contract contract = run(problem(entry, one["shape"]), 1, sim::Strategy::random);
      check_right(contract);
      CHECK(one["result"].get<std::string>() == digest(contract));
      Json line = one;
      line["result"] = digest(contract);
      found[name].push_back(line);
    }
  }
  if (const char* path = std::getenv("KILN_GOLDEN")) std::ofstream(path) << found.dump(1) << '\n';
}

TEST_CASE("every kernel gives the same bits in 200 schedules, and nothing is reported in any") {
  Json known = golden();
  const char* wanted = std::getenv("KILN_SCHEDULES");
  const int times = wanted ? (std::atoi(wanted) + least_schedules - 1) / least_schedules : 1;
  CHECK_MESSAGE(times >= 1, "KILN_SCHEDULES is a number, 1 at least");
  for (const dsl::Entry& entry : dsl::kernel_table()) {
    const std::string name(entry.name);
    CAPTURE(name);
    int run_so_far = 0;
    for (const Json& one : known[name]) {
      if (!one.contains("schedules")) continue;
      const std::string shape = one["shape"].dump();
      CAPTURE(shape);
      const Problem p = problem(entry, one["shape"]);
      for (int seed = 2; seed < 2 + times * one["schedules"].get<int>(); ++seed, ++run_so_far) {
        CAPTURE(seed);
        const launch::Contract contract = run(p, std::uint64_t(seed), strategies[seed % std::size(strategies)]);
        REQUIRE(digest(contract) == one["result"].get<std::string>());
      }
    }
    CHECK(run_so_far >= times * least_schedules);
  }
}

TEST_CASE("every kernel that sm_90a can run gives the right result there, the same bits as always, in any schedule") {
  Json known = golden();
  Json found = Json::object();
  int kernels = 0;
  for (const dsl::Entry& entry : dsl::kernel_table()) {
    if (!std::count(entry.targets.begin(), entry.targets.end(), isa::sm_90a)) continue;
    ++kernels;
    const std::string name(entry.name);
    CAPTURE(name);
    for (const Json& one : known[name]) {
      const std::string shape = one["shape"].dump();
      CAPTURE(shape);
      const Problem p = problem(entry, one["shape"], isa::sm_90a);
      const launch::Contract first = run(p, 1, sim::Strategy::random);
      check_right(first);
      CHECK(one.value("sm_90a", "") == digest(first));
      found[name + shape] = digest(first);
      if (!one.contains("schedules")) continue;
      diag::Sink explored;
      verifier::check_synchronisation(p.module, explored, &p.contract);
      INFO(diag::render_text(explored));
      CHECK_FALSE(explored.incomplete());
      // Of a map that the kernel itself makes even a launch may not say the box: that is named, and is no finding.
      const auto is_named = [](const diag::Diagnostic& d) {
        const bool is_note = d.severity == diag::Severity::note;
        return is_note && d.message.find("have a map in memory, of whose box") != std::string::npos;
      };
      for (const diag::Diagnostic& d : explored.all()) CHECK((d.slug == "mbarrier-scope" || is_named(d)));
      for (int seed = 2; seed < 20; ++seed) {
        CAPTURE(seed);
        REQUIRE(digest(run(p, std::uint64_t(seed), strategies[seed % std::size(strategies)])) == digest(first));
      }
    }
  }
  CHECK(kernels >= 20);
  if (const char* path = std::getenv("KILN_GOLDEN_SM_90A")) std::ofstream(path) << found.dump(1) << '\n';
}

TEST_CASE("the synchronisation of every kernel is proven for every launch") {
  Json known = golden();
  std::set<std::string> proven;  // texts: shapes share theirs
  for (const dsl::Entry& entry : dsl::kernel_table()) {
    const std::string name(entry.name);
    CAPTURE(name);
    for (const Json& one : known[name]) {
      const std::string shape = one["shape"].dump();
      CAPTURE(shape);
      const Problem p = problem(entry, one["shape"]);
      if (!proven.insert(std::string(p.text->text())).second) continue;
      const bool for_launch = one.value("proven", "") == "launch";
      CHECK((!for_launch || one.contains("schedules")));
      diag::Sink sink;
      verifier::check_synchronisation(p.module, sink, for_launch ? &p.contract : nullptr);
      INFO(diag::render_text(sink));
      CHECK(diag::exit_code(sink, true) == 0);
    }
  }
}
