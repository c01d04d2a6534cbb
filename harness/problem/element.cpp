#include "harness/problem/element.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "ptx/num/format.hpp"

namespace kiln::harness {
namespace {

using isa::ScalarType;

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

}  // namespace

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

}  // namespace kiln::harness
