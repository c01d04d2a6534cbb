// Loads, stores and reductions at a multimem address, which stands for the same place of several memories. PTX ISA
// "multimem.ld_reduce, multimem.st, multimem.red". ld_reduce combines in the order in which the launch names the
// memories: the ISA leaves that open, and sums that round depend on it.
#include <cstring>
#include <vector>

#include "sim/core/atomics.hpp"
#include "sim/core/memory_access.hpp"
#include "sim/core/polling.hpp"
#include "sim/ops/alu.hpp"
#include "sim/ops/float_value.hpp"

namespace kiln::sim {
namespace {

// Inst: a, value the address; width the type, mode the operation, count elements of a vector, flags: sums of halves in
// f32; more: results or operands.
u32 element_bytes(const Inst& i) { return u32(isa::bits(ScalarType(i.width)) / 8); }

u64 read_element(const u8* from, u32 bytes) {
  u64 v = 0;
  std::memcpy(&v, from, bytes);
  return v;
}

// Calls f(place) for the operand's bytes in each memory.
template <class F>
void for_memories(Context& c, const Inst& i, int lane, F f) {
  const u32 bytes = element_bytes(i) * i.count;
  for (const u64 address : c.grid->memory.memories(c.address(i, lane), bytes))
    f(locate(c, Space::global, address, bytes, bytes, lane));
}

// The halves of a word, or the one it is, summed in f32 and rounded once.
u64 sum_in_f32(ScalarType t, const std::vector<u64>& values) {
  const bool pair = half_of(t) != ScalarType::none;
  const ScalarType half = pair ? half_of(t) : t;
  u64 r = 0;
  for (int k = 0; k < (pair ? 2 : 1); ++k) {
    float sum = -0.0f;
    for (const u64 v : values) sum += float(num::to_double(half, v >> 16 * k & 0xFFFF));
    r |= num::encode(half, sum) << 16 * k;
  }
  return r;
}

void load_reduce(Context& c, const Inst& i, Mask lanes) {
  const auto t = ScalarType(i.width);
  const u32 bytes = element_bytes(i);
  for (const int l : each_lane(lanes)) {
    std::vector<std::vector<u64>> values(i.count);
    for_memories(c, i, l, [&](const Place& p) {
      observe(c, i, l, p, bytes * i.count, AccessKind::read);
      for (u32 k = 0; k < i.count; ++k) load_poison(c, i, l, p, k * bytes, bytes, c.slot(i, k));
      for (u32 k = 0; k < i.count; ++k) values[k].push_back(read_element(p.view.data + k * bytes, bytes));
    });
    for (u32 k = 0; k < i.count; ++k) {
      u64 r = values[k].front();
      for (std::size_t n = 1; n < values[k].size(); ++n) r = combined(Combine(i.mode), t, r, values[k][n], 0, false);
      c.write(c.slot(i, k), l, i.flags ? sum_in_f32(t, values[k]) : r);
    }
  }
  const isa::Semantics how = i.operation->modifiers.semantics;
  if (how != isa::Semantics::none && how != isa::Semantics::weak) note_poll(c, i, lanes);
}

// mode none: a store.
void store_or_reduce(Context& c, const Inst& i, Mask lanes) {
  const u32 bytes = element_bytes(i), all = bytes * i.count;
  const bool stores = Combine(i.mode) == Combine::none;
  for (const int l : each_lane(lanes)) {
    for_memories(c, i, l, [&](const Place& p) {
      if (!stores) check_written(*c.grid, i.operation, p, all, "an operand of a reduction on global memory");
      std::vector<u8> out(all);
      for (u32 k = 0; k < i.count; ++k) {
        u64 v = c.value(i, k, l);
        if (!stores) {
          if (bytes < 8) v &= (u64{1} << 8 * bytes) - 1;
          v = combined(Combine(i.mode), ScalarType(i.width), read_element(p.view.data + k * bytes, bytes), v, 0, true);
        }
        std::memcpy(out.data() + k * bytes, &v, bytes);
      }
      observe(c, i, l, p, all, stores ? kind_of_write(p.view, out.data(), all) : AccessKind::atomic);
      std::memcpy(p.view.data, out.data(), all);
      p.view.mark(all);
    });
  }
  ++c.cluster->writes;
}

void bind(Binder& binder, const ir::Operation& op, const ops::MemoryAccess& access, Inst& inst) {
  const isa::Modifiers& m = op.modifiers;
  const bool stores = op.opcode == Opcode::multimem_st;
  for (const std::string& word : m.others)
    if (word != "acc::f32") throw Gap{"the modifier ." + word};
  if (!stores && !can_combine(m.combine, m.type())) throw Gap{"this reduction"};
  binder.address(inst, access.address);
  inst.space = u8(Space::global);  // the only space that has such addresses
  inst.width = u8(m.type());
  inst.mode = u8(stores ? Combine::none : m.combine);
  inst.count = u8(isa::vector_width(m.vector));
  inst.flags = !m.others.empty() && m.combine == Combine::add;
  if (access.value->kind == ir::Argument::Kind::sink)
    binder.append(inst, binder.any_result(access.value, m.type()));
  else
    binder.append_all(inst, access.value, m.type());
  if (inst.more_count != inst.count) throw Gap{"a vector of this length"};
}

}  // namespace

void bind_multimem_load(Binder& binder, const ir::Operation& op, const ops::MemoryAccess& access, Inst& inst) {
  bind(binder, op, access, inst);
  inst.run = goes_on<load_reduce>;
}

void bind_multimem_store(Binder& binder, const ir::Operation& op, const ops::MemoryAccess& access, Inst& inst) {
  bind(binder, op, access, inst);
  inst.run = goes_on<store_or_reduce>;
}

}  // namespace kiln::sim
