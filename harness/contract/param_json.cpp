#include <cmath>

#include "harness/contract/contract_reader.hpp"
#include "harness/entry/parameters.hpp"
#include "harness/problem/element.hpp"
#include "ptx/isa/launch_limits.hpp"
#include "ptx/num/format.hpp"

namespace kiln::harness {
namespace {

using isa::ScalarType;
using launch::Param;

constexpr std::uint64_t max_param_bytes = isa::max_parameter_bytes;
constexpr int max_struct_depth = 8;

constexpr ScalarType scalar_types[] = {ScalarType::u8,  ScalarType::u16,  ScalarType::u32, ScalarType::u64,
                                       ScalarType::s8,  ScalarType::s16,  ScalarType::s32, ScalarType::s64,
                                       ScalarType::f16, ScalarType::bf16, ScalarType::f32, ScalarType::f64};

std::uint64_t read_bits(const JsonNode& node, ScalarType type) {
  const int bits = isa::bits(type);
  if (isa::is_floating(type)) {
    const double value = node.number();
    const std::uint64_t word = num::encode(type, value);
    if (std::isfinite(value) && !std::isfinite(element_value(type, word)))
      node.fail("is beyond the range of {}; got {}", isa::spelling(type), node.shown());
    return word;
  }
  const std::uint64_t mask = ~std::uint64_t{0} >> (64 - bits);
  if (!isa::is_signed(type)) return node.whole(0, mask);
  const auto most = std::int64_t(mask >> 1);
  return std::uint64_t(node.integer(-most - 1, most)) & mask;
}

launch::BytesParam read_hex(const JsonNode& node) {
  launch::BytesParam out;
  const std::string& text = node.text();
  if (text.empty() || text.size() % 2 != 0) node.fail("must be pairs of hex digits; got {}", node.shown());
  if (text.size() / 2 > max_param_bytes) node.fail("has {} bytes, more than {}", text.size() / 2, max_param_bytes);
  for (std::size_t i = 0; i < text.size(); i += 2) {
    const std::string pair = text.substr(i, 2);
    if (pair.find_first_not_of("0123456789abcdefABCDEF") != std::string::npos)
      node.fail("has \"{}\", which is no pair of hex digits", pair);
    out.bytes.push_back(std::uint8_t(std::stoi(pair, nullptr, 16)));
  }
  return out;
}

launch::PointerParam read_pointer(const JsonNode& buffer, const JsonNode& node, const launch::Contract& contract) {
  const auto multimem = contract.multimems.find(buffer.text());
  const bool several = multimem != contract.multimems.end();
  const launch::Buffer* target = contract.find(several ? multimem->second.front() : buffer.text());
  if (!target) buffer.fail("there is no buffer {}", buffer.shown());
  launch::PointerParam p{several ? multimem->first : target->name, 0};
  node.when("offset", [&](const JsonNode& v) { p.offset = v.whole(0, target->size()); });
  return p;
}

launch::StructParam read_struct(const JsonNode& fields, const JsonNode& node, const launch::Contract& contract,
                                int depth) {
  if (depth >= max_struct_depth) fields.fail("structs nest deeper than {} levels", max_struct_depth);
  launch::StructParam s;
  s.size = std::uint32_t(node.at("size").whole(1, max_param_bytes));
  fields.each_element(0, max_param_bytes, [&](std::size_t, const JsonNode& field) {
    const auto at = std::uint32_t(field.at("at").whole(0, s.size));
    Param value = read_param(field, contract, depth + 1);
    if (const std::uint64_t bytes = parameter_bytes(value); at + bytes > s.size)
      field.fail("{} bytes at {} do not fit a struct of {}", bytes, at, s.size);
    s.fields.push_back({at, std::move(value)});
  });
  return s;
}

// The one key that says what the parameter is.
std::string param_kind(const JsonNode& node) {
  std::string kind;
  node.each_member([&](const std::string& key, const JsonNode& value) {
    if (key == "at" || key == "size" || key == "offset") return;
    const auto type = isa::parse_type(key);
    const bool scalar =
        type && std::find(std::begin(scalar_types), std::end(scalar_types), *type) != std::end(scalar_types);
    if (!scalar && key != "tensor_map" && key != "buffer" && key != "hex" && key != "struct")
      value.fail(
          "unknown kind of parameter; known are tensor_map, buffer, hex, struct, u8...u64, s8...s64, f16, bf16, f32, "
          "f64");
    if (!kind.empty()) node.fail("a parameter is one thing; got both {} and {}", kind, key);
    kind = key;
  });
  if (kind.empty()) node.fail("names no value; got {}", node.shown());
  return kind;
}

void check_companions(const JsonNode& node, const std::string& kind, bool is_field) {
  const auto allow = [&](const char* key, bool allowed) {
    node.when(key, [&](const JsonNode& v) {
      if (!allowed) v.fail("a {} parameter takes no \"{}\"", kind, key);
    });
  };
  allow("offset", kind == "buffer");
  allow("size", kind == "struct");
  allow("at", is_field);
}

}  // namespace

Param read_param(const JsonNode& node, const launch::Contract& contract, int depth) {
  const std::string kind = param_kind(node);
  check_companions(node, kind, depth > 0);
  const JsonNode value = node.at(kind.c_str());
  if (kind == "buffer") return {read_pointer(value, node, contract)};
  if (kind == "hex") return {read_hex(value)};
  if (kind == "struct") return {read_struct(value, node, contract, depth)};
  if (kind == "tensor_map") {
    if (!contract.tensor_maps.count(value.text())) value.fail("there is no tensor map {}", value.shown());
    return {launch::TensorMapParam{value.text()}};
  }
  const ScalarType type = *isa::parse_type(kind);
  return {launch::ScalarParam{type, read_bits(value, type)}};
}

}  // namespace kiln::harness
