#include "dsl/mbarrier.hpp"

#include "dsl/operands.hpp"
#include "ptx/rules/mbarrier.hpp"

namespace kiln::dsl {

// Operands ------------------------------------------------------------------------------------------------------------

// An arrival counts once where it says nothing.
std::optional<Operand> Mbarriers::count(const OperandOf<U32>& arrivals) const {
  if (arrivals.value) return operand_of(arrivals);
  rec_->require(rules::mbarrier_count(arrivals.constant), arrivals.at);
  return arrivals.constant == 1 ? std::nullopt : std::optional(operand_of(arrivals));
}

Operand Mbarriers::transaction(const OperandOf<U32>& bytes) const {
  if (!bytes.value) rec_->require(rules::mbarrier_tx(bytes.constant), bytes.at);
  return operand_of(bytes);
}

// The object's life ---------------------------------------------------------------------------------------------------

void Mbarriers::mbarrier_init(const Mbarrier& b, OperandOf<U32> count, Here at) {
  mbarrier_init(b, count, isa::MbarrierLayout::none, at);
}

void Mbarriers::mbarrier_init(const Mbarrier& b, OperandOf<U32> count, isa::MbarrierLayout layout, Here at) {
  if (!count.value) rec_->require(rules::mbarrier_count(count.constant, layout), at);
  rec_->emit(dotted({"mbarrier.init", spelling(layout), "shared::cta.b64"}),
             {address_of(*rec_, b.address, at), operand_of(count)}, at);
}

Pred Mbarriers::mbarrier_check_layout(const Mbarrier& b, isa::MbarrierLayout layout, Here at) {
  return {*rec_, result(ScalarType::pred, dotted({"mbarrier.check_layout", spelling(layout), "shared::cta.b64"}),
                        {address_of(*rec_, b.address, at)}, at)};
}

void Mbarriers::mbarrier_inval(const Mbarrier& b, Here at) {
  rec_->emit("mbarrier.inval.shared::cta.b64", {address_of(*rec_, b.address, at)}, at);
}

// Arrivals ------------------------------------------------------------------------------------------------------------

Operand Mbarriers::arrival(std::string_view variant, const AnyMbarrier& b, const std::optional<Operand>& operand,
                           const ArriveOrder& order, Here at) {
  b.count(*rec_, 1);
  const bool remote = b.space == isa::Space::shared_cluster;
  const Operand state = remote ? sink() : rec_->fresh(ScalarType::b64);
  std::vector<Operand> operands{state, address_of(*rec_, b.address, at)};
  if (operand) operands.push_back(*operand);
  rec_->emit(dotted({"mbarrier", variant}) + order.modifier + dotted({"", spelling(b.space), "b64"}),
             std::move(operands), at);
  return state;
}

MbarrierState Mbarriers::mbarrier_arrive(const Mbarrier& b, OperandOf<U32> n, ArriveOrder order, Here at) {
  return state(arrival("arrive", b, count(n), order, at));
}
void Mbarriers::mbarrier_arrive(const RemoteMbarrier& b, OperandOf<U32> n, ArriveOrder order, Here at) {
  arrival("arrive", b, count(n), order, at);
}
MbarrierState Mbarriers::mbarrier_arrive_noComplete(const Mbarrier& b, OperandOf<U32> n, Here at) {
  count(n);
  return state(arrival("arrive.noComplete", b, operand_of(n), {}, at));
}
MbarrierState Mbarriers::mbarrier_arrive_expect_tx(const Mbarrier& b, OperandOf<U32> bytes, ArriveOrder order,
                                                   Here at) {
  return state(arrival("arrive.expect_tx", b, transaction(bytes), order, at));
}
void Mbarriers::mbarrier_arrive_expect_tx(const RemoteMbarrier& b, OperandOf<U32> bytes, ArriveOrder order, Here at) {
  arrival("arrive.expect_tx", b, transaction(bytes), order, at);
}

MbarrierState Mbarriers::mbarrier_arrive_drop(const Mbarrier& b, OperandOf<U32> n, ArriveOrder order, Here at) {
  return state(arrival("arrive_drop", b, count(n), order, at));
}
void Mbarriers::mbarrier_arrive_drop(const RemoteMbarrier& b, OperandOf<U32> n, ArriveOrder order, Here at) {
  arrival("arrive_drop", b, count(n), order, at);
}
MbarrierState Mbarriers::mbarrier_arrive_drop_noComplete(const Mbarrier& b, OperandOf<U32> n, Here at) {
  count(n);
  return state(arrival("arrive_drop.noComplete", b, operand_of(n), {}, at));
}
MbarrierState Mbarriers::mbarrier_arrive_drop_expect_tx(const Mbarrier& b, OperandOf<U32> bytes, ArriveOrder order,
                                                        Here at) {
  return state(arrival("arrive_drop.expect_tx", b, transaction(bytes), order, at));
}
void Mbarriers::mbarrier_arrive_drop_expect_tx(const RemoteMbarrier& b, OperandOf<U32> bytes, ArriveOrder order,
                                               Here at) {
  arrival("arrive_drop.expect_tx", b, transaction(bytes), order, at);
}

// Transactions --------------------------------------------------------------------------------------------------------

void Mbarriers::change_tx(std::string_view name, const AnyMbarrier& b, const OperandOf<U32>& bytes,
                          const TxOrder& order, Here at) {
  rec_->emit(dotted({"mbarrier", name}) + order.modifier + dotted({"", spelling(b.space), "b64"}),
             {address_of(*rec_, b.address, at), transaction(bytes)}, at);
}

void Mbarriers::mbarrier_expect_tx(const AnyMbarrier& b, OperandOf<U32> bytes, TxOrder order, Here at) {
  change_tx("expect_tx", b, bytes, order, at);
}
void Mbarriers::mbarrier_complete_tx(const AnyMbarrier& b, OperandOf<U32> bytes, TxOrder order, Here at) {
  change_tx("complete_tx", b, bytes, order, at);
}

// Waits ---------------------------------------------------------------------------------------------------------------

Pred Mbarriers::test(std::string_view name, const Mbarrier& b, const Phase& phase, const ExtraList& extras, Here at) {
  const Operand which = phase.state   ? use(*rec_, *phase.state, at)
                        : phase.value ? use(*rec_, *phase.value, at)
                                      : Operand::number(phase.constant);
  const Operand done = rec_->fresh(ScalarType::pred);
  std::vector<Operand> operands{done, address_of(*rec_, b.address, at), which};
  extras.append_to(operands);
  rec_->emit(dotted({"mbarrier", name, phase.state ? "" : "parity"}) + extras.modifiers() + ".shared::cta.b64",
             std::move(operands), at);
  role_->waited = true;
  return {*rec_, done};
}

Pred Mbarriers::mbarrier_test_wait(const Mbarrier& b, const Phase& phase, const TestWaitExtras& extras, Here at) {
  return test("test_wait", b, phase, extras, at);
}
Pred Mbarriers::mbarrier_try_wait(const Mbarrier& b, const Phase& phase, const TryWaitExtras& extras, Here at) {
  return test("try_wait", b, phase, extras, at);
}

U32 Mbarriers::mbarrier_pending_count(const MbarrierState& state, Here at) {
  return {*rec_, result(ScalarType::b32, "mbarrier.pending_count.b64", {use(*rec_, state, at)}, at)};
}

void Mbarriers::wait(const Mbarrier& b, const Phase& phase, Here at) { wait(b, phase, TryWaitExtras(), at); }

void Mbarriers::wait(const Mbarrier& b, const Phase& phase, const TryWaitExtras& extras, Here at) {
  const std::string retry = rec_->fresh_label("wait_" + role_->name);
  rec_->label(retry);
  const Pred done = mbarrier_try_wait(b, phase, extras, at);
  rec_->emit_if(done.operand(), true, "bra", {target(retry)}, at);
}

}  // namespace kiln::dsl
