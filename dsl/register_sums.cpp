#include "dsl/register_sums.hpp"

#include <algorithm>

#include "dsl/operands.hpp"
#include "dsl/wgmma.hpp"
#include "ptx/diag/error.hpp"
#include "ptx/rules/wgmma.hpp"

namespace kiln::dsl {

namespace {

constexpr int registers_of_eight = 4;  // of a lane, in 8 columns

}  // namespace

RegisterSums::RegisterSums(Warpgroup& g, const MmaSpec& mma, int first_block, int blocks, Here at)
    : g_(g), mma_(mma), first_block_(first_block), blocks_(blocks) {
  Recorder& r = g.recorder();
  r.require(rules::wgmma_form(mma.form, mma.shape, 1), at);
  auto* wgmma = dynamic_cast<Wgmma*>(g.role().kernel->tensor_core);
  g.role().kernel->require(isa::Feature::wgmma, r, at);
  if (wgmma) wgmma->multiplies_in_registers(mma.form);
  for (int i = 0; i < blocks; ++i) sums_.push_back(thread_sums(r, mma.shape.d, mma.N()));
  r.at_role_entry([&] {
    const Operand lane = r.pure(ScalarType::b32, "and.b32",
                                {g.role().thread, Operand::number(isa::threads_per_warp - 1)}, at);
    slot_ = std::make_shared<SlotUnderWay>(r, lane, g.role().kernel->ctas(), at);
  });
}

RegisterSums RegisterSums::another() const {
  RegisterSums out = *this;
  for (std::vector<Operand>& block : out.sums_) block = thread_sums(g_.recorder(), mma_.shape.d, mma_.N());
  return out;
}

void RegisterSums::multiply(const AnyShared& a, const AnyShared& b, const EnableInputD& more, Here at) {
  Recorder& r = g_.recorder();
  const TensorCoreTarget& core = *g_.role().kernel->tensor_core;
  const auto descriptor = [&](const AnySlice& slice, int more_bytes) {
    return use(r, matrix_descriptor(slice.address, core.descriptor_word(slice.shape.descriptor()),
                                    slice.offset + more_bytes, at), at);
  };
  // In a pair the tile is this CTA's part of B.
  const bool in_pairs = g_.role().kernel->group == isa::CtaGroup::two;
  const int columns = in_pairs ? mma_.N() : std::min(mma_.N(), b.shape.rows);
  r.emit("wgmma.fence.sync.aligned", {}, at);
  for (int step = 0; step * mma_.K() < b.shape.cols; ++step)
    for (int i = 0; i < blocks_; ++i) {
      const int rows = (first_block_ + i) * isa::wgmma_m;
      const EnableInputD p = step == 0 ? more : accumulate(true, at);
      const auto first = sums_[std::size_t(i)].begin();
      issue_wgmma(r, mma_.form, mma_.shape, columns, {first, first + columns / 8 * registers_of_eight},
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

std::vector<Operand> RegisterSums::of_columns(int block, int first, int count, Here at) const {
  g_.recorder().require(rules::tmem_range(first, count, mma_.N()), at);
  const auto begin = sums_[std::size_t(block)].begin() + first / 8 * registers_of_eight;
  return {begin, begin + count / 8 * registers_of_eight};
}

AnyRegisters RegisterSums::columns(int block, int first, int count, Here at) const {
  Recorder& r = g_.recorder();
  const ElementType element = mma_.shape.d == ScalarType::s32 ? element_type<s32> : element_type<f32>;
  std::vector<Operand> now;
  for (const Operand& sum : of_columns(block, first, count, at)) {
    now.push_back(r.fresh(mma_.shape.d));
    r.emit("mov.b32", {now.back(), sum}, at);
  }
  return {r, element, std::move(now), LdState::ready};
}

void RegisterSums::add(const AnyRegisters& values, int block, int first, const Pred& more, Here at) {
  Recorder& r = g_.recorder();
  const std::vector<Operand> sums = of_columns(block, first, values.count() * 2, at);
  const bool words = mma_.shape.d == ScalarType::s32;
  for (std::size_t i = 0; i < sums.size(); ++i) {
    const Operand before = r.fresh(ScalarType::b32);
    r.emit("selp.b32", {before, sums[i], Operand::number(0), use(r, more, at)}, at);
    r.emit(words ? "add.s32" : "add.f32", {sums[i], before, values.operands()[i]}, at);
  }
}

// Lane l has two neighbours of each eight columns in rows l / 4 and 8 below. Of a row of 128 bytes the swizzle
// exchanges 16-byte pieces. Lanes of odd rows write columns 16 away from those of even rows: so 16 lanes meet no bank
// twice.
void RegisterSums::store(const AnyShared& to, int block, int first, Here at) {
  constexpr int element = 4, pitch = 128, columns = pitch / element, piece = 16, far = 16;
  Recorder& r = g_.recorder();
  r.require(rules::tile_slice(mma_.N(), first, columns), at);
  if (to.shape.rows != isa::wgmma_m || to.shape.cols != columns || to.shape.element.bits != 8 * element ||
      to.shape.swizzle() != isa::Swizzle::b128)
    throw diag::InternalError("sums are stored to tiles of 64 x 32 words with a swizzle of 128 bytes");
  g_.role().accessed_memory(r.scope());
  if (!word_place_) {
    r.at_role_entry([&] {
      const U32 thread(r, g_.role().thread);
      const auto op = [&](const char* name, const U32& x, std::int64_t by) { return apply(name, x, by, at); };
      const U32 of_warp = op("and", op("shr", thread, 1), 0x30), line = op("and", op("shr", thread, 2), 7);
      const U32 odd = op("and", line, 1), neighbours = op("mul.lo", op("and", thread, 3), 2 * element);
      const U32 key = apply("xor", op("mul.lo", line, piece), op("mul.lo", odd, far * element), at);
      const U32 row = op("mul.lo", apply("add", of_warp, line, at), pitch);
      word_place_ = WordPlace{apply("add", row, apply("xor", neighbours, key, at), at).operand(),
                              r.pure(ScalarType::pred, "setp.ne.u32", {odd.operand(), Operand::number(0)}, at)};
    });
  }
  const U32 start = apply("add", to.address, U32(r, word_place_->in_tile), at);
  const auto& sums = sums_[std::size_t(block)];
  for (int c = 0; c < columns; c += 8) {
    const Operand place = use(r, apply("xor", start, c * element, at), at);
    for (int below = 0; below < 2; ++below) {
      std::vector<Operand> pair;
      for (int i = 0; i < 2; ++i) {
        const auto sum = [&](int column) { return sums[std::size_t((first + column) / 2 + 2 * below + i)]; };
        pair.push_back(r.fresh(ScalarType::b32));
        r.emit("selp.b32", {pair.back(), sum(c ^ far), sum(c), word_place_->is_odd}, at);
      }
      r.emit("st.shared.v2.b32", {Operand::address(place, below * 8 * pitch), Operand::vector(pair)}, at);
    }
  }
}

}  // namespace kiln::dsl
