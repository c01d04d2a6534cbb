// Rings with several roles on a side, simulated in many schedules against plain arithmetic; that their synchronisation
// is proven for every launch; and that the race is found where a reader leaves out the fence that Ring::release writes.
#include <doctest/doctest.h>

#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "dsl/dsl.hpp"
#include "ptx/num/format.hpp"
#include "tests/differential/dsl_run.hpp"
#include "verifier/explore.hpp"

namespace dsl_rings {

using namespace kiln;
using namespace kiln::dsl;

namespace {

launch::Buffer buffer(
    const char* name, ScalarType type, std::vector<std::uint64_t> shape,
    const std::function<double(std::size_t)>& value = [](std::size_t) { return 0; }) {
  launch::Buffer b;
  b.name = name;
  b.dtype = type;
  b.shape = std::move(shape);
  b.init.kind = launch::Init::Kind::hex;
  const std::size_t bytes = std::size_t(isa::bits(type) / 8);
  for (std::size_t i = 0; i < b.size() / bytes; ++i) {
    const std::uint64_t word = num::encode(type, value(i));
    for (std::size_t k = 0; k < bytes; ++k) b.bytes.push_back(std::uint8_t(word >> 8 * k));
  }
  return b;
}

double number(const launch::Buffer& b, std::size_t i) {
  const std::size_t bytes = std::size_t(isa::bits(b.dtype) / 8);
  std::uint64_t word = 0;
  for (std::size_t k = 0; k < bytes; ++k) word |= std::uint64_t(b.bytes[i * bytes + k]) << 8 * k;
  return num::to_double(b.dtype, word);
}

/// What is found of the synchronisation, over all launches or for one; "" when it is proven.
std::string unproven(const Kernel& kernel, const launch::Contract* of = nullptr) {
  diag::Sink sink;
  verifier::check_synchronisation(kernel.module, sink, of);
  return diag::exit_code(sink, true) == 0 ? "" : diag::render_text(sink);  // notes name what is assumed
}

/// Small whole numbers, so that sums are exact.
double small(std::size_t i) { return double(i * 7 % 5) - 2; }

/// Rows of 32 floats that a kernel adds up: `sums[i]` is the sum of row i of `in`.
using Rows = SharedTile<f32, 32, 32, K_major, swizzle_128B>;
constexpr auto rows_list = parameters("in"_arg.is<TensorMap<Rows>>(), "sums"_arg.is<Pointer<f32>>(), "n"_arg.is<u32>());

F32 sum_of(const Registers<f32, 32>& row) {
  std::vector<F32> all;
  for (int i = 0; i < 32; ++i) all.push_back(row[i]);
  return combined(all, [](const F32& a, const F32& b) { return a + b; });
}

void are_rows_added(const Kernel& kernel, std::uint64_t tiles, std::uint64_t n, std::uint32_t ctas = 1) {
  const std::uint64_t rows = tiles * 32;
  for (int seed = 1; seed <= 8; ++seed) {
    launch::Contract c;
    c.buffers = {buffer("in", ScalarType::f32, {rows, 32}, small), buffer("sums", ScalarType::f32, {rows})};
    launch_kernel(c, kernel, rows_list, {ctas, 1, 1}, "in"_arg = GlobalTensor{"in", rows, 32}, "sums"_arg = "sums",
                  "n"_arg = n);
    if (seed == 1) CHECK(unproven(kernel, &c) == "");
    test::simulate(kernel, c, seed);
    int wrong = 0;
    for (std::size_t r = 0; r < rows; ++r) {
      double want = 0;
      for (std::size_t i = 0; i < 32; ++i) want += small(r * 32 + i);
      wrong += number(*c.find("sums"), r) != want;
    }
    CHECK(wrong == 0);
  }
}

/// One role loads n times four tiles; the warps of a warpgroup take turns, or all read a part of each.
Kernel warps_apart(bool turns) {
  KernelBuilder k("warps_apart", sm_100a, warps<5>);
  const auto given = declare(k, rows_list);
  auto in = k.ring<4, Rows>("in");
  const U32 n = given["n"_arg];
  k.role("load", warp<4>.elect(), [&](Thread t) {
    const auto load = [&](const U32& tile) {
      const auto slot = in.acquire(t);
      t.tma_load(slot.get<Rows>(), given["in"_arg].at(tile * 32, 0), slot.full);
    };
    if (!turns) t.loop(n * 4, [&](U32 i) { load(i); });
    if (turns)  // both sides count rounds, for n * 4 may wrap
      t.loop(n, [&](U32 i) {
        for (int warp = 0; warp < 4; ++warp) load(i * 4 + warp);
      });
  });
  k.role("read", warpgroup<0>, [&](Warpgroup& g) {
    g.each_warp([&](Warp w) {
      auto mine = turns ? in.by_warp() : in;
      w.loop(turns ? n : n * 4, [&](U32 i) {
        const auto slot = mine.wait(w);
        const F32 sum = sum_of(w.load_row(slot.get<Rows>(), w.lane()));
        mine.release(w, slot);
        const U32 tile = turns ? i * 4 + w.warp_index() : i;
        const Pred here = turns ? w.lane() < 32 : w.lane() / 8 == w.warp_index();
        w.when(here, [&] { w.red<RedOp::add>(given["sums"_arg].at(widen(tile * 32 + w.lane())), sum); });
      });
    });
  });
  return k.build();
}

/// Two roles load, and two read, every second tile each.
Kernel roles_in_turns(bool with_fence = true) {
  KernelBuilder k("roles_in_turns", sm_100a, warps<10>);
  const auto given = declare(k, rows_list);
  auto in = k.ring<4, Rows>("in");
  const U32 n = given["n"_arg];
  const auto load = [&](Thread t, int i) {
    auto mine = in.turn(i, 2);
    t.loop(n, [&](U32 j) {
      const auto slot = mine.acquire(t);
      t.tma_load(slot.get<Rows>(), given["in"_arg].at((j * 2 + i) * 32, 0), slot.full);
    });
  };
  const auto read = [&](Warpgroup& g, int i) {
    auto mine = in.turn(i, 2);
    g.loop(n, [&](U32 j) {
      const auto slot = mine.wait(g);
      const U32 row = g.row() & 31;
      const F32 sum = sum_of(g.load_row(slot.get<Rows>(), row));
      if (with_fence)
        mine.release(g, slot);
      else
        g.arrive(slot.empty);
      g.when(g.row() < 32, [&] { g.red<RedOp::add>(given["sums"_arg].at(widen((j * 2 + i) * 32 + row)), sum); });
    });
  };
  k.role("load0", warp<8>.elect(), [&](Thread t) { load(t, 0); });
  k.role("load1", warp<9>.elect(), [&](Thread t) { load(t, 1); });
  k.role("read0", warpgroup<0>, [&](Warpgroup& g) { read(g, 0); });
  k.role("read1", warpgroup<1>, [&](Warpgroup& g) { read(g, 1); });
  return k.build();
}

/// Each CTA of a pair loads and reads n tiles of its own.
Kernel own_rings() {
  KernelBuilder k("own_rings", sm_100a, warps<5>, cta_group_2);
  const auto given = declare(k, rows_list);
  auto in = k.cta_ring<2, Rows>("in");
  const U32 n = given["n"_arg], first = k.pair_rank() * n;
  k.role("load", warp<4>.elect(), [&](Thread t) {
    t.loop(n, [&](U32 i) {
      const auto slot = in.acquire(t);
      t.tma_load(slot.get<Rows>(), given["in"_arg].at((first + i) * 32, 0), slot.full);
    });
  });
  k.role("read", warpgroup<0>, [&](Warpgroup& g) {
    g.loop(n, [&](U32 i) {
      const auto slot = in.wait(g);
      const U32 row = g.row() & 31;
      const F32 sum = sum_of(g.load_row(slot.get<Rows>(), row));
      in.release(g, slot);
      g.when(g.row() < 32, [&] { g.red<RedOp::add>(given["sums"_arg].at(widen((first + i) * 32 + row)), sum); });
    });
  });
  return k.build();
}

// D = A B^T ----------------------------------------------------------------------------------------------------------

constexpr int K = 64;
using ATile = SharedTile<bf16, 128, K, K_major, swizzle_128B>;
using BTile = SharedTile<bf16, 64, K, K_major, swizzle_128B>;
using Mma = tcgen05_mma<kind_f16, bf16, bf16, f32, 128, 64>;
constexpr auto gemm_list =
    parameters("A"_arg.is<TensorMap<ATile>>(), "B"_arg.is<TensorMap<BTile>>(), "rows"_arg.is<Pointer<bf16>>(),
               "D"_arg.is<Pointer<f32>>(), "k_blocks"_arg.is<u32>());

/// A and B come by two roles, of which that of A copies, or stores what it reads; the sums are read by eight warps that
/// are one role.
Kernel filled_by_two(bool by_threads) {
  KernelBuilder k("filled_by_two", sm_100a, warps<16>);
  const auto given = declare(k, gemm_list);
  auto in = k.ring<3, ATile, BTile>("in");
  auto acc = k.accumulator_ring<1, Mma>("acc");
  const U32 k_blocks = given["k_blocks"_arg];
  if (by_threads)
    k.role("store_a", warpgroup<2>, [&](Warpgroup& g) {
      g.loop(k_blocks, [&](U32 i) {
        const U64 row = given["rows"_arg].at(multiply_wide(g.row(), k_blocks * K) + widen(i * K));
        const auto values = g.load_global<bf16, K>(row, k.constant(K));
        const auto slot = in.acquire<ATile>(g);
        g.store(slot.get<ATile>(), values);
        in.publish(g, slot);
      });
    });
  else
    k.role("load_a", warp<8>.elect(), [&](Thread t) {
      t.loop(k_blocks, [&](U32 i) {
        const auto slot = in.acquire<ATile>(t);
        t.tma_load(slot.get<ATile>(), given["A"_arg].at(0, i * K), slot.full);
      });
    });
  k.role("load_b", warp<12>.elect(), [&](Thread t) {
    t.loop(k_blocks, [&](U32 i) {
      const auto slot = in.acquire<BTile>(t);
      t.tma_load(slot.get<BTile>(), given["B"_arg].at(0, i * K), slot.full);
    });
  });
  k.role("multiply", warp<13>.elect(), [&](Thread t) {
    const auto d = acc.acquire(t);
    t.loop(k_blocks, [&](U32 i) {
      const auto slot = in.wait(t);
      for (int step = 0; step < K; step += Mma::K)
        t.mma<Mma>(d.sums, slot.get<ATile>().k_slice(step), slot.get<BTile>().k_slice(step),
                   accumulate(i != 0 || step != 0));
      t.commit(slot.empty);
    });
    t.commit(d.full);
  });
  k.role("read", warpgroups<0, 2>, [&](Warpgroups<2>& g) {
    const auto d = acc.wait(g);
    const auto sums = g.wait(g.load(g.share(d.sums)));
    acc.release(g, d);
    const U64 row = given["D"_arg].at(widen(g.row() * Mma::N + g.share<Mma::N>()));
    g.store_global(row, sums, k.constant(Mma::N / 2));
  });
  return k.build();
}

void is_product(const Kernel& kernel, std::uint64_t blocks) {
  const std::uint64_t k = blocks * K;
  for (int seed = 1; seed <= 4; ++seed) {
    launch::Contract c;
    c.buffers = {buffer("A", ScalarType::bf16, {128, k}, small), buffer("B", ScalarType::bf16, {64, k}, small),
                 buffer("D", ScalarType::f32, {128, 64})};
    launch_kernel(c, kernel, gemm_list, {1, 1, 1}, "A"_arg = GlobalTensor{"A", 128, k},
                  "B"_arg = GlobalTensor{"B", 64, k}, "rows"_arg = "A", "D"_arg = "D", "k_blocks"_arg = blocks);
    test::simulate(kernel, c, seed);
    int wrong = 0;
    for (std::size_t m = 0; m < 128; ++m)
      for (std::size_t n = 0; n < 64; ++n) {
        double want = 0;
        for (std::size_t i = 0; i < k; ++i) want += small(m * k + i) * small(n * k + i);
        wrong += number(*c.find("D"), m * 64 + n) != want;
      }
    CHECK(wrong == 0);
  }
}

/// Four roles of one warp add the sums of the blocks of K, each those in the lanes of its quarter.
Kernel read_by_warps() {
  KernelBuilder k("read_by_warps", sm_100a, warps<6>);
  const auto given = declare(k, gemm_list);
  auto in = k.ring<2, ATile, BTile>("in");
  auto acc = k.accumulator_ring<1, Mma>("acc");
  const U32 k_blocks = given["k_blocks"_arg];
  k.role("load", warp<4>.elect(), [&](Thread t) {
    t.loop(k_blocks, [&](U32 i) {
      const auto slot = in.acquire(t);
      t.tma_load(slot.get<ATile>(), given["A"_arg].at(0, i * K), slot.full);
      t.tma_load(slot.get<BTile>(), given["B"_arg].at(0, i * K), slot.full);
    });
  });
  k.role("multiply", warp<5>.elect(), [&](Thread t) {
    t.loop(k_blocks, [&](U32) {
      const auto d = acc.acquire(t);
      const auto slot = in.wait(t);
      t.mma_tiles<Mma>(d.sums, slot.get<ATile>(), slot.get<BTile>(), accumulate(false));
      t.commit(slot.empty);
      t.commit(d.full);
    });
  });
  const auto read = [&](auto which, const char* name, int quarter) {
    k.role(name, which, [&, quarter](Warp w) {
      auto sums = w.vars<Mma::N>(0.0f);
      w.loop(k_blocks, [&](U32) {
        const auto d = acc.wait(w);
        const auto part = w.wait(w.tcgen05_ld<isa::DataShape::s32x32b, Mma::N>(w.quarter(d.sums.address())));
        acc.release(w, d);
        for (int c = 0; c < Mma::N; ++c) sums[c] += bit_cast<F32>(part[c]);
      });
      const U32 row = w.lane() + 32 * quarter;
      for (int c = 0; c < Mma::N; ++c) w.st_global(given["D"_arg].at(widen(row * Mma::N + c)), sums[c]);
    });
  };
  read(warp<0>, "first", 0), read(warp<1>, "second", 1), read(warp<2>, "third", 2), read(warp<3>, "fourth", 3);
  return k.build();
}

// A persistent GEMM whose tiles two warpgroups read in turn -----------------------------------------------------------

constexpr auto scaled_list =
    parameters("A"_arg.is<TensorMap<ATile>>(), "B"_arg.is<TensorMap<BTile>>(), "scales"_arg.is<Pointer<f32>>(),
               "D"_arg.is<Pointer<f32>>(), "tiles"_arg.is<u32>(), "k_blocks"_arg.is<u32>());

/// D[m, n] = scales[m] (A B^T)[m, n]: while one warpgroup scales and stores a tile of 128 rows, the next is multiplied
/// for the other.
Kernel in_turns() {
  KernelBuilder k("in_turns", sm_100a, warps<10>);
  const auto given = declare(k, scaled_list);
  const U32 k_blocks = given["k_blocks"_arg];
  auto in = k.ring<3, ATile, BTile>("in");
  auto acc = k.accumulator_ring<2, Mma>("acc");
  const auto tiles = k.tiles(static_schedule, given["tiles"_arg], k.constant(1));
  k.role("load", warp<8>.elect(), [&](Thread t) {
    t.loop(tiles, [&](TilePlace tile) {
      t.loop(k_blocks, [&](U32 i) {
        const auto slot = in.acquire(t);
        t.tma_load(slot.get<ATile>(), given["A"_arg].at(tile.row * 128, i * K), slot.full);
        t.tma_load(slot.get<BTile>(), given["B"_arg].at(0, i * K), slot.full);
      });
    });
  });
  k.role("multiply", warp<9>.elect(), [&](Thread t) {
    t.loop(tiles, [&](TilePlace) {
      const auto d = acc.acquire(t);
      t.loop(k_blocks, [&](U32 i) {
        const auto slot = in.wait(t);
        for (int step = 0; step < K; step += Mma::K)
          t.mma<Mma>(d.sums, slot.get<ATile>().k_slice(step), slot.get<BTile>().k_slice(step),
                     accumulate(i != 0 || step != 0));
        t.commit(slot.empty);
      });
      t.commit(d.full);
    });
  });
  const auto store = [&](Warpgroup& g, int turn) {
    auto mine = acc.turn(turn, 2);
    g.loop(tiles.turn(turn, 2), [&](TilePlace tile) {
      const U32 row = tile.row * 128 + g.row();
      const F32 scale = g.ld_global_f32(given["scales"_arg].at(widen(row)));
      const auto d = mine.wait(g);
      const auto sums = g.wait(g.load(d.sums));
      mine.release(g, d);
      g.store_global(given["D"_arg].at(widen(row * Mma::N)),
                     make_registers<Mma::N>([&](int i) { return sums[i] * scale; }), k.constant(Mma::N));
    });
  };
  k.role("store0", warpgroup<0>, [&](Warpgroup& g) { store(g, 0); });
  k.role("store1", warpgroup<1>, [&](Warpgroup& g) { store(g, 1); });
  return k.build();
}

/// A CTA adds up the columns of its `lengths[ctaid]` tiles, each role until `load_ends`, or `read_ends`, holds of the
/// length: then it ends early.
using Columns = SharedTile<f32, 128, 32, K_major, swizzle_128B>;
constexpr auto lengths_list =
    parameters("in"_arg.is<TensorMap<Columns>>(), "sums"_arg.is<Pointer<f32>>(), "lengths"_arg.is<Pointer<u32>>());

Kernel ending_early(const std::function<Pred(const U32&)>& load_ends, const std::function<Pred(const U32&)>& read_ends,
                    int last = 9) {
  KernelBuilder k("lengths", sm_100a, warps<5>);
  const auto given = declare(k, lengths_list);
  auto in = k.ring<2, Columns>("in");
  const auto length = [&](auto& scope) { return scope.ld_global(given["lengths"_arg].at(k.ctaid.x)); };
  k.role("load", warp<4>.elect(), [&](Thread t) {
    const U32 n = length(t);
    t.exit_when(load_ends(n));
    t.loop(n, [&](U32 i) {
      t.exit_when(i == std::uint32_t(last));
      const auto slot = in.acquire(t);
      t.tma_load(slot.get<Columns>(), given["in"_arg].at(0, i * 32), slot.full);
    });
  });
  k.role("read", warpgroup<0>, [&](Warpgroup& g) {
    const U32 n = length(g);
    g.exit_when(read_ends(n));
    auto sum = g.var(0.0f);
    const U64 to = given["sums"_arg].at(k.ctaid.x * 128 + g.row());
    g.loop(n, [&](U32 i) {
      g.when(i == std::uint32_t(last), [&] { g.st_global(to, sum); });
      g.exit_when(i == std::uint32_t(last));
      const auto slot = in.wait(g);
      sum += sum_of(g.load(slot.get<Columns>()));
      in.release(g, slot);
    });
    g.st_global(to, sum + 1);
  });
  return k.build();
}

constexpr std::uint32_t lengths[] = {3, 0, 1, 7};
launch::Contract problem_of_lengths(const Kernel& kernel) {
  launch::Contract c;
  c.buffers = {buffer("in", ScalarType::f32, {128, 7 * 32}, small), buffer("sums", ScalarType::f32, {4 * 128}),
               buffer("lengths", ScalarType::u32, {4})};
  std::memcpy(c.buffers[2].bytes.data(), lengths, sizeof lengths);
  launch_kernel(c, kernel, lengths_list, {4, 1, 1}, "in"_arg = GlobalTensor{"in", 128, 7 * 32}, "sums"_arg = "sums",
                "lengths"_arg = "lengths");
  return c;
}

}  // namespace

TEST_CASE("warps of one warpgroup read every slot at their own pace, or take turns") {
  for (const bool turns : {false, true}) {
    const Kernel kernel = warps_apart(turns);
    are_rows_added(kernel, 20, 5);
    CHECK(unproven(kernel) == "");
  }
}

TEST_CASE("roles take turns to fill slots and to read them") {
  const Kernel kernel = roles_in_turns();
  are_rows_added(kernel, 10, 5);
  CHECK(unproven(kernel) == "");
}

TEST_CASE("each CTA of a pair has a ring of its own") {
  const Kernel kernel = own_rings();
  are_rows_added(kernel, 10, 5, 2);
  CHECK(unproven(kernel) == "");
}

TEST_CASE("two roles fill the parts of a slot, by copies or by stores, and eight warps are one role that reads") {
  for (const bool by_threads : {false, true}) {
    const Kernel kernel = filled_by_two(by_threads);
    is_product(kernel, 5);
    CHECK(unproven(kernel) == "");
  }
}

TEST_CASE("four roles of one warp each read their lanes of the accumulators of a ring") {
  const Kernel kernel = read_by_warps();
  is_product(kernel, 4);
  CHECK(unproven(kernel) == "");
}

TEST_CASE("two warpgroups store every second tile out of one ring of accumulators") {
  const Kernel kernel = in_turns();
  constexpr std::uint64_t tiles = 5, blocks = 2, k = blocks * K, rows = tiles * 128;
  for (int seed = 1; seed <= 4; ++seed) {
    launch::Contract c;
    c.buffers = {buffer("A", ScalarType::bf16, {rows, k}, small), buffer("B", ScalarType::bf16, {64, k}, small),
                 buffer("scales", ScalarType::f32, {rows}, [](std::size_t i) { return double(i + 1); }),
                 buffer("D", ScalarType::f32, {rows, 64})};
    launch_kernel(c, kernel, scaled_list, {1, 1, 1}, "A"_arg = GlobalTensor{"A", rows, k},
                  "B"_arg = GlobalTensor{"B", 64, k}, "scales"_arg = "scales", "D"_arg = "D", "tiles"_arg = tiles,
                  "k_blocks"_arg = blocks);
    if (seed == 1) CHECK(unproven(kernel, &c) == "");
    test::simulate(kernel, c, seed);
    int wrong = 0;
    for (std::size_t m = 0; m < rows; ++m)
      for (std::size_t n = 0; n < 64; ++n) {
        double want = 0;
        for (std::size_t i = 0; i < k; ++i) want += double(m + 1) * small(m * k + i) * small(n * k + i);
        wrong += number(*c.find("D"), m * 64 + n) != want;
      }
    CHECK(wrong == 0);
  }
}

TEST_CASE("a slot that threads read without the fence of release is a race with the copy that fills it next") {
  CHECK(unproven(roles_in_turns(false)).find("proxy-fence") != std::string::npos);
}

TEST_CASE("roles that end early for the same reason are proven, and compute what is left") {
  const auto empty = [](const U32& n) { return n == 0; };
  for (const int last : {9, 2}) {
    const Kernel kernel = ending_early(empty, empty, last);
    CHECK(unproven(kernel) == "");
    for (int seed = 1; seed <= 8; ++seed) {
      launch::Contract c = problem_of_lengths(kernel);
      test::simulate(kernel, c, seed);
      int wrong = 0;
      for (std::size_t cta = 0; cta < 4; ++cta)
        for (std::size_t row = 0; row < 128; ++row) {
          const int n = int(lengths[cta]);
          double want = n == 0 || n > last ? 0 : 1;
          for (int i = 0; i < 32 * std::min(n, last); ++i) want += small(row * 7 * 32 + std::size_t(i));
          wrong += number(*c.find("sums"), cta * 128 + row) != want;
        }
      CHECK(wrong == 0);
    }
  }
}

TEST_CASE("a reader whose loader ended earlier waits for ever: sim reports it, and check names the deadlock") {
  const Kernel kernel = ending_early([](const U32& n) { return n < 2; }, [](const U32& n) { return n == 0; });
  CHECK(unproven(kernel).find("deadlock") != std::string::npos);
  launch::Contract c = problem_of_lengths(kernel);
  diag::Sink sink;
  const auto verified = verifier::verify(kernel.module, sink);
  REQUIRE(verified);
  const ir::Module module =
      parse::parse(std::make_shared<const diag::Source>("kernel.ptx", emit::emit(*verified)), sink);
  CHECK(sim::simulate(module, c, {}, sink).outcome == sim::Outcome::deadlock);
  INFO(diag::render_text(sink));
  CHECK(sink.has_errors());
}

TEST_CASE("a thread that was elected for a while cannot end its role") {
  KernelBuilder k("elected", sm_100a, warps<4>);
  const U32 n = k.param<u32>("n");
  k.role("read", warpgroup<0>, [&](Warpgroup& g) { g.elect([&](Thread t) { t.exit_when(n == 0); }); });
  try {
    (void)k.build();
    FAIL("the kernel was accepted");
  } catch (const diag::Rejected& e) {
    CHECK(diag::render_text(e.findings()).find("[dsl-scope]") != std::string::npos);
  }
}

}  // namespace dsl_rings
