#include "lower/rewrite/frame.hpp"

#include <algorithm>

#include "lower/engine/engine.hpp"
#include "lower/engine/home.hpp"
#include "lower/engine/queue.hpp"
#include "lower/pair/forwarding.hpp"
#include "lower/pair/pair.hpp"

namespace kiln::lower {
namespace {

ir::Variable array(isa::Space space, int align, isa::ScalarType type, const char* name,
                   std::optional<std::uint64_t> count) {
  ir::Variable out;
  out.space = space;
  out.align = align;
  out.type = type;
  out.name = name;
  out.dims.push_back(count);
  return out;
}

}  // namespace

Frame::Frame(Builder& b, const Plan& p)
    : b_(b), p_(p), messengers_(b), engine_(b.label("engine")), leave_(b.label("leave")), left_(b.label("left")) {
  if (p.has_cluster_barrier) cluster_barrier_.emplace(b, p);
}

void Frame::begin() const {
  declare_variables();
  const Register thread = b_.b32("mov.u32", "%tid.x");
  b_.when(!b_.pred("setp.ne.u32", thread, 0), [&] { make_all(); });
  if (p_.meets_in_cluster())
    meet_in_cluster(b_);
  else
    b_.op("bar.sync", 0);
  if (p_.home == Place::global) tell_home();
  b_.jump_if(b_.pred("setp.ge.u32", thread, p_.first_engine_thread), engine_);
  set_registers(b_, p_, p_.other_registers);
  send_messengers(thread);
}

// Every thread learns the number of the home by a word of dynamic shared memory, before the kernel's own threads begin.
void Frame::tell_home() const {
  b_.op("ld.shared.b32", variable::home_number, at(p_.dynamic_name));
  b_.op("fence.proxy.async.shared::cta");  // a copy may be the first to write there
  b_.op("bar.sync", 0);
}

void Frame::declare_variables() const {
  if (p_.home == Place::global) {
    return b_.add({ir::Variable{.type = ScalarType::b32, .name = variable::home_number}});
  }
  b_.shared(ScalarType::b8, 16, variable::queue, p_.rings.queue * slot_bytes + p_.queue_padding());
  for (const char* name : {variable::ticket, variable::exits, variable::columns, variable::image_number})
    b_.shared(ScalarType::b32, 4, name);
  if (p_.barrier == 0) b_.shared(ScalarType::b64, 16, variable::engine_meeting, 2);  // a multiple of 16 bytes
  if (p_.parks()) b_.shared(ScalarType::b8, 16, variable::parked, p_.parked_bytes());
  if (p_.is_pair) declare_pair(b_, p_);
  if (p_.forwards_copies()) declare_forwarding(b_, p_);
  if (cluster_barrier_) cluster_barrier_->declare();
}

void Frame::make_all() const {
  if (p_.home == Place::global) {
    claim_image();
    return make_home();
  }
  make_queue();
  if (p_.is_pair) make_pair(b_, p_);
  if (p_.forwards_copies()) make_forwarding(b_, p_);
  if (cluster_barrier_) cluster_barrier_->make(p_);
  if (p_.meets_in_cluster()) b_.op("fence.mbarrier_init.release.cluster");
  if (p_.image == Place::global) claim_image();
}

void Frame::make_queue() const {
  const Register queue = b_.b32("mov.b32", variable::queue);
  for (std::uint32_t i = 0; i < p_.rings.queue; ++i) {
    const auto init = [&](unsigned offset, unsigned arrivals) {
      b_.op("mbarrier.init.shared::cta.b64", at(queue, i * slot_bytes + offset), arrivals);
    };
    init(slot_full, 1);
    init(slot_empty, p_.is_pair ? 1 : p_.engine_warps);
    if (p_.is_pair)
      init(slot_done, p_.engine_warps);
    else
      b_.op("st.shared.b32", at(queue, i * slot_bytes + slot_done), 0);
  }
  for (const char* name : {variable::ticket, variable::exits, variable::columns}) b_.op("st.shared.b32", at(name), 0);
  if (p_.barrier == 0) b_.op("mbarrier.init.shared::cta.b64", at(variable::engine_meeting), p_.engine_warps);
}

// Counts begin at zero.
void Frame::make_home() const {
  Home home(b_, p_);
  home.find();
  const Register queue = b_.reg(home.address_type());
  home.find_queue(queue);
  for (std::uint32_t i = 0; i < p_.rings.queue; ++i)
    for (const unsigned counter : {slot_full, slot_empty, slot_done})
      b_.op("st.global.b32", at(queue, i * slot_bytes + counter), 0);
  for (const Word w : {Word::ticket, Word::exits, Word::columns, Word::meeting})
    b_.op("st.global.b32", home.word(w), 0);
}

// A CTA takes the first image that is free, from one on that few others begin with.
void Frame::claim_image() const {
  const Register number = b_.b32("mov.u32", "%ctaid.z"), count = b_.b32("mov.u32", "%nctaid.y"),
                 index = b_.b32("mov.u32", "%ctaid.y");
  b_.op("mad.lo.u32", number, number, count, index);
  b_.op("mov.u32", count, "%nctaid.x");
  b_.op("mov.u32", index, "%ctaid.x");
  b_.op("mad.lo.u32", number, number, count, index);
  const Register taken = b_.b64("mov.b64", variable::taken);
  b_.loop([&] {
    b_.rest(number, number, std::uint32_t(p_.slots));
    const Register word = b_.b64("mad.wide.u32", number, 4, taken);
    b_.op("atom.acquire.gpu.global.cas.b32", count, at(word), 0, 1);
    b_.op("mov.b32", index, number);
    b_.op("add.u32", number, number, 1);
    return b_.pred("setp.ne.u32", count, 0);
  });
  if (p_.home == Place::global) {
    b_.op("mov.b32", variable::home_number, index);
    b_.op("st.shared.b32", at(p_.dynamic_name), index);
  } else {
    b_.op("st.shared.b32", at(variable::image_number), index);
  }
}

// The warps after the kernel's own: a messenger each, and those that leave.
void Frame::send_messengers(Register thread) const {
  if (p_.first_engine_thread == p_.threads) return;
  b_.when(!b_.pred("setp.lt.u32", thread, p_.threads), [&] {
    for (std::uint32_t i = 0; i < p_.service_warps; ++i)
      b_.jump_if(b_.pred("setp.eq.u32", thread, p_.threads + 32 * i), i ? messengers_.second : messengers_.first);
    b_.jump(left_);
  });
}

// How many of the kernel's threads had left before this one.
Register Frame::count_exit() const {
  if (p_.home == Place::global) {
    Home home(b_, p_);
    home.find();
    return b_.b32("atom.acq_rel.cta.global.inc.u32", home.word(Word::exits), p_.threads - 1);
  }
  const Register exits = b_.b32("mov.b32", variable::exits);
  b_.op("atom.acq_rel.cta.shared::cta.inc.u32", exits, at(exits), p_.threads - 1);
  return exits;
}

void Frame::end() const {
  b_.place(leave_);
  if (cluster_barrier_) cluster_barrier_->leave();
  const Register exits = count_exit();
  b_.jump_if(b_.pred("setp.ne.u32", exits, p_.threads - 1), left_);
  if (p_.forwards_copies()) end_forwarding(b_, p_);
  if (p_.is_pair) leave_pair(b_, p_, left_);
  push(b_, p_, counted(p_, {quit_command}));
  b_.place(left_);
  b_.op("ret");
  if (p_.is_pair) {
    const JumpTarget done = b_.label("serve_no_more");
    write_messengers(b_, p_, messengers_, done);
    b_.place(done);  // single threads
    b_.op("barrier.cluster.arrive.release");
    b_.op("barrier.cluster.wait.acquire");
    b_.op("ret");
  }
  write_engine(b_, p_, engine_);
  if (p_.meets_in_cluster()) meet_in_cluster(b_);
  b_.op("ret");
}

void ModuleVariables::add(const Plan& p) {
  if (p.image == Place::shared) {
    has_dynamic |= p.dynamic_name.empty();
    return;
  }
  slots = std::max(slots, p.slots);
  image_bytes = std::max(image_bytes, p.slots * p.image_bytes());
  if (p.home == Place::global) home_bytes = std::max(home_bytes, std::uint64_t(p.slots) * p.home_bytes());
}

std::vector<ir::Item> ModuleVariables::items() const {
  std::vector<ir::Item> out;
  if (has_dynamic) {
    ir::Variable start = array(isa::Space::shared, 1024, ScalarType::b8, variable::dynamic, std::nullopt);
    start.linkage = ir::Linkage::external;
    out.emplace_back(std::move(start));
  }
  if (slots) {
    out.emplace_back(array(isa::Space::global, 1024, ScalarType::b8, variable::memory, image_bytes));
    out.emplace_back(array(isa::Space::global, 4, ScalarType::b32, variable::taken, slots));
  }
  if (home_bytes) out.emplace_back(array(isa::Space::global, 1024, ScalarType::b8, variable::homes, home_bytes));
  return out;
}

}  // namespace kiln::lower
