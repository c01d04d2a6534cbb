// mbarriers: initialisation, arrivals, expected bytes, waits.
#include <fmt/format.h>

#include "tests/mutation/operators.hpp"

namespace kiln::mutation {
namespace {

using isa::Opcode;
using Kind = ir::Operand::Kind;

// What a wait is there for, by what follows it.
Bug wait_bug(const Sites& sites, const Site& s) {
  switch (sites.data_behind(s)) {
    case Effect::copy_in:
    case Effect::store:
    case Effect::cp_async: return {13};
    case Effect::tmem_load: return {27};
    case Effect::tmem_store: return {33};
    case Effect::dealloc: return {38};
    default: return {14};
  }
}

// What an arrival hands over, by what stands before it.
Bug release_bug(const Sites& sites, const Site& s) {
  switch (sites.data_before(s)) {
    case Effect::store: return {14};
    case Effect::tmem_load: return {33};
    case Effect::tmem_store: return {28};
    default: return {13};
  }
}

const ir::Operand* address_of(const ir::Instruction& i) {
  for (const ir::Operand& o : i.operands)
    if (o.kind == Kind::address) return &o;
  return nullptr;
}

bool is_wait(Opcode o) { return o == Opcode::mbarrier_try_wait || o == Opcode::mbarrier_test_wait; }

// What the loop asks is always true.
void drop_wait(Editor& e, const Sites& sites, const Site& s) {
  const std::string predicate = sites.text(s.instruction->operands[0].at);
  const Site* branch = sites.after(s, [&](const Site& x) {
    return x.instruction->opcode == Opcode::bra && x.instruction->guard && x.instruction->guard->predicate == predicate;
  });
  if (!branch) return;
  const std::string answer = fmt::format("setp.eq.u32 {}, 0, 0;", predicate);
  e.replace(s, s.instruction->at, answer, "drop-wait", wait_bug(sites, s));
}

void mutate_wait(Editor& e, const Sites& sites, const Site& s) {
  const ir::Instruction& i = *s.instruction;
  drop_wait(e, sites, s);
  if (!has(i, "parity") || i.operands.size() < 3) return;
  const ir::Operand& parity = i.operands[2];
  e.change(s, parity, 32, "xor.b", "1", "parity", {1});
  e.change(s, i.operands[1], 0, "add.u", "8", "wait-other", {9});
}

void mutate_arrive(Editor& e, const Sites& sites, const Site& s) {
  const ir::Instruction& i = *s.instruction;
  const bool expects = has(i, "expect_tx");
  e.drop(s, expects ? "drop-expect" : "drop-arrive", {expects ? 3 : 2});
  e.twice(s, "twice", {2});
  const bool remote = has(i, "shared::cluster");
  if (has(i, "release")) {
    e.respell(s, "relaxed", ".release", ".relaxed", release_bug(sites, s));
    if (remote) e.respell(s, "scope", ".cluster", ".cta", {10, Profile::portability});
  } else if (!has(i, "relaxed")) {
    if (!expects) e.respell(s, "relaxed", "mbarrier.arrive", "mbarrier.arrive.relaxed.cta", release_bug(sites, s));
  }
  if (const ir::Operand* at = address_of(i))
    e.change(s, *at, 0, "add.u", "8", expects ? "expect-other" : "arrive-other", {expects ? 4 : 9});
  if (expects)
    for (const char* bytes : {"16", "-16"}) e.change(s, i.operands.back(), 32, "add.s", bytes, "bytes", {3});
  if (expects) return;
  // Past a fence alone it is the fence that comes late.
  const Site* last = sites.before(s, [](const Site& x) {
    return x.effect != Effect::none && x.instruction->opcode != Opcode::tcgen05_fence_before &&
           x.instruction->opcode != Opcode::fence_proxy;
  });
  if (last) e.move(s, *last, false, "arrive-early", release_bug(sites, s));
}

}  // namespace

void mutate_mbarrier(Editor& e, const Sites& sites, const Site& s) {
  const ir::Instruction& i = *s.instruction;
  if (i.opcode == Opcode::mbarrier_init) {
    e.drop(s, "drop-init", {5});
    e.change(s, i.operands.at(1), 32, "add.s", "1", "count", {2});
    e.change(s, i.operands.at(1), 32, "add.s", "-1", "count", {2});
    e.change(s, i.operands.at(0), 0, "add.u", "4", "init-misaligned", {5});
  }
  if (is_wait(i.opcode)) mutate_wait(e, sites, s);
  if (i.opcode == Opcode::mbarrier_arrive) mutate_arrive(e, sites, s);
  if (i.opcode == Opcode::mbarrier_expect_tx) {
    e.drop(s, "drop-expect", {3});
    for (const char* bytes : {"16", "-16"}) e.change(s, i.operands.back(), 32, "add.s", bytes, "bytes", {3});
  }
  if (i.opcode == Opcode::mapa && i.operands.size() == 3)
    e.change(s, i.operands[2], 32, "xor.b", "1", "other-cta", {10});
}

}  // namespace kiln::mutation
