#include "harness/run.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "emit/emit.hpp"
#include "harness/contract_json.hpp"
#include "harness/entry.hpp"
#include "harness/files.hpp"
#include "harness/fill.hpp"
#include "harness/npy.hpp"
#include "harness/reference.hpp"
#include "ptx/diag/error.hpp"
#include "ptx/diag/render.hpp"
#include "ptx/parse/parse.hpp"
#include "verifier/verify.hpp"

namespace kiln::harness {
namespace {

using Clock = std::chrono::steady_clock;
using launch::Contract;

// What does not fit, which begins with a JSON pointer, is a mistake in the contract's file, if there is one.
template <class F>
auto named(const std::string& contract, F f) {
  try {
    return f();
  } catch (const diag::InputError& error) {
    if (contract.empty() || error.what()[0] != '/') throw;
    throw diag::InputError(contract + ": " + error.what());
  }
}

/// One run: the report as it grows, and the clock.
class Run {
 public:
  Run(Contract& contract, const RunOptions& options) : contract_(contract), options_(options) {}

  /// Does one step under its name; what it throws leaves the step out of the report.
  template <class Step>
  auto stage(const char* name, Step step) {
    options_.on_stage(name);
    const auto start = Clock::now();
    struct Record {
      RunReport& report;
      const char* name;
      Clock::time_point start;
      ~Record() { report.stages.push_back({name, std::chrono::duration<double>(Clock::now() - start).count()}); }
    } record{report, name, start};
    return step();
  }

  void keep(const char* suffix, std::span<const std::uint8_t> bytes) const {
    if (!options_.keep.empty()) write_file(options_.keep + "/" + name + suffix, bytes);
  }
  void keep(const char* suffix, std::string_view text) const {
    keep(suffix, std::span(reinterpret_cast<const std::uint8_t*>(text.data()), text.size()));
  }

  void fill_inputs() {
    stage("inputs", [&] {
      fill(contract_, options_.folder);
      check_contents(contract_);
    });
  }

  // False when ptxas has found errors or is needed and failed.
  bool assemble_text(isa::Target target) {
    const Ptxas ptxas = find_ptxas();
    if (!ptxas.found() && options_.backend == Backend::cuda) throw diag::InputError(ptxas.missing);
    const bool checks = options_.tensor_memory_checks == TensorMemoryChecks::on;
    if (checks && !isa::has_tcgen05(target))
      throw diag::InputError(
          fmt::format("{}: --check-tensor-memory: {} has no tensor memory", name, isa::spelling(target)));
    report.assembly = stage("assemble", [&] {
      return assemble(ptxas, report.ptx, target, report.findings, options_.tensor_memory_checks);
    });
    if (checks && !report.findings.has_errors() && report.assembly->tensor_memory_checks.empty())
      throw diag::InputError(name +
                             ": --check-tensor-memory: ptxas finds nothing to check, since nothing uses tcgen05");
    if (report.assembly->status == Assembly::Status::assembled) keep(".cubin", report.assembly->cubin);
    if (report.assembly->status == Assembly::Status::failed) {
      diag::Diagnostic d;
      d.message = report.assembly->reason;
      report.findings.report(std::move(d));
    }
    return !report.findings.has_errors();
  }

  void instrument_module(ir::Module& module) {
    if (!options_.profile.file.empty()) named(options_.contract, [&] { plan_ = instrument(module, contract_); });
  }

  // With its context a hanging kernel takes everything in the GPU's memory along.
  bool reads_profile_of_hang() const { return plan_ && options_.profile.memory == ProfileMemory::host; }

  // What warps did, whatever became of the run.
  void write_profile() {
    const bool lost = report.cuda && report.cuda->outcome != CudaResult::Outcome::finished && !reads_profile_of_hang();
    if (!plan_ || lost) return;
    stage("profile", [&] {
      const std::vector<WarpProfile> warps = read_profile(*plan_, contract_);
      write_file(options_.profile.file,
                 profile_json(*plan_, contract_, warps, name,
                              options_.backend == Backend::sim ? ProfileClock::simulated : ProfileClock::gpu));
      report.written.push_back(options_.profile.file);
      if (!report.finished()) report.last_phases = last_phases(*plan_, warps);
    });
  }

  // False when the contract is wrong in itself; throws when it does not fit the module.
  bool contract_is_right(const ir::Module& module) {
    check_contract(contract_, options_.contract, report.findings);
    named(options_.contract, [&] { check_fits(module, contract_); });
    return !report.findings.has_errors();
  }

  void simulate(const ir::Module& module) {
    if (options_.on_ready && !stage("schedules", [&] { return options_.on_ready(module, report.ptx, contract_); }))
      return;
    Views views(options_.views);
    report.simulation = stage("simulate", [&] {
      return named(options_.contract, [&] {
        return sim::simulate(module, contract_, options_.simulation, report.findings, views.observer());
      });
    });
    if (options_.views.any()) report.written = stage("views", [&] { return views.write(name); });
  }

  void run_on_gpu(const ir::Module& module, isa::Target target) {
    CudaJob job{report.assembly->cubin, target,          entry_names(module, contract_),
                options_.gpu_timeout,   options_.timing, {}};
    if (plan_ && options_.profile.memory == ProfileMemory::host) job.host_buffer = ProfilePlan::buffer;
    report.cuda = stage("gpu", [&] { return named(options_.contract, [&] { return cuda_run(job, contract_); }); });
    if (report.cuda->timing) report.work = work_of(contract_);
    if (report.cuda->outcome == CudaResult::Outcome::finished) return;
    diag::Diagnostic d;
    d.message = report.cuda->reason;
    if (report.cuda->outcome == CudaResult::Outcome::hang && !reads_profile_of_hang())
      d.notes.push_back({"--profile FILE --profile-memory host tells what each role was waiting for", {}});
    const std::vector<std::string>& checks = report.assembly->tensor_memory_checks;
    if (report.cuda->outcome == CudaResult::Outcome::fault && !checks.empty())
      d.notes.push_back({fmt::format("a trap may be one of ptxas's checks of tensor memory; cuda-gdb stops in the "
                                     "function that bears its name: {}",
                                     fmt::join(checks, ", ")),
                         {}});
    report.findings.report(std::move(d));
  }

  void finish() {
    if (!report.finished()) return;
    for (const launch::Buffer& b : contract_.buffers) {
      if (b.out.empty()) continue;
      report.written.push_back(path_from(options_.folder, b.out));
      save_npy(report.written.back(), b);
    }
    const bool fast = options_.backend == Backend::sim && options_.simulation.arithmetic == sim::Arithmetic::fast;
    const Accumulation accumulation = fast ? Accumulation::f32_chain : Accumulation::tensor_core;
    if (contract_.expectations.empty()) return;
    stage("compare", [&] {
      for (const launch::Expectation& e : contract_.expectations)
        report.comparisons.push_back(compare_sample(contract_, e, sample(), accumulation));
      if (report.cuda && report.cuda->timing && report.cuda->timing->cublas) compare_cublas();
    });
  }

  // What of a gemm is compared. A sample of everything is everything.
  Sample sample() const {
    constexpr double whole_limit = 0x1p34;  // multiply-adds: some ten seconds of a CPU
    Sample s{UINT64_MAX, options_.simulation.seed};
    if (options_.sample && *options_.sample != 0) s.elements = *options_.sample;
    if (!options_.sample && options_.backend == Backend::cuda && work_of(contract_)->operations / 2 > whole_limit)
      s.elements = Sample{}.elements;
    return s;
  }

  // Whether cuBLAS was asked for the right product, which is one without factors and epilogue.
  void compare_cublas() {
    launch::Expectation e = contract_.expectations[0];
    e.factors.clear();
    e.c.clear(), e.beta.clear(), e.bias.clear();
    e.activation = launch::Activation::none;
    launch::Buffer& ours = contract_.at(e.output);
    std::swap(ours, report.cuda->timing->cublas->d);
    report.cublas = compare_sample(contract_, e, {std::min<std::uint64_t>(sample().elements, 1024), sample().seed});
    std::swap(ours, report.cuda->timing->cublas->d);
  }

  RunReport report{};
  std::string name{};

 private:
  Contract& contract_;
  const RunOptions& options_;
  std::optional<ProfilePlan> plan_{};
};

void check_files(const RunOptions& options) {
  check_views(options.views);
  if (!options.profile.file.empty()) check_writable(options.profile.file);
}

// Our own text must parse; if it does not, that is nobody's mistake but ours.
ir::Module parse_back(const diag::SourcePtr& ptx) {
  diag::Sink sink;
  ir::Module module = parse::parse(ptx, sink);
  for (const diag::Diagnostic& d : sink.all()) {
    if (d.severity != diag::Severity::error) continue;
    const auto at = ptx->position(d.where.place.begin);
    throw diag::InternalError(fmt::format("the emitted PTX does not parse: line {}: {}", at.line, d.message));
  }
  return module;
}

}  // namespace

bool RunReport::finished() const {
  if (simulation) return simulation->outcome == sim::Outcome::finished;
  return cuda && cuda->outcome == CudaResult::Outcome::finished;
}

int RunReport::exit_code() const {
  for (const Comparison& c : comparisons)
    if (!c.pass) return 1;
  const int found = diag::exit_code(findings);
  if (found == 1 || !simulation) return found;
  switch (simulation->outcome) {
    case sim::Outcome::finished: return found;
    case sim::Outcome::fault:
    case sim::Outcome::deadlock:
    case sim::Outcome::livelock: return 1;
    case sim::Outcome::step_limit:
    case sim::Outcome::incomplete: return 3;
  }
  return found;
}

diag::SourcePtr emit_verified(ir::Module module, const std::string& source_name, diag::Sink& sink) {
  const auto verified = verifier::verify(std::move(module), sink);
  if (!verified) return nullptr;
  return std::make_shared<const diag::Source>(source_name, emit::emit(*verified));
}

RunReport run_module(ir::Module built, const std::string& name, Contract& contract, const RunOptions& options) {
  if (!options.keep.empty()) make_folder(options.keep);
  check_files(options);
  Run run(contract, options);
  run.name = name;
  const std::optional<isa::Target> target = built.target();
  if (!target) throw diag::InternalError("the built module has no target");
  run.instrument_module(built);
  run.keep(".json", write_contract(contract));
  run.fill_inputs();
  const std::string source_name = options.keep.empty() ? name + ".ptx" : options.keep + "/" + name + ".ptx";
  run.report.ptx =
      run.stage("verify", [&] { return emit_verified(std::move(built), source_name, run.report.findings); });
  run.report.verified = diag::summary(run.report.findings);
  if (!run.report.ptx) return std::move(run.report);
  run.keep(".ptx", run.report.ptx->text());
  if (!run.assemble_text(*target)) return std::move(run.report);
  const ir::Module module = run.stage("parse", [&] { return parse_back(run.report.ptx); });
  if (!run.contract_is_right(module)) return std::move(run.report);
  if (options.backend == Backend::sim)
    run.simulate(module);
  else
    run.run_on_gpu(module, *target);
  run.write_profile();
  run.finish();
  return std::move(run.report);
}

RunReport run_text(const diag::SourcePtr& source, Contract& contract, const RunOptions& options) {
  check_files(options);
  Run run(contract, options);
  run.name = source->name();
  run.report.ptx = source;
  ir::Module module = run.stage("parse", [&] { return parse::parse(source, run.report.findings); });
  if (run.report.findings.has_errors()) return std::move(run.report);
  if (!options.profile.file.empty()) {
    run.instrument_module(module);
    run.report.ptx =
        std::make_shared<const diag::Source>(source->name() + " (profiled)", emit::emit_unverified(module));
    module = parse_back(run.report.ptx);
  }
  if (!run.contract_is_right(module)) return std::move(run.report);
  run.fill_inputs();
  if (options.backend == Backend::sim) {
    run.simulate(module);
  } else {
    const auto target = module.target();
    if (!target) throw diag::InputError(source->name() + ": no .target, so nothing to assemble it for");
    if (!run.assemble_text(*target)) return std::move(run.report);
    run.run_on_gpu(module, *target);
  }
  run.write_profile();
  run.finish();
  return std::move(run.report);
}

}  // namespace kiln::harness
