#include "verifier/explore/rounds.hpp"

#include <algorithm>
#include <numeric>

namespace kiln::verifier::explore {

using flow::TermId;

namespace {

constexpr std::uint64_t lanes_and_all = lanes_per_warp + 1;
constexpr std::uint64_t most_questions = 16;  // that an operation asks for a lane
constexpr std::uint64_t places = lanes_and_all * most_questions;
constexpr std::uint64_t most_open = 16;       // trips for which a round waits for others to join
constexpr std::uint64_t most_trips_kept = 8;  // trips after which an answer is forgotten
constexpr std::uint64_t most_small = 64;      // a word of few numbers is no bound that moves
constexpr std::uint64_t most_parts =
    (1 << 20) - 1;                       // a word of which more bits count is assumed to go round with its loop
constexpr std::uint32_t most_ahead = 4;  // rounds

}  // namespace

// The first number that is larger than one and all numbers that the code compares counters of the bound with. What is
// known of the bound below it is not forgotten.
std::uint64_t Rounds::first_moving(TermId bound) const {
  std::uint64_t first = 1;
  for (const auto& [family, bases] : bases_)
    if (bases.contains(bound)) first = std::max(first, std::uint64_t(program_.family_of(family).most + 1));
  return first;
}

TermId Rounds::in_round(TermId bound, std::uint32_t round) {
  if (round == 0 || !repeated_.contains(bound)) return bound;
  const TermId operands[] = {bound, terms_.constant(round)};
  const TermId out = symbols_.named("in round", terms_.width(bound), operands, terms_.bits(bound));
  in_rounds_[out] = {bound, round};
  return out;
}

std::optional<std::uint64_t> Rounds::frontier(const State& s, const Fragment& f, TermId bound) {
  const auto round = f.rounds.find(bound);
  return frontier(s, bound, round == f.rounds.end() ? 0 : round->second.number);
}

std::optional<std::uint64_t> Rounds::frontier(const State& s, TermId bound, std::uint32_t round) {
  const bool repeats = repeated_.contains(bound);
  const auto closed = s.closed.find(bound);
  if (closed == s.closed.end() || closed->second < (repeats ? round : 1) || (repeats && !round)) return std::nullopt;
  const auto domain = s.domains.find(in_round(bound, round));
  if (domain == s.domains.end()) return std::nullopt;
  auto from = assumptions_.open_from(s, domain->first);
  // The last number of a round counts until the last thread has gone on to the next round.
  if (!from && repeats) from = domain->second.value();
  return from && *from > first_moving(bound) ? from : std::nullopt;
}

// Threads compare a bound with a number. Returns the round that they are in from then on.
std::uint32_t Rounds::enter(Turn& t, TermId bound, std::uint64_t place, std::uint64_t number) {
  Round& r = t.f.rounds[bound];
  const auto before = r.numbers.find(place);
  const bool repeats_question = t.f.undecided == t.at && before != r.numbers.end() && before->second == number;
  if (repeats_question) return r.number;
  const std::uint32_t closed = t.s.closed[bound];
  bool goes_on = before != r.numbers.end() && before->second && number > *before->second;
  if (goes_on)
    goes_on = number - *before->second == strides_.try_emplace(place, number - *before->second).first->second;
  const Participants::value_type participant{{t.cta_index, t.warp_index}, t.at};
  found_[bound].insert(participant);
  if (before == r.numbers.end()) first_numbers_.try_emplace({bound, place}, number);
  const bool is_new = !participants_[bound].contains(participant);
  if (!repeated_.contains(bound)) {
    r.number = 1;
    if (closed && !goes_on) {
      if (!is_new || is_last_) repeated_.insert(bound);
      must_restart_ = true;
    }
  } else if (!goes_on) {
    if (before != r.numbers.end() && first_numbers_.at({bound, place}) != number)
      throw Unfollowed{"a loop that begins at another number each time", &t.op};
    if (before != r.numbers.end() || r.number == 0) ++r.number, r.trips = 0, r.numbers.clear();
    if (r.number <= closed) {
      r.number = closed + 1, r.trips = 0, r.numbers.clear();
      must_restart_ |= is_new && !is_last_;
    }
  }
  r.numbers[place] = number;
  ++r.trips;
  return r.number;
}

void Rounds::note_comparison(std::uint32_t family, TermId word) {
  if (!terms_.value(word)) bases_[family].insert(assumptions_.word(word).base);
}

flow::Demand Rounds::parts(TermId base) const {
  const auto found = parts_.find(base);
  return found == parts_.end() ? flow::Demand{} : found->second;
}

void Rounds::note_parts(const Turn& t, ir::RegisterId r, TermId word) {
  flow::Demand demand = program_.demands.of(r);
  if (demand.bits > most_parts) demand.bits = 0;
  if ((!demand.bits && demand.modulus <= 1) || terms_.is_constant(word)) return;
  const TermId base = assumptions_.word(word).base;
  flow::Demand& parts = parts_[base];
  const flow::Demand before = parts;
  parts.bits |= demand.bits, parts.modulus = std::lcm(parts.modulus, demand.modulus);
  const auto closed = t.s.closed.find(base);
  must_restart_ |= !(parts == before) && closed != t.s.closed.end() && closed->second && !repeated_.contains(base);
}

TermId Rounds::question(Turn& t, int lane, TermId predicate, std::uint32_t part) {
  const std::uint64_t place = t.at * places + part % most_questions * lanes_and_all + std::uint64_t(lane);
  if (const auto p = assumptions_.compared_place(predicate)) {
    enter(t, p->start, place, std::uint64_t(p->n));
    if (repeated_.contains(p->start)) throw Unfollowed{"a loop that begins anew at a word that is not known", &t.op};
    return predicate;
  }
  const auto c = assumptions_.comparison(predicate);
  if (!c) return predicate;
  const auto rest = assumptions_.rest(c->word.base);
  const TermId bound = rest ? rest->of.base : c->word.base;
  const int width = terms_.width(bound);
  if (terms_.bits(bound).largest() < most_small) return predicate;
  if (rest) {
    const auto r = t.f.rounds.find(bound);
    const std::uint32_t round = r == t.f.rounds.end() ? 0 : r->second.number;
    return repeated_.contains(bound) && round ? assumptions_.about(predicate, in_round(bound, round)) : predicate;
  }
  const std::uint64_t number = c->word.base_at(c->number) & flow::low_mask(width), first = first_moving(bound);
  const bool is_small = number < first || number > flow::low_mask(width - 1);
  const bool repeats = repeated_.contains(bound);
  if (is_small || (repeats && !assumptions_.open_from(t.s, bound))) return predicate;
  if (repeats) {
    // Whether it is one of the small numbers is known of all rounds or of none.
    const TermId small = symbols_.evaluator().less(bound, terms_.constant(first, width), c->is_signed);
    const auto holds = assumptions_.holds(t.s, small);
    if (!holds) return small;
    if (*holds) return predicate;
  }
  const std::uint32_t round = enter(t, bound, place, number);
  if (!repeats) return predicate;
  const TermId here = in_round(bound, round);
  t.s.domains.try_emplace(here, assumptions_.domain(t.s, bound));
  return assumptions_.about(predicate, here);
}

// All threads that are known to compare with the bound have come to the round, or have exited.
bool Rounds::has_all(const State& s, TermId bound, std::uint32_t round) const {
  bool any = false;
  for (const auto& [warp, op] : found_.at(bound)) {
    const auto& fragments = s.ctas[warp.first].warps[warp.second].fragments;
    const auto has_come = [&, operation = op](const Fragment& f) {
      const auto r = f.rounds.find(bound);
      if (r == f.rounds.end() || r->second.number < round) return false;
      // A round that ends at its first comparison counts as come to.
      return r->second.number > round || (r->second.trips >= 2 * r->second.numbers.size() &&
                                          std::any_of(r->second.numbers.begin(), r->second.numbers.end(),
                                                      [&](const auto& a) { return a.first / places == operation; }));
    };
    const bool has = std::any_of(fragments.begin(), fragments.end(), has_come);
    if (!has && !fragments.empty()) return false;
    any |= has;
  }
  return any;
}

// Some threads are so far ahead that the round waits for the others no longer.
bool Rounds::is_long(const State& s, TermId bound, std::uint32_t round) {
  return any_fragment(s, [&](const Fragment& f) {
    const auto r = f.rounds.find(bound);
    if (r == f.rounds.end()) return false;
    return r->second.number > round + most_ahead ||
           (r->second.number == round && r->second.trips > most_open * r->second.numbers.size());
  });
}

std::uint32_t Rounds::first_round(const State& s, TermId bound) {
  std::uint32_t first = ~std::uint32_t{0};
  each_fragment(s, [&](const Fragment& f) {
    if (const auto r = f.rounds.find(bound); r != f.rounds.end() && r->second.number)
      first = std::min(first, r->second.number);
  });
  return first;
}

void Rounds::settle(State& s) {
  for (const auto& [bound, participants] : found_) {
    std::uint32_t& closed = s.closed[bound];
    while ((closed == 0 || repeated_.contains(bound)) &&
           (has_all(s, bound, closed + 1) || is_long(s, bound, closed + 1)))
      ++closed;
  }
  std::map<TermId, std::uint32_t> first;
  for (const auto& [bound, closed] : s.closed) first[bound] = std::min(first_round(s, bound), closed + 1);
  std::erase_if(s.domains, [&](const auto& d) {
    const auto r = round_of(d.first);
    return r && r->round < first[r->bound];
  });
  each_fragment(s, [&](Fragment& f) {
    for (auto& [bound, r] : f.rounds) {
      const auto from = frontier(s, f, bound);
      if (!from) continue;
      for (auto& [place, n] : r.numbers) {
        const auto stride = strides_.find(place);
        if (n && *from > *n + most_trips_kept * (stride == strides_.end() ? 1 : stride->second)) n.reset();
      }
    }
  });
}

std::optional<Rounds::InRound> Rounds::round_of(TermId base) const {
  if (const auto r = assumptions_.rest(base)) base = r->of.base;
  const auto found = in_rounds_.find(base);
  return found == in_rounds_.end() ? std::nullopt : std::optional(found->second);
}

TermId Rounds::of_all_rounds(TermId predicate) {
  const auto c = assumptions_.comparison(predicate);
  const auto r = c ? round_of(c->word.base) : std::nullopt;
  return r ? assumptions_.about(predicate, r->bound) : predicate;
}

}  // namespace kiln::verifier::explore
