// One element of D on raw operand words, to study the tensor core's sums: `kiln mma` reads the words from JSON, ptx/num
// computes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ptx/num/window.hpp"

namespace kiln::harness {

/// The instruction whose arithmetic is asked for.
enum class DotInstruction : std::uint8_t { tcgen05_mma, mma_sync, wgmma };
std::string_view spelling(DotInstruction);

/// A row of A, a column of B and what goes with them, as words of their formats.
struct DotProblem {
  std::string name{};  // where it stands in its document, and its id if it has one
  DotInstruction instruction = DotInstruction::tcgen05_mma;
  std::string arch{};  // such as "sm_90"; empty: not said
  num::DotSpec spec{};
  std::vector<std::uint32_t> a{}, b{};    // A as stored: half as long as B when sparse
  std::vector<std::uint32_t> metadata{};  // sparse: a nibble for each chunk, the first lowest
  std::vector<std::uint8_t> scale_a{}, scale_b{};
  std::uint32_t c = 0;
  std::optional<std::uint32_t> expect{};  // what hardware gave
};

/// The word of D; nothing when the instruction's arithmetic is not modelled.
std::optional<std::uint32_t> evaluate(const DotProblem&);

/// The dot products of a document: an object whose `vectors` is a list. Throws InputError naming the document, the
/// place (vectors[3].a) and what must stand there.
std::vector<DotProblem> read_dot_problems(std::string_view text, const std::string& document);

}  // namespace kiln::harness
