#include "dsl/launch.hpp"

#include <algorithm>

#include "ptx/diag/error.hpp"
#include "ptx/rules/finding.hpp"

namespace kiln::dsl {
namespace {

// A map of two dimensions with the box that the kernel's map has.
launch::TensorMap flat_map(const GlobalTensor& t, ScalarType type, bool k_inner, const launch::TensorMap& box) {
  launch::TensorMap m;
  m.buffer = t.buffer;
  m.dtype = type;
  m.dims = {k_inner ? t.k : t.mn, k_inner ? t.mn : t.k, 1, 1, 1};
  m.strides[1] = m.dims[0] * std::uint64_t(isa::bits(type)) / 8;
  m.box = {box.box[0], box.box[1], 1, 1, 1};
  m.swizzle = box.swizzle;
  m.padded = box.padded;
  return m;
}

// The same as TensorMap3d sees it.
launch::TensorMap map_of_spans(const launch::TensorMap& flat, int spans) {
  launch::TensorMap m = flat;
  const std::uint64_t span = flat.box[0], span_bytes = span * std::uint64_t(isa::bits(flat.dtype)) / 8;
  if (flat.dims[0] % span != 0)
    throw diag::InputError("buffer '" + flat.buffer + "': rows of " + std::to_string(flat.dims[0]) +
                           " elements are not a multiple of the " + std::to_string(span) +
                           " that the kernel's three-dimensional tensor map needs");
  m.rank = 3;
  m.dims = {span, flat.dims[1], flat.dims[0] / span, 1, 1};
  m.strides[1] = flat.strides[1];
  m.strides[2] = span_bytes;
  m.box[2] = std::uint32_t(spans);
  return m;
}

// What a parameter takes of the values that an argument may have; nothing where it takes none.
std::optional<launch::Param> given(launch::Contract& c, const ParameterInfo& p, const NamedArgument& a) {
  if (const auto* tensor = std::get_if<GlobalTensor>(&a.value); tensor && p.is_tensor_map && !p.is_bare_map) {
    const launch::TensorMap flat = flat_map(*tensor, p.type, p.k_inner, p.map);
    c.tensor_maps[p.name] = p.spans > 0 ? map_of_spans(flat, p.spans) : flat;
    return {{launch::TensorMapParam{p.name}}};
  }
  if (const auto* map = std::get_if<launch::TensorMap>(&a.value); map && p.is_bare_map) {
    c.tensor_maps[p.name] = *map;
    return {{launch::TensorMapParam{p.name}}};
  }
  if (const auto* buffer = std::get_if<std::string>(&a.value); buffer && p.is_pointer)
    return {{launch::PointerParam{*buffer, 0, p.type}}};
  if (const auto* table = std::get_if<launch::StructParam>(&a.value);
      table && p.table_bytes > 0 && table->size == p.table_bytes)
    return {{*table}};
  const bool is_number = !p.is_pointer && !p.is_tensor_map && p.table_bytes == 0;
  if (const auto* number = std::get_if<std::uint64_t>(&a.value); number && is_number)
    return {{launch::ScalarParam{p.type, *number}}};
  return std::nullopt;
}

[[noreturn]] void refuse(const Kernel& kernel, const Here& at, const std::string& got) {
  diag::Sink sink;
  diag::Diagnostic& d = sink.report(rules::finding(rules::Rule::launch_arguments, got));
  d.where.file = at.file, d.where.line = at.line;
  throw diag::Rejected("a launch of '" + kernel.name + "' breaks a rule", sink);
}

}  // namespace

NamedArgument::NamedArgument(std::string_view name_, Value value_) : name(name_), value(std::move(value_)) {}
NamedArgument::NamedArgument(const NamedArgument&) = default;
NamedArgument::~NamedArgument() = default;

launch::TensorMap tensor_map(const GlobalTensor& t, const TileShape& tile) {
  launch::TensorMap box;
  box.box = {std::uint32_t(tile.box_inner()), std::uint32_t(tile.box_outer()), 1, 1, 1};
  box.swizzle = tile.swizzle();
  box.padded = tile.element.packed_bits == 4 && tile.element.bits == 8;
  return flat_map(t, tile.element.scalar, tile.order == Major::K, box);
}

void launch_kernel(launch::Contract& contract, const Kernel& kernel, LaunchGrid grid,
                   std::vector<NamedArgument> arguments) {
  launch::Launch launch;
  launch.entry = kernel.name;
  launch.grid = grid.ctas;
  launch.at = grid.at;
  launch.block = kernel.block;
  launch.cluster = kernel.cluster;
  launch.dynamic_smem = kernel.dynamic_smem;
  for (const ParameterInfo& p : kernel.parameters) {
    const auto named = [&](const NamedArgument& a) { return a.name == p.name; };
    const auto first = std::find_if(arguments.begin(), arguments.end(), named);
    if (std::count_if(arguments.begin(), arguments.end(), named) != 1)
      refuse(kernel, grid.at,
             "'" + p.name + "' " + (first == arguments.end() ? "is missing" : "is given more than once"));
    std::optional<launch::Param> param = given(contract, p, *first);
    if (!param) refuse(kernel, grid.at, "'" + p.name + "' has a value of another type");
    launch.params.push_back(std::move(*param));
  }
  if (arguments.size() != kernel.parameters.size())
    refuse(kernel, grid.at, "a parameter that the kernel does not have");
  contract.launches.push_back(std::move(launch));
}

}  // namespace kiln::dsl
