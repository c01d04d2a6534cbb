#include "tools/command/compare_time.hpp"

#include <nlohmann/json.hpp>

#include "harness/chip/chip_json.hpp"
#include "ptx/diag/refuse.hpp"
#include "ptx/parse/parse.hpp"
#include "tools/command/prediction.hpp"

namespace kiln::command {
namespace {

std::string chip_that_ran(const std::string& device) {
  if (const auto chip = harness::chip_of_device(device)) return *chip;
  diag::refuse("--compare-time: no chip file is for {}; give one with --chip (kiln time --calibrate writes it)",
               device);
}

}  // namespace

ComparedTime compare_time(const harness::RunReport& report, const diag::SourcePtr& ptx,
                          const launch::Contract& contract, const std::string& folder, const std::string& chip_name) {
  const harness::Timing& timing = *report.cuda->timing;
  const timing::Chip chip = harness::chip_of(chip_name.empty() ? chip_that_ran(report.cuda->device) : chip_name);
  timing::Question question;
  question.l2 = timing.options.l2 == harness::L2State::warm ? timing::L2::warm : timing::L2::cold;
  diag::Sink sink;
  const ir::Module module = parse::parse(ptx, sink);
  const timing::Prediction p = predict_launches(module, contract, folder, chip, question, sink);
  if (p.outcome != sim::Outcome::finished)
    diag::refuse("--compare-time: no prediction: the run of the first cluster did not end ({})", spelling(p.outcome));
  ComparedTime c;
  c.chip = chip.title;
  c.launch_us = p.launch_us * double(p.launches.size());
  c.predicted_us = p.seconds.value * 1e6, c.least_us = p.seconds.least * 1e6, c.most_us = p.seconds.most * 1e6;
  c.clock = p.clock, c.cycles = p.cycles.value;
  c.measured_us = timing.times.median() * 1e3;
  if (timing.state.sm_mhz) c.measured_cycles = (c.measured_us - c.launch_us) * timing.state.sm_mhz;
  return c;
}

std::vector<RoleWait> compare_waits(const harness::RunReport& report, const std::string& profile,
                                    const diag::SourcePtr& ptx, const launch::Contract& contract,
                                    const std::string& folder, const std::string& chip_name) {
  const timing::Chip chip = harness::chip_of(chip_name.empty() ? chip_that_ran(report.cuda->device) : chip_name);
  diag::Sink sink;
  return role_waits(profile, predicted_profile(parse::parse(ptx, sink), contract, folder, chip, {}, ptx->name()));
}

std::string compared_text(const ComparedTime& c) {
  std::string text = fmt::format(
      "predicted on {}: {:.1f} us ({:.1f} to {:.1f}) at {:.4g} GHz and {:.1f} us for launches: {:+.1f} % of the median "
      "measured, {:.1f} us\n",
      c.chip, c.predicted_us, c.least_us, c.most_us, c.clock, c.launch_us,
      100 * ((c.predicted_us + c.launch_us) / c.measured_us - 1), c.measured_us);
  if (c.measured_cycles > 0)
    text += fmt::format("predicted cycles: {:.0f}, {:+.1f} % of {:.0f} measured\n", c.cycles,
                        100 * (c.cycles / c.measured_cycles - 1), c.measured_cycles);
  return text;
}

std::string with_comparison(const std::string& summary, const ComparedTime& c) {
  auto j = nlohmann::ordered_json::parse(summary);
  j["compared_time"] = {
      {"chip", c.chip},       {"predicted_us", c.predicted_us}, {"least_us", c.least_us},
      {"most_us", c.most_us}, {"launch_us", c.launch_us},       {"clock_ghz", c.clock},
      {"cycles", c.cycles},   {"measured_us", c.measured_us},   {"measured_cycles", c.measured_cycles}};
  return j.dump(2) + "\n";  // the summary has the version
}

}  // namespace kiln::command
