#include "tools/command/json.hpp"

#include <nlohmann/json.hpp>

namespace kiln::command {
namespace {

using Json = nlohmann::ordered_json;
using harness::RunReport;
using harness::Timing;

Json times_json(const harness::Times& t) {
  return {{"median_ms", t.median()}, {"min_ms", t.least()}, {"max_ms", t.most()}, {"all_ms", t.milliseconds}};
}

Json cublas_json(const RunReport& report) {
  const Timing& t = *report.cuda->timing;
  if (!t.cublas) return {{"measured", false}, {"reason", t.no_cublas}};
  Json j = {{"measured", true},
            {"library", t.cublas->library},
            {"gemm", t.cublas->shown},
            {"algorithms", t.cublas->algorithms}};
  j.update(times_json(t.cublas->times));
  if (report.work && report.work->operations > 0) j["tflops"] = report.work->tera_operations(t.cublas->times.median());
  if (report.cublas)
    j.update({{"pass", report.cublas->pass},
              {"compared", report.cublas->elements},
              {"wrong", report.cublas->wrong},
              {"max_error", report.cublas->max_error}});
  return j;
}

Json state_json(const harness::DeviceState& s) {
  Json j = Json::object();
  if (s.sm_mhz) j = {{"sm_mhz", s.sm_mhz}, {"sm_max_mhz", s.sm_most_mhz}, {"memory_mhz", s.memory_mhz}};
  if (s.watts > 0) j.update({{"watts", s.watts}, {"watts_allowed", s.watts_allowed}});
  return j;
}

Json clocks_json(const std::vector<harness::LaunchClock>& clocks) {
  Json all = Json::array();
  for (const harness::LaunchClock& c : clocks)
    all.push_back({{"launch", c.launch + 1},
                   {"ghz", c.ghz},
                   {"nanoseconds", c.nanoseconds},
                   {"cycles", c.cycles()},
                   {"ctas", c.ctas},
                   {"sms", c.sms}});
  return all;
}

}  // namespace

Json timing_json(const RunReport& report) {
  if (!report.cuda || !report.cuda->timing) return nullptr;
  const Timing& t = *report.cuda->timing;
  Json j = times_json(t.times);
  j.update({{"repetitions", t.options.repetitions},
            {"warm_up", t.options.warm_up},
            {"copies", t.rotation.copies},
            {"copy_bytes", t.copy_bytes},
            {"filler_bytes", t.rotation.filler_bytes},
            {"l2_bytes", t.l2_bytes},
            {"restored", t.restored},
            {"l2", t.options.l2 == harness::L2State::cold ? "cold" : "warm"},
            {"clocks", state_json(t.state)}});
  if (t.options.clocks) j["launch_clocks"] = clocks_json(t.clocks);
  if (report.work) {
    j["counted"] = report.work->counted;
    if (report.work->operations > 0)
      j.update({{"operations", report.work->operations}, {"tflops", report.work->tera_operations(t.times.median())}});
    if (report.work->bytes_moved > 0)
      j.update({{"bytes_moved", report.work->bytes_moved}, {"gb_per_s", report.work->giga_bytes(t.times.median())}});
  }
  j["cublas"] = cublas_json(report);
  if (t.cublas && t.times.median() > 0) j["ratio"] = t.cublas->times.median() / t.times.median();
  return j;
}

}  // namespace kiln::command
