// The kind word: the flags with which NVIDIA's own compilers describe a tcgen05.mma between their passes. PTX has no
// such word; it matters because published material quotes it. Two layouts exist in print. `consistent` is the one whose
// checks are the vendor compiler's; `published` is the 9-bit table of the Tileiras documentation, which contradicts the
// checks printed beside it. docs/kind-word.md has the evidence.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "ptx/isa/collector.hpp"
#include "ptx/isa/mma_form.hpp"

namespace kiln::isa {

/// A run of bits of the word; width 0: the layout has no such field.
struct WordField {
  int low = 0;
  int width = 0;
  constexpr std::uint32_t take(std::uint32_t word) const { return word >> low & ((1u << width) - 1); }
  constexpr std::uint32_t put(std::uint32_t value) const { return value << low; }
  constexpr bool operator==(const WordField&) const = default;
};

/// What a layout says about each field, and the codes that it gives to values. Codes stand in the order of the enums'
/// spelling tables below; `no_code` marks a value that the layout cannot write.
struct KindWordLayout {
  std::string_view name;
  int bits = 0;
  WordField ws, group, scale_vector, scale_input_d, sparse, block_scale, kind, alias;
  std::array<std::int8_t, 2> group_codes{};         // cta_group::1, ::2
  std::array<std::int8_t, 4> scale_vector_codes{};  // none, 1X, 2X, 4X
  std::array<std::int8_t, 7> kind_codes{};          // f16, tf32, f8f6f4, i8, mxf8f6f4, mxf4, mxf4nvf4
};

inline constexpr std::int8_t no_code = -1;
inline constexpr std::array<MmaKind, 7> mma_kinds{MmaKind::f16,      MmaKind::tf32, MmaKind::f8f6f4,  MmaKind::i8,
                                                  MmaKind::mxf8f6f4, MmaKind::mxf4, MmaKind::mxf4nvf4};
inline constexpr std::array<ScaleVector, 4> kind_word_scale_vectors{ScaleVector::none, ScaleVector::x1, ScaleVector::x2,
                                                                    ScaleVector::x4};

/// Bits 9 and 10 encode .block16 and .block32. Their codes are not known, so forms with these modifiers have no word
/// here.
inline constexpr KindWordLayout consistent_kind_word{
    "consistent", 11, {0, 1}, {1, 1}, {2, 2}, {4, 1}, {5, 1}, {}, {6, 3}, {9, 2},
    {0, 1}, {0, 1, 2, 3}, {3, 5, 1, 4, 2, 7, 0}};

/// As the source document prints it. Its text also says that bit 0 selects weight-stationary mode, which contradicts
/// its own codes of bits 0-1 (1 and 3).
inline constexpr KindWordLayout published_kind_word{
    "published", 9, {}, {0, 2}, {2, 2}, {4, 1}, {}, {5, 1}, {6, 3}, {},
    {1, 3}, {no_code, 0, 1, 2}, {3, 4, 5, 1, 2, 7, 0}};

/// A field on which the two layouts disagree, and the evidence.
struct KindWordDifference {
  std::string_view field, consistent, published, evidence;
};

inline constexpr std::array<KindWordDifference, 7> kind_word_differences{{
    {"bits 0-1", "bit 0 .ws, bit 1 cta_group::2", "cta_group: 1 = one CTA, 3 = two",
     "the check 'cta_group::2 is not supported with weight stationary' tests (word & 3) == 3, which would refuse every "
     "two-CTA MMA of the published coding"},
    {"bits 2-3", "0 unspecified, 1 = 1X, 2 = 2X, 3 = 4X", "0 = 1X, 1 = 2X, 2 = 4X",
     "'Cannot use 1X as scale vector size for mxf4nvf4 type' tests for 1; under the published coding 2X would be refused, "
     "which ptxas takes"},
    {"bit 5", ".sp", "block_scale",
     "the check on MXF4 with sparsity tests bit 5; block scaling is chosen by the intrinsic, not by a bit"},
    {"kind 1", "f8f6f4", "i8", "the check on INT8 tests for 4"},
    {"kind 4", "i8", "tf32", "the check on INT8 tests for 4"},
    {"kind 5", "tf32", "f8f6f4", "the scale-input-d check passes kinds 3 and 5, f16 and tf32"},
    {"bits 9-10", ".block16 or .block32 written instead of a size", "no such bits",
     "the strings 'alias_scale', '.block16' and '.block32' of the compiler; codes not established"},
}};

namespace detail {

constexpr std::optional<std::uint32_t> kind_code(const KindWordLayout& l, MmaKind k) {
  for (std::size_t i = 0; i < mma_kinds.size(); ++i)
    if (mma_kinds[i] == k) return std::uint32_t(l.kind_codes[i]);
  return std::nullopt;
}

constexpr std::optional<std::uint32_t> scale_vector_code(const KindWordLayout& l, ScaleVector v) {
  for (std::size_t i = 0; i < kind_word_scale_vectors.size(); ++i)
    if (kind_word_scale_vectors[i] == v && l.scale_vector_codes[i] != no_code)
      return std::uint32_t(l.scale_vector_codes[i]);
  return std::nullopt;
}

}  // namespace detail

/// The word of a form; nothing where the layout has no code for what the form says.
constexpr std::optional<std::uint32_t> encode_kind_word(const MmaForm& f, const KindWordLayout& l = consistent_kind_word) {
  const auto kind = detail::kind_code(l, f.kind);
  const bool scaled = is_block_scaled(f.kind);
  // A layout that cannot say "unspecified" writes 1X on kinds without scales.
  const auto vector = !scaled && l.scale_vector_codes[0] == no_code ? std::optional<std::uint32_t>(0)
                                                                    : detail::scale_vector_code(l, f.scale_vector);
  if (!kind || !vector || f.group == CtaGroup::none) return std::nullopt;
  if ((f.ws && !l.ws.width) || (f.sparse && !l.sparse.width)) return std::nullopt;
  const auto group = std::uint32_t(l.group_codes[f.group == CtaGroup::two]);
  return l.ws.put(f.ws) | l.group.put(group) | l.scale_vector.put(*vector) | l.scale_input_d.put(f.scale_input_d) |
         l.sparse.put(f.sparse) | (l.block_scale.width ? l.block_scale.put(f.block_scale) : 0u) | l.kind.put(*kind);
}

/// What a word says. `block_scale` comes from the intrinsic in the consistent layout, which has no bit for it. Nothing
/// when a field holds a code that the layout does not define, an alias code included.
constexpr std::optional<MmaForm> decode_kind_word(std::uint32_t word, bool block_scale = false,
                                                  const KindWordLayout& l = consistent_kind_word) {
  if (word >> l.bits || l.alias.take(word)) return std::nullopt;
  MmaForm f;
  bool known_group = false, known_vector = false;
  for (int i = 0; i < 2; ++i)
    if (l.group.take(word) == std::uint32_t(l.group_codes[std::size_t(i)])) {
      f.group = i ? CtaGroup::two : CtaGroup::one;
      known_group = true;
    }
  for (std::size_t i = 0; i < kind_word_scale_vectors.size(); ++i)
    if (std::int32_t(l.scale_vector.take(word)) == l.scale_vector_codes[i]) {
      f.scale_vector = kind_word_scale_vectors[i];
      known_vector = true;
    }
  for (std::size_t i = 0; i < mma_kinds.size(); ++i)
    if (l.kind.take(word) == std::uint32_t(l.kind_codes[i])) f.kind = mma_kinds[i];
  if (!known_group || !known_vector || f.kind == MmaKind::none) return std::nullopt;
  f.ws = l.ws.take(word) != 0;
  f.scale_input_d = l.scale_input_d.take(word) != 0;
  f.sparse = l.sparse.take(word) != 0;
  f.block_scale = l.block_scale.width ? l.block_scale.take(word) != 0 : block_scale;
  if (l.scale_vector_codes[0] == no_code && !f.block_scale) f.scale_vector = ScaleVector::none;
  return f;
}

/// The collector word beside it: bits 0-1 what happens to the buffer, bit 2 .ashift. Without .ws the buffer is a's,
/// with it one of b0 to b3, which this word does not tell; b0 is taken.
constexpr std::optional<std::uint32_t> encode_collector_word(const MmaForm& f) {
  const std::uint32_t shift = f.ashift ? 4 : 0;
  switch (collector_use(f.collector)) {
    case CollectorUse::discard: return shift;
    case CollectorUse::lastuse: return shift | 1;
    case CollectorUse::fill: return shift | 2;
    case CollectorUse::use: return shift | 3;
  }
  return std::nullopt;
}

/// Sets the form's collector and ashift from the word; nothing for undefined bits.
constexpr std::optional<MmaForm> with_collector_word(MmaForm f, std::uint32_t word) {
  if (word >> 3) return std::nullopt;
  constexpr CollectorUse uses[] = {CollectorUse::discard, CollectorUse::lastuse, CollectorUse::fill, CollectorUse::use};
  f.collector = collector(f.ws ? 1 : 0, uses[word & 3]);
  f.ashift = (word & 4) != 0;
  return f;
}

}  // namespace kiln::isa
