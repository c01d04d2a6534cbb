#include "verifier/checks/texture_operands.hpp"

#include <algorithm>

namespace kiln::verifier::operands {
namespace {

using isa::ScalarType;
using Kind = ir::Argument::Kind;

// How many coordinates a geometry has, and whether the first is the number of a layer. Vectors have 1, 2 or 4 elements,
// of which the last may be none.
struct Geometry {
  std::string_view name;
  std::uint32_t coordinates;
  bool is_array;
  std::uint32_t directions;  // of gradients and offsets; 0: gradients of any, and no offsets
};
constexpr Geometry geometries[] = {{"1d", 1, false, 1},   {"2d", 2, false, 2},  {"3d", 4, false, 4},
                                   {"a1d", 2, true, 1},   {"a2d", 4, true, 2},  {"cube", 4, false, 0},
                                   {"acube", 4, true, 0}, {"2dms", 4, true, 2}, {"a2dms", 4, true, 2}};

const Geometry* geometry(const ir::Operation& op) {
  for (const std::string& m : op.instruction->modifiers)
    for (const Geometry& g : geometries)
      if (g.name == m) return &g;
  return nullptr;
}

// A register or number of one of two types of 32 bits, of which one is untyped.
bool is_word(const ir::Code& code, const ir::Argument& a, ScalarType type) {
  return is_literal_of(a, type) || (a.kind == Kind::reg && goes_with(type_of(code, a), type));
}

}  // namespace

bool is_texture_address(const Given& g) {
  if (g.a.kind != Kind::address || g.a.count < 2) return false;
  const ir::Argument& at = g.code.components(g.a).back();
  const Geometry* const shape = geometry(g.op);
  const auto is_one = [&](const ir::Argument& c, ScalarType type) {
    return c.kind == Kind::sink || is_literal_of(c, type) ||
           (c.kind == Kind::reg && goes_with(type_of(g.code, c), type));
  };
  if (at.kind != Kind::vector) return (!shape || !shape->is_array) && is_one(at, g.slot.type);
  const auto parts = g.code.components(at);
  if (parts.size() == 3 || (shape && parts.size() < shape->coordinates)) return false;
  for (const ir::Argument& c : parts)
    if (!is_one(c, shape && shape->is_array && &c == parts.data() ? ScalarType::u32 : g.slot.type)) return false;
  return true;
}

bool is_level(const Given& g) {
  if (g.a.kind != Kind::vector) return is_word(g.code, g.a, g.slot.type);
  return g.a.count <= 4 && g.a.count != 3 && is_vector(g.code, g.a, Others::numbers);
}

bool is_gradient(const Given& g) {
  const Geometry* const shape = geometry(g.op);
  if (g.a.kind != Kind::vector || (shape && shape->directions && g.a.count != shape->directions)) return false;
  const auto parts = g.code.components(g.a);
  return std::all_of(parts.begin(), parts.end(),
                     [&](const ir::Argument& c) { return is_word(g.code, c, ScalarType::f32); });
}

bool is_texel_offset(const Given& g) {
  const Geometry* const shape = geometry(g.op);
  if (g.a.kind != Kind::vector || g.a.count == 3 || g.a.count > 4 || !shape || !shape->directions ||
      g.a.count < shape->directions)
    return false;
  const auto parts = g.code.components(g.a);
  return std::all_of(parts.begin(), parts.end(), [&](const ir::Argument& c) {
    return is_word(g.code, c, ScalarType::s32) || is_word(g.code, c, ScalarType::u32);
  });
}

bool is_depth(const Given& g) {
  const Geometry* const shape = geometry(g.op);
  const bool has_depth = g.op.modifiers.types[1] == ScalarType::f32 && (!shape || shape->name != "3d");
  return has_depth && is_word(g.code, g.a, ScalarType::f32);
}

bool is_texel_offset_or_depth(const Given& g) {
  const Geometry* const shape = geometry(g.op);
  if (g.type == ScalarType::b32 && shape && shape->name == "3d") return false;
  return is_texel_offset(g) || is_depth(g) || is_word(g.code, g.a, ScalarType::s32) ||
         is_word(g.code, g.a, ScalarType::u32);
}

bool is_texture(const Given& g) {
  const ir::Argument* const base = address_base(g.code, g.a);
  return base && (is_int64(type_of(g.code, *base)) || is_in(g.code, *base, {isa::Space::global, isa::Space::param}));
}

bool is_fetched(const Given& g) {
  const ir::Argument& values = g.a.kind == Kind::pair ? g.code.components(g.a)[0] : g.a;
  if (g.a.kind == Kind::pair && type_of(g.code, g.code.components(g.a)[1]) != ScalarType::pred) return false;
  const auto parts = g.code.components(values);
  return values.kind == Kind::vector && int(parts.size()) == isa::vector_width(g.op.modifiers.vector) &&
         std::all_of(parts.begin(), parts.end(), [&](const ir::Argument& c) {
           return c.kind == Kind::sink || (c.kind == Kind::reg && goes_with(type_of(g.code, c), g.slot.type));
         });
}

bool is_surface_value(const Given& g) {
  const auto is_one = [&](const ir::Argument& c) {
    if (c.kind == Kind::reg) return holds(type_of(g.code, c), g.slot.type);
    return g.is_read() ? is_number(c) || c.kind == Kind::real : c.kind == Kind::sink && g.a.kind == Kind::vector;
  };
  if (g.a.kind != Kind::vector) return is_one(g.a);
  const auto parts = g.code.components(g.a);
  return std::all_of(parts.begin(), parts.end(), is_one);
}

}  // namespace kiln::verifier::operands
