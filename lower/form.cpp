#include "lower/form.hpp"

#include <tuple>

namespace kiln::lower {
namespace {

constexpr int most_accumulators = 128;  // registers of a thread

}  // namespace

Share shared_out(int m, int n, isa::ScalarType d_type, int warps, int parts) {
  std::optional<std::tuple<int, int, Share>> best;
  for (int warps_m = 1; warps_m <= warps; warps_m *= 2)
    for (int warps_n = 1; warps_m * warps_n <= warps; warps_n *= 2) {
      if (m / 16 % warps_m != 0 || n / 8 % warps_n != 0 || warps_n % parts != 0) continue;
      const Share s{m, n, parts, warps_m, warps_n, d_type};
      if (s.registers() > most_accumulators) continue;
      const int rows = s.row_tiles() * 16, columns = s.column_tiles() * 8;
      const std::tuple candidate{rows * columns, rows + columns, s};
      if (!best ||
          std::tie(std::get<0>(candidate), std::get<1>(candidate)) < std::tie(std::get<0>(*best), std::get<1>(*best)))
        best = candidate;
    }
  return best ? std::get<2>(*best) : Share{};
}

int registers_needed(const Form& f) {
  // A's fragments, two sets of 16 columns of B's, addresses, the command; found by what ptxas spills.
  int out = f.share.registers() + 4 * f.share.row_tiles() + 8 + 24;
  if (f.as_f16) out += 16;  // what is to become f16
  if (f.a.major == isa::Major::MN) out += 8;
  if (f.sparse) out += f.share.row_tiles() + 12;
  if (f.expands) out += 4 * f.share.row_tiles() + 36;
  // The cells of scales, the product of one block, 4-bit elements as f16.
  if (f.scales) out += 2 * f.share.row_tiles() + 2 * f.share.column_tiles() + 24;
  if (f.kind == isa::MmaKind::mxf8f6f4) out += 32;
  if (f.is_packed()) out += 8 * f.share.row_tiles() + (f.scales == 4 ? 16 : 0);
  return out;
}

}  // namespace kiln::lower
