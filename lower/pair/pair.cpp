#include "lower/pair/pair.hpp"

#include "lower/engine/columns.hpp"
#include "lower/pair/commit_records.hpp"

namespace kiln::lower {
namespace {

constexpr const char* words[] = {variable::record_ticket, variable::ends, variable::alloc_lock, variable::allocs};

class Allocation {
 public:
  Allocation(Builder& b, const Plan& p) : b_(b), p_(p) {}

  void write(Register columns, Register to) {
    lock();
    peer_ = find_peer(b_);
    const Register odd = b_.b32("and.b32", peer_, 1);
    const JumpTarget is_odd = b_.label("is_odd"), unlock = b_.label("unlock");
    b_.jump_if(b_.pred("setp.eq.u32", odd, 0), is_odd);
    take_columns(b_, p_, columns, to);
    b_.op("xor.b32", parity_, parity_, 1);
    wait_for_given(variable::given_empty);
    b_.op("st.shared::cluster.b32", at(at_peer(variable::given)), to);
    arrive_in_peer(variable::given_full);
    b_.jump(unlock);
    b_.place(is_odd);
    wait_for_given(variable::given_full);
    b_.op("ld.shared.b32", to, at(variable::given));
    arrive_in_peer(variable::given_empty);
    b_.place(unlock);
    b_.b32("atom.release.cta.shared::cta.exch.b32", at(lock_), 0);
  }

 private:
  void lock() {
    lock_ = b_.b32("mov.b32", variable::alloc_lock);
    b_.loop([&] {
      const Register was = b_.b32("atom.acquire.cta.shared::cta.cas.b32", at(lock_), 0, 1);
      return b_.pred("setp.ne.u32", was, 0);
    });
    parity_ = b_.b32("ld.shared.b32", at(variable::allocs));
    const Register next = b_.b32("add.u32", parity_, 1);
    b_.op("st.shared.b32", at(variable::allocs), next);
    b_.op("and.b32", parity_, parity_, 1);
  }

  void wait_for_given(const char* mbarrier) {
    wait_for(b_, b_.b32("mov.b32", mbarrier), 0, parity_, isa::Scope::cluster);
  }

  Register at_peer(const char* name) {
    const Register out = b_.b32("mov.b32", name);
    b_.op("mapa.shared::cluster.u32", out, out, peer_);
    return out;
  }

  void arrive_in_peer(const char* mbarrier) {
    b_.op("mbarrier.arrive.release.cluster.shared::cluster.b64", "_", at(at_peer(mbarrier)));
  }

  Builder& b_;
  const Plan& p_;
  Register lock_{}, parity_{}, peer_{};
};

}  // namespace

void declare_pair(Builder& b, const Plan& p) {
  b.shared(ScalarType::b8, 16, variable::mail, p.rings.mail * slot_bytes);
  declare_records(b, p);
  for (const char* name : {variable::given_full, variable::given_empty}) b.shared(ScalarType::b64, 8, name);
  for (const char* name : words) b.shared(ScalarType::b32, 4, name);
  b.shared(ScalarType::b8, 4, variable::given, 16);  // a word, up to a multiple of 16 bytes of all this
}

void make_pair(Builder& b, const Plan& p) {
  const Register mail = b.b32("mov.b32", variable::mail);
  for (std::uint32_t i = 0; i < p.rings.mail; ++i)
    for (const unsigned offset : {slot_full, slot_empty})
      b.op("mbarrier.init.shared::cta.b64", at(mail, i * slot_bytes + offset), 1);
  make_records(b, p);
  for (const char* name : {variable::given_full, variable::given_empty})
    b.op("mbarrier.init.shared::cta.b64", at(name), 1);
  for (const char* name : words) b.op("st.shared.b32", at(name), 0);
}

void push_to_pair(Builder& b, const Plan& p, Words words) {
  words.resize(6, 0);
  push(b, p, words);
}

void push_to_pair(Builder& b, const Plan& p, Words words, Register mbarrier, Register mask) {
  words.resize(3, 0);
  const Register record = take_record(b, p);
  words.insert(words.end(), {mbarrier, record, mask});
  push(b, p, words);
}

void allocate_in_pair(Builder& b, const Plan& p, Register columns, Register to) {
  b.scope([&] { Allocation(b, p).write(columns, to); });
}

void leave_pair(Builder& b, const Plan& p, JumpTarget left) {
  push_to_pair(b, p, {close_command});
  const Register others = b.b32("atom.acq_rel.cta.shared::cta.inc.u32", at(variable::ends), 1);
  b.jump_if(b.pred("setp.eq.u32", others, 0), left);
}

}  // namespace kiln::lower
