// What a tcgen05.mma says of itself before its descriptors are looked at: opcode and modifiers, and which of the optional
// operands it has. The verifier makes one from an instruction, the DSL from types, the kind word from bits.
#pragma once

#include "ptx/isa/modifiers.hpp"
#include "ptx/isa/features.hpp"
#include "ptx/isa/scales.hpp"

namespace kiln::isa {

/// One tcgen05.mma, .mma.sp, .mma.ws or .mma.ws.sp. Structural, so that it can be a template argument. PTX ISA
/// "tcgen05.mma", "tcgen05.mma.sp", "tcgen05.mma.ws", "tcgen05.mma.ws.sp".
struct MmaForm {
  MmaKind kind = MmaKind::none;
  CtaGroup group = CtaGroup::one;
  bool sparse = false;
  bool ws = false;  // weight stationary
  bool block_scale = false;
  ScaleVector scale_vector = ScaleVector::none;  // as written; none: the kind's default
  bool a_in_tmem = false;
  Collector collector = Collector::none;
  CollectorB collector_b = CollectorB::none;
  bool decompress_b = false;  // B holds indices into tables
  bool ashift = false;
  bool disable_output_lane = false;
  bool scale_input_d = false;
  bool zero_column_mask = false;

  constexpr bool operator==(const MmaForm&) const = default;
};

/// The parts of the family that not every target and PTX version has, as far as this form uses them; `none` fills the rest.
struct MmaFeatures {
  Feature at[8]{};
  int count = 0;
  constexpr void add(Feature f) { at[count++] = f; }
  constexpr const Feature* begin() const { return at; }
  constexpr const Feature* end() const { return at + count; }
};

constexpr MmaFeatures mma_features(const MmaForm& f) {
  MmaFeatures out;
  const bool packed = f.kind == MmaKind::mxf4 || f.kind == MmaKind::mxf4nvf4;
  if (f.kind == MmaKind::i8) out.add(Feature::kind_i8);
  if (f.kind == MmaKind::ti16) out.add(Feature::kind_ti16);
  if (f.collector_b != CollectorB::none) out.add(Feature::collector_b);
  if (f.decompress_b) out.add(Feature::decompress_b);
  if (f.kind == MmaKind::mxf4nvf4) out.add(Feature::mxf4nvf4);
  if (f.sparse && packed) out.add(Feature::sparse_mxf4);
  if (f.scale_vector == ScaleVector::x4) out.add(Feature::scale_vec_4x);
  else if (f.scale_vector == ScaleVector::x1 || f.scale_vector == ScaleVector::x2) out.add(Feature::scale_vec);
  else if (f.block_scale) out.add(Feature::block_size);
  // kind::i8 takes the operand and ignores it, on every target.
  if (f.scale_input_d && (f.kind == MmaKind::f16 || f.kind == MmaKind::tf32)) out.add(Feature::scale_input_d);
  return out;
}

}  // namespace kiln::isa
