#include "harness/contract/contract_reader.hpp"
#include "ptx/isa/tma.hpp"

namespace kiln::harness {
namespace {

using launch::TensorMap;

constexpr std::uint64_t max_extent = std::uint64_t{1} << 32, max_stride = (std::uint64_t{1} << 40) - 1;
constexpr std::uint64_t max_box = 0x7FFFFFFF;  // what TMA allows is a rule, and the verifier's business

void refuse_later_maps(const JsonNode& node) {
  node.when("place", [](const JsonNode& v) { v.fail("tensor maps placed in a buffer are not supported yet"); });
  node.when("interleave", [](const JsonNode& v) {
    if (v.text() != "none") v.fail("interleaved layouts are not supported yet; got {}", v.shown());
  });
}

void read_dims(const JsonNode& node, const launch::Buffer& buffer, TensorMap& map) {
  node.when("dims", [&](const JsonNode& dims) {
    map.rank = int(dims.each_element(1, isa::tma_max_rank, [&](std::size_t i, const JsonNode& extent) {
      map.dims[i] = extent.whole(1, max_extent);
    }));
  });
  if (node.has("dims")) return;
  const std::size_t rank = buffer.shape.size();
  if (rank < 1 || rank > std::size_t(isa::tma_max_rank))
    node.fail("\"dims\" is missing, and buffer {} of {} extents is no tensor", buffer.name, rank);
  map.rank = int(rank);
  for (std::size_t i = 0; i < rank; ++i) map.dims[i] = buffer.shape[rank - 1 - i];
}

std::uint64_t packed_stride(const TensorMap& map, std::size_t dimension) {
  if (dimension > 1) return map.strides[dimension - 1] * map.dims[dimension - 1];
  return (map.dims[0] * std::uint64_t(isa::bits(map.dtype)) + 7) / 8;
}

void read_strides(const JsonNode& node, TensorMap& map) {
  const auto count = std::size_t(map.rank - 1);
  if (!node.has("strides")) {
    for (std::size_t i = 1; i <= count; ++i) map.strides[i] = packed_stride(map, i);
    return;
  }
  node.at("strides").each_element(
      count, count, [&](std::size_t i, const JsonNode& stride) { map.strides[i + 1] = stride.whole(0, max_stride); });
}

void read_box(const JsonNode& node, TensorMap& map) {
  const auto rank = std::size_t(map.rank);
  node.each_element(
      rank, rank, [&](std::size_t i, const JsonNode& extent) { map.box[i] = std::uint32_t(extent.whole(0, max_box)); });
}

isa::Im2colWalk read_walk(const JsonNode& node) {
  using isa::Im2colWalk;
  for (Im2colWalk w : {Im2colWalk::window, Im2colWalk::row, Im2colWalk::row_128})
    if (node.text() == isa::spelling(w)) return w;
  node.fail("must be window, w or w128; got {}", node.shown());
}

launch::Im2col read_im2col(const JsonNode& node, int rank) {
  node.expect_object({"lower", "upper", "channels", "pixels", "walk"});
  constexpr int most_corner = 1 << 15;
  if (rank < 3) node.fail("has at least 3 extents; got {}", rank);
  launch::Im2col im2col;
  node.when("walk", [&](const JsonNode& v) { im2col.walk = read_walk(v); });
  const auto corners = [&](const char* key, auto& to) {
    const auto count = im2col.walk == isa::Im2colWalk::window ? std::size_t(rank - 2) : 1;
    node.at(key).each_element(count, count, [&](std::size_t i, const JsonNode& corner) {
      to[i] = int(corner.integer(-most_corner, most_corner - 1));
    });
  };
  corners("lower", im2col.lower);
  corners("upper", im2col.upper);
  im2col.channels = std::uint32_t(node.at("channels").whole(0, max_box));
  if (im2col.walk != isa::Im2colWalk::row_128) im2col.pixels = std::uint32_t(node.at("pixels").whole(0, max_box));
  return im2col;
}

isa::Swizzle read_swizzle(const JsonNode& node) {
  using isa::Swizzle;
  for (Swizzle s :
       {Swizzle::none, Swizzle::b32, Swizzle::b64, Swizzle::b128, Swizzle::b128_atom32, Swizzle::b128_atom64})
    if (node.text() == isa::spelling(s)) return s;
  node.fail("must be none, 32B, 64B, 128B, 128B_atom_32B or 128B_atom_64B; got {}", node.shown());
}

launch::OutOfBounds read_oob(const JsonNode& node) {
  if (node.text() == "zero") return launch::OutOfBounds::zero;
  if (node.text() == "nan") return launch::OutOfBounds::nan;
  node.fail("must be zero or nan; got {}", node.shown());
}

// 16U4_ALIGN16B; 6-bit elements have no other form.
bool read_padded(const JsonNode& node, isa::ScalarType dtype) {
  if (node.text() != "16B") node.fail("must be 16B; got {}", node.shown());
  if (isa::bits(dtype) != 4) node.fail("only 4-bit elements have a choice; got {}", isa::spelling(dtype));
  return true;
}

}  // namespace

TensorMap read_tensor_map(const JsonNode& node, const launch::Contract& contract) {
  refuse_later_maps(node);
  node.expect_object({"buffer", "dtype", "dims", "strides", "box", "element_strides", "swizzle", "interleave", "oob",
                      "offset", "align", "im2col"});
  TensorMap map;
  const launch::Buffer& buffer = read_buffer_name(node.at("buffer"), contract);
  map.buffer = buffer.name;
  map.dtype = buffer.dtype;
  node.when("dtype", [&](const JsonNode& v) { map.dtype = read_dtype(v); });
  node.when("swizzle", [&](const JsonNode& v) { map.swizzle = read_swizzle(v); });
  node.when("oob", [&](const JsonNode& v) { map.oob = read_oob(v); });
  node.when("offset", [&](const JsonNode& v) { map.offset = v.whole(0, max_stride); });
  node.when("align", [&](const JsonNode& v) { map.padded = read_padded(v, map.dtype); });
  read_dims(node, buffer, map);
  read_strides(node, map);
  if (node.has("im2col"))
    map.im2col = read_im2col(node.at("im2col"), map.rank);
  else
    read_box(node.at("box"), map);
  node.when("element_strides", [&](const JsonNode& v) {
    const auto rank = std::size_t(map.rank);
    v.each_element(rank, rank, [&](std::size_t i, const JsonNode& stride) {
      map.element_strides[i] = std::uint32_t(stride.whole(1, isa::tma_max_element_stride));
    });
  });
  return map;
}

}  // namespace kiln::harness
