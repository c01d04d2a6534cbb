// mbarriers: the handles, and every mbarrier instruction as a member of all scopes. PTX ISA "mbarrier".
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>

#include "dsl/issuer.hpp"
#include "dsl/order.hpp"

namespace kiln::dsl {

/// An address in the shared memory of some CTA of the cluster (.shared::cluster), as mapa makes it.
struct ClusterAddress {
  U32 value;
};

/// The roles that give a ring's slots back, and how often each arrives for a slot: from these the builder counts.
using SlotReleases = std::map<const void*, int>;

/// An mbarrier object in this CTA's shared memory; `name` is what diagnostics call it.
struct Mbarrier {
  U32 address;
  std::string name;
  SlotReleases* releases = nullptr;  // of a ring's empty barrier
};

/// The same object in another CTA of the cluster. It cannot be waited on or read from here.
struct RemoteMbarrier {
  ClusterAddress address;
  SlotReleases* releases = nullptr;
};

/// An mbarrier of this CTA or of another, where a copy may complete on either.
struct AnyMbarrier {
  AnyMbarrier(const Mbarrier& b) : address(b.address), space(isa::Space::shared_cta), releases(b.releases) {}
  AnyMbarrier(const RemoteMbarrier& b)
      : address(b.address.value), space(isa::Space::shared_cluster), releases(b.releases) {}
  U32 address;
  isa::Space space;
  SlotReleases* releases;

  /// A role gives a slot back by so many arrivals.
  void count(const Recorder& r, int arrivals) const {
    if (releases) (*releases)[r.role_key()] = arrivals;
  }
};

/// What an arrival answers: the phase that it was part of.
class MbarrierState : public Value {
 public:
  using Value::Value;
};

/// What a wait asks for: the phase with this parity, or the phase that an arrival was part of, has completed.
struct Phase {
  Phase(int parity) : constant(parity) {}
  Phase(U32 parity) : value(std::move(parity)) {}
  Phase(MbarrierState arrival) : state(std::move(arrival)) {}
  Phase(const Var<U32>& parity) : value(parity.read()) {}
  // Here only to explain: a value of another kind.
  template <class Other>
    requires(ReadsAsValue<Other> && !std::is_same_v<read_as<Other>, U32> && !std::is_same_v<Other, MbarrierState>)
  KILN_REFUSED_CONVERSION(value_kind, "a phase is its parity, 0, 1 or a U32, or what an arrival answered "
                                      "[dsl-value-kind]")
  Phase(const Other&);
  int constant = 0;
  std::optional<U32> value{};
  std::optional<MbarrierState> state{};
};

/// What a test may carry, and one that may sleep.
using TestWaitExtras = Extras<isa::PhaseType, WaitOrder>;
using TryWaitExtras = Extras<isa::PhaseType, WaitOrder, SuspendTimeHint>;
/// The layouts of an mbarrier: v1 tells phases apart in which copies reported something. PTX ISA "mbarrier".
inline constexpr isa::MbarrierLayout layout_v0 = isa::MbarrierLayout::v0, layout_v1 = isa::MbarrierLayout::v1;

/// mbarrier.*, for every scope. Orders that are not given are those that PTX implies: release_cta, acquire_cta,
/// relaxed_cta.
class Mbarriers : public Issuer {
 public:
  using Issuer::Issuer;

  /// Makes an object whose phase completes after `count` arrivals. PTX ISA "mbarrier.init".
  void mbarrier_init(const Mbarrier& b, OperandOf<U32> count, Here at = {});
  /// The same with a layout, v0 or v1. PTX ISA "mbarrier.init", "mbarrier.check_layout".
  void mbarrier_init(const Mbarrier& b, OperandOf<U32> count, isa::MbarrierLayout layout, Here at = {});
  /// Whether the object was made with that layout.
  Pred mbarrier_check_layout(const Mbarrier& b, isa::MbarrierLayout layout, Here at = {});
  /// Ends the object's life; its bytes are free. PTX ISA "mbarrier.inval".
  void mbarrier_inval(const Mbarrier& b, Here at = {});

  /// `count` arrivals. PTX ISA "mbarrier.arrive".
  MbarrierState mbarrier_arrive(const Mbarrier& b, OperandOf<U32> count = 1, ArriveOrder order = {}, Here at = {});
  void mbarrier_arrive(const RemoteMbarrier& b, OperandOf<U32> count = 1, ArriveOrder order = {}, Here at = {});
  /// The same, where the caller knows that they do not complete the phase.
  MbarrierState mbarrier_arrive_noComplete(const Mbarrier& b, OperandOf<U32> count, Here at = {});
  /// Announces `bytes` of copies for the phase, then arrives once.
  MbarrierState mbarrier_arrive_expect_tx(const Mbarrier& b, OperandOf<U32> bytes, ArriveOrder order = {},
                                          Here at = {});
  void mbarrier_arrive_expect_tx(const RemoteMbarrier& b, OperandOf<U32> bytes, ArriveOrder order = {}, Here at = {});

  /// Arrives and lowers the count of later phases by as much. PTX ISA "mbarrier.arrive_drop".
  MbarrierState mbarrier_arrive_drop(const Mbarrier& b, OperandOf<U32> count = 1, ArriveOrder order = {}, Here at = {});
  void mbarrier_arrive_drop(const RemoteMbarrier& b, OperandOf<U32> count = 1, ArriveOrder order = {}, Here at = {});
  MbarrierState mbarrier_arrive_drop_noComplete(const Mbarrier& b, OperandOf<U32> count, Here at = {});
  MbarrierState mbarrier_arrive_drop_expect_tx(const Mbarrier& b, OperandOf<U32> bytes, ArriveOrder order = {},
                                               Here at = {});
  void mbarrier_arrive_drop_expect_tx(const RemoteMbarrier& b, OperandOf<U32> bytes, ArriveOrder order = {},
                                      Here at = {});

  /// Changes the bytes that the phase waits for, without an arrival. PTX ISA "mbarrier.expect_tx",
  /// "mbarrier.complete_tx".
  void mbarrier_expect_tx(const AnyMbarrier& b, OperandOf<U32> bytes, TxOrder order = {}, Here at = {});
  void mbarrier_complete_tx(const AnyMbarrier& b, OperandOf<U32> bytes, TxOrder order = {}, Here at = {});

  /// Whether the phase has completed; try_wait may sleep until it has. PTX ISA "mbarrier.test_wait",
  /// "mbarrier.try_wait".
  Pred mbarrier_test_wait(const Mbarrier& b, const Phase& phase, const TestWaitExtras& extras = {}, Here at = {});
  Pred mbarrier_try_wait(const Mbarrier& b, const Phase& phase, const TryWaitExtras& extras = {}, Here at = {});
  /// Arrivals that the phase of a state still waited for. PTX ISA "mbarrier.pending_count".
  U32 mbarrier_pending_count(const MbarrierState& state, Here at = {});

  /// Waits until the phase has completed: mbarrier.try_wait in a loop.
  void wait(const Mbarrier& b, const Phase& phase, Here at = {});
  void wait(const Mbarrier& b, const Phase& phase, const TryWaitExtras& extras, Here at = {});
  // Here only to explain: no phase, or a slot.
  template <class Other>
    requires(true)
  KILN_REFUSED(arguments, "wait(mbarrier, phase) or wait(load(...)); a ring's slot is waited for by ring.wait(scope) "
                          "[dsl-arguments]")
  void wait(const Other&);
  KILN_OTHERWISE(arguments, "wait(mbarrier, phase): a ring's slot is waited for by ring.wait(scope), whose mbarrier is "
                            "slot.full [dsl-arguments]")
  void wait(KILN_WHATEVER);

 private:
  // Writes `mbarrier.VARIANT` and answers the state, which another CTA's barrier does not give.
  ir::Operand arrival(std::string_view variant, const AnyMbarrier& b, const std::optional<ir::Operand>& operand,
                      const ArriveOrder& order, Here at);
  MbarrierState state(ir::Operand o) const { return {*rec_, std::move(o)}; }
  void change_tx(std::string_view name, const AnyMbarrier& b, const OperandOf<U32>& bytes, const TxOrder& order,
                 Here at);
  Pred test(std::string_view name, const Mbarrier& b, const Phase& phase, const ExtraList& extras, Here at);
  // Checks what is a number: counts and bytes have ranges.
  std::optional<ir::Operand> count(const OperandOf<U32>& arrivals) const;
  ir::Operand transaction(const OperandOf<U32>& bytes) const;
};

}  // namespace kiln::dsl
