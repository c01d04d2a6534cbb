#include "dsl/scope.hpp"

#include <algorithm>

namespace kiln::dsl {

using ir::Operand;

namespace {

Operand mask() { return Operand::bits(0xffffffffu); }

Operand address_of(Recorder& r, const U32& v, Here at) { return Operand::address(use(r, v, at)); }

Operand sink() {
  Operand o;
  o.kind = Operand::Kind::sink;
  return o;
}

// bra targets and labels share the plain name.
Operand target(const std::string& label) { return Operand::named(label); }

}  // namespace

// Scope ----------------------------------------------------------------------------------------------------------------

void Scope::loop_over(OperandOf<U32> trips, const std::function<void(const U32&)>& body) {
  const Here at = trips.at;
  const Operand count = use(*rec_, trips.input());
  const std::string head = rec_->fresh_label("loop_" + role_->name), end = head + "_end";
  const Operand i = rec_->fresh(ScalarType::u32);
  rec_->emit("mov.u32", {i, Operand::number(0)}, at);
  if (!count.is_integer() || count.value <= 0) {
    const Operand none = rec_->fresh(ScalarType::pred);
    rec_->emit("setp.eq.u32", {none, count, Operand::number(0)}, at);
    rec_->emit_if(none, false, "bra", {target(end)}, at);
  }
  rec_->label(head);
  rec_->open_scope();
  role_->waited = true;  // the back edge may come from a wait
  body(U32(*rec_, i));
  rec_->close_scope();
  const Operand more = rec_->fresh(ScalarType::pred);
  rec_->emit("add.u32", {i, i, Operand::number(1)}, at);
  rec_->emit("setp.lt.u32", {more, i, count}, at);
  rec_->emit_if(more, false, "bra", {target(head)}, at);
  rec_->label(end);
}

void Scope::when_else(const Pred& p, const std::function<void()>& body, const std::function<void()>& otherwise,
                      Here at) {
  if (p.is_constant()) {
    if (p.constant()) body();
    else if (otherwise) otherwise();
    return;
  }
  rec_->check_use(&p.recorder(), p.scope(), at);
  const std::string end = rec_->fresh_label("when_" + role_->name), other = end + "_else";
  rec_->emit_if(p.operand(), true, "bra", {target(otherwise ? other : end)}, at);
  rec_->open_scope();
  body();
  rec_->close_scope();
  if (otherwise) {
    rec_->emit("bra", {target(end)}, at);
    rec_->label(other);
    rec_->open_scope();
    otherwise();
    rec_->close_scope();
  }
  rec_->label(end);
  if (converged_) rec_->emit("bar.warp.sync", {mask()}, at);
  role_->waited = true;
}

Var<U32> Scope::var(OperandOf<U32> first) {
  const Operand reg = rec_->fresh(ScalarType::u32);
  rec_->emit("mov.b32", {reg, use(*rec_, first.input())}, first.at);
  return {*rec_, reg};
}

void Scope::wait(const Mbarrier& b, const Phase& phase, Here at) {
  const Operand parity = phase.value ? use(*rec_, *phase.value, at) : Operand::number(phase.constant);
  const std::string retry = rec_->fresh_label("wait_" + role_->name);
  const Operand done = rec_->fresh(ScalarType::pred);
  rec_->label(retry);
  rec_->emit("mbarrier.try_wait.parity.shared::cta.b64", {done, address_of(*rec_, b.address, at), parity}, at);
  rec_->emit_if(done, true, "bra", {target(retry)}, at);
  role_->waited = true;
}

void Scope::ptx(std::string_view mnemonic, std::vector<Operand> operands, Here at) {
  rec_->emit(mnemonic, std::move(operands), at);
}

std::array<U32, 4> Scope::ld_shared_v4(const U32& address, Here at) {
  std::vector<Operand> regs;
  for (int i = 0; i < 4; ++i) regs.push_back(rec_->fresh(ScalarType::b32));
  rec_->emit("ld.shared.v4.b32", {Operand::vector(regs), address_of(*rec_, address, at)}, at);
  return {U32(*rec_, regs[0]), U32(*rec_, regs[1]), U32(*rec_, regs[2]), U32(*rec_, regs[3])};
}

namespace {

// PTX refuses a vector of constants alone, so constants travel in registers.
Operand four(Recorder& r, const std::array<U32, 4>& values, Here at) {
  std::vector<Operand> items;
  for (const U32& v : values) {
    const Operand o = use(r, v, at);
    items.push_back(o.is_integer() ? r.pure(ScalarType::b32, "mov.b32", {o}, at) : o);
  }
  return Operand::vector(std::move(items));
}

}  // namespace

void Scope::st_shared_v4(const U32& address, const std::array<U32, 4>& values, Here at) {
  rec_->emit("st.shared.v4.b32", {address_of(*rec_, address, at), four(*rec_, values, at)}, at);
}

void Scope::st_global_v4(const U64& address, const std::array<U32, 4>& values, Here at) {
  rec_->emit("st.global.v4.b32", {Operand::address(use(*rec_, address, at)), four(*rec_, values, at)}, at);
}

void Scope::tcgen05_fence_before_thread_sync(Here at) { rec_->emit("tcgen05.fence::before_thread_sync", {}, at); }
void Scope::tcgen05_fence_after_thread_sync(Here at) { rec_->emit("tcgen05.fence::after_thread_sync", {}, at); }
void Scope::fence_proxy_async(Here at) { rec_->emit("fence.proxy.async.shared::cta", {}, at); }

// The strict reading of PTX wants a fence between a thread's wait and its next tcgen05 instruction; it costs nothing.
void Scope::before_tcgen05(Here at) {
  role_->used_tcgen05 = true;
  if (!role_->waited) return;
  tcgen05_fence_after_thread_sync(at);
  role_->waited = false;
}

// Thread ---------------------------------------------------------------------------------------------------------------

void Thread::copy_boxes(const TilePieces& pieces, const U32& shared, const Operand& map, const U32& inner,
                        const U32& outer, const Mbarrier* full, Here at) {
  const auto plus = [&](const U32& v, int by) { return use(*rec_, apply("add", v, by, at), at); };
  for (int block = 0; block < pieces.blocks; ++block)
    for (int piece = 0; piece < pieces.row_pieces; ++piece) {
      const Operand box = Operand::address(plus(shared, block * pieces.block_bytes + piece * pieces.piece_bytes));
      Operand tensor = Operand::address(map);
      tensor.items.push_back(Operand::vector(
          {plus(inner, block * pieces.box_inner), plus(outer, piece * pieces.box_outer)}));
      if (full)
        rec_->emit("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes",
                   {box, tensor, address_of(*rec_, full->address, at)}, at);
      else
        rec_->emit("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group", {tensor, box}, at);
    }
}

void Thread::commit_stores(Here at) { rec_->emit("cp.async.bulk.commit_group", {}, at); }

void Thread::wait_stores_read(int pending, Here at) {
  rec_->emit("cp.async.bulk.wait_group.read", {Operand::number(pending)}, at);
}

void Thread::expect_tx(const Mbarrier& b, std::int64_t bytes, Here at) {
  rec_->require(rules::mbarrier_tx(bytes), at);
  rec_->emit("mbarrier.arrive.expect_tx.shared::cta.b64",
             {sink(), address_of(*rec_, b.address, at), Operand::number(bytes)}, at);
}

void Thread::arrive(const Mbarrier& b, Here at) {
  if (b.released) *b.released = true;
  rec_->emit("mbarrier.arrive.shared::cta.b64", {sink(), address_of(*rec_, b.address, at)}, at);
}

void Thread::commit(const Mbarrier& b, Here at) {
  if (b.released) *b.released = true;
  before_tcgen05(at);
  rec_->emit("tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64",
             {address_of(*rec_, b.address, at)}, at);
}

U64 Thread::descriptor(const U32& address, std::uint64_t constant, int offset, Here at) {
  const Operand units = rec_->pure(ScalarType::b32, "shr.u32", {use(*rec_, address, at), Operand::number(4)}, at);
  const Operand field = rec_->pure(ScalarType::b32, "and.b32", {units, Operand::bits(0x3fff)}, at);
  const Operand wide = rec_->pure(ScalarType::b64, "cvt.u64.u32", {field}, at);
  const Operand base =
      rec_->pure(ScalarType::b64, "or.b64", {wide, Operand::bits(constant)}, at);
  if (offset == 0) return {*rec_, base};
  return {*rec_, rec_->pure(ScalarType::b64, "add.s64", {base, Operand::number(offset / isa::descriptor_unit_bytes)}, at)};
}

void Thread::tcgen05_mma_f16(const U32& d, const U64& a, const U64& b, std::uint32_t idesc, const EnableInputD& p,
                             Here at) {
  before_tcgen05(at);
  rec_->emit("tcgen05.mma.cta_group::1.kind::f16",
             {address_of(*rec_, d, at), use(*rec_, a, at), use(*rec_, b, at), Operand::bits(idesc), p.operand}, at);
}

// Whole warps ----------------------------------------------------------------------------------------------------------

std::vector<U32> WholeWarps::load_registers(isa::DataShape shape, int repeat, const U32& address, Here at) {
  before_tcgen05(at);
  std::vector<Operand> regs;
  for (int i = 0; i < isa::load_shape(shape).registers * repeat; ++i) regs.push_back(rec_->fresh(ScalarType::b32));
  rec_->emit("tcgen05.ld.sync.aligned." + std::string(isa::spelling(shape)) + ".x" + std::to_string(repeat) + ".b32",
             {Operand::vector(regs), address_of(*rec_, address, at)}, at);
  std::vector<U32> out;
  for (const Operand& r : regs) out.emplace_back(*rec_, r);
  return out;
}

void WholeWarps::tcgen05_wait_ld(Here at) { rec_->emit("tcgen05.wait::ld.sync.aligned", {}, at); }

// Warp -----------------------------------------------------------------------------------------------------------------

Operand elect_leader(Recorder& r, Here at) {
  const Operand leader = r.fresh(ScalarType::pred);
  Operand pair;
  pair.kind = Operand::Kind::pair;
  pair.items = {sink(), leader};
  r.emit("elect.sync", {pair, mask()}, at);
  return leader;
}

namespace {

void execute_in_one(Recorder& r, RoleContext& role, const Operand& chosen, const std::function<void(Thread)>& body,
                    Here at) {
  const std::string join = r.fresh_label("elected_" + role.name);
  r.emit_if(chosen, true, "bra", {target(join)}, at);
  r.open_scope();
  body(Thread(r, role));
  r.close_scope();
  r.label(join);
  r.emit("bar.warp.sync", {mask()}, at);
}

}  // namespace

void Warp::elect_one(const std::function<void(Thread)>& body, Here at) {
  execute_in_one(*rec_, *role_, elect_leader(*rec_, at), body, at);
}

void Warp::alloc(const U32& slot, int columns, Here at) {
  rec_->emit("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32",
             {address_of(*rec_, slot, at), Operand::number(columns)}, at);
  role_->used_tcgen05 = true;
}

void Warp::dealloc(const U32& address, int columns, Here at) {
  before_tcgen05(at);
  rec_->emit("tcgen05.dealloc.cta_group::1.sync.aligned.b32", {use(*rec_, address, at), Operand::number(columns)}, at);
}

void Warp::tcgen05_relinquish_alloc_permit(Here at) {
  rec_->emit("tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned", {}, at);
}

// Warpgroup ------------------------------------------------------------------------------------------------------------

U32 Warpgroup::row(Here at) const {
  return {*rec_, rec_->pure(ScalarType::b32, "and.b32", {role_->thread, Operand::number(127)}, at)};
}

std::vector<Operand> Warpgroup::load_rows(const U32& address, int columns, Here at) {
  // The lane field of the warp's quarter: 32 * (warp % 4) lanes, in the upper half of the address.
  const U32 quarter = apply("and", U32(*rec_, role_->warp), 3, at);
  const U32 lanes = apply("mul.lo", quarter, isa::pack(isa::TmemAddress{isa::tmem_lanes_per_warp, 0}), at);
  std::vector<Operand> regs;
  for (const U32& r : load_registers(isa::DataShape::s32x32b, columns, apply("add", lanes, address, at), at))
    regs.push_back(r.operand());
  return regs;
}

// The bits that the swizzle exchanges in this thread's row of a tile that lies at a multiple of the period.
U32 Warpgroup::row_key(isa::Swizzle s, int row_pitch, Here at) const {
  constexpr int line = 128, chunk = 16;  // the key counts lines of 128 bytes and moves chunks of 16
  const U32 lines = apply("div", row(at), line / row_pitch, at);
  return apply("mul.lo", apply("and", lines, isa::period_bytes(s) / line - 1, at), chunk, at);
}

void Warpgroup::store_row(const U32& tile, isa::Swizzle s, int row_pitch, int block_bytes,
                          const std::vector<Operand>& regs, Here at) {
  // A row is one span, so all its 16-byte chunks share one key.
  const U32 start = apply("add", tile, apply("mul.lo", row(at), row_pitch, at), at);
  const bool swizzled = s != isa::Swizzle::none;
  const U32 keyed = swizzled ? apply("or", start, row_key(s, row_pitch, at), at) : start;
  const int chunks_per_block = std::max(1, row_pitch / 16);
  for (std::size_t i = 0; i < regs.size(); i += 4) {
    const int chunk = int(i / 4), block = chunk / chunks_per_block, within = chunk % chunks_per_block * 16;
    const U32 at_chunk = apply(swizzled ? "xor" : "add", keyed, within, at);
    rec_->emit("st.shared.v4.b32",
               {Operand::address(use(*rec_, at_chunk, at), block * block_bytes),
                Operand::vector({regs.begin() + long(i), regs.begin() + long(i) + 4})},
               at);
  }
}

void Warpgroup::store_vectors(const U64& address, const std::vector<Operand>& regs, const U32& elements,
                              int per_vector, Here at) {
  const Operand to = use(*rec_, address, at), limit = use(*rec_, elements, at);
  for (std::size_t i = 0; i < regs.size(); i += 4) {
    const Operand inside = rec_->fresh(ScalarType::pred);
    const auto last = std::int64_t(i / 4 + 1) * per_vector;
    rec_->emit("setp.ge.u32", {inside, limit, Operand::number(last)}, at);
    rec_->emit_if(inside, false, "st.global.v4.b32",
                  {Operand::address(to, std::int64_t(i) * 4),
                   Operand::vector({regs.begin() + long(i), regs.begin() + long(i) + 4})},
                  at);
  }
}

void Warpgroup::sync(Here at) {
  if (role_->used_tcgen05) tcgen05_fence_before_thread_sync(at);
  rec_->emit("bar.sync", {Operand::number(role_->named_barrier), Operand::number(role_->threads)}, at);
  role_->waited = role_->waited || role_->used_tcgen05;
}

// The same thread is chosen every time: it is the one that owns the bulk groups it commits.
const Operand& Warpgroup::chosen_thread(Here at) {
  if (role_->chosen) return *role_->chosen;
  rec_->at_role_entry([&] {
    const Operand quarter = rec_->pure(ScalarType::b32, "and.b32", {role_->warp, Operand::number(3)}, at);
    const Operand first = rec_->pure(ScalarType::pred, "setp.eq.u32", {quarter, Operand::number(0)}, at);
    const Operand leader = elect_leader(*rec_, at);
    role_->chosen = rec_->pure(ScalarType::pred, "and.pred", {first, leader}, at);
  });
  return *role_->chosen;
}

void Warpgroup::elect_one(const std::function<void(Thread)>& body, Here at) {
  execute_in_one(*rec_, *role_, chosen_thread(at), body, at);
}

void Warpgroup::arrive(const Mbarrier& b, Here at) {
  sync(at);
  elect_one([&](Thread t) { t.arrive(b, at); }, at);
}

std::vector<Operand> convert_pairs(Recorder& r, ScalarType to, const std::vector<Operand>& from, Here at) {
  const std::string name = "cvt.rn." + std::string(isa::spelling(to)) + "x2.f32";
  std::vector<Operand> out;
  for (std::size_t i = 0; i + 1 < from.size(); i += 2)
    out.push_back(r.pure(ScalarType::b32, name, {from[i + 1], from[i]}, at));
  return out;
}

}  // namespace kiln::dsl
