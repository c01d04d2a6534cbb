#include "verifier/explore/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "ptx/ir/names.hpp"
#include "ptx/ops/operations.hpp"
#include "ptx/rules/execution.hpp"
#include "ptx/rules/mbarrier.hpp"
#include "verifier/explore/deadlock.hpp"
#include "verifier/explore/protocol.hpp"
#include "verifier/finding.hpp"

namespace kiln::verifier::explore {
namespace {

constexpr std::size_t most_notes = 6;
constexpr std::string_view doubt = "whether";  // begins an answer about a rule that may be broken

std::string lanes_text(Mask lanes) {
  if (lanes == all_lanes) return {};
  if (std::has_single_bit(lanes)) return fmt::format(", lane {}", std::countr_zero(lanes));
  return fmt::format(", {} lanes", std::popcount(lanes));
}

// The mbarrier at a shared address as the program names it.
std::string place_text(const Program& program, std::uint32_t address) {
  for (std::uint32_t k = 0; k < program.code.symbols.size(); ++k) {
    const ir::Variable& v = *program.code.symbols[k].variable;
    const std::uint32_t first = program.address(k);
    if (!isa::is_shared(v.space) || address < first || address - first >= std::max<std::uint64_t>(1, v.bytes()))
      continue;
    return fmt::format("`{}`", ir::element_name(v.name, v.bytes(), address - first, isa::mbarrier_bytes));
  }
  return fmt::format("at shared address {:#x}", address);
}

std::string waits_for(const Program& program, const State& s, const Cta& cta, const Fragment& f) {
  switch (f.wait.kind) {
    case Wait::Kind::mbarrier: {
      const std::string name = place_text(program, f.wait.object);
      const auto& barriers = s.ctas[f.wait.cta].mbarriers;
      const auto found = barriers.find(f.wait.object);
      if (found == barriers.end()) return "for mbarrier " + name + ", which is gone";
      const Barrier& b = found->second;
      std::string text = fmt::format("for phase {} of mbarrier {}: {} of {} arrivals have come", b.phase, name,
                                     b.expected - b.pending, b.expected);
      if (b.outstanding() > 0) text += fmt::format(", {} bytes have not", b.outstanding());
      if (b.outstanding() < 0) text += fmt::format(", and {} bytes more than expected", -b.outstanding());
      return text;
    }
    case Wait::Kind::barrier: {
      const NamedBarrier& b = cta.barriers.at(f.wait.object);
      return fmt::format("at barrier {}: {} of {} threads are there", f.wait.object, b.arrived,
                         b.expected - (b.awaits_all ? b.gone : 0));
    }
    case Wait::Kind::cluster: return fmt::format("at the cluster barrier: {} threads are there", s.cluster.arrived);
    default: return "for the other lanes of the warp";
  }
}

constexpr std::string_view consequence = "what follows";  // begins what is not known because of a mistake

// The error after which nothing can be followed; null when there is none.
diag::Diagnostic* cause_of(const Program& program, const Explored& e, std::vector<diag::Diagnostic>& reported) {
  if (!e.where || !e.incomplete.starts_with(consequence)) return nullptr;
  const diag::Place place = program.code.where(*e.where).place;
  const auto found = std::find_if(reported.rbegin(), reported.rend(), [&](const diag::Diagnostic& d) {
    return d.severity == diag::Severity::error && d.where.place.begin == place.begin;
  });
  return found == reported.rend() ? nullptr : &*found;
}

// Whether the sink has a finding of this rule at an instruction or an operand of it.
bool says(const diag::Sink& sink, rules::Rule rule, const ir::Operation& op) {
  const diag::Place place = op.instruction->at;
  return std::any_of(sink.all().begin(), sink.all().end(), [&](const diag::Diagnostic& d) {
    return d.slug == rules::info(rule).slug && d.where.place.begin >= place.begin && d.where.place.end <= place.end;
  });
}

// Which lines hold operations of the protocol that no run has executed, in a row.
std::string not_followed(const Program& program, const Explored& e) {
  constexpr std::size_t most_ranges = 4;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> ranges;
  bool goes_on = false;
  for (std::uint32_t i = 0; i < e.followed.size(); ++i) {
    const ir::Operation& op = program.code.operations[i];
    if (!is_protocol(op)) continue;
    const diag::Where where = program.code.where(op);
    const std::uint32_t line = where.source ? where.source->position(where.place.begin).line : 0;
    if (e.followed[i])
      goes_on = false;
    else if (std::exchange(goes_on, true))
      ranges.back().second = line;
    else
      ranges.push_back({line, line});
  }
  std::string out;
  for (std::size_t k = 0; k < std::min(ranges.size(), most_ranges); ++k) {
    out += out.empty() ? "" : ", ";
    out += ranges[k].first == ranges[k].second ? fmt::format("{}", ranges[k].first)
                                               : fmt::format("{} to {}", ranges[k].first, ranges[k].second);
  }
  return ranges.size() > most_ranges ? fmt::format("{} and {} more", out, ranges.size() - most_ranges) : out;
}

// What an answer that is incomplete still says: how much was followed, and whether something was found there.
void add_followed(const Program& program, const Explored& e, diag::Diagnostic& d) {
  std::size_t all = 0, followed = 0;
  for (std::uint32_t i = 0; i < e.followed.size(); ++i)
    if (is_protocol(program.code.operations[i])) ++all, followed += e.followed[i];
  if (followed == 0) return;
  const bool is_clean = e.breaches.empty() && !e.deadlock && !e.incomplete.starts_with(doubt);
  d.notes.push_back(
      {fmt::format("followed {} of {} operations that synchronise or touch shared or tensor memory, on {} way{}{}",
                   followed, all, e.states, e.states == 1 ? "" : "s", is_clean ? "; nothing was found on these" : ""),
       {}});
  if (followed < all) d.notes.push_back({"no way has executed those of lines " + not_followed(program, e), {}});
}

// Notes where the threads stand, one for all that wait for the same.
void add_standings(const Program& program, const State& s, const std::vector<std::uint32_t>& roots,
                   diag::Diagnostic& d) {
  struct Standing {
    std::string what{}, threads{};
    const ir::Operation* at = nullptr;
    int warps = 0;
  };
  std::vector<Standing> all;
  for (std::size_t c = 0; c < s.ctas.size(); ++c)
    for (std::size_t w = 0; w < s.ctas[c].warps.size(); ++w)
      for (const Fragment& f : s.ctas[c].warps[w].fragments) {
        const ir::Operation* op = &program.code.operations[f.at];
        const std::string what = waits_for(program, s, s.ctas[c], f);
        const auto same =
            std::find_if(all.begin(), all.end(), [&](const Standing& x) { return x.at == op && x.what == what; });
        if (same != all.end()) {
          ++same->warps;
          continue;
        }
        const std::string cta = s.ctas.size() > 1 ? fmt::format("CTA {}, ", c) : "";
        const std::string_view role = ir::role_of(program.code, *op);
        const std::string name = role.empty() ? "" : fmt::format("role `{}`, ", role);
        all.push_back({what, fmt::format("{}{}warp {}{}", name, cta, w, lanes_text(f.lanes)), op, 1});
      }
  // The cause first.
  std::stable_sort(all.begin(), all.end(), [&](const Standing& x, const Standing& y) {
    const auto rank = [&](const Standing& z) {
      return std::find(roots.begin(), roots.end(), program.code.index(*z.at)) - roots.begin();
    };
    return rank(x) < rank(y);
  });
  for (const Standing& x : all) {
    if (d.notes.size() >= most_notes) break;
    const std::string others = x.warps > 1 ? fmt::format(" and {} more", x.warps - 1) : "";
    d.notes.push_back({fmt::format("{}: {}{} wait{} {}", line_of(program.code.where(*x.at)), x.threads, others,
                                   others.empty() ? "s" : "", x.what),
                       {}});
  }
}

std::string when(const std::string& example) { return example.empty() ? "" : " when " + example; }

// Something of each premise, in a row.
template <class F>
std::string joined(const std::vector<Premise>& premises, const char* separator, F of) {
  std::string out;
  for (const Premise& p : premises) out += (out.empty() ? "" : separator) + of(p);
  return out;
}
std::string under(const std::vector<Premise>& premises) {
  return joined(premises, ", ", [](const Premise& p) { return text(p); });
}

// What is known under premises alone names them, and an error is a note.
void make_conditional(diag::Diagnostic& d, const std::vector<Premise>& premises) {
  if (premises.empty()) return;
  if (d.severity == diag::Severity::error) d.severity = diag::Severity::note;
  d.message = under(premises) + ": " + d.message;
}

bool is_wrong(const Breach& b) { return rules::info(b.verdict.rule).severity == diag::Severity::error; }

// How many errors need a premise.
std::size_t errors_under(const Explored& e, const Premise& premise) {
  const auto needs = [&](const std::vector<Premise>& all) {
    return std::find(all.begin(), all.end(), premise) != all.end();
  };
  const auto needs_it = [&](const Breach& b) { return is_wrong(b) && needs(b.premises); };
  return std::size_t(std::count_if(e.breaches.begin(), e.breaches.end(), needs_it)) + needs(e.deadlock_premises);
}

// Findings that need several CTAs: only a launch says how many there are.
void report_grid(const Program& program, const Explored& e, diag::Sink& sink) {
  const auto needs_grid = [](const std::vector<Premise>& all) {
    return std::any_of(all.begin(), all.end(), [](const Premise& p) { return p.fact == Premise::Fact::grid; });
  };
  const auto n =
      std::count_if(e.breaches.begin(), e.breaches.end(), [&](const Breach& b) { return needs_grid(b.premises); }) +
      needs_grid(e.deadlock_premises);
  if (n == 0) return;
  incomplete(sink, diag::Where::at(program.code.module->source, program.code.function->name_at),
             fmt::format("how many CTAs the grid has, on which {} finding{} depend{}; {} says it", n, n == 1 ? "" : "s",
                         n == 1 ? "s" : "", program.shape.option),
             rules::Limit::launch_unknown);
}

// Which fact of the launch would settle most; or that the proof is for one launch alone.
void report_premises(const Program& program, const Explored& e, diag::Sink& sink) {
  const std::vector<Premise>& all = program.premises;
  if (all.empty() || !e.incomplete.empty()) return;
  const diag::Where where = diag::Where::at(program.code.module->source, program.code.function->name_at);
  const auto most = std::max_element(all.begin(), all.end(), [&](const Premise& a, const Premise& b) {
    return errors_under(e, a) < errors_under(e, b);
  });
  if (const std::size_t n = errors_under(e, *most)) {
    incomplete(sink, where,
               fmt::format("{}, on which {} finding{} depend{}; {}, or another number, says it", question(most->fact),
                           n, n == 1 ? "" : "s", n == 1 ? "s" : "", option(*most)),
               rules::Limit::launch_unknown);
    return;
  }
  const bool has_errors = std::any_of(e.breaches.begin(), e.breaches.end(), is_wrong);
  if (!e.complete || has_errors || !program.synchronises()) return;
  incomplete(sink, where, fmt::format("{}, which the PTX does not say; {} does", under(all), joined(all, " ", option)),
             rules::Limit::launch_assumed);
}

// What is taken of copies whose boxes nothing says: an answer without findings rests on it. Of a map in memory, as a
// kernel makes it, not even a launch says the box.
void report_boxes(const Program& program, const Explored& e, diag::Sink& sink) {
  if (e.unknown_copies.empty() || !e.complete || std::any_of(e.breaches.begin(), e.breaches.end(), is_wrong)) return;
  std::vector<const ir::Operation*> all = e.unknown_copies;
  const auto is_given = [&](const ir::Operation* op) {
    return !may_be_made(program.facts, ops::as<ops::TensorCopy>(*op)->tensor);
  };
  const auto in_memory = std::stable_partition(all.begin(), all.end(), is_given);
  const auto report = [&](auto begin, auto end, const std::string& what) {
    if (begin == end) return;
    diag::Diagnostic d;
    d.severity = diag::Severity::note;
    d.where = program.code.where(**begin);
    d.message = fmt::format("assumed: phases expect the bytes that tensor copies bring; {} {}",
                            end - begin == 1 ? "this copy has"
                                             : fmt::format("{} copies, this one first, have", end - begin), what);
    sink.report(std::move(d));
  };
  report(all.begin(), in_memory,
         fmt::format("a box that only a launch says, of which only the first bytes are judged; {} says it",
                     program.shape.option));
  report(in_memory, all.end(),
         "a map in memory, of whose box the text does not say enough: only the first bytes are judged");
}

void report_breaches(const Program& program, const Explored& e, const diag::Sink& known,
                     std::vector<diag::Diagnostic>& out) {
  for (const Breach& b : e.breaches) {
    if (says(known, b.verdict.rule, *b.operation)) continue;
    // What is not known to happen, where the words that decide it leave more open, is no finding beside that.
    if (!b.is_certain && e.incomplete.starts_with(doubt)) continue;
    // The missing fence after a wait has a rule of its own.
    if (b.verdict.rule == rules::Rule::tcgen05_fence && says(known, rules::Rule::fence_after, *b.operation)) continue;
    diag::Sink said;
    diag::Diagnostic& d = broken(said, b.verdict, program.code.where(*b.operation), b.got);
    d.message += when(b.example);
    make_conditional(d, b.premises);
    if (!b.is_certain) d.notes.push_back({"whether a launch comes here is not known", {}});
    if (b.earlier) d.notes.push_back({std::string(b.what), program.code.where(*b.earlier)});
    if (!b.repair.empty()) d.notes.push_back({b.repair, {}});
    out.push_back(std::move(d));
  }
}

void report_deadlock(const Program& program, const Explored& e, const diag::Sink& known,
                     std::vector<diag::Diagnostic>& out) {
  if (!e.deadlock || says(known, rules::Rule::deadlock, *e.deadlock)) return;
  diag::Sink said;
  // A phase that waits for the wrong number of bytes is the mistake; the waits follow from it.
  const Barrier* b = phase_of_wrong_bytes(e.last);
  diag::Diagnostic& d =
      b ? broken(said, rules::mbarrier_bytes(b->announced, b->announced - b->outstanding()),
                 program.code.where(*b->announcer))
        : broken(said, rules::deadlock(false), program.code.where(*e.deadlock));
  d.message += when(e.example);
  make_conditional(d, e.deadlock_premises);
  add_standings(program, e.last, e.roots, d);
  out.push_back(std::move(d));
}

}  // namespace

void report(const Program& program, const Explored& e, diag::Sink& sink) {
  std::vector<diag::Diagnostic> found;
  report_breaches(program, e, sink, found);
  report_deadlock(program, e, sink, found);
  if (diag::Diagnostic* cause = cause_of(program, e, found)) {
    cause->notes.push_back({"what follows it is not explored", {}});
  } else if (!e.incomplete.empty()) {
    diag::Sink said;
    diag::Diagnostic& d =
        incomplete(said, e.where ? program.code.where(*e.where) : diag::Where::at(program.code.module->source, {}),
                   e.incomplete, rules::Limit::unfollowed);
    add_followed(program, e, d);
    if (program.threads == 0) d.notes.push_back({"--assume block=N says it", {}});
    for (const Premise& p : program.premises)
      d.notes.push_back(
          {"explored " + text(p) + (p.is_guess ? ", as the text suggests; --assume block=N says it" : ""), {}});
    found.push_back(std::move(d));
  }
  for (diag::Diagnostic& d : found) sink.report(std::move(d));
  report_boxes(program, e, sink);
  report_premises(program, e, sink);
  report_grid(program, e, sink);
}

}  // namespace kiln::verifier::explore
