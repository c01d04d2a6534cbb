// What an instruction may carry besides its operands: modifiers, and operands that come with a modifier. An instruction
// lists the extras that it takes; a call gives some of them in braces, in any order.
#pragma once

#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "dsl/value.hpp"
#include "ptx/isa/modifiers.hpp"

namespace kiln::dsl {

/// A modifier, an operand, or both.
struct Extra {
  std::string modifier{};  // with its dot, or empty
  std::optional<ir::Operand> operand{};
};

/// .multicast::cluster: the copy goes to the same place in every CTA of the mask.
struct Multicast : Extra {};
Multicast multicast_cluster(OperandOf<U32> ctaMask);
/// .multicast::cluster::32b, of sm_107: the same with a mask of 32 bits, for clusters of more than 16 CTAs.
struct WideMulticast : Multicast {};
WideMulticast multicast_cluster_32b(OperandOf<U32> ctaMask);

/// .L2::cache_hint: a cache policy, as createpolicy makes them.
struct CacheHint : Extra {};
CacheHint L2_cache_hint(OperandOf<U64> policy);
/// The same with a policy by name, for all that is accessed: evict_first for what is used once, evict_last for what is
/// to stay.
CacheHint L2_cache_hint(isa::L2Eviction);
inline constexpr isa::L2Eviction evict_unchanged = isa::L2Eviction::evict_unchanged,
                                 evict_first = isa::L2Eviction::evict_first, evict_last = isa::L2Eviction::evict_last,
                                 evict_normal = isa::L2Eviction::evict_normal;

/// .cp_mask: of every 16 bytes those whose bit is set are copied.
struct CpMask : Extra {};
CpMask cp_mask(OperandOf<U32> byteMask);

/// suspendTimeHint of mbarrier.try_wait: nanoseconds.
struct SuspendTimeHint : Extra {};
SuspendTimeHint suspend_time_hint(OperandOf<U32> nanoseconds);

/// .phase_type of a wait on an mbarrier of layout v1: the phase is over whatever copies reported, or it is over and
/// they reported nothing. The conditional one names the parity.
inline constexpr isa::PhaseType phase_type_primary = isa::PhaseType::primary,
                                phase_type_conditional = isa::PhaseType::conditional;

/// .mbarrier::report of a load, of sm_107: which bits of 16 bytes, or of an element, tell the load's mbarrier, of
/// layout v1, that data are not valid. PTX ISA "cp.async.bulk".
inline constexpr isa::Report report_disabled = isa::Report::disabled,
                             report_per_16bytes_80000000 = isa::Report::per_16bytes_80000000,
                             report_per_16bytes_8000 = isa::Report::per_16bytes_8000,
                             report_per_16bytes_80 = isa::Report::per_16bytes_80,
                             report_per_16bytes_8 = isa::Report::per_16bytes_8,
                             report_per_element_ff = isa::Report::per_element_ff;

/// .aligned: all threads of the warp execute the instruction together.
struct Aligned {};
inline constexpr Aligned aligned{};
/// .multicast::cluster::all: every CTA of the cluster gets the answer.
struct MulticastAll {};
inline constexpr MulticastAll multicast_cluster_all{};

// What Extras calls: ".release.cluster", and whose mbarrier a tensor copy may name.
Extra ordered(isa::Semantics, isa::Scope);
inline Extra extra(Extra e) { return e; }
Extra extra(Aligned);
Extra extra(MulticastAll);
Extra extra(isa::CtaGroup);
Extra extra(isa::PhaseType);
Extra extra(isa::Report);

/// The extras that were given, in the order in which PTX wants their operands.
class ExtraList {
 public:
  /// `place`: position among the extras that the instruction takes.
  void add(int place, Extra extra);
  /// Whether the extra at that position was given.
  bool has(int place) const;
  /// ".multicast::cluster.L2::cache_hint"
  std::string modifiers() const;
  void append_to(std::vector<ir::Operand>& operands) const;

 private:
  std::vector<std::pair<int, Extra>> given_;
};

// How often a list of extras has one.
template <class Given, class... Allowed>
inline constexpr bool is_one_of = (... || std::is_convertible_v<Given, Allowed>);
template <class One, class... Given>
inline constexpr int times_given = (0 + ... + int(std::is_convertible_v<Given, One>));

/// The extras of one kind of instruction.
template <class... Allowed>
class Extras : public ExtraList {
 public:
  template <class... Given>
    requires(... && is_one_of<Given, Allowed...>)
  Extras(const Given&... given) {
    static_assert((... && (times_given<Allowed, Given...> <= 1)), "an instruction takes each of its extras once");
    (take(given, std::make_index_sequence<sizeof...(Allowed)>{}), ...);
  }
  /// Whether this extra was given.
  template <class E>
  bool has() const { return ExtraList::has(place_of<E>()); }
  /// Its position among the extras that the instruction takes.
  template <class E>
  static constexpr int place_of() {
    int at = 0, place = -1;
    ((std::is_same_v<E, Allowed> ? void(place = at++) : void(++at)), ...);
    return place;
  }

 private:
  template <class Given, std::size_t... places>
  void take(const Given& given, std::index_sequence<places...>) {
    (offer<Allowed>(int(places), given), ...);
  }
  template <class One, class Given>
  void offer(int place, const Given& given) {
    if constexpr (std::is_convertible_v<Given, One>) add(place, extra(One(given)));
  }
};

}  // namespace kiln::dsl
