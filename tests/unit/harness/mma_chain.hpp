// D as tcgen05 leaves it: a chain of ptx/num's dot products for each element, with the layouts of scales and metadata
// written out once more.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "harness/problem/element.hpp"
#include "launch/contract.hpp"
#include "ptx/num/window.hpp"

namespace kiln::test {

/// A gemm of three buffers, and what else the expectation names.
struct MmaChain {
  launch::Contract contract{};
  num::DotSpec spec{};

  launch::Buffer& operator[](const std::string& name) { return *contract.find(name); }

  // 32x4x4: row % 32, row / 32 % 4, scale % 4; chunks along K, then along the rows.
  std::uint8_t scale(const std::string& name, std::uint64_t row, std::uint64_t index) {
    const launch::Buffer& b = (*this)[name];
    return b.bytes[(row / 128 * b.shape[1] + index / 4) * 512 + row % 32 * 16 + row % 128 / 32 * 4 + index % 4];
  }

  // The nibble for the element k of MMA `step`, from the picture of tensor memory, four columns to an image.
  std::uint32_t nibble(std::uint64_t row, std::uint64_t step, std::uint64_t k) {
    const launch::Buffer& e = (*this)["E"];
    const std::uint64_t m = row % 128;
    std::uint64_t lane = m, column = 2 * step + k / 32, bit = k % 32;
    if (spec.kind == num::MmaKind::mxf4 || spec.kind == num::MmaKind::mxf4nvf4)
      column = 2 * step + k / 64, bit = k / 2 % 32;
    if (spec.kind == num::MmaKind::f16)
      lane = m / 16 * 16 + k / 16 * 8 + m % 8, column = step, bit = m / 8 % 2 * 16 + k % 16;
    if (spec.kind == num::MmaKind::tf32)
      lane = m / 16 * 16 + k / 8 * 8 + m % 8, column = step, bit = 2 * (m / 8 % 2 * 8 + k % 8);
    const std::uint64_t image = row / 128 * e.shape[1] + column / 4;
    return std::uint32_t(harness::load_element(e.bytes, e.dtype, image * 512 + lane * 4 + column % 4) >> bit & 0xF);
  }

  std::uint32_t element(std::uint64_t row, std::uint64_t column) {
    const launch::Buffer &a = (*this)["A"], &b = (*this)["B"];
    const std::uint64_t stored = a.shape[1], depth = b.shape[1], ka = std::uint64_t(num::stored_k(spec));
    const std::uint64_t kb = spec.sparse ? 2 * ka : ka,
                        cover = spec.kind == num::MmaKind::tf32                                          ? 2
                                : spec.kind == num::MmaKind::mxf4 || spec.kind == num::MmaKind::mxf4nvf4 ? 8
                                                                                                         : 4;
    std::uint32_t c = 0;
    for (std::uint64_t step = 0; step * ka < stored; ++step) {
      std::vector<std::uint32_t> x, y, words(kb / cover / 8 + 1);
      for (std::uint64_t i = 0; i < ka; ++i)
        x.push_back(std::uint32_t(harness::load_element(a.bytes, a.dtype, row * stored + step * ka + i)));
      for (std::uint64_t i = 0; i < kb; ++i)
        y.push_back(std::uint32_t(harness::load_element(b.bytes, b.dtype, column * depth + step * kb + i)));
      std::vector<std::uint8_t> sa, sb;
      for (std::uint64_t i = 0; i < std::uint64_t(spec.scale_vector); ++i) {
        sa.push_back(scale("SFA", row, step * std::uint64_t(spec.scale_vector) + i));
        sb.push_back(scale("SFB", column, step * std::uint64_t(spec.scale_vector) + i));
      }
      for (std::uint64_t i = 0; spec.sparse && i < kb / cover; ++i)
        words[i / 8] |= nibble(row, step, i * cover) << i % 8 * 4;
      c = num::dot(spec, x, y, c, {sa, sb, words});
    }
    return c;
  }

  /// Computes D, converted to its type as an epilogue would.
  void run() {
    launch::Buffer& d = (*this)["D"];
    const isa::ScalarType from = spec.kind == num::MmaKind::i8 ? isa::ScalarType::s32 : spec.d;
    for (std::uint64_t i = 0; i < d.elements(); ++i) {
      const std::uint32_t word = element(i / d.shape[1], i % d.shape[1]);
      const double value = harness::element_value(from, word);
      harness::store_element(d.bytes, d.dtype, i, d.dtype == from ? word : num::encode(d.dtype, value));
    }
  }
};

}  // namespace kiln::test
