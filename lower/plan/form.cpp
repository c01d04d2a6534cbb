#include "lower/plan/form.hpp"

#include <tuple>

namespace kiln::lower {
namespace {

constexpr int most_accumulators = 128;  // registers of a thread

Share best_share(const Share& whole, int warps) {
  std::optional<std::tuple<int, int, Share>> best;
  for (int warps_m = 1; warps_m <= warps; warps_m *= 2)
    for (int warps_n = 1; warps_m * warps_n <= warps; warps_n *= 2) {
      Share s = whole;
      s.warps_m = warps_m;
      s.warps_n = warps_n;
      if (s.m / 16 % warps_m != 0 || s.n / 8 % (warps_n * s.halves) != 0) continue;
      if (s.halves == 1 && warps_n % s.parts != 0) continue;
      if (s.registers() > most_accumulators) continue;
      const int rows = s.row_tiles() * 16, columns = s.column_tiles() * 8;
      // Of a pair, each warp reads its part of the peer's half, and that is slow.
      const std::tuple candidate{rows * columns, s.halves == 2 ? columns : rows + columns, s};
      if (!best ||
          std::tie(std::get<0>(candidate), std::get<1>(candidate)) < std::tie(std::get<0>(*best), std::get<1>(*best)))
        best = candidate;
    }
  return best ? std::get<2>(*best) : Share{};
}

}  // namespace

Share shared_out(int m, int n, isa::ScalarType d_type, int warps, int parts) {
  return best_share({m, n, parts, 0, 0, d_type}, warps);
}

// With 64 rows, the second half of the columns lies in the lanes below those of the first.
Share shared_out_in_pair(int m, int n, isa::ScalarType d_type, int warps) {
  return best_share({m, n, m == 64 ? 2 : 1, 0, 0, d_type, 2}, warps);
}

bool is_rolled(const Form& f) {
  if (!f.scales || f.scaled_by_mma || f.share.registers() < 128 || f.steps.size() < 3) return false;
  const auto apart = [](const Step& x, const Step& y) {
    return std::array{y.a - x.a, y.b - x.b, y.sfa - x.sfa, y.sfb - x.sfb};
  };
  for (std::size_t s = 1; s < f.steps.size(); ++s) {
    const Step &x = f.steps[s - 1], &y = f.steps[s];
    if (x.sfa_id != y.sfa_id || x.sfb_id != y.sfb_id || apart(x, y) != apart(f.steps[0], f.steps[1])) return false;
  }
  return true;
}

int registers_needed(const Form& f) {
  // A's fragments, two sets of 16 columns of B's, addresses, the command; found by what ptxas spills. Of a pair: two
  // fragments of A's, and what comes from the peer for several steps.
  const bool is_of_pair = f.share.halves == 2;
  int out = f.share.registers() + (is_of_pair ? 16 + 16 : 4 * f.share.row_tiles()) + 8 + 24;
  if (f.as_f16) out += 16;  // what is to become f16
  if (is_of_pair && f.b.major == isa::Major::MN) out += 8;
  if (f.a.major == isa::Major::MN) out += is_of_pair ? 16 : 8;
  if (f.sparse) out += f.share.row_tiles() + 12;
  if (f.expands) out += 4 * f.share.row_tiles() + 36;
  // The cells of scales, the product of one block, 4-bit elements as f16.
  if (f.scales) out += 2 * f.share.row_tiles() + 2 * f.share.column_tiles() + 24;
  if (f.kind == isa::MmaKind::mxf8f6f4) out += 32;
  if (f.is_packed()) out += 8 * f.share.row_tiles() + (f.scales == 4 ? 16 : 0);
  return out;
}

}  // namespace kiln::lower
