// What the instruction descriptor of a tcgen05.mma says, in types and extents instead of codes.
#pragma once

#include "ptx/isa/mma_form.hpp"

namespace kiln::isa {

/// The other half of an MMA: MmaForm is what the instruction's text says, MmaShape what its descriptor says.
/// Structural. PTX ISA "Instruction Descriptor".
struct MmaShape {
  ScalarType a = ScalarType::none, b = ScalarType::none, d = ScalarType::f32;
  int m = 0, n = 0;  // of the whole MMA, over both CTAs
  Major a_major = Major::K, b_major = Major::K;
  bool negate_a = false, negate_b = false;
  bool saturate = false;                       // kind::i8
  bool k96 = false;                            // kind::mxf4 and mxf4nvf4 on sm_103a
  bool wide = false;                           // K of 64 bytes, on sm_107
  int scale_block = 0;                         // elements that share a scale; 0: not block-scaled
  ScalarType scale = ScalarType::none;         // type of the scales
  int max_shift = 0;                           // .ws: columns by which a zero-column mask may shift B: 0, 8, 16 or 32

  constexpr bool operator==(const MmaShape&) const = default;
};

/// K of one instruction, in elements.
constexpr int mma_k(const MmaForm& f, const MmaShape& s) { return mma_k(f.kind, f.sparse, s.k96, s.wide); }

/// The descriptor's code of a shift allowance.
constexpr std::uint8_t max_shift_code(int columns) { return columns >= 32 ? 3 : columns >= 16 ? 2 : columns >= 8 ? 1 : 0; }
constexpr int max_shift_columns(std::uint8_t code) { return code == 0 ? 0 : 4 << code; }

/// The 32-bit instruction descriptor as a value that remembers its kind. Made of types, or of a word by raw().
class InstructionDescriptor {
 public:
  /// Types that the kind does not have give code 0: whether they are legal is asked in ptx/rules.
  static constexpr InstructionDescriptor of(const MmaForm& form, const MmaShape& s) {
    InstructionDescriptorFields f;
    f.sparse = form.sparse;
    f.saturate = s.saturate;
    f.a_type = operand_type_code(form.kind, s.a).value_or(0);
    f.b_type = operand_type_code(form.kind, s.b).value_or(0);
    f.negate_a = s.negate_a;
    f.negate_b = s.negate_b;
    f.a_major = s.a_major;
    f.b_major = s.b_major;
    f.m = s.m;
    f.n = s.n;
    f.wide = s.wide;
    if (is_block_scaled(form.kind)) {
      f.scale_format = scale_format_code(s.scale).value_or(0);
      f.k96 = s.k96;
    } else {
      f.d_type = d_type_code(s.d).value_or(0);
      f.max_shift = max_shift_code(s.max_shift);
    }
    return {pack(f, form.kind), form.kind};
  }
  /// A word that came from elsewhere. Nothing is checked.
  static constexpr InstructionDescriptor raw(std::uint32_t word, MmaKind kind) { return {word, kind}; }

  constexpr std::uint32_t word() const { return word_; }
  constexpr MmaKind kind() const { return kind_; }
  constexpr InstructionDescriptorFields fields() const { return unpack(word_, kind_); }

  /// The same for MMAs whose scales begin at these bytes of their cells.
  constexpr InstructionDescriptor with_scale_ids(int sfa, int sfb) const {
    InstructionDescriptorFields f = fields();
    f.sfa_id = std::uint8_t(sfa);
    f.sfb_id = std::uint8_t(sfb);
    return {pack(f, kind_), kind_};
  }
  /// The same for an MMA whose metadata is in column `selector` of a pair.
  constexpr InstructionDescriptor with_selector(int selector) const {
    InstructionDescriptorFields f = fields();
    f.selector = std::uint8_t(selector);
    return {pack(f, kind_), kind_};
  }

  constexpr bool operator==(const InstructionDescriptor&) const = default;

 private:
  constexpr InstructionDescriptor(std::uint32_t word, MmaKind kind) : word_(word), kind_(kind) {}
  std::uint32_t word_;
  MmaKind kind_;
};

}  // namespace kiln::isa
