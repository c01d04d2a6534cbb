// Products of any sizes in one launch: each group has an m, n and k of its own, and matrices of its own. The host,
// which knows them, gives the kernel a table by value: tensor maps, where D lies, sizes, and how many tiles come
// before. So the device makes no map, and what lies outside of a group's rows, columns and K is zero by its own maps.
//
// CTAs walk the tiles of all groups in turn: of a group column by column, so that rows which meet the same part of B
// run together. A group without rows or columns has no tile, and its maps are never read. Tiles have one of a few
// widths, for all groups: that with which the CTA that has the most to copy has the least.
#include <algorithm>
#include <array>
#include <optional>

#include "kernels/by_hand.hpp"
#include "kernels/epilogue.hpp"
#include "kernels/problem.hpp"
#include "kernels/scaled_slots.hpp"

namespace kiln::kernels {

using namespace kiln::dsl;
using namespace scaled;

namespace {

// Elements of bf16, which have no scales.
template <int N_, int stages>
struct Bf16Slots {
  using Mma = tcgen05_mma<kind_f16, bf16, bf16, f32, M, N_, cta_group_1>;
  using Element = bf16;
  using Result = bf16;
  static constexpr int N = N_, K = 64;
  static constexpr std::uint64_t multiple = 8;  // of K: rows of whole 16 bytes
  static constexpr bool has_scales = false;
  using ATile = SharedTile<bf16, M, K, K_major, swizzle_128B>;
  using BTile = SharedTile<bf16, N, K, K_major, swizzle_128B>;

  Ring<stages, ATile, BTile> in;

  explicit Bf16Slots(KernelBuilder& gemm) : in(gemm.ring<stages, ATile, BTile>("in")) {}

  template <class Sums>
  void multiply(Thread& t, const Sums& sums, const U32& k_blocks, const U32&) {
    t.loop(k_blocks, [&](U32 i) {
      auto slot = in.wait(t);
      t.mma_tiles<Mma>(sums, slot.template get<a>(), slot.template get<b>(), accumulate(i != 0));
      t.commit(slot.empty);
    });
  }
};

template <int N, int stages>
struct Nvf4Slots : Slots<Nvf4, N, stages> {
  using Element = Nvf4::Element;
  using Result = Nvf4::Result;
  static constexpr std::uint64_t multiple = k_multiple<Nvf4>;
  static constexpr bool has_scales = true;
  static constexpr ScaleChunks chunks{N};
  static_assert(chunks.can_be_loaded());
  using Slots<Nvf4, N, stages>::Slots;

  template <class Sums>
  void multiply(Thread& t, const Sums& sums, const U32& k_blocks, const U32& column) {
    if constexpr (chunks.are_shared())
      Slots<Nvf4, N, stages>::multiply(t, sums, k_blocks, chunks.first_row(column));
    else
      Slots<Nvf4, N, stages>::multiply(t, sums, k_blocks);
  }
};

// Slots that a kernel can be built with: the widths of its tiles, the usual one first. So many slots that shared and
// tensor memory are full.
template <class Usual, class... Others>
struct Widths {
  template <class In>
  static Strategy of() {
    return {{"tile", Size(M, In::N, In::K)}};
  }
  static const std::array<Strategy, 1 + sizeof...(Others)>& all() {
    static const std::array strategies{of<Usual>(), of<Others>()...};
    return strategies;
  }
  // Calls body.operator()<In>() for the slots that have the tile of a strategy.
  template <class Body>
  static auto with(const Strategy& chosen, const Body& body) {
    std::optional<decltype(body.template operator()<Usual>())> out;
    const auto look = [&]<class In>() {
      if (of<In>() == chosen) out.emplace(body.template operator()<In>());
    };
    look.template operator()<Usual>(), (look.template operator()<Others>(), ...);
    if (out) return std::move(*out);
    std::string tiles;
    for (const Strategy& s : all()) tiles += (tiles.empty() ? "" : ", ") + text(s.front().second);
    throw diag::InputError("--tile " + text(chosen.front().second) + ": must be one of " + tiles);
  }
};
using Bf16Widths = Widths<Bf16Slots<256, 4>, Bf16Slots<192, 5>, Bf16Slots<128, 7>, Bf16Slots<64, 9>>;
using Nvf4Widths = Widths<Nvf4Slots<128, 6>, Nvf4Slots<160, 4>, Nvf4Slots<64, 8>>;

// Where the fields of a group lie in its row of the table, in bytes.
template <class In>
struct Fields {
  static constexpr int a_map = 0, b_map = isa::tensor_map_bytes, sfa_map = 2 * b_map, sfb_map = 3 * b_map;
  static constexpr int d = In::has_scales ? 4 * b_map : 2 * b_map, m = d + 8, n = d + 12, k_blocks = d + 16,
                       row_tiles = d + 20, tiles_before = d + 24;
  static constexpr int bytes = d + isa::tensor_map_alignment;
  static constexpr std::uint64_t most_groups = ParameterTable::most_bytes / bytes;
};

// A tile of a group, and where it lies there, in tiles.
struct Place {
  ParameterRow group;
  U32 row, column;
};

template <class In>
struct Problems {
  ParameterTable table;
  int groups;

  Place place(Scope& s, const U32& number) const {
    using Field = Fields<In>;
    Var<U32> index = s.var(0);
    for (int g = 1; g < groups; ++g) index = select(number >= table.row(g).u32(Field::tiles_before), g, index);
    const ParameterRow group = table.row(index);
    const U32 in_group = number - group.u32(Field::tiles_before), row_tiles = group.u32(Field::row_tiles);
    const U32 column = in_group / row_tiles;
    return {group, in_group - column * row_tiles, column};
  }
};

// The sizes of the groups. A number that is given alone is that of every group.
template <class In>
std::vector<GemmSizes> sizes_of_groups(const Sizes& sizes) {
  constexpr std::uint64_t most = Fields<In>::most_groups;
  std::size_t groups = 1;
  for (const char* name : {"m", "n", "k"}) groups = std::max(groups, sizes.at(name).extents().size());
  if (groups > most)
    throw diag::InputError(std::to_string(groups) + " groups: the parameters of a launch have room for " +
                           std::to_string(most));
  const auto number = [&](const char* name, std::size_t g) {
    const auto given = sizes.at(name).extents();
    if (given.size() != 1 && given.size() != groups)
      throw diag::InputError("--" + std::string(name) + " " + text(sizes.at(name)) + ": must be one number, or " +
                             std::to_string(groups) + ", one for each group");
    return given[given.size() == 1 ? 0 : g];
  };
  std::vector<GemmSizes> out;
  for (std::size_t g = 0; g < groups; ++g) {
    const GemmSizes s{number("m", g), number("n", g), number("k", g)};
    if (s.m != 0) check_extent("m", s.m);
    if (s.n != 0) check_extent("n", s.n, 8);
    check_extent("k", s.k, In::multiple);
    out.push_back(s);
  }
  return out;
}

template <class In>
std::uint64_t tiles_of(const GemmSizes& s) {
  return pieces(s.m, M) * pieces(s.n, In::N);
}

// What --tile says, or else the tile with which a CTA copies the fewest rows of A and B for a block of K of each of its
// tiles; where there is no tile, the usual one.
template <class All>
Strategy strategy_of(const Sizes& sizes) {
  const Strategy given = given_of(All::all().front(), sizes);
  if (!given.empty()) return given;
  const auto rows_copied = [&]<class In>() -> std::uint64_t {
    std::uint64_t tiles = 0;
    for (const GemmSizes& s : sizes_of_groups<In>(sizes)) tiles += tiles_of<In>(s);
    return tiles == 0 ? 0 : pieces(tiles, persistent_grid(sizes, tiles, 1).x) * (M + In::N);
  };
  return *std::ranges::min_element(All::all(), {}, [&](const Strategy& s) { return All::with(s, rows_copied); });
}

template <class In>
Kernel problems(const char* name, Target target, const Sizes& sizes) {
  using Field = Fields<In>;
  const int groups = int(sizes_of_groups<In>(sizes).size());
  KernelBuilder gemm(name, target, warps<6>);
  gemm.minnctapersm(1);  // its ring takes the shared memory of an SM
  const Problems<In> all{gemm.table("problems", groups, Field::bytes), groups};
  const U32 tiles = gemm.param<u32>("tiles");
  In slots(gemm);
  auto acc = gemm.accumulator_ring<2, typename In::Mma>("acc");
  const U32 first = gemm.ctaid.x, step = gemm.nctaid.x, trips = (tiles - first + (step - 1)) / step;
  const auto each_tile = [&](auto& scope, const auto& body) {
    scope.loop(trips, [&](U32 i) { body(all.place(scope, first + i * step)); });
  };

  gemm.role("load", warp<4>.elect(), [&](Thread t) {
    each_tile(t, [&](const Place& at) {
      const TensorMap<typename In::ATile> A(at.group.map(Field::a_map));
      const TensorMap<typename In::BTile> B(at.group.map(Field::b_map));
      std::optional<U32> first_chunk;  // of the scales of B
      if constexpr (In::has_scales) first_chunk.emplace(In::chunks.first(at.column));
      t.loop(at.group.u32(Field::k_blocks), [&](U32 i) {
        const auto slot = slots.in.acquire(t);
        t.tma_load(slot.template get<a>(), A.at(at.row * M, i * In::K), slot.full);
        t.tma_load(slot.template get<b>(), B.at(at.column * In::N, i * In::K), slot.full);
        if constexpr (In::has_scales) {
          In::load_scales(t, slot.template get<sfa>(), 0, ScaleMap(at.group.map(Field::sfa_map)), i, at.row, slot.full);
          const ScaleMap of_b(at.group.map(Field::sfb_map));
          for (int chunk = 0; chunk < In::chunks.of_tile(); ++chunk)
            In::load_scales(t, slot.template get<sfb>(), chunk, of_b, i, *first_chunk + chunk, slot.full);
        }
      });
    });
  });
  gemm.role("mma", warp<5>.elect(), [&](Thread t) {
    each_tile(t, [&](const Place& at) {
      auto d = acc.acquire(t);
      slots.multiply(t, d.sums, at.group.u32(Field::k_blocks), at.column);
      t.commit(d.full);
    });
  });
  gemm.role("store", warpgroup<0>, [&](Warpgroup& g) {
    each_tile(g, [&](const Place& at) {
      const auto d = at.group.pointer<typename In::Result>(Field::d);
      const Result rows(d, at.group.u32(Field::m), at.group.u32(Field::n));
      auto sums = acc.wait(g);
      store_rows(g, sums.sums, rows, at.row * M, at.column * In::N);
      acc.release(g, sums);
    });
  });
  return gemm.build();
}

// A group's matrices and scales, its maps, and its row of the table.
template <class In>
class Group {
 public:
  Group(launch::Contract& c, launch::StructParam& table, std::size_t number, const GemmSizes& s)
      : c_(c), table_(table), number_(std::to_string(number)), at_(std::uint32_t(number) * Field::bytes), s_(s) {}

  std::uint64_t tiles() const { return tiles_of<In>(s_); }
  void add(std::uint64_t tiles_before) const {
    number(Field::tiles_before, tiles_before);
    if (tiles() == 0) return;
    add_matrices();
    if constexpr (In::has_scales) add_scales();
    number(Field::m, s_.m), number(Field::n, s_.n);
    number(Field::k_blocks, pieces(s_.k, In::K));
    number(Field::row_tiles, pieces(s_.m, M));
  }

 private:
  using Field = Fields<In>;

  std::string name(const char* of) const { return of + number_; }
  void add_matrices() const {
    constexpr isa::ScalarType element = In::Element::scalar, result = In::Result::scalar;
    c_.buffers.push_back(matrix(name("A").c_str(), element, s_.m, s_.k, 1));
    c_.buffers.push_back(matrix(name("B").c_str(), element, s_.n, s_.k, 2));
    c_.buffers.push_back(matrix(name("D").c_str(), result, s_.m, s_.n));
    launch::Expectation& e = c_.expectations.emplace_back();
    e.output = name("D"), e.a = name("A"), e.b = name("B");
    map(Field::a_map, "A", tensor_map<typename In::ATile>({name("A"), s_.m, s_.k}));
    map(Field::b_map, "B", tensor_map<typename In::BTile>({name("B"), s_.n, s_.k}));
    field(Field::d, launch::PointerParam{name("D"), 0, result});
  }
  // Nothing is quantised: elements and scales are drawn.
  void add_scales() const {
    launch::Expectation& e = c_.expectations.back();
    e.sfa = name("SFA"), e.sfb = name("SFB");
    e.block = Nvf4::block;
    c_.buffers.push_back(drawn_scales(e.sfa.c_str(), ue4m3::scalar, s_.m, s_.k / Nvf4::block));
    c_.buffers.push_back(drawn_scales(e.sfb.c_str(), ue4m3::scalar, s_.n, s_.k / Nvf4::block));
    map(Field::sfa_map, "SFA", map_of_scales<In>(c_, e.sfa));
    map(Field::sfb_map, "SFB", map_of_scales<In>(c_, e.sfb));
  }
  void map(int at, const char* of, const launch::TensorMap& map) const {
    c_.tensor_maps[name(of)] = map;
    field(at, launch::TensorMapParam{name(of)});
  }
  void number(int at, std::uint64_t value) const { field(at, launch::ScalarParam{u32::scalar, value}); }
  void field(int at, launch::Param::Value value) const {
    table_.fields.push_back({at_ + std::uint32_t(at), launch::Param(std::move(value))});
  }

  launch::Contract& c_;
  launch::StructParam& table_;
  std::string number_;
  std::uint32_t at_;
  GemmSizes s_;
};

template <class In>
launch::Contract problems_problem(const Kernel& kernel, const Sizes& sizes) {
  const std::vector<GemmSizes> groups = sizes_of_groups<In>(sizes);
  launch::Contract c;
  launch::StructParam table;
  table.size = std::uint32_t(groups.size() * Fields<In>::bytes);
  std::uint64_t tiles = 0;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    const Group<In> group(c, table, g, groups[g]);
    group.add(tiles);
    tiles += group.tiles();
  }
  if (tiles == 0) throw diag::InputError("no group has rows and columns: there is nothing to multiply");
  launch_kernel(c, kernel, persistent_grid(sizes, tiles, 1), {{"problems", std::move(table)}, {"tiles", tiles}});
  return c;
}

constexpr std::array<std::uint64_t, 4> standard_m{96, 128, 0, 200}, standard_n{128, 256, 128, 136},
    standard_k{128, 512, 64, 288};

std::array<SizeOption, 5> options(std::string_view k_help) {
  return {SizeOption{"m", standard_m, "rows of A and D of each group, or one number for all", "N,..."},
          SizeOption{"n", standard_n, "rows of B, columns of D; multiples of 8", "N,..."},
          SizeOption{"k", standard_k, k_help, "N,..."}, persistent_options()[3],
          SizeOption{"tile", {}, "rows and columns of a tile of D, elements of K in a slot", "MxNxK"}};
}

// The kernel and the problem, with the tile that the options say.
template <class All>
Kernel kernel_of(const char* name, Target target, const Sizes& sizes) {
  return All::with(strategy_of<All>(sizes), [&]<class In>() { return problems<In>(name, target, sizes); });
}
template <class All>
launch::Contract problem_of(const Kernel& kernel, const Sizes& sizes) {
  return All::with(strategy_of<All>(sizes), [&]<class In>() { return problems_problem<In>(kernel, sizes); });
}

}  // namespace

std::span<const SizeOption> problems_options() {
  static const std::array all = options("columns of A and B; multiples of 8");
  return all;
}
std::span<const Strategy> problems_strategies() { return Bf16Widths::all(); }
Strategy gemm_problems_strategy(const Sizes& s) { return strategy_of<Bf16Widths>(s); }
Kernel gemm_problems(Target t, const Sizes& s) { return kernel_of<Bf16Widths>("gemm_problems", t, s); }
launch::Contract gemm_problems_problem(const Kernel& k, const Sizes& s) { return problem_of<Bf16Widths>(k, s); }

std::span<const SizeOption> nvf4_problems_options() {
  static const std::array all = options("columns of A and B; multiples of 32");
  return all;
}
std::span<const Strategy> nvf4_problems_strategies() { return Nvf4Widths::all(); }
Strategy gemm_nvf4_problems_strategy(const Sizes& s) { return strategy_of<Nvf4Widths>(s); }
Kernel gemm_nvf4_problems(Target t, const Sizes& s) { return kernel_of<Nvf4Widths>("gemm_nvf4_problems", t, s); }
launch::Contract gemm_nvf4_problems_problem(const Kernel& k, const Sizes& s) { return problem_of<Nvf4Widths>(k, s); }

}  // namespace kiln::kernels
