#include "timing/critical_path.hpp"

#include <algorithm>
#include <map>
#include <numeric>

namespace kiln::timing {

void CriticalPath::own(std::uint32_t warp, Stall stall, double cycles) {
  if (cycles > 0) warps_[warp].now.own[std::size_t(stall)] += float(cycles);
}

void CriticalPath::wait(std::uint32_t warp, const std::string& role, double begin, double end, const Release& release) {
  Warp& w = warps_[warp];
  w.now.end = begin;
  if (w.now.role.empty()) w.now.role = role;
  w.past.push_back(w.now);
  w.now = {};
  w.now.begin = end, w.now.release = release, w.now.waited_at = begin, w.now.role = role;
}

void CriticalPath::exit(std::uint32_t warp, const std::string& role, double at) {
  Warp& w = warps_[warp];
  w.now.end = at;
  if (w.now.role.empty()) w.now.role = role;
  if (at >= end_) end_ = at, last_ = warp;
}

// Backwards, one stretch after the other.
class CriticalPath::Walk {
 public:
  explicit Walk(const std::vector<Warp>& warps) : warps_(warps) {}

  void from(std::uint32_t warp, double at) {
    while (at > 0) {
      const Stretch& s = stretch(warp, at);
      charge_own(s, s.begin, std::min(at, s.end));
      if (at > s.end) charge("wake-ups", at - s.end);  // noted in the middle of a wait
      at = std::min(at, s.begin);
      if (at <= 0) return;
      const Release& r = s.release;
      const double released = std::min(at, r.at);
      if (r.kind == Release::Kind::unknown) {
        charge(s.role + ": waits", at - s.waited_at);
        at = s.waited_at;
        continue;
      }
      charge("wake-ups", at - released);
      warp = r.warp, at = released;
      if (r.kind == Release::Kind::warp) continue;
      const double since = std::min(at, r.since);
      charge(r.kind == Release::Kind::copy ? "copies" : "tensor core", at - since);
      at = since;
    }
  }

  std::vector<PathPart> parts() const {
    std::vector<PathPart> out;
    for (const auto& [what, cycles] : sums_)
      if (cycles > 0) out.push_back({what, cycles});
    std::stable_sort(out.begin(), out.end(), [](const auto& x, const auto& y) { return x.cycles > y.cycles; });
    return out;
  }

 private:
  void charge(const std::string& what, double cycles) {
    if (cycles > 0) sums_[what] += cycles;
  }

  // That of the warp which has begun by then.
  const Stretch& stretch(std::uint32_t warp, double at) const {
    const Warp& w = warps_[warp];
    if (w.past.empty() || w.now.begin < at) return w.now;
    const auto after =
        std::lower_bound(w.past.begin(), w.past.end(), at, [](const Stretch& s, double t) { return s.begin < t; });
    return after == w.past.begin() ? w.past.front() : *std::prev(after);
  }

  // A part of a stretch has its part of what the warp waited for on its own; the rest is instructions.
  void charge_own(const Stretch& s, double begin, double end) {
    const double length = s.end - s.begin, part = end - begin;
    if (part <= 0 || length <= 0) return;
    const double waited = std::accumulate(s.own.begin(), s.own.end(), 0.0);
    const double scale = part / std::max(length, waited);
    for (std::size_t k = 0; k < stall_count; ++k) charge(name(s.role, Stall(k)), double(s.own[k]) * scale);
    charge(s.role + ": instructions", part - waited * scale);
  }

  // The tensor core is the same whether its queue, its results or a group's end are waited for.
  static std::string name(const std::string& role, Stall stall) {
    if (stall == Stall::mma_queue || stall == Stall::wgmma) return "tensor core";
    return role + ": " + std::string(spelling(stall));
  }

  const std::vector<Warp>& warps_;
  std::map<std::string, double> sums_{};
};

std::vector<PathPart> CriticalPath::parts() const {
  Walk walk(warps_);
  walk.from(last_, end_);
  return walk.parts();
}

}  // namespace kiln::timing
