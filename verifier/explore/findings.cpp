#include "verifier/explore/findings.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <random>
#include <utility>

#include "ptx/rules/catalogue.hpp"
#include "verifier/finding.hpp"

namespace kiln::verifier::explore {

using flow::TermId;

namespace {

constexpr int most_shift = 12, most_tries = 24, most_rounds = 4;
constexpr std::size_t most_candidates = 900;
constexpr std::uint64_t most_number = 1 << 16;
// An example must not use larger numbers: they are sizes that have overflowed.
constexpr std::uint64_t largest = std::uint64_t{1} << 30;

// What is assumed of words that have leaves in common.
struct Problem {
  std::set<TermId> leaves{};
  std::vector<std::pair<TermId, const Domain*>> words{};
  std::vector<std::pair<TermId, bool>> predicates{};

  void join(Problem& o) {
    leaves.insert(o.leaves.begin(), o.leaves.end());
    words.insert(words.end(), o.words.begin(), o.words.end());
    predicates.insert(predicates.end(), o.predicates.begin(), o.predicates.end());
  }
  bool shares(const Problem& o) const {
    return std::any_of(leaves.begin(), leaves.end(), [&](TermId t) { return o.leaves.contains(t); });
  }
};

class ExampleSearch {
 public:
  ExampleSearch(flow::Terms& terms, flow::Evaluator& evaluator, const Budget& budget)
      : terms_(terms), evaluator_(evaluator), budget_(budget) {}

  std::vector<Problem> problems(const Assumed& s) const {
    std::vector<Problem> out;
    const auto add = [&](Problem p) {
      for (std::size_t k = 0; k < out.size();) {
        if (!out[k].shares(p)) {
          ++k;
          continue;
        }
        p.join(out[k]);
        out.erase(out.begin() + std::ptrdiff_t(k));
      }
      out.push_back(std::move(p));
    };
    for (const auto& [word, domain] : s.domains) {
      Problem p;
      p.leaves = leaves(word);
      p.words.push_back({word, &domain});
      add(std::move(p));
    }
    for (const auto& [predicate, holds] : s.decided) {
      Problem p;
      p.leaves = leaves(predicate);
      p.predicates.push_back({predicate, holds});
      add(std::move(p));
    }
    return out;
  }
  // Tries such numbers for one leaf after the other, and keeps those that leave the fewest assumptions unfulfilled.
  bool solve(const Problem& problem, Example& example) {
    const auto unfulfilled = [&](const Example& e) {
      std::size_t n = 0;
      for (const auto& [word, domain] : problem.words) {
        const auto v = terms_.value(evaluator_.with(word, e));
        n += !v || !domain->has(*v);
      }
      for (const auto& [predicate, holds] : problem.predicates) {
        const auto v = terms_.value(evaluator_.with(predicate, e));
        n += !v || (*v != 0) != holds;
      }
      return n;
    };
    const std::set<std::uint64_t> numbers = candidates(problem);
    std::mt19937_64 random(1);
    const std::vector<std::uint64_t> pool(numbers.begin(), numbers.end());
    for (int attempt = 0; attempt < most_tries && !budget_.is_over(); ++attempt) {
      Example e;
      for (const TermId leaf : problem.leaves)
        e[leaf] = attempt == 0 ? 1 : pool[random() % pool.size()] & flow::low_mask(terms_.width(leaf));
      std::size_t left = unfulfilled(e);
      for (int round = 0; round < most_rounds && left; ++round)
        for (const TermId leaf : problem.leaves)
          for (const std::uint64_t v : pool) {
            if (!left || budget_.is_over()) break;
            const std::uint64_t old = std::exchange(e[leaf], v & flow::low_mask(terms_.width(leaf)));
            const std::size_t now = unfulfilled(e);
            now <= left ? void(left = now) : void(e[leaf] = old);
          }
      if (left) continue;
      example.insert(e.begin(), e.end());
      return true;
    }
    return false;
  }

 private:
  std::set<TermId> leaves(TermId t) const {
    std::set<TermId> out;
    for (const TermId piece : evaluator_.pieces(t))
      if (evaluator_.is_leaf(piece)) out.insert(piece);
    return out;
  }
  // Numbers that a word is computed with: factors, divisors and addends.
  void add_numbers(TermId t, std::set<std::uint64_t>& out) const {
    const flow::Terms::Sum& sum = terms_.sum(t);
    const auto add = [&](std::uint64_t v) {
      if (v > 1 && v < most_number) out.insert(v);
    };
    add(sum.number);
    for (const flow::Terms::Part& p : sum.parts) {
      add(p.factor);
      for (const TermId o : terms_.atom_of(p.atom)->operands) add_numbers(o, out);
    }
  }
  // Numbers to try: the ends of what is assumed of words, undone by the numbers that the words are computed with.
  std::set<std::uint64_t> candidates(const Problem& problem) const {
    std::set<std::uint64_t> ends, numbers_used, out{0, 1, 2, 3};
    const auto add = [&](std::uint64_t v) {
      if (v <= largest && out.size() < most_candidates) out.insert(v);
    };
    for (const auto& [word, domain] : problem.words) {
      add_numbers(word, numbers_used);
      for (const Span& p : domain->parts()) ends.insert(p.first), ends.insert(p.last);
    }
    for (const std::uint64_t end : ends)
      for (int shift = 0; shift <= most_shift; ++shift)
        add((end << shift) - 1), add(end << shift), add((end << shift) + 1);
    for (int shift = 2; shift <= most_shift; ++shift) out.insert(std::uint64_t{1} << shift);
    const std::vector<std::uint64_t> plain(out.begin(), out.end());
    for (const std::uint64_t n : numbers_used) {
      for (const std::uint64_t end : ends)
        if (end <= largest) add(end * n);
      for (const std::uint64_t v : plain) add(v - n);
    }
    return out;
  }

  flow::Terms& terms_;
  flow::Evaluator& evaluator_;
  const Budget& budget_;
};

// Numbers for which all that is assumed holds; nothing when none were found, which does not say that there are none.
std::optional<Example> find_example(const Assumed& s, flow::Terms& terms, flow::Evaluator& evaluator,
                                    const Budget& budget) {
  Example out;
  ExampleSearch search(terms, evaluator, budget);
  for (const Problem& p : search.problems(s)) {
    // If only one thing is assumed of a leaf, any number that it allows will do.
    if (p.predicates.empty() && p.words.size() == 1 && p.leaves.size() == 1 && *p.leaves.begin() == p.words[0].first) {
      if (p.words[0].second->empty() || p.words[0].second->parts().front().first > largest) return std::nullopt;
      out[p.words[0].first] = p.words[0].second->parts().front().first;
      continue;
    }
    if (!search.solve(p, out)) return std::nullopt;
  }
  return out;
}

constexpr std::string_view parameter_name = "parameter(&", cluster_place_name = "clusterid.";

bool is_zero_or_less(const Domain& d) {
  const std::uint64_t least_signed = std::uint64_t{1} << (d.width() - 1);
  return !d.empty() && std::all_of(d.parts().begin(), d.parts().end(),
                                   [&](const Span& p) { return p.last == 0 || p.first >= least_signed; });
}

bool is_error(const rules::Verdict& v) { return rules::info(v.rule).severity == diag::Severity::error; }

}  // namespace

bool Findings::any_error() const {
  return std::any_of(breaches_.begin(), breaches_.end(), [](const Breach& b) { return is_error(b.verdict); });
}

std::vector<Premise> Findings::grid_premises(const State& s, Example& example) {
  constexpr std::uint64_t last_shown = 1;  // place of a cluster along an axis
  Assumed few = s.path;
  std::uint64_t ctas = program_.ctas;
  bool is_larger = false;
  for (const auto& [leaf, place] : example) {
    if (!symbols_.evaluator().text(leaf).starts_with(cluster_place_name)) continue;
    ctas *= place + 1;
    few.domains.try_emplace(leaf, Domain(symbols_.terms().width(leaf))).first->second.keep(Span{0, last_shown});
    if (place > last_shown) is_larger = true;
  }
  if (program_.shape.grid[0] || !is_larger) return {};
  if (auto shown = find_example(few, symbols_.terms(), symbols_.evaluator(), budget_))
    return example = std::move(*shown), std::vector<Premise>{};
  return {{Premise::Fact::grid, std::uint32_t(ctas), {}}};
}

void Findings::add(Breach b, bool may) {
  if (!b.verdict.broken()) return;
  const auto reported = reported_.find({b.operation, b.verdict.rule});
  const bool is_new = reported == reported_.end();
  const auto is_settled = [](const Breach& x) { return x.is_certain && x.least_words.empty() && x.premises.empty(); };
  if (!is_new && is_settled(breaches_[reported->second])) return;
  if (state_) b.least_words = least_words(*state_);
  if (!is_new && (may || !b.least_words.empty())) return;
  const bool is_wrong = is_error(b.verdict);
  if (may && is_wrong) throw Unfollowed{"whether an access happens that would break a rule", b.operation};
  std::optional<Example> found;
  if (state_ && !state_->is_merged && !may)
    found = example(*state_, is_wrong ? failed_searches_ : failed_searches_for_kept_);
  if (!found && !is_new) return;
  if (!found && is_wrong)
    throw Unfollowed{state_ ? doubt(*state_, "a broken rule") : "whether an access happens that would break a rule",
                     b.operation, true};
  b.is_certain = found.has_value();
  if (found) {
    for (Premise& p : grid_premises(*state_, *found)) b.premises.push_back(std::move(p));
    b.example = text(*found);
  }
  if (!is_new) {
    if (is_settled(b)) breaches_[reported->second] = std::move(b);
    return;
  }
  reported_.emplace(std::pair(b.operation, b.verdict.rule), breaches_.size());
  breaches_.push_back(std::move(b));
}

bool Findings::is_new_error(const rules::Verdict& v, const ir::Operation& op) const {
  return v.broken() && is_error(v) && !reported_.contains({&op, v.rule});
}

std::vector<TermId> Findings::least_words(const State& s) const {
  // Sizes are parameters; how many steps are left for a CTA depends on where it is, too.
  const auto is_of_parameters = [&](TermId word) {
    const std::set<TermId>& pieces = symbols_.evaluator().pieces(word);
    bool any = false;
    return std::all_of(pieces.begin(), pieces.end(),
                       [&](TermId piece) {
                         if (!symbols_.evaluator().is_leaf(piece)) return true;
                         const std::string name = symbols_.evaluator().text(piece);
                         any |= name.starts_with(parameter_name);
                         return name.starts_with(parameter_name) || name.starts_with(cluster_place_name);
                       }) &&
           any;
  };
  std::vector<TermId> out;
  for (const auto& [word, domain] : s.path.domains)
    if (is_zero_or_less(domain) && is_of_parameters(word)) out.push_back(word);
  return out;
}

std::optional<Example> Findings::example(const State& s, int& failed_searches) {
  if (s.guessed || s.contradicts || failed_searches == most_failed_searches) return std::nullopt;
  auto found = find_example(s.path, symbols_.terms(), symbols_.evaluator(), budget_);
  failed_searches += !found;
  return found;
}

std::string Findings::doubt(const State& s, std::string_view what) const {
  constexpr std::size_t most_lines = 3;
  std::set<const ir::Operation*> loads;  // as the text has them
  const auto add = [&](TermId word) {
    for (const TermId piece : symbols_.evaluator().pieces(word))
      if (const ir::Operation* load = symbols_.load_of(piece)) loads.insert(load);
  };
  for (const auto& [word, domain] : s.path.domains) add(word);
  for (const auto& [predicate, holds] : s.path.decided) add(predicate);
  std::vector<std::string> lines;
  for (const ir::Operation* load : loads) {
    std::string line = line_of(program_.code.where(*load));
    if (std::find(lines.begin(), lines.end(), line) == lines.end()) lines.push_back(std::move(line));
  }
  if (lines.empty()) return fmt::format("whether all that is assumed on the way to {} can hold", what);
  const std::size_t more = lines.size() - std::min(lines.size(), most_lines);
  lines.resize(lines.size() - more);
  return fmt::format("whether the word{} loaded at {}{} can lead to {}; {}a parameter would be followed",
                     loads.size() == 1 ? "" : "s", fmt::join(lines, " and "),
                     more ? fmt::format(" and {} more lines", more) : "", what,
                     loads.size() == 1 ? "" : "one word that all roles load, or ");
}

std::string Findings::text(const Example& example) const {
  constexpr std::size_t most_parameters = 3;
  std::string out;
  std::size_t shown = 0;
  for (const auto& [leaf, v] : example) {
    const std::string name = symbols_.evaluator().text(leaf);
    if (!name.starts_with(parameter_name) || shown++ >= most_parameters) continue;
    const std::string inside = name.substr(parameter_name.size(), name.rfind(',') - parameter_name.size());
    const int unused = 64 - symbols_.terms().width(leaf);
    out += (out.empty() ? "" : " and ") + inside + " = " + std::to_string(std::int64_t(v << unused) >> unused);
  }
  return out;
}

}  // namespace kiln::verifier::explore
