#include "sim/tensor/chain.hpp"

#include <utility>

namespace kiln::sim {
namespace {

// Instructions of a chain: those of a 128-byte line. Longer ones have operands that leave the first-level cache.
constexpr int most_steps = 4;

Part part_of(const MmaTask& t) { return parts_of(t).front(); }

}  // namespace

bool may_chain(const MmaTask& t) {
  const bool plain = !t.form.a_in_tmem && !t.form.sparse && !t.form.ws && !t.form.ashift && !t.scale_vector &&
                     t.scale_input_d == 0 && t.disabled == std::array<u32, 8>{} &&
                     isa::collector_use(t.form.collector) == isa::CollectorUse::discard &&
                     isa::collector_use(t.form.collector_b) == isa::CollectorUse::discard;
  return plain && parts_of(t).size() == 1 && !part_of(t).spread && num::has_vector_path(spec_of(t));
}

TensorChain::TensorChain(Grid& grid, const MmaTask& t, Cta& issuer)
    : grid_(grid), issuer_(issuer), first_(t), b_(t.shape.n, t.k(), t.b_type(), most_steps) {
  for (int k = 0; k < t.members(); ++k) a_.emplace_back(t.rows(), t.k(), t.a_type(), most_steps);
}

bool TensorChain::continues_with(const MmaTask& t) const {
  for (int k = 0; k < first_.members(); ++k)
    if (!member(first_, issuer_, k).tmem.owes(this)) return false;
  return t.accumulate && t.d == first_.d && fits(t);
}

bool TensorChain::is_full() const { return steps_ == most_steps; }

void TensorChain::add(const MmaTask& t) {
  if (steps_ == 0) first_ = t;
  b_.select(steps_);
  gather_b(grid_, t, issuer_, b_);
  issuer_.tensor.collected[isa::collector_b_buffer].clear();
  for (int k = 0; k < t.members(); ++k) {
    Cta& cta = member(t, issuer_, k);
    Elements& a = a_[std::size_t(k)];
    a.select(steps_);
    a.forget_poison();
    gather_shared({grid_, t.operation, cta}, operand_a(t), a);
    cta.tensor.collected[std::size_t(isa::collector_buffer(t.form.collector, t.form.ws))].clear();
    // The accumulator as the first instruction finds it. What follows finds what that leaves.
    if (steps_ == 0 && t.accumulate) check_accumulator(t, part_of(t), cta);
    mark_accumulator(t, part_of(t), cta, a, b_);
  }
  ++steps_;
}

void TensorChain::settle() {
  const Part part = part_of(first_);
  num::GemmTask gemm;
  gemm.spec = spec_of(first_);
  gemm.arithmetic = arithmetic_of(grid_);
  gemm.m = part.rows, gemm.n = part.n, gemm.k = std::exchange(steps_, 0) * first_.k();
  b_.select(0);
  gemm.b = {b_.row(0), b_.stride()};
  gemm.d_stride = TensorMemory::lane_stride;
  for (int k = 0; k < first_.members(); ++k) member(first_, issuer_, k).tmem.forgive();
  for (int k = 0; k < first_.members(); ++k) {
    Elements& a = a_[std::size_t(k)];
    a.select(0);
    gemm.a = {a.row(0), a.stride()};
    gemm.d = member(first_, issuer_, k).tmem.cell(part.lane, int(first_.d & 0xFFFF));
    grid_.gemm.run(gemm);
  }
}

void execute_chained(Grid& grid, const MmaTask& t, Cta& issuer) {
  std::shared_ptr<TensorChain>& chain = issuer.tensor.chain;
  const bool goes_on = chain && chain->continues_with(t);
  if (!goes_on) {
    for (int k = 0; k < t.members(); ++k) member(t, issuer, k).tmem.settle();
    if (!chain || !chain->fits(t)) chain = std::make_shared<TensorChain>(grid, t, issuer);
  }
  chain->add(t);
  for (int k = 0; k < t.members(); ++k) member(t, issuer, k).tmem.owe(chain);
  if (chain->is_full()) chain->settle();
}

}  // namespace kiln::sim
