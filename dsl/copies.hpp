// Tensor copies as one thread issues them: every form of cp.async.bulk.tensor, the short way for tiles, and edits of
// tensor maps. PTX ISA "cp.async.bulk.tensor", "cp.reduce.async.bulk.tensor", "tensormap.replace".
#pragma once

#include "dsl/multimem.hpp"
#include "dsl/tensor_map.hpp"

namespace kiln::dsl {

/// What a tensor load may carry. A CTA of a pair that says cta_group_2 may name its peer's mbarrier.
using TensorLoadExtras = Extras<isa::Report, Multicast, isa::CtaGroup, CacheHint>;
template <isa::Space to>
using TensorLoadExtrasTo =
    std::conditional_t<to == isa::Space::shared_cta, Extras<isa::Report, isa::CtaGroup, CacheHint>, TensorLoadExtras>;
using TensorStoreExtras = Extras<CacheHint>;

namespace detail {

template <class X>
inline constexpr bool is_tile = std::is_same_v<X, AnyShared>;
template <class Tile>
inline constexpr bool is_tile<Shared<Tile>> = true;
template <class X>
inline constexpr bool is_box = std::is_same_v<X, AnyBox>;
template <class Tile>
inline constexpr bool is_box<Box<Tile>> = true;
template <class Tile>
inline constexpr bool is_box<Box3d<Tile>> = true;
template <isa::TensorMode mode, int rank>
inline constexpr bool is_box<TensorBox<mode, rank>> = true;

/// Whether these may be the arguments of tma_load; a part of a slot comes with its address.
template <class To, class From, class... Rest>
inline constexpr bool loads = std::is_same_v<To, SlotPart>;
template <class To, class From, class Full, class... Rest>
inline constexpr bool loads<To, From, Full, Rest...> =
    std::is_same_v<To, SlotPart> || (is_tile<To> && is_box<From> && std::is_convertible_v<Full, AnyMbarrier>);

/// Whether a tile is a part of another, as long along its contiguous extent.
template <TileShape whole, TileShape part>
inline constexpr bool is_part = whole.element == part.element && whole.order == part.order && whole.form == part.form &&
                                whole.readers == part.readers && whole.inner() == part.inner() &&
                                part.outer() % 8 == 0;

/// Whether groups of four rows of a tile begin where a copy may begin, and a function names a row for each of them.
template <class Tile, class RowOf>
inline constexpr bool by_four_rows = false;
template <class Tile, class RowOf>
  requires(std::is_invocable_v<RowOf&, U32>)
inline constexpr bool by_four_rows<Tile, RowOf> =
    Tile::order == Major::K && Tile::rows % 4 == 0 && 4 * Tile::row_pitch % isa::tma_shared_alignment == 0 &&
    std::is_same_v<read_as<std::invoke_result_t<RowOf&, U32>>, U32>;
/// Whether these may be the arguments of tma_gather.
template <class To, class Map, class... Rest>
inline constexpr bool gathers = false;
template <class Tile, class RowOf, class Full, class... Rest>
inline constexpr bool gathers<Shared<Tile>, TensorMapHandle<typename Tile::element, 2>, RowOf, Full, Rest...> =
    by_four_rows<Tile, RowOf> && std::is_convertible_v<Full, AnyMbarrier>;

}  // namespace detail

/// The copy engine's side of a thread.
class Copies : public MultimemCopies {
 public:
  using MultimemCopies::MultimemCopies;

  /// Global tensor to shared memory; the bytes count on `full`. Modes: tile, gather4, im2col and its variants.
  template <isa::Space destination = isa::Space::shared_cluster, isa::TensorMode mode, int rank>
  void cp_async_bulk_tensor(const U32& to, const TensorBox<mode, rank>& from, const AnyMbarrier& full,
                            const TensorLoadExtrasTo<destination>& extras = {}, Here at = {}) {
    static_assert(destination == isa::Space::shared_cta || destination == isa::Space::shared_cluster,
                  "a load goes to shared_cta or shared_cluster");
    rules::require<rules::tma_mode(isa::TensorAccess::load, mode, rank)>();
    if (extras.template has<isa::CtaGroup>()) require_feature(isa::Feature::tensor_modes, at);
    tensor_load(destination, to, from.place, full, extras, at);
  }
  /// Shared memory to a global tensor, in the next bulk group. Modes: tile, scatter4, im2col_no_offs.
  template <isa::TensorMode mode, int rank>
  void cp_async_bulk_tensor(const TensorBox<mode, rank>& to, const U32& from, const TensorStoreExtras& extras = {},
                            Here at = {}) {
    rules::require<rules::tma_mode(isa::TensorAccess::store, mode, rank)>();
    tensor_store("cp.async.bulk.tensor", isa::Combine::none, to.place, from, extras, at);
  }
  /// Combines shared memory with a global tensor, whose map says the type.
  template <RedOp op, isa::TensorMode mode, int rank>
  void cp_reduce_async_bulk_tensor(const TensorBox<mode, rank>& to, const U32& from,
                                   const TensorStoreExtras& extras = {}, Here at = {}) {
    rules::require<rules::first(rules::bulk_reduction(op), rules::tma_mode(isa::TensorAccess::reduce, mode, rank))>();
    tensor_store("cp.reduce.async.bulk.tensor", op, to.place, from, extras, at);
  }
  /// Brings a box into L2.
  template <isa::TensorMode mode, int rank>
  void cp_async_bulk_prefetch_tensor_L2(const TensorBox<mode, rank>& from, const Extras<CacheHint>& extras = {},
                                        Here at = {}) {
    rules::require<rules::tma_mode(isa::TensorAccess::prefetch, mode, rank)>();
    tensor_prefetch(from.place, extras, at);
  }

  /// Copies a tile from a global tensor; its bytes count on `full` when they have arrived.
  template <class Tile>
  void tma_load(const Shared<Tile>& to, const Box<Tile>& from, const AnyMbarrier& full,
                const TensorLoadExtras& extras = {}, Here at = {}) {
    tma_load(to.any(), from.any(), full, extras, at);
  }
  // Here only to explain: the box brings another tile than the one that is to be filled, or takes another one.
  template <class Tile, class Other>
    requires(!std::is_same_v<Tile, Other>)
  KILN_REFUSED(tile_type, "the box is of another tile than the one that it is to fill [dsl-tile-type]")
  void tma_load(const Shared<Tile>&, const Box<Other>&, const AnyMbarrier&, const TensorLoadExtras& = {}, Here = {});
  template <class Tile, class Other>
    requires(!std::is_same_v<Tile, Other>)
  KILN_REFUSED(tile_type, "the box is of another tile than the one that it takes [dsl-tile-type]")
  void tma_store(const Box<Other>&, const Shared<Tile>&, const TensorStoreExtras& = {}, Here = {});
  // The same of arguments that are missing, or others, or in another order.
  template <class To, class From, class... Rest>
    requires(!detail::loads<To, From, Rest...>)
  KILN_REFUSED(arguments, "tma_load(tile, box, mbarrier): slot.get<Tile>() is a slot's tile, slot.full its mbarrier, "
                          "map.at(row, column) a map's box [dsl-arguments]")
  void tma_load(const To&, const From&, const Rest&...);
  template <class To, class From, class... Rest>
    requires(!detail::is_box<To> || !detail::is_tile<From>)
  KILN_REFUSED(arguments, "tma_store(box, tile): map.at(row, column) is a map's box, store_ring.acquire(...) a tile "
                          "[dsl-arguments]")
  void tma_store(const To&, const From&, const Rest&...);
  /// The same where the tile is a value. Throws diag::InternalError where the box is of another tile.
  void tma_load(const AnyShared& to, const AnyBox& from, const AnyMbarrier& full, const TensorLoadExtras& extras = {},
                Here at = {});
  /// Copies a part of a tile, as long as the tile along its contiguous extent, to element `outer` of the other extent,
  /// a multiple of the part's. So pages that lie apart make up one operand.
  template <class Tile, class Part>
    requires(detail::is_part<Tile::shape, Part::shape>)
  void tma_load_part(const Shared<Tile>& to, int outer, const Box<Part>& from, const AnyMbarrier& full,
                     const TensorLoadExtras& extras = {}, Here at = {}) {
    rec_->require(rules::tile_slice(Tile::shape.outer(), outer, Part::shape.outer()), at);
    load_part(to.any(), outer, from.any(), full, extras, at);
  }
  // Here only to explain: no part of the tile, or other arguments.
  template <class Tile, class Part>
    requires(!detail::is_part<Tile::shape, Part::shape>)
  KILN_REFUSED(tile_type, "a part has the tile's elements, major, swizzle and contiguous extent, and 8, 16, ... of the "
                          "other [dsl-tile-type]")
  void tma_load_part(const Shared<Tile>&, int, const Box<Part>&, const AnyMbarrier&, const TensorLoadExtras& = {},
                     Here = {});
  KILN_OTHERWISE(arguments, "tma_load_part(tile, first, box, mbarrier): slot.get<Tile>() is a slot's tile, `first` a "
                            "host "
                            "integer, map.at(row, column) a map's box, slot.full a slot's mbarrier [dsl-arguments]")
  void tma_load_part(KILN_WHATEVER);
  /// The same as tma_load with one copy, where a third dimension counts the spans of a row.
  template <class Tile>
  void tma_load(const Shared<Tile>& to, const Box3d<Tile>& from, const AnyMbarrier& full,
                const TensorLoadExtras& extras = {}, Here at = {}) {
    load_whole(Tile::part, to.address, place(from), full, extras, at);
  }
  /// The same from a bare map's box, which must bring the tile as it lies in shared memory.
  template <class Tile, isa::TensorMode mode, int rank>
  void tma_load(const Shared<Tile>& to, const TensorBox<mode, rank>& from, const AnyMbarrier& full,
                const TensorLoadExtras& extras = {}, Here at = {}) {
    tma_load(Tile::part, to.address, from, full, extras, at);
  }
  /// The same into a part of a slot that is a value.
  template <isa::TensorMode mode, int rank>
  void tma_load(const SlotPart& part, const U32& to, const TensorBox<mode, rank>& from, const AnyMbarrier& full,
                const TensorLoadExtras& extras = {}, Here at = {}) {
    rules::require<rules::tma_mode(isa::TensorAccess::load, mode, rank)>();
    load_whole(part, to, from.place, full, extras, at);
  }
  /// Copies a tile to a global tensor; part of the next commit_stores() group.
  template <class Tile>
  void tma_store(const Box<Tile>& to, const Shared<Tile>& from, const TensorStoreExtras& extras = {}, Here at = {}) {
    store_boxes(from.any(), to.any(), extras, at);
  }
  /// Fills a K-major tile with rows that lie apart in a matrix, four with one copy: its row r is the tensor's row
  /// `row(r)`, from `column` on: t.tma_gather(tile, map, 0, [&](U32 r) { return t.ld_global(index.at(first + r)); },
  /// full). The map's box is one row of one span of the tile's swizzle. A row outside of the tensor is zero.
  template <class Tile, class RowOf>
    requires(detail::by_four_rows<Tile, RowOf>)
  void tma_gather(const Shared<Tile>& to, const TensorMapHandle<typename Tile::element, 2>& from, OperandOf<U32> column,
                  RowOf row, const AnyMbarrier& full, const TensorLoadExtras& extras = {}, Here at = {}) {
    const TensorLoadExtras all = with_group(extras, full, at);
    each_four_rows<Tile>(to.address, column, row, [&](const U32& rows, const U32& first, const auto& four) {
      cp_async_bulk_tensor(rows, from.gather4(first, four), full, all, at);
    }, at);
  }
  /// Writes a tile's rows to rows of a matrix that lie apart, in the next bulk group: tma_scatter(map, 0, row, tile). A
  /// row outside of the tensor is not written.
  template <class Tile, class RowOf>
    requires(detail::by_four_rows<Tile, RowOf>)
  void tma_scatter(const TensorMapHandle<typename Tile::element, 2>& to, OperandOf<U32> column, RowOf row,
                   const Shared<Tile>& from, const TensorStoreExtras& extras = {}, Here at = {}) {
    each_four_rows<Tile>(from.address, column, row, [&](const U32& rows, const U32& first, const auto& four) {
      cp_async_bulk_tensor(to.scatter4(first, four), rows, extras, at);
    }, at);
  }
  // Here only to explain: a tile that has no groups of four rows, or arguments that are missing, or others.
  template <class To, class Map, class Column, class... Rest>
    requires(!detail::gathers<To, Map, Rest...>)
  KILN_REFUSED(arguments, "tma_gather(tile, map, column, [&](U32 r) { return row; }, mbarrier): a K-major tile with a "
                          "swizzle, a map of its elements in two dimensions [dsl-arguments]")
  void tma_gather(const To&, const Map&, const Column&, const Rest&...) {}
  template <class Map, class Column, class RowOf, class From, class... Rest>
    requires(!detail::gathers<From, Map, RowOf, Mbarrier>)
  KILN_REFUSED(arguments, "tma_scatter(map, column, [&](U32 r) { return row; }, tile): a K-major tile with a swizzle, "
                          "a map of its elements in two dimensions [dsl-arguments]")
  void tma_scatter(const Map&, const Column&, const RowOf&, const From&, const Rest&...) {}
  void commit_stores(Here at = {}) { cp_async_bulk_commit_group(at); }
  /// Until at most `pending` groups may still read their shared source.
  void wait_stores_read(int pending, Here at = {}) { cp_async_bulk_wait_group_read(pending, at); }

  /// Arrives on an mbarrier and announces `bytes` of copies for its phase.
  void expect_tx(const Mbarrier& b, std::int64_t bytes, Here at = {});
  /// Arrives once; in another CTA with release.cluster.
  void arrive(const AnyMbarrier& b, Here at = {});
  // Here only to explain: no mbarrier.
  KILN_OTHERWISE(arguments, "expect_tx(mbarrier, bytes): slot.full is a slot's mbarrier, and a ring's acquire(thread) "
                            "announces its bytes [dsl-arguments]")
  void expect_tx(KILN_WHATEVER);
  KILN_OTHERWISE(arguments, "arrive(mbarrier): slot.full is a slot's mbarrier; ring.release(scope, slot) gives a slot "
                            "back "
                            "[dsl-arguments]")
  void arrive(KILN_WHATEVER);

  /// Writes a field of a tensor map in shared (U32) or global (U64) memory. PTX ISA "tensormap.replace".
  /// A field with a value a dimension: tensormap_replace<TensorMapField::box_dim, 1>(map, 64).
  template <isa::TensorMapField field, int dimension = 0, class Map>
    requires(!isa::has_code(field))
  void tensormap_replace(const Map& map, const OperandOf<std::conditional_t<isa::is_wide(field), U64, U32>>& value,
                         Here at = {}) {
    rules::require<rules::tensormap_field(field, dimension)>();
    replace_field(field, map, space_of(map), dimension, operand(value), at);
  }
  /// A field that holds a code of the driver's: tensormap_replace<TensorMapField::swizzle_mode, 3>(map).
  template <isa::TensorMapField field, int code, class Map>
    requires(isa::has_code(field))
  void tensormap_replace(const Map& map, Here at = {}) {
    rules::require<rules::tensormap_field(field, code)>();
    replace_field(field, map, space_of(map), code, {}, at);
  }

 private:
  // A copy that counts on the peer's mbarrier has .cta_group::2.
  TensorLoadExtras with_group(TensorLoadExtras extras, const AnyMbarrier& full, Here at) const;
  template <class Tile>
  static TensorPlace place(const Box3d<Tile>& b) {
    return {U64(b.outer.recorder(), b.map), isa::TensorMode::tile, 3, {b.inner, b.outer, b.span}};
  }

  // `copy(shared, column, rows)` for each four rows of each span.
  template <class Tile, class RowOf, class Copy>
  void each_four_rows(const U32& tile, const OperandOf<U32>& column, RowOf& row, Copy copy, Here at) {
    constexpr int four = 4;
    const U32 start{*rec_, use(*rec_, column.input())};
    loop_over({Tile::rows / four, at}, [&](const U32& i) {
      const U32 first = apply("mul.lo", i, four, at), shared = apply("mul.lo", i, four * Tile::row_pitch, at);
      const auto number = [&](int r) -> OperandOf<U32> { return {U32(row(apply("add", first, r, at))), at}; };
      const std::array<OperandOf<U32>, four> rows{number(0), number(1), number(2), number(3)};
      for (int block = 0; block < Tile::blocks; ++block)
        copy(apply("add", apply("add", shared, tile, at), block * Tile::block_bytes, at),
             apply("add", start, block * Tile::box_inner, at), rows);
    });
  }
  // A tile with one copy.
  void load_whole(const SlotPart& part, const U32& shared, const TensorPlace& from, const AnyMbarrier& full,
                  const TensorLoadExtras& extras, Here at);
  // One copy for each box of a tile.
  void store_boxes(const AnyShared& from, const AnyBox& to, const ExtraList& extras, Here at);
  template <class Copy>
  void each_box(const U32& shared, int block_bytes, const AnyBox& start, Copy copy, Here at);
  void load_part(const AnyShared& to, int outer, const AnyBox& from, const AnyMbarrier& full,
                 const TensorLoadExtras& extras, Here at);

  void tensor_load(isa::Space destination, const U32& to, const TensorPlace& from, const AnyMbarrier& full,
                   const ExtraList& extras, Here at);
  void tensor_store(std::string_view name, RedOp op, const TensorPlace& to, const U32& from, const ExtraList& extras,
                    Here at);
  void tensor_prefetch(const TensorPlace& from, const ExtraList& extras, Here at);
  void require_mode(isa::TensorMode mode, isa::Space to, Here at) const;

  static isa::Space space_of(const U32&) { return isa::Space::shared_cta; }
  static isa::Space space_of(const U64&) { return isa::Space::global; }
  static ir::Operand operand(const OperandOf<U32>& v);
  static ir::Operand operand(const OperandOf<U64>& v);
  void replace_field(isa::TensorMapField field, const Value& map, isa::Space space, int number,
                     const std::optional<ir::Operand>& value, Here at);
};

}  // namespace kiln::dsl
