#include "dsl/cluster.hpp"

#include "dsl/operands.hpp"

namespace kiln::dsl {

// Addresses -----------------------------------------------------------------------------------------------------------

ClusterAddress ClusterMember::mapa(const U32& shared, OperandOf<U32> ctarank, Here at) {
  return {{*rec_,
           rec_->pure(ScalarType::b32, "mapa.shared::cluster.u32", {use(*rec_, shared, at), operand_of(ctarank)}, at)}};
}

RemoteMbarrier ClusterMember::mapa(const Mbarrier& b, OperandOf<U32> ctarank, Here at) {
  return {mapa(b.address, ctarank, at), b.releases};
}

U32 ClusterMember::getctarank(const ClusterAddress& address, Here at) {
  return {*rec_, rec_->pure(ScalarType::b32, "getctarank.shared::cluster.u32", {use(*rec_, address.value, at)}, at)};
}

// Special registers ---------------------------------------------------------------------------------------------------

Index3 ClusterMember::special3(const std::string& name, Here at) const {
  return {special(name + ".x", at), special(name + ".y", at), special(name + ".z", at)};
}

U32 ClusterMember::cluster_ctarank(Here at) const { return special("%cluster_ctarank", at); }
U32 ClusterMember::cluster_nctarank(Here at) const { return special("%cluster_nctarank", at); }
Index3 ClusterMember::cluster_ctaid(Here at) const { return special3("%cluster_ctaid", at); }
Index3 ClusterMember::cluster_nctaid(Here at) const { return special3("%cluster_nctaid", at); }
Index3 ClusterMember::clusterid(Here at) const { return special3("%clusterid", at); }
Index3 ClusterMember::nclusterid(Here at) const { return special3("%nclusterid", at); }

Pred ClusterMember::is_explicit_cluster(Here at) const {
  return {*rec_, rec_->pure(ScalarType::pred, "mov.pred", {Operand::named("%is_explicit_cluster")}, at)};
}

// The barrier ---------------------------------------------------------------------------------------------------------

void ClusterMember::barrier_cluster_arrive(const Extras<ClusterArriveOrder>& extras, Here at) {
  cluster_arrive(extras, at);
}
void ClusterMember::barrier_cluster_wait(const Extras<ClusterWaitOrder>& extras, Here at) { cluster_wait(extras, at); }

void ClusterMember::cluster_arrive(const ExtraList& extras, Here at) {
  rec_->emit("barrier.cluster.arrive" + extras.modifiers(), {}, at);
}

void ClusterMember::cluster_wait(const ExtraList& extras, Here at) {
  rec_->emit("barrier.cluster.wait" + extras.modifiers(), {}, at);
  role_->waited = true;
}

// Launches ------------------------------------------------------------------------------------------------------------

void ClusterMember::clusterlaunchcontrol_try_cancel(const U32& response, const Mbarrier& b,
                                                    const Extras<MulticastAll>& extras, Here at) {
  require_feature(extras.has<MulticastAll>() ? isa::Feature::launch_control_all : isa::Feature::launch_control, at);
  rec_->emit(
      "clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes" + extras.modifiers() + ".b128",
      {address_of(*rec_, response, at), address_of(*rec_, b.address, at)}, at);
}

CancelResponse ClusterMember::ld_shared_b128(const U32& response, Here at) {
  return {*rec_, result(ScalarType::b128, "ld.shared::cta.b128", {address_of(*rec_, response, at)}, at)};
}

Pred ClusterMember::clusterlaunchcontrol_query_cancel_is_canceled(const CancelResponse& r, Here at) {
  require_feature(isa::Feature::launch_control, at);
  return {*rec_, rec_->pure(ScalarType::pred, "clusterlaunchcontrol.query_cancel.is_canceled.pred.b128",
                            {use(*rec_, r, at)}, at)};
}

Index3 ClusterMember::clusterlaunchcontrol_query_cancel_get_first_ctaid(const CancelResponse& r, Here at) {
  require_feature(isa::Feature::launch_control, at);
  const Operand x = rec_->fresh(ScalarType::b32), y = rec_->fresh(ScalarType::b32), z = rec_->fresh(ScalarType::b32);
  rec_->emit("clusterlaunchcontrol.query_cancel.get_first_ctaid.v4.b32.b128",
             {Operand::vector({x, y, z, sink()}), use(*rec_, r, at)}, at);
  return {{*rec_, x}, {*rec_, y}, {*rec_, z}};
}

U32 ClusterMember::first_ctaid(Axis axis, const CancelResponse& r, Here at) {
  require_feature(isa::Feature::launch_control, at);
  const std::string name =
      "clusterlaunchcontrol.query_cancel.get_first_ctaid::" + std::string(1, char(axis)) + ".b32.b128";
  return {*rec_, rec_->pure(ScalarType::b32, name, {use(*rec_, r, at)}, at)};
}

void ClusterMember::griddepcontrol_launch_dependents(Here at) {
  rec_->emit("griddepcontrol.launch_dependents", {}, at);
}
void ClusterMember::griddepcontrol_wait(Here at) { rec_->emit("griddepcontrol.wait", {}, at); }

void ClusterMember::nanosleep(OperandOf<U32> nanoseconds, Here at) {
  rec_->emit("nanosleep.u32", {operand_of(nanoseconds)}, at);
}

}  // namespace kiln::dsl
