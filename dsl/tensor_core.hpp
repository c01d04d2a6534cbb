// The tensor core as one thread drives it: tcgen05.mma, tcgen05.cp, tcgen05.shift and their completion.
#pragma once

#include "dsl/copies.hpp"
#include "dsl/tmem_operands.hpp"

namespace kiln::dsl {

/// enable-input-d: whether an MMA adds to D or overwrites it. Carries the line of the MMA that it is written in.
struct EnableInputD {
  ir::Operand operand;
  Here at;
};
inline EnableInputD accumulate(bool always, Here at = {}) { return {ir::Operand::number(always), at}; }
inline EnableInputD accumulate(const Pred& p, Here at = {}) {
  p.recorder().check_use(&p.recorder(), p.scope(), at);
  return {p.operand(), at};
}

// Here only to explain: no predicate.
#define KILN_ACCUMULATE_TEXT \
  "accumulate(p): a bool, or a predicate: compare a value, as in i != 0, to make one [dsl-value-kind]"
KILN_REASON(NotToAccumulate, value_kind, KILN_ACCUMULATE_TEXT)
template <class X>
  requires(ReadsAsValue<X> && !std::is_convertible_v<X, Pred>)
KILN_REFUSED_FUNCTION(value_kind, KILN_ACCUMULATE_TEXT)
EnableInputD accumulate(const X&, NotToAccumulate = {});
#undef KILN_ACCUMULATE_TEXT

/// Shapes, multicasts and source formats of tcgen05.cp.
inline constexpr isa::DataShape shape_128x256b = isa::DataShape::s128x256b, shape_4x256b = isa::DataShape::s4x256b,
                                shape_128x128b = isa::DataShape::s128x128b, shape_64x128b = isa::DataShape::s64x128b,
                                shape_32x128b = isa::DataShape::s32x128b;
inline constexpr isa::CpMulticast no_multicast = isa::CpMulticast::none,
                                  warpx2_02_13 = isa::CpMulticast::warpx2_02_13,
                                  warpx2_01_23 = isa::CpMulticast::warpx2_01_23, warpx4 = isa::CpMulticast::warpx4;
inline constexpr isa::CpSourceFormat b6x16_p32 = isa::CpSourceFormat::b6x16_p32,
                                     b4x16_p64 = isa::CpSourceFormat::b4x16_p64;

/// Every CTA that shares the MMAs: both of a pair, or this one alone.
struct AllCtas {};
inline constexpr AllCtas all_ctas{};

/// A shared-memory matrix descriptor in a register.
struct SharedDescriptor {
  U64 word;
  /// One that the kernel made itself. Nothing is checked.
  static SharedDescriptor raw(const U64& word) { return {word}; }
};

namespace detail {

/// What the rules know of a handle whose shape is a type. Of a raw descriptor they know nothing, so it is not checked.
template <class Operand>
struct OperandInfo {
  static constexpr bool known = false, in_tmem = false;
};
template <>
struct OperandInfo<U32> {
  static constexpr bool known = false, in_tmem = true;
};
template <class Tile>
struct OperandInfo<KSlice<Tile>> {
  static constexpr bool known = true, in_tmem = false;
  static constexpr rules::MmaOperand operand = Tile::shape.mma_operand();
};
template <class T, int M, SumsLayout layout>
struct OperandInfo<TmemSlice<T, M, layout>> {
  static constexpr bool known = true, in_tmem = true;
  static constexpr rules::MmaOperand operand{true, T::scalar, T::bits, M, isa::mma_k_bytes * 8 / T::bits};
};
/// Whether an A in tensor memory, or sums, lie in other lanes than those that an MMA reads or writes.
template <class Mma, class Operand>
inline constexpr bool in_other_lanes = false;
template <class Mma, class T, int M, SumsLayout layout>
inline constexpr bool in_other_lanes<Mma, TmemSlice<T, M, layout>> = M == Mma::a_rows && layout != Mma::sums;
template <class Mma, class T, int M, int K, SumsLayout layout>
inline constexpr bool in_other_lanes<Mma, TmemA<T, M, K, layout>> = in_other_lanes<Mma, TmemSlice<T, M, layout>>;
template <class Mma, class T, int M, int N, SumsLayout layout>
  requires(Mma::is_legal)
inline constexpr bool in_other_lanes<Mma, Tmem<T, M, N, layout>> = layout != Mma::sums;

/// Whether something is an accumulator, and one that an MMA may write; of an address nothing is known.
template <class X>
struct SumsOf {
  static constexpr bool known = false;
  template <class Mma>
  static constexpr rules::Verdict check() { return rules::legal; }
};
template <class T, int M, int N, SumsLayout layout>
struct SumsOf<Tmem<T, M, N, layout>> {
  static constexpr bool known = true;
  template <class Mma>
  static constexpr rules::Verdict check() {
    if (!std::is_same_v<T, typename Mma::D>) return rules::breaks(rules::Rule::mma_accumulator, int(T::scalar));
    return rules::tmem_range(0, Mma::d_columns, N);
  }
};
template <class X>
inline constexpr bool is_sums = SumsOf<X>::known;

/// How many stored elements along K a whole operand has, and its slice for one MMA; of anything else 0.
template <class X>
inline constexpr int k_extent = 0;
template <class Tile>
inline constexpr int k_extent<Shared<Tile>> = Tile::cols;
template <class T, int M, int K, SumsLayout layout>
inline constexpr int k_extent<TmemA<T, M, K, layout>> = K;
template <class X>
using SliceOf = decltype(std::declval<const X&>().k_slice(0));
/// Whether two operands are whole, with as many elements along K as an MMA takes of each, times a number.
template <class Mma, class A, class B>
constexpr bool are_tiles() {
  if constexpr (Mma::is_legal)
    return k_extent<B> != 0 && k_extent<B> % Mma::K == 0 && k_extent<A> * Mma::K == k_extent<B> * Mma::a_k;
  else
    return k_extent<A> != 0 && k_extent<B> != 0;  // the MMA is the mistake
}
template <class Mma, class A, class B>
concept Tiles = are_tiles<Mma, A, B>();
/// Whether something may be A or B of an MMA that is named: a slice, a descriptor or an address.
template <class X>
inline constexpr bool is_operand = OperandInfo<X>::known || std::is_same_v<X, SharedDescriptor> ||
                                   std::is_same_v<X, AnySlice> || std::is_same_v<X, U32>;
template <class... Rest>
inline constexpr bool begins_with_enable = false;
template <class P, class... Rest>
inline constexpr bool begins_with_enable<P, Rest...> = std::is_convertible_v<P, EnableInputD>;

/// One call as types know it.
template <class Mma, class A, class B, class... Extras>
constexpr MmaCall call_of() {
  MmaCall call{Mma::form, Mma::shape};
  call.form.a_in_tmem = OperandInfo<A>::in_tmem;
  call.b_in_tmem = OperandInfo<B>::in_tmem;
  if constexpr (OperandInfo<A>::known) call.set_a(OperandInfo<A>::operand);
  if constexpr (OperandInfo<B>::known) call.set_b(OperandInfo<B>::operand);
  (Extras::apply(call), ...);
  return call;
}

/// Whether an MMA may have these operands.
template <class Mma, class D, class A, class B, class... Extras>
constexpr rules::Verdict check_call() {
  return rules::first(call_of<Mma, A, B, Extras...>().check(), SumsOf<D>::template check<Mma>());
}

/// What a call of an MMA breaks: of one that is not legal, what that breaks.
template <class Mma, class D, class A, class B, class... Extras>
constexpr rules::Verdict call_verdict() {
  if constexpr (Mma::is_legal) return check_call<Mma, D, A, B, Extras...>();
  else return Mma::check();
}
/// Whether overloads say what a verdict's rule wants; a static_assert says so of the others.
constexpr bool is_explained(rules::Verdict v) {
  using rules::Rule;
  return !v.ok() && (v.rule == Rule::mma_operands || v.rule == Rule::mma_types || v.rule == Rule::mma_accumulator ||
                     v.rule == Rule::tmem_range || v.rule == Rule::mma_m || v.rule == Rule::mma_n);
}
template <class Mma, class D, class A, class B>
inline constexpr bool are_operands =
    (is_sums<D> || std::is_same_v<D, U32>)&&is_operand<A>&& is_operand<B> && !in_other_lanes<Mma, A> &&
    !in_other_lanes<Mma, D>;
template <class Mma, class D, class A, class B, class... Extras>
concept Multiplies = are_operands<Mma, D, A, B> && !is_explained(call_verdict<Mma, D, A, B, Extras...>());
template <class Mma, class D, class A, class B, class... Extras>
concept MultipliesTiles =
    Tiles<Mma, A, B> && (is_sums<D> || std::is_same_v<D, U32>) && !in_other_lanes<Mma, D> &&
    !is_explained(call_verdict<Mma, D, SliceOf<A>, SliceOf<B>, Extras...>());
template <rules::Verdict v>
using Given = rules::given<v.given>;
template <rules::Verdict v>
using Nearest = rules::nearest<v.nearest>;

/// What a call may carry that is known when the kernel is built: there or not.
template <class Extra>
void apply(MmaCall& call, const Extra&) {
  Extra::apply(call);
}
template <class Extra>
void apply(MmaCall& call, const std::optional<Extra>& extra) {
  if (extra) Extra::apply(call);
}
inline void apply(MmaCall& call, isa::Collector use) { call.form.collector = use; }
template <class Extra>
void put(MmaOperands& o, const Extra& extra, Here at) {
  extra.put(o, at);
}
template <class Extra>
void put(MmaOperands& o, const std::optional<Extra>& extra, Here at) {
  if (extra) extra->put(o, at);
}
inline void put(MmaOperands&, isa::Collector, Here) {}

/// The kind that a pair of element types has where the call names none. Packed 4-bit types need scales, so they have
/// none.
constexpr MmaKind kind_of(ScalarType t, int bits) {
  switch (t) {
    case ScalarType::tf32: return MmaKind::tf32;
    case ScalarType::u8:
    case ScalarType::s8: return MmaKind::i8;
    case ScalarType::e4m3:
    case ScalarType::e5m2: return MmaKind::f8f6f4;
    case ScalarType::e2m1:
    case ScalarType::e2m3:
    case ScalarType::e3m2: return bits == 8 ? MmaKind::f8f6f4 : MmaKind::f16;
    default: return MmaKind::f16;
  }
}
/// The MMA that sums and operands say: dense, one CTA, of the kind that the element types have.
template <class D, int M, int N, class A, class B>
using MmaOf = tcgen05_mma<kind_of(OperandInfo<A>::operand.element, OperandInfo<A>::operand.bits),
                          Element<OperandInfo<A>::operand.element>, Element<OperandInfo<B>::operand.element>, D, M, N>;

}  // namespace detail

/// The tensor core's side of a thread.
class TensorCore : public Copies {
 public:
  using Copies::Copies;

  /// One MMA of a named type: `t.mma<Mma>(d, a, b, accumulate(true), collector_a_fill)`. `d` is the type's Accumulator
  /// or an address; `a` a K slice of a tile or of tensor memory, a raw descriptor or a tensor-memory address; `b` a K
  /// slice or a raw descriptor. After enable-input-d, in any order: scales(...), metadata(...), collector_..., ashift,
  /// scale_input_d<s>, disable_output_lane(...), zero_column_mask(...) or zero_column_mask_of<fields>,
  /// instruction_descriptor(...). PTX ISA "tcgen05.mma".
  template <class Mma, class D, class A, class B, class... Extras>
    requires(detail::Multiplies<Mma, D, A, B, Extras...>)
  void mma(const D& d, const A& a, const B& b, const EnableInputD& p, const Extras&... extras) {
    rules::require<Mma::check()>();
    if constexpr (Mma::is_legal) {
      rules::require<detail::check_call<Mma, D, A, B, Extras...>()>();
      issue<Mma>(d, a, b, p, extras...);
    }
  }

  /// One MMA for each K slice of whole operands: `t.mma_tiles<Mma>(d, a, b, accumulate(i != 0))`. `a` is a shared tile
  /// or A in tensor memory, `b` a shared tile with the same K. The first MMA adds to D where accumulate(p) says so, the
  /// others add to it. The extras are those of mma, the same for each. PTX ISA "tcgen05.mma".
  template <class Mma, class D, class A, class B, class... Extras>
    requires(detail::MultipliesTiles<Mma, D, A, B, Extras...>)
  void mma_tiles(const D& d, const A& a, const B& b, const EnableInputD& p, const Extras&... extras) {
    rules::require<Mma::check()>();
    if constexpr (Mma::is_legal) {
      rules::require<detail::check_call<Mma, D, detail::SliceOf<A>, detail::SliceOf<B>, Extras...>()>();
      for (int step = 0; step * Mma::K < detail::k_extent<B>; ++step)
        issue<Mma>(d, a.k_slice(step * Mma::a_k, p.at), b.k_slice(step * Mma::K, p.at),
                   step == 0 ? p : accumulate(true, p.at), extras...);
    }
  }

  /// The same where MMA and operands are values: what they break, build() reports. An extra may be optional; a
  /// collector's use is an isa::Collector.
  template <class... Extras>
  void mma(const MmaSpec& mma, const AnyTmem& d, const AnySlice& a, const AnySlice& b, const EnableInputD& p,
           const Extras&... extras) {
    MmaCall call{mma.form, mma.shape};
    call.set_a(a.shape.mma_operand());
    call.set_b(b.shape.mma_operand());
    (detail::apply(call, extras), ...);
    if (!accepts(mma, call, d, p.at)) return;
    MmaOperands o = operands_of(call, d, a, b, p);
    (detail::put(o, extras, p.at), ...);
    issue(call, std::move(o), &b.shape, p.at);
  }

  /// The same where the types say it all: dense, one CTA, and the kind that the element types have.
  template <class D, int M, int N, class A, class B, class... Extras>
    requires(detail::OperandInfo<A>::known && detail::OperandInfo<B>::known &&
             !detail::is_explained(
                 detail::call_verdict<detail::MmaOf<D, M, N, A, B>, Tmem<D, M, N>, A, B, Extras...>()))
  void mma(const Tmem<D, M, N>& d, const A& a, const B& b, const EnableInputD& p, const Extras&... extras) {
    using Mma = detail::MmaOf<D, M, N, A, B>;
    rules::require<Mma::check()>();
    if constexpr (Mma::is_legal) {
      rules::require<detail::call_of<Mma, A, B, Extras...>().check()>();
      issue<Mma>(d.address(p.at), a, b, p, extras...);
    }
  }
  template <class D, int M, int N, class A, class B, class... Extras>
    requires(detail::k_extent<A> != 0 && detail::k_extent<B> != 0)
  void mma_tiles(const Tmem<D, M, N>& d, const A& a, const B& b, const EnableInputD& p, const Extras&... extras) {
    mma_tiles<detail::MmaOf<D, M, N, detail::SliceOf<A>, detail::SliceOf<B>>>(d, a, b, p, extras...);
  }

  // Here only to explain: arguments that are missing, or others, or in another order.
  template <class D, class A, class B, class... Rest>
    requires(!std::is_same_v<D, MmaSpec> && !(detail::is_sums<D> && detail::OperandInfo<A>::known &&
                                              detail::OperandInfo<B>::known && detail::begins_with_enable<Rest...>))
  KILN_REFUSED(arguments, "mma(sums, a, b, accumulate(p)): an accumulator (of a slot: slot.sums), slices of A and B "
                          "(tile.k_slice(k)), whether to add; mma<Mma>(...) where they do not say it all "
                          "[dsl-arguments]")
  void mma(const D&, const A&, const B&, const Rest&...);
  template <class Mma, class D, class A, class B, class... Extras>
    requires(!((detail::is_sums<D> || std::is_same_v<D, U32>) && detail::is_operand<A> && detail::is_operand<B>))
  KILN_REFUSED(arguments, "mma<Mma>(sums, a, b, accumulate(p)): an accumulator (of a slot: slot.sums), slices of A and "
                          "B (tile.k_slice(k)) [dsl-arguments]")
  void mma(const D&, const A&, const B&, const EnableInputD&, const Extras&...);
#define KILN_SUMS_ELSEWHERE                                                                                          \
  "this MMA writes its sums to other lanes of tensor memory than these: make them by accumulator<Mma>(name) or "      \
  "accumulator_ring<stages, Mma>(name) [dsl-tile-type]"
  template <class Mma, class D, class A, class B, class... Extras>
    requires(detail::in_other_lanes<Mma, A>)
  KILN_REFUSED(tile_type, "A lies in other lanes of tensor memory than this MMA reads: make it by "
                          "tensor_memory<TmemAOf<Mma, K>>(name) [dsl-tile-type]")
  void mma(const D&, const A&, const B&, const EnableInputD&, const Extras&...);
  template <class Mma, class D, class A, class B, class... Extras>
    requires(detail::in_other_lanes<Mma, D> && !detail::in_other_lanes<Mma, A>)
  KILN_REFUSED(tile_type, KILN_SUMS_ELSEWHERE)
  void mma(const D&, const A&, const B&, const EnableInputD&, const Extras&...);
  template <class Mma, class D, class A, class B, class... Extras>
    requires(detail::Tiles<Mma, A, B> && detail::in_other_lanes<Mma, D>)
  KILN_REFUSED(tile_type, KILN_SUMS_ELSEWHERE)
  void mma_tiles(const D&, const A&, const B&, const EnableInputD&, const Extras&...);
#undef KILN_SUMS_ELSEWHERE
  // What calls break most.
#define KILN_MMA_BREAKS(broken, text)                                                                                \
  template <class Mma, class D, class A, class B, class... Extras,                                                   \
            rules::Verdict v = detail::call_verdict<Mma, D, A, B, Extras...>(), class Given = detail::Given<v>,      \
            class Nearest = detail::Nearest<v>>                                                                      \
    requires(detail::are_operands<Mma, D, A, B>&& v.rule == rules::Rule::broken)                                     \
  KILN_REFUSED(broken, text)                                                                                         \
  void mma(const D&, const A&, const B&, const EnableInputD&, const Extras&...);                                     \
  template <class Mma, class D, class A, class B, class... Extras,                                                   \
            rules::Verdict v = detail::call_verdict<Mma, D, detail::SliceOf<A>, detail::SliceOf<B>, Extras...>(),    \
            class Given = detail::Given<v>, class Nearest = detail::Nearest<v>>                                      \
    requires(detail::Tiles<Mma, A, B> && !detail::in_other_lanes<Mma, D> && v.rule == rules::Rule::broken)           \
  KILN_REFUSED(broken, text)                                                                                         \
  void mma_tiles(const D&, const A&, const B&, const EnableInputD&, const Extras&...);                               \
  template <class D, int M, int N, class A, class B, class... Extras, class Mma = detail::MmaOf<D, M, N, A, B>,      \
            rules::Verdict v = detail::call_verdict<Mma, Tmem<D, M, N>, A, B, Extras...>(),                          \
            class Given = detail::Given<v>, class Nearest = detail::Nearest<v>>                                      \
    requires(detail::OperandInfo<A>::known && detail::OperandInfo<B>::known && v.rule == rules::Rule::broken)        \
  KILN_REFUSED(broken, text)                                                                                         \
  void mma(const Tmem<D, M, N>&, const A&, const B&, const EnableInputD&, const Extras&...);
  KILN_MMA_BREAKS(mma_operands, "A must be M x K and B must be N x K, with the K extent of the "
                                "instruction [tcgen05-mma-operands]")
  KILN_MMA_BREAKS(mma_types, "A and B must have element types of the kind; kind::f16 takes two f16 "
                             "or two bf16 [tcgen05-mma-types]")
  KILN_MMA_BREAKS(mma_accumulator, "D must be f32; f16 operands of kind::f16 and kind::f8f6f4 also "
                                   "accumulate in f16, kind::i8 in s32 alone [tcgen05-mma-accumulator]")
  KILN_MMA_BREAKS(tmem_range, "the columns used must lie inside the allocation [tcgen05-tmem-range]")
  KILN_MMA_BREAKS(mma_m, "M must be 64 or 128 for cta_group::1, 128 or 256 for cta_group::2; "
                         "block-scaled 128 for one CTA, 128 or 256 for two, 256 alone when "
                         "sparse; .ws 32, 64 or 128 [tcgen05-mma-m]")
  KILN_MMA_BREAKS(mma_n, "N must be a multiple of the step for this kind and cta_group, and at "
                         "most 256 [tcgen05-mma-n]")
#undef KILN_MMA_BREAKS
  template <class Mma, class D, class A, class B, class... Rest>
    requires(!detail::begins_with_enable<Rest...>)
  KILN_REFUSED(arguments, "mma<Mma>(sums, a, b, accumulate(p)): after the operands, whether to add [dsl-arguments]")
  void mma(const D&, const A&, const B&, const Rest&...);
  template <class Mma, class D, class A, class B, class... Rest>
    requires(!(detail::Tiles<Mma, A, B> && (detail::is_sums<D> || std::is_same_v<D, U32>) &&
               detail::begins_with_enable<Rest...>))
  KILN_REFUSED(arguments, "mma_tiles<Mma>(sums, a, b, accumulate(p)): whole tiles of A and B (of a slot: "
                          "slot.get<ATile>()) that have the same K, whether to add [dsl-arguments]")
  void mma_tiles(const D&, const A&, const B&, const Rest&...);
  template <class D, class A, class B, class... Rest>
    requires(!(detail::is_sums<D> && detail::k_extent<A> != 0 && detail::k_extent<B> != 0 &&
               detail::begins_with_enable<Rest...>))
  KILN_REFUSED(arguments, "mma_tiles(sums, a, b, accumulate(p)): an accumulator, whole tiles of A and B (of a slot: "
                          "slot.get<ATile>()), whether to add; mma_tiles<Mma>(...) where they do not say it all "
                          "[dsl-arguments]")
  void mma_tiles(const D&, const A&, const B&, const Rest&...);

  /// Arrives on `b` once every earlier MMA, copy and shift of this thread has completed. PTX ISA "tcgen05.commit".
  void commit(const Mbarrier& b, Here at = {});
  /// The same on the barrier at that place in every CTA whose bit of the 16-bit `ctas` is set.
  void commit(const Mbarrier& b, const U32& ctas, Here at = {});
  /// The same with a mask of 32 bits: multicast_cluster_32b(ctas).
  void commit(const Mbarrier& b, const WideMulticast& ctas, Here at = {});

  /// The same in every CTA that shares the MMAs.
  void commit(const Mbarrier& b, AllCtas, Here at = {});

  // Here only to explain: no mbarrier of this CTA.
  template <class X, class... Rest>
    requires(!std::is_convertible_v<X, Mbarrier>)
  KILN_REFUSED(arguments, "commit(mbarrier): slot.empty gives a ring's slot back, slot.full hands an accumulator on "
                          "[dsl-arguments]")
  void commit(const X&, const Rest&...);
  KILN_OTHERWISE(arguments, "commit(mbarrier): slot.empty gives a ring's slot back, slot.full hands an accumulator on "
                            "[dsl-arguments]")
  void commit();

  /// tcgen05.cp: copies rows that a matrix descriptor names into tensor memory at `to`. `multicast` is what the shape
  /// demands; a source format decompresses 6- or 4-bit elements to bytes.
  template <isa::DataShape shape, isa::CpMulticast multicast = isa::CpMulticast::none,
            isa::CpSourceFormat format = isa::CpSourceFormat::none>
  void tcgen05_cp(const U32& to, const SharedDescriptor& from, Here at = {}) {
    constexpr bool decompress = format != isa::CpSourceFormat::none;
    rules::require<rules::cp_shape(shape, multicast, decompress, decompress)>();
    copy_rows(shape, multicast, format, to, from, at);
  }
  /// All scales of a tile: one tcgen05.cp.32x128b.warpx4 for each chunk of 128 rows by 4 scales.
  template <class Mma, isa::ScaleSide side, int steps, class T, int MN, int held>
  void copy(const ScaleFactors<Mma, side, steps>& to, const Shared<ScaleTile<T, MN, held>>& from, Here at = {}) {
    static_assert(fits(ScaleFactors<Mma, side, steps>::shape, ScaleTile<T, MN, held>::shape),
                  "the tile must hold the scales of all steps, for all rows");
    rules::require<rules::scale_types(Mma::kind, Mma::shape.scale_block, T::scalar, Mma::shape.scale,
                                      Mma::shape.k96, Mma::shape.wide)>();
    copy_scales(to.any(), from.address, ScaleTile<T, MN, held>::shape, at);
  }
  /// The same of a tile that is a value.
  void copy_scales(const AnyScaleFactors& to, const U32& from, const ScaleTileShape& tile, Here at = {});
  /// All metadata of a tile: one tcgen05.cp.128x128b for each image.
  template <class Mma, int steps, class Of, int held>
  void copy(const SparseMetadata<Mma, steps>& to, const Shared<MetadataTile<Of, held>>& from, Here at = {}) {
    rules::require<rules::metadata_image(Mma::form, Mma::M, SparseMetadata<Mma, steps>::columns_held,
                                         MetadataTile<Of, held>::columns_held)>();
    copy_images(to.address(at), from.address, MetadataTile<Of, held>::images, at);
  }
  /// The same of metadata that is a value, for an MMA.
  void copy_metadata(const MmaSpec& mma, const AnyMetadata& to, const U32& from, Here at = {});
  /// Moves the rows of 32 bytes at `address` down by one lane. PTX ISA "tcgen05.shift".
  void tcgen05_shift_down(const U32& address, Here at = {});

  /// The matrix descriptor of a tile, or of a slice of one.
  template <class Tile>
  SharedDescriptor descriptor(const Shared<Tile>& tile, Here at = {}) {
    return {descriptor_of(tile.address, Tile::descriptor(), 0, at)};
  }
  template <class Tile>
  SharedDescriptor descriptor(const KSlice<Tile>& slice, Here at = {}) {
    return {descriptor_of(slice.address, Tile::descriptor(), slice.offset, at)};
  }
  // Here only to explain: no tile.
  KILN_OTHERWISE(arguments, "descriptor(tile) or descriptor(slice): of a slot slot.get<Tile>() [dsl-arguments]")
  SharedDescriptor descriptor(KILN_WHATEVER);

 private:
  template <class Mma, class D, class A, class B, class... Extras>
  void issue(const D& d, const A& a, const B& b, const EnableInputD& p, const Extras&... extras) {
    constexpr MmaCall call = detail::call_of<Mma, A, B, Extras...>();
    MmaOperands o{d_operand<Mma>(d, p.at), a_operand(a, p.at), operand(b, p.at),
                  isa::InstructionDescriptor::of(call.form, call.shape), p.operand};
    (extras.put(o, p.at), ...);
    issue(call, std::move(o), tile_of(b), p.at);
  }
  // By the kernel's tensor core.
  void issue(const MmaCall& call, MmaOperands operands, const TileShape* b, Here at);
  // Whether a call whose operands are values is legal; else the reason is reported.
  bool accepts(const MmaSpec& mma, const MmaCall& call, const AnyTmem& d, Here at);
  MmaOperands operands_of(const MmaCall& call, const AnyTmem& d, const AnySlice& a, const AnySlice& b,
                          const EnableInputD& p);

  template <class Mma, class T, int L, int C, SumsLayout layout>
  ir::Operand d_operand(const Tmem<T, L, C, layout>& d, Here at) {
    return d_operand<Mma>(d.address(at), at);
  }
  template <class Mma>
  ir::Operand d_operand(const U32& address, Here at) { return ir::Operand::address(use(*rec_, address, at)); }

  template <class Tile>
  ir::Operand a_operand(const KSlice<Tile>& s, Here at) { return a_operand(s.any(), at); }
  ir::Operand a_operand(const AnySlice& s, Here at);
  template <class A>
  ir::Operand a_operand(const A& a, Here at) { return operand(a, at); }
  template <class Tile>
  ir::Operand operand(const KSlice<Tile>& s, Here at) { return operand(s.any(), at); }
  ir::Operand operand(const AnySlice& s, Here at);
  template <class T, int M, SumsLayout layout>
  ir::Operand operand(const TmemSlice<T, M, layout>& s, Here at) {
    return ir::Operand::address(use(*rec_, s.address, at));
  }
  ir::Operand operand(const SharedDescriptor& d, Here at) { return use(*rec_, d.word, at); }
  ir::Operand operand(const U32& address, Here at) { return ir::Operand::address(use(*rec_, address, at)); }

  // The tile that an operand is a slice of; a raw descriptor has none.
  template <class Tile>
  static const TileShape* tile_of(const KSlice<Tile>&) { return &Tile::shape; }
  template <class B>
  static const TileShape* tile_of(const B&) { return nullptr; }

  static constexpr bool fits(const ScaleShape& to, const ScaleTileShape& from) {
    return from.row_chunks() * 4 == to.group_columns && from.groups() * to.group_columns == to.columns_held();
  }
  void copy_rows(isa::DataShape, isa::CpMulticast, isa::CpSourceFormat, const U32& to, const SharedDescriptor& from,
                 Here at);
  void copy_images(const U32& to, const U32& from, int images, Here at);
  // Constant bits plus (address + offset) >> 4.
  U64 descriptor_of(const U32& address, isa::SharedDescriptor constant, int offset, Here at);
};

}  // namespace kiln::dsl
