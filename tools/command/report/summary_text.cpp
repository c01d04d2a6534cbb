#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "harness/problem/attention_parts.hpp"
#include "harness/problem/epilogue.hpp"
#include "tools/command/report/console.hpp"
#include "tools/command/report/judged.hpp"
#include "tools/command/report/summary.hpp"
#include "tools/command/report/timing_text.hpp"

namespace kiln::command {
namespace {

using harness::Assembly;
using harness::Backend;
using harness::RunReport;

std::string stage_line(const RunReport& report, std::string_view stage, std::string_view label, std::string_view text) {
  double seconds = 0;
  for (const harness::Stage& s : report.stages)
    if (s.name == stage) seconds = s.seconds;
  return fmt::format("  {:<9}{:>8}  {}\n", label, duration(seconds), text);
}

std::string assembly_text(const Assembly& a) {
  switch (a.status) {
    case Assembly::Status::unavailable: return "not done: " + a.reason;
    case Assembly::Status::failed: return "failed: " + a.reason;
    case Assembly::Status::rejected: return fmt::format("ptxas {} rejects it", a.version);
    case Assembly::Status::assembled: break;
  }
  std::string out = fmt::format("ptxas {}", a.version);
  for (const harness::EntryResources& e : a.entries) {
    out += a.entries.size() > 1 ? fmt::format("; {}: ", e.name) : ": ";
    out += fmt::format("{} registers", e.registers);
    out += e.spills() ? fmt::format(", spills {} stored and {} loaded", byte_size(e.spill_store_bytes),
                                    byte_size(e.spill_load_bytes))
                      : ", no spills";
    if (e.stack_bytes) out += fmt::format(", {} of stack", byte_size(e.stack_bytes));
    if (e.shared_bytes) out += fmt::format(", {} of static shared memory", byte_size(e.shared_bytes));
  }
  return out;
}

std::string simulation_text(const sim::Result& r, const sim::Options& options) {
  const sim::Statistics& s = r.statistics;
  std::string out = fmt::format("{} CTA{}, {} warp instructions", grouped(s.ctas), s.ctas == 1 ? "" : "s",
                                grouped(s.warp_instructions));
  if (s.mma_instructions)
    out += fmt::format(", {} MMAs ({:.3g} GFLOP)", grouped(s.mma_instructions), double(s.mma_flops) * 1e-9);
  if (s.tma_bytes) out += fmt::format(", {} by TMA", byte_size(s.tma_bytes));
  out += options.arithmetic == sim::Arithmetic::exact ? "; exact arithmetic" : "; FAST arithmetic, not the hardware's";
  out += fmt::format(", seed {}", options.seed);
  if (r.outcome != sim::Outcome::finished) out = fmt::format("{}: {}", sim::spelling(r.outcome), out);
  return out;
}

std::string gpu_text(const harness::CudaResult& r) {
  std::string out = fmt::format("{} ({})", r.device, r.architecture);
  for (std::size_t i = 0; i < r.milliseconds.size(); ++i)
    out += fmt::format(", {}{}", r.milliseconds.size() > 1 ? fmt::format("launch {}: ", i + 1) : "",
                       duration(r.milliseconds[i] * 1e-3));
  if (r.outcome == harness::CudaResult::Outcome::fault) out += ": the kernel died";
  if (r.outcome == harness::CudaResult::Outcome::hang) out += ": the kernel hangs";
  return out;
}

// What quantisation did to the product, and what the kernel did.
std::string separated_errors(const harness::Comparison& c, const std::string& indent) {
  if (!c.quantisation || !c.kernel) return {};
  const auto line = [&](std::string_view whose, const harness::Deviation& d, std::string_view against) {
    return fmt::format("\n{}{} error {:.3g}, root mean square {:.3g} of D: against {}", indent, whose, d.largest,
                       d.relative, against);
  };
  return line("quantisation", *c.quantisation, "the product of the numbers before they were quantised") +
         line("kernel", *c.kernel, "the product of the quantised numbers");
}

// "relu(A * B^T + bias)".
std::string gemm_formula(const launch::Expectation& e) {
  std::string sum;
  for (const std::string& factor : e.factors) sum += factor + " * ";
  sum += fmt::format("{}{} * {}{}", e.a, e.a_transposed ? "^T" : "", e.b, e.b_transposed ? "" : "^T");
  if (!e.c.empty()) sum += e.beta.empty() ? " + " + e.c : fmt::format(" + {} * {}", e.beta, e.c);
  if (!e.bias.empty()) sum += " + " + e.bias;
  if (e.activation != launch::Activation::none) sum = fmt::format("{}({})", harness::spelling(e.activation), sum);
  return sum;
}

// What the output was expected to be.
std::string formula(const launch::Expectation& e) {
  using Kind = launch::Expectation::Kind;
  switch (e.kind) {
    case Kind::gemm: return fmt::format("{} = {}", e.output, gemm_formula(e));
    case Kind::copy: return fmt::format("{} = {}", e.output, e.a);
    case Kind::attention:
      if (e.result != launch::AttentionResult::o)
        return fmt::format("{} = {} of softmax({} * {}^T{}) * {}", e.output, harness::spelling(e.result), e.a, e.b,
                           e.causal ? ", causal" : "", e.c);
      return fmt::format("{} = softmax({} * {}^T{}{}{}) * {}", e.output, e.a, e.b, e.causal ? ", causal" : "",
                         e.window != 0 ? fmt::format(", the last {}", e.window) : "",
                         e.pages.empty() ? "" : ", in pages", e.c);
    case Kind::convolution:
      return fmt::format("{} = {} convolved with {} in sequences of {}", e.output, e.b, e.a, e.sequence);
    case Kind::swiglu: return fmt::format("{} = silu({} * {}^T) * ({} * {}^T)", e.output, e.a, e.b, e.a, e.c);
    case Kind::scales: return fmt::format("{} = the scales of {}", e.output, e.a);
    case Kind::absmax: return fmt::format("{} = max |{} * {}^T| of each {} columns", e.output, e.a, e.b, e.block);
  }
  return e.output;
}

std::string comparison_text(const harness::Comparison& c) {
  const launch::Expectation& e = c.expectation;
  const bool copy = e.kind == launch::Expectation::Kind::copy;
  std::string out = formula(e);
  if (c.pass && c.whole)
    out += fmt::format(": a sample of {} of {} elements is right", grouped(c.elements), grouped(c.whole));
  else if (c.pass)
    out += fmt::format(": all {} elements are right", grouped(c.elements));
  else
    out += fmt::format(": {} of {}{} elements are wrong", grouped(c.wrong),
                       c.whole ? fmt::format("a sample of {} of ", grouped(c.elements)) : "",
                       grouped(c.whole ? c.whole : c.elements));
  if (copy && c.pass) return out + ", byte for byte";
  if (c.worst.empty()) return out;
  const std::string indent(21, ' ');
  out += fmt::format("\n{}{} [{}]: got {:.9g}, want {:.9g}", indent, copy ? "first" : "worst", fmt::join(c.worst, ", "),
                     c.got, c.want);
  if (copy) return out;
  const std::string of_sums = e.kind == launch::Expectation::Kind::gemm
                                  ? fmt::format(", {:.3g} of sum |a||b|", c.max_scaled_error)
                                  : std::string();
  return out +
         fmt::format(", off by {:.3g} of {:.3g} allowed\n{}largest error {:.3g}{}\n{}allowed: {}", c.error, c.bound,
                     indent, c.max_error, of_sums, indent, c.argument) +
         separated_errors(c, indent);
}

// A run that finds nothing has not judged everything.
std::string judged_lines(const RunFacts& facts, const RunReport& report) {
  std::vector<std::string> done, left;
  for (const Judged& j : judged(facts, report))
    j.done ? done.push_back(j.what) : left.push_back(fmt::format("{} ({})", j.what, j.instead));
  std::string out;
  if (!done.empty()) out += fmt::format("  {:<17}  {}\n", "judged", fmt::join(done, "; "));
  if (!left.empty()) out += fmt::format("  {:<17}  {}\n", "not judged", fmt::join(left, "; "));
  return out;
}

std::string last_line(const RunFacts& facts, const RunReport& report, diag::Colour colour) {
  const std::string word = verdict(report);
  const bool good = word == "pass" || word == "finished";
  const std::string paint = good ? "\033[1;32m" : word == "fail" ? "\033[1;31m" : "\033[1;33m";
  std::string out = colour == diag::Colour::on ? paint + word + "\033[0m" : word;
  if (report.simulation)
    out += ": simulated on the CPU, not run on a GPU";
  else if (report.cuda)
    out += ": run on " + report.cuda->device;
  else
    out += facts.options.backend == Backend::sim ? ": not simulated" : ": not run";
  if (word == "finished") out += "; nothing was expected of the result";
  if (!report.findings.all().empty()) out += "; " + diag::summary(report.findings);
  double total = 0;
  for (const harness::Stage& s : report.stages) total += s.seconds;
  return fmt::format("{}; {}\n", out, duration(total));
}

}  // namespace

std::string verdict(const RunReport& report) {
  const int code = report.exit_code();
  if (code == Exit::errors) return "fail";
  if (code == Exit::incomplete || !report.finished()) return "incomplete";
  return report.comparisons.empty() ? "finished" : "pass";
}

std::string summary_text(const RunFacts& facts, const RunReport& report, diag::Colour colour) {
  std::string out = facts.name;
  if (!facts.target.empty()) out += "  " + facts.target;
  if (!facts.sizes.empty()) out += "  " + facts.sizes;
  out += '\n';
  const auto line = [&](std::string_view stage, std::string_view label, const std::string& text) {
    const bool ran =
        std::any_of(report.stages.begin(), report.stages.end(), [&](const auto& s) { return s.name == stage; });
    if (ran) out += stage_line(report, stage, label, text);
  };
  line("build", "build", "C++ to PTX as data");
  line("verify", "verify", report.verified);
  if (report.assembly) line("assemble", "assemble", assembly_text(*report.assembly));
  line("parse", "parse", fmt::format("{} lines of PTX", grouped(report.ptx ? unsigned(report.ptx->line_count()) : 0u)));
  line("inputs", "inputs", "buffers filled");
  if (report.simulation) line("simulate", "simulate", simulation_text(*report.simulation, facts.options.simulation));
  if (report.cuda) line("gpu", "gpu", gpu_text(*report.cuda));
  for (const harness::Comparison& c : report.comparisons) line("compare", "compare", comparison_text(c));
  if (report.simulation && report.exit_code() == Exit::errors && !facts.options.simulation.replay)
    out += fmt::format("  {:<9}{:>8}  --schedule {} --seed {}\n", "again", "",
                       sim::spelling(facts.options.simulation.strategy), facts.options.simulation.seed);
  if (report.exploration) line("explore", "explore", report.exploration->found);
  out += judged_lines(facts, report);
  for (const std::string& phase : report.last_phases) out += fmt::format("  {:<9}{:>8}  {}\n", "last", "", phase);
  for (const std::string& path : report.written) out += fmt::format("  wrote {}\n", path);
  out += timing_text(facts, report);
  return out + last_line(facts, report, colour);
}

}  // namespace kiln::command
