// Fragments that warps load from tiles and store to them: every layout, order and element size, against the places that
// a fragment's type names. Simulated.
#include <doctest/doctest.h>

#include <cstring>
#include <string>
#include <vector>

#include "dsl/dsl.hpp"
#include "tests/differential/dsl_run.hpp"

namespace dsl_matrices {

using namespace kiln;
using namespace kiln::dsl;
using test::store_tile;

namespace {

launch::Buffer buffer(const char* name, ScalarType type, std::vector<std::uint64_t> shape) {
  launch::Buffer b;
  b.name = name;
  b.dtype = type;
  b.shape = std::move(shape);
  b.bytes.resize(b.size());
  return b;
}

/// Four warps read all fragments F of a tile. Each thread tells what its registers hold and where its elements lie, and
/// writes the registers to another tile, which TMA sends, where stmatrix moves such fragments.
template <class Tile, class F>
struct Moves {
  using T = typename Tile::element;
  static constexpr bool loads = MatrixMove::of<F, Tile>(false).ok(), stores = MatrixMove::of<F, Tile>(true).ok();
  static constexpr int blocks = Tile::rows / 4 / F::rows * (Tile::cols / F::cols);  // of a warp
  static constexpr int threads = 128, words = blocks * threads * F::registers, places = threads * F::elements;
  static constexpr auto list = parameters("in"_arg.is<TensorMap<Tile>>(), "out"_arg.is<TensorMap<Tile>>(),
                                          "words"_arg.is<Pointer<u32>>(), "places"_arg.is<Pointer<u32>>());

  static Registers<Element<ScalarType::b32>, 1> one(const U32& value) {
    return make_registers<1>([&](int) { return value; });
  }

  static Kernel build() {
    KernelBuilder k("moves", sm_100a, warps<4>);
    const auto given = declare(k, list);
    const auto in = k.shared<Tile>(), out = k.shared<Tile>();
    const auto loaded = k.mbarrier("loaded");
    k.role("moves", warpgroup<0>, [&](Warpgroup& g) {
      g.elect([&](Thread t) {
        t.expect_tx(loaded, Tile::transaction_bytes);
        t.tma_load(in, given["in"_arg].at(0, 0), loaded);
      });
      g.wait(loaded, Phase{0});
      const U32 first = g.warp_index() * (Tile::rows / 4);
      const U64 word = given["words"_arg].at(widen(g.row())), place = given["places"_arg].at(widen(g.row()));
      int block = 0;
      for (int row = 0; row < Tile::rows / 4; row += F::rows)
        for (int column = 0; column < Tile::cols; column += F::cols, ++block) {
          const bool by_value = block % 2 != 0;
          const OperandOf<U32> at = by_value ? OperandOf<U32>(k.constant(column)) : OperandOf<U32>(column);
          const auto values = g.template ldmatrix<F>(in, first + row, at);
          for (int i = 0; i < F::registers; ++i)
            g.store_global(word, one({values.recorder(), values.operands()[std::size_t(i)]}), k.constant(1) == 1u,
                           (block * F::registers + i) * threads);
          if constexpr (stores) g.template stmatrix<F>(out, first + row, at, values);
        }
      for (int i = 0; i < F::elements; ++i)
        g.store_global(place, one(F::row(g.lane(), i) * 1000 + F::column(g.lane(), i)), k.constant(1) == 1u,
                       i * threads);
      if constexpr (stores) {
        store_tile(g, given["out"_arg], out);
      }
    });
    return k.build();
  }

  /// How many registers, places and bytes of the other tile are wrong.
  static int wrong() {
    const Kernel kernel = build();
    const bool k_inner = Tile::order == Major::K;
    const std::size_t inner = std::size_t(k_inner ? Tile::cols : Tile::rows);
    const std::vector<std::uint64_t> shape{std::uint64_t(Tile::rows * Tile::cols) / inner, inner};
    launch::Contract c;
    c.buffers = {buffer("in", T::scalar, shape), buffer("out", T::scalar, shape),
                 buffer("words", ScalarType::u32, {std::uint64_t(words)}),
                 buffer("places", ScalarType::u32, {std::uint64_t(places)})};
    c.buffers[0].init.kind = launch::Init::Kind::hex;
    auto& bytes = c.buffers[0].bytes;
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = std::uint8_t(i * 37 + i / 256 * 11);
    const std::vector<std::uint8_t> given = bytes;
    const GlobalTensor in{"in", Tile::rows, Tile::cols}, out{"out", Tile::rows, Tile::cols};
    launch_kernel(c, kernel, list, {1, 1, 1}, "in"_arg = in, "out"_arg = out, "words"_arg = "words",
                  "places"_arg = "places");
    test::simulate(kernel, c);

    const auto word_of = [&](const char* name, int index) {
      std::uint32_t word;
      std::memcpy(&word, &c.find(name)->bytes[std::size_t(4 * index)], 4);
      return word;
    };
    // Element (row, column) of the tensor: its bits.
    const auto element = [&](TilePosition at) {
      const std::size_t index = k_inner ? std::size_t(at.row) * inner + std::size_t(at.column)
                                        : std::size_t(at.column) * inner + std::size_t(at.row);
      std::uint64_t bits = 0;
      const std::size_t first = index * T::packed_bits;
      for (std::size_t i = 0; i < T::packed_bits; ++i)
        bits |= std::uint64_t(given[(first + i) / 8] >> (first + i) % 8 & 1) << i;
      return std::uint32_t(bits);
    };
    int wrong = 0, block = 0;
    for (int row = 0; row < Tile::rows / 4; row += F::rows)
      for (int column = 0; column < Tile::cols; column += F::cols, ++block)
        for (int thread = 0; thread < threads; ++thread)
          for (int i = 0; i < F::elements; ++i) {
            const TilePosition at = F::at(thread % 32, i);
            const std::uint32_t held =
                word_of("words", (block * F::registers + i / F::per_register) * threads + thread);
            const std::uint32_t got = held >> i % F::per_register * T::bits & std::uint32_t((1ull << T::bits) - 1);
            wrong += got != element({thread / 32 * (Tile::rows / 4) + row + at.row, column + at.column});
            wrong += word_of("places", i * threads + thread) != std::uint32_t(at.row * 1000 + at.column);
          }
    if (stores) wrong += c.find("out")->bytes != given;
    return wrong;
  }
};

/// Every byte of a tile says where it lies: written as the cells that the sums of an MMA have.
template <class Tile, class F>
struct Cells {
  static constexpr auto list = parameters("out"_arg.is<TensorMap<Tile>>());

  static Kernel build() {
    KernelBuilder k("cells", sm_100a, warps<4>);
    const auto given = declare(k, list);
    const auto out = k.shared<Tile>();
    k.role("cells", warpgroup<0>, [&](Warpgroup& g) {
      const U32 first = g.warp_index() * (Tile::rows / 4);
      for (int row = 0; row < Tile::rows / 4; row += F::rows)
        for (int column = 0; column < Tile::cols; column += F::cols) {
          std::vector<ir::Operand> registers;
          for (int i = 0; i < F::elements; i += 4) {
            const auto byte = [&](int b) {
              const U32 r = first + row + F::row(g.lane(), i + b), c = F::column(g.lane(), i + b) + column;
              return ((r * 16 + c) & 255u) << (8 * b);
            };
            const U32 word = byte(0) | byte(1) | byte(2) | byte(3);
            registers.push_back(word.operand());
          }
          g.template stmatrix<F>(out, first + row, column, Registers<e4m3, F::elements>{first.recorder(), registers});
        }
      store_tile(g, given["out"_arg], out);
    });
    return k.build();
  }

  static int wrong() {
    const bool k_inner = Tile::order == Major::K;
    const int inner = k_inner ? Tile::cols : Tile::rows;
    launch::Contract c;
    c.buffers = {
        buffer("out", ScalarType::e4m3, {std::uint64_t(Tile::rows * Tile::cols / inner), std::uint64_t(inner)})};
    const Kernel kernel = build();
    launch_kernel(c, kernel, list, {1, 1, 1}, "out"_arg = GlobalTensor{"out", Tile::rows, Tile::cols});
    test::simulate(kernel, c);
    int wrong = 0;
    for (int row = 0; row < Tile::rows; ++row)
      for (int column = 0; column < Tile::cols; ++column)
        wrong += c.find("out")->bytes[std::size_t(k_inner ? row * inner + column : column * inner + row)] !=
                 std::uint8_t(row * 16 + column);
    return wrong;
  }
};

}  // namespace

TEST_CASE("8-bit cells of an MMA's sums go to a tile that is contiguous the other way") {
  CHECK(Cells<SharedTile<e4m3, 128, 16, MN_major, swizzle_128B>,
              Fragment<e4m3, 32, 16, K_major, Holds::cells>>::wrong() == 0);
  CHECK(
      Cells<SharedTile<e4m3, 64, 16, K_major, swizzle_none>, Fragment<e4m3, 16, 16, MN_major, Holds::cells>>::wrong() ==
      0);
}

TEST_CASE("ldmatrix and stmatrix move the same fragment of a tile, whatever its layout and order") {
  using A = Fragment<bf16, 16, 16>;
  CHECK(A::at(5, 3) == TilePosition{9, 3});  // as A of mma.sync.m16n8k16
  CHECK(Moves<SharedTile<bf16, 64, 64, K_major, swizzle_128B>, A>::wrong() == 0);
  CHECK(Moves<SharedTile<bf16, 64, 128, K_major, swizzle_128B>, A>::wrong() == 0);
  CHECK(Moves<SharedTile<bf16, 64, 64, K_major, swizzle_64B>, A>::wrong() == 0);
  CHECK(Moves<SharedTile<bf16, 64, 32, K_major, swizzle_32B>, A>::wrong() == 0);
  CHECK(Moves<SharedTile<bf16, 64, 32, K_major, swizzle_none>, A>::wrong() == 0);
  CHECK(Moves<SharedTile<bf16, 64, 48, K_major, packed>, A>::wrong() == 0);
  CHECK(Moves<SharedTile<bf16, 64, 32, MN_major, swizzle_128B>, A>::wrong() == 0);
  CHECK(Moves<SharedTile<bf16, 128, 32, MN_major, swizzle_64B>, A>::wrong() == 0);
  CHECK(Moves<SharedTile<bf16, 64, 32, MN_major, swizzle_none>, A>::wrong() == 0);
}

TEST_CASE("fragments of one, two and four matrices, along rows and along columns") {
  using Rows = SharedTile<bf16, 128, 64, K_major, swizzle_128B>;
  using Columns = SharedTile<bf16, 128, 64, MN_major, swizzle_128B>;
  CHECK(Moves<Rows, Fragment<bf16, 8, 8>>::wrong() == 0);
  CHECK(Moves<Rows, Fragment<bf16, 8, 16>>::wrong() == 0);
  CHECK(Moves<Rows, Fragment<bf16, 16, 8>>::wrong() == 0);
  CHECK(Moves<Rows, Fragment<bf16, 32, 8>>::wrong() == 0);
  CHECK(Moves<Rows, Fragment<bf16, 8, 32>>::wrong() == 0);
  CHECK(Moves<Rows, Fragment<bf16, 16, 16, MN_major>>::wrong() == 0);
  CHECK(Moves<Rows, Fragment<bf16, 8, 32, MN_major>>::wrong() == 0);
  CHECK(Moves<Columns, Fragment<bf16, 8, 32>>::wrong() == 0);
  CHECK(Moves<Columns, Fragment<bf16, 32, 8, MN_major>>::wrong() == 0);
  CHECK(Moves<Columns, Fragment<bf16, 8, 16, MN_major>>::wrong() == 0);
}

TEST_CASE("fragments of 8 and 32 bits, and of 4 and 6 bits as bytes") {
  using Bytes = SharedTile<e4m3, 128, 64, K_major, swizzle_64B>;
  using Turned = SharedTile<e4m3, 128, 64, MN_major, swizzle_128B>;
  CHECK(Moves<SharedTile<f32, 64, 32, K_major, swizzle_128B>, Fragment<f32, 16, 8>>::wrong() == 0);
  CHECK(Moves<Bytes, Fragment<e4m3, 16, 32>>::wrong() == 0);
  CHECK(Moves<Bytes, Fragment<e4m3, 16, 32, MN_major>>::wrong() == 0);
  CHECK(Moves<Turned, Fragment<e4m3, 32, 16>>::wrong() == 0);
  CHECK(Moves<Turned, Fragment<e4m3, 16, 16>>::wrong() == 0);
  CHECK(Moves<SharedTile<unpacked<e2m1>, 64, 128, K_major, swizzle_128B>, Fragment<unpacked<e2m1>, 16, 32>>::wrong() ==
        0);
  CHECK(Moves<SharedTile<unpacked<e2m3>, 64, 128, K_major, swizzle_128B>, Fragment<unpacked<e2m3>, 16, 32>>::wrong() ==
        0);
  CHECK(Moves<SharedTile<unpacked<e2m1>, 128, 64, MN_major, swizzle_128B>, Fragment<unpacked<e2m1>, 32, 16>>::wrong() ==
        0);
}

}  // namespace dsl_matrices
