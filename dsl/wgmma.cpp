// PTX ISA "Asynchronous Warpgroup Level Matrix Instructions".
#include "dsl/wgmma.hpp"

#include <algorithm>

#include "dsl/operands.hpp"
#include "dsl/ring.hpp"
#include "dsl/storage.hpp"
#include "ptx/isa/launch_limits.hpp"
#include "ptx/rules/wgmma.hpp"

namespace kiln::dsl {

namespace {

constexpr int static_bytes = 1024;  // room for mbarriers and other static shared memory

}  // namespace

Wgmma::Wgmma(int warps, const KernelContext& kernel)
    : first_warp_((warps + isa::warps_per_warpgroup - 1) / isa::warps_per_warpgroup * isa::warps_per_warpgroup),
      group_(kernel.group),
      pairs_(kernel.pairs) {}

// What a kernel needs -------------------------------------------------------------------------------------------------

int Wgmma::room_for_slots(isa::Target target, int others) {
  return isa::max_shared_bytes(target) - static_bytes - others;
}

namespace {

// CTAs of a cluster that load what each of them multiplies by.
int sharers(const SlotPart& part, isa::CtaGroup group, int pairs) {
  if (group == isa::CtaGroup::one || part.readers == Readers::own_cta) return 1;
  return part.readers == Readers::both_ctas ? 2 : pairs;
}

}  // namespace

int Wgmma::bytes_in_slot(const SlotPart& part, isa::CtaGroup group, int pairs) {
  return sharers(part, group, pairs) * placed_bytes(part.bytes);
}

bool Wgmma::is_shared(const SlotPart& part) const { return sharers(part, group_, pairs_) > 1; }

SumsPlace Wgmma::place_sums(Storage& s, int of_rows, int columns, const std::string& name, Here at) {
  const bool fits = of_rows == rows && columns % chunk_columns == 0;
  s.recorder().require(rules::wgmma_sums(!sums_ && fits), at,
                       "'" + name + "' of " + std::to_string(of_rows) + " x " + std::to_string(columns) +
                           (sums_ ? " beside another" : ""));
  if (sums_) return {Operand::number(0)};
  RingState& ring = s.add_ring("sums", chunks, chunk_bytes, at);
  ring.tiles = s.shared_bytes(chunks * chunk_bytes, "the sums", at).operand();
  s.add_barriers(ring, multiplying_warps);
  sums_ = &ring;
  columns_ = columns;
  return {Operand::number(0)};
}

// The registers of the role that multiplies are every stage's accumulator.
RingState& Wgmma::place_accumulators(Storage& s, int stages, int columns, const std::string& name, Here at) {
  RingState& ring = s.add_ring(name, stages, 0, at);
  ring.tiles = place_sums(s, isa::tmem_lanes, columns, name, at).base;
  s.add_barriers(ring);
  return ring;
}

// A slot has room for all parts of what several CTAs multiply by.
void Wgmma::place_slots(Storage& s, RingState& ring, const std::vector<SlotPart>& parts) {
  for (const SlotPart& part : parts) {
    ring.add(part);
    if (ring.each_cta || !is_shared(part)) continue;
    s.recorder().require(rules::wgmma_half(part.blocks_along_k), ring.made_at, "ring '" + ring.name + "'");
    ring.slot_bytes += bytes_in_slot(part, group_, pairs_) - placed_bytes(part.bytes);
    ring.peer_bytes.back() = (sharers(part, group_, pairs_) - 1) * part.transaction_bytes;
  }
  ring.tiles = s.recorder().fresh(ScalarType::b32);
  unplaced_.push_back(&ring);
  s.add_barriers(ring);
}

// As many slots as the kernel asks for, or as there is room for.
void Wgmma::place_rest(Storage& s) {
  for (RingState* ring : std::exchange(unplaced_, {})) {
    ring->stages = std::clamp(room_for_slots(s.target(), s.bytes()) / ring->slot_bytes, 1, ring->stages);
    for (const RingSide side : {RingSide::producer, RingSide::consumer})
      s.barriers_of(*ring, side).count = ring->stages;
    const Operand place = s.shared_bytes(ring->stages * ring->slot_bytes, ring->what(), ring->made_at).operand();
    s.recorder().emit("mov.b32", {ring->tiles, place}, nowhere);
  }
}

namespace {

// Registers a thread, in the steps of setmaxnreg: where the sums want more than an even share of an SM's, the other
// warps give some of theirs.
struct RegisterShares {
  static constexpr int step = isa::setmaxnreg_step;
  int multiply, other;
  bool is_even;

  RegisterShares(int sums, int threads, int others) {
    constexpr int besides = 40;  // addresses, descriptors, positions
    const auto all = std::uint32_t(threads + others);
    multiply = (sums + besides + step - 1) / step * step;
    other = int(isa::registers_for_the_rest(all, std::uint32_t(threads), std::uint32_t(multiply)));
    is_even = multiply <= int(isa::registers_to_share(1, all));
  }
};

}  // namespace

// Its code comes first: ptxas gives the registers that setmaxnreg asks for to what only that leads to.
std::vector<ir::Statement> Wgmma::moved_role_code(Recorder& r, std::vector<ir::Statement> recorded) {
  const RegisterShares shares(int(multiplier_->sums.size()), multiplying_warps * isa::threads_per_warp,
                              first_warp_ * isa::threads_per_warp);
  const RoleContext& role = *multiplier_->role;
  Statements out;
  r.enter(out, out);
  const std::string end = "end_" + role.name;
  r.label("role_" + role.name);
  const Operand other = r.fresh(ScalarType::pred);
  r.emit("setp.lt.u32", {other, role.warp, Operand::number(first_warp_)}, nowhere);
  r.emit_if(other, false, "bra", {target(end)}, nowhere);
  const auto share = [&](const char* direction, int registers) {
    if (!shares.is_even)
      r.emit(dotted({"setmaxnreg", direction, "sync.aligned.u32"}), {Operand::number(registers)}, nowhere);
  };
  share("inc", shares.multiply);
  std::move(recorded.begin(), recorded.end(), std::back_inserter(out));
  r.emit("bra", {target("role_cleanup")}, nowhere);
  r.label(end);
  share("dec", shares.other);
  r.leave();
  return out;
}

// The role that multiplies --------------------------------------------------------------------------------------------

namespace {

// A word of the role that every thread computes once.
class RoleEntry {
 public:
  RoleEntry(Recorder& r, Here at) : rec_(r), at_(at) {}
  U32 word(const Operand& o) const { return {rec_, o}; }
  Operand compare(const char* name, const Operand& a, std::int64_t b) const {
    return rec_.pure(ScalarType::pred, name, {a, Operand::number(b)}, at_);
  }
  U32 op(const char* name, const U32& a, std::int64_t b) const { return apply(name, a, b, at_); }
  U32 sum(const U32& a, const U32& b) const { return apply("add", a, b, at_); }

 private:
  Recorder& rec_;
  Here at_;
};

// Where a thread's columns lie in a place for sums: a row has 32 bytes in each block of 8 columns, of which rows 4...7
// of every eight have the halves exchanged. Then neither the warps that write (a pair of columns, 8 rows at a time) nor
// those that read (4 columns, a row a thread) meet a bank twice.
constexpr int row_bytes = 8 * 4, half_bytes = row_bytes / 2, vector_bytes = 16;

// Lane l of warp w has sums of rows 16 w + l / 4, and 8 below, at columns 2 (l % 4) and the next of each eight.
U32 place_of_sums(const RoleEntry& e, const U32& warp, const U32& lane, Here at) {
  const U32 row = e.sum(e.op("mul.lo", warp, isa::wgmma_warp_rows), e.op("div", lane, 4));
  const U32 half = apply("xor", e.op("and", e.op("shr", lane, 1), 1), e.op("shr", lane, 4), at);
  const U32 in_row = e.sum(e.op("mul.lo", half, half_bytes), e.op("mul.lo", e.op("and", lane, 1), half_bytes / 2));
  return e.sum(e.op("mul.lo", row, row_bytes), in_row);
}

}  // namespace

Wgmma::Multiplier& Wgmma::multiplier(TensorCore& t, Here at) {
  static_assert(row_bytes == block_columns * 4);
  Recorder& r = t.recorder();
  if (multiplier_) {
    r.require(rules::wgmma_sums(multiplier_->role == &t.role()), at, "another role multiplies too");
    return *multiplier_;
  }
  Multiplier& m = multiplier_.emplace(Multiplier{});
  RoleContext& role = t.role();
  m.role = &role;
  r.at_role_entry([&] {
    const RoleEntry e(r, at);
    const U32 warp = e.op("sub", e.word(role.warp), first_warp_);
    const U32 lane = e.op("and", e.word(role.thread), isa::threads_per_warp - 1);
    m.group = e.op("div", warp, isa::warps_per_warpgroup).operand();
    m.lane = lane.operand();
    m.first_thread = e.compare("setp.eq.u32", role.thread, first_warp_ * isa::threads_per_warp);
    m.place = place_of_sums(e, warp, lane, at).operand();
    m.slot.emplace(r, m.lane, role.kernel->ctas(), at);
  });
  role.at_exit.push_back([this, thread = t, at]() mutable { multiplier_->slot->finish(thread.recorder(), at); });
  return m;
}

// Each warpgroup takes its 64 rows of A.
Operand Wgmma::a_descriptor(TensorCore& t, const Operand& all_rows, const TileShape& a, Here at) {
  Recorder& r = t.recorder();
  const Multiplier& m = multiplier(t, at);
  const int units = a.row_offset(isa::wgmma_m) / isa::descriptor_unit_bytes;
  Operand offset;
  r.at_role_entry([&] {
    const U32 rows = apply("mul.lo", U32(r, m.group), units, at);
    offset = widen(rows, at).operand();
  });
  return r.pure(ScalarType::b64, "add.s64", {all_rows, offset}, at);
}

void Wgmma::mma(TensorCore& thread, const MmaCall& call, MmaOperands o, const TileShape* b_tile, Here at) {
  Recorder& r = thread.recorder();
  KernelContext& kernel = *thread.role().kernel;
  const isa::MmaForm& form = call.form;
  const isa::MmaShape& shape = call.shape;
  const rules::Verdict legal = rules::wgmma_form(form, shape);
  r.require(legal, at);
  if (legal.broken()) return;
  kernel.require(isa::Feature::wgmma, r, at);
  if (form.kind == isa::MmaKind::i8 && shape.a != shape.b) kernel.require(isa::Feature::wgmma_mixed_signs, r, at);
  multiplies_fp8_ = multiplies_fp8_ || form.kind == isa::MmaKind::f8f6f4;
  Multiplier& m = multiplier(thread, at);
  if (m.sums.empty()) m.sums = thread_sums(r, shape.d, shape.n);
  r.require(rules::wgmma_sums(columns_ == shape.n), at,
            "an MMA of " + std::to_string(shape.n) + " columns into " + std::to_string(columns_));
  if (!is_open_) r.emit("wgmma.fence.sync.aligned", {}, at);
  is_open_ = true;
  const int columns = isa::wgmma_columns(shape.n), parts = isa::wgmma_parts(shape.n);
  const int part_bytes = b_tile ? b_tile->row_offset(columns) : 0;
  const std::size_t registers = m.sums.size() / std::size_t(parts);
  for (int part = 0; part < parts; ++part) {
    const auto first = m.sums.begin() + long(part * registers);
    const int units = part * part_bytes / isa::descriptor_unit_bytes;
    const Operand b = units == 0 ? o.b : r.pure(ScalarType::b64, "add.s64", {o.b, Operand::number(units)}, at);
    issue_wgmma(r, form, shape, columns, {first, first + long(registers)}, {o.a, b, o.enable_input_d}, at);
  }
}

void Wgmma::commit(TensorCore& t, const Mbarrier& b, Here at) {
  Recorder& r = t.recorder();
  Multiplier& m = multiplier(t, at);
  if (std::exchange(is_open_, false)) r.emit("wgmma.commit_group.sync.aligned", {}, at);
  // A slot: the role that fills it can wait for one more group.
  if (b.releases) return m.slot->commit(r, b, multiplying_warps, at);
  m.slot->finish(r, at);
  m.slot->reset(r, at);
  r.emit_if(m.first_thread, false, "mbarrier.arrive.shared::cta.b64", {sink(), address_of(r, b.address, at)}, at);
  hand_over_sums(t, at);
}

// Both CTAs of a pair multiply, and each commits for itself; slots are released in both.
void Wgmma::commit(TensorCore& t, const Mbarrier& b, const U32&, Here at) { commit(t, b, at); }
void Wgmma::commit(TensorCore& t, const Mbarrier& b, const WideMulticast&, Here at) { commit(t, b, at); }
void Wgmma::commit_to_all(TensorCore& t, const Mbarrier& b, Here at) { commit(t, b, at); }

void Wgmma::hand_over_sums(TensorCore& t, Here at) {
  Recorder& r = t.recorder();
  const Multiplier& m = multiplier(t, at);
  constexpr int registers = 4 * chunk_columns / block_columns;  // of a chunk
  const Operand first_lane = r.pure(ScalarType::pred, "setp.eq.u32", {m.lane, Operand::number(0)}, at);
  for (std::size_t first = 0; first < m.sums.size(); first += registers) {
    const SlotPlace to = next_slot(t, *sums_, RingSide::producer, {}, at);
    t.wait(to.empty, Phase(apply("xor", to.phase, 1, at)), at);
    const Operand base = use(r, apply("add", to.tiles, U32(r, m.place), at), at);
    for (int i = 0; i < registers; i += 2) {
      const int block = i / 4, below = i % 4 / 2;  // two sums of a row, two of the row 8 below
      r.emit("st.shared.v2.b32",
             {Operand::address(base, block * block_bytes + below * 8 * row_bytes),
              Operand::vector({m.sums[first + std::size_t(i)], m.sums[first + std::size_t(i) + 1]})},
             at);
    }
    r.emit("bar.warp.sync", {whole_warp()}, at);
    r.emit_if(first_lane, false, "mbarrier.arrive.shared::cta.b64", {sink(), address_of(r, to.full.address, at)}, at);
  }
}

// The role that stores ------------------------------------------------------------------------------------------------

// This thread's row of one block of columns.
void Wgmma::read_block(Warpgroup& g, int block, std::vector<Operand>& out, Here at) {
  Recorder& r = g.recorder();
  const U32 in_place = apply("mul.lo", g.row(at), row_bytes, at);
  const U32 exchanged = apply("mul.lo", apply("and", apply("shr", g.row(at), 2, at), 1, at), half_bytes, at);
  const U32 first = apply("add", U32(r, reading_->place), apply("add", in_place, exchanged, at), at);
  for (const U32& half : {first, apply("xor", first, half_bytes, at)}) {
    std::vector<Operand> regs;
    for (int i = 0; i < vector_bytes / 4; ++i) regs.push_back(r.fresh(ScalarType::b32));
    r.emit("ld.shared.v4.b32", {Operand::vector(regs), Operand::address(use(r, half, at), block * block_bytes)}, at);
    out.insert(out.end(), regs.begin(), regs.end());
  }
}

std::vector<Operand> Wgmma::load_sums(Warpgroup& g, const SumsPlace& from, int columns, bool, Here at) {
  Recorder& r = g.recorder();
  const bool computed = !from.base.is_integer();  // a column that the kernel computes: whole chunks
  r.require(rules::wgmma_sums_order(columns % (computed ? chunk_columns : block_columns) == 0 &&
                                    (computed ? !reading_ : from.base.value + from.first == next_column_)),
            at);
  std::vector<Operand> out;
  for (int c = 0; c < columns; c += block_columns) {
    if (!reading_) {
      const SlotPlace slot = next_slot(g, *sums_, RingSide::consumer, {}, at);
      g.wait(slot.full, Phase(slot.phase), at);
      reading_ = Reading{slot.tiles.operand(), slot.empty.address.operand()};
    }
    read_block(g, reading_->columns / block_columns, out, at);
    reading_->columns += block_columns;
    if (reading_->columns < chunk_columns) continue;
    r.emit("bar.warp.sync", {whole_warp()}, at);  // all lanes have read
    g.arrive_after_loads(Mbarrier{U32(r, reading_->empty), sums_->name + "_empty", &sums_->releases}, at);
    reading_.reset();
  }
  if (!computed) next_column_ = (next_column_ + columns) % columns_;
  return out;
}

// Copies --------------------------------------------------------------------------------------------------------------

// The part that this CTA loads goes to all that share the tile, at its place among them: in a pair its rank's, of
// several pairs its pair's. Bit n of the mask is the CTA of rank n in the cluster: CTAs 2 n and 2 n + 1 are a pair.
TensorCoreTarget::Destination Wgmma::destination(const Copies& c, const SlotPart& part, const U32& tile,
                                                 const ExtraList& extras, Here at) {
  if (!is_shared(part)) return {tile, extras};
  constexpr int pair = 0b11, first_of_pairs = 0b01010101;
  const U32 rank = c.cluster_ctarank(at);
  const auto to = [&](const U32& number, const OperandOf<U32>& ctas) {
    Destination all{apply("add", tile, apply("mul.lo", number, part.bytes, at), at), extras};
    all.extras.add(TensorLoadExtras::place_of<Multicast>(), multicast_cluster(ctas));
    return all;
  };
  if (pairs_ == 1) return to(rank, OperandOf<U32>(pair, at));
  const U32 in_pair = apply("and", rank, 1, at);
  const auto ctas = [&](int mask, const U32& by) {
    return OperandOf<U32>(apply("shl", U32(c.recorder(), Operand::number(mask)), by, at));
  };
  if (part.readers == Readers::both_ctas) return to(in_pair, ctas(pair, apply("sub", rank, in_pair, at)));
  return to(apply("shr", rank, 1, at), ctas(first_of_pairs & ((1 << 2 * pairs_) - 1), in_pair));
}

}  // namespace kiln::dsl
