#include "ptx/diag/diagnostic.hpp"

#include <algorithm>

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

void Sink::sort() {
  std::stable_sort(all_.begin(), all_.end(), [](const Diagnostic& a, const Diagnostic& b) {
    return a.where.place.begin < b.where.place.begin;
  });
}

void Sink::append(Sink other) {
  std::move(other.all_.begin(), other.all_.end(), std::back_inserter(all_));
}

int exit_code(const Sink& sink, bool strict) {
  if (sink.has_errors() || (strict && sink.count(Severity::portability) != 0)) return 1;
  return sink.incomplete() ? 3 : 0;
}

}  // namespace kiln::diag
