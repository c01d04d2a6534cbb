#include "lower/engine/home.hpp"

#include "lower/engine/mbarrier.hpp"
#include "lower/variables.hpp"

namespace kiln::lower {

void Home::find() {
  if (!is_global()) return;
  base_ = b_.b64("mov.b64", variable::homes);
  b_.op("mad.wide.u32", base_, variable::home_number, p_.home_bytes(), base_);
}

Term Home::word(Word w) const {
  constexpr const char* names[] = {variable::ticket, variable::exits, variable::columns, variable::engine_meeting};
  return is_global() ? at(base_, p_.home_offset(w)) : at(names[std::size_t(w)]);
}

void Home::find_queue(Register to) const {
  if (is_global())
    b_.op("mov.b64", to, base_);
  else
    b_.op("mov.b32", to, variable::queue);
}

std::string Home::access(std::string_view way, std::string_view type) const {
  return dotted({way, is_global() ? "global" : "shared", type});
}

std::string Home::ordered(std::string_view way, std::string_view type) const {
  return dotted({way, is_global() ? "global" : "shared::cta", type});
}

void Home::phase_of_full(Register to, Register round) const {
  if (is_global())
    b_.op("add.u32", to, round, 1);
  else
    b_.op("and.b32", to, round, 1);
}

void Home::phase_of_empty(Register to, Register round) const {
  if (is_global()) return b_.op("mul.lo.u32", to, round, p_.engine_warps);
  b_.op("and.b32", to, round, 1);
  b_.op("xor.b32", to, to, 1);
}

// Others may have arrived for a later phase.
void Home::test(Register to, Term counter, Register count) const {
  const Register behind = b_.b32("ld.acquire.cta.global.u32", counter);
  b_.op("sub.u32", behind, behind, count);
  b_.op("setp.ge.s32", to, behind, 0);
}

void Home::wait(Term counter, Register count) const {
  b_.loop([&] {
    const Register done = b_.reg(ScalarType::pred);
    test(done, counter, count);
    return !done;
  });
}

void Home::test(Register to, Register slot, unsigned offset, Register phase) const {
  if (is_global())
    test(to, at(slot, offset), phase);
  else
    b_.op("mbarrier.test_wait.parity.shared::cta.b64", to, at(slot, offset), phase);
}

void Home::wait(Register slot, unsigned offset, Register phase) const {
  if (is_global())
    wait(at(slot, offset), phase);
  else
    wait_for(b_, slot, offset, phase);
}

void Home::arrive(Register slot, unsigned offset) const {
  if (is_global())
    b_.op("red.release.cta.global.add.u32", at(slot, offset), 1);
  else
    lower::arrive(b_, slot, offset);
}

void Home::arrive_if(const Condition& c, Register slot, unsigned offset) const {
  if (is_global())
    b_.op_if(c, "red.release.cta.global.add.u32", at(slot, offset), 1);
  else
    lower::arrive_if(b_, c, slot, offset);
}

void Home::meet(Register meetings, Register is_first_lane) const {
  if (p_.barrier != 0) return b_.op("bar.sync", p_.barrier, p_.engine_warps * 32);
  b_.scope([&] {
    Home home(b_, p_);
    home.find();
    meet_in_warp(b_);
    b_.op("add.u32", meetings, meetings, 1);
    if (is_global()) {
      b_.op_if(is_first_lane, "red.release.cta.global.add.u32", home.word(Word::meeting), 1);
      home.wait(home.word(Word::meeting), b_.b32("mul.lo.u32", meetings, p_.engine_warps));
    } else {
      const Register mbarrier = b_.b32("mov.b32", variable::engine_meeting), parity = b_.b32("and.b32", meetings, 1);
      lower::arrive_if(b_, is_first_lane, mbarrier);
      b_.op("xor.b32", parity, parity, 1);
      wait_for(b_, mbarrier, 0, parity);
    }
    meet_in_warp(b_);
  });
}

}  // namespace kiln::lower
