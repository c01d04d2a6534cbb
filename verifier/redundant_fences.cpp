#include "verifier/lints.hpp"

#include <algorithm>
#include <chrono>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "ptx/isa/proxy_fence.hpp"
#include "ptx/rules/order.hpp"
#include "verifier/explore.hpp"
#include "verifier/facts.hpp"
#include "verifier/finding.hpp"
#include "verifier/verify.hpp"
#include "verifier/work_clock.hpp"

namespace kiln::verifier {
namespace {

using isa::Opcode;

// Order of accesses to shared and tensor memory is what is explored; that of global memory is not.
bool is_explored_fence(const ir::Operation& op) {
  switch (op.opcode) {
    case Opcode::tcgen05_fence_before:
    case Opcode::tcgen05_fence_after:
    case Opcode::fence_mbarrier_init: return true;
    case Opcode::fence_proxy: {
      const isa::AsyncFence fence = isa::async_fence(op.modifiers);
      return fence.shared && !fence.global;
    }
    default: return false;
  }
}

using Places = std::set<std::uint32_t>;  // where instructions begin in the text

void remove(std::vector<ir::Statement>& statements, const Places& places) {
  std::erase_if(statements, [&](const ir::Statement& s) {
    const auto* instruction = std::get_if<ir::Instruction>(&s.node);
    return instruction && places.contains(instruction->at.begin);
  });
  for (ir::Statement& s : statements)
    if (auto* block = std::get_if<ir::Block>(&s.node)) remove(block->statements, places);
}

ir::Module without(ir::Module module, const Places& places) {
  for (ir::Item& item : module.items)
    if (auto* f = std::get_if<ir::Function>(&item); f && f->body) remove(f->body->statements, places);
  return module;
}

// Fences do not mend what the order of issue leaves open.
bool may_be_mended(const diag::Diagnostic& d) {
  return d.severity != diag::Severity::note && d.slug != rules::info(rules::Rule::tcgen05_pipeline).slug;
}

// The DSL writes fences by itself: its variables bear names of its own.
bool is_written_by_dsl(const ir::Module& module) {
  return std::any_of(module.items.begin(), module.items.end(), [](const ir::Item& item) {
    const auto* v = std::get_if<ir::Variable>(&item);
    return v && v->name.starts_with("kiln_");
  });
}

struct Fence {
  Opcode opcode{};
  std::uint32_t begin = 0;  // in the text
  std::uint32_t warps = 0;  // that execute it
  diag::Where where{};
  std::string name{};
};

// The fences of the kernels of a module, which are judged: of the DSL those that stand in lines of the user's. And which
// warps execute an instruction.
class Fences {
 public:
  Fences(const ir::Module& module, const LaunchFacts& facts)
      : lines_(facts.fences), all_count_(!is_written_by_dsl(module)) {
    for (const ir::Item& item : module.items)
      if (const auto* f = std::get_if<ir::Function>(&item); f && f->body && f->entry) add(module, *f);
  }

  const std::vector<Fence>& all() const { return all_; }

  /// Adds fences that may put in order what a finding says is not: of the kinds that its rule asks for, the nearest one
  /// after the earlier access by warps that execute it; if that is there already, the nearest one before the later
  /// access. Tensor memory needs both.
  void note_menders(const diag::Diagnostic& d, Places& out) const {
    const auto other = std::find_if(d.notes.begin(), d.notes.end(),
                                    [](const diag::Note& n) { return n.where.source && !n.where.place.empty(); });
    const auto rule = rules::find_rule(d.slug);
    for (const Opcode kind : kinds) {
      if (!rule || !may_mend(kind, *rule)) continue;
      const std::size_t before = out.size();
      if (other != d.notes.end()) note_nearest(kind, other->where.place.begin, true, out);
      if (out.size() == before || kind == Opcode::tcgen05_fence_after)
        note_nearest(kind, d.where.place.begin, false, out);
    }
  }

 private:
  void add(const ir::Module& module, const ir::Function& f) {
    const Facts facts(module, f, said_);
    for (std::uint32_t i = 0; i < facts.code.operations.size(); ++i) {
      const ir::Operation& op = facts.code.operations[i];
      warps_[op.instruction->at.begin] = facts.uniformity.warps_at(i);
      if (is_explored_fence(op) && (all_count_ || stands_in_line(facts.code.where(op))))
        all_.push_back({op.opcode, op.instruction->at.begin, facts.uniformity.warps_at(i),
                        facts.code.where(op), ir::mnemonic(*op.instruction)});
    }
  }
  static constexpr Opcode kinds[] = {Opcode::fence_proxy, Opcode::fence_mbarrier_init, Opcode::tcgen05_fence_before,
                                     Opcode::tcgen05_fence_after};

  static bool may_mend(Opcode kind, rules::Rule rule) {
    switch (rule) {
      case rules::Rule::proxy_fence:
      case rules::Rule::proxy_fence_read: return kind == Opcode::fence_proxy;
      case rules::Rule::mbarrier_init_fence:
      case rules::Rule::mbarrier_init_order: return kind == Opcode::fence_mbarrier_init;
      case rules::Rule::tcgen05_fence:
      case rules::Rule::fence_after: return kind == Opcode::tcgen05_fence_before || kind == Opcode::tcgen05_fence_after;
      default: return true;
    }
  }

  // The fence of a kind nearest to a place on one side of it.
  void note_nearest(Opcode kind, std::uint32_t place, bool after, Places& out) const {
    const auto at = warps_.upper_bound(place);
    const std::uint32_t warps = at == warps_.begin() ? 0 : std::prev(at)->second;
    std::optional<std::uint32_t> nearest;
    for (const Fence& f : all_) {
      if (f.opcode != kind || (f.begin > place) != after || !(f.warps & warps)) continue;
      if (!nearest || !after) nearest = f.begin;  // they stand in the order of the text
    }
    if (nearest) out.insert(*nearest);
  }

  bool stands_in_line(const diag::Where& where) const { return lines_.contains({where.file, where.line}); }

  diag::Sink said_;  // what decoding says was said before
  const std::set<std::pair<std::string, unsigned>>& lines_;
  bool all_count_;
  std::vector<Fence> all_{};
  std::map<std::uint32_t, std::uint32_t> warps_{};  // by place
};

// Finds fences that are not needed: leaves all out, keeps what may mend what is found then, and looks again.
class Redundancy {
 public:
  Redundancy(const ir::Module& module, const diag::Sink& known, const launch::Contract* launch,
             const LaunchFacts& facts, std::chrono::milliseconds time)
      : module_(module), launch_(launch), facts_(facts), time_(time), fences_(module, facts) {
    for (const diag::Diagnostic& d : known.all()) known_.emplace(d.slug, d.where.place.begin);
  }

  /// Those without which, all together, nothing more is found.
  std::vector<const Fence*> redundant() const {
    Places kept;
    for (int round = 0; round < most_rounds; ++round) {
      const Places left_out = others(kept);
      if (left_out.empty() || left() <= std::chrono::milliseconds::zero()) return {};
      const std::vector<diag::Diagnostic> more = found_without(left_out);
      if (more.empty()) return named(left_out);
      const std::size_t before = kept.size();
      for (const diag::Diagnostic& d : more) fences_.note_menders(d, kept);
      if (kept.size() == before) return {};
    }
    return {};
  }

 private:
  static constexpr int most_rounds = 4;

  std::chrono::milliseconds left() const {
    using std::chrono::milliseconds;
    return time_ == no_limit ? time_ : time_ - std::chrono::duration_cast<milliseconds>(WorkClock::now() - start_);
  }
  Places others(const Places& kept) const {
    Places out;
    for (const Fence& f : fences_.all())
      if (!kept.contains(f.begin)) out.insert(f.begin);
    return out;
  }
  std::vector<const Fence*> named(const Places& places) const {
    std::vector<const Fence*> out;
    for (const Fence& f : fences_.all())
      if (places.contains(f.begin)) out.push_back(&f);
    return out;
  }
  // What is found without some fences and not with them, or is not done in time.
  std::vector<diag::Diagnostic> found_without(const Places& places) const {
    const ir::Module less = without(module_, places);
    diag::Sink sink;
    check(less, sink, rules::Profile::isa, facts_);
    if (!sink.has_errors()) find_unordered(less, sink, launch_, facts_, left());
    std::vector<diag::Diagnostic> out;
    for (const diag::Diagnostic& d : sink.all())
      if (!known_.contains({d.slug, d.where.place.begin})) out.push_back(d);
    return out;
  }

  const ir::Module& module_;
  const launch::Contract* launch_;
  const LaunchFacts& facts_;
  std::chrono::milliseconds time_;
  WorkClock::time_point start_ = WorkClock::now();
  Fences fences_;
  std::set<std::pair<std::string, std::uint32_t>> known_{};  // by rule and place
};

}  // namespace

void check_redundant_fences(const ir::Module& module, diag::Sink& sink, const launch::Contract* launch,
                            const LaunchFacts& facts, std::chrono::milliseconds time) {
  if (sink.incomplete()) return;
  if (std::any_of(sink.all().begin(), sink.all().end(), may_be_mended)) return;
  const Redundancy redundancy(module, sink, launch, facts, time);
  for (const Fence* fence : redundancy.redundant())
    broken(sink, rules::fence_needed(false), fence->where,
           fence->name + (launch ? ", without which this launch is in order" : ""));
  sink.sort();
}

}  // namespace kiln::verifier
