#include "verifier/explore/lasting.hpp"

#include <map>
#include <utility>

#include "ptx/isa/spaces.hpp"
#include "ptx/ops/operations.hpp"

namespace kiln::verifier::explore {
namespace {

using isa::Opcode;

// The parameters that an address is the sum of, a bit each; all of them where one is not followed.
using Pointers = std::uint64_t;
constexpr Pointers any_pointer = ~Pointers{0};

class Provenance {
 public:
  explicit Provenance(const Facts& facts) : facts_(facts), of_(facts.code.registers.size()) {
    for (bool changed = true; changed;) {
      changed = false;
      for (std::uint32_t i = 0; i < facts.code.operations.size(); ++i) {
        const auto written = facts.definitions.written(i);
        const Pointers made = written.empty() ? 0 : result(facts.code.operations[i]);
        for (const ir::RegisterId r : written) changed |= std::exchange(of_[r], of_[r] | made) != (of_[r] | made);
      }
    }
  }

  Pointers of(const ir::Argument& a) const {
    switch (a.kind) {
      case ir::Argument::Kind::reg: return of_[a.id];
      case ir::Argument::Kind::address:
      case ir::Argument::Kind::vector: {
        Pointers out = 0;
        for (const ir::Argument& part : facts_.code.components(a)) out |= of(part);
        return out;
      }
      case ir::Argument::Kind::symbol: return any_pointer;
      default: return 0;
    }
  }

 private:
  // Only 64-bit parameters are pointers, and only sums move them on. What is multiplied or shifted is an index.
  Pointers result(const ir::Operation& op) {
    const auto alu = ops::roles<ops::Alu>(op);
    switch (op.opcode) {
      case Opcode::ld: {
        if (!isa::is_parameter(op.modifiers.space())) return any_pointer;
        if (isa::bits(op.modifiers.type()) < 64) return 0;
        const ir::Argument& from = ops::roles<ops::MemoryAccess>(op).address;
        const ir::Argument& at = from.kind == ir::Argument::Kind::address ? facts_.code.components(from)[0] : from;
        if (at.kind != ir::Argument::Kind::symbol) return any_pointer;
        const std::size_t bit = parameters_.try_emplace({at.id, at.value}, parameters_.size()).first->second;
        return bit < 64 ? Pointers{1} << bit : any_pointer;
      }
      case Opcode::mad: return of(alu.c);
      case Opcode::mul:
      case Opcode::shl:
      case Opcode::shr: return 0;
      default: break;
    }
    if (isa::unit(op.opcode) != isa::Unit::alu) return any_pointer;
    Pointers out = 0;
    for (const ir::Argument& a : op.arguments) out |= of(a);
    return out;
  }

  const Facts& facts_;
  std::vector<Pointers> of_;
  std::map<std::pair<std::uint32_t, std::int64_t>, std::size_t> parameters_{};  // by symbol and offset
};

bool is_global(isa::Space s) { return s == isa::Space::global || s == isa::Space::generic; }

// The operand by which an operation writes what may be global memory; null if it does not, or by a tensor map.
const ir::Argument* written_place(const ir::Operation& op) {
  switch (op.opcode) {
    case Opcode::st:
      return is_global(op.modifiers.space()) ? ops::roles<ops::MemoryAccess>(op).address.pointer() : nullptr;
    case Opcode::atom:
    case Opcode::red: return is_global(op.modifiers.space()) ? ops::roles<ops::Atomic>(op).address.pointer() : nullptr;
    case Opcode::cp_async_bulk:
    case Opcode::cp_reduce_async_bulk:
      return isa::is_shared(op.modifiers.space()) ? nullptr : ops::roles<ops::BulkCopy>(op).to.pointer();
    default: return nullptr;
  }
}

}  // namespace

std::vector<bool> lasting_loads(const Facts& facts) {
  const ir::Code& code = facts.code;
  std::vector<bool> out(code.operations.size());
  const Provenance provenance(facts);
  Pointers written = 0;
  for (const ir::Operation& op : code.operations) {
    const ir::Argument* place = written_place(op);
    const Pointers through = place ? provenance.of(*place) : 0;
    if (place || op.opcode == Opcode::call) written |= through ? through : any_pointer;
  }
  for (std::uint32_t i = 0; i < out.size(); ++i) {
    const ir::Operation& op = code.operations[i];
    if (op.opcode != Opcode::ld || !is_global(op.modifiers.space())) continue;
    const bool weak = op.modifiers.semantics == isa::Semantics::none || op.modifiers.semantics == isa::Semantics::weak;
    const Pointers read = provenance.of(ops::roles<ops::MemoryAccess>(op).address);
    out[i] = weak && (op.modifiers.nc || !(written & (read ? read : any_pointer)));
  }
  return out;
}

}  // namespace kiln::verifier::explore
