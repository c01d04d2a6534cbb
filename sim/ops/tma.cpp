// Copies of tensors. PTX ISA "cp.async.bulk.tensor", "cp.reduce.async.bulk.tensor", "cp.async.bulk.prefetch.tensor".

#include <bit>

#include "ptx/isa/tensor_copy.hpp"
#include "ptx/rules/tma.hpp"
#include "sim/async/async.hpp"
#include "sim/async/tma.hpp"
#include "sim/core/atomics.hpp"
#include "sim/core/memory_access.hpp"
#include "sim/ops/alu.hpp"

namespace kiln::sim {
namespace {

using isa::TensorMode;

// a/value: the map; more: the shared address, the mbarrier (or a constant), the CTA mask, the offsets of the two
// addresses, the address that replaces the map's, coordinates, im2col offsets. count: coordinates; mode: TensorMode.
constexpr unsigned box_shared = 0, box_barrier = 1, box_mask = 2, box_offsets = 3, box_address = 5, box_coordinates = 6;
enum : u8 { flag_multicast_box = 1, flag_address = 2 };

void touch_tensor(Context& c, const Inst& i, int lane, AsyncId id, const Box& box, AccessKind kind) {
  if (!c.grid->observer) return;
  for (const auto& [address, bytes] : global_rows(box))
    touch(c, i, lane, id, {Space::global, 0, address, bytes, 1}, kind);
}

// What travels, for observers that draw it; a load signals an mbarrier, a store none.
void describe_box(Context& c, AsyncId id, const Box& box, const Barrier* b, u32 ctas = 1) {
  if (!c.grid->observer) return;
  Transfer t{box.bytes(), box.map.address, int(box.map.rank), {}, b != nullptr, 0, 0, &box, ctas};
  for (std::size_t d = 0; d < t.at.size() && d < box.at.size(); ++d) t.at[d] = box.at[d];
  if (b) t.mbarrier_cta = b->cta->index, t.mbarrier = b->address;
  c.grid->observer->transfer(id, t);
}

Box box_of(Context& c, const Inst& i, int lane) {
  Box box;
  const u64 address = c.address(i, lane);
  require(rules::tma_map_address(!is_parameter(address, c.grid->parameters.size())),
          "{:#x}, an address in .param space", address);
  const Place p = locate(c, Space::generic, address, isa::tensor_map_bytes, isa::tensor_map_alignment, lane);
  box.map = decode_tensor_map(p.view.data);
  if (i.flags & flag_address) box.map.address = c.value(i, box_address, lane);
  if (c.grid->observer && p.space == Space::global)
    c.grid->observer->access(c.agent(1u << lane), *i.operation, range_of(p, isa::tensor_map_bytes), AccessKind::read,
                             Proxy::tensormap, 0);
  box.mode = TensorMode(i.mode);
  require(rules::tma_rank(box.map.rank, isa::dimensions(i.operation->modifiers.dims)));
  for (unsigned d = 0; d < i.count; ++d) box.at[d] = std::int32_t(u32(c.value(i, box_coordinates + d, lane)));
  for (unsigned k = box_coordinates + i.count; k < i.more_count; ++k)
    box.offsets[k - box_coordinates - i.count] = u16(c.value(i, k, lane));
  return box;
}

// Whose barrier a multicast destination signals: its own, or with cta_group::2 that of the CTA in its pair which has
// the parity of the address given.
Cta& signalled(Context& c, const Inst& i, Cta& destination, const Barrier& given) {
  if (i.operation->modifiers.cta_group != isa::CtaGroup::two) return destination;
  return c.cluster->ctas[(destination.rank & ~1u) | (given.cta->rank & 1)];
}

// One of `ctas` destinations.
void load_into(Context& c, const Inst& i, int lane, const Box& box, Cta& to, u32 shared, Barrier barrier, u32 ctas) {
  const u32 bytes = box.bytes();
  const AsyncId id = announce(c, i, lane, barrier, bytes);
  describe_box(c, id, box, &barrier, ctas);
  touch_tensor(c, i, lane, id, box, AccessKind::read);
  touch(c, i, lane, id, {Space::shared_cta, to.index, shared, box.shared_bytes(), 1}, AccessKind::write);
  c.grid->statistics.tma_bytes += bytes;
  Grid* grid = c.grid;
  Cta* cta = &to;
  const ir::Operation* operation = i.operation;
  c.cluster->later(copy_least, copy_spread, operation, [=] {
    load_box(*grid, operation, box, *cta, shared);
    deliver(barrier, bytes, id);
    finish(*grid, id);
  });
}

void tensor_load(Context& c, const Inst& i, Mask lanes) {
  const auto space = Space(i.space);
  for (const int l : each_lane(lanes)) {
    const Box box = box_of(c, i, l);
    const u64 address = c.value(i, box_shared, l) + c.value(i, box_offsets, l);
    check_box(box, u32(address));
    const Place to = locate_shared(c, space, address, box.shared_bytes(), 1, l);
    const Barrier b =
        barrier_at(c, Space::shared_cluster, c.value(i, box_barrier, l) + c.value(i, box_offsets + 1, l), l);
    if (!(i.flags & flag_multicast_box)) {
      load_into(c, i, l, box, *to.owner, u32(to.address), b, 1);
      continue;
    }
    const u32 mask = cta_mask(*i.operation, c.value(i, box_mask, l));
    check_cta_mask(c, mask);
    for (Cta& cta : c.cluster->ctas)
      if (mask >> cta.rank & 1)
        load_into(c, i, l, box, cta, u32(to.address), {&signalled(c, i, cta, b), b.address}, u32(std::popcount(mask)));
  }
}

void tensor_store(Context& c, const Inst& i, Mask lanes) {
  for (const int l : each_lane(lanes)) {
    const Box box = box_of(c, i, l);
    const u64 address = c.value(i, box_shared, l) + c.value(i, box_offsets, l);
    check_box(box, u32(address));
    check_store(box);
    const Combine how = i.operation->modifiers.combine;
    if (how != Combine::none && !can_combine(how, ScalarType(box.map.dtype))) unmodelled("this reduction of a tensor");
    const Place from = locate_shared(c, Space::shared_cta, address, box.shared_bytes(), 1, l);
    const AsyncId id = announce(c, i, l);
    describe_box(c, id, box, nullptr);
    touch(c, i, l, id, {Space::shared_cta, from.owner->index, from.address, box.shared_bytes(), 1}, AccessKind::read);
    touch_tensor(c, i, l, id, box, how == Combine::none ? AccessKind::write : AccessKind::atomic);
    c.grid->statistics.tma_bytes += box.bytes();
    const auto group = open_bulk_group(c, l);
    Cluster* cluster = c.cluster;
    Cta* cta = from.owner;
    const auto shared = u32(from.address);
    const ir::Operation* operation = i.operation;
    cluster->later(copy_least, copy_spread, operation, [=] {
      auto rows = std::make_shared<std::vector<u8>>(gather_box(cluster->grid, operation, box, *cta, shared));
      close_read(*cluster, *group);
      cluster->later(1, copy_spread, operation, [=] {
        store_box(cluster->grid, operation, box, *rows, how);
        finish(cluster->grid, id);
        close_write(*cluster, *group);
      });
    });
  }
}

void tensor_prefetch(Context& c, const Inst& i, Mask lanes) {
  for (const int l : each_lane(lanes)) check_coordinates(box_of(c, i, l));
}

// What stands in [map, {x, y}], or in [map, address, {x, y}] where the instruction replaces the map's address.
struct TensorOperand {
  Slot address{};
  std::vector<Slot> coordinates{};
};
TensorOperand tensor_operand(Binder& binder, const ir::Operation& op, const ir::Argument& a, Inst& inst) {
  binder.address(inst, a);
  const auto items = binder.code().components(a);
  const std::size_t last = op.modifiers.override_address ? 2 : 1;
  if (items.size() <= last || items[last].kind != ir::Argument::Kind::vector)
    throw Gap{"a tensor operand of this form"};
  TensorOperand out;
  out.address = last > 1 ? binder.any_width(items[1], ScalarType::b64) : binder.constant(0, 8);
  for (const ir::Argument& x : binder.code().components(items[last]))
    out.coordinates.push_back(binder.any_width(x, ScalarType::s32));
  inst.count = u8(out.coordinates.size());
  return out;
}

void bind(Binder& binder, const ir::Operation& op, const ops::TensorCopy& copy, Inst& inst) {
  const isa::Modifiers& m = op.modifiers;
  const TensorMode mode = m.tensor_mode == TensorMode::none ? TensorMode::tile : m.tensor_mode;
  const isa::TensorModeForm form = isa::tensor_mode_form(mode, isa::dimensions(m.dims));
  const TensorOperand tensor = tensor_operand(binder, op, copy.tensor, inst);
  if (int(tensor.coordinates.size()) != form.coordinates) throw Gap{"coordinates that do not match the dimension"};
  if (bool(form.offsets) != bool(copy.offsets)) throw Gap{"offsets that do not match the mode"};
  const auto shared = binder.address_or_none(copy.shared), barrier = binder.address_or_none(copy.mbarrier);
  binder.append(inst, shared.first);
  binder.append(inst, barrier.first);
  binder.append(inst, copy.ctas ? binder.any_width(copy.ctas, ScalarType::u32) : binder.constant(0, 4));
  binder.append(inst, binder.constant(u64(shared.second), 8));
  binder.append(inst, binder.constant(u64(barrier.second), 8));
  binder.append(inst, tensor.address);
  for (const Slot s : tensor.coordinates) binder.append(inst, s);
  if (copy.offsets) binder.append_all(inst, copy.offsets, ScalarType::u16);
  inst.space = u8(m.spaces[0]);
  inst.mode = u8(mode);
  inst.flags = u8((copy.ctas ? flag_multicast_box : 0) | (m.override_address ? flag_address : 0));
}

}  // namespace

void bind_tensor_copy(Binder& binder, const ir::Operation& op, const ops::TensorCopy& copy, Inst& inst) {
  bind(binder, op, copy, inst);
  inst.run = copy.loads() ? goes_on<tensor_load> : goes_on<tensor_store>;
}

void bind_tensor_prefetch(Binder& binder, const ir::Operation& op, const ops::TensorCopy& copy, Inst& inst) {
  bind(binder, op, copy, inst);
  inst.run = goes_on<tensor_prefetch>;
}

}  // namespace kiln::sim
