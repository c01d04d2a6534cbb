#include "dsl/scope.hpp"

#include "dsl/operands.hpp"
#include "ptx/rules/target.hpp"

namespace kiln::dsl {

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
  if (converged_) rec_->emit("bar.warp.sync", {whole_warp()}, at);
  role_->waited = true;
}

void Scope::exit_when(const Pred& p, Here at) {
  rec_->require(rules::role_exit(converged_ || role_->threads == 1), at,
                "one thread of role '" + role_->name + "' would leave the others");
  if (p.is_constant() && !p.constant()) return;
  if (role_->exit.empty()) role_->exit = rec_->fresh_label("exit_" + role_->name);
  if (p.is_constant()) rec_->emit("bra", {target(role_->exit)}, at);
  else rec_->emit_if(use(*rec_, p, at), false, "bra", {target(role_->exit)}, at);
}

Operand Scope::new_variable(ScalarType type, const Input& first) {
  Operand reg = rec_->fresh(type);
  rec_->emit(isa::bits(type) == 64 ? "mov.b64" : "mov.b32", {reg, use(*rec_, first)}, first.at);
  return reg;
}

void Scope::trap(Here at) { rec_->emit("trap", {}, at); }

void Scope::trap_if(const Pred& p, Here at) {
  if (!p.is_constant()) rec_->emit_if(use(*rec_, p, at), false, "trap", {}, at);
  else if (p.constant()) trap(at);
}

void Scope::ptx(std::string_view mnemonic, std::vector<Operand> operands, Here at) {
  role_->accessed_memory(rec_->scope());  // for all that is known
  rec_->emit(mnemonic, std::move(operands), at);
}

Operand Scope::bare(ScalarType type, std::string_view mnemonic, std::vector<Operand> operands, Here at) {
  role_->accessed_memory(rec_->scope());
  return result(type, mnemonic, std::move(operands), at);
}

std::array<U32, 4> Scope::ld_shared_v4(const U32& address, Here at) {
  role_->accessed_memory(rec_->scope());
  std::vector<Operand> regs;
  for (int i = 0; i < 4; ++i) regs.push_back(rec_->fresh(ScalarType::b32));
  rec_->emit("ld.shared.v4.b32", {Operand::vector(regs), address_of(*rec_, address, at)}, at);
  return {U32(*rec_, regs[0]), U32(*rec_, regs[1]), U32(*rec_, regs[2]), U32(*rec_, regs[3])};
}

namespace {

Operand four(Recorder& r, const std::array<U32, 4>& values, Here at) {
  std::vector<Operand> items;
  for (const U32& v : values) items.push_back(in_register(r, use(r, v, at), at));
  return Operand::vector(std::move(items));
}

}  // namespace

void Scope::st_shared_v4(const U32& address, const std::array<U32, 4>& values, Here at) {
  role_->accessed_memory(rec_->scope());
  rec_->emit("st.shared.v4.b32", {address_of(*rec_, address, at), four(*rec_, values, at)}, at);
}

void Scope::st_global_v4(const U64& address, const std::array<U32, 4>& values, Here at) {
  role_->accessed_memory(rec_->scope());
  rec_->emit("st.global.v4.b32", {Operand::address(use(*rec_, address, at)), four(*rec_, values, at)}, at);
}

Registers<f32, 4> Scope::ld_global_v4_f32(const U64& address, Here at) {
  role_->accessed_memory(rec_->scope());
  std::vector<Operand> regs;
  for (int i = 0; i < 4; ++i) regs.push_back(rec_->fresh(ScalarType::f32));
  rec_->emit("ld.global.v4.f32", {Operand::vector(regs), Operand::address(use(*rec_, address, at))}, at);
  return {*rec_, std::move(regs)};
}

F32 Scope::ld_global_f32(const U64& address, Here at) {
  role_->accessed_memory(rec_->scope());
  const Operand value = rec_->fresh(ScalarType::f32);
  rec_->emit("ld.global.f32", {value, Operand::address(use(*rec_, address, at))}, at);
  return {*rec_, value};
}

// The strict reading of PTX wants a fence between a thread's wait and its next tcgen05 instruction; it costs nothing.
void Scope::before_tcgen05(Here at) {
  if (!role_->used_tcgen05)
    rec_->require(rules::target_tcgen05(role_->kernel->target), at,
                  "the target is " + isa::spelling(role_->kernel->target));
  role_->used_tcgen05 = true;
  if (!role_->waited) return;
  own_fence_after_sync(*rec_, at);
  role_->waited = false;
}

}  // namespace kiln::dsl
