// Who touched which bytes last, by intervals.
#pragma once

#include "verifier/explore/state.hpp"

namespace kiln::verifier::explore {

/// Calls f(Cell&) for each interval within [first, end), cut and made so that together they are just that.
template <class F>
void for_cells(Intervals& memory, std::uint32_t first, std::uint32_t end, F f) {
  const auto cut = [&](std::uint32_t at) {
    auto it = memory.upper_bound(at);
    if (it == memory.begin()) return;
    --it;
    if (it->first == at || it->second.end <= at) return;
    Cell rest = it->second;
    it->second.end = at;
    memory.emplace(at, std::move(rest));
  };
  cut(first);
  cut(end);
  for (std::uint32_t at = first; at < end;) {
    auto it = memory.lower_bound(at);
    if (it == memory.end() || it->first > at) {
      const std::uint32_t until = it == memory.end() ? end : std::min(end, it->first);
      it = memory.emplace(at, Cell{until, {}, {}}).first;
    }
    f(it->second);
    at = it->second.end;
  }
}

}  // namespace kiln::verifier::explore
