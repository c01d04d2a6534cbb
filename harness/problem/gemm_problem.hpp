// A gemm that a contract expects, with its names resolved and everything about it checked.
#pragma once

#include <cstdint>
#include <vector>

#include "harness/problem/epilogue.hpp"
#include "harness/problem/tolerance.hpp"
#include "launch/contract.hpp"

namespace kiln::harness {

/// One operand: its elements and what comes with them. Null: it has none.
struct GemmOperandBuffers {
  const launch::Buffer* elements = nullptr;
  const launch::Buffer* scales = nullptr;
  const launch::Buffer* metadata = nullptr;  // of A alone
  bool transposed = false;                   // K is the slower extent

  std::uint64_t rows() const { return elements->shape[transposed ? 1 : 0]; }
  std::uint64_t depth() const { return elements->shape[transposed ? 0 : 1]; }  // stored elements along K
};

struct GemmProblem {
  GemmOperandBuffers a{}, b{};
  const launch::Buffer* d = nullptr;
  std::vector<const launch::Buffer*> factors{};
  isa::MmaKind kind = isa::MmaKind::none;
  int mma_k = 0;            // products of one MMA
  std::uint64_t block = 0;  // stored elements of A that share a scale; 0: no scales
  bool promoted = false;    // scales are f32: blocks are summed up by MMAs, then multiplied and added in f32
  isa::ScalarType accumulate = isa::ScalarType::f32;
  bool saturate = false;
  int width = 0;  // of what an MMA cuts; 0: tcgen05's
  const launch::Buffer* d_scales = nullptr;  // D is quantised by these
  double norm = 0;  // what is added to the mean square of a row of A, by whose root sums are divided; 0: they are not
  GemmEpilogue epilogue{};

  bool sparse() const { return a.metadata != nullptr; }
  /// Whether something becomes of the sums, in f32, before they are rounded to what D stores.
  bool has_steps() const { return epilogue.has_steps() || d_scales || norm > 0; }
  /// Columns of D that share a scale.
  std::uint64_t d_block() const;
  std::uint64_t rows() const { return a.rows(); }
  std::uint64_t columns() const { return b.rows(); }
  std::uint64_t k() const { return b.depth(); }         // before A is compressed
  std::uint64_t products() const { return a.depth(); }  // of an element of D
  /// Of the sums: the result is rounded to D's type after them, or after the epilogue.
  GemmArithmetic arithmetic() const;
};

/// Resolves what an expectation names. Throws InputError for buffers that are missing or have the wrong type or shape,
/// and for arithmetic that no MMA has.
GemmProblem gemm_problem(const launch::Contract&, const launch::Expectation&);

/// Throws InputError unless `scales` has a ue8m0 or ue4m3 scale for each of `count` blocks of `rows` rows.
void check_scales(const launch::Buffer& scales, std::uint64_t rows, std::uint64_t count);
/// The blocks of 128 elements along K that f32 scales are of.
inline constexpr std::uint64_t promoted_block = 128;
/// Throws InputError unless `scales` has an f32 for each of `rows` and each of `count` blocks.
void check_promoted_scales(const launch::Buffer& scales, std::uint64_t rows, std::uint64_t count);
/// Throws InputError unless `metadata` has words for `rows` rows of `k` elements before they were compressed.
void check_metadata(const launch::Buffer& metadata, isa::MmaKind, std::uint64_t rows, std::uint64_t k);
/// Throws InputError unless `factor` is one f32.
void check_factor(const launch::Buffer& factor);

}  // namespace kiln::harness
