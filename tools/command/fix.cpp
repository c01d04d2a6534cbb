#include "tools/command/fix.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

#include "harness/host/files.hpp"
#include "ptx/diag/error.hpp"
#include "ptx/diag/repair.hpp"
#include "tools/command/report/console.hpp"

namespace kiln::command {
namespace {

// A repair may uncover what the next one is for, as a semicolon does. Texts that come round again end here.
constexpr int most_rounds = 16;

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view blanks = " \t\r\n";
  const std::size_t first = text.find_first_not_of(blanks);
  return first == std::string_view::npos ? "" : text.substr(first, text.find_last_not_of(blanks) + 1 - first);
}

// The findings whose repair puts something in, in the order of the text. Another number in place of a wrong one is a
// guess at what was meant.
diag::Sink unambiguous(const diag::Sink& found) {
  std::vector<const diag::Diagnostic*> some;
  for (const diag::Diagnostic& d : found.all())
    if (std::all_of(d.fixits.begin(), d.fixits.end(), [](const diag::FixIt& f) { return f.place.empty(); }))
      some.push_back(&d);
  std::stable_sort(some.begin(), some.end(),
                   [](const auto* a, const auto* b) { return a->where.place.begin < b->where.place.begin; });
  diag::Sink out;
  for (const diag::Diagnostic* d : some) out.report(*d);
  return out;
}

std::string report(const diag::Source& source, const diag::Diagnostic& d) {
  std::string out;
  for (const diag::FixIt& f : d.fixits) {
    const auto [line, column] = source.position(f.place.begin);
    out += fmt::format("{}:{}:{}: fixed: put in {}{}\n", source.name(), line, column, trimmed(f.text),
                       d.slug.empty() ? "" : fmt::format(" [{}]", d.slug));
  }
  return out;
}

}  // namespace

diag::Sink fix(const std::string& path, const diag::SourcePtr& original, const Judge& judge) {
  diag::SourcePtr source = original;
  diag::Sink found = judge(source);
  std::string done;
  for (int round = 0; round < most_rounds; ++round) {
    const diag::Sink repairable = unambiguous(found);
    diag::Repaired repaired = diag::repair(*source, repairable);
    if (repaired.findings.empty() || repaired.text == source->text()) break;
    for (std::size_t i : repaired.findings) done += report(*source, repairable.all()[i]);
    source = std::make_shared<const diag::Source>(source->name(), std::move(repaired.text));
    found = judge(source);
  }
  if (path == "-") {
    print(source->text());
  } else if (source != original) {
    // Renaming needs no write permission on the file itself. A file without it is meant to stay as it is.
    if (::access(path.c_str(), W_OK) != 0)
      throw diag::InputError(fmt::format("{}: cannot be written: {}", path, std::strerror(errno)));
    harness::write_file(path, source->text());
  }
  complain(done);
  return found;
}

}  // namespace kiln::command
