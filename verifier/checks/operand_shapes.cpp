#include "verifier/checks/operand_shapes.hpp"

#include <algorithm>

#include "ptx/isa/spaces.hpp"
#include "verifier/checks/register_types.hpp"

namespace kiln::verifier::operands {

using isa::ScalarType;
using Kind = ir::Argument::Kind;

const ir::Argument* address_base(const ir::Code& code, const ir::Argument& a) {
  return a.kind == Kind::address && a.count == 1 ? &code.components(a)[0] : nullptr;
}

bool is_in(const ir::Code& code, const ir::Argument& a, std::initializer_list<isa::Space> spaces) {
  if (a.kind != Kind::symbol) return false;
  const isa::Space space = code.symbols[a.id].variable->space;
  return std::find(spaces.begin(), spaces.end(), space) != spaces.end();
}

bool is_address_in(const ir::Code& code, isa::Space space, const ir::Argument& a) {
  const ir::Argument* base = address_base(code, a);
  if (!base) return false;
  const ScalarType type = type_of(code, *base);
  return is_int32(type) || is_int64(type) ||
         (is_shared(space) ? is_in(code, *base, {isa::Space::shared, isa::Space::shared_cta})
                           : is_in(code, *base, {isa::is_parameter(space) ? isa::Space::param : space}));
}

namespace {

// The parts of a vector, as ptxas packs them: integers and floats do not stand side by side, untyped registers go with
// both.
bool is_packed(const ir::Code& code, const ir::Argument& a) {
  enum Class { any, integer, real } before = any;
  for (const ir::Argument& c : code.components(a)) {
    const ScalarType type = type_of(code, c);
    const bool untyped =
        c.kind == Kind::sink || (c.kind == Kind::reg && isa::type_class(type) == isa::TypeClass::untyped);
    const Class here = untyped ? any : c.kind == Kind::real || isa::is_floating(type) ? real : integer;
    if (here != any && before != any && here != before) return false;
    before = here;
  }
  return true;
}

}  // namespace

bool has_register(const ir::Code& code, const ir::Argument& a) {
  const auto parts = code.components(a);
  return std::any_of(parts.begin(), parts.end(), [](const ir::Argument& c) { return c.kind == Kind::reg; });
}

bool has_integers_alone(const ir::Code& code, const ir::Argument& a) {
  const auto parts = code.components(a);
  return std::all_of(parts.begin(), parts.end(), is_number);
}

namespace {

bool takes(Others others, const ir::Argument& c) {
  return others == Others::numbers ? is_number(c) || c.kind == Kind::real
                                   : others == Others::sinks && c.kind == Kind::sink;
}

}  // namespace

bool is_vector(const ir::Code& code, const ir::Argument& a, Others others) {
  if (a.kind != Kind::vector || !has_register(code, a) || !is_packed(code, a)) return false;
  const auto parts = code.components(a);
  return std::all_of(parts.begin(), parts.end(), [&](const ir::Argument& c) {
    if (c.kind != Kind::reg) return takes(others, c);
    const ScalarType type = type_of(code, c);
    return isa::bits(type) == 32 && isa::type_class(type) != isa::TypeClass::packed;
  });
}

bool is_fragment(const ir::Code& code, const ir::Argument& a, std::initializer_list<ScalarType> types, Others others) {
  if (a.kind != Kind::vector || !is_packed(code, a)) return false;
  if (others == Others::sinks && !has_register(code, a)) return false;
  const auto parts = code.components(a);
  return std::all_of(parts.begin(), parts.end(), [&](const ir::Argument& c) {
    if (c.kind != Kind::reg) return takes(others, c);
    return std::find(types.begin(), types.end(), type_of(code, c)) != types.end();
  });
}

bool is_fragment_of_32_bits(const ir::Code& code, const ir::Argument& a, Others others) {
  if (a.kind != Kind::vector || !is_packed(code, a)) return false;
  const auto parts = code.components(a);
  return std::all_of(parts.begin(), parts.end(), [&](const ir::Argument& c) {
    return c.kind == Kind::reg ? isa::bits(type_of(code, c)) == 32 : takes(others, c);
  });
}

bool is_scale_selector(const ir::Code& code, const OperandSlot& byte, const ir::Argument& a, std::int64_t last_thread) {
  if (a.kind != Kind::vector || a.count != 2) return false;
  const auto parts = code.components(a);
  const auto fits_part = [&](const ir::Argument& c, const OperandSlot& range) {
    const ScalarType type = type_of(code, c);
    return is_number(c) ? range.takes(number(c)) : type == ScalarType::b16 || type == ScalarType::u16;
  };
  return fits_part(parts[0], byte) && fits_part(parts[1], {0, 0, 0, last_thread});
}

namespace {

bool is_of_small_integers(const ir::Code& code, const ir::Argument& a) {
  const auto parts = code.components(a);
  return a.kind == Kind::vector && std::all_of(parts.begin(), parts.end(), [&](const ir::Argument& c) {
           const ScalarType type = type_of(code, c);
           return is_int8(type) || is_int16(type);
         });
}

}  // namespace

bool is_of_integers(const ir::Code& code, const ir::Argument& a) {
  const auto parts = code.components(a);
  return a.kind == Kind::vector && std::all_of(parts.begin(), parts.end(), [&](const ir::Argument& c) {
           return is_number(c) || is_int32(type_of(code, c));
         });
}

namespace {

// What replaces fields of the map, between it and the coordinates: an address, sizes, and strides in two parts.
bool is_override(const ir::Code& code, const isa::Modifiers& m, std::span<const ir::Argument> parts) {
  using isa::MapOverride;
  const std::size_t sizes = m.map_override == MapOverride::none ? 0 : m.map_override == MapOverride::global_dim ? 1 : 3;
  if (parts.size() != std::size_t(m.override_address) + sizes) return false;
  if (m.override_address && !is_int64(type_of(code, parts[0])) && !is_number(parts[0])) return false;
  if (!sizes) return true;
  const auto rank = std::uint32_t(isa::dimensions(m.dims));
  if (parts[1].count != rank || !is_of_small_integers(code, parts[1])) return false;
  if (sizes == 1) return true;
  return parts[2].count == rank - 1 && is_of_integers(code, parts[2]) && is_int16(type_of(code, parts[3]));
}

}  // namespace

bool is_tensor_address(const ir::Code& code, const isa::Modifiers& m, const ir::Argument& a) {
  if (a.kind != Kind::address || a.count < 2) return false;
  const auto parts = code.components(a);
  const ScalarType map = type_of(code, parts[0]);
  if (!is_int32(map) && !is_int64(map) && !is_in(code, parts[0], {isa::Space::global, isa::Space::param})) return false;
  if (parts[0].value != 0) return false;
  return is_override(code, m, parts.subspan(1, parts.size() - 2)) && is_of_integers(code, parts.back());
}

bool is_offsets(const ir::Code& code, const ir::Argument& a) {
  if (a.kind != Kind::vector) return false;
  const auto parts = code.components(a);
  return std::all_of(parts.begin(), parts.end(),
                     [&](const ir::Argument& c) { return is_number(c) || is_int16(type_of(code, c)); });
}

bool is_written(const ir::Code& code, const ir::Argument& a) {
  const auto parts = code.components(a);
  return std::all_of(parts.begin(), parts.end(),
                     [&](const ir::Argument& c) { return c.kind == Kind::sink || is_int32(type_of(code, c)); });
}

bool is_elected(const ir::Code& code, const ir::Argument& a) {
  if (a.kind != Kind::pair) return false;
  const auto parts = code.components(a);
  return (is_int32(type_of(code, parts[0])) || parts[0].kind == Kind::sink) &&
         type_of(code, parts[1]) == ScalarType::pred && !parts[1].negated;
}

bool is_handle(const ir::Code& code, const isa::Modifiers& m, const ir::Argument& a) {
  if (a.kind != Kind::address) return false;
  const auto parts = code.components(a);
  const bool counts = std::count(m.others.begin(), m.others.end(), "counted::bytes") != 0;
  const bool tensor = m.dims != isa::TensorDims::none;
  if (parts.size() != (tensor ? 4u : counts ? 3u : 2u)) return false;
  if (tensor && (!is_int64(type_of(code, parts[0])) || !is_of_integers(code, parts[3]) ||
                 int(parts[3].count) != isa::dimensions(m.dims)))
    return false;
  return is_int32(type_of(code, parts[tensor])) && is_int64(type_of(code, parts[tensor + 1])) &&
         (!counts || is_int64(type_of(code, parts.back())));
}

bool is_reported(const ir::Code& code, const ir::Argument& a) {
  if (a.kind != Kind::pair) return false;
  const auto parts = code.components(a);
  return std::all_of(parts.begin(), parts.end(), [&](const ir::Argument& c) {
    const bool may_be_left_out = &c != parts.data();
    return (may_be_left_out && c.kind == Kind::sink) || (type_of(code, c) == ScalarType::pred && !c.negated);
  });
}

bool has_raw(const ir::Code& code, const ir::Argument& a) {
  const auto parts = code.components(a);
  return a.kind == Kind::raw ||
         std::any_of(parts.begin(), parts.end(), [&](const auto& c) { return has_raw(code, c); });
}

}  // namespace kiln::verifier::operands
