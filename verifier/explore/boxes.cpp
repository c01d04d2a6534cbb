#include "verifier/explore/boxes.hpp"

#include <algorithm>

#include "ptx/isa/tensor_map.hpp"
#include "ptx/ops/operations.hpp"

namespace kiln::verifier::explore {
namespace {

using isa::TensorMode;
using u32 = std::uint32_t;

constexpr u32 picked_rows = 4;  // of gather4 and scatter4

// Elements of a box along a dimension.
u32 extent(const launch::TensorMap& m, std::size_t d) {
  const u32 step = std::max<u32>(1, m.element_strides[d]);
  return d == 0 ? m.box[0] : (m.box[d] + step - 1) / step;
}

bool picks_rows(TensorMode mode) { return mode == TensorMode::gather4 || mode == TensorMode::scatter4; }

// Rows of the box; 0 if they do not depend on the map alone.
u32 rows_of(const launch::TensorMap& m, TensorMode mode) {
  if (m.im2col) {
    const bool window = mode == TensorMode::im2col || mode == TensorMode::im2col_no_offs;
    return window && m.im2col->walk == isa::Im2colWalk::window ? m.im2col->pixels : 0;
  }
  if (picks_rows(mode)) return picked_rows;
  if (mode != TensorMode::none && mode != TensorMode::tile) return 0;
  u32 rows = 1;
  for (int d = 1; d < m.rank; ++d) rows *= extent(m, std::size_t(d));
  return rows;
}

using Field = isa::TensorMapField;
using Replaced = std::map<std::pair<Field, int>, std::int64_t>;

// Notes what tensormap.replace writes, if a box depends on it. False if that is no number, or differs from another
// replace.
bool note_field(const ir::Operation& op, Replaced& fields) {
  for (const Field f : {Field::rank, Field::box_dim, Field::element_stride, Field::elemtype, Field::swizzle_mode,
                        Field::swizzle_atomicity}) {
    if (op.modifiers.others.empty() || op.modifiers.others.front() != isa::spelling(f)) continue;
    const auto edit = ops::roles<ops::TensorMapEdit>(op);
    const ir::Argument& value = edit.value;
    if (f == Field::swizzle_atomicity || value.kind != ir::Argument::Kind::immediate) return false;
    const int dimension = isa::has_ordinal(f) ? int(edit.dimension->value) : 0;
    return fields.try_emplace({f, dimension}, value.value).first->second == value.value;
  }
  return true;
}

}  // namespace

std::optional<Box> box_of(const launch::TensorMap& m, TensorMode mode, int rank) {
  const u32 rows = rows_of(m, mode), inner = m.im2col ? m.im2col->channels : m.box[0];
  const u32 row_bytes = inner * u32(isa::bits(m.dtype)) / 8, shared_row = m.is_padded() ? inner : row_bytes;
  if (rows == 0 || shared_row == 0 || rank != m.rank) return std::nullopt;
  Box box;
  tile::Tile& t = box.layout;
  t.swizzle = m.swizzle;
  t.pitch = m.shared_row_bytes();
  t.pieces = shared_row / tile::Tile::piece;
  t.rows = rows;
  t.extents.fill(1);
  t.extents[0] = rows;
  if (!m.im2col && !picks_rows(mode))
    for (int d = 1; d < m.rank; ++d) t.extents[std::size_t(d - 1)] = extent(m, std::size_t(d));
  box.bytes = rows * row_bytes;
  box.shared_bytes = (rows - 1) * t.pitch + shared_row;
  return box;
}

bool may_be_made(const Facts& facts, const ir::Argument& tensor) {
  const flow::Origin from = facts.origins.of(tensor);
  return !from.is(flow::Origin::Base::symbol) || !facts.code.symbols[from.id].is_parameter;
}

std::optional<launch::TensorMap> made_map(const ir::Code& code) {
  Replaced fields;
  for (const ir::Operation& op : code.operations)
    if (op.opcode == isa::Opcode::tensormap_replace && !note_field(op, fields)) return std::nullopt;
  const auto value = [&](Field f, int dimension = 0) {
    const auto found = fields.find({f, dimension});
    return found == fields.end() ? std::nullopt : std::optional(found->second);
  };
  const auto rank = value(Field::rank), type = value(Field::elemtype), swizzle = value(Field::swizzle_mode);
  if (!rank || !type || !swizzle || *rank < 0 || *rank >= isa::tma_max_rank) return std::nullopt;
  if (!isa::element_type(*type) || !isa::swizzle_mode(*swizzle)) return std::nullopt;
  launch::TensorMap m;
  m.rank = int(*rank) + 1;  // counted from zero
  m.dtype = *isa::element_type(*type);
  m.swizzle = *isa::swizzle_mode(*swizzle);
  for (int d = 0; d < m.rank; ++d) {
    const auto box = value(Field::box_dim, d);
    if (!box || value(Field::element_stride, d) != 1) return std::nullopt;
    m.box[std::size_t(d)] = u32(*box);
  }
  return m;
}

std::optional<Box> box_of(const Facts& facts, const GivenMaps& maps, const std::optional<launch::TensorMap>& made,
                          const ir::Operation& op, const ir::Argument& tensor) {
  if (made && may_be_made(facts, tensor))
    return box_of(*made, op.modifiers.tensor_mode, isa::dimensions(op.modifiers.dims));
  const flow::Origin from = facts.origins.of(tensor);
  if (!from.is(flow::Origin::Base::symbol) || !from.exact()) return std::nullopt;
  const ir::Symbol& symbol = facts.code.symbols[from.id];
  if (!symbol.is_parameter || symbol.parameter_index < 0) return std::nullopt;
  return box_of(maps, {u32(symbol.parameter_index), u32(from.offset())}, op);
}

std::optional<Box> box_of(const GivenMaps& maps, const ParameterPlace& at, const ir::Operation& op) {
  if (at.parameter >= maps.size()) return std::nullopt;
  const auto map = maps[at.parameter].find(at.offset);
  if (map == maps[at.parameter].end()) return std::nullopt;
  return box_of(map->second, op.modifiers.tensor_mode, isa::dimensions(op.modifiers.dims));
}

const ir::Argument* chosen_map(const Facts& facts, const ir::Operation& op) {
  const auto copy = ops::as<ops::TensorCopy>(op);
  if (!copy || may_be_made(facts, copy->tensor) || facts.origins.of(copy->tensor).exact()) return nullptr;
  const ir::Argument& tensor = copy->tensor;
  return tensor.kind == ir::Argument::Kind::address ? &facts.code.components(tensor)[0] : &tensor;
}

}  // namespace kiln::verifier::explore
