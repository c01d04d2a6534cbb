// Attention, one head: O = softmax(Q * K^T / sqrt(head)) * V, of all keys or of those so far.
#pragma once

#include <string>

#include "dsl/dsl.hpp"

namespace kiln::kernels {

/// The options --m and --n.
std::span<const dsl::SizeOption> attention_options();
/// Q[m, 128], K[n, 128], V[n, 128] and O[m, 128] in bf16.
dsl::Kernel attention(isa::Target, const dsl::Sizes&);
launch::Contract attention_problem(const dsl::Kernel&, const dsl::Sizes&);
/// The same where row i sees the first n - m + i + 1 keys. The problem throws diag::InputError for more rows than keys.
dsl::Kernel attention_causal(isa::Target, const dsl::Sizes&);
launch::Contract attention_causal_problem(const dsl::Kernel&, const dsl::Sizes&);

}  // namespace kiln::kernels
