// CTAs among themselves, for every scope: the cluster's barrier and addresses, where a CTA stands in it, the launch of
// further CTAs. PTX ISA "barrier.cluster", "mapa", "clusterlaunchcontrol", "griddepcontrol".
#pragma once

#include "dsl/fences.hpp"

namespace kiln::dsl {

/// Three coordinates or extents.
struct Index3 {
  U32 x, y, z;
};
enum class Axis : char { x = 'x', y = 'y', z = 'z' };

/// The 16 bytes that clusterlaunchcontrol.try_cancel writes, in a register.
class CancelResponse : public Value {
 public:
  using Value::Value;
};

/// A scope of a CTA that may be one of a cluster.
class ClusterMember : public Fences {
 public:
  using Fences::Fences;

  // Addresses. PTX ISA "mapa", "getctarank"
  /// The same place in the shared memory of the CTA with that rank.
  ClusterAddress mapa(const U32& shared, OperandOf<U32> ctarank, Here at = {});
  RemoteMbarrier mapa(const Mbarrier& b, OperandOf<U32> ctarank, Here at = {});
  U32 getctarank(const ClusterAddress& address, Here at = {});

  // Special registers
  U32 cluster_ctarank(Here at = {}) const;
  U32 cluster_nctarank(Here at = {}) const;
  Index3 cluster_ctaid(Here at = {}) const;
  Index3 cluster_nctaid(Here at = {}) const;
  Index3 clusterid(Here at = {}) const;
  Index3 nclusterid(Here at = {}) const;
  Pred is_explicit_cluster(Here at = {}) const;

  // The cluster's barrier. PTX ISA "barrier.cluster"
  /// Arrives. The order is release unless relaxed is given.
  void barrier_cluster_arrive(const Extras<ClusterArriveOrder>& extras = {}, Here at = {});
  void barrier_cluster_wait(const Extras<ClusterWaitOrder>& extras = {}, Here at = {});

  // Work of CTAs that have not started. PTX ISA "clusterlaunchcontrol.try_cancel", "clusterlaunchcontrol.query_cancel"
  /// Asks for such a CTA's work: 16 bytes at `response`, a multiple of 16, which count on `b`.
  void clusterlaunchcontrol_try_cancel(const U32& response, const Mbarrier& b, const Extras<MulticastAll>& extras = {},
                                       Here at = {});
  /// Reads the answer when `b` says that it is there.
  CancelResponse ld_shared_b128(const U32& response, Here at = {});
  Pred clusterlaunchcontrol_query_cancel_is_canceled(const CancelResponse& r, Here at = {});
  /// Whose work it is, where is_canceled holds.
  Index3 clusterlaunchcontrol_query_cancel_get_first_ctaid(const CancelResponse& r, Here at = {});
  template <Axis axis>
  U32 clusterlaunchcontrol_query_cancel_get_first_ctaid(const CancelResponse& r, Here at = {}) {
    return first_ctaid(axis, r, at);
  }

  // Grids in sequence. PTX ISA "griddepcontrol"
  void griddepcontrol_launch_dependents(Here at = {});
  void griddepcontrol_wait(Here at = {});

  /// Suspends the thread for about as many nanoseconds, at most a million. PTX ISA "nanosleep".
  void nanosleep(OperandOf<U32> nanoseconds, Here at = {});

 protected:
  void cluster_arrive(const ExtraList& extras, Here at);
  void cluster_wait(const ExtraList& extras, Here at);

 private:
  Index3 special3(const std::string& name, Here at) const;
  U32 first_ctaid(Axis axis, const CancelResponse& r, Here at);
};

}  // namespace kiln::dsl
