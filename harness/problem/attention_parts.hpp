// The heads and sequences of attention, as a contract has them: matrices, whatever layout they come from.
#pragma once

#include <functional>
#include <string_view>

#include "launch/contract.hpp"

namespace kiln::harness {

/// One head of one sequence: Q[M, K], K[N, K], V[N, L].
struct AttentionPart {
  launch::Buffer q, k, v;
};

/// "o", "log_sums", ...: as a contract says it.
std::string_view spelling(launch::AttentionResult);

/// Throws diag::InputError where buffers are missing or do not fit.
void check_attention(const launch::Contract&, const launch::Expectation&);

/// Each part, in the order in which the output has their rows. Throws diag::InputError where offsets, lengths or
/// pages are out of range, and where a row sees no key.
void each_attention_part(const launch::Contract&, const launch::Expectation&,
                         const std::function<void(const AttentionPart&)>& take);

/// FLOPs of the products for the keys of each sequence: two of O, three of dq, two each of dk and dv, none of others;
/// and bytes of the keys and values that are read, each once for each head of K and V that is there. What causal rows do
/// not see counts as if they did; a window does not.
struct AttentionWork {
  double flops = 0, bytes = 0;
};
AttentionWork attention_work(const launch::Contract&, const launch::Expectation&);

}  // namespace kiln::harness
