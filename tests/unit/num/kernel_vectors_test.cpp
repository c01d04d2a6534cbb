// The kernel on what few inputs have: sparse operands, K = 96, and every published word.
#include <doctest/doctest.h>

#include <array>
#include <random>

#include "ptx/num/gemm_kernel.hpp"
#include "tests/unit/num/vectors.hpp"

namespace num_kernel_vectors {

using namespace kiln::num;
using namespace kiln::num::test;

namespace {

using Words = std::vector<std::uint32_t>;

// Elements in the containers that the kernel reads.
std::vector<std::uint8_t> packed(ScalarType type, const Words& words) {
  const int bytes = std::max(8, kiln::isa::bits(type)) / 8;
  std::vector<std::uint8_t> out;
  for (std::uint32_t word : words)
    for (int i = 0; i < bytes; ++i) out.push_back(static_cast<std::uint8_t>(word >> 8 * i));
  return out;
}

// A task of m x n elements over one instruction; rows of every side operand follow each other.
Words product(const DotSpec& spec, int m, int n, const Words& a, const Words& b, Words d, const Words& metadata,
              const std::vector<std::uint8_t>& scale_a, const std::vector<std::uint8_t>& scale_b,
              Arithmetic arithmetic) {
  const int k = stored_k(spec), logical = spec.sparse ? 2 * k : k;
  const auto a_bytes = packed(spec.a, a), b_bytes = packed(spec.b, b);
  const auto scales = static_cast<std::size_t>(spec.scale_vector);
  GemmTask task{.spec = spec, .m = m, .n = n, .k = logical};
  task.a = {a_bytes.data(), static_cast<std::size_t>(k), scale_a.data(), scales};
  task.b = {b_bytes.data(), static_cast<std::size_t>(logical), scale_b.data(), scales};
  task.metadata = metadata.data();
  task.metadata_stride = metadata.size() / static_cast<std::size_t>(m);
  task.d = d.data();
  task.d_stride = static_cast<std::size_t>(n);
  task.arithmetic = arithmetic;
  GemmKernel kernel;
  kernel.run(task);
  return d;
}

}  // namespace

TEST_CASE("the kernel gives every published word, dense, sparse and scaled") {
  for (const Vector& v : vectors()) {
    CAPTURE(v.id);
    Vector whole = v;  // some vectors are shorter than K, and the rest is zeros
    whole.a.resize(static_cast<std::size_t>(stored_k(v.spec)));
    whole.b.resize(static_cast<std::size_t>(stored_k(v.spec) * (v.spec.sparse ? 2 : 1)));
    CHECK(product(v.spec, 1, 1, whole.a, whole.b, {v.c}, v.metadata, v.scale_a, v.scale_b, Arithmetic::exact).at(0) ==
          v.expect);
  }
}

TEST_CASE("the kernel equals dot where A is sparse, and where K is 96") {
  using enum ScalarType;
  const DotSpec specs[] = {
      {.kind = MmaKind::f16, .sparse = true},
      {.kind = MmaKind::tf32, .a = tf32, .b = tf32, .sparse = true},
      {.kind = MmaKind::f8f6f4, .a = e5m2, .b = e2m3, .d = f16, .sparse = true},
      {.kind = MmaKind::i8, .a = s8, .b = u8, .d = s32, .sparse = true, .saturate = true},
      {.kind = MmaKind::mxf8f6f4, .a = e4m3, .b = e4m3, .scale = ue8m0, .scale_vector = 1, .sparse = true},
      {.kind = MmaKind::mxf4nvf4, .a = e2m1, .b = e2m1, .scale = ue4m3, .scale_vector = 4, .sparse = true},
      {.kind = MmaKind::mxf4, .a = e2m1, .b = e2m1, .scale = ue8m0, .scale_vector = 3, .k96 = true},
      {.kind = MmaKind::mxf4nvf4, .a = e2m1, .b = e2m1, .scale = ue4m3, .scale_vector = 6, .k96 = true}};
  std::mt19937 random(7);
  constexpr std::size_t m = 5, n = 3;
  for (const DotSpec& spec : specs)
    for (const Arithmetic arithmetic : {Arithmetic::exact, Arithmetic::fast}) {
      const bool rounds = spec.kind != MmaKind::mxf4 && spec.kind != MmaKind::mxf4nvf4 && has_vector_path(spec);
      if (arithmetic == Arithmetic::fast && rounds) continue;
      const auto k = static_cast<std::size_t>(stored_k(spec)), logical = spec.sparse ? 2 * k : k;
      const auto scales = static_cast<std::size_t>(spec.scale_vector);
      const auto words = [&](std::size_t count, int bits) {
        Words out(count);
        for (auto& w : out) w = static_cast<std::uint32_t>(random()) & (bits == 32 ? 0xFFFFFFFF : (1u << bits) - 1);
        return out;
      };
      const auto bytes = [&](std::size_t count) {
        std::vector<std::uint8_t> out(count);
        for (auto& s : out) s = static_cast<std::uint8_t>(spec.scale == ue4m3 ? random() % 127 : 110 + random() % 30);
        return out;
      };
      const Words a = words(m * k, kiln::isa::bits(spec.a)), b = words(n * logical, kiln::isa::bits(spec.b));
      const Words d = words(m * n, spec.d == f16 ? 16 : 32);
      const int kept = spec.kind == MmaKind::tf32 ? 1 : spec.kind == MmaKind::mxf4nvf4 ? 4 : 2;
      const std::size_t per_row = spec.sparse ? k / static_cast<std::size_t>(kept) / 8 : 0;
      Words metadata(m * per_row);
      for (auto& w : metadata)
        for (int at = 0; at < 32; at += 4)
          w |= (spec.kind == MmaKind::tf32 ? std::array{4u, 14u}[random() % 2]
                                           : std::array{4u, 6u, 8u, 9u, 12u, 13u, 14u}[random() % 7])
               << at;
      const auto sa = bytes(m * scales), sb = bytes(n * scales);
      const Words got = product(spec, m, n, a, b, d, metadata, sa, sb, arithmetic);
      for (std::size_t i = 0; i < m; ++i)
        for (std::size_t j = 0; j < n; ++j)
          CHECK(got[i * n + j] ==
                dot(spec, std::span(a).subspan(i * k, k), std::span(b).subspan(j * logical, logical), d[i * n + j],
                    {std::span(sa).subspan(i * scales, scales), std::span(sb).subspan(j * scales, scales),
                     std::span(metadata).subspan(i * per_row, per_row)}));
    }
}

TEST_CASE("rows of zeros leave of C what dot leaves of it, whatever C is and next to infinities that nothing selects") {
  using enum ScalarType;
  const DotSpec specs[] = {{.kind = MmaKind::f16, .sparse = true},
                           {.kind = MmaKind::f16, .a = f16, .b = f16, .d = f16, .sparse = true},
                           {.kind = MmaKind::f16, .sparse = true, .read_c = false},
                           {.kind = MmaKind::f16, .sparse = true, .scale_input_d = 3},
                           {.kind = MmaKind::i8, .a = s8, .b = u8, .d = s32, .sparse = true}};
  constexpr std::size_t m = 3, n = 12;
  // Zeros of both signs, ones, subnormals, infinities, NaNs, and each of them twice in a row.
  const Words c{0, 0, 0x80000000, 0x80000000, 0x3F800000, 0x3F800000,
                1, 1, 0x7F800000, 0x7F800000, 0x7FC01234, 0x7FC01234};
  for (const DotSpec& spec : specs)
    for (const bool infinite : {false, true}) {
      const auto k = static_cast<std::size_t>(stored_k(spec)), logical = 2 * k;
      Words a(m * k, 0), b(n * logical, 3), d;
      // Every second column of the zeros' products is negative.
      for (std::size_t j = 0; spec.kind == MmaKind::f16 && j < n; j += 2)
        for (std::size_t x = 0; x < logical; ++x) b[j * logical + x] |= 0x8000;
      for (std::size_t x = 0; x < k; ++x) a[k + x] = 5;  // the middle row is none of zeros
      // The metadata keeps the first two of four.
      for (std::size_t j = 0; infinite && spec.kind == MmaKind::f16 && j < n; ++j)
        b[j * logical + (j % 2 ? 1 : 2)] = spec.b == f16 ? 0x7C00 : 0x7F80;
      for (std::size_t i = 0; i < m; ++i) d.insert(d.end(), c.begin(), c.end());
      const std::size_t per_row = k / 2 / 8;
      const Words metadata(m * per_row, 0x44444444);
      const Words got = product(spec, m, n, a, b, d, metadata, {}, {}, Arithmetic::exact);
      for (std::size_t i = 0; i < m; ++i)
        for (std::size_t j = 0; j < n; ++j)
          CHECK(got[i * n + j] == dot(spec, std::span(a).subspan(i * k, k), std::span(b).subspan(j * logical, logical),
                                      d[i * n + j], {{}, {}, std::span(metadata).subspan(i * per_row, per_row)}));
    }
}

}  // namespace num_kernel_vectors
