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
  K_96,               // sm_103a: 96 elements of K instead of 64
  wide_K              // sm_107: 64 bytes of K instead of 32
};
inline constexpr MmaOption sparse = MmaOption::sparse, weight_stationary = MmaOption::weight_stationary,
                           negate_a = MmaOption::negate_a, negate_b = MmaOption::negate_b,
                           saturate = MmaOption::saturate, a_MN_major = MmaOption::a_MN_major,
                           b_MN_major = MmaOption::b_MN_major, K_96 = MmaOption::K_96,
                           wide_K = MmaOption::wide_K;

/// The types of a block-scaled MMA's scales: of A's and of B's, which must agree.
struct ScaleTypes { ScalarType a, b; };
template <class SFA, class SFB = SFA>
inline constexpr ScaleTypes block_scale{SFA::scalar, SFB::scalar};

/// .ws: by how many columns a zero-column mask may shift B: 8, 16 or 32.
struct MaxShift { int columns; };
template <int columns>
inline constexpr MaxShift max_shift{columns};

/// One MMA as a value: form, shape and both scale types, and what follows from them. tcgen05_mma is the same as a type.
/// Structural.
struct MmaSpec {
  isa::MmaForm form{};
  isa::MmaShape shape{};
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
      case MmaOption::wide_K: shape.wide = true; break;
    }
  }
  /// What follows from the kind where the options do not say it: ue8m0 scales, and ue4m3 for blocks of 16.
  constexpr void complete() {
    form.block_scale = isa::is_block_scaled(form.kind) || shape.scale != ScalarType::none;
    if (!form.block_scale) return;
    shape.scale_block = isa::scale_block(form.kind, form.scale_vector);
    if (shape.scale == ScalarType::none)
      shape.scale = sfb = shape.scale_block == 16 ? ScalarType::ue4m3 : ScalarType::ue8m0;
  }

  constexpr rules::Verdict check() const {
    using namespace rules;
    if (const Verdict v = mma_form(form, Profile::tileiras); !v.ok()) return v;
    if (form.block_scale)
      if (const Verdict v = scale_types(form.kind, shape.scale_block, shape.scale, sfb, shape.k96, shape.wide);
          !v.ok()) return v;
    return mma_shape(form, shape);
  }

  constexpr int ctas() const { return form.group == CtaGroup::two ? 2 : 1; }
  constexpr int M() const { return shape.m; }
  constexpr int N() const { return shape.n; }
  constexpr int K() const { return isa::mma_k(form, shape); }
  constexpr int a_rows() const { return shape.m / ctas(); }  // in one CTA
  constexpr int b_rows() const { return shape.n / ctas(); }
  constexpr int a_k() const { return form.sparse ? K() / 2 : K(); }  // stored elements
  constexpr isa::DataPath data_path() const { return isa::data_path(shape.m, form.group, form.sparse, form.ws); }
  constexpr int d_columns() const { return isa::accumulator_columns(data_path(), shape.n); }
  /// Scales of a row of A and of B.
  constexpr int scales() const { return form.block_scale ? K() / (shape.scale_block * (form.sparse ? 2 : 1)) : 0; }

  /// How the rows of A and of B that one CTA loads lie in shared memory, `k` stored elements of each. In a pair both
  /// CTAs multiply by all of B, of which each loads a half.
  constexpr TileShape a_tile(ElementType element, int k, Major major, Layout layout) const {
    return {element, a_rows(), k, major, layout, Readers::own_cta};
  }
  constexpr TileShape b_tile(ElementType element, int k, Major major, Layout layout) const {
    return {element, b_rows(), k, major, layout, ctas() == 2 ? Readers::both_ctas : Readers::own_cta};
  }
};

/// One MMA: D[M,N] (+)= A[M,K] * B[N,K]^T. M and N are the whole instruction's, over both CTAs of cta_group_2; K
/// follows from the kind. Options in any order: cta_group_2, sparse, weight_stationary, negate_a, negate_b, saturate,
/// a_MN_major, b_MN_major, K_96, wide_K, a scale vector (block16, scale_vec_4X, ...), block_scale<ue4m3>,
/// max_shift<16>.
template <MmaKind kind_, class A_, class B_, class D_, int M_, int N_, auto... options>
struct tcgen05_mma {
  using A = A_;
  using B = B_;
  using D = D_;
  static constexpr MmaSpec spec = [] {
    MmaSpec s;
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

  static constexpr rules::Verdict check() { return spec.check(); }
  /// Asked by every use in an instruction. Where it is not, nothing more is asked: one mistake, one message.
  static constexpr bool is_legal = check().ok();

  static constexpr MmaKind kind = kind_;
  static constexpr CtaGroup group = form.group;
  static constexpr int ctas = spec.ctas();
  static constexpr int M = M_, N = N_;
  static constexpr int K = spec.K();
  static constexpr int a_rows = spec.a_rows(), b_rows = spec.b_rows();  // in one CTA
  static constexpr int a_k = spec.a_k();                                // stored elements
  static constexpr isa::DataPath data_path = spec.data_path();
  static constexpr int d_columns = spec.d_columns();
  static constexpr int scales = spec.scales();  // of a row

  /// The rows of A and of B that one CTA loads: `k` stored elements of each. In a pair both CTAs multiply by all of B,
  /// of which each loads a half.
  template <int k, Major major, Layout layout>
  using ATile = SharedTile<A, a_rows, k, major, layout>;
  template <int k, Major major, Layout layout>
  using BTile = SharedTile<B, b_rows, k, major, layout, ctas == 2 ? Readers::both_ctas : Readers::own_cta>;

  /// D as this CTA holds it.
  static constexpr SumsLayout sums = sums_layout(data_path);
  using Accumulator =
      Tmem<D, sums == SumsLayout::half_of_lanes ? isa::tmem_lanes / 2 : isa::tmem_lanes, d_columns, sums>;
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

/// One MMA as it is called: its form and shape with what the call adds, and what its operands tell. Structural.
struct MmaCall {
  isa::MmaForm form{};
  isa::MmaShape shape{};
  bool a_is_known = false, b_is_known = false;  // of a raw descriptor nothing is known, so it is not checked
  rules::MmaOperand a{}, b{};
  bool b_in_tmem = false, has_scales = false, has_metadata = false;
  int lane_masks = -1;         // of disable_output_lane; -1: none
  int scale_input_d = 0;       // where the form has it
  bool has_zero_mask = false;  // one whose fields are known
  isa::ZeroMaskFields zero_mask{};

  constexpr void set_a(const rules::MmaOperand& operand) {
    a_is_known = true;
    a = operand;
    form.a_in_tmem = operand.in_tmem;
    shape.a_major = operand.major;
  }
  constexpr void set_b(const rules::MmaOperand& operand) {
    b_is_known = true;
    b = operand;
    b_in_tmem = operand.in_tmem;
    shape.b_major = operand.major;
  }

  /// Every question about the call that its form, shape and operands answer.
  constexpr rules::Verdict check() const {
    using namespace rules;
    if (const Verdict v = first(mma_form(form, Profile::tileiras), mma_extras(form, has_scales, has_metadata)); !v.ok())
      return v;
    if (lane_masks >= 0)
      if (const Verdict v = output_lanes(form, lane_masks); !v.ok()) return v;
    if (const Verdict v = mma_shape(form, shape); !v.ok()) return v;
    if (form.scale_input_d)
      if (const Verdict v = scale_input_d_value(scale_input_d); !v.ok()) return v;
    if (has_zero_mask)
      if (const Verdict v =
              first(zero_mask_fields(zero_mask), zero_mask_shift(zero_mask.shift, shape.m, shape.max_shift));
          !v.ok())
        return v;
    if (a_is_known)
      if (const Verdict v = mma_a(form, shape, a); !v.ok()) return v;
    if (b_is_known)
      if (const Verdict v = mma_b(form, shape, b); !v.ok()) return v;
    return b_in_tmem ? breaks(Rule::mma_b_shared) : legal;
  }
};

/// .collector::a::fill and its kin.
template <isa::Collector c>
struct CollectorTag {
  static constexpr void apply(MmaCall& m) { m.form.collector = c; }
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

/// .collector::b::fill and its kin, of sm_107: B is kept for later MMAs.
template <isa::CollectorB c>
struct CollectorBTag {
  static constexpr void apply(MmaCall& m) { m.form.collector_b = c; }
  void put(MmaOperands&, Here) const {}
};
inline constexpr CollectorBTag<isa::CollectorB::fill> collector_b_fill{};
inline constexpr CollectorBTag<isa::CollectorB::use> collector_b_use{};
inline constexpr CollectorBTag<isa::CollectorB::lastuse> collector_b_lastuse{};
inline constexpr CollectorBTag<isa::CollectorB::discard> collector_b_discard{};

/// .ashift: the rows of A in tensor memory move down by one after this MMA has used them.
struct AshiftTag {
  static constexpr void apply(MmaCall& m) { m.form.ashift = true; }
  void put(MmaOperands&, Here) const {}
};
inline constexpr AshiftTag ashift{};

/// D is scaled by 2^-s before the product is added.
template <int s>
struct ScaleInputD {
  static constexpr void apply(MmaCall& m) {
    m.form.scale_input_d = true;
    m.scale_input_d = s;
  }
  void put(MmaOperands& o, Here) const { o.scale_input_d = s; }
};
template <int s>
inline constexpr ScaleInputD<s> scale_input_d{};

/// Lanes of D that are not written: bit i of mask v is lane 32 v + i. Four masks, or eight for a CTA pair.
template <std::size_t masks>
struct DisableOutputLane {
  std::array<U32, masks> values;
  static constexpr void apply(MmaCall& m) {
    m.form.disable_output_lane = true;
    m.lane_masks = int(masks);
  }
  void put(MmaOperands& o, Here at) const;
};
template <class... Masks>
DisableOutputLane<sizeof...(Masks)> disable_output_lane(const Masks&... masks) { return {{masks...}}; }

/// .ws: the columns of D that see zeros, as a descriptor in a register or made of fields.
struct ZeroColumnMask {
  ir::Operand word;
  static constexpr void apply(MmaCall& m) { m.form.zero_column_mask = true; }
  void put(MmaOperands& o, Here) const { o.zero_mask = word; }
};
inline ZeroColumnMask zero_column_mask(const U64& word) { return {word.operand()}; }
template <isa::ZeroMaskFields fields>
struct ConstantZeroColumnMask {
  static constexpr void apply(MmaCall& m) {
    m.form.zero_column_mask = true;
    m.has_zero_mask = true;
    m.zero_mask = fields;
  }
  void put(MmaOperands& o, Here) const { o.zero_mask = ir::Operand::bits(isa::pack(fields)); }
};
template <isa::ZeroMaskFields fields>
inline constexpr ConstantZeroColumnMask<fields> zero_column_mask_of{};

/// The metadata of a sparse A.
struct Metadata {
  U32 address;
  int selector = 0;
  static constexpr void apply(MmaCall& m) { m.has_metadata = true; }
  void put(MmaOperands& o, Here at) const;
};
inline Metadata metadata(const U32& address, int selector = 0) { return {address, selector}; }

/// The scales of A and B.
struct Scales {
  U32 sfa, sfb;
  int sfa_id = 0, sfb_id = 0;
  static constexpr void apply(MmaCall& m) { m.has_scales = true; }
  void put(MmaOperands& o, Here at) const;
};
inline Scales scales(const U32& sfa, const U32& sfb, int sfa_id = 0, int sfb_id = 0) {
  return {sfa, sfb, sfa_id, sfb_id};
}

/// An instruction descriptor that is only known when the kernel runs, in place of the type's.
struct IdescRegister {
  U32 word;
  static constexpr void apply(MmaCall&) {}
  void put(MmaOperands& o, Here at) const;
};
inline IdescRegister instruction_descriptor(const U32& word) { return {word}; }

}  // namespace kiln::dsl
