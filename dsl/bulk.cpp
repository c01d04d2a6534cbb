#include "dsl/bulk.hpp"

#include "dsl/operands.hpp"

namespace kiln::dsl {

namespace {

constexpr std::string_view on_mbarrier = "mbarrier::complete_tx::bytes";

Operand size(Recorder& r, const OperandOf<U32>& bytes) {
  if (!bytes.value) r.require(rules::bulk_size(bytes.constant), bytes.at);
  return operand_of(bytes);
}

}  // namespace

std::string bulk_combination(RedOp op, ScalarType type) {
  const bool half = type == ScalarType::f16 || type == ScalarType::bf16;
  return dotted({"", spelling(op), op == RedOp::add && half ? "noftz" : "", spelling(type)});
}

void BulkCopies::bulk(std::string mnemonic, const Value& to, const Value& from, const OperandOf<U32>& bytes,
                      const U32* full, const ExtraList& extras, Here at) {
  std::vector<Operand> operands{address_of(*rec_, to, at), address_of(*rec_, from, at), size(*rec_, bytes)};
  if (full) operands.push_back(address_of(*rec_, *full, at));
  extras.append_to(operands);
  rec_->emit(mnemonic, std::move(operands), at);
}

void BulkCopies::bulk_load(isa::Space destination, const U32& to, const U64& from, const OperandOf<U32>& bytes,
                           const AnyMbarrier& full, const ExtraList& extras, Here at) {
  bulk(dotted({"cp.async.bulk", spelling(destination), "global", on_mbarrier}) + extras.modifiers(), to, from, bytes,
       &full.address, extras, at);
}

void BulkCopies::cp_async_bulk_ignore_oob(const U32& to, const U64& from, OperandOf<U32> bytes, OperandOf<U32> before,
                                          OperandOf<U32> after, const Mbarrier& full, const Extras<CacheHint>& extras,
                                          Here at) {
  std::vector<Operand> operands{address_of(*rec_, to, at), address_of(*rec_, from, at),
                                size(*rec_, bytes),        operand_of(before),
                                operand_of(after),         address_of(*rec_, full.address, at)};
  extras.append_to(operands);
  rec_->emit(dotted({"cp.async.bulk.shared::cta.global", on_mbarrier, "ignore_oob"}) + extras.modifiers(),
             std::move(operands), at);
}

void BulkCopies::cp_async_bulk(const U64& to, const U32& from, OperandOf<U32> bytes,
                               const Extras<CacheHint, CpMask>& extras, Here at) {
  if (extras.has<CpMask>()) require_feature(isa::Feature::byte_mask, at);
  bulk("cp.async.bulk.global.shared::cta.bulk_group" + extras.modifiers(), to, from, bytes, nullptr, extras, at);
}

void BulkCopies::cp_async_bulk(const ClusterAddress& to, const U32& from, OperandOf<U32> bytes,
                               const RemoteMbarrier& full, Here at) {
  bulk(dotted({"cp.async.bulk.shared::cluster.shared::cta", on_mbarrier}), to.value, from, bytes, &full.address.value,
       {}, at);
}

void BulkCopies::bulk_reduce(RedOp op, ScalarType type, const U64& to, const U32& from, const OperandOf<U32>& bytes,
                             const ExtraList& extras, Here at) {
  bulk("cp.reduce.async.bulk.global.shared::cta.bulk_group" + extras.modifiers() + bulk_combination(op, type), to, from,
       bytes, nullptr, extras, at);
}

void BulkCopies::bulk_reduce(RedOp op, ScalarType type, const ClusterAddress& to, const U32& from,
                             const OperandOf<U32>& bytes, const RemoteMbarrier& full, Here at) {
  bulk(dotted({"cp.reduce.async.bulk.shared::cluster.shared::cta", on_mbarrier}) + bulk_combination(op, type), to.value,
       from, bytes, &full.address.value, {}, at);
}

void BulkCopies::cp_async_bulk_prefetch_L2(const U64& from, OperandOf<U32> bytes, const Extras<CacheHint>& extras,
                                           Here at) {
  std::vector<Operand> operands{address_of(*rec_, from, at), size(*rec_, bytes)};
  extras.append_to(operands);
  rec_->emit("cp.async.bulk.prefetch.L2.global" + extras.modifiers(), std::move(operands), at);
}

void BulkCopies::applypriority_async_bulk_L2_evict_normal(const U64& at_address, OperandOf<U32> bytes, Here at) {
  rec_->emit("applypriority.async.bulk.global.bulk_group.L2::evict_normal",
             {address_of(*rec_, at_address, at), size(*rec_, bytes)}, at);
}

void BulkCopies::cp_async_bulk_commit_group(Here at) { rec_->emit("cp.async.bulk.commit_group", {}, at); }
void BulkCopies::cp_async_bulk_wait_group(int pending, Here at) {
  rec_->emit("cp.async.bulk.wait_group", {Operand::number(pending)}, at);
}
void BulkCopies::cp_async_bulk_wait_group_read(int pending, Here at) {
  rec_->emit("cp.async.bulk.wait_group.read", {Operand::number(pending)}, at);
}
void BulkCopies::cp_async_bulk_wait_group_sync_restrict_proxy_async(int pending, Here at) {
  rec_->emit("cp.async.bulk.wait_group.sync_restrict::proxy::async", {Operand::number(pending)}, at);
}

}  // namespace kiln::dsl
