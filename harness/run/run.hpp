// The runs of `kiln run`, `kiln sim` and `kiln gpu`: the pipeline with a GPU, a profiler, views and the contract as
// JSON.
#pragma once

#include <string>

#include "harness/pipeline/options.hpp"
#include "harness/pipeline/report.hpp"
#include "launch/contract.hpp"
#include "ptx/diag/source.hpp"
#include "ptx/ir/module.hpp"

namespace kiln::harness {

/// Pipeline::run of a built module, on the simulator or a GPU.
RunReport run_module(ir::Module, const std::string& name, launch::Contract&, const RunOptions&);

/// Pipeline::run of a PTX text, on the simulator or a GPU.
RunReport run_text(const diag::SourcePtr&, launch::Contract&, const RunOptions&);

}  // namespace kiln::harness
