#include "harness/contract/contract_reader.hpp"

namespace kiln::harness {
namespace {

using launch::Init;

// 1 TiB: more is a slip of the pen.
constexpr std::uint64_t max_buffer_bytes = std::uint64_t{1} << 40;
constexpr std::size_t max_values = std::size_t{1} << 20;  // longer lists travel as .npy

void read_bounds(const JsonNode& node, Init& init, bool integers) {
  node.each_element(2, 2, [&](std::size_t i, const JsonNode& bound) {
    double& end = i == 0 ? init.low : init.high;
    end = integers ? double(bound.integer(-max_exact_integer, max_exact_integer)) : bound.number();
  });
  if (init.low > init.high) node.fail("the lower bound exceeds the upper; got {}", node.shown());
}

double read_value(const JsonNode& node) {
  return node.json().is_number_integer() ? double(node.integer(-max_exact_integer, max_exact_integer)) : node.number();
}

void read_hex(const JsonNode& node, Init& init) {
  for (char c : node.text())
    if (c != ' ') init.text += c;
}

Init read_named(const JsonNode& node) {
  Init init;
  if (node.text() == "poison")
    init.kind = Init::Kind::poison;
  else if (node.text() == "zeros")
    init.kind = Init::Kind::zeros;
  else
    node.fail(
        "must be \"zeros\", \"poison\" or an object with normal, uniform, integers, npy, hex, values or "
        "quantised; got {}",
        node.shown());
  return init;
}

bool is_random(Init::Kind kind) {
  return kind == Init::Kind::normal || kind == Init::Kind::uniform || kind == Init::Kind::integers;
}

Init read_filled(const JsonNode& node) {
  node.expect_object({"normal", "uniform", "integers", "npy", "hex", "values", "seed"});
  Init init;
  int kinds = 0;
  const auto take = [&](const char* key, Init::Kind kind, auto read) {
    node.when(key, [&](const JsonNode& value) {
      ++kinds;
      init.kind = kind;
      read(value);
    });
  };
  take("normal", Init::Kind::normal, [&](const JsonNode& v) {
    init.high = v.number();
    if (init.high < 0) v.fail("the standard deviation must not be negative; got {}", v.shown());
  });
  take("uniform", Init::Kind::uniform, [&](const JsonNode& v) { read_bounds(v, init, false); });
  take("integers", Init::Kind::integers, [&](const JsonNode& v) { read_bounds(v, init, true); });
  take("npy", Init::Kind::npy, [&](const JsonNode& v) { init.text = v.text(); });
  take("hex", Init::Kind::hex, [&](const JsonNode& v) { read_hex(v, init); });
  take("values", Init::Kind::values, [&](const JsonNode& v) {
    v.each_element(0, max_values, [&](std::size_t, const JsonNode& n) { init.values.push_back(read_value(n)); });
  });
  if (kinds != 1) node.fail("must have one of normal, uniform, integers, npy, hex, values; got {}", node.shown());
  node.when("seed", [&](const JsonNode& v) {
    if (!is_random(init.kind)) v.fail("npy, hex and values take no seed");
    init.seed = v.whole();
  });
  return init;
}

Init read_quantised(const JsonNode& node) {
  node.expect_object({"quantised", "scales", "block", "global", "metadata", "mma_k"});
  const JsonNode source = node.at("quantised");
  Init init = read_filled(source);
  if (!is_random(init.kind) && init.kind != Init::Kind::npy)
    source.fail("what is quantised is normal, uniform, integers or npy");
  launch::Quantisation q;
  const auto name = [&](const char* key, std::string& out) {
    node.when(key, [&](const JsonNode& v) { out = v.text(); });
  };
  name("scales", q.scales);
  name("global", q.global);
  name("metadata", q.metadata);
  node.when("block", [&](const JsonNode& v) { q.block = std::uint32_t(v.whole(16, 64)); });
  node.when("mma_k", [&](const JsonNode& v) { q.mma_k = std::uint32_t(v.whole(1, 256)); });
  init.quantised = q;
  return init;
}

Init read_init(const JsonNode& node) {
  if (node.json().is_string()) return read_named(node);
  return node.json().is_object() && node.has("quantised") ? read_quantised(node) : read_filled(node);
}

}  // namespace

isa::ScalarType read_dtype(const JsonNode& node) {
  const auto type = isa::parse_type(node.text());
  const auto kind = type ? isa::type_class(*type) : isa::TypeClass::opaque;
  const bool plain =
      kind != isa::TypeClass::opaque && kind != isa::TypeClass::packed && kind != isa::TypeClass::predicate;
  if (!type || !plain || isa::bits(*type) > 64 || isa::bits(*type) < 4)
    node.fail("must be a PTX type of 4 to 64 bits, such as bf16, f32, e4m3 or u32; got {}", node.shown());
  return *type;
}

launch::Buffer read_buffer(const std::string& name, const JsonNode& node) {
  node.expect_object({"dtype", "shape", "init", "out"});
  launch::Buffer b;
  b.name = name;
  if (name.empty()) node.fail("a buffer needs a name");
  b.dtype = read_dtype(node.at("dtype"));
  const JsonNode shape = node.at("shape");
  std::uint64_t bits = std::uint64_t(isa::bits(b.dtype));
  shape.each_element(0, 16, [&](std::size_t, const JsonNode& extent) {
    b.shape.push_back(extent.whole(1));
    if (__builtin_mul_overflow(bits, b.shape.back(), &bits)) extent.fail("the buffer has more bits than 2^64");
  });
  if (bits / 8 > max_buffer_bytes) shape.fail("the buffer would have {} bytes, more than 1 TiB", bits / 8);
  if (bits % 8 != 0) shape.fail("must fill whole bytes; got {} bits", bits);
  node.when("init", [&](const JsonNode& v) { b.init = read_init(v); });
  node.when("out", [&](const JsonNode& v) { b.out = v.text(); });
  return b;
}

}  // namespace kiln::harness
