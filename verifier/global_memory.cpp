#include "verifier/global_memory.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "ptx/flow/definitions.hpp"
#include "ptx/isa/spaces.hpp"
#include "ptx/ops/operations.hpp"

namespace kiln::verifier {
namespace {

using isa::Opcode;
using Kind = ir::Argument::Kind;

// Where a pointer comes from: a place in the parameters, or a variable.
struct Root {
  std::uint32_t symbol = 0;
  std::int64_t offset = 0;
  auto operator<=>(const Root&) const = default;
};
// Names of memory; none: not followed.
using Memory = std::set<std::string>;

struct GlobalUse {
  bool writes = false, is_atomic = false;
  Memory memory{};

  bool may_meet(const GlobalUse& o) const {
    if (memory.empty() || o.memory.empty()) return true;
    return std::any_of(memory.begin(), memory.end(), [&](const std::string& m) { return o.memory.contains(m); });
  }
};

// The operand that names global memory, and how.
struct Named {
  const ir::Argument* address = nullptr;
  bool writes = false, is_atomic = false;
};

Named named_memory(const ir::Operation& op) {
  const isa::Modifiers& m = op.modifiers;
  const bool is_global = m.space() == isa::Space::global || m.space() == isa::Space::generic;
  const bool comes_in = m.completion == isa::Completion::mbarrier;
  switch (op.opcode) {
    case Opcode::ld:
    case Opcode::st:
      if (!is_global) return {};
      return {ops::roles<ops::MemoryAccess>(op).address.pointer(), op.opcode == Opcode::st};
    case Opcode::atom:
    case Opcode::red:
      if (!is_global) return {};
      return {ops::roles<ops::Atomic>(op).address.pointer(), true, true};
    case Opcode::cp_async: return {ops::roles<ops::CpAsync>(op).from.pointer()};
    case Opcode::cp_async_bulk:
    case Opcode::cp_reduce_async_bulk: {
      const auto copy = ops::roles<ops::BulkCopy>(op);
      if (comes_in && isa::is_shared(m.spaces[1])) return {};  // from CTA to CTA
      return comes_in ? Named{copy.from.pointer()} : Named{copy.to.pointer(), true};
    }
    case Opcode::cp_async_bulk_tensor:
    case Opcode::cp_reduce_async_bulk_tensor: return {ops::roles<ops::TensorCopy>(op).tensor.pointer(), !comes_in};
    default: return {};
  }
}

// Where the pointers of a kernel come from: sums are followed to what they add to.
class Roots {
 public:
  explicit Roots(const ir::Code& code) : code_(code), definitions_(code) {}

  std::set<Root> of(const ir::Argument& a) {
    std::set<Root> out;
    std::set<ir::RegisterId> seen;
    follow(a, out, seen);
    return out;
  }
  /// An address of shared memory.
  bool is_elsewhere(const ir::Argument& a) {
    const std::set<Root> roots = of(a);
    return !roots.empty() && std::all_of(roots.begin(), roots.end(), [&](const Root& r) {
      return isa::is_shared(code_.symbols[r.symbol].variable->space);
    });
  }

 private:
  void follow(const ir::Argument& a, std::set<Root>& out, std::set<ir::RegisterId>& seen) {
    if (a.kind == Kind::symbol) return void(out.insert({a.id, a.value}));
    if (a.kind == Kind::reg) {
      if (isa::bits(code_.registers[a.id].type) != 64 || !seen.insert(a.id).second) return;
      for (const std::uint32_t i : definitions_.writers(a.id)) follow(code_.operations[i], out, seen);
      return;
    }
    for (const ir::Argument& part : code_.components(a)) follow(part, out, seen);
  }
  void follow(const ir::Operation& op, std::set<Root>& out, std::set<ir::RegisterId>& seen) {
    const auto alu = ops::as<ops::Alu>(op);
    switch (op.opcode) {
      case Opcode::ld:
        if (isa::is_parameter(op.modifiers.space()) || op.modifiers.space() == isa::Space::constant)
          follow(ops::roles<ops::MemoryAccess>(op).address, out, seen);
        return;
      case Opcode::mad: return alu && alu->c ? follow(alu->c, out, seen) : void();
      case Opcode::mov:
      case Opcode::cvta:
      case Opcode::add:
      case Opcode::sub:
      case Opcode::and_:
      case Opcode::selp:
        if (!alu) return;
        for (const ops::Operand* o : {&alu->a, &alu->b})
          if (*o) follow(**o, out, seen);
        return;
      default: return;
    }
  }

  const ir::Code& code_;
  flow::Definitions definitions_;
};

// The buffer that a launch gives a place in a parameter; empty for numbers.
std::string buffer_at(const launch::Param& p, std::uint32_t offset, const launch::Contract& contract) {
  if (const auto* pointer = std::get_if<launch::PointerParam>(&p.value)) return pointer->buffer;
  if (const auto* named = std::get_if<launch::TensorMapParam>(&p.value)) {
    const auto map = contract.tensor_maps.find(named->tensor_map);
    return map == contract.tensor_maps.end() ? named->tensor_map : map->second.buffer;
  }
  if (const auto* fields = std::get_if<launch::StructParam>(&p.value))
    for (auto f = fields->fields.rbegin(); f != fields->fields.rend(); ++f)
      if (f->at <= offset) return buffer_at(f->value, offset - f->at, contract);
  return {};
}

std::vector<GlobalUse> uses_of(const ir::Code& code, const launch::Contract* contract, const launch::Launch* launch) {
  Roots roots(code);
  std::vector<GlobalUse> out;
  for (const ir::Operation& op : code.operations) {
    const Named named = named_memory(op);
    if (!named.address || roots.is_elsewhere(*named.address)) continue;
    GlobalUse use{named.writes, named.is_atomic, {}};
    for (const Root& r : roots.of(*named.address)) {
      const ir::Symbol& s = code.symbols[r.symbol];
      const bool is_given =
          launch && s.is_parameter && s.parameter_index >= 0 && std::size_t(s.parameter_index) < launch->params.size();
      std::string name = s.variable->name + "+" + std::to_string(r.offset);
      if (is_given)
        name = buffer_at(launch->params[std::size_t(s.parameter_index)], std::uint32_t(r.offset), *contract);
      if (!name.empty()) use.memory.insert(std::move(name));
    }
    out.push_back(std::move(use));
  }
  return out;
}

bool may_race(const std::vector<GlobalUse>& uses) {
  for (std::size_t i = 0; i < uses.size(); ++i) {
    if (uses[i].is_atomic) return true;
    for (std::size_t k = 0; k < i; ++k)
      if ((uses[i].writes || uses[k].writes) && uses[i].may_meet(uses[k])) return true;
  }
  return false;
}

// Calls f(Code, name) for each entry.
template <class F>
void each_entry(const ir::Module& module, F f) {
  for (const ir::Item& item : module.items) {
    const auto* entry = std::get_if<ir::Function>(&item);
    if (!entry || !entry->body || !entry->entry) continue;
    diag::Sink said;  // what decoding says was said before
    f(ir::decode(module, *entry, said), entry->name);
  }
}

}  // namespace

bool may_race_in_global_memory(const ir::Module& module, const launch::Contract* contract) {
  bool may = false;
  each_entry(module, [&](const ir::Code& code, const std::string& name) {
    if (!contract) may = may || may_race(uses_of(code, nullptr, nullptr));
    for (std::size_t k = 0; contract && k < contract->launches.size(); ++k) {
      const launch::Launch& l = contract->launches[k];
      if (name.find(l.entry) != std::string::npos) may = may || may_race(uses_of(code, contract, &l));
    }
  });
  return may;
}

}  // namespace kiln::verifier
