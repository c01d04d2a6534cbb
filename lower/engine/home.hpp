// Where a CTA keeps the engine's queue and the words beside it: in shared memory or, for a kernel that leaves no room
// there, in global memory, with the image of the same number.
#pragma once

#include <string>
#include <string_view>

#include "lower/code.hpp"
#include "lower/plan/plan.hpp"

namespace kiln::lower {

/// Code that reaches the home. What waits there for arrivals is an mbarrier in shared memory, and a count of arrivals,
/// which never starts again, in global memory. So a phase is the parity of an mbarrier's, or the count at its end.
class Home {
 public:
  Home(Builder& b, const Plan& p) : b_(b), p_(p) {}

  bool is_global() const { return p_.home == Place::global; }
  /// Finds it; what follows in this scope may use words and slots.
  void find();
  /// The address of a word.
  Term word(Word) const;
  /// The address of the first slot of the queue, in a register for slots.
  void find_queue(Register to) const;
  /// The type of a register for the address of a slot, and its name: "u32".
  ScalarType address_type() const { return is_global() ? ScalarType::b64 : ScalarType::b32; }
  std::string_view address_name() const { return is_global() ? "u64" : "u32"; }
  /// `way`.shared.`type`, `way`.global.`type`; of atomics and of what orders others, .shared::cta.
  std::string access(std::string_view way, std::string_view type) const;
  std::string ordered(std::string_view way, std::string_view type) const;

  /// `to` = the phase in which a slot is full that has been used in `round` rounds of the queue before; or in which it
  /// is empty before that.
  void phase_of_full(Register to, Register round) const;
  void phase_of_empty(Register to, Register round) const;
  /// Waits for a phase, `offset` bytes after a slot.
  void wait(Register slot, unsigned offset, Register phase) const;
  /// `to` = whether it is complete.
  void test(Register to, Register slot, unsigned offset, Register phase) const;
  void arrive(Register slot, unsigned offset) const;
  void arrive_if(const Condition&, Register slot, unsigned offset) const;

  /// All warps of the engine meet; `meetings` counts how often they have.
  void meet(Register meetings, Register is_first_lane) const;

 private:
  void test(Register to, Term counter, Register count) const;
  void wait(Term counter, Register count) const;

  Builder& b_;
  const Plan& p_;
  Register base_{};
};

}  // namespace kiln::lower
