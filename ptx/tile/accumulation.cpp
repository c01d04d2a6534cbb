#include "ptx/tile/accumulation.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace kiln::tile {

std::optional<Accumulation::Apart> Accumulation::add(const Beginning& a, const Beginning& b, int k, int a_step,
                                                     const ir::Operation& operation) {
  const bool goes_on = a_ == a.number && b_ == b.number && a_at_ == a.start.at && b_at_ == b.start.at;
  if (!goes_on) a_ = a.number, b_ = b.number, a_at_ = a.start.at, b_at_ = b.start.at, slices_.clear();
  const rules::KSlices now{a.start.k * a_step, b.start.k};
  const auto wrong = std::find_if(slices_.begin(), slices_.end(),
                                  [&](const Slice& e) { return rules::sdesc_advance(e.k, now, k).broken(); });
  if (wrong != slices_.end()) return Apart{now, *wrong};
  if (std::none_of(slices_.begin(), slices_.end(), [&](const Slice& s) { return s.k == now; }))
    slices_.push_back({now, &operation});
  return std::nullopt;
}

std::string got(const Accumulation::Apart& x) {
  return fmt::format("A from K = {} of its tile and B from K = {}, where another MMA of this accumulator has {} and {}",
                     x.now.a, x.now.b, x.other.k.a, x.other.k.b);
}

std::string advance_repair(int k) {
  return fmt::format("repair: the same {} elements of both in each MMA; addresses in descriptors count {} bytes", k,
                     isa::descriptor_unit_bytes);
}

}  // namespace kiln::tile
