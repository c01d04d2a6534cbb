#include "sim/async/tensor_map.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "ptx/diag/error.hpp"
#include "ptx/isa/tensor_map.hpp"
#include "ptx/rules/finding.hpp"
#include "ptx/rules/tma.hpp"
#include "sim/core/fault.hpp"

namespace kiln::sim {
namespace {

constexpr std::array<char, 8> our_mark{'k', 'i', 'l', 'n', 't', 'm', '0', '1'};

}  // namespace

isa::Swizzle TensorMapImage::swizzle_of() const {
  const auto whole = isa::with_atomicity(isa::Swizzle(swizzle), isa::SwizzleAtomicity(atomicity));
  if (!whole) unmodelled("this swizzle with this atomicity");
  return *whole;
}

rules::Verdict judge(const TensorMapImage& m) {
  const int bits = isa::bits(isa::ScalarType(m.dtype));
  const std::int64_t inner = std::int64_t(m.box[0]) * bits / 8, shared = m.padded ? m.box[0] : inner;
  rules::Verdict v = rules::first(rules::tma_stride(std::int64_t(m.address)), rules::tma_inner_bytes(inner),
                                  rules::tma_inner_span(m.swizzle_of(), shared));
  for (std::size_t i = 0; i < std::size_t(m.rank); ++i) {
    v = rules::first(v, rules::tma_box(m.box[i]));
    if (i > 0) v = rules::first(v, rules::tma_stride(std::int64_t(m.strides[i - 1])));
  }
  return v;
}

TensorMapBytes encode(const launch::TensorMap& map, std::uint64_t buffer_address) {
  const std::uint64_t address = buffer_address + map.offset;
  TensorMapImage image;
  image.mark = our_mark;
  image.address = address;
  image.rank = std::uint8_t(map.rank);
  image.dtype = std::uint8_t(map.dtype);
  image.atomicity = std::uint8_t(isa::atomicity(map.swizzle));
  image.swizzle = std::uint8_t(image.atomicity ? isa::Swizzle::b128 : map.swizzle);
  image.oob = std::uint8_t(map.oob);
  image.padded = map.is_padded();
  for (std::size_t i = 0; i < std::size_t(map.rank); ++i) {
    image.dims[i] = map.dims[i];
    if (i > 0) image.strides[i - 1] = map.strides[i];
    image.box[i] = std::uint16_t(std::min<std::uint32_t>(map.box[i], 0xFFFF));
    image.element_strides[i] = std::uint8_t(map.element_strides[i]);
  }
  if (map.im2col) {
    if (map.im2col->walk != isa::Im2colWalk::window && !isa::walks_rows(map.swizzle))
      throw diag::InputError(
          fmt::format("tensor map of buffer `{}`: a walk along rows has a swizzle of 64B, 128B or "
                      "128B_atom_32B; got {}",
                      map.buffer, isa::spelling(map.swizzle)));
    image.box[0] = std::uint16_t(map.im2col->channels);
    image.pixels = std::uint16_t(map.im2col->column());
    image.walk = std::uint8_t(map.im2col->walk);
    for (std::size_t i = 0; i < image.lower.size(); ++i) {
      image.lower[i] = std::int16_t(map.im2col->lower[i]);
      image.upper[i] = std::int16_t(map.im2col->upper[i]);
    }
  }
  if (const rules::Verdict v = judge(image); v.broken()) {
    const diag::Diagnostic d = rules::finding(v);
    throw diag::InputError(fmt::format("tensor map of buffer `{}`: {} [{}]", map.buffer, d.message, d.slug));
  }
  return std::bit_cast<TensorMapBytes>(image);
}

TensorMapImage decode_tensor_map(const std::uint8_t* bytes) {
  TensorMapImage image;
  std::memcpy(&image, bytes, sizeof image);
  const bool encoded = image.mark == our_mark && image.rank >= 1 && image.rank <= isa::tma_max_rank;
  require(rules::tma_map(encoded), "an address that holds none");
  return image;
}

TensorMapImage begin_tensor_map() {
  TensorMapImage image;
  image.mark = our_mark;
  image.rank = 1;
  image.dtype = std::uint8_t(*isa::element_type(0));
  return image;
}

}  // namespace kiln::sim
