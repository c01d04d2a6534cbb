#include "tools/command/json.hpp"

#include <nlohmann/json.hpp>

#include "ptx/diag/render_json.hpp"
#include "tools/command/report/console.hpp"
#include "tools/command/report/judged.hpp"

namespace kiln::command {
namespace {

using Json = nlohmann::ordered_json;
using harness::RunReport;

std::string_view spelling(harness::Assembly::Status s) {
  switch (s) {
    case harness::Assembly::Status::assembled: return "assembled";
    case harness::Assembly::Status::rejected: return "rejected";
    case harness::Assembly::Status::unavailable: return "unavailable";
    case harness::Assembly::Status::failed: return "failed";
  }
  return "";
}

std::string_view spelling(harness::CudaResult::Outcome o) {
  switch (o) {
    case harness::CudaResult::Outcome::finished: return "finished";
    case harness::CudaResult::Outcome::fault: return "fault";
    case harness::CudaResult::Outcome::hang: return "hang";
  }
  return "";
}

Json assembly_json(const harness::Assembly& a) {
  Json j = {{"status", spelling(a.status)}, {"version", a.version}, {"cubin_bytes", a.cubin.size()}};
  if (!a.reason.empty()) j["reason"] = a.reason;
  j["entries"] = Json::array();
  for (const harness::EntryResources& e : a.entries)
    j["entries"].push_back({{"name", e.name},
                            {"registers", e.registers},
                            {"stack_bytes", e.stack_bytes},
                            {"spill_store_bytes", e.spill_store_bytes},
                            {"spill_load_bytes", e.spill_load_bytes},
                            {"shared_bytes", e.shared_bytes}});
  return j;
}

Json simulation_json(const sim::Result& r, const sim::Options& options) {
  const sim::Statistics& s = r.statistics;
  return {{"outcome", sim::spelling(r.outcome)},
          {"arithmetic", options.arithmetic == sim::Arithmetic::exact ? "exact" : "fast"},
          {"seed", options.seed},
          {"schedule", sim::spelling(options.strategy)},
          {"ctas", s.ctas},
          {"warp_instructions", s.warp_instructions},
          {"thread_instructions", s.thread_instructions},
          {"mma_instructions", s.mma_instructions},
          {"mma_flops", s.mma_flops},
          {"tma_bytes", s.tma_bytes}};
}

Json comparison_json(const harness::Comparison& c) {
  const launch::Expectation& e = c.expectation;
  using Kind = launch::Expectation::Kind;
  Json j = {{"output", e.output}};
  switch (e.kind) {
    case Kind::gemm: j["gemm"] = {{"a", e.a}, {"b", e.b}}; break;
    case Kind::copy: j["copy"] = e.a; break;
    case Kind::attention: j["attention"] = {{"q", e.a}, {"k", e.b}, {"v", e.c}}; break;
    case Kind::convolution: j["convolution"] = {{"weights", e.a}, {"inputs", e.b}, {"sequence", e.sequence}}; break;
    case Kind::swiglu: j["swiglu"] = {{"a", e.a}, {"gate", e.b}, {"up", e.c}}; break;
    case Kind::scales: j["scales_of"] = e.a; break;
    case Kind::absmax: j["absmax"] = {{"a", e.a}, {"b", e.b}, {"block", e.block}}; break;
  }
  j.update({{"pass", c.pass},
            {"elements", c.elements},
            {"whole", c.whole ? c.whole : c.elements},
            {"wrong", c.wrong},
            {"max_error", c.max_error},
            {"max_scaled_error", c.max_scaled_error},
            {"argument", c.argument}});
  const auto deviation = [](const harness::Deviation& d) {
    return Json{{"largest", d.largest}, {"relative", d.relative}};
  };
  if (c.quantisation) j["quantisation_error"] = deviation(*c.quantisation);
  if (c.kernel) j["kernel_error"] = deviation(*c.kernel);
  if (!c.worst.empty())
    j["worst"] = {{"index", c.worst}, {"got", c.got}, {"want", c.want}, {"error", c.error}, {"bound", c.bound}};
  return j;
}

}  // namespace

std::string summary_json(const RunFacts& facts, const RunReport& report) {
  Json j = {{"name", facts.name}};
  if (!facts.target.empty()) j["target"] = facts.target;
  for (const auto& [name, size] : facts.numbers) j["sizes"][name] = size_json(size);
  j["backend"] = facts.options.backend == harness::Backend::sim ? "sim" : "cuda";
  j["verdict"] = verdict(report);
  j["exit_code"] = report.exit_code();
  j["stages"] = Json::array();
  for (const harness::Stage& s : report.stages) j["stages"].push_back({{"name", s.name}, {"seconds", s.seconds}});
  if (report.assembly) j["ptxas"] = assembly_json(*report.assembly);
  if (report.simulation) j["simulation"] = simulation_json(*report.simulation, facts.options.simulation);
  if (report.cuda)
    j["gpu"] = {{"outcome", spelling(report.cuda->outcome)}, {"device", report.cuda->device},
                {"architecture", report.cuda->architecture}, {"driver", report.cuda->driver},
                {"cuda_version", report.cuda->cuda_version}, {"milliseconds", report.cuda->milliseconds}};
  if (Json timing = timing_json(report); !timing.is_null()) j["timing"] = std::move(timing);
  j["comparisons"] = Json::array();
  for (const harness::Comparison& c : report.comparisons) j["comparisons"].push_back(comparison_json(c));
  for (const Judged& q : judged(facts, report))
    q.done ? j["judged"][q.key] = q.what : j["not_judged"][q.key] = {{"what", q.what}, {"instead", q.instead}};
  j["outputs"] = report.written;
  if (!report.last_phases.empty()) j["last_phases"] = report.last_phases;
  j.update(Json::parse(diag::render_json(report.findings)));
  return versioned(j);
}

}  // namespace kiln::command
