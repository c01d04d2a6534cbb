#include "harness/fill.hpp"

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <cstring>

#include "harness/files.hpp"
#include "harness/npy.hpp"
#include "harness/quantisation.hpp"
#include "ptx/diag/error.hpp"
#include "ptx/num/format.hpp"

namespace kiln::harness {
namespace {

using isa::ScalarType;
using launch::Buffer;
using Kind = launch::Init::Kind;

[[noreturn]] void fail(const Buffer& b, std::string_view why) {
  throw diag::InputError(fmt::format("buffer {}: {}", b.name, why));
}

std::uint64_t whole_number(ScalarType type, double value) {
  const int bits = isa::bits(type);
  const double rounded = std::nearbyint(value);
  if (isa::is_signed(type)) {
    const double limit = std::ldexp(1, bits - 1);
    if (rounded >= limit) return (std::uint64_t{1} << (bits - 1)) - 1;
    return std::uint64_t(std::int64_t(std::max(rounded, -limit)));
  }
  if (rounded >= std::ldexp(1, bits)) return ~std::uint64_t{0} >> (64 - bits);
  return rounded > 0 ? std::uint64_t(rounded) : 0;
}

// Whether `bits` binary places hold every whole number from `low` to `high`.
bool holds(ScalarType type, double low, double high) {
  if (isa::is_floating(type)) return true;
  const int bits = isa::bits(type);
  if (isa::is_signed(type)) return low >= -std::ldexp(1, bits - 1) && high < std::ldexp(1, bits - 1);
  return low >= 0 && high < std::ldexp(1, bits);
}

void fill_random(Buffer& b) {
  if (!is_addressable(b.dtype))
    fail(b, fmt::format("{} has no element-wise fill; use zeros, poison, hex or npy", isa::spelling(b.dtype)));
  const RandomStream random(b.init.seed, b.name);
  const bool integers = b.init.kind == Kind::integers;
  if (integers && !holds(b.dtype, b.init.low, b.init.high))
    fail(b, fmt::format("{} cannot hold all integers from {} to {}", isa::spelling(b.dtype), std::int64_t(b.init.low),
                        std::int64_t(b.init.high)));
  if (!integers && isa::type_class(b.dtype) == isa::TypeClass::untyped)
    fail(b, fmt::format("{} holds bits, not numbers; use integers, hex or npy", isa::spelling(b.dtype)));
  const bool whole = integers && !isa::is_floating(b.dtype);
  for (std::uint64_t i = 0; i < b.elements(); ++i) {
    const double number = drawn_number(b.init, random, i);
    store_element(b.bytes, b.dtype, i, whole ? std::uint64_t(std::int64_t(number)) : quantise(b.dtype, number));
  }
}

// Where an element of fewer than 8 bits lies: in one byte, or across two.
struct SmallElement {
  std::uint64_t byte;
  unsigned shift, mask;
  SmallElement(ScalarType type, std::uint64_t index) {
    const auto bits = std::uint64_t(isa::bits(type));
    byte = index * bits / 8;
    shift = unsigned(index * bits % 8);
    mask = (1u << bits) - 1;
  }
  unsigned load(const std::vector<std::uint8_t>& bytes) const {
    return bytes[byte] | (shift + unsigned(std::bit_width(mask)) > 8 ? unsigned(bytes[byte + 1]) << 8 : 0u);
  }
};

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

void fill_values(Buffer& b) {
  const std::vector<double>& values = b.init.values;
  if (!is_addressable(b.dtype)) fail(b, fmt::format("{} takes no list of values", isa::spelling(b.dtype)));
  if (values.size() != b.elements())
    fail(b, fmt::format("has {} values for {} elements", values.size(), b.elements()));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::uint64_t word = quantise(b.dtype, values[i]);
    if (element_value(b.dtype, word) != values[i])
      fail(b, fmt::format("{} does not hold {}", isa::spelling(b.dtype), values[i]));
    store_element(b.bytes, b.dtype, i, word);
  }
}

void fill_hex(Buffer& b) {
  const std::string& text = b.init.text;
  if (text.size() != 2 * b.bytes.size())
    fail(b, fmt::format("hex has {} digits, {} bytes need {}", text.size(), b.bytes.size(), 2 * b.bytes.size()));
  for (std::size_t i = 0; i < b.bytes.size(); ++i) {
    const int high = hex_digit(text[2 * i]), low = hex_digit(text[2 * i + 1]);
    if (high < 0 || low < 0) fail(b, fmt::format("hex has '{}', which is no pair of digits", text.substr(2 * i, 2)));
    b.bytes[i] = std::uint8_t(high << 4 | low);
  }
}

}  // namespace

double drawn_number(const launch::Init& init, const RandomStream& random, std::uint64_t index) {
  if (init.kind == Kind::normal) return init.high * random.normal(index);
  // fma: compilers may contract the plain expression on some machines and not on others
  if (init.kind == Kind::uniform) return std::fma(init.high - init.low, random.unit(index), init.low);
  const auto low = std::int64_t(init.low), high = std::int64_t(init.high);
  const std::uint64_t range = std::uint64_t(high) - std::uint64_t(low) + 1;
  return double(std::int64_t(std::uint64_t(low) + random.below(index, range)));
}

bool is_addressable(ScalarType type) {
  const int bits = isa::bits(type);
  return bits == 4 || bits == 6 || bits == 8 || bits == 16 || bits == 32 || bits == 64;
}

void store_element(std::vector<std::uint8_t>& bytes, ScalarType type, std::uint64_t index, std::uint64_t word) {
  const auto size = std::size_t(isa::bits(type) / 8);
  if (size != 0) {
    std::memcpy(&bytes[index * size], &word, size);
    return;
  }
  const SmallElement at(type, index);
  const unsigned bits = at.mask << at.shift;
  const unsigned both = (at.load(bytes) & ~bits) | (unsigned(word) << at.shift & bits);
  bytes[at.byte] = std::uint8_t(both);
  if (bits > 0xFF) bytes[at.byte + 1] = std::uint8_t(both >> 8);
}

std::uint64_t load_element(const std::vector<std::uint8_t>& bytes, ScalarType type, std::uint64_t index) {
  const auto size = std::size_t(isa::bits(type) / 8);
  if (size == 0) {
    const SmallElement at(type, index);
    return at.load(bytes) >> at.shift & at.mask;
  }
  std::uint64_t word = 0;
  std::memcpy(&word, &bytes[index * size], size);
  return word;
}

std::uint64_t quantise(ScalarType type, double value) {
  if (!isa::is_floating(type)) return whole_number(type, value);
  if (type == ScalarType::ue8m0) return num::encode(type, std::abs(value), num::Rounding::rp, true);
  if (type == ScalarType::ue4m3) value = std::abs(value);
  const auto single = float(value);
  // The common case: exact in f32, so that one rounding is still one rounding, and far from overflow.
  const bool exact = double(single) == value && std::abs(value) < 0x1p120;
  if (exact && type == ScalarType::bf16) return num::f32_to_bf16_rn(std::bit_cast<std::uint32_t>(single));
  if (exact && type == ScalarType::f32) return std::bit_cast<std::uint32_t>(single);
  return num::encode(type, value, num::Rounding::rn, true);
}

double element_value(ScalarType type, std::uint64_t word) {
  switch (type) {
    case ScalarType::bf16: return std::bit_cast<float>(num::bf16_to_f32(std::uint16_t(word)));
    case ScalarType::f32: return std::bit_cast<float>(std::uint32_t(word));
    default: break;
  }
  if (isa::is_floating(type)) return num::to_double(type, word);
  if (!isa::is_signed(type)) return double(word);
  const int unused = 64 - isa::bits(type);
  return double(std::int64_t(word << unused) >> unused);
}

void fill(Buffer& b, const std::string& folder) {
  if (b.init.quantised) {
    launch::Contract alone;
    alone.buffers.push_back(b);
    fill_quantised(alone, alone.buffers[0], folder);
    b = std::move(alone.buffers[0]);
    return;
  }
  if (b.init.kind == Kind::npy) return load_npy(path_from(folder, b.init.text), b);
  b.bytes.assign(b.size(), b.init.kind == Kind::poison ? 0xFF : 0);
  switch (b.init.kind) {
    case Kind::zeros:
    case Kind::poison:
    case Kind::npy:
    case Kind::quantised: break;
    case Kind::hex: fill_hex(b); break;
    case Kind::values: fill_values(b); break;
    case Kind::normal:
    case Kind::uniform:
    case Kind::integers: fill_random(b); break;
  }
}

void fill(launch::Contract& contract, const std::string& folder) {
  for (Buffer& b : contract.buffers)
    if (!b.init.quantised) fill(b, folder);
  for (Buffer& b : contract.buffers)
    if (b.init.quantised) fill_quantised(contract, b, folder);
}

}  // namespace kiln::harness
