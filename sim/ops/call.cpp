// Calls of device functions, and what the CUDA run-time system provides for them: printf, assert, malloc and free. PTX
// ISA "call", "ret".
//
// A thread has one set of registers and variables for each function, so lanes may be in the same function for different
// callers at the same time, but no lane twice: a recursion is named.
#include <fmt/format.h>

#include <cstring>

#include "sim/core/memory_access.hpp"
#include "sim/core/stack.hpp"
#include "sim/ops/alu.hpp"
#include "sim/ops/device_print.hpp"

namespace kiln::sim {
namespace {

View local_at(const Context& c, u32 offset, int lane) {
  return c.cta->local.view(std::size_t(c.thread(lane)) * c.grid->program.layout.local_bytes + offset);
}

u64 read_passed(const Context& c, const Passed& p, int lane) {
  if (!p.in_memory) return c.read(p.slot, lane);
  u64 v = 0;
  std::memcpy(&v, local_at(c, p.offset, lane).data, std::min<u32>(p.bytes, 8));
  return v;
}

void write_passed(const Context& c, const Passed& p, int lane, u64 v) {
  if (!p.in_memory) return c.write(p.slot, lane, v);
  const View to = local_at(c, p.offset, lane);
  std::memcpy(to.data, &v, std::min<u32>(p.bytes, 8));
  to.mark(p.bytes);
}

// Poison from a register to memory, or the other way, or between registers.
void hand_over_poison(Context& c, const Inst& i, const Passed& from, const Passed& to, int lane) {
  const auto place = [&](const Passed& p) { return Place{local_at(c, p.offset, lane), Space::local, c.cta, p.offset}; };
  const auto bytes = std::min<u32>(from.in_memory ? from.bytes : from.slot.bytes, 8);
  if (!c.warp->poison && (!from.in_memory || local_at(c, from.offset, lane).all_written(bytes))) return;
  RegisterPoison& poison = poison_of(c);
  if (to.in_memory) return store_poison(c, i, lane, place(to), 0, std::min(bytes, to.bytes), from.slot);
  if (from.in_memory) {
    poison.set(to.slot, 1u << lane, 0);
    return load_poison(c, i, lane, place(from), 0, std::min<u32>(bytes, to.slot.bytes), to.slot);
  }
  const Mask given = poison.any(from.slot) & 1u << lane;
  poison.set(to.slot, 1u << lane, given);
  if (given) poison.source(to.slot.offset) = poison.source(from.slot.offset);
}

// From one side of a call to the other. Bytes that were never written stay so.
void hand_over(Context& c, const Inst& i, const std::vector<Passed>& from, const std::vector<Passed>& to, int lane) {
  for (std::size_t k = 0; k < std::min(from.size(), to.size()); ++k) {
    if (!from[k].in_memory || !to[k].in_memory) {
      write_passed(c, to[k], lane, read_passed(c, from[k], lane));
      hand_over_poison(c, i, from[k], to[k], lane);
      continue;
    }
    const View a = local_at(c, from[k].offset, lane), b = local_at(c, to[k].offset, lane);
    const u32 bytes = std::min(from[k].bytes, to[k].bytes);
    std::memcpy(b.data, a.data, bytes);
    std::memcpy(b.written, a.written, bytes);
  }
}

// The fragment's lanes outside of `lanes` go on elsewhere; `lanes` go on at `pc`.
Status jump(Context& c, Mask lanes, Mask guarded, u32 pc) {
  Fragment& f = *c.fragment;
  if (f.lanes & ~guarded) c.warp->split(f.pc + 1, f.lanes & ~guarded);
  if (guarded & ~lanes) c.warp->split(f.pc, guarded & ~lanes);
  f.lanes = lanes;
  f.pc = pc;
  return Status::jumped;
}

Status enter(Context& c, const Inst& i, const CallSite& site, const Callable& f, Mask lanes, Mask guarded) {
  Mask& idle = c.mask(f.idle.offset);
  if (lanes & ~idle) unmodelled(fmt::format("the recursive call of `{}`", f.name));
  if (site.arguments.size() != f.parameters.size())
    unmodelled(fmt::format("a call of `{}` with {} arguments for {} parameters", f.name, site.arguments.size(),
                           f.parameters.size()));
  idle &= ~lanes;
  auto* back = c.lanes<u32>(f.back.offset);
  for (const int l : each_lane(lanes)) {
    back[l] = c.fragment->pc + 1;
    if (c.grid->program.layout.stack_bytes) c.write(f.frame, l, stack_used(c, l));
    hand_over(c, i, site.arguments, f.parameters, l);
  }
  return jump(c, lanes, guarded, f.entry);
}

// value: the call site.
Status call(Context& c, const Inst& i, Mask lanes) {
  const Program& program = c.grid->program;
  const CallSite& site = program.calls[std::size_t(i.value)];
  if (site.kind == CallSite::Kind::direct) return enter(c, i, site, program.callables[site.callable], lanes, lanes);
  const u64 target = c.read(site.target, first_lane(lanes));
  const Mask alike = lanes_where(lanes, [&](int l) { return c.read(site.target, l) == target; });
  for (const Callable& f : program.callables)
    if (function_address(f.item) == target) return enter(c, i, site, f, alike, lanes);
  fault(rules::Rule::memory_bounds, fmt::format("a call of address {:#x}, which is no function", target));
}

// value: which function.
Status give_back(Context& c, const Inst& i, Mask lanes) {
  const Program& program = c.grid->program;
  const Callable& f = program.callables[std::size_t(i.value)];
  const auto* back = c.lanes<u32>(f.back.offset);
  const u32 to = back[first_lane(lanes)];
  const Mask alike = lanes_where(lanes, [&](int l) { return back[l] == to; });
  const CallSite& site = program.calls[std::size_t(program.insts[to - 1].value)];
  for (const int l : each_lane(alike)) hand_over(c, i, f.results, site.results, l);
  if (program.layout.stack_bytes)
    for (const int l : each_lane(alike)) set_stack_used(c, l, u32(c.read(f.frame, l)));
  c.mask(f.idle.offset) |= alike;
  return jump(c, alike, lanes, to);
}

std::string read_string(Context& c, const Inst& i, u64 address, int lane) {
  std::string out;
  for (;; ++address) {
    const Place p = locate(c, Space::generic, address, 1, 1, lane);
    check_written(*c.grid, i.operation, p, 1, "text");
    if (*p.view.data == 0) return out;
    out += char(*p.view.data);
  }
}

int print(Context& c, const Inst& i, const CallSite& site, int lane) {
  const u64 buffer = read_passed(c, site.arguments.at(1), lane);
  const PrintSource source{[&](u64 offset, int bytes) {
                             const Place p = locate(c, Space::generic, buffer + offset, u32(bytes), u32(bytes), lane);
                             check_written(*c.grid, i.operation, p, u32(bytes), "what is printed");
                             u64 v = 0;
                             std::memcpy(&v, p.view.data, std::size_t(bytes));
                             return v;
                           },
                           [&](u64 address) { return read_string(c, i, address, lane); }};
  const Printed p = device_print(read_string(c, i, read_passed(c, site.arguments.at(0), lane), lane), source);
  if (c.grid->options.print) c.grid->options.print(p.text);
  return p.arguments;
}

[[noreturn]] void fail(Context& c, const Inst& i, const CallSite& site, int lane) {
  const auto text = [&](std::size_t k) { return read_string(c, i, read_passed(c, site.arguments.at(k), lane), lane); };
  fault(rules::Rule::trap_reached, fmt::format("the assertion `{}` failed in {}:{}, `{}`", text(0), text(1),
                                               u32(read_passed(c, site.arguments.at(2), lane)), text(3)));
}

void free_memory(Context& c, u64 address) {
  if (address && !c.grid->memory.release(address))
    fault(rules::Rule::memory_bounds, fmt::format("free of address {:#x}, which malloc did not give", address));
}

// value: the call site. What the run-time system does for each lane by itself.
void call_system(Context& c, const Inst& i, Mask lanes) {
  const CallSite& site = c.grid->program.calls[std::size_t(i.value)];
  for (const int l : each_lane(lanes)) {
    u64 result = 0;
    switch (site.kind) {
      case CallSite::Kind::vprintf: result = u64(print(c, i, site, l)); break;
      case CallSite::Kind::malloc: result = c.grid->memory.allocate(read_passed(c, site.arguments.at(0), l)); break;
      case CallSite::Kind::free: free_memory(c, read_passed(c, site.arguments.at(0), l)); break;
      default: fail(c, i, site, l);
    }
    if (site.results.empty()) continue;
    write_passed(c, site.results[0], l, result);
    if (c.warp->poison && !site.results[0].in_memory) c.warp->poison->set(site.results[0].slot, 1u << l, 0);
  }
}

CallSite::Kind system_call(const std::string& name, std::size_t arguments) {
  if (name == "vprintf" && arguments == 2) return CallSite::Kind::vprintf;
  if (name == "__assertfail" && arguments == 5) return CallSite::Kind::assertfail;
  if (name == "malloc" && arguments == 1) return CallSite::Kind::malloc;
  if (name == "free" && arguments == 1) return CallSite::Kind::free;
  throw Gap{"a function without a body: `" + name + "`"};
}

void pass_all(Binder& binder, const ir::Argument& list, std::vector<Passed>& out) {
  for (const ir::Argument& a : binder.code().components(list)) out.push_back(binder.passed(a));
}

}  // namespace

void bind_call(Binder& binder, const ir::Operation&, const ops::Call& c, Inst& inst) {
  using Kind = ir::Argument::Kind;
  CallSite site;
  pass_all(binder, c.results, site.results);
  pass_all(binder, c.arguments, site.arguments);
  inst.run = call;
  if (c.callee->kind == Kind::reg) {
    site.kind = CallSite::Kind::indirect;
    site.target = binder.any_width(c.callee, ScalarType::b64);
  } else if (c.callee->kind != Kind::function) {
    throw Gap{"a call of this operand"};
  } else if (const auto known = binder.callable(c.callee)) {
    site.callable = *known;
  } else {
    site.kind = system_call(c.callee->operand->text, site.arguments.size());
    inst.run = goes_on<call_system>;
  }
  inst.value = binder.add(std::move(site));
}

void bind_return(Binder& binder, Inst& inst) {
  ir::Argument self;
  self.id = binder.function()->item;
  inst.value = *binder.callable(self);
  inst.run = give_back;
}

}  // namespace kiln::sim
