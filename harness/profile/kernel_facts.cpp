#include "harness/profile/kernel_facts.hpp"

#include <algorithm>

namespace kiln::harness {
namespace {

using isa::Opcode;
using Statements = std::vector<ir::Statement>;

constexpr int longest_chain = 12;  // instructions between an address and its variable

bool is_bulk_copy(Opcode o) { return o == Opcode::cp_async_bulk || o == Opcode::cp_async_bulk_tensor; }

bool has(const ir::Instruction& i, std::string_view modifier) {
  return std::find(i.modifiers.begin(), i.modifiers.end(), modifier) != i.modifiers.end();
}

// Of a bulk copy or a store, what is written stands first.
bool into_global(const ir::Instruction& i) {
  const auto space = std::find_if(i.modifiers.begin(), i.modifiers.end(),
                                  [](const std::string& m) { return m == "global" || m.starts_with("shared"); });
  return space != i.modifiers.end() && *space == "global";
}

bool is_mma(Opcode o) {
  switch (o) {
    case Opcode::tcgen05_mma:
    case Opcode::tcgen05_mma_sp:
    case Opcode::tcgen05_mma_ws:
    case Opcode::tcgen05_mma_ws_sp:
    case Opcode::wgmma_mma_async:
    case Opcode::wgmma_mma_async_sp:
    case Opcode::wmma_mma:
    case Opcode::mma: return true;
    default: return false;
  }
}

}  // namespace

bool is_wait(const ir::Instruction& i) {
  return i.opcode == Opcode::mbarrier_try_wait || i.opcode == Opcode::mbarrier_test_wait;
}

std::optional<Phase> phase_of(const ir::Instruction& i) {
  if (is_bulk_copy(i.opcode)) return into_global(i) ? Phase::epilogue : Phase::issue_tma;
  if (is_mma(i.opcode)) return Phase::issue_mma;
  if (i.opcode == Opcode::tcgen05_ld || i.opcode == Opcode::tcgen05_ld_red) return Phase::epilogue;
  if ((i.opcode == Opcode::st || i.opcode == Opcode::wmma_store) && has(i, "global")) return Phase::epilogue;
  if (i.opcode == Opcode::wgmma_wait_group) return Phase::wait_mma;
  return std::nullopt;
}

KernelFacts::KernelFacts(const ir::Function& f) {
  std::string role;
  scan(f.body->statements, role);
  // Now that all definitions are known.
  std::vector<const Statements*> lists{&f.body->statements};
  for (std::size_t n = 0; n < lists.size(); ++n)
    for (const ir::Statement& s : *lists[n]) {
      if (const auto* block = std::get_if<ir::Block>(&s.node)) lists.push_back(&block->statements);
      if (const auto* i = std::get_if<ir::Instruction>(&s.node)) complete(*i);
    }
}

void KernelFacts::scan(const Statements& list, std::string& role) {
  for (const ir::Statement& s : list) {
    if (const auto* block = std::get_if<ir::Block>(&s.node)) scan(block->statements, role);
    if (const auto* l = std::get_if<ir::Label>(&s.node); l && l->name.starts_with(ir::role_prefix))
      role = l->name.substr(ir::role_prefix.size());
    if (const auto* v = std::get_if<ir::Variable>(&s.node); v && v->space == isa::Space::shared)
      barriers_.insert(v->name);
    const auto* i = std::get_if<ir::Instruction>(&s.node);
    if (!i) continue;
    define(*i);
    if (const auto phase = phase_of(*i)) {
      Role& r = roles_[role];
      r.copies |= *phase == Phase::issue_tma;
      r.multiplies |= *phase == Phase::issue_mma;
      r.stores |= *phase == Phase::epilogue;
    }
  }
}

void KernelFacts::define(const ir::Instruction& i) {
  if (!i.operands.empty() && i.operands[0].is_name()) definitions_[i.operands[0].text].push_back(i.operands);
}

// Records what completes phases of the mbarrier, which is the last address.
void KernelFacts::complete(const ir::Instruction& i) {
  const bool copies = is_bulk_copy(i.opcode) && !into_global(i);
  if (!copies && i.opcode != Opcode::tcgen05_commit) return;
  for (auto o = i.operands.rbegin(); o != i.operands.rend(); ++o) {
    if (o->kind != ir::Operand::Kind::address) continue;
    if (const std::string variable = origin(*o); !variable.empty())
      (copies ? by_copies_ : by_multiplies_).insert(variable);
    return;
  }
}

std::string KernelFacts::origin(const ir::Operand& o, int depth) const {
  if (depth > longest_chain) return {};
  if (o.kind == ir::Operand::Kind::address) return o.items.empty() ? std::string() : origin(o.items[0], depth + 1);
  if (!o.is_name()) return {};
  if (barriers_.count(o.text)) return o.text;
  const auto found = definitions_.find(o.text);
  if (found == definitions_.end() || found->second.size() != 1) return {};
  const std::vector<ir::Operand>& operands = found->second.front();
  for (std::size_t i = 1; i < operands.size(); ++i)
    if (std::string variable = origin(operands[i], depth + 1); !variable.empty()) return variable;
  return {};
}

WaitFacts KernelFacts::wait(const ir::Instruction& i, const std::string& role) const {
  WaitFacts out;
  for (const ir::Operand& o : i.operands)
    if (o.kind == ir::Operand::Kind::address) {
      out.barrier = origin(o);
      break;
    }
  const auto found = roles_.find(role);
  const Role r = found == roles_.end() ? Role{} : found->second;
  if (by_copies_.count(out.barrier))
    out.phase = Phase::wait_tma;
  else if (by_multiplies_.count(out.barrier))
    out.phase = r.stores ? Phase::wait_mainloop : Phase::wait_mma;
  else if (r.multiplies)
    out.phase = Phase::wait_epilogue;
  else
    out.phase = r.copies ? Phase::wait_mma : Phase::wait_mainloop;
  return out;
}

WaitExtent KernelFacts::extent(const Statements& written, const Statements& body, std::size_t wait) {
  std::size_t before = 0;
  std::string retry;
  while (before < written.size() && retry.empty()) {
    const auto& node = written[written.size() - ++before].node;
    if (const auto* l = std::get_if<ir::Label>(&node))
      retry = l->name;
    else if (!std::holds_alternative<ir::Loc>(node))
      break;
  }
  constexpr std::size_t farthest = 4;  // a .loc, or a branch out over the branch back
  for (std::size_t i = wait + 1; !retry.empty() && i < body.size() && i <= wait + farthest; ++i) {
    const auto* branch = std::get_if<ir::Instruction>(&body[i].node);
    if (branch && branch->opcode == Opcode::bra && !branch->operands.empty() && branch->operands[0].text == retry)
      return {before, i};
  }
  return {0, wait};
}

Phase KernelFacts::phase_behind(const Statements& body, std::size_t from, const std::string& role) const {
  for (std::size_t i = from; i < body.size(); ++i) {
    const auto* instruction = std::get_if<ir::Instruction>(&body[i].node);
    if (!instruction) continue;
    if (is_wait(*instruction) || instruction->opcode == Opcode::bra) break;
    if (const auto phase = phase_of(*instruction)) return *phase;
  }
  const auto found = roles_.find(role);
  if (found == roles_.end()) return Phase::run;
  const Role& r = found->second;
  return r.stores ? Phase::epilogue : r.multiplies ? Phase::issue_mma : r.copies ? Phase::issue_tma : Phase::run;
}

}  // namespace kiln::harness
