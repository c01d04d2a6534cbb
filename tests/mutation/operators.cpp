#include "tests/mutation/operators.hpp"

namespace kiln::mutation {
namespace {

using isa::Opcode;

// Every lane is elected.
void mutate_elect(Editor& e, const Sites& sites, const Site& s) {
  const ir::Instruction& i = *s.instruction;
  if (i.opcode != Opcode::elect_sync || i.operands.empty()) return;
  const ir::Operand& result = i.operands[0];
  const std::string predicate =
      result.kind == ir::Operand::Kind::pair ? sites.text(result.items.at(1).at) : sites.text(result.at);
  const auto works = [](const Site& x) { return x.effect != Effect::none; };
  const Site* next = sites.after(s, works);
  const bool inits = next && next->effect == Effect::init;
  e.replace(s, i.at, "setp.eq.u32 " + predicate + ", 0, 0;", "elect-all",
            inits ? Bug{5, Profile::portability} : Bug{17});  // lanes that initialise with one count: an H100 takes it
}

}  // namespace

std::vector<Mutant> mutants_of(const std::string& kernel, const ir::Module& module) {
  const Sites sites(module);
  Editor e(kernel, sites, module);
  for (const Site& s : sites.all()) {
    mutate_elect(e, sites, s);
    mutate_barrier(e, sites, s);
    mutate_fence(e, sites, s);
    mutate_flag(e, sites, s);
    mutate_mbarrier(e, sites, s);
    mutate_copy(e, sites, s);
    mutate_tensor(e, sites, s);
  }
  return std::move(e.made);
}

}  // namespace kiln::mutation
