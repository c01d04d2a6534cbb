// Products of nvfp4 of any sizes in one launch: each group has an m, n and k of its own, and matrices of its own. The
// host, which knows them, gives the kernel a table by value: tensor maps, where D lies, sizes, and how many tiles come
// before. So the device makes no map, and what lies outside of a group's rows, columns and K is zero by its own maps.
//
// CTAs walk the tiles of all groups in turn: of a group column by column, so that rows which meet the same part of B
// run together. A group without rows or columns has no tile, and its maps are never read.
#include <array>

#include "kernels/by_hand.hpp"
#include "kernels/epilogue.hpp"
#include "kernels/scaled_slots.hpp"

namespace kiln::kernels {

using namespace kiln::dsl;
using namespace scaled;

namespace {

using In = Slots<Nvf4, 128, 6>;

// Where the fields of a group lie in its row of the table, in bytes.
struct Fields {
  static constexpr int a_map = 0, b_map = 128, sfa_map = 256, sfb_map = 384, d = 512, m = 520, n = 524, k_blocks = 528,
                       row_tiles = 532, tiles_before = 536;
  static constexpr int bytes = 576;
};
static_assert(Fields::sfb_map + isa::tensor_map_bytes == Fields::d);
constexpr std::uint64_t most_groups = ParameterTable::most_bytes / Fields::bytes;

// A tile of a group, and where it lies there, in tiles.
struct Place {
  ParameterRow group;
  U32 row, column;
};

struct Problems {
  ParameterTable table;
  int groups;

  Place place(Scope& s, const U32& number) const {
    Var<U32> index = s.var(0);
    for (int g = 1; g < groups; ++g) index = select(number >= table.row(g).u32(Fields::tiles_before), g, index);
    const ParameterRow group = table.row(index);
    const U32 in_group = number - group.u32(Fields::tiles_before), row_tiles = group.u32(Fields::row_tiles);
    const U32 column = in_group / row_tiles;
    return {group, in_group - column * row_tiles, column};
  }
};

// The sizes of the groups. A number that is given alone is that of every group.
std::vector<GemmSizes> sizes_of_groups(const Sizes& sizes) {
  std::size_t groups = 1;
  for (const char* name : {"m", "n", "k"}) groups = std::max(groups, sizes.at(name).extents().size());
  if (groups > most_groups)
    throw diag::InputError(std::to_string(groups) + " groups: the parameters of a launch have room for " +
                           std::to_string(most_groups));
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
    check_extent("k", s.k, k_multiple<Nvf4>);
    out.push_back(s);
  }
  return out;
}

// A group's matrices and scales, its maps, and its row of the table.
class Group {
 public:
  Group(launch::Contract& c, std::size_t number, const GemmSizes& s)
      : c_(c), number_(std::to_string(number)), at_(std::uint32_t(number) * Fields::bytes), s_(s) {}

  void add(launch::StructParam& table) const {
    add_buffers();
    map(table, Fields::a_map, "A", tensor_map<In::ATile>({name("A"), s_.m, s_.k}));
    map(table, Fields::b_map, "B", tensor_map<In::BTile>({name("B"), s_.n, s_.k}));
    for (const auto& [at, scales] : {std::pair{Fields::sfa_map, "SFA"}, std::pair{Fields::sfb_map, "SFB"}})
      map(table, at, scales, map_of_scales<In>(c_, name(scales)));
    field(table, Fields::d, launch::PointerParam{name("D"), 0, f16::scalar});
    number(table, Fields::m, s_.m), number(table, Fields::n, s_.n);
    number(table, Fields::k_blocks, pieces(s_.k, In::K));
    number(table, Fields::row_tiles, pieces(s_.m, M));
  }
  std::uint64_t tiles() const { return pieces(s_.m, M) * pieces(s_.n, In::N); }
  void add_tiles_before(launch::StructParam& table, std::uint64_t tiles) const {
    number(table, Fields::tiles_before, tiles);
  }

 private:
  std::string name(const char* of) const { return of + number_; }

  // Nothing is quantised: elements and scales are drawn.
  void add_buffers() const {
    c_.buffers.push_back(matrix(name("A").c_str(), e2m1::scalar, s_.m, s_.k, 1));
    c_.buffers.push_back(matrix(name("B").c_str(), e2m1::scalar, s_.n, s_.k, 2));
    c_.buffers.push_back(matrix(name("D").c_str(), f16::scalar, s_.m, s_.n));
    c_.buffers.push_back(drawn_scales(name("SFA").c_str(), ue4m3::scalar, s_.m, s_.k / Nvf4::block));
    c_.buffers.push_back(drawn_scales(name("SFB").c_str(), ue4m3::scalar, s_.n, s_.k / Nvf4::block));
    launch::Expectation e;
    e.output = name("D"), e.a = name("A"), e.b = name("B"), e.sfa = name("SFA"), e.sfb = name("SFB");
    e.block = Nvf4::block;
    c_.expectations.push_back(std::move(e));
  }
  void map(launch::StructParam& table, int at, const char* of, const launch::TensorMap& map) const {
    c_.tensor_maps[name(of)] = map;
    field(table, at, launch::TensorMapParam{name(of)});
  }
  void number(launch::StructParam& table, int at, std::uint64_t value) const {
    field(table, at, launch::ScalarParam{u32::scalar, value});
  }
  void field(launch::StructParam& table, int at, launch::Param::Value value) const {
    table.fields.push_back({at_ + std::uint32_t(at), launch::Param(std::move(value))});
  }

  launch::Contract& c_;
  std::string number_;
  std::uint32_t at_;
  GemmSizes s_;
};

}  // namespace

std::span<const SizeOption> problems_options() {
  static const std::array options{
      SizeOption{"m", Size::list({96, 128, 0, 200}), "rows of A and D of each group, or one number for all", "N,..."},
      SizeOption{"n", Size::list({128, 256, 128, 136}), "rows of B, columns of D; multiples of 8", "N,..."},
      SizeOption{"k", Size::list({128, 512, 64, 288}), "columns of A and B; multiples of 32", "N,..."},
      persistent_options()[3]};
  return options;
}

Kernel gemm_nvf4_problems(Target target, const Sizes& sizes) {
  const int groups = int(sizes_of_groups(sizes).size());
  KernelBuilder gemm("gemm_nvf4_problems", target, warps<6>);
  gemm.minnctapersm(1);  // its ring takes the shared memory of an SM
  const Problems problems{gemm.table("problems", groups, Fields::bytes), groups};
  const U32 all_tiles = gemm.param<u32>("tiles");
  In slots(gemm);
  auto acc = gemm.accumulator_ring<2, In::Mma>("acc");
  const U32 first = gemm.ctaid.x, step = gemm.nctaid.x, trips = (all_tiles - first + (step - 1)) / step;
  const auto each_tile = [&](auto& scope, const auto& body) {
    scope.loop(trips, [&](U32 i) { body(problems.place(scope, first + i * step)); });
  };

  gemm.role("load", warp<4>.elect(), [&](Thread t) {
    each_tile(t, [&](const Place& at) {
      const TensorMap<In::ATile> A(at.group.map(Fields::a_map));
      const TensorMap<In::BTile> B(at.group.map(Fields::b_map));
      const ScaleMap SFA(at.group.map(Fields::sfa_map)), SFB(at.group.map(Fields::sfb_map));
      t.loop(at.group.u32(Fields::k_blocks), [&](U32 i) {
        const auto slot = slots.in.acquire(t);
        t.tma_load(slot.get<a>(), A.at(at.row * M, i * In::K), slot.full);
        t.tma_load(slot.get<b>(), B.at(at.column * In::N, i * In::K), slot.full);
        In::load_scales(t, slot.get<sfa>(), 0, SFA, i, at.row, slot.full);
        In::load_scales(t, slot.get<sfb>(), 0, SFB, i, at.column, slot.full);
      });
    });
  });
  gemm.role("mma", warp<5>.elect(), [&](Thread t) {
    each_tile(t, [&](const Place& at) {
      const auto d = acc.acquire(t);
      slots.multiply(t, d.sums, at.group.u32(Fields::k_blocks));
      t.commit(d.full);
    });
  });
  gemm.role("store", warpgroup<0>, [&](Warpgroup& g) {
    each_tile(g, [&](const Place& at) {
      const Result rows(at.group.pointer<f16>(Fields::d), at.group.u32(Fields::m), at.group.u32(Fields::n));
      const auto sums = acc.wait(g);
      store_rows(g, sums.sums, rows, at.row * M, at.column * In::N);
      acc.release(g, sums);
    });
  });
  return gemm.build();
}

launch::Contract gemm_nvf4_problems_problem(const Kernel& kernel, const Sizes& sizes) {
  const std::vector<GemmSizes> groups = sizes_of_groups(sizes);
  launch::Contract c;
  launch::StructParam table;
  table.size = std::uint32_t(groups.size() * Fields::bytes);
  std::uint64_t tiles = 0;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    const Group group(c, g, groups[g]);
    group.add_tiles_before(table, tiles);
    if (group.tiles() > 0) group.add(table);
    tiles += group.tiles();
  }
  if (tiles == 0) throw diag::InputError("no group has rows and columns: there is nothing to multiply");
  launch_kernel(c, kernel, persistent_grid(sizes, tiles, 1), {{"problems", std::move(table)}, {"tiles", tiles}});
  return c;
}

}  // namespace kiln::kernels
