// When one access is ordered before another: the one place that decides it. What threads know, each engine works out in
// its own way: the simulator of what happened, the explorer of what can happen.
//
// PTX ISA "Memory Consistency Model", "Async proxy", "tcgen05 Memory Consistency Model".
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstdint>
#include <optional>
#include <string_view>

#include "ptx/order/access.hpp"
#include "ptx/rules/memory.hpp"
#include "ptx/rules/order.hpp"
#include "ptx/rules/tcgen05_order.hpp"

namespace kiln::order {

/// Kinds of pairs that may have to be put in order. `none`: the two do not conflict, or are in order whatever is known.
enum class Pair : std::uint8_t {
  none,
  threads,
  in_warp,    // lanes of one warp, one of the two by an instruction that the whole warp executes
  allocated,  // the address that tcgen05.alloc writes
  from_async,
  from_async_read,
  write_to_async,
  read_to_async,
  copied_to_async,
  copy_source_to_async,
  write_to_map,
  copied_to_map,
  tensor,
  tensor_in_warp,
  tensor_to_free,
  pipe_unlisted,
  pipe_between_threads
};

/// What puts a pair in order.
enum class Need : std::uint8_t {
  met,             // a cluster barrier, perhaps a relaxed one, stands between, or what `over` asks for
  ended,           // the later access comes after what ended with the earlier one, whether or not it sees that
  over,            // the later access knows that the earlier one is over
  over_or_issued,  // or that it was issued
  proxy_fence,     // a fence.proxy.async that it knows comes after the earlier one
  map_fence,       // a fence.proxy.tensormap release and acquire stand between
  tensor_fence,    // tcgen05.fence before the signal and after the wait
  pipe_fence       // the same, around the issue or, where that is known, around the completion
};

/// One row of pairs.def.
struct PairNeed {
  Pair pair;
  Need need;
  rules::Verdict (*rule)(bool met);
  std::string_view evidence;
};
inline constexpr std::array pair_needs{
#define PAIR_NEED(pair, need, rule, evidence) PairNeed{Pair::pair, Need::need, rules::rule, evidence},
#include "ptx/order/pairs.def"
#undef PAIR_NEED
};

/// Where the rows of each pair begin; they stand together, in the order of Pair.
inline constexpr auto first_need = [] {
  std::array<std::uint8_t, std::size_t(Pair::pipe_between_threads) + 2> first{};
  for (const PairNeed& row : pair_needs)
    for (std::size_t p = std::size_t(row.pair) + 1; p < first.size(); ++p) ++first[p];
  return first;
}();
static_assert(std::is_sorted(pair_needs.begin(), pair_needs.end(),
                             [](const PairNeed& a, const PairNeed& b) { return a.pair < b.pair; }));

/// What is known of two accesses where the later one is made.
template <class K>
concept Known = requires(const K& known) {
  { known.are_morally_strong() } -> std::same_as<bool>;
  { known.is_same_warp() } -> std::same_as<bool>;
  { known.are_same_threads() } -> std::same_as<bool>;     // the same lanes of one warp
  { known.is_same_accumulator() } -> std::same_as<bool>;  // of two tcgen05.mma
  { known.is_over() } -> std::same_as<bool>;
  { known.is_issued() } -> std::same_as<bool>;
  { known.is_proxy_fenced() } -> std::same_as<bool>;
  { known.is_map_fenced() } -> std::same_as<bool>;
  { known.is_tensor_fenced() } -> std::same_as<bool>;        // the completion of the earlier one
  { known.is_issue_tensor_fenced() } -> std::same_as<bool>;  // its issue
};

template <Known K>
Pair tensor_pair_of(const Access& earlier, const Access& later, const K& known) {
  const ir::Operation &first = *earlier.operation, &second = *later.operation;
  const bool piped = earlier.is_async && later.is_async && rules::is_pipelined(first.opcode) &&
                     rules::is_pipelined(second.opcode) && first.modifiers.cta_group == second.modifiers.cta_group;
  if (piped) {
    const bool listed =
        rules::pipelined(first.opcode, second.opcode, second.modifiers.shape, known.is_same_accumulator());
    if (known.are_same_threads()) return listed ? Pair::none : Pair::pipe_unlisted;
    if (listed) return Pair::pipe_between_threads;
  }
  if (known.is_same_warp()) return Pair::tensor_in_warp;
  return second.opcode == isa::Opcode::tcgen05_dealloc ? Pair::tensor_to_free : Pair::tensor;
}

/// What kind of pair two accesses to the same bytes are.
template <Known K>
Pair pair_of(const Access& earlier, const Access& later, const K& known) {
  if (!earlier.writes && !later.writes) return Pair::none;
  if (known.are_morally_strong() || free_together(*earlier.operation, *later.operation)) return Pair::none;
  if (later.proxy == Proxy::tensor_memory) return tensor_pair_of(earlier, later, known);
  if (later.proxy == Proxy::generic || earlier.proxy != Proxy::generic) {
    const ir::Operation &first = *earlier.operation, &second = *later.operation;
    if (earlier.is_async) return earlier.writes ? Pair::from_async : Pair::from_async_read;
    if (first.opcode == isa::Opcode::tcgen05_alloc) return Pair::allocated;
    const bool of_warp = is_of_warp(first) || is_of_warp(second);
    return of_warp && &first != &second && known.is_same_warp() ? Pair::in_warp : Pair::threads;
  }
  if (later.proxy == Proxy::tensormap) return earlier.is_async ? Pair::copied_to_map : Pair::write_to_map;
  if (earlier.is_async) return earlier.writes ? Pair::copied_to_async : Pair::copy_source_to_async;
  return earlier.writes ? Pair::write_to_async : Pair::read_to_async;
}

template <Known K>
bool is_met(Need need, const K& known) {
  switch (need) {
    case Need::met:
      if constexpr (requires { known.is_met(); }) return known.is_met() || known.is_over();
      return known.is_over();  // of an engine that does not follow relaxed barriers
    case Need::ended:
      if constexpr (requires { known.has_ended(); }) return known.has_ended() || known.is_over();
      return known.is_over();  // of an engine that follows knowledge alone
    case Need::over: return known.is_over();
    case Need::over_or_issued: return known.is_over() || known.is_issued();
    case Need::proxy_fence: return known.is_proxy_fenced();
    case Need::map_fence: return known.is_map_fenced();
    case Need::tensor_fence: return known.is_tensor_fenced();
    case Need::pipe_fence:
      return known.is_issue_tensor_fenced() || (known.is_over() && (known.is_same_warp() || known.is_tensor_fenced()));
  }
  return false;
}

/// The rule that the pair breaks, if any.
template <Known K>
std::optional<rules::Rule> judge(const Access& earlier, const Access& later, const K& known) {
  const auto pair = std::size_t(pair_of(earlier, later, known));
  for (std::size_t k = first_need[pair]; k < first_need[pair + 1]; ++k)
    if (!is_met(pair_needs[k].need, known))
      if (const rules::Verdict v = pair_needs[k].rule(false); v.broken()) return v.rule;
  return std::nullopt;
}

}  // namespace kiln::order
