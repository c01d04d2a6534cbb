#include "timing/l1_cache.hpp"

#include <algorithm>
#include <set>

namespace kiln::timing {
namespace {

std::set<std::uint64_t> sectors_of(const std::vector<Touch>& touches) {
  std::set<std::uint64_t> all;
  for (const Touch& t : touches)
    for (std::uint64_t s = t.address / sector_bytes; s * sector_bytes < t.address + t.bytes; ++s) all.insert(s);
  return all;
}

}  // namespace

Cached L1Cache::find(const std::vector<Touch>& touches) {
  Cached out;
  for (const std::uint64_t s : sectors_of(touches)) {
    const auto place = places_.find(s / sectors_of_line);
    const std::uint64_t part = s % sectors_of_line;
    if (place == places_.end() || !(place->second->sectors >> part & 1)) {
      ++out.missing;
      continue;
    }
    lines_.splice(lines_.begin(), lines_, place->second);
    out.there = std::max(out.there, place->second->there[part]);
  }
  return out;
}

void L1Cache::fill(const std::vector<Touch>& touches, double time) {
  for (const std::uint64_t s : sectors_of(touches)) {
    const auto [place, is_new] = places_.try_emplace(s / sectors_of_line);
    if (is_new) {
      lines_.push_front({place->first});
      place->second = lines_.begin();
    }
    Line& line = *place->second;
    const std::uint64_t part = s % sectors_of_line;
    if (line.sectors >> part & 1) continue;
    line.sectors |= std::uint8_t(1u << part), line.there[part] = time;
  }
  while (lines_.size() > most_) {
    places_.erase(lines_.back().number);
    lines_.pop_back();
  }
}

void L1Cache::forget() {
  lines_.clear();
  places_.clear();
}

}  // namespace kiln::timing
