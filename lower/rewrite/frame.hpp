// Where a lowered kernel begins and where it ends: the queue is made and the image found, then every warp goes to its
// part of the code; the kernel's own threads come to the end where they would have left.
#pragma once

#include <optional>

#include "lower/pair/cluster_barrier.hpp"
#include "lower/pair/messenger.hpp"

namespace kiln::lower {

class Frame {
 public:
  Frame(Builder&, const Plan&);

  /// Declarations and the first instructions of the kernel.
  void begin() const;
  /// Where the kernel's own threads leave, and the code of the other warps.
  void end() const;
  /// The place to which a thread of the kernel goes that leaves.
  JumpTarget leave() const { return leave_; }
  /// What replaces barrier.cluster, in a kernel that has it.
  const ClusterBarrier& cluster_barrier() const { return *cluster_barrier_; }

 private:
  void declare_variables() const;
  void make_all() const;
  void make_queue() const;
  void make_home() const;
  void tell_home() const;
  Register count_exit() const;
  void claim_image() const;
  void send_messengers(Register thread) const;

  Builder& b_;
  const Plan& p_;
  std::optional<ClusterBarrier> cluster_barrier_{};
  Messengers messengers_;
  JumpTarget engine_, leave_, left_;
};

/// Variables of the module that its lowered kernels share: images and homes in global memory, as many as the kernel
/// that has most of them, and the start of dynamic shared memory where an image is there.
struct ModuleVariables {
  std::uint64_t image_bytes = 0, home_bytes = 0;
  std::uint32_t slots = 0;
  bool has_dynamic = false;

  void add(const Plan&);
  std::vector<ir::Item> items() const;
};

}  // namespace kiln::lower
