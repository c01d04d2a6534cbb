#include "dsl/warp.hpp"

#include <algorithm>
#include <bit>

#include "dsl/operands.hpp"
#include "dsl/tensor_core_target.hpp"
#include "ptx/isa/wgmma.hpp"

namespace kiln::dsl {

// Tensor memory -------------------------------------------------------------------------------------------------------

namespace {

// "tcgen05.ld.sync.aligned.16x32bx2.x4"
std::string access_name(std::string_view name, const TmemAccess& a) {
  return dotted({name, "sync.aligned", spelling(a.shape)}) + ".x" + std::to_string(a.repeat);
}

std::vector<Operand> fresh_registers(Recorder& r, int n) {
  std::vector<Operand> out;
  for (int i = 0; i < n; ++i) out.push_back(r.fresh(ScalarType::b32));
  return out;
}

Operand register_vector(Recorder& r, std::vector<Operand> items, Here at) {
  for (Operand& o : items) o = in_register(r, o, at);
  return Operand::vector(std::move(items));
}

}  // namespace

std::vector<Operand> WholeWarps::load_tmem(const TmemAccess& a, const U32& address, Here at) {
  before_tcgen05(at);
  std::vector<Operand> regs = fresh_registers(*rec_, isa::load_shape(a.shape).registers * a.repeat);
  std::vector<Operand> operands{Operand::vector(regs), address_of(*rec_, address, at)};
  if (a.split) operands.push_back(Operand::number(*a.split));
  rec_->emit(access_name("tcgen05.ld", a) + (a.packed ? ".pack::16b" : "") + ".b32", std::move(operands), at);
  return regs;
}

std::vector<Operand> WholeWarps::load_reduced(const TmemReduction& a, RedOp op, ScalarType type, const U32& address,
                                              Here at) {
  before_tcgen05(at);
  require_feature(isa::Feature::ld_red, at);
  std::vector<Operand> regs = fresh_registers(*rec_, a.repeat);
  const Operand reduced = rec_->fresh(ScalarType::b32);
  std::vector<Operand> operands{Operand::vector(regs), reduced, address_of(*rec_, address, at)};
  if (a.split) operands.push_back(Operand::number(*a.split));
  rec_->emit(
      access_name("tcgen05.ld.red", a) + dotted({"", spelling(op), compares_magnitudes(a.comparison) ? "abs" : "",
                                                 keeps_nan(a.comparison) ? "NaN" : "", spelling(type)}),
      std::move(operands), at);
  regs.push_back(reduced);
  return regs;
}

void WholeWarps::store_tmem(const TmemAccess& a, const U32& address, const std::vector<Operand>& values, Here at) {
  before_tcgen05(at);
  std::vector<Operand> operands{address_of(*rec_, address, at)};
  if (a.split) operands.push_back(Operand::number(*a.split));
  operands.push_back(register_vector(*rec_, values, at));
  rec_->emit(access_name("tcgen05.st", a) + (a.packed ? ".unpack::16b" : "") + ".b32", std::move(operands), at);
}

void WholeWarps::tcgen05_wait_ld(Here at) { role_->kernel->tensor_core->wait_for_sums(*this, at); }
void WholeWarps::tcgen05_wait_st(Here at) { rec_->emit("tcgen05.wait::st.sync.aligned", {}, at); }

AnyRegisters WholeWarps::wait(const AnyRegisters& loaded, Here at) {
  tcgen05_wait_ld(at);
  return loaded.after(LdEvent::wait, at);
}

AnyReduced WholeWarps::wait(const AnyReduced& loaded, Here at) {
  tcgen05_wait_ld(at);
  return {loaded.values.after(LdEvent::wait, at), loaded.reduced.after(LdEvent::wait, at)};
}

// The rest of what warps do together ----------------------------------------------------------------------------------

void WholeWarps::setmaxnreg(std::string_view direction, int registers, Here at) {
  role_->registers = registers, role_->registers_at = at;
  rec_->emit(dotted({"setmaxnreg", direction, "sync.aligned.u32"}), {Operand::number(registers)}, at);
}

void WholeWarps::copy_tensor_map(const U64& to, const U32& from, isa::Scope scope, Here at) {
  rec_->emit(dotted({"tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release", spelling(scope),
                     "sync.aligned"}),
             {address_of(*rec_, to, at), address_of(*rec_, from, at), Operand::number(isa::tensor_map_bytes)}, at);
}

// Warp ----------------------------------------------------------------------------------------------------------------

Operand elect_leader(Recorder& r, Here at) {
  const Operand leader = r.fresh(ScalarType::pred);
  Operand pair;
  pair.kind = Operand::Kind::pair;
  pair.items = {sink(), leader};
  r.emit("elect.sync", {pair, whole_warp()}, at);
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
  r.emit("bar.warp.sync", {whole_warp()}, at);
  role.ordered_memory(r.scope());
}

}  // namespace

void Warp::sync(Here at) {
  rec_->emit("bar.warp.sync", {whole_warp()}, at);
  role_->ordered_memory(rec_->scope());
}

void Warp::elect_one(const std::function<void(Thread)>& body, Here at) {
  execute_in_one(*rec_, *role_, elect_leader(*rec_, at), body, at);
}

// The instruction that takes or frees columns, as far as its type.
std::string Warp::allocation(const char* opcode, int columns, bool exclusive, Here at) {
  before_tcgen05(at);
  if (exclusive) {
    require_feature(isa::Feature::exclusive, at);
    rec_->require(rules::alloc_columns(columns, true, role_->kernel->target), at, std::to_string(columns) + " columns");
  }
  return cta_mnemonic(std::string(opcode) + (exclusive ? ".exclusive" : ""), group()) + ".sync.aligned";
}

void Warp::alloc(const U32& slot, int columns, Here at, bool exclusive) {
  rec_->emit(allocation("tcgen05.alloc", columns, exclusive, at) + ".shared::cta.b32",
             {address_of(*rec_, slot, at), Operand::number(columns)}, at);
}

void Warp::dealloc(const U32& address, int columns, Here at, bool exclusive) {
  rec_->emit(allocation("tcgen05.dealloc", columns, exclusive, at) + ".b32",
             {use(*rec_, address, at), Operand::number(columns)}, at);
}

void Warp::tcgen05_relinquish_alloc_permit(Here at) {
  rec_->emit(cta_mnemonic("tcgen05.relinquish_alloc_permit", group()) + ".sync.aligned", {}, at);
}

// Warpgroup -----------------------------------------------------------------------------------------------------------

U32 Warpgroup::row(Here at) const {
  return {*rec_, rec_->pure(ScalarType::b32, "and.b32", {role_->thread, Operand::number(127)}, at)};
}

// The lane field of the warp's quarter is 32 * (warp % 4) lanes, in the upper half of the address.
U32 WholeWarps::quarter(const U32& address, Here at) const {
  const U32 index = apply("and", U32(*rec_, role_->warp), 3, at);
  const U32 lanes = apply("mul.lo", index, isa::pack(isa::TmemAddress{isa::tmem_lanes_per_warp, 0}), at);
  return apply("add", lanes, address, at);
}

std::vector<Operand> Warpgroup::load_rows(const U32& address, const TmemLoad& access, Here at) {
  return load_tmem(access, quarter(address, at), at);
}

std::vector<Operand> Warpgroup::load_sums(const SumsPlace& from, int registers, bool packed, Here at) {
  return role_->kernel->tensor_core->load_sums(*this, from, registers, packed, at);
}

AnyRegisters Warpgroup::load(const AnyTmem& from, Here at) {
  const int repeat = from.count * from.element.bits / 32;
  rec_->require(rules::ld_repeat(isa::DataShape::s32x32b, std::has_single_bit(unsigned(repeat)) ? repeat : 0), at);
  return {*rec_, from.element, load_sums({from.base, from.first}, repeat, from.element.bits == 16, at),
          LdState::pending};
}

AnyReduced Warpgroup::load_reduced(RedOp op, Comparison how, const AnyTmem& from, Here at) {
  TmemReduction access{{isa::DataShape::s32x32b, from.count}};
  access.take(how);
  rec_->require(rules::first(tmem_shape(access), reducible(access, from.element.scalar)), at);
  std::vector<Operand> regs =
      WholeWarps::load_reduced(access, op, from.element.scalar, quarter(from.address(at), at), at);
  const Operand last = std::move(regs.back());
  regs.pop_back();
  return {{*rec_, from.element, std::move(regs), LdState::pending}, {*rec_, from.element, {last}, LdState::pending}};
}

U32 Warpgroup::row_in(SumsLayout layout, Here at) const {
  switch (layout) {
    case SumsLayout::rows: return row(at);
    case SumsLayout::column_halves: return apply("and", row(at), 63, at);
    case SumsLayout::column_quarters: return lane(at);
    case SumsLayout::half_of_lanes: break;
  }
  const U32 sixteen = apply("shl", apply("shr", row(at), 5, at), 4, at);
  return apply("or", sixteen, apply("and", row(at), 15, at), at);
}

U32 Warpgroup::column_in(SumsLayout layout, int columns, Here at) const {
  switch (layout) {
    case SumsLayout::rows: return {*rec_, Operand::number(0)};
    case SumsLayout::column_halves: return apply("mul.lo", apply("shr", row(at), 6, at), columns, at);
    case SumsLayout::column_quarters: return apply("mul.lo", apply("shr", row(at), 5, at), columns, at);
    case SumsLayout::half_of_lanes: break;
  }
  return apply("mul.lo", apply("shr", lane(at), 4, at), columns / 2, at);
}

// A predicate, an address and four registers for each 16 bytes of a row.
template <class Move>
void Warpgroup::each_vector(const GlobalRow& row, const std::vector<Operand>& regs, Move move, Here at) {
  constexpr int vector_bytes = 16;
  role_->accessed_memory(rec_->scope());
  const Operand address = use(*rec_, row.address, at), limit = use(*rec_, row.elements, at);
  for (std::size_t i = 0; i < regs.size(); i += 4) {
    const Operand inside = rec_->fresh(ScalarType::pred);
    const std::int64_t begin = row.first + std::int64_t(i / 4) * row.per_vector;
    rec_->emit("setp.ge.u32", {inside, limit, Operand::number(begin + row.per_vector)}, at);
    move(inside, Operand::address(address, begin / row.per_vector * vector_bytes),
         Operand::vector({regs.begin() + long(i), regs.begin() + long(i) + 4}));
  }
}

void Warpgroup::store_vectors(const GlobalRow& to, const std::vector<Operand>& regs, Here at) {
  each_vector(
      to, regs,
      [&](const Operand& inside, const Operand& address, const Operand& values) {
        rec_->emit_if(inside, false, "st.global.v4.b32", {address, values}, at);
      },
      at);
}

void Warpgroup::store_global(const U64& address, const AnyRegisters& values, const U32& elements, int first, Here at) {
  store_vectors({address, elements, first, 128 / values.element().bits}, values.operands(at), at);
}

void Warpgroup::store_one(const U64& address, const AnyRegisters& value, const Pred& there, int index, Here at) {
  store_one(address, value.operands(at).front(), there, index, at);
}

AnyRegisters Warpgroup::load_global(ElementType element, int count, const U64& address, const U32& elements, int first,
                                    Here at) {
  return {*rec_, element, load_vectors({address, elements, first, 128 / element.bits}, count * element.bits / 32, at),
          LdState::ready};
}

void Warpgroup::store_one(const U64& address, const Operand& value, const Pred& there, int index, Here at) {
  constexpr int bytes = 4;
  role_->accessed_memory(rec_->scope());
  const std::vector<Operand> operands{Operand::address(use(*rec_, address, at), index * bytes), value};
  if (!there.is_constant())
    rec_->emit_if(use(*rec_, there, at), false, "st.global.b32", operands, at);
  else if (there.constant())
    rec_->emit("st.global.b32", operands, at);
}

std::vector<Operand> Warpgroup::load_vectors(const GlobalRow& from, int registers, Here at) {
  std::vector<Operand> regs;
  for (int i = 0; i < registers; ++i) {
    regs.push_back(rec_->fresh(ScalarType::b32));
    rec_->emit("mov.b32", {regs.back(), Operand::number(0)}, at);
  }
  each_vector(
      from, regs,
      [&](const Operand& inside, const Operand& address, const Operand& values) {
        rec_->emit_if(inside, false, "ld.global.v4.b32", {values, address}, at);
      },
      at);
  return regs;
}

void Warpgroup::sync(Here at) {
  if (role_->used_tcgen05) own_fence_before_sync(*rec_, at);
  rec_->emit("bar.sync", {Operand::number(role_->named_barrier), Operand::number(role_->threads)}, at);
  role_->ordered_memory(rec_->scope());
  role_->waited = role_->waited || role_->used_tcgen05;
}

Operand Warpgroup::bar_red(ScalarType type, std::string_view name, const Pred& p, Here at) {
  if (role_->used_tcgen05) own_fence_before_sync(*rec_, at);
  const Operand number = Operand::number(role_->named_barrier), threads = Operand::number(role_->threads);
  Operand answer = result(type, name, {number, threads, use(*rec_, p, at)}, at);
  role_->waited = role_->waited || role_->used_tcgen05;
  return answer;
}

// A barrier takes no constant, but the threads still wait for each other.
Pred Warpgroup::bar_red(std::string_view op, const Pred& p, Here at) {
  if (p.is_constant()) return sync(at), p;
  return {*rec_, bar_red(ScalarType::pred, dotted({"bar.red", op, "pred"}), p, at)};
}

U32 Warpgroup::bar_red_popc(const Pred& p, Here at) {
  if (p.is_constant()) return sync(at), U32(*rec_, Operand::number(p.constant() ? role_->threads : 0));
  return {*rec_, bar_red(ScalarType::u32, "bar.red.popc.u32", p, at)};
}

// The first barrier keeps an earlier reduction's readers apart from this one's writers.
Operand Warpgroup::reduce_through(RedOp op, ScalarType type, const Input& value, const U32& scratch, Here at) {
  const Operand in_warp = reduce(op, type, value, at);
  const U32 warp = role_->warps() == isa::warps_per_warpgroup
                       ? apply("and", U32(*rec_, role_->warp), isa::warps_per_warpgroup - 1, at)
                       : apply("sub", U32(*rec_, role_->warp), role_->first_warp, at);
  const U32 mine = apply("add", scratch, apply("mul.lo", warp, 4, at), at);
  sync(at);
  rec_->emit_if(elect_leader(*rec_, at), false, "st.shared.b32", {address_of(*rec_, mine, at), in_warp}, at);
  sync(at);
  const std::string name = combining(op, type);
  std::optional<Operand> all;
  for (int group = 0; group < role_->warps() / isa::warps_per_warpgroup; ++group) {
    std::vector<Operand> of;
    for (int i = 0; i < isa::warps_per_warpgroup; ++i) of.push_back(rec_->fresh(type));
    const Operand base = use(*rec_, scratch, at);
    rec_->emit("ld.shared.v4.b32", {Operand::vector(of), Operand::address(base, 16 * group)}, at);
    const Operand low = result(type, name, {of[0], of[1]}, at), high = result(type, name, {of[2], of[3]}, at);
    const Operand here = result(type, name, {low, high}, at);
    all = all ? result(type, name, {*all, here}, at) : here;
  }
  return *all;
}

// The same thread is chosen every time: it is the one that owns the bulk groups it commits.
const Operand& Warpgroup::chosen_thread(Here at) {
  if (role_->chosen) return *role_->chosen;
  rec_->at_role_entry([&] {
    const Operand first =
        rec_->pure(ScalarType::pred, "setp.eq.u32", {role_->warp, Operand::number(role_->first_warp)}, at);
    const Operand leader = elect_leader(*rec_, at);
    role_->chosen = rec_->pure(ScalarType::pred, "and.pred", {first, leader}, at);
  });
  return *role_->chosen;
}

void Warpgroup::elect_one(const std::function<void(Thread)>& body, Here at) {
  execute_in_one(*rec_, *role_, chosen_thread(at), body, at);
}

void Warpgroup::arrive_by_warp(const AnyMbarrier& b, Here at) {
  // The arrival releases what its lane has seen: the accesses of the others too, after a barrier of the warp.
  if (role_->accesses != RoleContext::no_accesses) {
    rec_->emit("bar.warp.sync", {whole_warp()}, at);
    role_->ordered_memory(rec_->scope());
  }
  arrive_after_loads(b, at);
}

void WholeWarps::arrive_after_loads(const AnyMbarrier& b, Here at) {
  if (role_->used_tcgen05) own_fence_before_sync(*rec_, at);
  execute_in_one(
      *rec_, *role_, elect_leader(*rec_, at), [&](Thread t) { t.arrive(b, at); }, at);
  b.count(*rec_, role_->warps());
}

void Warpgroup::arrive(const AnyMbarrier& b, Here at) {
  sync(at);
  elect_one([&](Thread t) { t.arrive(b, at); }, at);
}

}  // namespace kiln::dsl
