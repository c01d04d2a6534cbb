#include "lower/pair/messenger.hpp"

#include <bit>

#include "lower/engine/queue.hpp"
#include "lower/pair/commit_records.hpp"
#include "lower/pair/forwarding.hpp"

namespace kiln::lower {
namespace {

enum Duties : unsigned { incoming = 1, outgoing = 2, all_duties = 3 };   // the peer's commands and copies; the rest
constexpr unsigned nothing = 0, command = 1, quit = 2, end_of_mail = 3;  // put_
constexpr unsigned no_more_commands = 1, no_more_copies = 2, no_more_mail = 4, all_ends = 7;  // ended_
constexpr std::size_t copies_a_round = 2;  // as a rule A's and B's of one slot

// A round looks at what has happened since the last one, without waiting, and has one fence for all of it.
class Messenger {
 public:
  Messenger(Builder& b, const Plan& p, Duties duties) : b_(b), p_(p), duties_(duties) {
    for (Register* r : kept()) *r = b.reg(ScalarType::b32);
    for (Register* r : {&returned_, &letter_, &told_}) *r = b.reg(ScalarType::b32);
    words_ = b.regs(ScalarType::b32, 4);
    scratch_ = b.regs(ScalarType::b32, 4);
    if (has(incoming) && p.forwards_copies())
      for (std::size_t i = 0; i < copies_a_round; ++i)
        copies_.push_back({b.reg(ScalarType::b32), b.reg(ScalarType::b32)});
  }

  void write(JumpTarget done) {
    peer_ = find_peer(b_);
    for (const Register* r : kept()) b_.op("mov.b32", *r, 0);
    b_.loop([&] {
      for (const Register r : {returned_, letter_, told_}) b_.op("mov.b32", r, 0);
      if (has(incoming)) take_mail();
      if (has(outgoing)) write_letter();
      if (has(outgoing)) take_command();
      for (const ForwardedCopy& c : copies_) take_copy(b_, p_, copy_ticket_, c, ended_, no_more_copies);
      tell();
      for (int giver = 0; giver < 2 && has(outgoing); ++giver) hear(giver);
      b_.op("mad.lo.u32", scratch_[0], pending_, 1 + all_ends, ended_);
      return b_.pred("setp.ne.u32", scratch_[0],
                     (has(outgoing) ? no_more_commands : 0) | (has(incoming) ? no_more_mail : 0) |
                         (copies_.empty() ? 0 : no_more_copies));
    });
    b_.jump(done);
  }

 private:
  bool has(Duties d) const { return (duties_ & d) != 0; }
  std::vector<Register*> kept() {
    return {&next_for_peer_, &mail_out_, &mail_in_,  &put_ticket_, &put_,  &next_done_,
            &copy_ticket_,   &heard_[0], &heard_[1], &pending_,    &ended_};
  }

  Slot slot_of(const SlotRing& ring, Register ticket, std::size_t scratch) {
    const Slot out{scratch_[scratch], scratch_[scratch + 1]};
    find_slot(b_, ring, ticket, out);
    return out;
  }

  // The next command of the peer, into the queue; returned_: the free slot of the mail, at the peer's. The ticket is
  // taken before there is room, as every ticket is. Where the peer gives no more commands, and nor do the own threads,
  // the command is to quit.
  void take_mail() {
    const JumpTarget put = b_.label("put"), no_mail = b_.label("no_mail");
    const Slot mail = slot_of(mail_ring(p_), mail_in_, 0);
    b_.jump_if(b_.pred("setp.ne.u32", put_, nothing), put);
    b_.jump_if(!test(b_, mail.address, slot_full, mail.parity, isa::Scope::cluster), no_mail);
    b_.op("mov.b32", put_, command);
    const Register word = scratch_[1];
    b_.op("ld.shared.b32", word, at(mail.address));
    b_.when(!b_.pred("setp.ne.u32", word, close_command), [&] {
      end_mail();
      b_.op("atom.acq_rel.cta.shared::cta.inc.u32", word, at(variable::ends), 1);
      b_.jump_if(b_.pred("setp.eq.u32", word, 0), no_mail);
      b_.op("mov.b32", put_, quit);
      b_.op("and.b32", ended_, ended_, all_ends & ~no_more_mail);
    });
    b_.op("mov.b32", put_ticket_, variable::ticket);
    b_.op("atom.relaxed.cta.shared::cta.add.u32", put_ticket_, at(put_ticket_), 1);
    b_.place(put);
    put_into_queue(mail.address, no_mail);
    b_.place(no_mail);
  }

  void put_into_queue(Register mail, JumpTarget no_mail) {
    const JumpTarget put_quit = b_.label("put_quit"), arrival = b_.label("arrive");
    b_.jump_if(b_.pred("setp.eq.u32", put_, end_of_mail), no_mail);
    const Slot slot = slot_of(queue_ring(p_), put_ticket_, 1);
    b_.op("xor.b32", slot.parity, slot.parity, 1);
    b_.jump_if(!test(b_, slot.address, slot_empty, slot.parity), no_mail);
    b_.jump_if(b_.pred("setp.eq.u32", put_, quit), put_quit);
    b_.op("ld.shared.v4.b32", vec(words_, 0, 4), at(mail));
    b_.op("or.b32", words_[0], words_[0], flag_local);
    b_.op("st.shared.v4.b32", at(slot.address), vec(words_, 0, 4));
    b_.op("ld.shared.v2.b32", vec(words_, 0, 2), at(mail, slot_more));
    b_.op("st.shared.v2.b32", at(slot.address, slot_more), vec(words_, 0, 2));
    b_.op("mapa.shared::cluster.u32", returned_, mail, peer_);
    b_.op("add.u32", mail_in_, mail_in_, 1);
    b_.op("mov.b32", put_, nothing);
    b_.jump(arrival);
    b_.place(put_quit);
    for (std::size_t i = 0; i < 4; ++i) b_.op("mov.b32", words_[i], i ? 0 : quit_command);
    b_.op("st.shared.v4.b32", at(slot.address), vec(words_, 0, 4));
    b_.op("st.shared.b32", at(slot.address, slot_count(p_)), words_[1]);
    end_mail();
    b_.place(arrival);
    arrive(b_, slot.address, slot_full);
  }

  void end_mail() {
    b_.op("mov.b32", put_, end_of_mail);
    b_.op("or.b32", ended_, ended_, no_more_mail);
  }

  // The next command that this CTA gives, into the peer's mail, if there is a free slot, which is letter_ then.
  void write_letter() {
    const JumpTarget no_letter = b_.label("no_letter");
    const Slot slot = slot_of(queue_ring(p_), next_for_peer_, 0);
    b_.jump_if(!test(b_, slot.address, slot_full, slot.parity), no_letter);
    b_.op("ld.shared.v4.b32", vec(words_, 0, 4), at(slot.address));
    b_.op("and.b32", scratch_[1], words_[0], flag_local);
    b_.when(!b_.pred("setp.ne.u32", scratch_[1], 0), [&] {
      const Slot mail = slot_of(mail_ring(p_), mail_out_, 2);
      b_.op("xor.b32", mail.parity, mail.parity, 1);
      b_.jump_if(!test(b_, mail.address, slot_empty, mail.parity, isa::Scope::cluster), no_letter);
      b_.op("mapa.shared::cluster.u32", letter_, mail.address, peer_);
      b_.op("st.shared::cluster.v4.b32", at(letter_), vec(words_, 0, 4));
      b_.op("ld.shared.v2.b32", vec(words_, 0, 2), at(slot.address, slot_more));
      b_.op("st.shared::cluster.v2.b32", at(letter_, slot_more), vec(words_, 0, 2));
      b_.op("add.u32", mail_out_, mail_out_, 1);
    });
    b_.op("add.u32", next_for_peer_, next_for_peer_, 1);
    b_.place(no_letter);
  }

  // The next command, once all warps of the engine have done it. told_: the record of a commit. That of an earlier one
  // may still be in use.
  void take_command() {
    const JumpTarget no_command = b_.label("no_command");
    b_.jump_if(b_.pred("setp.eq.u32", next_done_, next_for_peer_), no_command);
    const Slot slot = slot_of(queue_ring(p_), next_done_, 0);
    b_.jump_if(!test(b_, slot.address, slot_done, slot.parity), no_command);
    const Register word = scratch_[1];
    b_.op("ld.shared.b32", word, at(slot.address));
    b_.op_if(b_.pred("setp.eq.u32", word, quit_command), "or.b32", ended_, ended_, no_more_commands);
    b_.op("and.b32", word, word, flag_commits);
    b_.when(!b_.pred("setp.eq.u32", word, 0), [&] {
      const Register record = scratch_[2], mask = scratch_[3];
      b_.op("ld.shared.v2.b32", vec(record, mask), at(slot.address, slot_record));
      b_.op("mov.b32", word, variable::records);
      b_.op("mad.lo.u32", record, record, record_bytes, word);
      b_.op("ld.shared.b32", word, at(record, record_mask));  // still in use
      b_.jump_if(b_.pred("setp.ne.u32", word, 0), no_command);
      b_.op("ld.shared.b32", word, at(slot.address, 12));
      b_.op("st.shared.v2.b32", at(record, record_target), vec(word, mask));
      b_.op("mov.b32", told_, record);
      b_.op("add.u32", pending_, pending_, 1);
    });
    arrive(b_, slot.address, slot_empty);
    b_.op("add.u32", next_done_, next_done_, 1);
    b_.place(no_command);
  }

  void tell() {
    const JumpTarget told_all = b_.label("told_all");
    const Register any = scratch_[0], there = scratch_[1];
    b_.op("or.b32", any, told_, letter_);
    b_.op("or.b32", any, any, returned_);
    for (const ForwardedCopy& c : copies_) b_.op("or.b32", any, any, c.bytes);
    b_.jump_if(b_.pred("setp.eq.u32", any, 0), told_all);
    b_.op("fence.acq_rel.cluster");
    for (const ForwardedCopy& c : copies_) forward_copy(b_, c);
    for (const auto& [slot, mbarrier] : {std::pair(returned_, slot_empty), std::pair(letter_, slot_full)}) {
      const Register is_there = b_.pred("setp.ne.u32", slot, 0);
      b_.op("add.u32", slot, slot, mbarrier);
      b_.op_if(is_there, "mbarrier.arrive.relaxed.cluster.shared::cluster.b64", "_", at(slot));
    }
    b_.jump_if(b_.pred("setp.eq.u32", told_, 0), told_all);
    b_.op("mapa.shared::cluster.u32", there, told_, peer_);
    b_.op("mbarrier.arrive.relaxed.cluster.shared::cluster.b64", "_", at(there));
    arrive(b_, told_);
    b_.place(told_all);
  }

  // A commit to which both engines have come: arrives at the mbarriers in the mask, each from a CTA that has the same
  // place in its pair; as a rule that is its own one.
  void hear(int giver) {
    const JumpTarget done = b_.label("heard"), elsewhere = b_.label("elsewhere");
    const Register heard = heard_[giver];
    const unsigned first = unsigned(giver) * p_.rings.records * record_bytes;
    const Register record = scratch_[0], parity = scratch_[1];
    b_.op("mov.b32", record, variable::records);
    b_.op("and.b32", parity, heard, p_.rings.records - 1);
    b_.op("mad.lo.u32", record, parity, record_bytes, record);
    b_.op("shr.u32", parity, heard, std::countr_zero(p_.rings.records));
    b_.op("and.b32", parity, parity, 1);
    b_.jump_if(!test(b_, record, first, parity, isa::Scope::cluster), done);
    const Register target = scratch_[1], mask = scratch_[2];
    b_.op("ld.shared.v2.b32", vec(target, mask), at(record, first + record_target));
    b_.op("st.shared.b32", at(record, first + record_mask), 0);
    b_.op("add.u32", heard, heard, 1);
    b_.op("sub.u32", pending_, pending_, 1);
    const Register rank = scratch_[0], same_place = scratch_[3], own = scratch_[3];
    b_.op("mov.u32", rank, "%cluster_ctarank");
    b_.op("and.b32", same_place, rank, 1);
    b_.op("shl.b32", same_place, 0x5555, same_place);
    b_.op("and.b32", mask, mask, same_place);
    b_.jump_if(b_.pred("setp.eq.u32", mask, 0), done);
    b_.op("shl.b32", own, 1, rank);
    b_.jump_if(b_.pred("setp.ne.u32", mask, own), elsewhere);
    b_.op("mapa.shared::cluster.u32", target, target, rank);
    arrive(b_, target);
    b_.jump(done);
    b_.place(elsewhere);
    arrive_in_each(b_, target, mask);
    b_.place(done);
  }

  Builder& b_;
  const Plan& p_;
  Duties duties_;
  std::vector<ForwardedCopy> copies_{};     // that are looked at in a round
  Register next_for_peer_{}, next_done_{};  // tickets of commands: the next one for the peer, the next one to be done
  Register mail_out_{}, mail_in_{};         // tickets of mail
  Register copy_ticket_{};
  Register put_{}, put_ticket_{};    // what is to be put into the queue, and its ticket
  Register heard_[2]{}, pending_{};  // commits of each CTA to which both have come, and those to which they have not
  Register ended_{};                 // what there is no more of
  Register peer_{};
  Register returned_{}, letter_{}, told_{};  // of one round: slots of mail that are free and full, a record; or 0
  Registers words_{};                        // of a command that is copied
  Registers scratch_{};  // for all parts of a round: ptxas 13.0 makes other code where each part has its own
};

}  // namespace

void write_messengers(Builder& b, const Plan& plan, const Messengers& labels, JumpTarget done) {
  const bool are_two = plan.service_warps == 2;
  b.place(labels.first);
  b.scope([&] { Messenger(b, plan, are_two ? outgoing : all_duties).write(done); });
  if (!are_two) return;
  b.place(labels.second);
  b.scope([&] { Messenger(b, plan, incoming).write(done); });
}

}  // namespace kiln::lower
