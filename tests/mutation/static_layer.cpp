#include "tests/mutation/static_layer.hpp"

#include <algorithm>

#include "ptx/parse/parse.hpp"
#include "verifier/explore.hpp"
#include "verifier/verify.hpp"

namespace kiln::mutation {
namespace {

void take(const diag::Sink& sink, bool is_explored, StaticLayer& out) {
  for (const diag::Diagnostic& d : sink.all()) {
    if (d.severity == diag::Severity::incomplete) out.incomplete = d.message;
    if (d.severity == diag::Severity::error || d.severity == diag::Severity::portability)
      out.findings.push_back({d.slug, d.severity, d.where.place.begin, d.message, is_explored});
  }
}

// Everything that `kiln check --launch` knows without a run.
void check(const ir::Module& module, const launch::Contract& contract, std::chrono::milliseconds exploring,
           StaticLayer& out) {
  diag::Sink sink;
  verifier::check(module, sink);
  take(sink, false, out);
  // What an instruction that is not formed does, no exploration can tell.
  if (sink.has_errors()) return;
  diag::Sink explored;
  verifier::check_synchronisation(module, explored, &contract, {}, exploring);
  take(explored, true, out);
}

// Where a place of the mutant is in the kernel; places in what was put in are anywhere in what was taken out.
struct Original {
  std::size_t first = 0, last = 0;
};

Original original_of(const Mutant& m, std::size_t at) {
  const std::size_t put_in_end = m.place.begin + m.replacement.size();
  if (at < m.place.begin) return {at, at};
  if (at < put_in_end) return {m.place.begin, m.place.end};
  const std::size_t moved = at - put_in_end + m.place.end;
  return {moved, moved};
}

}  // namespace

StaticLayer check_statically(const std::string& name, const std::string& text, const launch::Contract& contract,
                             std::chrono::milliseconds exploring) {
  StaticLayer out;
  diag::Sink sink;
  const ir::Module module = parse::parse(std::make_shared<const diag::Source>(name + ".ptx", text), sink);
  if (!sink.has_errors()) check(module, contract, exploring, out);
  return out;
}

std::string static_witness(const Mutant& m, const StaticLayer& mutant, const StaticLayer& whole) {
  for (const StaticFinding& f : mutant.findings) {
    if (f.severity != diag::Severity::error && m.profile == Profile::error) continue;
    const Original o = original_of(m, f.at);
    const bool is_known = std::any_of(whole.findings.begin(), whole.findings.end(), [&](const StaticFinding& known) {
      return known.slug == f.slug && known.at >= o.first && known.at <= o.last;
    });
    if (!is_known) return (f.is_explored ? "explored, " : "") + f.slug + ": " + f.message;
  }
  return {};
}

}  // namespace kiln::mutation
