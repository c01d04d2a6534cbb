// Memory of the cluster: which accesses touched which bytes and columns last, whether a later one is ordered after them
// (sim/order/README.md has the model), and when a CTA's memory is there for others.
#pragma once

#include <algorithm>

#include "verifier/explore/findings.hpp"
#include "verifier/explore/flags.hpp"
#include "verifier/explore/tiles.hpp"
#include "verifier/explore/values.hpp"

namespace kiln::verifier::explore {

/// The shared memory of a CTA, or a block of lanes of its tensor memory.
struct Bank {
  std::uint32_t cta = 0;
  int block = -1;  // -1: shared memory

  Intervals& in(State& s) const {
    return (block < 0 ? s.ctas[cta].shared : s.ctas[cta].tensor[std::size_t(block)]).change();
  }
};

class Memory {
 public:
  Memory(const Program& program, Findings& findings, Values& values, TileSets& tiles)
      : program_(program), findings_(findings), values_(values), tiles_(tiles), flags_(program, values) {}

  /// Bytes of a box or of an operand that are looked at where it is not known how many there are.
  static constexpr std::uint32_t looked_at = 16;

  /// Each CTA knows that it has started itself, and tells others with whatever it tells them.
  static void start(State&);
  /// Threads use the memory or an mbarrier of a CTA, or act together with it: it must be known to have started, and
  /// must not have exited.
  void use(const Turn&, std::uint32_t cta);
  static bool knows_start(const Turn&, std::uint32_t cta);
  /// The last thread of a CTA has exited: all uses of its memory must be known to be over.
  void exit(State&, std::uint32_t cta);

  /// An event touches [first, end) of a bank, for these lanes. What it is not ordered after is found.
  void touch(const Turn&, EventId, Bank, std::uint32_t first, std::uint32_t end, Mask lanes);
  void touch(const Turn& t, EventId id, SharedPlace p, std::uint32_t bytes, Mask lanes) {
    touch(t, id, {p.cta}, p.address, p.address + bytes, lanes);
  }
  /// The same by a write to shared memory of which the word is not followed.
  void overwrite(const Turn&, EventId, SharedPlace, std::uint32_t bytes, Mask lanes);
  /// Calls f(Cell&) for each interval within [first, end), cut and made so that together they are just that.
  template <class F>
  static void for_cells(Intervals&, std::uint32_t first, std::uint32_t end, F f);
  /// Forgets what touched [first, end).
  static void clear(Intervals&, std::uint32_t first, std::uint32_t end);

  /// What an address names: with .shared::cluster its upper byte is a CTA of the cluster; else it is the thread's own.
  SharedPlace place(const Turn&, const ir::Argument&, int lane, isa::Space);
  /// Loads and stores by threads. What they store is kept where it is a word. A load may wait for a flag.
  Status load_or_store(Turn&);
  /// A lane has stored elements that may be words of the protocol.
  void keep_words(const Turn&, SharedPlace, int lane);
  /// A tensor copy has left a tile; without a box something unknown, from the address on.
  void note_tile(const Turn&, SharedPlace, const std::optional<Box>&);

 private:
  std::optional<SharedPlace> common_place(const Turn&, const ir::Argument&);
  std::optional<std::uint64_t> generic_address(const Turn&, const ir::Argument&, int lane);
  void judge(const Turn&, EventId, const Cell&, Mask lanes);
  void found(Breach, bool may, std::uint32_t decider);

  const Program& program_;
  Findings& findings_;
  Values& values_;
  TileSets& tiles_;
  Flags flags_;
};

template <class F>
void Memory::for_cells(Intervals& memory, std::uint32_t first, std::uint32_t end, F f) {
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
