#include "tools/command/report/judged.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace kiln::command {
namespace {

using harness::RunReport;

bool ran(const RunReport& report, std::string_view stage) {
  return std::any_of(report.stages.begin(), report.stages.end(), [&](const auto& s) { return s.name == stage; });
}

}  // namespace

std::vector<Judged> judged(const RunFacts& facts, const RunReport& report) {
  const sim::Options& options = facts.options.simulation;
  const bool simulates = facts.options.backend == harness::Backend::sim, races = simulates && options.detect_races;
  const std::string simulation = simulates ? "a run that gets so far" : "--backend sim";
  const std::string order = fmt::format("{}deadlocks in one order of events ({}, seed {})", races ? "races and " : "",
                                        sim::spelling(options.strategy), options.seed);
  std::vector<Judged> out;
  out.push_back({"instructions", "each instruction", ran(report, "verify"), "kiln check"});
  out.push_back({"launch", "the launch", ran(report, "launch"), "a run that gets so far"});
  if (simulates && !races) out.push_back({"races", "races", false, "--races"});
  out.push_back({"one_order", simulates ? order : "races", report.simulation.has_value(), simulation});
  const bool proven = report.exploration && report.exploration->complete;
  out.push_back({"every_order", "barriers, shared and tensor memory in every order, for every launch", proven,
                 report.exploration ? "what is incomplete says why" : facts.proof});
  return out;
}

}  // namespace kiln::command
