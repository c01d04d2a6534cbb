#include "ptx/diag/diagnostic.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

namespace kiln::diag {

std::string_view spelling(Severity s) {
  switch (s) {
    case Severity::error: return "error";
    case Severity::portability: return "portability";
    case Severity::note: return "note";
    case Severity::incomplete: return "incomplete";
  }
  return "";
}

Diagnostic& Sink::report(Diagnostic d) {
  all_.push_back(std::move(d));
  return all_.back();
}

Diagnostic& Sink::error(SourcePtr source, Place place, std::string message, std::string slug) {
  Diagnostic d;
  d.slug = std::move(slug);
  d.message = std::move(message);
  d.where = Where::at(std::move(source), place);
  return report(std::move(d));
}

std::size_t Sink::count(Severity s) const {
  return std::size_t(std::count_if(all_.begin(), all_.end(), [s](const Diagnostic& d) { return d.severity == s; }));
}

// Not std::stable_sort: its temporary buffer is deprecated in C++17's library and newer compilers say so.
void Sink::sort() {
  std::vector<std::tuple<bool, std::uint32_t, std::size_t>> order;
  for (std::size_t i = 0; i < all_.size(); ++i)
    order.emplace_back(all_[i].severity != Severity::error, all_[i].where.place.begin, i);
  std::sort(order.begin(), order.end());
  std::vector<Diagnostic> sorted;
  sorted.reserve(all_.size());
  for (const auto& [is_milder, begin, index] : order) sorted.push_back(std::move(all_[index]));
  all_ = std::move(sorted);
}

void Sink::append(Sink other) {
  std::move(other.all_.begin(), other.all_.end(), std::back_inserter(all_));
}

int exit_code(const Sink& sink, bool strict) {
  if (sink.has_errors() || (strict && sink.count(Severity::portability) != 0)) return 1;
  return sink.incomplete() ? 3 : 0;
}

}  // namespace kiln::diag
