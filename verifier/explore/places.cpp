#include "verifier/explore/places.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

namespace kiln::verifier::explore {
namespace {

using ClusterPlace = std::array<std::uint32_t, 3>;

// Some load finds a word that the launch says, or some copy chooses among its maps.
bool finds_words(const Program& program) {
  for (const ir::Operation& op : program.code.operations)
    if (chosen_map(program.facts, op)) return program.shape.is_of_launch;
  const auto& all = program.shape.content;
  if (std::all_of(all.begin(), all.end(), [](const auto& pointers) { return pointers.empty(); })) return false;
  for (std::uint32_t i = 0; i < program.code.operations.size(); ++i)
    if (program.finds_lasting_word(i) && program.matters(i)) return true;
  return false;
}

std::string text(const ClusterPlace& place, const std::string& example) {
  const std::string here = fmt::format("%clusterid = ({}, {}, {})", place[0], place[1], place[2]);
  return example.empty() ? here : here + " and " + example;
}

void add_breaches(std::vector<Breach>&& found, const ClusterPlace& place, std::vector<Breach>& all) {
  for (Breach& b : found) {
    const bool is_known = std::any_of(all.begin(), all.end(), [&](const Breach& o) {
      return o.operation == b.operation && o.verdict.rule == b.verdict.rule;
    });
    if (is_known) continue;
    b.example = text(place, b.example);
    all.push_back(std::move(b));
  }
}

}  // namespace

std::optional<Explored> explore_places(const Program& program, Deadline deadline) {
  if (!finds_words(program)) return std::nullopt;
  Explored all;
  Shape shape = program.shape;
  const auto clusters = [&](std::size_t axis) { return std::max(1u, shape.grid[axis] / program.cluster[axis]); };
  for (std::uint32_t z = 0; z < clusters(2); ++z)
    for (std::uint32_t y = 0; y < clusters(1); ++y)
      for (std::uint32_t x = 0; x < clusters(0); ++x) {
        const ClusterPlace place{x, y, z};
        shape.place = place;
        const auto here = std::make_unique<const Program>(program.facts, shape);
        Explored e = explore(*here, deadline);
        if (!e.incomplete.empty()) return std::nullopt;
        add_breaches(std::move(e.breaches), place, all.breaches);
        all.states += e.states, all.steps += e.steps;
        all.followed.resize(e.followed.size());
        for (std::size_t i = 0; i < e.followed.size(); ++i) all.followed[i] = all.followed[i] || e.followed[i];
        for (const ir::Operation* op : e.unknown_copies)
          if (std::find(all.unknown_copies.begin(), all.unknown_copies.end(), op) == all.unknown_copies.end())
            all.unknown_copies.push_back(op);
        if (!e.deadlock) continue;
        all.deadlock = e.deadlock, all.last = std::move(e.last), all.roots = std::move(e.roots);
        all.example = text(place, e.example);
        return all;
      }
  all.complete = true;
  return all;
}

}  // namespace kiln::verifier::explore
