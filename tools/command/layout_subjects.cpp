#include "tools/command/layout_subjects.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "dsl/tile.hpp"
#include "ptx/diag/error.hpp"
#include "ptx/isa/matrix_shape.hpp"
#include "ptx/isa/opcodes.hpp"
#include "ptx/isa/tmem.hpp"
#include "ptx/isa/wgmma.hpp"
#include "ptx/rules/finding.hpp"
#include "tools/command/report/console.hpp"

namespace kiln::command {
namespace {

using diag::InputError;
using dsl::Major;
using isa::Opcode;
using isa::ScalarType;

constexpr int picture_rows = 8, picture_columns = 8;

std::vector<std::string> split(std::string_view text, std::string_view separators) {
  std::vector<std::string> words;
  for (std::size_t at = 0; (at = text.find_first_not_of(separators, at)) != text.npos;) {
    const std::size_t end = std::min(text.find_first_of(separators, at), text.size());
    words.emplace_back(text.substr(at, end - at));
    at = end;
  }
  return words;
}

std::optional<int> number(std::string_view word) {
  int value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc{} || end != word.data() + word.size() || value <= 0) return std::nullopt;
  return value;
}

std::vector<LayoutMode> layout(std::vector<int> extents, const OffsetOf& offset) {
  if (auto found = probe_layout(extents, offset)) return *std::move(found);
  throw diag::InternalError("a layout that no (shape):(stride) describes");
}

// Tiles of shared memory ----------------------------------------------------------------------------------------------

struct LayoutWord {
  std::string_view word;
  dsl::Layout layout;
};
constexpr LayoutWord layout_words[] = {{"packed", dsl::packed},
                                       {"swizzle_none", dsl::swizzle_none},
                                       {"swizzle_32B", dsl::swizzle_32B},
                                       {"swizzle_64B", dsl::swizzle_64B},
                                       {"swizzle_128B", dsl::swizzle_128B},
                                       {"swizzle_128B_atom_32B", dsl::swizzle_128B_atom_32B}};

std::optional<dsl::ElementType> element_type(std::string_view word, bool unpacked) {
  const auto type = isa::parse_type(word);
  if (!type || isa::bits(*type) == 0) return std::nullopt;
  return dsl::ElementType{*type, unpacked ? 8 : isa::bits(*type), isa::bits(*type)};
}

[[noreturn]] void unknown_tile_word(const std::string& word) {
  std::vector<std::string_view> known{"K_major", "MN_major"};
  for (const LayoutWord& l : layout_words) known.push_back(l.word);
  const std::string_view near = nearest(word, known);
  throw InputError(fmt::format("a tile is an element type, two extents, K_major or MN_major, and a swizzle; got '{}'{}",
                               word, near.empty() ? "" : fmt::format(" (did you mean {}?)", near)));
}

dsl::TileShape tile_of(std::vector<std::string> words) {
  std::erase(words, "SharedTile");
  const bool unpacked = std::erase(words, "unpacked") > 0;
  dsl::TileShape tile;
  tile.order = Major::K, tile.form = dsl::swizzle_128B;
  std::vector<int> extents;
  for (const std::string& word : words) {
    const auto* form = std::find_if(std::begin(layout_words), std::end(layout_words),
                                    [&](const LayoutWord& l) { return l.word == word; });
    if (const auto type = element_type(word, unpacked); type && tile.element.bits == 0) tile.element = *type;
    else if (const auto extent = number(word)) extents.push_back(*extent);
    else if (word == "K_major" || word == "MN_major") tile.order = word == "K_major" ? Major::K : Major::MN;
    else if (form != std::end(layout_words)) tile.form = form->layout;
    else unknown_tile_word(word);
  }
  if (tile.element.bits == 0 || extents.size() != 2)
    throw InputError("a tile has an element type and two extents, rows and K: `bf16 128 64`");
  constexpr int longest = 1 << 14;
  if (extents[0] > longest || extents[1] > longest)
    throw InputError(fmt::format("a tile has at most {} rows and as many elements along K", longest));
  tile.rows = extents[0], tile.cols = extents[1];
  if (const rules::Verdict v = tile.check(); v.broken())
    throw InputError(fmt::format("{} [{}]", rules::finding(v).message, rules::info(v.rule).slug));
  return tile;
}

std::uint32_t tile_byte(const dsl::TileShape& t, int row, int k) {
  return std::uint32_t(t.row_offset(row) + t.slice_offset(k));
}

// A line of the picture is a line of the contiguous extent; its cells are pieces of 16 bytes in the order of addresses.
std::vector<std::vector<std::string>> tile_picture(const dsl::TileShape& t, const CuteSwizzle& swizzle) {
  const bool k_major = t.order == Major::K;
  const int piece = isa::descriptor_unit_bytes * 8 / t.element.bits, line = t.inner() / t.blocks();
  std::vector<std::vector<std::string>> rows{{k_major ? "row" : "k"}};
  for (int outer = 0; outer < std::min(picture_rows, t.outer()); ++outer) {
    std::vector<std::pair<std::uint32_t, std::string>> pieces;
    for (int inner = 0; inner < line; inner += piece) {
      const std::uint32_t at = swizzle(k_major ? tile_byte(t, outer, inner) : tile_byte(t, inner, outer));
      pieces.emplace_back(at, fmt::format("{}-{}", inner, std::min(inner + piece, line) - 1));
    }
    std::sort(pieces.begin(), pieces.end());
    std::vector<std::string> cells{fmt::format("{}", outer), fmt::format("{:#06x}", pieces.front().first)};
    for (const auto& [at, text] : pieces) cells.push_back(text);
    rows.push_back(std::move(cells));
  }
  rows.front().push_back("address");
  rows.front().push_back(k_major ? "elements of K, in the order of addresses" : "rows, in the order of addresses");
  return rows;
}

DrawnLayout drawn(const dsl::TileShape& t) {
  DrawnLayout d;
  d.name = "tile";
  d.maps = fmt::format("(row, k) to elements of {} bits; a swizzle exchanges bits of the byte address", t.element.bits);
  d.modes = layout({t.rows, t.cols}, [&](std::span<const int> at) {
    return std::int64_t(tile_byte(t, at[0], at[1])) * 8 / t.element.bits;
  });
  const CuteSwizzle swizzle = cute_swizzle(t.swizzle());
  if (swizzle.bits) d.swizzle = swizzle;
  d.facts = {{"bytes", std::to_string(t.bytes())},
             {"placed at", fmt::format("multiples of {} bytes", t.alignment())},
             {"TMA boxes", fmt::format("{} of {} x {} elements, fastest first", t.blocks() * t.box_rows_pieces(),
                                       t.box_inner(), t.box_outer())}};
  if (t.form != dsl::packed)
    d.facts.emplace_back("descriptor", fmt::format("{:#018x}, its start address left out", t.descriptor().word()));
  d.picture = tile_picture(t, swizzle);
  return d;
}

// Fragments in registers ----------------------------------------------------------------------------------------------

struct Cell {
  int row = 0, column = 0;
};

// Which element of a matrix each value of each thread is.
struct Fragment {
  std::string name{};
  std::string axes{};  // "(m, k)"
  int rows = 0, columns = 0, threads = 32, values = 0;
  std::function<Cell(int thread, int value)> cell{};
};

DrawnLayout drawn(const Fragment& f) {
  DrawnLayout d;
  d.name = f.name;
  d.maps = fmt::format("(thread, value) to {}, of {} x {}, the first counting fastest", f.axes, f.rows, f.columns);
  d.modes = layout({f.threads, f.values}, [&](std::span<const int> at) {
    const Cell c = f.cell(at[0], at[1]);
    return std::int64_t(c.row) + std::int64_t(f.rows) * c.column;
  });
  const int rows = std::min(picture_rows, f.rows), columns = std::min(picture_columns, f.columns);
  d.picture.assign(std::size_t(rows + 1), std::vector<std::string>(std::size_t(columns + 1)));
  for (int column = 0; column < columns; ++column) d.picture[0][std::size_t(column + 1)] = std::to_string(column);
  for (int row = 0; row < rows; ++row) d.picture[std::size_t(row + 1)][0] = std::to_string(row);
  for (int t = 0; t < f.threads; ++t)
    for (int v = 0; v < f.values; ++v)
      if (const Cell c = f.cell(t, v); c.row < rows && c.column < columns)
        d.picture[std::size_t(c.row + 1)][std::size_t(c.column + 1)] = fmt::format("T{}V{}", t, v);
  return d;
}

// Elements of an operand that share a 32-bit register.
int elements_per_register(const isa::Modifiers& m, ScalarType type) {
  const bool bytes = m.kind == isa::MmaKind::f8f6f4 || m.kind == isa::MmaKind::mxf8f6f4;
  return std::max(1, 32 / (bytes ? 8 : isa::bits(type)));
}

Fragment a_fragment(int rows, int k, int per, int warps = 1) {
  return {"A", "(m, k)", rows, k, 32 * warps, rows / warps * k / 32, [=](int t, int v) -> Cell {
            const isa::MmaSyncCell c = isa::mma_sync_a_cell(t % 32, v / per, v % per, per, rows / warps);
            return {c.row + rows / warps * (t / 32), c.column};
          }};
}

std::vector<DrawnLayout> mma_sync(const isa::Modifiers& m, const isa::MatrixShape& s) {
  const ScalarType a = m.types[1], b = m.types[2];
  if (m.types.count < 3) throw InputError("name the types of the mma: `mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32`");
  if (s.m == 8 && s.k == 4 && a == ScalarType::f16)
    throw InputError("the fragments of mma.m8n8k4 of f16 have a layout of their own, which Kiln does not know");
  const int per_b = elements_per_register(m, b);
  const Fragment of_b{"B", "(n, k)", s.n, s.k, 32, s.n * s.k / 32, [=](int t, int v) -> Cell {
                        const isa::MmaSyncCell c = isa::mma_sync_b_cell(t, v / per_b, v % per_b, per_b);
                        return {c.column, c.row};
                      }};
  const Fragment of_d{"C and D", "(m, n)", s.m, s.n, 32, s.m * s.n / 32, [](int t, int v) -> Cell {
                        const isa::MmaSyncCell c = isa::mma_sync_cell(t, v);
                        return {c.row, c.column};
                      }};
  return {drawn(a_fragment(s.m, s.k, elements_per_register(m, a))), drawn(of_b), drawn(of_d)};
}

std::vector<DrawnLayout> wgmma(const isa::Modifiers& m, const isa::MatrixShape& s) {
  if (s.m != isa::wgmma_m || m.types.count < 3)
    throw InputError("name shape and types of the wgmma: `wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16`");
  const Fragment of_d{"D", "(m, n)", s.m, s.n, 32 * isa::warps_per_warpgroup, s.n / 2, [](int t, int v) -> Cell {
                        const isa::MmaSyncCell c = isa::wgmma_d_cell(t % 32, v);
                        return {c.row + isa::wgmma_warp_rows * (t / 32), c.column};
                      }};
  Fragment of_a = a_fragment(s.m, s.k, elements_per_register(m, m.types[1]), isa::warps_per_warpgroup);
  of_a.name = "A in registers";
  return {drawn(of_d), drawn(of_a)};
}

// Tensor memory -------------------------------------------------------------------------------------------------------

std::int64_t tmem_offset(isa::TmemAddress a) { return std::int64_t(isa::pack(a)); }

DrawnLayout tensor_load(const isa::Modifiers& m) {
  const isa::LoadShape shape = isa::load_shape(m.shape);
  const int repeat = isa::repeat_count(m.repeat);
  if (shape.registers == 0 || repeat == 0) throw InputError("name shape and repeat of the access: `tcgen05.ld.32x32b.x8`");
  const int registers = shape.registers * repeat, columns = shape.columns * repeat;
  // The immediate of 16x32bx2: as if both halves followed each other.
  const int split = m.shape == isa::DataShape::s16x32bx2 ? registers : 0;
  Fragment f{"registers", "(lane, column)", shape.lanes, columns + split, 32, registers, [=](int t, int v) -> Cell {
               const isa::TmemAddress c = isa::fragment_cell(m.shape, t, v, split);
               return {c.lane, c.column};
             }};
  DrawnLayout d = drawn(f);
  d.maps = "(thread, register) to a tensor-memory address relative to the one given: lane * 65536 + column";
  d.modes = layout({32, registers}, [&](std::span<const int> at) {
    return tmem_offset(isa::fragment_cell(m.shape, at[0], at[1], split));
  });
  if (split) d.facts.emplace_back("split", fmt::format("{} columns, the immediate of this picture", split));
  return d;
}

DrawnLayout accumulator(Opcode op, const isa::Modifiers& m, const std::vector<std::string>& words) {
  const bool ws = op == Opcode::tcgen05_mma_ws || op == Opcode::tcgen05_mma_ws_sp;
  const bool sparse = op == Opcode::tcgen05_mma_sp || op == Opcode::tcgen05_mma_ws_sp;
  const auto extents = words.size() == 2 ? split(words[1], "x") : std::vector<std::string>{};
  const auto rows = extents.size() == 2 ? number(extents[0]) : std::nullopt;
  const auto columns = extents.size() == 2 ? number(extents[1]) : std::nullopt;
  const bool pair = m.cta_group == isa::CtaGroup::two;
  const bool known = rows && (ws ? *rows == 32 || *rows == 64 || *rows == 128
                                 : pair ? *rows == 128 || *rows == 256 : *rows == 64 || *rows == 128);
  if (!known || !columns || *columns % 8 != 0 || *columns > 256)
    throw InputError("name M and N of the MMA after the instruction: `tcgen05.mma.cta_group::1 128x256`");
  const isa::DataPath path = isa::data_path(*rows, m.cta_group, sparse, ws);
  const int own = pair ? *rows / 2 : *rows;
  const auto cell = [&](int row, int column) {
    const isa::AccumulatorCell c = isa::accumulator_cell(path, row, column, *columns);
    return isa::TmemAddress{c.lane, c.column};
  };
  DrawnLayout d;
  d.name = "D";
  d.maps = fmt::format("(m, n) to a tensor-memory address relative to D: lane * 65536 + column{}",
                       pair ? "; rows of the leader, those of its peer lie alike there" : "");
  d.modes = layout({own, *columns}, [&](std::span<const int> at) { return tmem_offset(cell(at[0], at[1])); });
  d.facts = {{"data path layout", std::string(1, char('A' + int(path)))},
             {"columns", std::to_string(isa::accumulator_columns(path, *columns))}};
  d.picture.push_back({""});
  for (int n = 0; n < picture_columns; ++n) d.picture[0].push_back(std::to_string(n));
  for (int row = 0; row < picture_rows; ++row) {
    d.picture.push_back({std::to_string(row)});
    for (int n = 0; n < picture_columns; ++n) {
      const isa::TmemAddress c = cell(row, n);
      d.picture.back().push_back(fmt::format("{}:{}", c.lane, c.column));
    }
  }
  return d;
}

std::optional<std::vector<DrawnLayout>> instruction(const std::vector<std::string>& words) {
  const isa::OpcodeMatch match = isa::match_opcode(words.front());
  if (match.opcode == Opcode::unknown) return std::nullopt;
  const std::vector<std::string> written = split(std::string_view(words.front()).substr(match.length), ".");
  const isa::Modifiers m = isa::decode_modifiers(written);
  isa::MatrixShape shape;
  for (const std::string& other : m.others)
    if (const auto s = isa::parse_matrix_shape(other)) shape = *s;
  switch (match.opcode) {
    case Opcode::mma: return mma_sync(m, shape);
    case Opcode::wgmma_mma_async: return wgmma(m, shape);
    case Opcode::tcgen05_ld:
    case Opcode::tcgen05_st: return std::vector{tensor_load(m)};
    case Opcode::tcgen05_mma:
    case Opcode::tcgen05_mma_sp:
    case Opcode::tcgen05_mma_ws:
    case Opcode::tcgen05_mma_ws_sp: return std::vector{accumulator(match.opcode, m, words)};
    default: return std::nullopt;
  }
}

}  // namespace

std::vector<DrawnLayout> layouts_of(const std::string& subject) {
  const std::vector<std::string> words = split(subject, " \t,;");
  if (words.empty()) throw InputError("name a tile, or an instruction with fragments; see `kiln layout --help`");
  if (auto found = instruction(words)) return *std::move(found);
  return {drawn(tile_of(split(subject, " \t,;<>")))};
}

std::string notation(const DrawnLayout& d) {
  return (d.swizzle ? text(*d.swizzle) + " o " : std::string()) + text(d.modes);
}

}  // namespace kiln::command
