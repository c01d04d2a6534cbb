// wgmma in its own words: a product whose rounded sums are A of the next one, as in attention, against plain sums.
// Simulated, with numbers that no format rounds.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "dsl/dsl.hpp"
#include "dsl/warpgroup_mma.hpp"
#include "tests/differential/dsl_run.hpp"

namespace dsl_warpgroup_mma {

using namespace kiln;
using namespace kiln::dsl;

namespace {

constexpr int groups = 2, rows = 64 * groups;

launch::Buffer buffer(const char* name, ScalarType type, std::uint64_t first, std::uint64_t second) {
  launch::Buffer b;
  b.name = name;
  b.dtype = type;
  b.shape = {first, second};
  b.init.kind = launch::Init::Kind::zeros;
  b.bytes.resize(b.size());
  return b;
}

// -1, 0 and 1 in an order of their own.
std::vector<int> filled(launch::Buffer& b, unsigned step) {
  std::vector<int> out;
  unsigned x = step;
  for (std::uint64_t i = 0; i < b.elements(); ++i) {
    x = x * 1664525 + 1013904223;
    out.push_back(int(x >> 16) % 3 - 1);
    const std::uint16_t word = out.back() == 0 ? 0 : out.back() > 0 ? 0x3F80 : 0xBF80;
    std::memcpy(b.bytes.data() + 2 * i, &word, 2);
  }
  return out;
}

/// D = bf16(A * B^T) * V + 1 for 128 rows of A, of which each warpgroup has half; B has `N` rows of `K` elements, V has
/// `N` rows of `L`, MN-major, or as many columns, K-major. Maxima of a row's sums go to M.
template <int N, int K, int L, Major v_major>
struct Chain {
  using ATile = SharedTile<bf16, rows, K, K_major, swizzle_128B>;
  using BTile = SharedTile<bf16, N, K, K_major, swizzle_128B>;
  using VTile = SharedTile<bf16, L, N, v_major, swizzle_128B>;
  static constexpr auto list =
      parameters("A"_arg.is<TensorMap<ATile>>(), "B"_arg.is<TensorMap<BTile>>(), "V"_arg.is<TensorMap<VTile>>(),
                 "D"_arg.is<Pointer<f32>>(), "M"_arg.is<Pointer<f32>>());

  static Kernel build() {
    KernelBuilder k("chain", sm_90a, warps<4 * groups + 1>);
    const auto given = declare(k, list);
    auto in = k.ring<1, ATile, BTile, VTile>("in");
    k.role("multiply", warpgroups<0, groups>, [&](Warpgroups<groups>& g) {
      WarpgroupMma mma(g);
      auto scores = mma.sums<N>();
      auto weights = mma.a<bf16, N>();
      auto sums = mma.sums<L>();
      for (int i = 0; i < sums.elements; ++i) sums.set(i, 1.0f);
      auto slot = in.wait(g);
      mma.fence();
      mma.multiply(scores, slot.template get<0>().template rows<64>(g.group() * 64), slot.template get<1>(),
                   accumulate(false));
      mma.commit();
      mma.wait(0);
      weights.set(scores.registers());
      const U32 row = g.warp_index() * 16;
      for (int half = 0; half < 2; ++half) {
        std::vector<F32> mine;
        for (int i = 0; i < scores.elements; ++i)
          if (i / 2 % 2 == half) mine.push_back(scores[i]);
        const F32 greatest =
            mma.row_reduce<RedOp::max>(combined(mine, [](const F32& a, const F32& b) { return max(a, b); }));
        const U32 of_lane = row + SumsFragment<N>::row(g.lane(), 2 * half);
        g.store_global(given["M"_arg].at(of_lane), greatest, (g.lane() & 3) == 0u);
      }
      mma.fence();
      mma.multiply(sums, weights, slot.template get<2>(), accumulate(true));
      mma.commit();
      mma.wait(0);
      mma.release(slot);
      for (int i = 0; i < sums.elements; ++i) {
        const U32 at = (row + SumsFragment<L>::row(g.lane(), i)) * L + SumsFragment<L>::column(g.lane(), i);
        g.store_global(given["D"_arg].at(at), sums[i], k.constant(1) == 1u);
      }
    });
    k.role("load", warp<4 * groups>.elect(), [&](Thread t) {
      auto slot = in.acquire(t);
      t.tma_load(slot.template get<0>(), given["A"_arg].at(0, 0), slot.full);
      t.tma_load(slot.template get<1>(), given["B"_arg].at(0, 0), slot.full);
      t.tma_load(slot.template get<2>(), given["V"_arg].at(0, 0), slot.full);
    });
    return k.build();
  }

  static void check() {
    launch::Contract c;
    constexpr bool by_key = v_major == Major::MN;
    c.buffers = {buffer("A", ScalarType::bf16, rows, K), buffer("B", ScalarType::bf16, N, K),
                 buffer("V", ScalarType::bf16, by_key ? N : L, by_key ? L : N), buffer("D", ScalarType::f32, rows, L),
                 buffer("M", ScalarType::f32, rows, 1)};
    const std::vector<int> a = filled(c.buffers[0], 1), b = filled(c.buffers[1], 2), v = filled(c.buffers[2], 3);
    const Kernel kernel = build();
    launch_kernel(c, kernel, list, {1, 1, 1}, "A"_arg = GlobalTensor{"A", rows, K}, "B"_arg = GlobalTensor{"B", N, K},
                  "V"_arg = GlobalTensor{"V", L, N}, "D"_arg = "D", "M"_arg = "M");
    test::simulate(kernel, c);
    int wrong = 0;
    for (int r = 0; r < rows; ++r) {
      std::vector<int> score(N);
      for (int n = 0; n < N; ++n)
        for (int k = 0; k < K; ++k) score[std::size_t(n)] += a[std::size_t(r * K + k)] * b[std::size_t(n * K + k)];
      const auto found = [&](int buffer, int at) {
        float x = 0;
        std::memcpy(&x, c.buffers[std::size_t(buffer)].bytes.data() + 4 * at, 4);
        return x;
      };
      wrong += found(4, r) != float(*std::max_element(score.begin(), score.end()));
      for (int l = 0; l < L; ++l) {
        int sum = 1;
        for (int n = 0; n < N; ++n) sum += score[std::size_t(n)] * v[std::size_t(by_key ? n * L + l : l * N + n)];
        wrong += found(3, r * L + l) != float(sum);
      }
    }
    CHECK(wrong == 0);
  }
};

}  // namespace

TEST_CASE("rounded sums of a warpgroup are A of its next MMA, whichever way B lies") {
  Chain<64, 64, 64, Major::MN>::check();
  Chain<64, 128, 128, Major::MN>::check();
  Chain<176, 64, 128, Major::MN>::check();
  Chain<64, 64, 40, Major::K>::check();
  Chain<128, 64, 256, Major::K>::check();
}

TEST_CASE("a lane has the elements of sums that wgmma gives it") {
  for (int lane = 0; lane < 32; ++lane)
    for (int i = 0; i < SumsFragment<256>::elements; ++i) {
      const isa::MmaSyncCell cell = isa::wgmma_d_cell(lane, i);
      CHECK(SumsFragment<256>::at(lane, i) == TilePosition{cell.row, cell.column});
    }
}

}  // namespace dsl_warpgroup_mma
