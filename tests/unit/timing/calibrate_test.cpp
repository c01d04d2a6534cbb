// Calibration with the simulator in the place of a GPU: what the microbenchmarks say of a chip that is known.
#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <map>

#include "harness/calibrate/calibrate.hpp"
#include "harness/calibrate/microbenchmark.hpp"
#include "harness/chip/chip_json.hpp"
#include "harness/ptxas/ptxas.hpp"
#include "ptx/diag/error.hpp"
#include "ptx/isa/launch_limits.hpp"
#include "tests/unit/timing/timed.hpp"

namespace kiln::test::calibrate_test {
namespace {

using timing::FactId;

// A chip's clock, one cluster of each launch; as for whole grids, what L2 gives it is its share. Each kernel is
// assembled too, where there is a ptxas.
class SimulatedMachine final : public harness::Machine {
 public:
  SimulatedMachine(const timing::Chip& chip, std::string target, bool whole_grids = false) : chip_(chip) {
    facts_.name = "a simulated " + chip.title;
    facts_.target = std::move(target);
    facts_.sms = unsigned(chip[FactId::sms]);
    facts_.max_clock = chip[FactId::max_clock];
    facts_.runs_whole_grids = whole_grids;
  }
  harness::MachineFacts facts() const override { return facts_; }

  std::vector<double> run(const std::string& ptx, launch::Contract& contract) override {
    assemble(ptx, contract);
    std::uint64_t bytes = 0;
    for (const launch::Buffer& b : contract.buffers) bytes += b.bytes.size();
    timing::Surroundings around{.hits_l2 = double(bytes) <= chip_[FactId::l2_reach], .values = false, .from_hbm = 1};
    // All CTAs of a launch get rows outside of the tensor, if one does.
    around.outside = {{"data", contract.launches.at(0).grid.volume() / chip_[FactId::sms]}};
    // Eight SMs ask for the same: four TPCs, in a GPC each.
    if (facts_.runs_whole_grids) around.given = {{"data", {0.5, 0.5}}};
    timing::TimedSchedule schedule(chip_, around);
    sim::Options options;
    options.schedule = &schedule;
    options.detect_races = false;
    test::Run r = test::run(ptx, contract, options, &schedule);
    if (r.result.outcome != sim::Outcome::finished) throw diag::InputError(r.findings());
    contract = r.contract;
    return std::vector<double>(contract.launches.size(), 1);
  }

 private:
  void assemble(const std::string& ptx, const launch::Contract& contract) const {
    static const harness::Ptxas ptxas = harness::find_ptxas();
    if (!ptxas.found()) return;
    diag::Sink sink;
    const auto source = std::make_shared<const diag::Source>("microbenchmark.ptx", ptx);
    const harness::Assembly a = harness::assemble(ptxas, source, *isa::parse_target(facts_.target), sink);
    if (a.status != harness::Assembly::Status::assembled) {
      for (const auto& d : sink.all()) MESSAGE(d.message);
      FAIL_CHECK(ptx);
    }
    // Else a launch is out of resources.
    for (const launch::Launch& l : contract.launches)
      for (const harness::EntryResources& e : a.entries)
        CHECK_MESSAGE(std::uint64_t(e.registers) * l.block.volume() <= isa::registers_per_cta, e.registers,
                      " registers for each of ", l.block.volume(), " threads");
  }

  const timing::Chip& chip_;
  harness::MachineFacts facts_{};
};

// A chip that there is not, all of whose latencies are longer: what is found was not there before.
timing::Chip made_up() {
  timing::Chip chip = harness::chip_of("h100");
  for (std::size_t k = 0; k < timing::fact_count; ++k)
    if (timing::facts[k].kind == timing::FactKind::cycles) chip.values[k].value *= 1.5;
  chip.values[std::size_t(FactId::copy_row)].value = 1;  // else rows decide where the port to L2 is measured
  for (double& cycles : chip.wgmma.interval) cycles *= 1.25;
  return chip;
}

// A latency is measured with the instructions around it.
bool agrees(const timing::FactInfo& info, double measured, double truth) {
  constexpr double of_value = 0.05, instructions = 16;
  const double latency = info.kind == timing::FactKind::cycles && truth > 12 ? instructions : 1;
  return std::abs(measured - truth) <= of_value * truth + latency;
}

TEST_CASE("the microbenchmarks find the times of the chip that runs them") {
  const timing::Chip truth = made_up();
  SimulatedMachine machine(truth, "sm_90a");
  const harness::Calibration c =
      harness::calibrate(machine, harness::chip_of("h100"), "2026-11-23", [](std::string_view) { return true; });
  for (const std::string& f : c.failures) FAIL_CHECK(f);
  int measured = 0;
  for (std::size_t k = 0; k < timing::fact_count; ++k) {
    const timing::Fact& f = c.chip.values[k];
    if (f.source != "here") continue;
    ++measured;
    CHECK_MESSAGE(agrees(timing::facts[k], f.value, truth.values[k].value), timing::facts[k].name, " came out as ",
                  f.value, ", is ", truth.values[k].value);
    CHECK(f.trust == timing::Trust::a);  // the simulator repeats itself
  }
  CHECK(measured >= 28);
  for (const FactId id : {FactId::try_wait_warp, FactId::copy_row_outside}) CHECK(c.chip.fact(id).source == "here");
  CHECK(c.chip.wgmma.source == "here");
  REQUIRE(c.chip.wgmma.n == truth.wgmma.n);
  for (std::size_t k = 0; k < truth.wgmma.n.size(); ++k)
    CHECK(c.chip.wgmma.interval[k] == doctest::Approx(truth.wgmma.interval[k]).epsilon(0.005));
}

// A chip as its GPCs: of a launch whose CTAs take an SM each it tells which clusters were there at once.
class GpcMachine final : public harness::Machine {
 public:
  explicit GpcMachine(std::vector<unsigned> sms) : gpcs_(std::move(sms)) {}
  harness::MachineFacts facts() const override {
    harness::MachineFacts f;
    f.name = "GPCs", f.target = "sm_90a";
    for (const unsigned sms : gpcs_) f.sms += sms;
    return f;
  }
  std::vector<double> run(const std::string&, launch::Contract& contract) override {
    const launch::Launch& l = contract.launches.at(0);
    ++launched_[l.cluster.x];
    std::uint64_t room = 0;
    for (const unsigned sms : gpcs_) room += sms / l.cluster.x;
    std::vector<std::uint64_t> words;
    for (std::uint64_t cta = 0; cta < l.grid.x; ++cta) {
      const std::uint64_t begins = cta / l.cluster.x / room * 1000 + 1, ends = begins + 900;
      words.insert(words.end(), {0, begins, ends, begins, ends});
    }
    std::vector<std::uint8_t>& out = contract.buffers.at(0).bytes;
    REQUIRE(out.size() == words.size() * 8);
    std::memcpy(out.data(), words.data(), out.size());
    return {1};
  }

  /// How often, by the CTAs of a cluster.
  const std::map<unsigned, int>& launched() const { return launched_; }

 private:
  std::vector<unsigned> gpcs_;
  std::map<unsigned, int> launched_{};
};

harness::Calibration only(harness::Machine& machine, std::string_view probe) {
  return harness::calibrate(machine, harness::chip_of("h100"), "2026-11-29",
                            [&](std::string_view name) { return name == probe; });
}

TEST_CASE("clusters of 8 and of 16 CTAs count the GPCs, also where one has fewer than 16 SMs") {
  for (const std::vector<unsigned>& sms : {std::vector<unsigned>{18, 18, 18, 18, 18, 18, 16, 8},
                                           {16, 16, 16, 16, 16, 16, 18, 18},
                                           {16, 16, 14, 18, 10, 16, 16}}) {
    GpcMachine machine(sms);
    const timing::Fact f = only(machine, "clusters at once, and GPCs").chip.fact(FactId::gpcs);
    CHECK(f.source == "here");
    CHECK(f.value == double(sms.size()));
    CHECK(machine.launched() == std::map<unsigned, int>{{2, 1}, {4, 1}, {8, 1}, {16, 1}});
  }
}

TEST_CASE("what the SMs of a cluster take from L2 is measured beside SMs of none") {
  timing::Chip truth = made_up();
  truth.values[std::size_t(FactId::cluster_ingest)].value = 1.75;
  SimulatedMachine machine(truth, "sm_90a", true);
  const timing::Fact f = only(machine, "L2 to clusters").chip.fact(FactId::cluster_ingest);
  CHECK(f.source == "here");
  CHECK(f.value == doctest::Approx(1.75).epsilon(0.03));
}

TEST_CASE("what there is no time for is named, and stays as it was") {
  const timing::Chip truth = made_up(), base = harness::chip_of("h100");
  SimulatedMachine machine(truth, "sm_90a");
  int probes = 0;
  const harness::Calibration c =
      harness::calibrate(machine, base, "2026-11-28", [&](std::string_view) { return ++probes <= 1; });
  CHECK(c.chip.fact(FactId::alu_latency).source == "here");
  CHECK(c.chip.fact(FactId::wake).value == base[FactId::wake]);
  CHECK(int(c.failures.size()) == probes - 1);
  CHECK(c.failures.front() == "shared memory, latency: there was no time left for it");
}

TEST_CASE("what is measured is written, and can be read again") {
  timing::Chip chip = harness::chip_of("h200");
  chip.values[std::size_t(FactId::wake)].spread = 1.5;
  chip.observed.push_back({"a number", "cycles", 12.5, 0.25});
  const timing::Chip again = harness::read_chip(harness::write_chip(chip), "mine.json");
  CHECK(harness::write_chip(again) == harness::write_chip(chip));
  CHECK(again.fact(FactId::wake).spread == 1.5);
  CHECK(again.fact(FactId::wake).source == chip.fact(FactId::wake).source);
  CHECK(again.observed.at(0).value == 12.5);
  CHECK(harness::write_chip(harness::read_chip(harness::write_chip(b200()), "b.json")) == harness::write_chip(b200()));
}

TEST_CASE("the middle, the spread and the line of samples") {
  const harness::Figure f = harness::figure_of({5, 1, 3, 2, 4});
  CHECK(f.value == 3);
  CHECK(f.spread == 1);
  CHECK(harness::figure_of({7}).spread == 0);
  CHECK_THROWS_AS(harness::figure_of({}), diag::InputError);
  const auto [at_none, slope] = harness::line_through({{1, 5}, {2, 7}, {4, 11}});
  CHECK(at_none == doctest::Approx(3));
  CHECK(slope == doctest::Approx(2));
}

}  // namespace
}  // namespace kiln::test::calibrate_test
