#include "dsl/register_sums.hpp"

#include "dsl/operands.hpp"
#include "dsl/wgmma.hpp"
#include "ptx/rules/wgmma.hpp"

namespace kiln::dsl {

RegisterSums::RegisterSums(Warpgroup& g, const MmaSpec& mma, int first_block, int blocks, Here at)
    : g_(g), mma_(mma), first_block_(first_block), blocks_(blocks) {
  Recorder& r = g.recorder();
  r.require(rules::wgmma_form(mma.form, mma.shape, 1), at);
  auto* wgmma = dynamic_cast<Wgmma*>(g.role().kernel->tensor_core);
  r.require(rules::target_feature(isa::Feature::wgmma, g.role().kernel->target, isa::newest_version), at,
            "wgmma on " + isa::spelling(g.role().kernel->target));
  if (wgmma) wgmma->multiplies_in_registers(mma.form);
  for (int i = 0; i < blocks; ++i) sums_.push_back(thread_sums(r, mma.shape.d, mma.N()));
  r.at_role_entry([&] {
    const Operand lane = r.pure(ScalarType::b32, "and.b32",
                                {g.role().thread, Operand::number(isa::threads_per_warp - 1)}, at);
    slot_ = std::make_shared<SlotUnderWay>(r, lane, g.role().kernel->group == isa::CtaGroup::two, at);
  });
}

void RegisterSums::multiply(const AnyShared& a, const AnyShared& b, const Pred& more, Here at) {
  Recorder& r = g_.recorder();
  const TensorCoreTarget& core = *g_.role().kernel->tensor_core;
  const auto descriptor = [&](const AnySlice& slice, int more_bytes) {
    return use(r, matrix_descriptor(slice.address, core.descriptor_word(slice.shape.descriptor()),
                                    slice.offset + more_bytes, at), at);
  };
  r.emit("wgmma.fence.sync.aligned", {}, at);
  for (int step = 0; step * mma_.K() < b.shape.cols; ++step)
    for (int i = 0; i < blocks_; ++i) {
      const int rows = (first_block_ + i) * isa::wgmma_m;
      const EnableInputD p = step == 0 ? accumulate(more, at) : accumulate(true, at);
      issue_wgmma(r, mma_.form, mma_.shape, mma_.N(), sums_[std::size_t(i)],
                  {descriptor(a.k_slice(step * mma_.a_k(), at), a.shape.row_offset(rows)),
                   descriptor(b.k_slice(step * mma_.K(), at), 0), p.operand},
                  at);
    }
  r.emit("wgmma.commit_group.sync.aligned", {}, at);
}

void RegisterSums::commit(const Mbarrier& empty, Here at) {
  slot_->commit(g_.recorder(), empty, isa::warps_per_warpgroup, at);
}

void RegisterSums::finish(Here at) {
  slot_->finish(g_.recorder(), at);
  slot_->reset(g_.recorder(), at);
}

AnyRegisters RegisterSums::columns(int block, int first, int count, Here at) const {
  Recorder& r = g_.recorder();
  r.require(rules::tmem_range(first, count, mma_.N()), at);
  constexpr int of_eight = 4;  // registers of a lane in 8 columns
  const auto begin = sums_[std::size_t(block)].begin() + first / 8 * of_eight;
  const ElementType element = mma_.shape.d == ScalarType::s32 ? element_type<s32> : element_type<f32>;
  return {r, element, {begin, begin + count / 8 * of_eight}, LdState::ready};
}

}  // namespace kiln::dsl
