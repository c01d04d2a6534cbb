// Flags: words by which threads signal with strong writes, and loops that read one until they find a number. PTX ISA
// "Release and Acquire Patterns".
//
// Such a loop on a word of shared memory is a wait. It reads the strong writes of the word one after the other, from
// the latest that its threads know of on, and goes on with what those hand on that it has read. That is the least that
// it may know: a run that finds a later one first knows of no fewer. Other strong reads find any word where a write is
// not known. Flags in global memory are not followed: whether one orders two accesses is not known where one may.
#pragma once

#include <optional>
#include <vector>

#include "ptx/order/reach.hpp"
#include "verifier/explore/values.hpp"

namespace kiln::verifier::explore {

/// A byte of the shared memory of a CTA.
struct SharedPlace {
  std::uint32_t cta = 0, address = 0;
  bool operator==(const SharedPlace&) const = default;
};

class Flags {
 public:
  Flags(const Program&, Values&);

  /// What some strong load of shared memory finds matters. Else no write is looked at.
  bool are_followed() const { return are_followed_; }
  /// A strong load of one word by these threads: what it finds, where that is decided (Turn::found), and what that
  /// hands on. Threads that have read all writes, and would read again, wait for the next one.
  Status read(Turn&, SharedPlace, std::uint32_t bytes);
  /// A strong write by a lane; returns the word that it leaves, if that is known.
  std::optional<flow::TermId> write(const Turn&, EventId, SharedPlace, std::uint32_t bytes, int lane);
  /// fence and membar.
  static void fence(const Turn&);
  /// Threads of the same CTA, or of two, may have put two accesses in order by a flag in global memory.
  bool may_order_globally(const ir::Operation&, const ir::Operation&, bool same_cta);

 private:
  /// Where a release or an acquire through global memory stands, and how far it reaches.
  struct Point {
    std::uint32_t at = 0;
    order::Reach reach{};
  };
  Flag& at(Cta&, SharedPlace, std::uint32_t bytes) const;
  std::optional<flow::TermId> word(const Turn&, const Flag&, std::uint32_t bytes, int lane);
  bool is_read_again(std::uint32_t load) const;
  bool leads(std::uint32_t from, std::uint32_t to) const;
  void find_points();

  const Program& program_;
  const ir::Code& code_ = program_.code;
  Values& values_;
  std::vector<bool> polls_;  // by operation: a strong load that its loop comes back to with nothing in between
  bool are_followed_ = false;
  bool has_points_ = false;
  std::vector<Point> releases_{}, acquires_{};
};

}  // namespace kiln::verifier::explore
