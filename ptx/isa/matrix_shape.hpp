// The shapes that matrix instructions of warps and warpgroups spell out: m16n8k16, m64n256k32.
#pragma once

#include <optional>
#include <string_view>
#include <utility>

namespace kiln::isa {

/// D is M x N, A is M x K, B is K x N; K counts logical columns of a sparse A. PTX ISA "Matrix Shape".
struct MatrixShape {
  int m = 0, n = 0, k = 0;
  constexpr bool operator==(const MatrixShape&) const = default;
};

/// The shape that `text` spells ("m16n8k16"); nothing for any other text.
constexpr std::optional<MatrixShape> parse_matrix_shape(std::string_view text) {
  MatrixShape s;
  for (const auto& [letter, extent] : {std::pair{'m', &s.m}, {'n', &s.n}, {'k', &s.k}}) {
    if (text.empty() || text.front() != letter) return std::nullopt;
    text.remove_prefix(1);
    while (!text.empty() && text.front() >= '0' && text.front() <= '9' && *extent < 1000) {
      *extent = *extent * 10 + (text.front() - '0');
      text.remove_prefix(1);
    }
    if (*extent == 0) return std::nullopt;
  }
  if (!text.empty()) return std::nullopt;
  return s;
}

}  // namespace kiln::isa
