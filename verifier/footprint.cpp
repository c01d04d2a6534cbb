#include "verifier/footprint.hpp"

#include "ptx/flow/tensor_loads.hpp"
#include "ptx/isa/access_bytes.hpp"
#include "ptx/isa/scales.hpp"
#include "ptx/isa/sparse.hpp"
#include "ptx/ops/operations.hpp"

namespace kiln::verifier {
namespace {

using flow::Bits;
using flow::Origin;
using Role = Footprint::Role;

constexpr int cell_bytes = 4;  // a column of one lane

Footprint data(const Facts& facts, const ir::Operation& op, const ir::Argument& address) {
  const bool packed = op.modifiers.pack_16b || op.modifiers.unpack_16b;
  const int columns = isa::load_shape(op.modifiers.shape).columns * isa::repeat_count(op.modifiers.repeat);
  Footprint f{&address, Role::data, {0, columns * (packed ? 2 : 1)}, isa::load_shape(op.modifiers.shape).lanes == 16};
  if (isa::is_tensor_load(op.opcode)) f.read = flow::columns_used(facts.code, facts.definitions, op);
  return f;
}

// What is read beside A and B: scale factors and metadata. Without a known shape it is one column of each.
void add_side_operands(const ops::Mma& mma, const ir::Operation& op, const isa::InstructionDescriptorFields* f,
                       bool half, std::vector<Footprint>& out) {
  const auto extents = f ? isa::scaled_extents(op.modifiers.cta_group, f->m, f->n) : isa::ScaledExtents{1, 1};
  if (mma.sfa) out.push_back({mma.sfa.pointer(), Role::sfa, {0, isa::scale_columns(extents.a)}});
  if (mma.sfb) out.push_back({mma.sfb.pointer(), Role::sfb, {0, isa::scale_columns(extents.b)}});
  if (mma.metadata) {
    const int columns = isa::metadata_columns(op.modifiers.kind);
    const int skipped = f && columns == 1 ? f->selector & 1 : 0;  // the selector picks one column of a pair
    out.push_back({mma.metadata.pointer(), Role::metadata, {skipped, columns}, half});
  }
}

// D, whose width the instruction descriptor says, A when it is in tensor memory, and what scales or thins them.
std::vector<Footprint> multiplied(const Facts& facts, const ir::Operation& op) {
  const auto mma = ops::as<ops::Mma>(op);
  if (!mma) return {};
  std::vector<Footprint> out;
  const Bits idesc = facts.known.of(mma->idesc, 32);
  constexpr std::uint64_t shape = 0x9F7E0003;  // M, N, the selector and the bit for K = 96
  if (!idesc.knows(shape)) {
    out.push_back({mma->d.pointer(), Role::d});
    if (mma->form.a_in_tmem) out.push_back({mma->a.pointer(), Role::a});
    add_side_operands(*mma, op, nullptr, false, out);
    return out;
  }
  const auto f = isa::unpack(std::uint32_t(idesc.one), op.modifiers.kind);
  const auto path = isa::data_path(f.m, op.modifiers.cta_group, mma->form.sparse, mma->form.ws);
  const bool half = isa::fills_half_the_lanes(path);
  out.push_back({mma->d.pointer(), Role::d, {0, isa::accumulator_columns(path, f.n)}, half});
  if (mma->form.a_in_tmem) out.push_back({mma->a.pointer(), Role::a, {0, isa::a_columns(f.k96)}, half});
  add_side_operands(*mma, op, &f, half, out);
  return out;
}

}  // namespace

std::string_view spelling(Role r) {
  switch (r) {
    case Role::data: return "the data";
    case Role::d: return "D";
    case Role::a: return "A";
    case Role::sfa: return "the scales of A";
    case Role::sfb: return "the scales of B";
    case Role::metadata: return "the metadata";
    case Role::copied: return "the copy";
    case Role::shifted: return "the shifted columns";
  }
  return {};
}

std::vector<Footprint> footprints(const Facts& facts, const ir::Operation& op) {
  if (const auto x = ops::as<ops::TmemAccess>(op)) return {data(facts, op, x->address)};
  if (const auto x = ops::as<ops::TmemShift>(op)) return {{x->address.pointer(), Role::shifted, {0, 8}}};
  if (const auto x = ops::as<ops::TmemCopy>(op))
    return {{x->to.pointer(), Role::copied, {0, isa::copy_shape(op.modifiers.shape).bytes / cell_bytes}}};
  return multiplied(facts, op);
}

std::optional<std::int64_t> column_distance(const Facts& facts, const ir::Argument& a, const ir::Argument& b,
                                            bool one_instruction) {
  const auto base = [&](const ir::Argument& x) { return x.count == 1 ? facts.code.components(x)[0] : ir::Argument{}; };
  const ir::Argument x = base(a), y = base(b);
  if (one_instruction && x.kind == ir::Argument::Kind::reg && y.kind == x.kind && x.id == y.id) {
    const std::int64_t distance = y.value - x.value;
    return distance == std::int16_t(distance) ? std::optional(distance) : std::nullopt;  // else on other lanes
  }
  const Origin p = facts.origins.of(a), q = facts.origins.of(b);
  const bool based = p.is(Origin::Base::slot) || p.is(Origin::Base::number);
  if (!based || p.base != q.base || p.id != q.id) return std::nullopt;
  if (!p.added.knows(column_bits) || !q.added.knows(column_bits)) return std::nullopt;
  return column(q.added) - column(p.added);
}

bool surely_overlap(const Facts& facts, const Footprint& a, const Footprint& b, bool one_instruction) {
  const auto distance = column_distance(facts, *a.address, *b.address, one_instruction);
  if (!distance || !isa::overlap(a.columns, {b.columns.first + *distance, b.columns.count})) return false;
  if (!a.half_lanes && !b.half_lanes) return true;
  // The two may lie beside each other in the same columns.
  const Bits p = facts.origins.of(*a.address).added, q = facts.origins.of(*b.address).added;
  constexpr std::uint64_t half = std::uint64_t{16} << 16;
  if (!p.knows(half) || !q.knows(half)) return one_instruction && distance == 0;
  return ((p.one ^ q.one) & half) == 0 || (a.half_lanes != b.half_lanes);
}

}  // namespace kiln::verifier
