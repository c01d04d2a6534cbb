// Tiles that tensor copies have left in shared memory, and how MMAs read them: ptx/tile says what is wrong. All states
// of a kernel have few different sets of tiles, so a state holds the number of a set.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ptx/isa/mma_form.hpp"
#include "ptx/rules/verdict.hpp"
#include "ptx/tile/accumulation.hpp"
#include "ptx/tile/right.hpp"

namespace kiln::verifier::explore {

/// A set of tiles in the shared memory of one CTA; 0 is empty.
using TileSet = std::uint32_t;

class TileSets {
 public:
  /// The set with one more, in place of what it lies over.
  TileSet with(TileSet, const tile::Tile&);
  /// The set without what lies in [first, end).
  TileSet without(TileSet, std::uint32_t first, std::uint32_t end);
  /// The set as shared memory with these tiles.
  const tile::CopiedTiles& memory(TileSet);

 private:
  using Tiles = std::vector<tile::Tile>;  // by address
  TileSet number(Tiles);

  std::vector<Tiles> sets_{Tiles{}};
  std::map<std::vector<std::uint64_t>, TileSet> known_{};
  std::map<TileSet, tile::CopiedTiles> memories_{};
};

/// A run of bytes in shared memory.
struct ByteRun {
  std::uint32_t first = 0, end = 0;
};

/// One operand of an MMA, all of it known.
struct KnownOperand {
  isa::MmaForm form{};
  isa::InstructionDescriptorFields shape{};
  std::uint64_t word = 0;  // its matrix descriptor
  isa::SharedDescriptorFields descriptor{};
  isa::Swizzle swizzle = isa::Swizzle::none;
  bool is_a = false;

  /// Nothing where the documents do not say what the operand is.
  static std::optional<KnownOperand> of(const isa::MmaForm&, std::uint32_t instruction, std::uint64_t word, bool is_a);
  tile::SharedOperand shared() const {
    return is_a ? tile::operand_a(form, shape, descriptor, swizzle) : tile::operand_b(form, shape, descriptor, swizzle);
  }
};

/// What is wrong with an MMA.
struct TileFinding {
  rules::Verdict verdict{};
  std::string got{};
  std::string repair{};
  const ir::Operation* other = nullptr;  // the copy, or another MMA
};

class TileJudge {
 public:
  TileSets& sets() { return sets_; }
  /// The bytes that an operand reads, in lines of 128.
  const std::vector<ByteRun>& reads(const KnownOperand& o) { return reads(o.shared()); }
  const std::vector<ByteRun>& reads(const tile::SharedOperand&);
  /// What is wrong with an operand; else where it begins in its tile, if that is known.
  std::optional<TileFinding> judge(TileSet, const KnownOperand&, std::optional<tile::Beginning>&);
  /// What is wrong between this MMA and others of its accumulator.
  static std::optional<TileFinding> go_on(tile::Accumulation&, const tile::Beginning& a, const tile::Beginning& b,
                                          const KnownOperand&, const ir::Operation&);

 private:
  TileSets sets_{};
  tile::RightOperands right_{};
  std::map<std::vector<std::uint64_t>, std::vector<ByteRun>> reads_{};
};

}  // namespace kiln::verifier::explore
