// clusterlaunchcontrol as the loops over LaunchControlTiles use it: one thread asks, every role reads the answer.
#include <bit>

#include "dsl/operands.hpp"
#include "dsl/ring.hpp"

namespace kiln::dsl {

void Scope::loop_granted(const LaunchControlTiles& tiles, const std::function<void(const U32&)>& body,
                         const std::function<void(const AnyMbarrier&)>& arrive, Here at) {
  const std::string head = rec_->fresh_label("loop_" + role_->name);
  const Operand number = rec_->fresh(ScalarType::u32), first = rec_->fresh(ScalarType::u32);
  rec_->emit("mov.u32", {number, use(*rec_, tiles.grid.first, at)}, at);
  rec_->label(head);
  rec_->open_scope();
  role_->waited = true;  // the back edge may come from a wait
  body(U32(*rec_, number));
  const SlotPlace place = next_slot(*this, *tiles.answers, RingSide::consumer, {}, at);
  wait(place.full, Phase(place.phase), wait_order(*tiles.answers), at);
  const CancelResponse answer = ld_shared_b128(place.tiles, at);
  const Operand more = clusterlaunchcontrol_query_cancel_is_canceled(answer, at).operand();
  // Only a request that was granted has a CTA.
  rec_->emit_if(more, false, "clusterlaunchcontrol.query_cancel.get_first_ctaid::x.b32.b128",
                {first, use(*rec_, answer, at)}, at);
  fence_proxy_async(at);  // before the next answer is written here
  arrive(place.leader_empty);
  const auto ctas = unsigned(tiles.ctas);
  if (std::has_single_bit(ctas))  // ptxas makes some 17 instructions of a division
    rec_->emit("shr.u32", {number, first, Operand::number(std::countr_zero(ctas))}, at);
  else
    rec_->emit("div.u32", {number, first, Operand::number(tiles.ctas)}, at);
  rec_->close_scope();
  rec_->emit_if(more, false, "bra", {target(head)}, at);
}

void Thread::hand_out(const LaunchControlTiles& tiles, Here at) {
  constexpr int bytes = answer_bytes;
  const bool pair = tiles.ctas > 1;
  const std::string head = rec_->fresh_label("loop_" + role_->name);
  rec_->label(head);
  rec_->open_scope();
  const SlotPlace place = next_slot(*this, *tiles.answers, RingSide::producer, {}, at);
  wait_until_empty(*this, *tiles.answers, place, at);
  expect_tx(place.full, bytes, at);
  if (pair) mbarrier_arrive_expect_tx(mapa(place.full, 1, at), bytes, release_cluster, at);
  if (pair) clusterlaunchcontrol_try_cancel(place.tiles, place.full, {multicast_cluster_all}, at);
  else clusterlaunchcontrol_try_cancel(place.tiles, place.full, {}, at);
  wait(place.full, Phase(place.phase), at);
  const CancelResponse answer = ld_shared_b128(place.tiles, at);
  const Operand more = clusterlaunchcontrol_query_cancel_is_canceled(answer, at).operand();
  own_proxy_fence(*rec_, at);
  rec_->close_scope();
  rec_->emit_if(more, false, "bra", {target(head)}, at);
}

}  // namespace kiln::dsl
