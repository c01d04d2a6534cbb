// The accesses that touched an interval of a memory: one or two nearly always, which then need no memory of their own.
// States hold thousands of such lists, and are copied all the time.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <vector>

#include "verifier/explore/events.hpp"
#include "verifier/explore/words.hpp"

namespace kiln::verifier::explore {

/// No operation.
inline constexpr std::uint32_t no_branch = ~std::uint32_t{0};

/// An access that touched an interval of a memory.
struct Touch {
  EventId event = 0;
  Mask lanes = 0;
  std::uint32_t decider = no_branch;  // the branch on one of whose ways alone it is the last one here
  bool operator==(const Touch& o) const { return event == o.event && lanes == o.lanes; }
};

/// Several of them, in order.
class Touches {
 public:
  Touch* begin() { return many_.empty() ? few_.data() : many_.data(); }
  Touch* end() { return begin() + size(); }
  const Touch* begin() const { return many_.empty() ? few_.data() : many_.data(); }
  const Touch* end() const { return begin() + size(); }
  std::size_t size() const { return many_.empty() ? size_ : many_.size(); }
  bool empty() const { return size() == 0; }
  void push_back(const Touch& t) {
    if (many_.empty() && size_ < few_.size()) return void(few_[size_++] = t);
    if (many_.empty()) many_.assign(few_.begin(), few_.end());
    many_.push_back(t);
  }
  /// Those from one place on, up to another, are no more; the place after them.
  Touch* erase(Touch* first, Touch* last) {
    const std::ptrdiff_t at = first - begin();
    std::move(last, end(), first);
    shrink(size() - std::size_t(last - first));
    return begin() + at;
  }
  Touch* erase(Touch* one) { return erase(one, one + 1); }
  void clear() { many_.clear(), size_ = 0; }
  bool operator==(const Touches& o) const { return std::equal(begin(), end(), o.begin(), o.end()); }

 private:
  void shrink(std::size_t size) {
    if (many_.empty()) return void(size_ = std::uint32_t(size));
    many_.resize(size);
    size_ = 0;  // what counts where all are gone
  }

  std::array<Touch, 2> few_{};
  std::uint32_t size_ = 0;     // of these
  std::vector<Touch> many_{};  // all, where there are more
};

/// As std::erase_if.
template <class Predicate>
void erase_if(Touches& list, Predicate predicate) {
  list.erase(std::remove_if(list.begin(), list.end(), predicate), list.end());
}

}  // namespace kiln::verifier::explore
