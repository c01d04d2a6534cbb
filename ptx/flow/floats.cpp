#include "ptx/flow/floats.hpp"

#include <bit>
#include <cmath>
#include <limits>

#include "ptx/flow/bits.hpp"
#include "ptx/flow/numbers.hpp"

namespace kiln::flow {
namespace {

using isa::Compare;
using isa::Opcode;
using isa::Rounding;
using isa::ScalarType;

bool is_plain(float f) { return f == 0 || std::isnormal(f) || std::isinf(f); }

std::optional<bool> compare_floats(Compare how, float a, float b) {
  switch (how) {
    case Compare::eq:
    case Compare::equ: return a == b;
    case Compare::ne:
    case Compare::neu: return a != b;
    case Compare::lt:
    case Compare::ltu: return a < b;
    case Compare::le:
    case Compare::leu: return a <= b;
    case Compare::gt:
    case Compare::gtu: return a > b;
    case Compare::ge:
    case Compare::geu: return a >= b;
    default: return std::nullopt;
  }
}

std::optional<float> compute_floats(Opcode op, std::span<const float> in) {
  switch (op) {
    case Opcode::mov: return in[0];
    case Opcode::neg: return -in[0];
    case Opcode::abs: return std::abs(in[0]);
    case Opcode::add: return in[0] + in[1];
    case Opcode::sub: return in[0] - in[1];
    case Opcode::mul: return in[0] * in[1];
    case Opcode::min: return std::fmin(in[0], in[1]);
    case Opcode::max: return std::fmax(in[0], in[1]);
    case Opcode::fma: return std::fma(in[0], in[1], in[2]);
    default: return std::nullopt;
  }
}

std::optional<std::uint64_t> bits_of_float(std::optional<float> f) {
  return f && is_plain(*f) ? std::optional<std::uint64_t>(std::bit_cast<std::uint32_t>(*f)) : std::nullopt;
}

// Between 32-bit floats and integers of at most 32 bits.
std::optional<std::uint64_t> converted_float(const isa::Modifiers& m, std::uint64_t source) {
  const ScalarType to = m.types[0], from = m.types[1];
  if (to == ScalarType::f32 && !isa::is_floating(from) && isa::bits(from) <= 32 && m.rounding == Rounding::rn) {
    const int width = isa::bits(from);
    const double exact =
        isa::is_signed(from) ? double(as_signed(source & low_mask(width), width)) : double(source & low_mask(width));
    return bits_of_float(float(exact));
  }
  if (from != ScalarType::f32 || isa::is_floating(to) || isa::bits(to) != 32 || m.rounding != Rounding::rzi)
    return std::nullopt;
  const double whole = std::trunc(std::bit_cast<float>(std::uint32_t(source)));
  const bool fits = isa::is_signed(to) ? std::abs(whole) <= std::numeric_limits<std::int32_t>::max()
                                       : whole >= 0 && whole <= std::numeric_limits<std::uint32_t>::max();
  return fits ? std::optional<std::uint64_t>(std::uint64_t(std::int64_t(whole)) & low_mask(32)) : std::nullopt;
}

}  // namespace

std::optional<std::uint64_t> float_result_of(const ir::Operation& op, std::span<const std::uint64_t> sources) {
  const isa::Modifiers& m = op.modifiers;
  if (m.sat || m.absolute || m.propagate_nan || m.xorsign) return std::nullopt;
  if (op.opcode == Opcode::cvt && m.types.count == 2 && sources.size() == 1) return converted_float(m, sources[0]);
  const bool rounds_to_nearest = m.rounding == Rounding::none || m.rounding == Rounding::rn;
  if (m.type() != ScalarType::f32 || m.types.count != 1 || !rounds_to_nearest) return std::nullopt;
  float in[3] = {};
  if (sources.empty() || sources.size() > 3) return std::nullopt;
  for (std::size_t k = 0; k < sources.size(); ++k) {
    in[k] = std::bit_cast<float>(std::uint32_t(sources[k]));
    if (!is_plain(in[k])) return std::nullopt;
  }
  if (op.opcode != Opcode::setp) return bits_of_float(compute_floats(op.opcode, in));
  const auto holds = sources.size() == 2 ? compare_floats(m.compare, in[0], in[1]) : std::nullopt;
  return holds ? std::optional<std::uint64_t>(*holds) : std::nullopt;
}

}  // namespace kiln::flow
