#include "verifier/explore/warpgroup.hpp"

#include <algorithm>

#include "ptx/isa/matrix_shape.hpp"
#include "ptx/isa/wgmma.hpp"
#include "ptx/rules/wgmma.hpp"

namespace kiln::verifier::explore {
namespace {

using isa::Opcode;

constexpr int row_bytes = 32;  // along K, of every type

// The threads of a warp that wait at an operation for the other warps of their group.
Fragment* waiting_at(Warp& w, std::uint32_t operation) {
  for (Fragment& f : w.fragments)
    if (f.at == operation && f.wait.kind == Wait::Kind::warpgroup) return &f;
  return nullptr;
}

int columns(const ir::Operation& op) {
  for (const std::string& text : op.modifiers.others)
    if (const auto shape = isa::parse_matrix_shape(text)) return shape->n;
  return 0;
}

}  // namespace

bool awaits_warpgroup(const State& s) {
  return any_fragment(s, [](const Fragment& f) { return f.wait.kind == Wait::Kind::warpgroup; });
}

// One access of the warpgroup: its four warps execute the operation together, so each waits here for the last one. Each
// must know that what its own tensor core reads is there, 16 rows of A and all of B. The whole is over for a thread
// when its warp has waited for it.
Status Warpgroups::multiply(const Turn& t) {
  if (t.f.arrived) return Status::next;  // another warp was the last one
  if (!t.converge(all_lanes)) return Status::blocked;
  const std::uint32_t first = t.warp_index / isa::warps_per_warpgroup * isa::warps_per_warpgroup;
  const std::uint32_t end =
      std::min(first + std::uint32_t(isa::warps_per_warpgroup), std::uint32_t(t.cta.warps.size()));
  findings_.add(rules::wgmma_warpgroup(std::int64_t(t.cta.warps.size()) - first), t.op);
  std::vector<Turn> turns;
  for (std::uint32_t w = first; w < end; ++w) {
    Warp& warp = t.cta.warps[w];
    Fragment* const f = w == t.warp_index ? &t.f : waiting_at(warp, t.at);
    if (!f) return t.f.wait = {Wait::Kind::warpgroup}, Status::blocked;
    turns.push_back({t.s, t.cta, warp, *f, t.op, t.cta_index, w, t.at, f->lanes});
  }
  const auto mma = ops::roles<ops::Wgmma>(t.op);
  const EventId id = t.s.add({&t.op, t.cta_index, first, all_lanes, Proxy::async, true});
  for (const Turn& one : turns) {
    if (mma.a->kind != ir::Argument::Kind::vector) read(one, id, mma.a, true);
    read(one, id, mma.b, false);
    one.warp.wgmma.open.add(id);
    if (one.warp_index != t.warp_index) one.f.wait = {}, one.f.arrived = true;
  }
  return Status::next;
}

void Warpgroups::read(const Turn& t, EventId id, const ir::Argument& descriptor, bool is_a) {
  const auto mma = ops::roles<ops::Wgmma>(t.op);
  const auto word = values_.known(t, descriptor, t.leader(), 64);
  if (!word) {
    const auto bits = values_.symbols().terms().bits(values_.read(t, descriptor, t.leader(), 64));
    if (!bits.knows(isa::descriptor_address_mask >> 4))
      throw Unfollowed{"the address in a descriptor is not known", &t.op};
    const std::uint32_t start = isa::unpack_wgmma(bits.one).start;
    return memory_.touch(t, id, {t.cta_index}, start, start + Memory::looked_at, t.lanes);
  }
  const isa::SharedDescriptorFields fields = isa::unpack_wgmma(*word);
  const ops::Operand& transposed = is_a ? mma.transpose_a : mma.transpose_b;
  const bool is_sparse = t.op.opcode == Opcode::wgmma_mma_async_sp;
  tile::SharedOperand operand{fields,
                              isa::wgmma_swizzle(fields.swizzle_code),
                              transposed && transposed->value != 0 ? isa::Major::MN : isa::Major::K,
                              isa::MmaKind::f16,  // only elements of 16 bits may lie MN-major
                              isa::ScalarType::f16,
                              is_a ? isa::wgmma_warp_rows : columns(t.op),
                              is_a || !is_sparse ? row_bytes : 2 * row_bytes};
  if (is_a) operand.first_row = int(t.warp_index) % isa::warps_per_warpgroup * isa::wgmma_warp_rows;
  const std::uint32_t most = program_.shared_bytes().value_or(~std::uint32_t{0});
  for (const ByteRun& run : tiles_.reads(operand)) {
    // Lines of 128 bytes are looked at whole; what lies beyond shared memory is not read.
    const std::uint32_t end = run.first < most ? std::min(run.end, most) : run.end;
    memory_.touch(t, id, {t.cta_index}, run.first, end, t.lanes);
  }
}

void Warpgroups::wait(const Turn& t) {
  auto& groups = t.warp.wgmma.committed;
  const auto keep = std::size_t(values_.number(t, ops::roles<ops::Count>(t.op).count, 32, "the groups that may go on"));
  while (groups.size() > keep) {
    groups.front().each([&](EventId e) { t.warp.learn(t.lanes, e); });
    groups.erase(groups.begin());
  }
}

Status Warpgroups::execute(const Turn& t) {
  switch (t.op.opcode) {
    case Opcode::wgmma_commit_group: t.warp.wgmma.commit(); return Status::next;
    case Opcode::wgmma_wait_group: wait(t); return Status::next;
    default: return multiply(t);
  }
}

}  // namespace kiln::verifier::explore
