// A run from a built module or a PTX text to a compared result: which steps there are, in which order. The pipeline
// itself simulates. What else a run can do (a GPU, a profiler in the kernel, pictures, JSON) brings libraries of its
// own; a class that derives from this one adds it, as harness/run does.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "harness/compare/compare.hpp"
#include "harness/pipeline/options.hpp"
#include "harness/pipeline/report.hpp"
#include "launch/contract.hpp"
#include "ptx/diag/error.hpp"
#include "ptx/diag/source.hpp"
#include "ptx/ir/module.hpp"
#include "ptx/isa/targets.hpp"

namespace kiln::harness {

/// One run. The contract and the options must outlive it.
class Pipeline {
 public:
  /// `name`: of the kernel or of the PTX file.
  Pipeline(std::string name, launch::Contract&, const RunOptions&);
  virtual ~Pipeline() = default;
  Pipeline(const Pipeline&) = delete;
  Pipeline& operator=(const Pipeline&) = delete;

  /// Fills the inputs, verifies a built module, emits it, assembles the text, parses it back, executes that, writes the
  /// outputs and compares them. Stops at the first stage that fails. Without ptxas a simulation goes on and `assembly`
  /// says so. Throws InputError for inputs, contracts and environments that cannot be used.
  RunReport run(ir::Module built);
  /// Parses a PTX text, fills the inputs, executes it, writes the outputs and compares them.
  RunReport run(const diag::SourcePtr&);

 protected:
  /// Throws InputError unless the files of the options can be written.
  virtual void check_files() const;
  /// Changes the module and the contract before anything else is done; true when it did.
  virtual bool instrument(ir::Module&) { return false; }
  /// Keeps the contract in the folder of --keep.
  virtual void keep_contract() const {}
  /// Runs the parsed module, which was assembled for `target` if it is to run on a GPU, and fills the report.
  virtual void execute(const ir::Module&, isa::Target target);
  /// Reads back what instrument() put in, however the run ended.
  virtual void read_instrument() {}
  /// Which elements of a gemm are compared.
  virtual Sample sample() const;
  /// Compares more than the contract's expectations.
  virtual void compare_beside() {}

  /// Does one step under its name; what it throws leaves the step in the report.
  template <class Step>
  auto stage(const char* step_name, Step step) {
    options_.on_stage(step_name);
    const auto start = Clock::now();
    struct Record {
      RunReport& report;
      const char* name;
      Clock::time_point start;
      ~Record() { report.stages.push_back({name, std::chrono::duration<double>(Clock::now() - start).count()}); }
    } record{report_, step_name, start};
    return step();
  }

  /// Does something whose complaints may begin with a JSON pointer: then they are about the contract's file, if there
  /// is one.
  template <class F>
  auto named(F f) const {
    try {
      return f();
    } catch (const diag::InputError& error) {
      rethrow_named(error);
      throw;
    }
  }

  void keep(const char* suffix, std::span<const std::uint8_t> bytes) const;
  void keep(const char* suffix, std::string_view text) const;
  /// True when everything is ready and on_ready() wants the run.
  bool wanted(const ir::Module&);
  /// The simulation with an observer, which may be null.
  void simulate(const ir::Module&, sim::Observer*);

  const std::string name_;
  launch::Contract& contract_;
  const RunOptions& options_;
  RunReport report_{};

 private:
  using Clock = std::chrono::steady_clock;

  void rethrow_named(const diag::InputError&) const;
  void fill_inputs();
  bool assemble_text(isa::Target);
  bool contract_is_right(const ir::Module&);
  void finish();
};

/// Verifies and emits: null, and findings in the sink, when the verifier gives no proof.
diag::SourcePtr emit_verified(ir::Module, const std::string& source_name, diag::Sink&);

}  // namespace kiln::harness
