#include "dsl/storage.hpp"

#include <algorithm>
#include <bit>

#include "ptx/isa/tcgen05.hpp"
#include "ptx/rules/finding.hpp"
#include "ptx/rules/shared_memory.hpp"
#include "ptx/rules/target.hpp"
#include "ptx/rules/tcgen05_alloc.hpp"

namespace kiln::dsl {

using ir::Operand;

Storage::Storage(Recorder& r, KernelContext& kernel) : rec_(r), kernel_(kernel) {}

Storage::~Storage() = default;

U32 Storage::special(const char* name) {
  return {rec_, rec_.pure(ScalarType::b32, "mov.u32", {Operand::named(name)}, nowhere)};
}

// Shared memory -------------------------------------------------------------------------------------------------------

void Storage::Takers::add(const std::string& name, int amount) {
  text += (text.empty() ? "" : ", ") + name + " " + std::to_string(amount);
}

U32 Storage::shared_bytes(int bytes, const std::string& name, Here at) {
  const int offset = bytes_;
  bytes_ += placed_bytes(bytes);
  shared_takers_.add(name, placed_bytes(bytes));
  const rules::Verdict budget = rules::shared_budget(kernel_.target, bytes_);
  rec_.require(budget, at, budget.ok() ? "" : rules::found_and_nearest(budget) + ": " + shared_takers_.text);
  return apply("add", special(dynamic_symbol), offset, nowhere);
}

U32 Storage::barriers(const std::string& name, int count, int arrivals) {
  const U32 address = special(name.c_str());
  barriers_.push_back({name, count, arrivals, address.operand()});
  return address;
}

// Tensor memory -------------------------------------------------------------------------------------------------------

const Operand& Storage::tmem_base() {
  if (columns_ == 0 && tmem_base_.text.empty()) tmem_base_ = rec_.fresh(ScalarType::b32);
  return tmem_base_;
}

int Storage::tmem_columns(int columns, const std::string& name, Here at) {
  const int first = columns_;
  columns_ += columns;
  columns_at_ = at;
  rec_.require(rules::target_tcgen05(kernel_.target), at, "the target is " + isa::spelling(kernel_.target));
  tmem_takers_.add("'" + name + "'", columns);
  rec_.require(rules::tmem_budget(columns_), at,
               "'" + name + "' brings the sum to " + std::to_string(columns_) + ": " + tmem_takers_.text);
  return first;
}

Operand Storage::allocation() const {
  return Operand::number(std::max(isa::tmem_min_allocation, int(std::bit_ceil(unsigned(columns_)))));
}

// Rings ---------------------------------------------------------------------------------------------------------------

namespace {

RingState& started(std::list<RingState>& rings, const std::string& name, int stages, int slot_bytes, Here at) {
  RingState& ring = rings.emplace_back();
  ring.name = name;
  ring.stages = stages;
  ring.slot_bytes = slot_bytes;
  ring.made_at = at;
  return ring;
}

}  // namespace

RingState& Storage::add_ring(const std::string& name, int stages, int slot_bytes, Here at) {
  return started(rings_, name, stages, slot_bytes, at);
}
RingState& Storage::add_answers(const std::string& name, int stages, int slot_bytes, Here at) {
  return started(answers_, name, stages, slot_bytes, at);
}

void Storage::add_barriers(RingState& ring, int arrivals) {
  ring.full = barriers(ring.name + "_full", ring.stages, arrivals).operand();
  ring.empty = barriers(ring.name + "_empty", ring.stages, 1).operand();
}

Barriers& Storage::barriers_of(const RingState& ring, RingSide waits) {
  const std::string name = ring.name + (waits == RingSide::producer ? "_empty" : "_full");
  return *std::find_if(barriers_.begin(), barriers_.end(), [&](const Barriers& b) { return b.name == name; });
}

// Pairs ---------------------------------------------------------------------------------------------------------------

// The pair of a cluster of two begins at rank 0.
U32 Storage::pair_rank() {
  if (!in_pairs()) return U32(rec_, Operand::number(0));
  const U32 rank = special("%cluster_ctarank");
  return kernel_.pairs > 1 ? apply("and", rank, 1, nowhere) : rank;
}

U32 Storage::pair() {
  if (kernel_.pairs == 1) return U32(rec_, Operand::number(0));
  return apply("shr", special("%cluster_ctarank"), 1, nowhere);
}

Operand Storage::leader_predicate() {
  return rec_.pure(ScalarType::pred, "setp.eq.u32", {pair_rank().operand(), Operand::number(0)}, nowhere);
}

Operand Storage::in_leader(const Operand& shared) {
  return rec_.pure(ScalarType::b32, "mapa.shared::cluster.u32", {shared, Operand::number(0)}, nowhere);
}

}  // namespace kiln::dsl
