#include "lower/plan/plan.hpp"

#include <algorithm>

namespace kiln::lower {

std::size_t Plan::share_of(const Form& f) const {
  return std::size_t(std::find(shares.begin(), shares.end(), f.share) - shares.begin());
}

std::uint32_t Plan::used_shared() const {
  // Variables that leave no gaps, each group of them a multiple of 16 bytes.
  const std::uint32_t queue = rings.queue * slot_bytes + 16 + (barrier ? 0 : 16),
                      copies = rings.copies * copy_bytes + 16,
                      pair = rings.mail * slot_bytes + 2 * rings.records * record_bytes + 48, cluster_barrier = 16;
  return queue + parked_bytes() + (is_pair ? pair : 0) + (forwards_copies() ? copies : 0) +
         (has_cluster_barrier ? cluster_barrier : 0);
}

}  // namespace kiln::lower
