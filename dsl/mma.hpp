// tcgen05.mma as a type: element types, extents and options together; its check() asks every question about their
// legality. What changes from one MMA of a chain to the next (collector use, masks, scales) is given to the call
// instead.
#pragma once

#include <array>
#include <optional>

#include "dsl/memory.hpp"
#include "ptx/isa/mma_shape.hpp"
#include "ptx/isa/sparse.hpp"
#include "ptx/rules/tcgen05_shape.hpp"

namespace kiln::dsl {

// Kinds and options, as PTX spells them -------------------------------------------------------------------------------

using isa::CtaGroup, isa::MmaKind, isa::ScaleVector;

inline constexpr MmaKind kind_f16 = MmaKind::f16, kind_tf32 = MmaKind::tf32, kind_f8f6f4 = MmaKind::f8f6f4,
                         kind_i8 = MmaKind::i8, kind_mxf8f6f4 = MmaKind::mxf8f6f4, kind_mxf4 = MmaKind::mxf4,
                         kind_mxf4nvf4 = MmaKind::mxf4nvf4;
inline constexpr CtaGroup cta_group_1 = CtaGroup::one, cta_group_2 = CtaGroup::two;
inline constexpr ScaleVector scale_vec_1X = ScaleVector::x1, scale_vec_2X = ScaleVector::x2,
                             scale_vec_4X = ScaleVector::x4, block16 = ScaleVector::block16,
                             block32 = ScaleVector::block32;

/// Options of tcgen05_mma that are there or not.
enum class MmaOption : unsigned char {
  sparse,             // .sp: A holds half of its elements, metadata says which
  weight_stationary,  // .ws
  negate_a, negate_b,
  saturate,           // kind::i8 clamps its sums
  a_MN_major, b_MN_major,  // for raw descriptors; a tile's type says its own
  K_96                // sm_103a: 96 elements of K instead of 64
};
inline constexpr MmaOption sparse = MmaOption::sparse, weight_stationary = MmaOption::weight_stationary,
                           negate_a = MmaOption::negate_a, negate_b = MmaOption::negate_b,
                           saturate = MmaOption::saturate, a_MN_major = MmaOption::a_MN_major,
                           b_MN_major = MmaOption::b_MN_major, K_96 = MmaOption::K_96;

/// The types of a block-scaled MMA's scales: of A's and of B's, which must agree.
struct ScaleTypes { ScalarType a, b; };
template <class SFA, class SFB = SFA>
inline constexpr ScaleTypes block_scale{SFA::scalar, SFB::scalar};

/// .ws: by how many columns a zero-column mask may shift B: 8, 16 or 32.
struct MaxShift { int columns; };
template <int columns>
inline constexpr MaxShift max_shift{columns};

namespace detail {

/// Form, shape and both scale types, while options are applied to them.
struct MmaSpec {
  isa::MmaForm form;
  isa::MmaShape shape;
  ScalarType sfb = ScalarType::none;

  constexpr void apply(CtaGroup g) { form.group = g; }
  constexpr void apply(ScaleVector v) { form.scale_vector = v; }
  constexpr void apply(ScaleTypes t) { shape.scale = t.a, sfb = t.b; }
  constexpr void apply(MaxShift s) { shape.max_shift = s.columns; }
  constexpr void apply(MmaOption o) {
    switch (o) {
      case MmaOption::sparse: form.sparse = true; break;
      case MmaOption::weight_stationary: form.ws = true; break;
      case MmaOption::negate_a: shape.negate_a = true; break;
      case MmaOption::negate_b: shape.negate_b = true; break;
      case MmaOption::saturate: shape.saturate = true; break;
      case MmaOption::a_MN_major: shape.a_major = Major::MN; break;
      case MmaOption::b_MN_major: shape.b_major = Major::MN; break;
      case MmaOption::K_96: shape.k96 = true; break;
    }
  }
  /// What follows from the kind when nobody said it: ue8m0 scales, and ue4m3 for blocks of 16.
  constexpr void complete() {
    form.block_scale = isa::is_block_scaled(form.kind) || shape.scale != ScalarType::none;
    if (!form.block_scale) return;
    shape.scale_block = isa::scale_block(form.kind, form.scale_vector);
    if (shape.scale == ScalarType::none)
      shape.scale = sfb = shape.scale_block == 16 ? ScalarType::ue4m3 : ScalarType::ue8m0;
  }
};

}  // namespace detail

/// One MMA: D[M,N] (+)= A[M,K] * B[N,K]^T. M and N are the whole instruction's, over both CTAs of cta_group_2; K
/// follows from the kind. Options in any order: cta_group_2, sparse, weight_stationary, negate_a, negate_b, saturate,
/// a_MN_major, b_MN_major, K_96, a scale vector (block16, scale_vec_4X, ...), block_scale<ue4m3>, max_shift<16>.
template <MmaKind kind_, class A_, class B_, class D_, int M_, int N_, auto... options>
struct tcgen05_mma {
  using A = A_;
  using B = B_;
  using D = D_;
  static constexpr detail::MmaSpec spec = [] {
    detail::MmaSpec s;
    s.form.kind = kind_;
    s.shape.a = A::scalar;
    s.shape.b = B::scalar;
    s.shape.d = D::scalar;
    s.shape.m = M_;
    s.shape.n = N_;
    (s.apply(options), ...);
    s.complete();
    return s;
  }();
  static constexpr isa::MmaForm form = spec.form;
  static constexpr isa::MmaShape shape = spec.shape;

  static constexpr rules::Verdict check() {
    using namespace rules;
    if (const Verdict v = mma_form(form, Profile::tileiras); !v.ok()) return v;
    if (form.block_scale)
      if (const Verdict v = scale_types(form.kind, shape.scale_block, shape.scale, spec.sfb, shape.k96); !v.ok())
        return v;
    return mma_shape(form, shape);
  }
  /// Asked by every use in an instruction. Where it is not, nothing more is asked: one mistake, one message.
  static constexpr bool is_legal = check().ok();

  static constexpr MmaKind kind = kind_;
  static constexpr CtaGroup group = form.group;
  static constexpr int ctas = group == CtaGroup::two ? 2 : 1;
  static constexpr int M = M_, N = N_;
  static constexpr int K = isa::mma_k(form, shape);
  static constexpr int a_rows = M / ctas, b_rows = N / ctas;     // in one CTA
  static constexpr int a_k = form.sparse ? K / 2 : K, b_k = K;   // stored elements
  static constexpr isa::DataPath data_path = isa::data_path(M, group, form.sparse, form.ws);
  static constexpr int d_columns = isa::accumulator_columns(data_path, N);
  static constexpr int scales = form.block_scale ? K / (shape.scale_block * (form.sparse ? 2 : 1)) : 0;  // a row

  /// D as this CTA holds it.
  using Accumulator = Tmem<D, isa::tmem_lanes, d_columns>;
};

// What a call says beside its operands --------------------------------------------------------------------------------

/// The operands of one MMA on their way into an instruction.
struct MmaOperands {
  ir::Operand d, a, b;
  isa::InstructionDescriptor idesc;
  ir::Operand enable_input_d;
  std::optional<ir::Operand> idesc_register{}, metadata{}, sfa{}, sfb{}, zero_mask{};
  std::vector<ir::Operand> lanes{};
  std::optional<int> scale_input_d{};
};

/// .collector::a::fill and its kin.
template <isa::Collector c>
struct CollectorTag {
  static constexpr void apply(isa::MmaForm& f) { f.collector = c; }
  void put(MmaOperands&, Here) const {}
};
#define KILN_COLLECTORS(buffer)                                                                                  \
  inline constexpr CollectorTag<isa::Collector::buffer##_fill> collector_##buffer##_fill{};                       \
  inline constexpr CollectorTag<isa::Collector::buffer##_use> collector_##buffer##_use{};                         \
  inline constexpr CollectorTag<isa::Collector::buffer##_lastuse> collector_##buffer##_lastuse{};                 \
  inline constexpr CollectorTag<isa::Collector::buffer##_discard> collector_##buffer##_discard{};
KILN_COLLECTORS(a)
KILN_COLLECTORS(b0)
KILN_COLLECTORS(b1)
KILN_COLLECTORS(b2)
KILN_COLLECTORS(b3)
#undef KILN_COLLECTORS

/// .ashift: the rows of A in tensor memory move down by one after this MMA has used them.
struct AshiftTag {
  static constexpr void apply(isa::MmaForm& f) { f.ashift = true; }
  void put(MmaOperands&, Here) const {}
};
inline constexpr AshiftTag ashift{};

/// D is scaled by 2^-s before the product is added.
template <int s>
struct ScaleInputD {
  static constexpr int scale = s;
  static constexpr void apply(isa::MmaForm& f) { f.scale_input_d = true; }
  void put(MmaOperands& o, Here) const { o.scale_input_d = s; }
};
template <int s>
inline constexpr ScaleInputD<s> scale_input_d{};

/// Lanes of D that are not written: bit i of mask v is lane 32 v + i. Four masks, or eight for a CTA pair.
template <std::size_t masks>
struct DisableOutputLane {
  std::array<U32, masks> values;
  static constexpr int count = int(masks);
  static constexpr void apply(isa::MmaForm& f) { f.disable_output_lane = true; }
  void put(MmaOperands& o, Here at) const;
};
template <class... Masks>
DisableOutputLane<sizeof...(Masks)> disable_output_lane(const Masks&... masks) { return {{masks...}}; }

/// .ws: the columns of D that see zeros, as a descriptor in a register or made of fields.
struct ZeroColumnMask {
  ir::Operand word;
  static constexpr void apply(isa::MmaForm& f) { f.zero_column_mask = true; }
  void put(MmaOperands& o, Here) const { o.zero_mask = word; }
};
inline ZeroColumnMask zero_column_mask(const U64& word) { return {word.operand()}; }
template <isa::ZeroMaskFields fields>
struct ConstantZeroColumnMask {
  static constexpr isa::ZeroMaskFields mask = fields;
  static constexpr void apply(isa::MmaForm& f) { f.zero_column_mask = true; }
  void put(MmaOperands& o, Here) const { o.zero_mask = ir::Operand::bits(isa::pack(fields)); }
};
template <isa::ZeroMaskFields fields>
inline constexpr ConstantZeroColumnMask<fields> zero_column_mask_of{};

/// The metadata of a sparse A.
struct Metadata {
  U32 address;
  int selector = 0;
  static constexpr void apply(isa::MmaForm&) {}
  void put(MmaOperands& o, Here at) const;
};
inline Metadata metadata(const U32& address, int selector = 0) { return {address, selector}; }

/// The scales of A and B.
struct Scales {
  U32 sfa, sfb;
  int sfa_id = 0, sfb_id = 0;
  static constexpr void apply(isa::MmaForm&) {}
  void put(MmaOperands& o, Here at) const;
};
inline Scales scales(const U32& sfa, const U32& sfb, int sfa_id = 0, int sfb_id = 0) {
  return {sfa, sfb, sfa_id, sfb_id};
}

/// An instruction descriptor that is only known when the kernel runs, in place of the type's.
struct IdescRegister {
  U32 word;
  static constexpr void apply(isa::MmaForm&) {}
  void put(MmaOperands& o, Here at) const;
};
inline IdescRegister instruction_descriptor(const U32& word) { return {word}; }

}  // namespace kiln::dsl
