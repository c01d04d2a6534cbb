// Asynchronous copies: addresses, groups, waits.
#include "ptx/isa/tensor_copy.hpp"
#include "tests/mutation/operators.hpp"

namespace kiln::mutation {
namespace {

using isa::Opcode;
using Kind = ir::Operand::Kind;

constexpr const char* stage_bytes = "1024";

bool is_bulk(const Site& s) { return isa::is_bulk_copy(s.instruction->opcode); }

// The coordinates of a tensor operand, [map, {x, y}].
const ir::Operand* coordinates(const ir::Instruction& i) {
  for (const ir::Operand& o : i.operands)
    if (o.kind == Kind::address && o.items.size() > 1 && o.items[1].kind == Kind::vector) return &o.items[1];
  return nullptr;
}

void mutate_copy_in(Editor& e, const Sites& sites, const Site& s) {
  const ir::Instruction& i = *s.instruction;
  e.drop(s, "drop-copy", {3});
  e.twice(s, "twice", {3});
  e.change(s, i.operands[0], 0, "add.u", stage_bytes, "other-stage", {9});
  e.change(s, i.operands[0], 0, "add.u", "8", "misaligned", {18});
  const bool tensor = coordinates(i) != nullptr;
  const std::size_t barrier = tensor ? 2 : 3;
  if (i.operands.size() > barrier && i.operands[barrier].kind == Kind::address)
    e.change(s, i.operands[barrier], 0, "add.u", "8", "other-barrier", {9});
  if (has(i, "multicast::cluster") && i.operands.size() > barrier + 1) {
    const ir::Operand& mask = i.operands[barrier + 1];
    const auto set = [&](const char* to) {
      e.replace(s, i.at,
                "{ .reg .b16 %mask; mov.u16 %mask, " + std::string(to) + "; " +
                    sites.text({i.at.begin, mask.at.begin}) + "%mask" + sites.text({mask.at.end, i.at.end}) + " }",
                "multicast-mask", {20});
    };
    for (const char* to : {"1", "2", "5"}) set(to);
  }
}

void mutate_copy_out(Editor& e, const Site& s) {
  const ir::Instruction& i = *s.instruction;
  const std::size_t source = 1;
  if (i.operands.size() <= source || i.operands[source].kind != Kind::address) return;
  e.change(s, i.operands[source], 0, "add.u", stage_bytes, "other-stage", {9});
  e.change(s, i.operands[source], 0, "add.u", "8", "misaligned", {18});
}

void mutate_groups(Editor& e, const Sites& sites, const Site& s) {
  const ir::Instruction& i = *s.instruction;
  const bool bulk = i.opcode == Opcode::cp_async_bulk_commit_group || i.opcode == Opcode::cp_async_bulk_wait_group;
  const bool is_last = sites.data_behind(s) == Effect::leave || sites.data_behind(s) == Effect::dealloc;
  // After a CTA's last wait today's hardware keeps its shared memory until its copies are done (cta-exit-copy).
  const Bug bug = !bulk ? Bug{25} : is_last ? Bug{16, Profile::portability} : Bug{15};
  if (i.opcode == Opcode::cp_async_bulk_commit_group || i.opcode == Opcode::cp_async_commit_group) {
    e.drop(s, "drop-commit-group", bug);
    const Site* copy = sites.before(s, [](const Site& x) { return is_bulk(x) || x.effect == Effect::cp_async; });
    if (copy) e.move(s, *copy, false, "commit-early", bug);
  }
  if (i.opcode == Opcode::cp_async_bulk_wait_group || i.opcode == Opcode::cp_async_wait_group) {
    e.drop(s, "drop-wait-group", bug);
    e.replace(s, i.operands[0].at, std::to_string(i.operands[0].value + 1), "wait-one-less", bug);
    if (bulk && !has(i, "read")) e.respell(s, "wait-read", "wait_group", "wait_group.read", {16});
    const Site* next = sites.after(s, [](const Site& x) { return x.effect != Effect::none; });
    if (next) e.move(s, *next, true, "wait-late", bug);
    const Site* last = sites.before(s, [](const Site& x) { return x.effect != Effect::none; });
    if (last) e.move(s, *last, false, "wait-early", bug);
  }
  if (i.opcode == Opcode::cp_async_wait_all) e.drop(s, "drop-wait-group", bug);
}

}  // namespace

void mutate_copy(Editor& e, const Sites& sites, const Site& s) {
  const ir::Instruction& i = *s.instruction;
  if (is_bulk(s)) {
    if (s.effect == Effect::copy_in)
      mutate_copy_in(e, sites, s);
    else
      mutate_copy_out(e, s);
    if (const ir::Operand* at = coordinates(i))
      for (const ir::Operand& x : at->items) e.change(s, x, 32, "add.s", "8", "coordinate", {21});
  }
  if (i.opcode == Opcode::cp_async) {
    e.change(s, i.operands[0], 0, "add.u", "16", "other-address", {9});
    e.change(s, i.operands[0], 0, "add.u", "4", "misaligned", {18});
  }
  if (i.opcode == Opcode::cp_async_mbarrier_arrive) {
    e.drop(s, "drop-arrive", {2});
    e.twice(s, "twice", {2});
    e.respell(s, "no-noinc", ".noinc", "", {2});
    const Site* copy = sites.before(s, [](const Site& x) { return x.effect == Effect::cp_async; });
    if (copy) e.move(s, *copy, false, "arrive-early", {25});
  }
  mutate_groups(e, sites, s);
}

}  // namespace kiln::mutation
