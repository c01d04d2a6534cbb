#include "timing/l1_cache.hpp"

#include <bit>
#include <map>

namespace kiln::timing {

std::uint32_t L1Cache::missing(const std::vector<Touch>& touches) {
  std::map<std::uint64_t, std::uint8_t> wanted;  // sectors, by line
  for (const Touch& t : touches)
    for (std::uint64_t s = t.address / sector_bytes; s * sector_bytes < t.address + t.bytes; ++s)
      wanted[s / sectors_of_line] |= std::uint8_t(1u << s % sectors_of_line);
  std::uint32_t count = 0;
  for (const auto& [number, sectors] : wanted) {
    auto place = places_.find(number);
    if (place != places_.end()) {
      lines_.splice(lines_.begin(), lines_, place->second);
    } else {
      lines_.push_front({number, 0});
      places_[number] = lines_.begin();
    }
    count += std::uint32_t(std::popcount(std::uint8_t(sectors & ~lines_.front().sectors)));
    lines_.front().sectors |= sectors;
  }
  while (lines_.size() > most_) {
    places_.erase(lines_.back().number);
    lines_.pop_back();
  }
  return count;
}

void L1Cache::forget() {
  lines_.clear();
  places_.clear();
}

}  // namespace kiln::timing
