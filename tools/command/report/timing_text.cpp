#include "tools/command/report/timing_text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "tools/command/report/console.hpp"

namespace kiln::command {
namespace {

using harness::CublasTiming;
using harness::RunReport;
using harness::Timing;

std::string device_text(const harness::CudaResult& r) {
  std::string out = fmt::format("{} ({})", r.device, r.architecture);
  if (!r.driver.empty()) out += ", driver " + r.driver;
  out += fmt::format(", CUDA {}.{}", r.cuda_version / 1000, r.cuda_version % 1000 / 10);
  const harness::DeviceState& s = r.timing->state;
  if (s.sm_mhz) out += fmt::format("; SM {} of {} MHz, memory {} MHz", s.sm_mhz, s.sm_most_mhz, s.memory_mhz);
  if (s.watts > 0) out += fmt::format(", {:.0f} of {:.0f} W", s.watts, s.watts_allowed);
  return out;
}

std::string method_text(const Timing& t) {
  std::string out = fmt::format("median of {} repetitions after {} by CUDA events; {} cop{} of {} in turn, L2 of {}",
                                t.times.milliseconds.size(), t.options.warm_up, t.rotation.copies,
                                t.rotation.copies == 1 ? "y" : "ies", byte_size(t.copy_bytes), byte_size(t.l2_bytes));
  if (t.options.l2 == harness::L2State::warm) out += ", which holds what the repetition before left";
  if (t.rotation.filler_bytes) out += fmt::format(", {} written in between", byte_size(t.rotation.filler_bytes));
  if (!t.restored.empty()) out += fmt::format("; restored before each: {}", fmt::join(t.restored, ", "));
  return out;
}

// Of one launch, the middle of what the copies say.
std::string clock_text(const Timing& t) {
  std::vector<harness::LaunchClock> first;
  for (const harness::LaunchClock& c : t.clocks)
    if (c.launch == 0) first.push_back(c);
  if (first.empty()) return "no launch noted its clock";
  std::sort(first.begin(), first.end(), [](const auto& x, const auto& y) { return x.ghz < y.ghz; });
  const harness::LaunchClock& middle = first[first.size() / 2];
  return fmt::format("{:.4g} GHz ({:.4g} to {:.4g}) by clocks inside the first launch, {:.0f} cycles on {} SMs",
                     middle.ghz, first.front().ghz, first.back().ghz, middle.cycles(), middle.sms);
}

std::string cublas_text(const RunReport& report) {
  const Timing& t = *report.cuda->timing;
  if (!t.cublas) return "not measured: " + t.no_cublas;
  const CublasTiming& c = *t.cublas;
  std::string out =
      fmt::format("{}, {}, fastest of {} algorithms, by turns with the kernel; {:.4g} ms, {:.4g} to {:.4g}", c.library,
                  c.shown, c.algorithms, c.times.median(), c.times.least(), c.times.most());
  if (report.cublas)
    out += report.cublas->pass
               ? fmt::format("; {} elements of its sums are right", grouped(report.cublas->elements))
               : fmt::format("; {} of {} elements of its sums are off by more than is allowed here, at most {:.3g}",
                             grouped(report.cublas->wrong), grouped(report.cublas->elements), report.cublas->max_error);
  return out;
}

// Error and what is allowed, of the element nearest to its bound.
std::pair<std::string, std::string> error_texts(const RunReport& report) {
  if (report.comparisons.empty()) return {"", ""};
  const harness::Comparison& c = report.comparisons.front();
  const std::string wrong = c.pass ? "" : "WRONG: ";
  if (c.expectation.kind == launch::Expectation::Kind::copy) return {fmt::format("{}{} elements", wrong, c.wrong), "0"};
  return {fmt::format("{}{:.3g}", wrong, c.error),
          fmt::format("{:.3g}{}", c.bound,
                      c.whole ? fmt::format(" ({} of {} elements)", grouped(c.elements), grouped(c.whole)) : "")};
}

std::string table_text(const RunFacts& facts, const RunReport& report) {
  const Timing& t = *report.cuda->timing;
  const harness::Work work = report.work.value_or(harness::Work{});
  const bool copies = work.operations <= 0 && work.bytes_moved > 0;
  const double ms = t.times.median();
  const std::string speed = copies                ? fmt::format("{:.4g}", work.giga_bytes(ms))
                            : work.operations > 0 ? fmt::format("{:.4g}", work.tera_operations(ms))
                                                  : "";
  std::string beside, ratio;
  if (t.cublas && work.operations > 0) {
    beside = fmt::format("{:.4g}", work.tera_operations(t.cublas->times.median()));
    ratio = fmt::format("{:.3f}", t.cublas->times.median() / ms);
  }
  const auto [error, allowed] = error_texts(report);
  return fmt::format(
      "| kernel | sizes | median ms | least to most | {} | cuBLAS | ratio | error | allowed |\n"
      "|---|---|--:|--:|--:|--:|--:|--:|--:|\n"
      "| {} | {} | {:.4g} | {:.4g} to {:.4g} | {} | {} | {} | {} | {} |\n",
      copies ? "GB/s" : "TFLOP/s", facts.name, facts.sizes.empty() ? work.sizes : facts.sizes, ms, t.times.least(),
      t.times.most(), speed, beside, ratio, error, allowed);
}

}  // namespace

std::string timing_text(const RunFacts& facts, const RunReport& report) {
  if (!report.cuda || !report.cuda->timing) return {};
  std::string counted;
  if (report.work && !report.work->counted.empty())
    counted = fmt::format("  {:<9}{:>8}  {}\n", "counted", "", report.work->counted);
  if (report.cuda->timing->options.clocks)
    counted += fmt::format("  {:<9}{:>8}  {}\n", "clocks", "", clock_text(*report.cuda->timing));
  return fmt::format("  {:<9}{:>8}  {}\n  {:<9}{:>8}  {}\n{}  {:<9}{:>8}  {}\n\n{}\n", "measured", "",
                     device_text(*report.cuda), "how", "", method_text(*report.cuda->timing), counted, "cublas", "",
                     cublas_text(report), table_text(facts, report));
}

}  // namespace kiln::command
