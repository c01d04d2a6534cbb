// Matrices as registers for tests of warp-level instructions: values go in by row and column and come out the same way.
#pragma once

#include <doctest/doctest.h>

#include <functional>
#include <random>

#include "ptx/isa/matrix_shape.hpp"
#include "ptx/isa/mma_metadata.hpp"
#include "ptx/isa/mma_sync.hpp"
#include "ptx/num/format.hpp"
#include "tests/unit/sim/run.hpp"
#include "tests/unit/truth/asked.hpp"

namespace kiln::test {

using isa::ScalarType;
using u32 = std::uint32_t;

/// Rows of words, each an element in its low bits.
struct Matrix {
  int rows = 0, columns = 0;
  std::vector<u32> words;
  Matrix(int m, int n) : rows(m), columns(n), words(std::size_t(m * n)) {}
  u32& at(int r, int c) { return words[std::size_t(r * columns + c)]; }
  u32 at(int r, int c) const { return words[std::size_t(r * columns + c)]; }
};

inline bool is_number(ScalarType t) { return isa::is_floating(t); }

/// The word of a small whole number (or half) in a type.
inline u32 word_of(ScalarType t, double v) {
  // Scales of a power of two are exact here, and know no rounding to nearest.
  if (is_number(t)) return u32(num::encode(t, v, t == isa::ScalarType::ue8m0 ? num::Rounding::rz : num::Rounding::rn));
  const int bits = isa::bits(t);
  return bits == 32 ? u32(std::int32_t(v)) : u32(std::int32_t(v)) & ((1u << bits) - 1);
}
inline double value_of(ScalarType t, u32 w) {
  if (is_number(t)) return num::to_double(t, w);
  const int bits = isa::bits(t);
  if (bits == 32) return std::int32_t(w);
  return isa::is_signed(t) && w >> (bits - 1) & 1 ? double(w) - double(1u << bits) : double(w);
}

/// Small values that every type of the family has, so that sums are exact in any order.
inline Matrix random_matrix(ScalarType t, int m, int n, std::mt19937& random) {
  Matrix out(m, n);
  for (u32& w : out.words) {
    const int v = int(random() % 9) - 4;
    if (t == ScalarType::b1)
      w = random() & 1;
    else if (isa::is_integer(t) && isa::bits(t) < 32)
      w = random() & ((1u << isa::bits(t)) - 1);
    else
      w = word_of(t, isa::bits(t) <= 6 ? (v % 3) : v);
  }
  return out;
}

/// Registers of 32 lanes: [register][lane].
using Registers = std::vector<std::array<u32, 32>>;

/// Puts elements of `bits` bits, shifted by `shift` in their container, where `cell(t, r, e)` says.
template <class Cell>
Registers pack(int count, int bits, int shift, Cell element) {
  Registers out(std::size_t(count), std::array<u32, 32>{});
  for (int r = 0; r < count; ++r)
    for (int t = 0; t < 32; ++t)
      for (int e = 0; e < 32 / bits; ++e) out[std::size_t(r)][std::size_t(t)] |= element(t, r, e) << (e * bits + shift);
  return out;
}

inline std::string names(const std::string& prefix, int first, int n) {
  std::string text = "{";
  for (int i = 0; i < n; ++i) text += (i ? ", " : "") + prefix + std::to_string(first + i);
  return text + "}";
}

/// Runs `body` in one warp that has loaded `in` into %r0, %r1, ... and stores %d0 ... %d<results>; the results.
inline Registers run_registers(const std::string& target, const std::string& body, const Registers& in, int results,
                               const std::string& declarations = "") {
  std::string text =
      ".version 8.8\n.target " + target + "\n.address_size 64\n" + declarations +
      ".visible .entry k(.param .u64 in, .param .u64 out) {\n.reg .b32 %r<64>; .reg .b32 %d<64>; .reg .f32 "
      "%f<64>; .reg .f32 %c<64>; .reg .b64 %rd<16>; .reg .pred %p; .reg .b32 %t;\n"
      "ld.param.u64 %rd0, [in]; ld.param.u64 %rd1, [out]; mov.u32 %t, %tid.x; mul.wide.u32 %rd2, %t, 4;\n"
      "add.u64 %rd0, %rd0, %rd2; add.u64 %rd1, %rd1, %rd2;\n";
  for (std::size_t r = 0; r < in.size(); ++r)
    text += "ld.global.b32 %r" + std::to_string(r) + ", [%rd0+" + std::to_string(128 * r) + "];\n";
  text += body + "\n";
  for (int r = 0; r < results; ++r)
    text += "st.global.b32 [%rd1+" + std::to_string(128 * r) + "], %d" + std::to_string(r) + ";\n";
  text += "ret;\n}\n";
  if (ptxas().found()) {
    const Answer said = ask_ptxas(text, *isa::parse_target(target));
    CHECK_MESSAGE(said.taken, body << "\n" << said.error);
  }
  std::vector<u32> flat;
  for (const auto& r : in) flat.insert(flat.end(), r.begin(), r.end());
  launch::Contract c;
  c.buffers.push_back(filled("in", flat));
  c.buffers.push_back(buffer("out", std::size_t(results) * 128));
  launch::Launch l;
  l.block = {32, 1, 1};
  l.params = {pointer("in"), pointer("out")};
  c.launches.push_back(l);
  const Run done = run(text, c);
  CHECK_MESSAGE(done.clean(), body << "\n" << done.findings());
  const auto words = done.read<u32>("out");
  Registers out(std::size_t(results), std::array<u32, 32>{});
  for (std::size_t r = 0; r < out.size(); ++r)
    for (std::size_t t = 0; t < 32; ++t) out[r][t] = words[32 * r + t];
  return out;
}

}  // namespace kiln::test
