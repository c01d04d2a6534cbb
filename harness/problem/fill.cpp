#include "harness/problem/fill.hpp"

#include <fmt/format.h>

#include <cmath>

#include "harness/host/files.hpp"
#include "harness/problem/element.hpp"
#include "harness/problem/npy.hpp"
#include "harness/problem/quantisation.hpp"
#include "harness/problem/random.hpp"
#include "ptx/diag/refuse.hpp"

namespace kiln::harness {
namespace {

using isa::ScalarType;
using launch::Buffer;
using Kind = launch::Init::Kind;

[[noreturn]] void fail(const Buffer& b, std::string_view why) { diag::refuse("buffer {}: {}", b.name, why); }

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

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

void fill_values(Buffer& b) {
  const std::vector<double>& values = b.init.values;
  if (!is_addressable(b.dtype)) fail(b, fmt::format("{} takes no list of values", isa::spelling(b.dtype)));
  if (values.size() != b.elements()) fail(b, fmt::format("has {} values for {} elements", values.size(), b.elements()));
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
