#include "verifier/explore/flags.hpp"

#include <algorithm>

#include "verifier/explore/protocol.hpp"

namespace kiln::verifier::explore {
namespace {

using isa::Opcode;

constexpr std::size_t most_writes = 64;  // of one word that some thread does not know of

bool is_atomic(const ir::Operation& op) { return op.opcode == Opcode::atom || op.opcode == Opcode::red; }

order::Reach reach(const ir::Operation& op) { return order::reach_of(op.modifiers.scope); }

// A strong load of one word of what may be shared memory.
bool is_flag_read(const ir::Operation& op) {
  return op.opcode == Opcode::ld && is_shared_access(op) && order::is_strong(op) &&
         op.modifiers.vector == isa::Vector::none;
}

// What a relaxed write hands on: what a fence that releases comes after.
Clock after_fence(const Clock& known, EventSet Clock::*handed) {
  Clock out = known.relaxed(handed);
  out.fenced = known.fenced;
  out.fenced.meet(known.*handed);
  return out;
}

}  // namespace

Flags::Flags(const Program& program, Values& values)
    : program_(program), values_(values), polls_(code_.operations.size()) {
  for (std::uint32_t i = 0; i < polls_.size(); ++i) {
    if (!is_flag_read(code_.operations[i])) continue;
    polls_[i] = is_read_again(i);
    are_followed_ = are_followed_ || polls_[i] || program_.demands.matters(i);
  }
}

// A way leads from a load back to it without an operation of the protocol but fences.
bool Flags::is_read_again(std::uint32_t load) const {
  const flow::Cfg& cfg = program_.facts.cfg;
  bool found = false;
  const auto is_quiet = [&](std::uint32_t first, std::uint32_t last) {
    for (std::uint32_t i = first; i < last; ++i) {
      if (i == load) return found = true, false;
      if (is_protocol(code_.operations[i]) && !order::is_fence(code_.operations[i])) return false;
    }
    return true;
  };
  std::vector<bool> reached(cfg.blocks.size());
  std::vector<flow::BlockId> work;
  const auto go_on = [&](flow::BlockId b) {
    for (const std::uint32_t e : cfg.blocks[b].out)
      if (const flow::BlockId to = cfg.edges[e].to; !reached[to]) reached[to] = true, work.push_back(to);
  };
  const flow::BlockId home = cfg.block_of(load);
  if (is_quiet(load + 1, cfg.blocks[home].last)) go_on(home);
  while (!work.empty() && !found) {
    const flow::BlockId b = work.back();
    work.pop_back();
    if (is_quiet(cfg.blocks[b].first, cfg.blocks[b].last)) go_on(b);
  }
  return found;
}

Flag& Flags::at(Cta& cta, SharedPlace p, std::uint32_t bytes) const {
  const auto [found, is_new] = cta.flags.try_emplace(p.address);
  Flag& flag = found->second;
  if (!is_new && flag.bytes == bytes) return flag;
  flag = Flag{bytes, {FlagWrite{}}, 0, {}};
  if (const auto stored = cta.stored.find(p.address); stored != cta.stored.end())
    if (const auto word = stored->second.find(int(bytes)); word != stored->second.end())
      flag.writes.front().word = word->second;
  return flag;
}

Status Flags::read(Turn& t, SharedPlace p, std::uint32_t bytes) {
  Cta& cta = t.s.ctas[p.cta];
  if (!are_followed_ || t.predicates || !is_flag_read(t.op)) return Status::next;
  if (!polls_[t.at] && !cta.flags.contains(p.address)) return Status::next;
  Flag& flag = at(cta, p, bytes);
  std::uint64_t next = flag.first;
  for (std::uint64_t k = 1; k < flag.writes.size(); ++k)
    if (t.knows(flag.writes[k].event)) next = flag.first + k;
  if (!polls_[t.at]) {
    if (next + 1 == flag.end()) t.found = flag.writes.back().word;
    return Status::next;
  }
  std::vector<WordId> words;
  for (const ir::RegisterId r : program_.live(t.at)) words.push_back(t.f.words[program_.slot(r)]);
  Poll& poll = t.f.poll;
  const bool again = poll.at == t.at && poll.cta == p.cta && poll.address == p.address && poll.words == words;
  if (again) next = std::max(next, poll.next);
  if (next >= flag.end()) {
    t.f.wait = {Wait::Kind::flag, p.cta, p.address, flag.end(), 0};
    return Status::blocked;
  }
  flag.readers[{t.cta_index, t.warp_index}] |= t.lanes;
  poll = {t.at, p.cta, p.address, next + 1, std::move(words)};
  const FlagWrite& write = flag.writes[next - flag.first];
  t.found = write.word;
  if (write.event) t.warp.learn(t.lanes, write.event);
  const bool near = write.cta == t.cta_index;
  if (!near && reach(t.op) == order::Reach::cta) return Status::next;
  const Clock message = near ? write.near : write.wide;
  if (order::acquires(t.op.modifiers.semantics))
    t.warp.acquire(t.lanes, message);
  else
    t.warp.observe(t.lanes, message, !near);
  return Status::next;
}

// What an atomic operation or a store leaves.
std::optional<flow::TermId> Flags::word(const Turn& t, const Flag& flag, std::uint32_t bytes, int lane) {
  flow::Terms& terms = values_.symbols().terms();
  const int width = int(bytes) * 8;
  if (!is_atomic(t.op)) {
    if (program_.words(t.at).empty()) return std::nullopt;
    return values_.read(t, ops::roles<ops::MemoryAccess>(t.op).value, lane, width);
  }
  const auto old = flag.writes.back().word;
  const ir::Argument& operand = ops::roles<ops::Atomic>(t.op).b;
  if (operand.kind != ir::Argument::Kind::immediate || isa::is_floating(t.op.modifiers.type())) return std::nullopt;
  const flow::TermId number = terms.constant(std::uint64_t(operand.value), width);
  if (t.op.modifiers.combine == isa::Combine::exch) return number;
  return t.op.modifiers.combine == isa::Combine::add && old ? std::optional(terms.add(*old, number)) : std::nullopt;
}

std::optional<flow::TermId> Flags::write(const Turn& t, EventId id, SharedPlace p, std::uint32_t bytes, int lane) {
  Cta& cta = t.s.ctas[p.cta];
  if (!are_followed_ || t.predicates || t.op.modifiers.vector != isa::Vector::none)
    return cta.forget_flags(p.address, bytes), std::nullopt;
  Flag& flag = at(cta, p, bytes);
  if (flag.writes.size() == most_writes) return cta.forget_flags(p.address, bytes), std::nullopt;
  const Clock known = t.warp.released(Mask{1} << lane);
  const bool releases = order::releases(t.op.modifiers.semantics);
  FlagWrite write{id, word(t, flag, bytes, lane), t.cta_index, t.warp_index, lane};
  write.near = releases ? known : after_fence(known, &Clock::handed);
  if (reach(t.op) != order::Reach::cta) write.wide = releases ? known : after_fence(known, &Clock::handed_wide);
  // What an earlier write has handed on, an atomic operation hands on too, and a later store of its thread.
  const FlagWrite& last = flag.writes.back();
  const bool same_thread = last.cta == write.cta && last.warp == write.warp && last.lane == lane;
  if (last.event && (is_atomic(t.op) || same_thread)) {
    write.near.join(last.cta == write.cta ? last.near : last.wide);
    write.wide.join(last.wide);
  }
  flag.writes.push_back(std::move(write));
  return flag.writes.back().word;
}

void Flags::fence(const Turn& t) {
  const bool wide = reach(t.op) != order::Reach::cta;
  if (order::fence_acquires(t.op)) t.warp.acquire_fence(t.lanes, wide);
  if (order::fence_releases(t.op)) t.warp.release_fence(t.lanes, wide);
}

bool Flags::leads(std::uint32_t from, std::uint32_t to) const {
  const flow::Cfg& cfg = program_.facts.cfg;
  const flow::BlockId a = cfg.block_of(from), b = cfg.block_of(to);
  return (a == b && from < to) || cfg.reached_from(a)[b];
}

// A relaxed operation releases or acquires by a fence before or after it: that is where it stands.
void Flags::find_points() {
  has_points_ = true;
  std::vector<std::uint32_t> fences;
  for (std::uint32_t i = 0; i < code_.operations.size(); ++i)
    if (order::is_fence(code_.operations[i])) fences.push_back(i);
  for (std::uint32_t i = 0; i < code_.operations.size(); ++i) {
    const ir::Operation& op = code_.operations[i];
    const bool is_store = op.opcode == Opcode::st || is_atomic(op), is_load = op.opcode == Opcode::ld || is_atomic(op);
    if (!(is_store || is_load) || !order::is_strong(op) || isa::is_shared(op.modifiers.space())) continue;
    if (is_store && order::releases(op.modifiers.semantics)) releases_.push_back({i, reach(op)});
    if (is_load && op.opcode != Opcode::red && order::acquires(op.modifiers.semantics))
      acquires_.push_back({i, reach(op)});
    for (const std::uint32_t f : fences) {
      const order::Reach both = std::min(reach(op), reach(code_.operations[f]));
      if (is_store && order::fence_releases(code_.operations[f]) && leads(f, i)) releases_.push_back({f, both});
      if (is_load && order::fence_acquires(code_.operations[f]) && leads(i, f)) acquires_.push_back({f, both});
    }
  }
}

bool Flags::may_order_globally(const ir::Operation& a, const ir::Operation& b, bool same_cta) {
  if (!has_points_) find_points();
  const auto counts = [&](const Point& p) { return same_cta || p.reach != order::Reach::cta; };
  const auto may_follow = [&](std::uint32_t first, std::uint32_t second) {
    return std::any_of(releases_.begin(), releases_.end(),
                       [&](const Point& p) { return counts(p) && leads(first, p.at); }) &&
           std::any_of(acquires_.begin(), acquires_.end(),
                       [&](const Point& p) { return counts(p) && leads(p.at, second); });
  };
  return may_follow(code_.index(a), code_.index(b)) || may_follow(code_.index(b), code_.index(a));
}

}  // namespace kiln::verifier::explore
