// Global tensors that tensor maps describe, bare: a map's address with its rank as a type, and the places in the tensor
// where a copy may begin. PTX ISA "Tensors".
#pragma once

#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "dsl/tile.hpp"
#include "dsl/value.hpp"
#include "ptx/isa/tensor_copy.hpp"

namespace kiln::dsl {

using isa::TensorMapField;

/// Where a tensor copy begins, as operands.
struct TensorPlace {
  U64 map;  // generic address
  isa::TensorMode mode;
  int rank;
  std::vector<U32> coordinates;
  std::vector<ir::Operand> offsets{};  // of im2col, 16 bits each
  std::optional<U64> global_address{};  // instead of the map's
};

/// The same with what decides legality in its type.
template <isa::TensorMode mode, int rank>
struct TensorBox {
  TensorPlace place;

  /// The same box of a tensor that begins elsewhere, at a multiple of 16: .override::global_address, of sm_107.
  TensorBox override_global_address(U64 address) const {
    TensorBox other = *this;
    other.place.global_address.emplace(std::move(address));
    return other;
  }
};

/// Coordinates as values of the map's kernel.
std::vector<U32> coordinates_of(const U64& map, const OperandOf<U32>* first, int count);
/// Offsets as 16-bit operands.
std::vector<ir::Operand> offsets_of(const OperandOf<U32>* first, int count);

/// The generic address of a tensor map of `rank_` dimensions: a kernel parameter, or 128 bytes of global memory.
template <class T, int rank_>
class TensorMapHandle {
 public:
  using element = T;
  static constexpr int rank = rank_;
  static_assert(rank >= 1 && rank <= isa::tma_max_rank, "a tensor has one to five dimensions");
  template <int count>
  using Coordinates = std::array<OperandOf<U32>, count>;

  explicit TensorMapHandle(U64 address) : address_(std::move(address)) {}
  const U64& address() const { return address_; }

  /// The box whose first element has these coordinates, innermost first.
  template <class... C>
  TensorBox<isa::TensorMode::tile, rank> at(const C&... coordinates) const {
    rules::require<rules::tma_rank(rank, sizeof...(C))>();
    return box<isa::TensorMode::tile>(Coordinates<sizeof...(C)>{coordinates...});
  }
  /// Four rows of a matrix, from one column on: gathered by a load, scattered by a store.
  TensorBox<isa::TensorMode::gather4, rank> gather4(OperandOf<U32> column, const Coordinates<4>& rows) const {
    return box<isa::TensorMode::gather4>(Coordinates<5>{column, rows[0], rows[1], rows[2], rows[3]});
  }
  TensorBox<isa::TensorMode::scatter4, rank> scatter4(OperandOf<U32> column, const Coordinates<4>& rows) const {
    return box<isa::TensorMode::scatter4>(Coordinates<5>{column, rows[0], rows[1], rows[2], rows[3]});
  }
  /// Pixels of a convolution's window: where the window stands, and the offsets inside it. PTX ISA "im2col mode".
  TensorBox<isa::TensorMode::im2col, rank> im2col(const Coordinates<rank>& at,
                                                  const Coordinates<(rank > 2 ? rank - 2 : 1)>& offsets) const {
    return box<isa::TensorMode::im2col>(at, offsets);
  }
  /// The same along W: the halo's width and the offset. PTX ISA "im2col::w mode", "im2col::w::128 mode".
  TensorBox<isa::TensorMode::im2col_w, rank> im2col_w(const Coordinates<rank>& at, const Coordinates<2>& halo) const {
    return box<isa::TensorMode::im2col_w>(at, halo);
  }
  TensorBox<isa::TensorMode::im2col_w_128, rank> im2col_w_128(const Coordinates<rank>& at,
                                                              const Coordinates<2>& halo) const {
    return box<isa::TensorMode::im2col_w_128>(at, halo);
  }
  /// The columns of a convolution as a store writes them.
  TensorBox<isa::TensorMode::im2col_no_offs, rank> im2col_no_offs(const Coordinates<rank>& at) const {
    return box<isa::TensorMode::im2col_no_offs>(at);
  }

 private:
  template <isa::TensorMode mode, std::size_t n>
  TensorBox<mode, rank> box(const std::array<OperandOf<U32>, n>& at) const {
    return {{address_, mode, rank, coordinates_of(address_, at.data(), int(n))}};
  }
  template <isa::TensorMode mode, std::size_t n, std::size_t m>
  TensorBox<mode, rank> box(const std::array<OperandOf<U32>, n>& at,
                            const std::array<OperandOf<U32>, m>& offsets) const {
    return {{address_, mode, rank, coordinates_of(address_, at.data(), int(n)), offsets_of(offsets.data(), int(m))}};
  }

  U64 address_;
};

}  // namespace kiln::dsl
