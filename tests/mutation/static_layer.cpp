#include "tests/mutation/static_layer.hpp"

#include <algorithm>

#include "ptx/parse/parse.hpp"
#include "verifier/finding.hpp"
#include "verifier/protocol/explore.hpp"
#include "verifier/verify.hpp"

namespace kiln::mutation {
namespace {

using verifier::protocol::Explored;

constexpr std::string_view standstill = "deadlock";  // the slug that nobody has given it yet

// Explores one kernel. check() does not do it by itself; when it does, this goes.
void explore_entry(const ir::Module& module, const ir::Function& f, StaticLayer& out) {
  diag::Sink sink, breaches;
  const verifier::Facts facts(module, f, sink);
  const Explored e = verifier::protocol::explore(verifier::protocol::Program(facts));
  if (!e.incomplete.empty()) out.incomplete = e.incomplete;
  for (const auto& b : e.breaches) {
    const diag::Diagnostic& d =
        verifier::broken(breaches, b.verdict, verifier::Subject{facts.code, *b.operation, nullptr, true}, b.got);
    out.findings.push_back({d.slug, d.severity, d.where.place.begin, d.message, true});
  }
  if (e.deadlock)
    out.findings.push_back({std::string(standstill), diag::Severity::error, facts.code.where(*e.deadlock).place.begin,
                            "nobody can go on", true});
}

// Everything that is known without a run.
void check(const ir::Module& module, StaticLayer& out) {
  diag::Sink sink;
  verifier::check(module, sink);
  for (const diag::Diagnostic& d : sink.all()) {
    if (d.severity == diag::Severity::incomplete) out.incomplete = d.message;
    if (d.severity == diag::Severity::error || d.severity == diag::Severity::portability)
      out.findings.push_back({d.slug, d.severity, d.where.place.begin, d.message, false});
  }
  // What an instruction that is not formed does, no exploration can tell.
  if (sink.has_errors()) return;
  for (const ir::Item& item : module.items)
    if (const auto* f = std::get_if<ir::Function>(&item); f && f->body && f->entry) explore_entry(module, *f, out);
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

StaticLayer check_statically(const std::string& name, const std::string& text) {
  StaticLayer out;
  diag::Sink sink;
  const ir::Module module = parse::parse(std::make_shared<const diag::Source>(name + ".ptx", text), sink);
  if (!sink.has_errors()) check(module, out);
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
