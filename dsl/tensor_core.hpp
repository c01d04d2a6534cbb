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

/// What a handle tells the rules of itself. A raw descriptor tells nothing and is taken at its word.
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
  static constexpr rules::MmaOperand operand{false,      Tile::element::scalar, Tile::element::bits, Tile::rows,
                                             Tile::cols, Tile::order,           Tile::swizzle};
};
template <class T, int M>
struct OperandInfo<TmemSlice<T, M>> {
  static constexpr bool known = true, in_tmem = true;
  static constexpr rules::MmaOperand operand{true, T::scalar, T::bits, M, isa::mma_k_bytes * 8 / T::bits};
};

/// The form of one call: the type's, where A is, and what the extras add.
template <class Mma, class A, class... Extras>
constexpr isa::MmaForm form_of_call() {
  isa::MmaForm f = Mma::form;
  f.a_in_tmem = OperandInfo<A>::in_tmem;
  (Extras::apply(f), ...);
  return f;
}

/// The shape of one call: the type's, with the majors that the tiles have.
template <class Mma, class A, class B>
constexpr isa::MmaShape shape_of_call() {
  isa::MmaShape s = Mma::shape;
  if constexpr (OperandInfo<A>::known) s.a_major = OperandInfo<A>::operand.major;
  if constexpr (OperandInfo<B>::known) s.b_major = OperandInfo<B>::operand.major;
  return s;
}

/// Lane masks that a pack of extras holds; -1: none.
template <class... Extras>
constexpr int lane_masks() {
  int n = -1;
  ([&] {
    if constexpr (requires { Extras::count; }) n = Extras::count;
  }(), ...);
  return n;
}

template <class Wanted, class... Extras>
inline constexpr bool has = (std::is_same_v<Wanted, Extras> || ...);

/// The constants that a pack of extras holds: a scale of D, and a zero-column mask, which must fit the shape.
template <class... Extras>
constexpr rules::Verdict check_constants(const isa::MmaShape& s) {
  rules::Verdict v = rules::legal;
  ([&] {
    if constexpr (requires { Extras::scale; }) v = rules::scale_input_d_value(Extras::scale);
    if constexpr (requires { Extras::mask; })
      v = rules::first(rules::zero_mask_fields(Extras::mask),
                       rules::zero_mask_shift(Extras::mask.shift, s.m, s.max_shift));
  }(), ...);
  return v;
}

/// Everything about one call that types know.
template <class Mma, class A, class B, class... Extras>
constexpr rules::Verdict check_call() {
  using namespace rules;
  constexpr isa::MmaForm f = form_of_call<Mma, A, Extras...>();
  constexpr isa::MmaShape s = shape_of_call<Mma, A, B>();
  constexpr int masks = lane_masks<Extras...>();
  if (const Verdict v =
          first(mma_form(f, Profile::tileiras), mma_extras(f, has<Scales, Extras...>, has<Metadata, Extras...>));
      !v.ok())
    return v;
  if (masks >= 0)
    if (const Verdict v = output_lanes(f, masks); !v.ok()) return v;
  if (const Verdict v = first(mma_shape(f, s), check_constants<Extras...>(s)); !v.ok()) return v;
  if constexpr (OperandInfo<A>::known)
    if (const Verdict v = mma_a(f, s, OperandInfo<A>::operand); !v.ok()) return v;
  if constexpr (OperandInfo<B>::known)
    if (const Verdict v = mma_b(f, s, OperandInfo<B>::operand); !v.ok()) return v;
  if (OperandInfo<B>::in_tmem) return breaks(Rule::mma_b_shared);
  return legal;
}

/// The kind that a pair of element types has when nobody names one: packed 4-bit types need scales, so they have none.
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

}  // namespace detail

/// The tensor core's side of a thread.
class TensorCore : public Copies {
 public:
  using Copies::Copies;

  /// One MMA of a named type: `t.mma<Mma>(d, a, b, accumulate(true), collector_a_fill)`. `d` is the type's Accumulator
  /// or an address; `a` a K slice of a tile or of tensor memory, a raw descriptor or a tensor-memory address; `b` a K
  /// slice or a raw descriptor. Behind enable-input-d, in any order: scales(...), metadata(...), collector_..., ashift,
  /// scale_input_d<s>, disable_output_lane(...), zero_column_mask(...) or zero_column_mask_of<fields>,
  /// instruction_descriptor(...). PTX ISA "tcgen05.mma".
  template <class Mma, class D, class A, class B, class... Extras>
  void mma(const D& d, const A& a, const B& b, const EnableInputD& p, const Extras&... extras) {
    rules::require<Mma::check()>();
    if constexpr (Mma::is_legal) {
      rules::require<detail::check_call<Mma, A, B, Extras...>()>();
      issue<Mma>(d, a, b, p, extras...);
    }
  }

  /// The same where the types say it all: dense, one CTA, and the kind that the element types have.
  template <class D, int M, int N, class A, class B, class... Extras>
    requires detail::OperandInfo<A>::known && detail::OperandInfo<B>::known
  void mma(const Tmem<D, M, N>& d, const A& a, const B& b, const EnableInputD& p, const Extras&... extras) {
    constexpr rules::MmaOperand x = detail::OperandInfo<A>::operand, y = detail::OperandInfo<B>::operand;
    using Mma = dsl::tcgen05_mma<detail::kind_of(x.element, x.bits), Element<x.element>, Element<y.element>, D, M, N>;
    rules::require<Mma::check()>();
    if constexpr (Mma::is_legal) {
      rules::require<detail::check_call<Mma, A, B, Extras...>()>();
      issue<Mma>(d.address(p.at), a, b, p, extras...);
    }
  }

  /// Arrives on `b` once every earlier MMA, copy and shift of this thread has completed. PTX ISA "tcgen05.commit".
  void commit(const Mbarrier& b, Here at = {});
  /// The same on the barrier at that place in every CTA whose bit of the 16-bit `ctas` is set.
  void commit(const Mbarrier& b, const U32& ctas, Here at = {});

  /// The same in every CTA that shares the MMAs.
  void commit(const Mbarrier& b, AllCtas, Here at = {});

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
    using To = ScaleFactors<Mma, side, steps>;
    using Tile = ScaleTile<T, MN, held>;
    static_assert(Tile::row_chunks * 4 == To::group_columns && Tile::groups * To::group_columns == To::columns_held,
                  "the tile must hold the scales of all steps, for all rows");
    rules::require<rules::scale_types(Mma::kind, Mma::shape.scale_block, T::scalar, Mma::shape.scale,
                                      Mma::shape.k96)>();
    copy_chunks(to.address(at), from.address, Tile::row_chunks, Tile::groups, at);
  }
  /// All metadata of a tile: one tcgen05.cp.128x128b for each image.
  template <class Mma, int steps, class Of, int held>
  void copy(const SparseMetadata<Mma, steps>& to, const Shared<MetadataTile<Of, held>>& from, Here at = {}) {
    using Tile = MetadataTile<Of, held>;
    rules::require<rules::metadata_image(Mma::form, Mma::M, SparseMetadata<Mma, steps>::columns_held,
                                         Tile::columns_held)>();
    copy_images(to.address(at), from.address, Tile::images, at);
  }
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

 private:
  template <class Mma, class D, class A, class B, class... Extras>
  void issue(const D& d, const A& a, const B& b, const EnableInputD& p, const Extras&... extras) {
    constexpr isa::MmaForm form = detail::form_of_call<Mma, A, Extras...>();
    constexpr isa::MmaShape shape = detail::shape_of_call<Mma, A, B>();
    MmaOperands o{d_operand<Mma>(d, p.at), a_operand(a, p.at), operand(b, p.at),
                  isa::InstructionDescriptor::of(form, shape), p.operand};
    (extras.put(o, p.at), ...);
    if (role_->kernel->wgmma) wgmma(form, shape, o, row_offset(b, isa::wgmma_columns(shape.n)), p.at);
    else tcgen05_mma(form, std::move(o), p.at);
  }

  template <class Mma, class T, int L, int C>
  ir::Operand d_operand(const Tmem<T, L, C>& d, Here at) {
    static_assert(std::is_same_v<T, typename Mma::D>, "the accumulator holds elements of the MMA's D type");
    rules::require<rules::tmem_range(0, Mma::d_columns, C)>();
    return d_operand<Mma>(d.address(at), at);
  }
  template <class Mma>
  ir::Operand d_operand(const U32& address, Here at) { return ir::Operand::address(use(*rec_, address, at)); }

  template <class Tile>
  ir::Operand a_operand(const KSlice<Tile>& s, Here at) {
    const ir::Operand all = operand(s, at);
    return role_->kernel->wgmma ? rows_of_warpgroup(all, Tile::row_offset(isa::wgmma_m), at) : all;
  }
  template <class A>
  ir::Operand a_operand(const A& a, Here at) { return operand(a, at); }
  template <class Tile>
  ir::Operand operand(const KSlice<Tile>& s, Here at) { return use(*rec_, descriptor(s, at).word, at); }
  template <class T, int M>
  ir::Operand operand(const TmemSlice<T, M>& s, Here at) { return ir::Operand::address(use(*rec_, s.address, at)); }
  ir::Operand operand(const SharedDescriptor& d, Here at) { return use(*rec_, d.word, at); }
  ir::Operand operand(const U32& address, Here at) { return ir::Operand::address(use(*rec_, address, at)); }

  void tcgen05_mma(const isa::MmaForm& form, MmaOperands operands, Here at);
  void copy_rows(isa::DataShape, isa::CpMulticast, isa::CpSourceFormat, const U32& to, const SharedDescriptor& from,
                 Here at);
  void copy_chunks(const U32& to, const U32& from, int row_chunks, int groups, Here at);
  void copy_images(const U32& to, const U32& from, int images, Here at);
  // Constant bits plus (address + offset) >> 4.
  U64 descriptor_of(const U32& address, isa::SharedDescriptor constant, int offset, Here at);

  // Where the target multiplies with wgmma: dsl/wgmma.cpp.
  void wgmma(const isa::MmaForm&, const isa::MmaShape&, const MmaOperands&, int part_bytes, Here at);
  template <class Tile>
  static constexpr int row_offset(const KSlice<Tile>&, int row) { return Tile::row_offset(row); }
  template <class B>
  static constexpr int row_offset(const B&, int) { return 0; }  // a raw descriptor says nothing of it
  WgmmaContext::Multiplier& multiplier(Here at);
  ir::Operand rows_of_warpgroup(const ir::Operand& descriptor, int bytes, Here at);
  void wait_wgmma(int groups, Here at);
  void release_pending(Here at);
  void commit_wgmma(const Mbarrier& b, Here at);
  void finish_wgmma(Here at);
  void hand_over_sums(Here at);
};

}  // namespace kiln::dsl
