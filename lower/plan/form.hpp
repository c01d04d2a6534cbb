// One form of MMA as a kernel uses it: everything about it that is known before it runs, and how the engine's warps
// share its accumulator.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "ptx/isa/instruction_descriptor.hpp"
#include "ptx/isa/modifiers.hpp"
#include "ptx/isa/swizzle.hpp"
#include "ptx/isa/tcgen05.hpp"
#include "ptx/isa/types.hpp"

namespace kiln::lower {

/// How an operand lies in shared memory. What is empty is read from the descriptor at run time; lengths in bytes.
struct Layout {
  isa::Major major = isa::Major::K;
  std::optional<isa::Swizzle> swizzle{};
  std::optional<std::uint32_t> leading{}, stride{}, base_offset{};
  bool operator==(const Layout&) const = default;
};

/// One K step of a run of MMAs that one command stands for: the distance of its operands from those of the first step,
/// in bytes (for A in tensor memory: columns), and of its metadata from the first step's address, in columns.
struct Step {
  std::int64_t a = 0, b = 0;
  std::int64_t sfa = 0, sfb = 0;  // the scales, in columns
  int sfa_id = 0, sfb_id = 0;     // the byte of a cell that holds the first of them
  std::int64_t metadata = 0;
  bool operator==(const Step&) const = default;
};

/// How an accumulator is shared: warp w of the engine has the rows_of_warp() rows from w / warps_n and the
/// columns_of_warp() columns from w % warps_n on. Forms with equal shares can follow each other in registers.
struct Share {
  int m = 0, n = 0;
  int parts = 1;  // M = 64 and 32 of .ws: so many parts of N lie one below the other in tensor memory
  int warps_m = 0, warps_n = 0;
  isa::ScalarType d_type = isa::ScalarType::f32;
  int halves = 1;  // 2: of a pair; the first columns of a warp are of its own half of B, the others of the peer's
  bool operator==(const Share&) const = default;

  int warps() const { return warps_m * warps_n; }
  int row_tiles() const { return m / 16 / warps_m; }    // of 16 rows, of one warp
  int column_tiles() const { return n / 8 / warps_n; }  // of 8 columns, of one warp
  int half_tiles() const { return column_tiles() / halves; }
  int tile_registers() const { return d_type == isa::ScalarType::f16 ? 2 : 4; }
  int tile_lanes() const { return m == 64 && parts == 1 ? 32 : 16; }  // of tensor memory, from a tile to the next
  int registers() const { return row_tiles() * column_tiles() * tile_registers(); }
};

struct Form {
  isa::MmaKind kind = isa::MmaKind::none;
  isa::ScalarType a_type = isa::ScalarType::none, b_type = isa::ScalarType::none;
  bool negates = false;    // the product: one of A and B has its sign turned, not both
  bool saturates = false;  // integer sums
  bool a_in_tmem = false;
  bool sparse = false;                                 // A; B then has 64 bytes of K
  bool masks_columns = false, shifts_columns = false;  // of B: some are taken as zeros; they are those further on
  bool expands = false;                                // A is multiplied with the zeros that it does not store
  bool as_f16 = false;                                 // elements of 8 bits are multiplied as f16
  int scale_input_d = 0;                               // D is multiplied by 2 to the minus this
  int scales = 0;                                      // of a row in one MMA; 0: there is no block scaling
  isa::ScalarType scale_type = isa::ScalarType::none;
  bool scaled_by_mma = false;  // mma.sync of the target scales the blocks itself
  Layout a{}, b{};
  Share share{};
  std::vector<Step> steps{};
  bool operator==(const Form&) const = default;

  bool reads_image() const { return a_in_tmem || sparse || scales != 0; }
  bool is_packed() const { return isa::container_bits(kind) == 4; }  // two elements to a byte
};

/// What the elements of a byte container are multiplied as: those of 6 and 4 bits have no mma.sync but on sm_120a, and
/// all their numbers are numbers of e4m3, or of e5m2.
constexpr isa::ScalarType multiplied_as(isa::ScalarType t) {
  if (t == isa::ScalarType::e3m2) return isa::ScalarType::e5m2;
  return t == isa::ScalarType::e2m1 || t == isa::ScalarType::e2m3 ? isa::ScalarType::e4m3 : t;
}

/// The share in which the busiest of `warps` warps has the least to do, and of those the one with the squarest tiles.
Share shared_out(int m, int n, isa::ScalarType d_type, int warps, int parts = 1);
/// The same for one CTA of a pair, whose `m` rows these are.
Share shared_out_in_pair(int m, int n, isa::ScalarType d_type, int warps);

/// Whether the steps of a form with block scaling are a loop, for which they must follow each other as the first two
/// do. Where sums take most registers, ptxas has none left to mix steps with each other, and tries.
bool is_rolled(const Form&);

/// Registers of a thread that the engine needs for a form, about.
int registers_needed(const Form&);

}  // namespace kiln::lower
