// What the commands that predict a time share: the inputs of a prediction, and changes of what is predicted.
#pragma once

#include <string>

#include "launch/contract.hpp"
#include "ptx/diag/diagnostic.hpp"
#include "ptx/ir/module.hpp"
#include "timing/predict.hpp"
#include "tools/command/report/kernel_choice.hpp"

namespace kiln::command {

/// Fills the contract's buffers as far as a prediction needs them, and predicts. `folder`: where .npy paths start.
timing::Prediction predict_launches(const ir::Module&, launch::Contract, const std::string& folder, const timing::Chip&,
                                    const timing::Question&, diag::Sink&);

/// What the profiler of `kiln gpu --profile` would record, predicted: the same records of the instrumented kernel,
/// under the chip's clock, as that option writes them. `name`: the kernel's. Throws InputError where there is no
/// prediction.
std::string predicted_profile(ir::Module, launch::Contract, const std::string& folder, const timing::Chip&,
                              timing::Question, const std::string& name);

/// Builds the kernel that was chosen and predicts its problem. Throws diag::Rejected where it breaks a rule.
timing::Prediction predict_kernel(const KernelChoice&, const timing::Chip&, const timing::Question&, diag::Sink&);

/// One change, "copy_row=x0.5" (a fact of the chip, half of it), "load_latency=300", "tensor_core=x0.5" (the times of
/// its MMAs) or "stages=5" (what the kernel's own options take): made to the chip or to the choice. Throws InputError
/// for what is none. `has_kernel`: there is a kernel with options, not a file.
void change(const std::string& what, timing::Chip&, KernelChoice&, bool has_kernel);

}  // namespace kiln::command
