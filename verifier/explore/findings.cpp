#include "verifier/explore/findings.hpp"

namespace kiln::verifier::explore {

void Findings::add(Breach b, bool may) {
  if (!b.verdict.broken() || reported_.contains({b.operation, b.verdict.rule})) return;
  if (may) throw Unfollowed{"whether an access happens that would break a rule", b.operation};
  const auto found = state_ && !state_->forgets ? example(*state_) : std::nullopt;
  if (!found)
    throw Unfollowed{"whether all that is taken for granted on the way to a broken rule can be", b.operation, true};
  reported_.emplace(b.operation, b.verdict.rule);
  b.example = text(*found);
  breaches_.push_back(std::move(b));
}

std::optional<Example> Findings::example(const State& s) {
  constexpr int most_failed_searches = 2;
  if (s.guessed || s.contradicts || failed_searches_ == most_failed_searches) return std::nullopt;
  auto found = find_example(s.path, symbols_.terms(), symbols_.evaluator());
  failed_searches_ += !found;
  return found;
}

std::string Findings::text(const Example& example) const {
  constexpr std::size_t most_parameters = 3;
  std::string out;
  std::size_t shown = 0;
  for (const auto& [leaf, v] : example) {
    const std::string name = symbols_.evaluator().text(leaf);
    const std::string_view begin = "parameter(&";
    if (!name.starts_with(begin) || shown++ >= most_parameters) continue;
    const std::string inside = name.substr(begin.size(), name.rfind(',') - begin.size());
    const int unused = 64 - symbols_.terms().width(leaf);
    out += (out.empty() ? "" : " and ") + inside + " = " + std::to_string(std::int64_t(v << unused) >> unused);
  }
  return out;
}

}  // namespace kiln::verifier::explore
