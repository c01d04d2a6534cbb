// Memory orders as PTX writes them on an instruction: semantics and scope together, release_cluster for
// .release.cluster. What an instruction may say is a type; PTX ISA "Memory Consistency Model".
#pragma once

#include "dsl/extras.hpp"
#include "ptx/rules/memory.hpp"
#include "ptx/rules/require.hpp"

namespace kiln::dsl {

/// Semantics and scope as one value.
template <isa::Semantics semantics, isa::Scope scope = isa::Scope::none>
struct Order {};

#define KILN_ORDER(name)                                                             \
  inline constexpr Order<isa::Semantics::name, isa::Scope::cta> name##_cta{};         \
  inline constexpr Order<isa::Semantics::name, isa::Scope::cluster> name##_cluster{}; \
  inline constexpr Order<isa::Semantics::name, isa::Scope::gpu> name##_gpu{};         \
  inline constexpr Order<isa::Semantics::name, isa::Scope::sys> name##_sys{};
KILN_ORDER(relaxed)
KILN_ORDER(acquire)
KILN_ORDER(release)
KILN_ORDER(acq_rel)
KILN_ORDER(sc)
#undef KILN_ORDER
inline constexpr Order<isa::Semantics::relaxed> relaxed{};
inline constexpr Order<isa::Semantics::acquire> acquire{};
inline constexpr Order<isa::Semantics::release> release{};

/// An order that one kind of instruction may say. Made of nothing, it leaves the choice to PTX.
template <rules::Ordered what>
struct OrderOf : Extra {
  OrderOf() = default;
  template <isa::Semantics semantics, isa::Scope scope>
  OrderOf(Order<semantics, scope>) : Extra(ordered(semantics, scope)) {
    rules::require<rules::memory_order(what, semantics, scope)>();
  }
};

using ArriveOrder = OrderOf<rules::Ordered::arrival>;
using WaitOrder = OrderOf<rules::Ordered::wait>;
using TxOrder = OrderOf<rules::Ordered::transaction>;
using ClusterArriveOrder = OrderOf<rules::Ordered::cluster_arrival>;
using ClusterWaitOrder = OrderOf<rules::Ordered::cluster_wait>;
using FenceOrder = OrderOf<rules::Ordered::fence>;

}  // namespace kiln::dsl
