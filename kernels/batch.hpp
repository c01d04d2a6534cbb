// How many matrices a launch multiplies: one, or a batch of them, of which a third coordinate of the tensor maps
// chooses one. Tiles of a batch are dealt out as if its matrices stood on top of each other.
#pragma once

#include <optional>

#include "kernels/epilogue.hpp"

namespace kiln::kernels {

/// Where a tile belongs: its matrix, in a batch, and which row of tiles of that it stands in.
struct TileRow {
  std::optional<dsl::U32> matrix;
  dsl::U32 row;
};

/// One A, one B, one D.
struct OneMatrix {
  template <class Tile>
  using Map = dsl::TensorMap<Tile>;

  static constexpr auto parameter_list() { return dsl::parameters(); }
  /// The rows of tiles of all matrices, from those of one.
  template <class Given>
  static dsl::U32 all_rows(const Given&, const dsl::U32& rows) {
    return rows;
  }
  static TileRow row(const dsl::TilePlace& tile, const dsl::U32&) { return {std::nullopt, tile.row}; }
  template <class Tile>
  static auto box(const dsl::TensorMap<Tile>& map, const TileRow&, const dsl::U32& mn, const dsl::U32& k) {
    return map.at(mn, k);
  }
  template <class T>
  static Result<T> result(const Result<T>& d, const TileRow&) {
    return d;
  }

  static void describe(launch::Contract&, const dsl::Sizes&) {}
  static std::uint64_t count(const dsl::Sizes&) { return 1; }
  /// What a launch gives for a map.
  template <class Tile>
  static dsl::GlobalTensor tensor(const dsl::GlobalTensor& t, const dsl::Sizes&) {
    return t;
  }
  /// Calls `launch` with the arguments of its parameters.
  template <class Launch>
  static void arguments(const dsl::Sizes&, Launch launch) {
    launch();
  }
};

/// --batch of each, contiguous along K.
struct Batch {
  template <class Tile>
  using Map = dsl::TensorMapHandle<typename Tile::element, 3>;

  static constexpr auto parameter_list() {
    using namespace dsl;
    return parameters("batch"_arg.is<u32>());
  }
  template <class Given>
  static dsl::U32 all_rows(const Given& given, const dsl::U32& rows) {
    using namespace dsl;
    return rows * given["batch"_arg];
  }
  static TileRow row(const dsl::TilePlace& tile, const dsl::U32& rows) { return {tile.row / rows, tile.row % rows}; }
  template <class T>
  static auto box(const dsl::TensorMapHandle<T, 3>& map, const TileRow& where, const dsl::U32& mn, const dsl::U32& k) {
    return map.at(k, mn, *where.matrix);
  }
  template <class T>
  static Result<T> result(const Result<T>& d, const TileRow& where) {
    return d.matrix(*where.matrix);
  }

  static void describe(launch::Contract& c, const dsl::Sizes& sizes) { make_batch(c, count(sizes)); }
  static std::uint64_t count(const dsl::Sizes& sizes) { return sizes.at("batch"); }
  template <class Tile>
  static launch::TensorMap tensor(const dsl::GlobalTensor& t, const dsl::Sizes& sizes) {
    static_assert(Tile::order == dsl::K_major && Tile::blocks == 1 && Tile::box_rows_pieces == 1,
                  "one box brings a tile");
    return batched_map(dsl::tensor_map<Tile>(t), count(sizes));
  }
  template <class Launch>
  static void arguments(const dsl::Sizes& sizes, Launch launch) {
    using namespace dsl;
    launch("batch"_arg = count(sizes));
  }
};

}  // namespace kiln::kernels
