// Runs random programs under the race detector and under one that keeps everything, and compares what they find.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <iostream>
#include <iterator>

#include "tests/order/naive.hpp"
#include "tests/order/program.hpp"
#include "tests/unit/sim/run.hpp"

namespace {

using namespace kiln;
using test::RacingPair;
using test::RandomProgram;
using test::Statement;
using Pairs = std::set<RacingPair>;

constexpr rules::Rule judged[] = {rules::Rule::race,
                                  rules::Rule::race_async,
                                  rules::Rule::race_tmem,
                                  rules::Rule::proxy_fence,
                                  rules::Rule::tcgen05_fence,
                                  rules::Rule::proxy_fence_read,
                                  rules::Rule::tcgen05_pipeline,
                                  rules::Rule::cluster_relaxed,
                                  rules::Rule::warp_order};

// What the detector has reported of those rules.
Pairs reported(const diag::Sink& sink) {
  Pairs out;
  for (const diag::Diagnostic& d : sink.all())
    for (const rules::Rule r : judged)
      if (d.slug == rules::info(r).slug) out.insert({r, d.notes.at(0).where.place.begin, d.where.place.begin});
  return out;
}

struct Outcome {
  std::string ptx{};
  Pairs missed{}, invented{};
  bool racy = false, finished = false;
  std::string trouble{};  // the program did not run

  bool agrees() const { return missed.empty() && invented.empty() && trouble.empty(); }
};

Outcome compare(const RandomProgram& p, std::uint64_t schedule) {
  Outcome o;
  o.ptx = p.ptx();
  launch::Contract c;
  c.buffers = {test::buffer("buffer", RandomProgram::buffer_bytes)};
  launch::Launch l;
  l.grid = {p.ctas(), 1, 1};
  l.block = {std::uint32_t(32 * p.warps), 1, 1};
  l.params = {test::pointer("buffer")};
  c.launches = {l};
  sim::Options options;
  options.seed = schedule;
  options.max_steps = 1'000'000;
  test::NaiveDetector naive;
  const test::Run r = test::run(o.ptx, c, options, &naive);
  for (const diag::Diagnostic& d : r.sink.all())
    if (d.slug.empty() || d.severity == diag::Severity::incomplete) o.trouble = r.findings();
  o.finished = r.result.outcome == sim::Outcome::finished;
  const Pairs told = reported(r.sink);
  const test::NaiveDetector::Races races = naive.races();
  for (const Pairs& any_of : races.found) {
    const bool is_told =
        std::any_of(any_of.begin(), any_of.end(), [&](const RacingPair& x) { return told.contains(x); });
    if (!is_told) o.missed.insert(any_of.begin(), any_of.end());
  }
  std::set_difference(told.begin(), told.end(), races.allowed.begin(), races.allowed.end(),
                      std::inserter(o.invented, o.invented.end()));
  o.racy = !told.empty();
  return o;
}

// Takes statements out as long as the two still disagree.
bool shrink(RandomProgram& p, std::vector<Statement>& list, std::uint64_t schedule) {
  for (std::size_t k = 0; k < list.size(); ++k) {
    if (list[k].trips && shrink(p, list[k].body, schedule)) return true;
    const Statement out = list[k];
    list.erase(list.begin() + std::ptrdiff_t(k));
    if (const Outcome o = compare(p, schedule); !o.agrees() && o.trouble.empty()) return true;
    list.insert(list.begin() + std::ptrdiff_t(k), out);
  }
  return false;
}

void print(const Outcome& o) {
  const auto line = [&](std::uint32_t place) {
    const std::size_t begin = o.ptx.rfind('\n', place) + 1;
    return std::pair(1 + std::count(o.ptx.begin(), o.ptx.begin() + std::ptrdiff_t(place), '\n'),
                     o.ptx.substr(place, o.ptx.find('\n', begin) - place));
  };
  const auto list = [&](const char* what, const Pairs& pairs) {
    for (const RacingPair& x : pairs) {
      const auto [a, first] = line(x.earlier);
      const auto [b, second] = line(x.later);
      std::cout << fmt::format("{}: {}\n  line {}: {}\n  line {}: {}\n", what, rules::info(x.rule).slug, a, first, b,
                               second);
    }
  };
  std::cout << o.ptx << o.trouble;
  list("missed by sim/order, one of", o.missed);
  list("found by sim/order alone", o.invented);
}

std::uint64_t number(const std::vector<std::string>& args, const char* name, std::uint64_t otherwise) {
  const auto found = std::find(args.begin(), args.end(), name);
  return found == args.end() || found + 1 == args.end() ? otherwise : std::stoull(found[1]);
}

}  // namespace

// order [--programs N] [--from SEED] [--show COUNT] [--whole 1]
int main(int argc, char** argv) {
  const std::vector<std::string> args(argv + 1, argv + argc);
  const std::uint64_t programs = number(args, "--programs", 1000), from = number(args, "--from", 1);
  const std::uint64_t show = number(args, "--show", 1), whole = number(args, "--whole", 0);
  std::uint64_t racy = 0, unfinished = 0, apart = 0;
  const auto begin = std::chrono::steady_clock::now();
  for (std::uint64_t seed = from; seed < from + programs; ++seed) {
    RandomProgram p = test::random_program(seed);
    Outcome o = compare(p, seed);
    racy += o.racy;
    unfinished += !o.finished;
    if (o.agrees()) continue;
    if (++apart > show) continue;
    if (o.trouble.empty() && !whole) {
      while (shrink(p, p.statements, seed)) {
      }
      o = compare(p, seed);
    }
    std::cout << fmt::format("---- seed {}: {} clusters of {} CTAs, {} warps, {} lanes\n", seed, p.clusters, p.cluster,
                             p.warps, p.lanes);
    print(o);
  }
  const std::chrono::duration<double> time = std::chrono::steady_clock::now() - begin;
  std::cout << fmt::format("{} programs, {} racy, {} that did not finish, {} disagreements, {:.1f} s\n", programs, racy,
                           unfinished, apart, time.count());
  return apart != 0;
}
