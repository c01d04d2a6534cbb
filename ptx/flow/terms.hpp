// Symbolic words. A term is a sum of unknown words (atoms) with whole factors and a number, modulo a power of two; each
// is kept once, so that equal terms have one number and a comparison of terms is one of numbers.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "ptx/flow/bits.hpp"

namespace kiln::flow {

/// A term of one `Terms`. Equal terms of equal width have equal numbers; the reverse holds by construction.
using TermId = std::uint32_t;

class Terms {
 public:
  /// What an unknown word is: a name of the caller's, what it was made from, and for what it makes of them the bits
  /// that are known. Two atoms of one name and one list of operands are one.
  struct Atom {
    std::uint64_t name = 0;
    std::vector<TermId> operands{};
    bool operator==(const Atom&) const = default;
  };
  struct Part {
    TermId atom = 0;
    std::uint64_t factor = 0;
    bool operator==(const Part&) const = default;
  };
  /// number + sum of factor * atom, modulo 2^width; parts in the order of their atoms, no factor zero.
  struct Sum {
    int width = 64;
    std::uint64_t number = 0;
    std::vector<Part> parts{};
    bool operator==(const Sum&) const = default;
  };

  TermId constant(std::uint64_t value, int width = 64);
  TermId atom(std::uint64_t name, std::span<const TermId> operands, int width, Bits known = Bits::unknown());

  TermId add(TermId a, TermId b);
  TermId scale(TermId a, std::uint64_t factor);
  TermId subtract(TermId a, TermId b) { return add(a, scale(b, ~std::uint64_t{0})); }
  /// The low `width` bits as a word of that width.
  TermId truncate(TermId a, int width);
  /// The word filled up to `width` bits by zeros, or by its sign; nothing where that is no sum of the same atoms.
  std::optional<TermId> extend(TermId a, int width, bool is_signed);

  const Sum& sum(TermId t) const { return sums_[t]; }
  int width(TermId t) const { return sums_[t].width; }
  /// Known bits; those beyond the width are zero.
  Bits bits(TermId t) const;
  std::optional<std::uint64_t> value(TermId t) const;
  bool is_constant(TermId t) const { return sums_[t].parts.empty(); }
  /// The atom that a sum of nothing else is; null for others.
  const Atom* atom_of(TermId t) const;
  /// a - b where that is a number, as a signed word.
  std::optional<std::int64_t> difference(TermId a, TermId b);

 private:
  TermId intern(Sum s);
  /// A sum whose parts may have become numbers.
  TermId simplified(Sum s);

  std::vector<Sum> sums_{};
  std::unordered_map<TermId, Atom> atoms_{};
  std::unordered_map<TermId, Bits> known_{};  // of atoms
  std::unordered_multimap<std::uint64_t, TermId> by_hash_{};
  std::unordered_multimap<std::uint64_t, TermId> atoms_by_hash_{};
};

}  // namespace kiln::flow
