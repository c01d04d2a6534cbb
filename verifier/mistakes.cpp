#include "verifier/mistakes.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "ptx/ops/operations.hpp"
#include "ptx/order/access.hpp"
#include "ptx/rules/catalogue.hpp"
#include "verifier/barrier_object.hpp"
#include "verifier/facts.hpp"
#include "verifier/finding.hpp"

namespace kiln::verifier {
namespace {

using isa::Opcode;
using rules::Rule;

// What a rule about order says of its two operations.
enum class Claim : std::uint8_t {
  edge,    // neither is ordered before the other
  exit,    // the end of the operation is not known at the exit of a CTA
  count,   // an arrival or bytes may count for the wrong phase, because the end of a phase is not known
  fence,   // they are ordered, and a fence is missing
  access,  // a use of something that must have been made known
  value,   // something depends on memory that was read before it was written
  other,
};

Claim claim_of(std::string_view slug) {
  const auto rule = rules::find_rule(slug);
  if (!rule) return Claim::other;
  switch (*rule) {
    case Rule::race:
    case Rule::race_async:
    case Rule::race_tmem: return Claim::edge;
    case Rule::cta_exit:
    case Rule::cta_exit_copy:
    case Rule::cta_exit_arrival: return Claim::exit;
    case Rule::mbarrier_arrivals:
    case Rule::mbarrier_lapped:
    case Rule::mbarrier_bytes: return Claim::count;
    case Rule::mbarrier_init_order: return Claim::access;
    case Rule::memory_uninitialised: return Claim::value;
    case Rule::proxy_fence:
    case Rule::proxy_fence_read:
    case Rule::mbarrier_init_fence:
    case Rule::tcgen05_fence: return Claim::fence;
    default: return Claim::other;
  }
}

// Waits at which a thread learns what others have done.
bool takes_in(const ir::Operation& op) {
  return (isa::unit(op.opcode) == isa::Unit::barrier && !order::arrives_alone(op.opcode) &&
          op.opcode != Opcode::barrier_cluster_arrive) ||
         waits(op);
}

// What a thread does before it, others may learn of by it alone. An arrival that announces bytes belongs to the copies
// that bring them.
bool hands_on(const ir::Operation& op) {
  if (isa::unit(op.opcode) == isa::Unit::barrier && op.opcode != Opcode::barrier_cluster_wait) return true;
  if (op.opcode == Opcode::mbarrier_arrive || op.opcode == Opcode::mbarrier_arrive_drop) return !expects_bytes(op);
  return isa::unit(op.opcode) == isa::Unit::tcgen05 && op.opcode == Opcode::tcgen05_commit;
}

// Operations of which one edge tells: a stretch of the text without synchronisation, those with one completion.
using Stretch = std::tuple<std::size_t, std::uint32_t, std::string>;

// An operation of the module.
struct Site {
  std::size_t function = 0;
  std::uint32_t operation = 0, warps = 0;
  Stretch stretch{};
  std::pair<int, int> line{};  // of the program: file and line, if that is known
};

// The operations of a module by their places in its text.
class Sites {
 public:
  explicit Sites(const ir::Module& module) {
    for (const ir::Item& item : module.items) {
      const auto* f = std::get_if<ir::Function>(&item);
      if (f && f->body) add(module, *f);
    }
  }

  std::optional<Site> find(const diag::Place& place) const {
    auto it = by_place_.upper_bound(place.begin);
    if (place.empty() || it == by_place_.begin()) return std::nullopt;
    const Site& s = (--it)->second;
    const ir::Operation& op = functions_[s.function]->code.operations[s.operation];
    return op.instruction->at.end < place.end ? std::nullopt : std::optional(s);
  }

 private:
  // The mbarrier whose phase counts an operation's bytes, as the text names it.
  static std::string completion(const ir::Module& module, const ir::Operation& op) {
    if (op.modifiers.completion != isa::Completion::mbarrier && !expects_bytes(op)) return {};
    const ir::Argument* barrier = barrier_operand(op);
    if (!module.source || !barrier || !barrier->operand) return {};
    return std::string(module.source->text(barrier->operand->at));
  }

  static std::pair<int, int> line(const ir::Operation& op) {
    return op.loc ? std::pair(op.loc->file, op.loc->line) : std::pair(0, 0);
  }

  void add(const ir::Module& module, const ir::Function& f) {
    const std::size_t number = functions_.size();
    functions_.push_back(std::make_unique<Facts>(module, f, said_));
    const Facts& facts = *functions_.back();
    std::uint32_t stretch = 0;
    for (std::uint32_t i = 0; i < facts.code.operations.size(); ++i) {
      const ir::Operation& op = facts.code.operations[i];
      if (!op.instruction->at.empty())
        by_place_[op.instruction->at.begin] = {
            number, i, facts.uniformity.warps_at(i), {number, stretch, completion(module, op)}, line(op)};
      stretch += takes_in(op) || hands_on(op);
    }
  }

  diag::Sink said_;  // what decoding says was said before
  std::vector<std::unique_ptr<Facts>> functions_{};
  std::map<std::uint32_t, Site> by_place_{};
};

// A finding about order, with its two operations.
struct Finding {
  std::size_t index = 0;  // in the sink
  Claim claim = Claim::other;
  Site at{};                    // where it is reported
  std::optional<Site> other{};  // the other operation
};

// What would put operations in order: their stretch is known before an operation, and before what the same warps
// execute after it.
struct Edge {
  Site from{}, to{};
};

bool is_same(const Site& a, const Site& b) { return a.function == b.function && a.operation == b.operation; }
bool is_after(const Site& a, const Site& b) { return a.function == b.function && a.operation >= b.operation; }

bool leads(const Edge& e, const Site& from, const Site& to) {
  return from.stretch == e.from.stretch && (to.warps & ~e.to.warps) == 0 && is_after(to, e.to);
}

class Mistakes {
 public:
  Mistakes(const ir::Module& module, const diag::Sink& sink) : sites_(module), all_(sink.all()) {
    for (std::size_t k = 0; k < all_.size(); ++k) {
      const Claim claim = claim_of(all_[k].slug);
      const auto at =
          claim == Claim::other || !all_[k].fixits.empty() ? std::nullopt : sites_.find(all_[k].where.place);
      // A wrong number of arrivals is a mistake of its own.
      const bool is_number = claim == Claim::count && all_[k].slug != rules::info(Rule::mbarrier_lapped).slug &&
                             all_[k].message.find(too_early) == std::string::npos;
      if (!at || is_number) continue;
      Finding f{k, claim, *at, {}};
      for (const diag::Note& n : all_[k].notes)
        if (!f.other && n.where.source == all_[k].where.source) f.other = sites_.find(n.where.place);
      if (claim == Claim::value && !f.other) f.other = f.at;  // read where it is used
      findings_.push_back(std::move(f));
    }
  }

  diag::Sink gathered() {
    std::map<std::size_t, std::vector<std::size_t>> groups;  // by head, as indices into the sink
    std::set<std::size_t> covered, turned;
    while (true) {
      const Explanation best = largest();
      if (best.all.size() < 2) break;
      const Finding* straight = best.is_turned ? straight_one(best) : nullptr;
      const std::size_t head = (straight ? straight : best.first)->index;
      for (const Finding* f : best.all)
        if (f->index != head) groups[head].push_back(f->index), covered.insert(f->index);
      if (best.is_turned && !straight) turned.insert(head);
      std::erase_if(findings_, [&, all = indices(best.all)](const Finding& f) { return all.contains(f.index); });
    }
    diag::Sink out;
    for (std::size_t k = 0; k < all_.size(); ++k) {
      if (covered.contains(k)) continue;
      diag::Diagnostic& d = out.report(all_[k]);
      if (turned.contains(k)) turn(d);
      if (const auto group = groups.find(k); group != groups.end()) add_places(d, group->second);
    }
    return out;
  }

 private:
  static std::set<std::size_t> indices(const std::vector<const Finding*>& all) {
    std::set<std::size_t> out;
    for (const Finding* f : all) out.insert(f->index);
    return out;
  }
  const diag::Diagnostic& said(const Finding& f) const { return all_[f.index]; }

  bool explains(const Finding& first, const Edge& e, const Finding& f) const {
    if (said(f).severity < said(first).severity) return false;
    if (&f == &first) return true;
    const bool same_rule = said(f).slug == said(first).slug;
    const auto is_from = [&](const Site& s) { return s.stretch == e.from.stretch; };
    switch (f.claim) {
      case Claim::edge:
        return first.claim != Claim::fence && f.other && (leads(e, *f.other, f.at) || leads(e, f.at, *f.other));
      case Claim::exit:
        return first.claim == Claim::exit ? same_rule && is_from(f.at) : first.claim == Claim::edge && is_from(f.at);
      case Claim::count: return first.claim == Claim::edge && (is_from(f.at) || (f.other && is_from(*f.other)));
      case Claim::access: return f.other && is_from(*f.other) && (same_rule || leads(e, *f.other, f.at));
      case Claim::fence:
        return same_rule && f.other && is_from(*f.other) &&
               (f.at.stretch == e.to.stretch || rules::find_rule(said(f).slug) == Rule::mbarrier_init_fence);
      case Claim::value:
      case Claim::other: break;
    }
    return false;
  }

  // A value that was read too early is wrong because of the race of this read, if the edge leads to the read.
  static bool is_read_of(const Finding& value, const Finding& race, const Edge& e) {
    if (race.claim != Claim::edge || !race.other) return false;
    const auto reads = [&](const Site& read, const Site& write) {
      return is_same(*value.other, read) && leads(e, write, read);
    };
    return reads(race.at, *race.other) || reads(*race.other, race.at);
  }

  std::vector<const Finding*> explained(const Finding& first, const Edge& e) const {
    std::vector<const Finding*> out;
    for (const Finding& f : findings_)
      if (explains(first, e, f)) out.push_back(&f);
    const std::size_t races = out.size();
    for (const Finding& f : findings_)
      if (f.claim == Claim::value && std::any_of(out.begin(), out.begin() + std::ptrdiff_t(races),
                                                 [&](const Finding* race) { return is_read_of(f, *race, e); }))
        out.push_back(&f);
    return out;
  }

  // The findings that one edge explains.
  struct Explanation {
    const Finding* first = nullptr;  // from which the edge was made
    bool is_turned = false;          // the edge leads from where that is reported to its other operation
    Edge edge{};
    std::vector<const Finding*> all{};
  };

  Explanation largest() const {
    Explanation best;
    const auto take = [&](const Finding& f, bool is_turned, const Edge& e) {
      std::vector<const Finding*> some = explained(f, e);
      if (some.size() > best.all.size()) best = {&f, is_turned, e, std::move(some)};
    };
    for (const Finding& f : findings_) {
      if (f.claim == Claim::exit) take(f, false, {f.at, f.at});
      if (f.claim == Claim::exit || f.claim == Claim::count || f.claim == Claim::value || !f.other) continue;
      take(f, false, {*f.other, f.at});
      if (f.claim == Claim::edge) take(f, true, {f.at, *f.other});
    }
    return best;
  }

  // Of findings of the first one's rule that are as bad, one that is reported where the edge leads to, or later in that
  // line of the program; null when there is none.
  const Finding* straight_one(const Explanation& x) const {
    const auto is_straight = [&](const Finding* f) {
      const Site& to = x.edge.to;
      const bool is_there = f->at.stretch == to.stretch || (to.line.second != 0 && f->at.line == to.line);
      return f->claim == Claim::edge && f->other && is_there && leads(x.edge, *f->other, f->at) &&
             said(*f).slug == said(*x.first).slug && said(*f).severity == said(*x.first).severity;
    };
    const auto found = std::find_if(x.all.begin(), x.all.end(), is_straight);
    return found == x.all.end() ? nullptr : *found;
  }

  // Two accesses are reported at the one that should have waited.
  static void turn(diag::Diagnostic& d) {
    for (diag::Note& n : d.notes)
      if (n.message == other_access) return std::swap(n.where, d.where);
  }

  // The lines of findings, as the user wrote them where that is known.
  std::string lines(const std::vector<std::size_t>& some) const {
    constexpr std::size_t most = 8;
    std::vector<std::string> out;
    for (const std::size_t k : some) {
      std::string line = line_of(all_[k].where);
      if (std::find(out.begin(), out.end(), line) == out.end()) out.push_back(std::move(line));
    }
    const std::size_t shown = std::min(most, out.size());
    const std::string more = out.size() > shown ? fmt::format(" and {} more", out.size() - shown) : "";
    out.resize(shown);
    return fmt::format("{}{}", fmt::join(out, ", "), more);
  }

  void add_places(diag::Diagnostic& head, const std::vector<std::size_t>& others) const {
    std::map<std::string, std::vector<std::size_t>> by_rule;
    for (const std::size_t k : others) by_rule[all_[k].slug].push_back(k);
    if (const auto same = by_rule.find(head.slug); same != by_rule.end())
      head.notes.push_back({fmt::format("the same mistake shows at {} more place{}: {}", same->second.size(),
                                        same->second.size() == 1 ? "" : "s", lines(same->second)),
                            {}});
    for (const auto& [slug, some] : by_rule)
      if (slug != head.slug) head.notes.push_back({fmt::format("[{}] follows from it: {}", slug, lines(some)), {}});
  }

  Sites sites_;
  const std::vector<diag::Diagnostic>& all_;
  std::vector<Finding> findings_{};
};

// One line of a program that becomes several instructions, as a loop of the host does: one report of a rule, with all
// repairs. The line of a function that was inlined does not tell which call it is of.
void merge_lines(const ir::Module& module, diag::Sink& sink) {
  if (module.source && module.source->text().find("inlined_at") != std::string_view::npos) return;
  using Line = std::tuple<diag::Severity, std::string, std::string, unsigned>;
  const auto other_line = [](const diag::Diagnostic& d) {
    const auto note =
        std::find_if(d.notes.begin(), d.notes.end(), [](const diag::Note& n) { return n.where.line != 0; });
    return note == d.notes.end() ? 0 : note->where.line;
  };
  std::vector<diag::Diagnostic> out;
  std::map<std::tuple<Line, unsigned>, std::pair<std::size_t, std::vector<int>>> by_line;
  for (const diag::Diagnostic& d : sink.all()) {
    const bool is_mergeable = d.where.line && d.where.source && !d.slug.empty();
    const Line line{d.severity, d.slug, d.where.file, d.where.line};
    auto [found, is_new] = by_line.try_emplace({line, other_line(d)}, std::pair(out.size(), std::vector<int>{}));
    if (!is_mergeable || is_new) {
      out.push_back(d);
      continue;
    }
    auto& [head, places] = found->second;
    places.push_back(d.where.source->position(d.where.place.begin).line);
    out[head].fixits.insert(out[head].fixits.end(), d.fixits.begin(), d.fixits.end());
  }
  for (const auto& [line, group] : by_line) {
    const auto& [head, places] = group;
    const char* plural = places.size() == 1 ? "" : "s";
    if (!places.empty())
      out[head].notes.push_back({fmt::format("the same line of the program, at {} more place{} of the PTX: line{} {}",
                                             places.size(), plural, plural, fmt::join(places, ", ")),
                                 {}});
  }
  sink = diag::Sink{};
  for (diag::Diagnostic& d : out) sink.report(std::move(d));
}

}  // namespace

void gather_mistakes(const ir::Module& module, diag::Sink& sink) {
  const auto about_order = std::count_if(sink.all().begin(), sink.all().end(),
                                         [](const diag::Diagnostic& d) { return claim_of(d.slug) != Claim::other; });
  if (about_order > 1) sink = Mistakes(module, sink).gathered();
  merge_lines(module, sink);
  sink.sort();
}

}  // namespace kiln::verifier
