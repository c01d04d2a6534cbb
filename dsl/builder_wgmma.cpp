// Kernels whose MMAs become wgmma: room for sums on their way out, rings that take what is left of shared memory, two
// warpgroups more and their share of the registers.
#include <algorithm>

#include "dsl/builder.hpp"
#include "dsl/operands.hpp"
#include "ptx/isa/launch_limits.hpp"
#include "ptx/rules/wgmma.hpp"

namespace kiln::dsl {

using ir::Operand;

namespace {

constexpr Here nowhere = Here::nowhere();
constexpr int reserved_bytes = 1024;  // for mbarriers and what else is static

}  // namespace

Operand KernelBuilder::wgmma_sums(int rows, int columns, const std::string& name, Here at) {
  WgmmaContext& w = *context_.wgmma;
  const bool fits = rows == WgmmaContext::rows && columns % WgmmaContext::chunk_columns == 0;
  rec_.require(rules::wgmma_sums(!w.sums && fits), at,
               "'" + name + "' of " + std::to_string(rows) + " x " + std::to_string(columns) +
                   (w.sums ? " beside another" : ""));
  if (w.sums) return Operand::number(0);
  constexpr int readers = isa::warps_per_warpgroup;
  RingState& ring = start_ring(rings_, "sums", WgmmaContext::chunks, WgmmaContext::chunk_bytes, at);
  ring.tiles = shared_bytes(WgmmaContext::chunks * WgmmaContext::chunk_bytes, at).operand();
  add_barriers(ring, readers, WgmmaContext::warps);
  w.sums = &ring;
  w.columns = columns;
  return Operand::number(0);
}

// A slot of a pair has room for both halves of what both CTAs multiply by.
void KernelBuilder::place_later(RingState& ring, const SlotSize& slot) {
  if (in_pairs() && slot.peer_bytes > 0) {
    rec_.require(rules::wgmma_half(slot.peer_blocks), ring.made_at, "ring '" + ring.name + "'");
    ring.slot_bytes += placed_bytes(slot.peer_bytes);
    ring.peer_bytes = slot.peer_bytes;
  }
  ring.tiles = rec_.fresh(ScalarType::b32);
  unplaced_.push_back(&ring);
}

// When all else has its place: as many slots as the kernel asks for, or as there is room for.
void KernelBuilder::place_rings() {
  for (RingState* ring : std::exchange(unplaced_, {})) {
    const int room = isa::max_shared_bytes(context_.target) - reserved_bytes - dynamic_bytes_;
    ring->stages = std::clamp(room / ring->slot_bytes, 1, ring->stages);
    for (const RingSide side : {RingSide::producer, RingSide::consumer}) barriers_of(*ring, side).count = ring->stages;
    const Operand place = shared_bytes(ring->stages * ring->slot_bytes, ring->made_at).operand();
    rec_.emit("mov.b32", {ring->tiles, place}, nowhere);
  }
}

// Every warp that multiplies gives back a slot, in a pair to both CTAs.
void KernelBuilder::count_wgmma_releases() {
  if (!multiplies()) return;
  for (const RingState& ring : rings_) {
    if (!context_.wgmma->released.contains(&ring.released)) continue;
    barriers_of(ring, RingSide::producer).arrivals = WgmmaContext::warps * (in_pairs() ? 2 : 1);
  }
}

namespace {

// Registers a thread, in the steps of setmaxnreg: where the sums want more than an even share of an SM's, the other
// warps give some of theirs.
struct RegisterShares {
  static constexpr int step = isa::setmaxnreg_step, threads = WgmmaContext::warps * isa::threads_per_warp;
  int multiply, other;
  bool is_even;

  RegisterShares(int sums, int others) {
    constexpr int besides = 40;  // addresses, descriptors, positions
    const auto all = std::uint32_t(threads + others);
    multiply = (sums + besides + step - 1) / step * step;
    other = int(isa::registers_for_the_rest(all, threads, std::uint32_t(multiply)));
    is_even = multiply <= int(isa::registers_to_share(1, all));
  }
};

}  // namespace

// Its code comes first: ptxas gives the registers that setmaxnreg asks for to what only that leads to.
Statements KernelBuilder::wgmma_role_code() {
  const WgmmaContext& w = *context_.wgmma;
  const RegisterShares shares(int(w.multiplier->sums.size()), w.first_warp * isa::threads_per_warp);
  Role& role = *std::find_if(roles_.begin(), roles_.end(), [](const Role& r) { return r.context.multiplies; });
  Statements out;
  rec_.enter(out, out);
  const std::string end = "end_" + role.context.name;
  rec_.label("role_" + role.context.name);
  const Operand other = rec_.fresh(ScalarType::pred);
  rec_.emit("setp.lt.u32", {other, warp_, Operand::number(w.first_warp)}, nowhere);
  rec_.emit_if(other, false, "bra", {Operand::named(end)}, nowhere);
  const auto share = [&](const char* direction, int registers) {
    if (!shares.is_even)
      rec_.emit(dotted({"setmaxnreg", direction, "sync.aligned.u32"}), {Operand::number(registers)}, nowhere);
  };
  share("inc", shares.multiply);
  std::move(role.entry.begin(), role.entry.end(), std::back_inserter(out));
  std::move(role.body.begin(), role.body.end(), std::back_inserter(out));
  rec_.emit("bra", {Operand::named("role_cleanup")}, nowhere);
  rec_.label(end);
  share("dec", shares.other);
  rec_.leave();
  return out;
}

}  // namespace kiln::dsl
