// What MMAs, commits and loads of sums become where the target multiplies with wgmma. PTX ISA "Asynchronous Warpgroup
// Level Matrix Instructions".
#include "dsl/operands.hpp"
#include "dsl/ring.hpp"
#include "ptx/isa/wgmma.hpp"
#include "ptx/rules/wgmma.hpp"

namespace kiln::dsl {

using ir::Operand;

namespace {

using Context = WgmmaContext;

// Where a thread's columns lie in a place for sums: a row has 32 bytes in each block of 8 columns, of which rows 4...7
// of every eight have the halves exchanged. Neither who writes (a pair of columns, 8 rows at a time) nor who reads (4
// columns, a row a thread) then meets a bank twice.
constexpr int row_bytes = Context::block_columns * 4, half_bytes = row_bytes / 2, vector_bytes = 16;

// "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16"
std::string mnemonic(const isa::MmaForm& f, const isa::MmaShape& s, int columns) {
  return dotted({"wgmma.mma_async.sync.aligned",
                 "m" + std::to_string(isa::wgmma_m) + "n" + std::to_string(columns) + "k" +
                     std::to_string(isa::mma_k(f, s)),
                 s.saturate ? "satfinite" : "", isa::spelling(s.d), isa::spelling(s.a), isa::spelling(s.b)});
}

std::vector<Operand> thread_sums(Recorder& r, ScalarType type, int columns) {
  std::vector<Operand> out;
  for (int i = 0; i < columns * isa::wgmma_m / (4 * isa::threads_per_warp); ++i) out.push_back(r.fresh(type));
  return out;
}

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

// Lane l of warp w has sums of rows 16 w + l / 4, and 8 below, at columns 2 (l % 4) and the next of each eight.
U32 place_of_sums(const RoleEntry& e, const U32& warp, const U32& lane, Here at) {
  const U32 row = e.sum(e.op("mul.lo", warp, isa::wgmma_warp_rows), e.op("div", lane, 4));
  const U32 half = apply("xor", e.op("and", e.op("shr", lane, 1), 1), e.op("shr", lane, 4), at);
  const U32 in_row = e.sum(e.op("mul.lo", half, half_bytes), e.op("mul.lo", e.op("and", lane, 1), half_bytes / 2));
  return e.sum(e.op("mul.lo", row, row_bytes), in_row);
}

}  // namespace

// The role that multiplies --------------------------------------------------------------------------------------------

WgmmaContext::Multiplier& TensorCore::multiplier(Here at) {
  Context& w = *role_->kernel->wgmma;
  if (w.multiplier) {
    rec_->require(rules::wgmma_sums(w.multiplier->role == role_), at, "another role multiplies too");
    return *w.multiplier;
  }
  Context::Multiplier& m = w.multiplier.emplace(Context::Multiplier{});
  m.role = role_;
  role_->multiplies = true;
  rec_->at_role_entry([&] {
    const RoleEntry e(*rec_, at);
    const U32 warp = e.op("sub", e.word(role_->warp), w.first_warp);
    const U32 lane = e.op("and", e.word(role_->thread), isa::threads_per_warp - 1);
    m.group = e.op("div", warp, isa::warps_per_warpgroup).operand();
    m.lane = lane.operand();
    m.arrives = e.compare("setp.lt.u32", m.lane, group() == isa::CtaGroup::two ? 2 : 1);
    m.first_thread = e.compare("setp.eq.u32", role_->thread, w.first_warp * isa::threads_per_warp);
    m.place = place_of_sums(e, warp, lane, at).operand();
    m.pending = rec_->fresh(ScalarType::b32);
    rec_->emit("mov.b32", {m.pending, Operand::number(0)}, at);
  });
  role_->at_exit.push_back([this_core = *this, at]() mutable { this_core.finish_wgmma(at); });
  return m;
}

// Each warpgroup takes its 64 rows of A.
Operand TensorCore::rows_of_warpgroup(const Operand& descriptor, int bytes, Here at) {
  const Context::Multiplier& m = multiplier(at);
  const int units = bytes / isa::descriptor_unit_bytes;
  Operand offset;
  rec_->at_role_entry([&] {
    const U32 rows = apply("mul.lo", U32(*rec_, m.group), units, at);
    offset = widen(rows, at).operand();
  });
  return rec_->pure(ScalarType::b64, "add.s64", {descriptor, offset}, at);
}

void TensorCore::wgmma(const isa::MmaForm& form, const isa::MmaShape& shape, const MmaOperands& o, int part_bytes,
                       Here at) {
  const rules::Verdict legal = rules::wgmma_form(form, shape);
  rec_->require(legal, at);
  if (legal.broken()) return;
  require_feature(isa::Feature::wgmma, at);
  if (form.kind == isa::MmaKind::i8 && shape.a != shape.b) require_feature(isa::Feature::wgmma_mixed_signs, at);
  Context& w = *role_->kernel->wgmma;
  Context::Multiplier& m = multiplier(at);
  if (m.sums.empty()) m.sums = thread_sums(*rec_, shape.d, shape.n);
  rec_->require(rules::wgmma_sums(w.columns == shape.n), at,
                "an MMA of " + std::to_string(shape.n) + " columns into " + std::to_string(w.columns));
  if (!w.is_open) rec_->emit("wgmma.fence.sync.aligned", {}, at);
  w.is_open = true;
  const int columns = isa::wgmma_columns(shape.n), parts = isa::wgmma_parts(shape.n);
  const std::size_t registers = m.sums.size() / std::size_t(parts);
  for (int part = 0; part < parts; ++part) {
    const auto first = m.sums.begin() + long(part * registers);
    const int units = part * part_bytes / isa::descriptor_unit_bytes;
    const Operand b =
        units == 0 ? o.b : rec_->pure(ScalarType::b64, "add.s64", {o.b, Operand::number(units)}, at);
    std::vector<Operand> operands{Operand::vector({first, first + long(registers)}), o.a, b, o.enable_input_d};
    const auto sign = [&](bool negate) { operands.push_back(Operand::number(negate ? -1 : 1)); };
    if (isa::is_floating(shape.a)) sign(shape.negate_a), sign(shape.negate_b);
    const auto transposed = [](isa::Major major) { return Operand::number(major == isa::Major::MN ? 1 : 0); };
    if (form.kind == isa::MmaKind::f16)
      operands.insert(operands.end(), {transposed(shape.a_major), transposed(shape.b_major)});
    rec_->emit(mnemonic(form, shape, columns), std::move(operands), at);
  }
}

// Waits until all but the last `groups` commits are done.
void TensorCore::wait_wgmma(int groups, Here at) {
  rec_->emit("wgmma.wait_group.sync.aligned", {Operand::number(groups)}, at);
}

// Arrives for each warp on the mbarrier that waits for MMAs which are done by now; in a pair in both CTAs.
void TensorCore::release_pending(Here at) {
  const Context::Multiplier& m = multiplier(at);
  const Operand here = rec_->fresh(ScalarType::pred);
  rec_->emit("setp.ne.and.u32", {here, m.pending, Operand::number(0), m.arrives}, at);
  if (group() == isa::CtaGroup::one) {
    rec_->emit_if(here, false, "mbarrier.arrive.shared::cta.b64", {sink(), Operand::address(m.pending)}, at);
    return;
  }
  const Operand there = rec_->fresh(ScalarType::b32);
  rec_->emit_if(here, false, "mapa.shared::cluster.u32", {there, m.pending, m.lane}, at);
  // Without a scope: what is handed on is that reads are done, which the wait for them says. A release.cluster would be
  // a fence of the whole GPU, each time (a third of the kernel's time on an H200).
  rec_->emit_if(here, false, "mbarrier.arrive.shared::cluster.b64", {sink(), Operand::address(there)}, at);
}

void TensorCore::commit_wgmma(const Mbarrier& b, Here at) {
  Context& w = *role_->kernel->wgmma;
  const Context::Multiplier& m = multiplier(at);
  if (std::exchange(w.is_open, false)) rec_->emit("wgmma.commit_group.sync.aligned", {}, at);
  if (b.released) {  // a slot: whoever fills it can wait for one more group
    *b.released = true;
    w.released.insert(b.released);
    wait_wgmma(1, at);
    release_pending(at);
    rec_->emit("mov.b32", {m.pending, use(*rec_, b.address, at)}, at);
    return;
  }
  finish_wgmma(at);
  rec_->emit("mov.b32", {m.pending, Operand::number(0)}, at);
  rec_->emit_if(m.first_thread, false, "mbarrier.arrive.shared::cta.b64", {sink(), address_of(*rec_, b.address, at)},
                at);
  hand_over_sums(at);
}

void TensorCore::finish_wgmma(Here at) {
  wait_wgmma(0, at);
  release_pending(at);
}

void TensorCore::hand_over_sums(Here at) {
  Context& w = *role_->kernel->wgmma;
  const Context::Multiplier& m = multiplier(at);
  constexpr int registers = 4 * Context::chunk_columns / Context::block_columns;  // of a chunk
  const Operand first_lane = rec_->pure(ScalarType::pred, "setp.eq.u32", {m.lane, Operand::number(0)}, at);
  for (std::size_t first = 0; first < m.sums.size(); first += registers) {
    const SlotPlace to = next_slot(*rec_, *w.sums, RingSide::producer, at);
    wait(to.empty, Phase(apply("xor", to.phase, 1, at)), at);
    const Operand base = use(*rec_, apply("add", to.tiles, U32(*rec_, m.place), at), at);
    for (int i = 0; i < registers; i += 2) {
      const int block = i / 4, below = i % 4 / 2;  // two sums of a row, two of the row 8 below
      rec_->emit("st.shared.v2.b32",
                 {Operand::address(base, block * Context::block_bytes + below * 8 * row_bytes),
                  Operand::vector({m.sums[first + std::size_t(i)], m.sums[first + std::size_t(i) + 1]})},
                 at);
    }
    rec_->emit("bar.warp.sync", {whole_warp()}, at);
    rec_->emit_if(first_lane, false, "mbarrier.arrive.shared::cta.b64",
                  {sink(), address_of(*rec_, to.full.address, at)}, at);
  }
}

// The role that stores ------------------------------------------------------------------------------------------------

// This thread's row of one block of columns.
void Warpgroup::read_block(const Operand& place, int block, std::vector<Operand>& out, Here at) {
  const U32 in_place = apply("mul.lo", row(at), row_bytes, at);
  const U32 exchanged = apply("mul.lo", apply("and", apply("shr", row(at), 2, at), 1, at), half_bytes, at);
  const U32 first = apply("add", U32(*rec_, place), apply("add", in_place, exchanged, at), at);
  for (const U32& half : {first, apply("xor", first, half_bytes, at)}) {
    std::vector<Operand> regs;
    for (int i = 0; i < vector_bytes / 4; ++i) regs.push_back(rec_->fresh(ScalarType::b32));
    rec_->emit("ld.shared.v4.b32",
               {Operand::vector(regs), Operand::address(use(*rec_, half, at), block * Context::block_bytes)}, at);
    out.insert(out.end(), regs.begin(), regs.end());
  }
}

std::vector<Operand> Warpgroup::load_sums(const Operand& base, int first, int columns, Here at) {
  Context& w = *role_->kernel->wgmma;
  const bool computed = !base.is_integer();  // a column that the kernel computes: whole chunks
  rec_->require(rules::wgmma_sums_order(columns % (computed ? Context::chunk_columns : Context::block_columns) == 0 &&
                                        (computed ? !w.reading : base.value + first == w.next_column)),
                at);
  std::vector<Operand> out;
  for (int c = 0; c < columns; c += Context::block_columns) {
    if (!w.reading) {
      const SlotPlace from = next_slot(*rec_, *w.sums, RingSide::consumer, at);
      wait(from.full, Phase(from.phase), at);
      w.reading = Context::Reading{from.tiles.operand(), from.empty.address.operand()};
    }
    read_block(w.reading->place, w.reading->columns / Context::block_columns, out, at);
    w.reading->columns += Context::block_columns;
    if (w.reading->columns < Context::chunk_columns) continue;
    rec_->emit("bar.warp.sync", {whole_warp()}, at);  // all lanes have read
    arrive_by_warp(Mbarrier{U32(*rec_, w.reading->empty), w.sums->name + "_empty", &w.sums->released}, at);
    w.reading.reset();
  }
  if (!computed) w.next_column = (w.next_column + columns) % w.columns;
  return out;
}

}  // namespace kiln::dsl
