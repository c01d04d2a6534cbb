#include "harness/pipeline/pipeline.hpp"

#include <fmt/format.h>

#include "emit/emit.hpp"
#include "harness/compare/reference.hpp"
#include "harness/entry/entry.hpp"
#include "harness/host/files.hpp"
#include "harness/problem/fill.hpp"
#include "harness/problem/npy.hpp"
#include "ptx/diag/refuse.hpp"
#include "ptx/diag/render.hpp"
#include "ptx/parse/parse.hpp"
#include "verifier/mistakes.hpp"
#include "verifier/verify.hpp"

namespace kiln::harness {
namespace {

using launch::Contract;

// Our own text must parse; if it does not, the mistake is ours.
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

Pipeline::Pipeline(std::string name, Contract& contract, const RunOptions& options)
    : name_(std::move(name)), contract_(contract), options_(options) {}

void Pipeline::check_files() const {}

void Pipeline::rethrow_named(const diag::InputError& error) const {
  if (!options_.contract.empty() && error.what()[0] == '/')
    throw diag::InputError(options_.contract + ": " + error.what());
}

void Pipeline::keep(const char* suffix, std::span<const std::uint8_t> bytes) const {
  if (!options_.keep.empty()) write_file(options_.keep + "/" + name_ + suffix, bytes);
}

void Pipeline::keep(const char* suffix, std::string_view text) const {
  keep(suffix, std::span(reinterpret_cast<const std::uint8_t*>(text.data()), text.size()));
}

void Pipeline::fill_inputs() {
  stage("inputs", [&] {
    fill(contract_, options_.folder);
    check_contents(contract_);
  });
}

// False when ptxas has found errors or is needed and failed.
bool Pipeline::assemble_text(isa::Target target) {
  const Ptxas ptxas = find_ptxas();
  if (!ptxas.found() && options_.backend == Backend::cuda) throw diag::InputError(ptxas.missing);
  const bool checks = options_.tensor_memory_checks == TensorMemoryChecks::on;
  if (checks && !isa::has_tcgen05(target))
    diag::refuse("{}: --check-tensor-memory: {} has no tensor memory", name_, isa::spelling(target));
  report_.assembly = stage("assemble", [&] {
    return assemble(ptxas, report_.ptx, target, report_.findings, options_.tensor_memory_checks);
  });
  const bool is_there = report_.assembly->status != Assembly::Status::unavailable;
  if (!is_there && options_.backend == Backend::cuda) throw diag::InputError(report_.assembly->reason);
  if (checks && is_there && !report_.findings.has_errors() && report_.assembly->tensor_memory_checks.empty())
    throw diag::InputError(name_ + ": --check-tensor-memory: ptxas finds nothing to check, since nothing uses tcgen05");
  if (report_.assembly->status == Assembly::Status::assembled) keep(".cubin", report_.assembly->cubin);
  if (report_.assembly->status == Assembly::Status::failed) {
    diag::Diagnostic d;
    d.message = report_.assembly->reason;
    report_.findings.report(std::move(d));
  }
  return !report_.findings.has_errors();
}

// False when the contract is wrong in itself; throws when it does not fit the module.
bool Pipeline::contract_is_right(const ir::Module& module) {
  stage("launch", [&] {
    check_contract(contract_, options_.contract, report_.findings);
    named([&] { check_fits(module, contract_); });
  });
  return !report_.findings.has_errors();
}

bool Pipeline::wanted(const ir::Module& module) {
  return !options_.on_ready || stage("schedules", [&] { return options_.on_ready(module, report_.ptx, contract_); });
}

void Pipeline::simulate(const ir::Module& module, sim::Observer* observer) {
  sim::Options options = options_.simulation;
  options.weigh_reads = true;
  report_.simulation = stage("simulate", [&] {
    return named([&] { return sim::simulate(module, contract_, options, report_.findings, observer); });
  });
  verifier::gather_mistakes(module, report_.findings);
}

void Pipeline::execute(const ir::Module& module, isa::Target) {
  if (options_.backend != Backend::sim) throw diag::InternalError("this pipeline has only the simulator");
  if (wanted(module)) simulate(module, nullptr);
}

Sample Pipeline::sample() const {
  Sample s{UINT64_MAX, options_.simulation.seed};  // a sample of everything is everything
  if (options_.sample && *options_.sample != 0) s.elements = *options_.sample;
  return s;
}

void Pipeline::finish() {
  if (!report_.finished()) return;
  for (const launch::Buffer& b : contract_.buffers) {
    if (b.out.empty()) continue;
    report_.written.push_back(path_from(options_.folder, b.out));
    save_npy(report_.written.back(), b);
  }
  const bool fast = options_.backend == Backend::sim && options_.simulation.arithmetic == sim::Arithmetic::fast;
  const Accumulation accumulation = fast ? Accumulation::f32_chain : Accumulation::tensor_core;
  if (contract_.expectations.empty()) return;
  stage("compare", [&] {
    for (const launch::Expectation& e : contract_.expectations)
      report_.comparisons.push_back(compare_sample(contract_, e, sample(), accumulation));
    compare_beside();
  });
}

RunReport Pipeline::run(ir::Module built) {
  if (!options_.keep.empty()) make_folder(options_.keep);
  check_files();
  const std::optional<isa::Target> target = built.target();
  if (!target) throw diag::InternalError("the built module has no target");
  instrument(built);
  keep_contract();
  fill_inputs();
  const std::string source_name = options_.keep.empty() ? name_ + ".ptx" : options_.keep + "/" + name_ + ".ptx";
  report_.ptx = stage("verify", [&] { return emit_verified(std::move(built), source_name, report_.findings); });
  report_.verified = diag::summary(report_.findings);
  if (!report_.ptx) return std::move(report_);
  keep(".ptx", report_.ptx->text());
  if (!assemble_text(*target)) return std::move(report_);
  const ir::Module module = stage("parse", [&] { return parse_back(report_.ptx); });
  if (!contract_is_right(module)) return std::move(report_);
  execute(module, *target);
  read_instrument();
  finish();
  return std::move(report_);
}

RunReport Pipeline::run(const diag::SourcePtr& source) {
  check_files();
  report_.ptx = source;
  ir::Module module = stage("parse", [&] { return parse::parse(source, report_.findings); });
  if (report_.findings.has_errors() || !verifier::check_known(module, report_.findings)) return std::move(report_);
  if (instrument(module)) {
    report_.ptx = std::make_shared<const diag::Source>(source->name() + " (profiled)", emit::emit_unverified(module));
    module = parse_back(report_.ptx);
  }
  if (!contract_is_right(module)) return std::move(report_);
  fill_inputs();
  const std::optional<isa::Target> target = module.target();
  if (options_.backend != Backend::sim) {
    if (!target) throw diag::InputError(source->name() + ": no .target, so nothing to assemble it for");
    if (!assemble_text(*target)) return std::move(report_);
  }
  execute(module, target.value_or(isa::Target{}));
  read_instrument();
  finish();
  return std::move(report_);
}

diag::SourcePtr emit_verified(ir::Module module, const std::string& source_name, diag::Sink& sink) {
  const auto verified = verifier::verify(std::move(module), sink);
  if (!verified) return nullptr;
  return std::make_shared<const diag::Source>(source_name, emit::emit(*verified));
}

}  // namespace kiln::harness
