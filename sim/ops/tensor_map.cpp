// Tensor maps that a kernel edits and publishes. PTX ISA "tensormap.replace", "tensormap.cp_fenceproxy".
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "ptx/isa/tensor_map.hpp"
#include "ptx/rules/tma.hpp"
#include "sim/async/tensor_map.hpp"
#include "sim/core/memory_access.hpp"
#include "sim/ops/alu.hpp"

namespace kiln::sim {
namespace {

using isa::TensorMapField;

constexpr auto map_bytes = u32(isa::tensor_map_bytes), map_alignment = u32(isa::tensor_map_alignment);

void set_code(TensorMapImage& map, TensorMapField field, std::int64_t code) {
  if (rules::tensormap_field(field, code).broken())
    fault(rules::Rule::tensormap_field, fmt::format("the code {}", code));
  switch (field) {
    case TensorMapField::elemtype:
      if (!isa::element_type(code)) unmodelled("the element type of this code");
      map.dtype = u8(*isa::element_type(code));
      map.padded = 0;
      break;
    case TensorMapField::interleave_layout:
      // Neither manual says which stride leads from slice to slice, nor what dimension 0 counts.
      if (code != 0) unmodelled("interleaved tensor maps");
      break;
    case TensorMapField::swizzle_mode: map.swizzle = u8(isa::swizzle_mode(code).value()); break;
    case TensorMapField::swizzle_atomicity: map.atomicity = u8(code); break;
    default: map.oob = u8(code ? launch::OutOfBounds::nan : launch::OutOfBounds::zero);
  }
}

void set_value(TensorMapImage& map, TensorMapField field, std::size_t dimension, u64 value) {
  switch (field) {
    case TensorMapField::global_address: map.address = value; break;
    case TensorMapField::rank:  // counted from zero
      if (value >= isa::tma_max_rank) fault(rules::Rule::tma_rank, fmt::format("a rank of {}", value + 1));
      map.rank = u8(value + 1);
      break;
    case TensorMapField::box_dim: map.box[dimension] = u16(std::min<u64>(value, 0xFFFF)); break;
    case TensorMapField::global_dim: map.dims[dimension] = value; break;
    case TensorMapField::global_stride: map.strides[dimension] = value; break;
    default: map.element_strides[dimension] = u8(std::min<u64>(value, 0xFF));
  }
}

// a, value: the map; mode: the field; target: the dimension; more[0]: the new value.
void replace(Context& c, const Inst& i, Mask lanes) {
  const auto field = TensorMapField(i.mode);
  for (const int l : each_lane(lanes)) {
    const Place p = locate(c, Space(i.space), c.address(i, l), map_bytes, map_alignment, l);
    check_written(*c.grid, i.operation, p, map_bytes, "a tensor map");
    observe(c, i, l, p, map_bytes, AccessKind::read);
    observe(c, i, l, p, map_bytes, AccessKind::write);
    const auto is_zero = [](u8 byte) { return byte == 0; };
    const bool begins = std::all_of(p.view.data, p.view.data + map_bytes, is_zero);
    TensorMapImage map = begins ? begin_tensor_map() : decode_tensor_map(p.view.data);
    const u64 v = c.value(i, 0, l);
    if (isa::has_code(field))
      set_code(map, field, std::int64_t(v));
    else
      set_value(map, field, i.target, isa::is_wide(field) ? v : u64(u32(v)));
    map.edited = 1;
    std::memcpy(p.view.data, &map, sizeof map);
  }
}

// One copy for the warp, which all of its lanes ask for together: any of them may be the one that reads. Then a release
// that tensor copies acquire.
// a, value: destination; more: source and its offset.
Status publish(Context& c, const Inst& i, Mask lanes) {
  if (!converged(c, lanes, all_lanes)) return Status::blocked;
  const int l = first_lane(lanes);
  const Place to = locate(c, Space::global, c.address(i, l), map_bytes, map_alignment, l);
  const Place from =
      locate_shared(c, Space::shared_cta, c.value(i, 0, l) + c.value(i, 1, l), map_bytes, map_alignment, l);
  check_written(*c.grid, i.operation, from, map_bytes, "a tensor map");
  observe(c, i, lanes, SyncKind::warp_wait, all_lanes);
  for (const int reader : each_lane(lanes)) observe(c, i, reader, from, map_bytes, AccessKind::read);
  observe(c, i, l, to, map_bytes, AccessKind::write);
  std::memcpy(to.view.data, from.view.data, map_bytes);
  to.view.mark(map_bytes);
  observe(c, i, lanes, SyncKind::fence_proxy, 0);
  return Status::next;
}

}  // namespace

void bind_tensor_map_edit(Binder& binder, const ir::Operation& op, const ops::TensorMapEdit& edit, Inst& inst) {
  const std::string name = op.modifiers.others.empty() ? "" : op.modifiers.others.front();
  int number = 0;
  while (number <= int(TensorMapField::fill_mode) && isa::spelling(TensorMapField(number)) != name) ++number;
  if (number > int(TensorMapField::fill_mode)) throw Gap{"this field of a tensor map"};
  const auto field = TensorMapField(number);
  inst.mode = u8(field);
  binder.access(inst, op, edit.map);
  if (isa::has_ordinal(field) != bool(edit.dimension)) throw Gap{"this dimension"};
  if (edit.dimension) {
    if (rules::tensormap_field(field, edit.dimension->value).broken()) throw Gap{"this dimension"};
    inst.target = u32(edit.dimension->value);
  }
  binder.append(inst, binder.any_width(edit.value, isa::is_wide(field) ? ScalarType::u64 : ScalarType::u32));
  inst.run = goes_on<replace>;
}

void bind_tensor_map_copy(Binder& binder, const ir::Operation&, const ops::BulkCopy& copy, Inst& inst) {
  binder.address(inst, copy.to);
  binder.append_address(inst, copy.from);
  inst.run = publish;
}

}  // namespace kiln::sim
