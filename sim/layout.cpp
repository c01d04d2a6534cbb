#include "sim/layout.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "ptx/diag/error.hpp"
#include "sim/core/address_map.hpp"
#include "sim/core/stack.hpp"
#include "sim/async/tensor_map.hpp"

namespace kiln::sim {
namespace {

using diag::InputError;
using isa::Space;

bool is_dynamic(const ir::Variable& v) {
  return v.linkage == ir::Linkage::external ||
         std::any_of(v.dims.begin(), v.dims.end(), [](const auto& extent) { return !extent; });
}

// Module variables in the order of the module, then the function's own.
std::vector<std::size_t> in_declaration_order(const ir::Code& code) {
  std::vector<std::size_t> order(code.symbols.size());
  for (std::size_t k = 0; k < order.size(); ++k) order[k] = k;
  const auto rank = [&](std::size_t k) {
    const ir::Symbol& s = code.symbols[k];
    if (!s.is_module_scope) return code.module->items.size() + k;
    const auto& items = code.module->items;
    const auto found = std::find_if(items.begin(), items.end(),
                                    [&](const ir::Item& i) { return std::get_if<ir::Variable>(&i) == s.variable; });
    return std::size_t(found - items.begin());
  };
  std::sort(order.begin(), order.end(), [&](std::size_t x, std::size_t y) { return rank(x) < rank(y); });
  return order;
}

void place_shared(const ir::Code& code, Layout& layout, std::uint32_t dynamic_bytes) {
  std::uint64_t end = reserved_shared_bytes, dynamic_alignment = 16;
  const std::vector<std::size_t> order = in_declaration_order(code);
  for (const std::size_t k : order) {
    const ir::Variable& v = *code.symbols[k].variable;
    if (!isa::is_shared(v.space)) continue;
    if (is_dynamic(v)) {
      dynamic_alignment = std::max(dynamic_alignment, v.alignment());
      continue;
    }
    end = round_up(end, v.alignment());
    layout.addresses[k] = end;
    layout.shared.push_back({v.name, std::uint32_t(end), std::uint32_t(v.bytes())});
    end += v.bytes();
  }
  end = std::min<std::uint64_t>(end, std::uint64_t{1} << 31);  // no CTA has as much, and the launch is refused
  layout.static_shared_end = std::uint32_t(end);
  layout.dynamic_shared = std::uint32_t(round_up(end, dynamic_alignment));
  for (const std::size_t k : order)
    if (isa::is_shared(code.symbols[k].variable->space) && is_dynamic(*code.symbols[k].variable))
      layout.addresses[k] = layout.dynamic_shared;
  layout.shared_bytes = (dynamic_bytes ? layout.dynamic_shared : layout.static_shared_end) + dynamic_bytes;
}

void place_parameters(const ir::Function& f, Layout& layout) {
  std::uint64_t end = 0;
  for (const ir::Variable& p : f.parameters) {
    end = round_up(end, p.alignment());
    layout.parameters.push_back(std::uint32_t(end));
    end += p.bytes();
  }
  layout.parameter_bytes = std::uint32_t(end);
}

// Writes one contract parameter; `room` is what the kernel's parameter holds.
class Writer {
 public:
  Writer(const launch::Contract& contract, const GlobalMemory& memory, std::vector<std::uint8_t>& block,
         std::string name)
      : contract_(contract), memory_(memory), block_(block), name_(std::move(name)) {}

  void write(const launch::Param& p, std::size_t at, std::size_t room, bool exact) {
    if (const auto* s = std::get_if<launch::ScalarParam>(&p.value)) {
      put(&s->bits, std::size_t(isa::bits(s->type) + 7) / 8, at, room, exact);
    } else if (const auto* pointer = std::get_if<launch::PointerParam>(&p.value)) {
      const std::uint64_t address = memory_.address(pointer->buffer) + pointer->offset;
      put(&address, sizeof address, at, room, exact);
    } else if (const auto* map = std::get_if<launch::TensorMapParam>(&p.value)) {
      const auto found = contract_.tensor_maps.find(map->tensor_map);
      if (found == contract_.tensor_maps.end())
        throw InputError("the launch has no tensor map `" + map->tensor_map + "`");
      const TensorMapBytes bytes = encode(found->second, memory_.address(found->second.buffer));
      put(bytes.data(), bytes.size(), at, room, exact);
    } else if (const auto* raw = std::get_if<launch::BytesParam>(&p.value)) {
      put(raw->bytes.data(), raw->bytes.size(), at, room, exact);
    } else if (const auto* record = std::get_if<launch::StructParam>(&p.value)) {
      if (record->size != room) refuse(record->size, room);
      for (const auto& [offset, field] : record->fields) {
        if (offset > room) refuse(offset, room);
        write(field, at + offset, room - offset, false);
      }
    }
  }

 private:
  [[noreturn]] void refuse(std::size_t given, std::size_t room) const {
    throw InputError(fmt::format("parameter {} takes {} bytes; the contract gives {}", name_, room, given));
  }
  void put(const void* from, std::size_t bytes, std::size_t at, std::size_t room, bool exact) {
    if (exact ? bytes != room : bytes > room) refuse(bytes, room);
    std::memcpy(block_.data() + at, from, bytes);
  }

  const launch::Contract& contract_;
  const GlobalMemory& memory_;
  std::vector<std::uint8_t>& block_;
  std::string name_;
};

}  // namespace

Layout make_layout(const ir::Code& code, const launch::Launch& launch, GlobalMemory& memory) {
  Layout layout;
  layout.addresses.assign(code.symbols.size(), 0);
  place_shared(code, layout, launch.dynamic_smem);
  place_parameters(*code.function, layout);
  std::uint64_t local = 0;
  for (std::size_t k = 0; k < code.symbols.size(); ++k) {
    const ir::Symbol& s = code.symbols[k];
    const ir::Variable& v = *s.variable;
    if (s.is_parameter && s.parameter_index >= 0) {
      layout.addresses[k] = first_parameter + layout.parameters[std::size_t(s.parameter_index)];
    } else if (v.space == Space::local || v.space == Space::param) {  // .param: what a function takes or a call passes
      local = round_up(local, v.alignment());
      layout.addresses[k] = local_base + local;
      local += v.bytes();
    } else if (s.is_module_scope && (v.space == Space::global || v.space == Space::constant)) {
      const std::uint64_t* known = memory.find(v);
      layout.addresses[k] = known ? *known : memory.add(v, *code.module);
    }
  }
  const bool grows = std::any_of(code.operations.begin(), code.operations.end(), [](const ir::Operation& op) {
    return op.opcode == isa::Opcode::alloca || op.opcode == isa::Opcode::stacksave ||
           op.opcode == isa::Opcode::stackrestore;
  });
  if (grows) {
    layout.stack = std::uint32_t(local = round_up(local, stack_alignment));
    local += layout.stack_bytes = stack_room;
  }
  layout.local_bytes = std::uint32_t(round_up(local, 16));
  return layout;
}

std::vector<std::uint8_t> parameter_block(const ir::Code& code, const Layout& layout, const launch::Contract& contract,
                                          const launch::Launch& launch, const GlobalMemory& memory) {
  const auto& wanted = code.function->parameters;
  if (wanted.size() != launch.params.size())
    throw InputError(fmt::format("kernel `{}` takes {} parameters; the contract gives {}", code.function->name,
                                 wanted.size(), launch.params.size()));
  std::vector<std::uint8_t> block(layout.parameter_bytes, 0);
  for (std::size_t k = 0; k < wanted.size(); ++k) {
    Writer writer(contract, memory, block, fmt::format("{} (`{}`)", k, wanted[k].name));
    writer.write(launch.params[k], layout.parameters[k], wanted[k].bytes(), true);
  }
  return block;
}

}  // namespace kiln::sim
