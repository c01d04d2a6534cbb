// Branches and ends. PTX ISA "Control Flow Instructions".
#include "ptx/rules/execution.hpp"
#include "sim/ops/alu.hpp"

namespace kiln::sim {

namespace {

Status branch(Context& c, const Inst& i, Mask lanes) {
  Fragment& f = *c.fragment;
  const Mask stay = f.lanes & ~lanes;
  if (stay) c.warp->split(f.pc + 1, stay);
  f.lanes = lanes;
  f.pc = i.target;
  return Status::jumped;
}

Status branch_always(Context& c, const Inst& i, Mask) {
  c.fragment->pc = i.target;
  return Status::jumped;
}

// more[0]: the index; value: which table.
Status branch_table(Context& c, const Inst& i, Mask lanes) {
  const auto& table = c.grid->program.code->tables[std::size_t(i.value)];
  Fragment& f = *c.fragment;
  const int l = first_lane(lanes);
  const u64 index = c.value(i, 0, l);
  require(rules::branch_index(index, table.size()), "{} of {} targets", index, table.size());
  const Mask alike = lanes_where(lanes, [&](int k) { return c.read(c.slot(i, 0), k) == index; });
  if (f.lanes & ~lanes) c.warp->split(f.pc + 1, f.lanes & ~lanes);
  if (lanes & ~alike) c.warp->split(f.pc, lanes & ~alike);
  f.lanes = alike;
  f.pc = table[std::size_t(index)];
  return Status::jumped;
}

Status trap(Context&, const Inst&, Mask) { fault(rules::Rule::trap_reached, {}); }

// The program runs without a debugger, so nothing could continue it.
Status breakpoint(Context&, const Inst&, Mask) { fault(rules::Rule::trap_reached, "a breakpoint"); }

// Launches run one after the other: the grid before this one is over already, and only observers care.
template <SyncKind kind>
void tell_of_grid(Context& c, const Inst& i, Mask lanes) {
  if (c.grid->observer) c.grid->observer->sync(c.agent(lanes), i.operation, {kind, c.cta->index, 0, 0, 0});
}

}  // namespace

void bind_branch(Binder&, const ir::Operation& op, const ops::Branch& b, Inst& inst) {
  if (b.target->kind != ir::Argument::Kind::label) throw Gap{"a branch without a known target"};
  inst.target = b.target->id;
  inst.run = op.guard ? branch : branch_always;
}

void bind_branch_table(Binder& binder, const ir::Operation&, const ops::BranchTable& b, Inst& inst) {
  if (b.targets->kind != ir::Argument::Kind::table) throw Gap{"a branch table of this form"};
  binder.append(inst, binder.any_width(b.index, ScalarType::u32));
  inst.value = b.targets->id;
  inst.run = branch_table;
}

void bind_leave(Binder& binder, const ir::Operation& op, const ops::Unread&, Inst& inst) {
  if (op.opcode == Opcode::ret && binder.function()) return bind_return(binder, inst);
  inst.run = leave;
}

void bind_trap(Binder&, const ir::Operation& op, const ops::Unread&, Inst& inst) {
  inst.run = op.opcode == Opcode::trap ? trap : breakpoint;
}

void bind_grid_dependency(Binder&, const ir::Operation& op, const ops::Unread&, Inst& inst) {
  inst.run = op.modifiers.griddep == isa::GridDependency::wait ? goes_on<tell_of_grid<SyncKind::grid_wait>>
                                                               : goes_on<tell_of_grid<SyncKind::grid_begin>>;
}

// Time and register budgets are not modelled.
void bind_hint(Binder&, const ir::Operation&, const ops::Count&, Inst& inst) { inst.run = nothing; }

}  // namespace kiln::sim
