#include "harness/entry/parameters.hpp"

#include <algorithm>
#include <cstring>

namespace kiln::harness {
namespace {

struct Size {
  std::uint64_t operator()(const launch::ScalarParam& p) const { return std::uint64_t(isa::bits(p.type)) / 8; }
  std::uint64_t operator()(const launch::PointerParam&) const { return sizeof(std::uint64_t); }
  std::uint64_t operator()(const launch::TensorMapParam&) const { return isa::tensor_map_bytes; }
  std::uint64_t operator()(const launch::BytesParam& p) const { return p.bytes.size(); }
  std::uint64_t operator()(const launch::StructParam& p) const { return p.size; }
};

struct Writer {
  const ParameterContext& context;
  std::uint8_t* to;

  void operator()(const launch::ScalarParam& p) const { std::memcpy(to, &p.bits, std::size_t(isa::bits(p.type)) / 8); }
  void operator()(const launch::PointerParam& p) const {
    const std::uint64_t address = context.address(p.buffer) + p.offset;
    std::memcpy(to, &address, sizeof address);
  }
  void operator()(const launch::TensorMapParam& p) const {
    const auto bytes = context.tensor_map(p.tensor_map);
    std::copy(bytes.begin(), bytes.end(), to);
  }
  void operator()(const launch::BytesParam& p) const { std::copy(p.bytes.begin(), p.bytes.end(), to); }
  void operator()(const launch::StructParam& p) const {
    for (const launch::StructField& f : p.fields) std::visit(Writer{context, to + f.at}, f.value.value);
  }
};

}  // namespace

std::uint64_t parameter_bytes(const launch::Param& param) { return std::visit(Size{}, param.value); }

std::vector<std::uint8_t> parameter_image(const launch::Param& param, const ParameterContext& context) {
  std::vector<std::uint8_t> bytes(parameter_bytes(param), 0);
  std::visit(Writer{context, bytes.data()}, param.value);
  return bytes;
}

}  // namespace kiln::harness
