// Memory that a thread takes while it runs and gives back when its function returns. PTX ISA "Stack Manipulation
// Instructions". The stack is the end of the thread's local memory; what is given back holds nothing any more.
#include "sim/core/stack.hpp"

#include <fmt/format.h>

#include <bit>
#include <cstring>

#include "sim/ops/alu.hpp"

namespace kiln::sim {
namespace {

const Layout& layout(const Context& c) { return c.grid->program.layout; }

u64 pointer(const Context& c, u32 used) { return local_base + layout(c).stack + used; }

// more[0]: the size; value: the alignment.
void allocate_stack(Context& c, const Inst& i, Mask lanes) {
  const Slot result{i.d, i.space, false};
  for (const int l : each_lane(lanes)) {
    const u64 at = (stack_used(c, l) + u64(i.value) - 1) / u64(i.value) * u64(i.value);
    const u64 size = c.value(i, 0, l), room = layout(c).stack_bytes;
    if (at > room || size > room - at) unmodelled(fmt::format("a stack of more than {} bytes", room));
    set_stack_used(c, l, u32(at + size));
    c.write(result, l, pointer(c, u32(at)));
  }
}

void save(Context& c, const Inst& i, Mask lanes) {
  const Slot result{i.d, i.space, false};
  for (const int l : each_lane(lanes)) c.write(result, l, pointer(c, stack_used(c, l)));
}

// more[0]: what stacksave gave.
void restore(Context& c, const Inst& i, Mask lanes) {
  const Slot from = c.slot(i, 0);
  for (const int l : each_lane(lanes)) {
    const u64 value = c.read(from, l), base = from.bytes == 4 ? u32(pointer(c, 0)) : pointer(c, 0);
    if (value < base || value - base > stack_used(c, l))
      fault(rules::Rule::memory_bounds, fmt::format("stackrestore of {:#x}, which stacksave did not give", value));
    set_stack_used(c, l, u32(value - base));
  }
}

}  // namespace

u32 stack_used(const Context& c, int lane) {
  return ~c.lanes<u32>(c.grid->program.stack.offset)[lane];  // registers start as all ones
}

void set_stack_used(Context& c, int lane, u32 used) {
  const u32 before = stack_used(c, lane);
  c.lanes<u32>(c.grid->program.stack.offset)[lane] = ~used;
  if (used >= before) return;
  const View freed = c.cta->local.view(std::size_t(c.thread(lane)) * layout(c).local_bytes + layout(c).stack + used);
  std::memset(freed.written, 0, before - used);
}

namespace {

void bind_result(Binder& binder, const ir::Operation& op, const ops::Stack& stack, Inst& inst) {
  const Slot d = binder.result(stack.d, op.modifiers.type());
  inst.d = d.offset;
  inst.space = d.bytes;
}

}  // namespace

void bind_stack_allocation(Binder& binder, const ir::Operation& op, const ops::Stack& stack, Inst& inst) {
  binder.append(inst, binder.source(stack.bytes, op.modifiers.type()));
  inst.value = stack.alignment ? stack.alignment->value : 8;
  if (inst.value <= 0 || !std::has_single_bit(u64(inst.value)) || u64(inst.value) > stack_alignment)
    throw Gap{"this alignment"};
  bind_result(binder, op, stack, inst);
  inst.run = goes_on<allocate_stack>;
}

void bind_stack_save(Binder& binder, const ir::Operation& op, const ops::Stack& stack, Inst& inst) {
  bind_result(binder, op, stack, inst);
  inst.run = goes_on<save>;
}

void bind_stack_restore(Binder& binder, const ir::Operation& op, const ops::Stack& stack, Inst& inst) {
  binder.append(inst, binder.source(stack.pointer, op.modifiers.type()));
  inst.run = goes_on<restore>;
}

}  // namespace kiln::sim
