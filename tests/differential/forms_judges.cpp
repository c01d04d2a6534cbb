#include "tests/differential/forms_judges.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <memory>
#include <numeric>

#include "harness/host/files.hpp"
#include "harness/host/process.hpp"
#include "ptx/diag/error.hpp"
#include "ptx/isa/features.hpp"
#include "ptx/parse/parse.hpp"
#include "tests/about_form.hpp"
#include "verifier/verify.hpp"

namespace kiln::test {
namespace {

// Names say what is declared: a register's letter its type, a symbol's first letter its space. Mutations use them all.
constexpr std::string_view declarations =
    ".address_size 64\n"
    ".shared .align 16 .b64 smbar[2]; .shared .align 128 .b8 smem[1024]; .global .align 64 .b64 gmem[64]; "
    ".const .b64 cmem[2]; .global .texref tex0; .global .surfref surf0;\n";
constexpr std::string_view registers =
    "{ .local .b64 lmem[2]; .reg .b32 r<300>; .reg .u32 u<40>; .reg .s32 s<40>; .reg .f32 f<300>; .reg .b64 d<40>; "
    ".reg .u64 ud<10>; .reg .s64 sd<10>; .reg .f64 fd<40>; .reg .b16 h<10>; .reg .u16 uh<10>; .reg .s16 sh<10>; "
    ".reg .f16 hf<10>; .reg .f16x2 hx<10>; .reg .b8 b<4>; .reg .b8 bb<4>; .reg .pred p<10>; ";
constexpr std::string_view wide_registers = ".reg .b128 q<4>; ";
constexpr int first_line = 6;
constexpr std::chrono::seconds timeout{60};

std::string head_of(const Setting& setting) {
  return fmt::format(".version {}.{}\n.target {}\n{}", setting.version.major, setting.version.minor,
                     isa::spelling(setting.target), declarations);
}

std::string registers_of(const Setting& setting) {
  std::string out(registers);
  if (setting.version >= isa::lowest_version(isa::Feature::type_128)) out += wide_registers;
  return out;
}

// One entry a line, so that a message's line is an instruction's number.
std::string module_of(const Setting& setting, std::span<const std::string> instructions,
                      std::span<const std::size_t> chosen) {
  const std::string declared = registers_of(setting);
  std::string out = head_of(setting) + fmt::format(".visible .entry empty() {} ret; }}\n", declared);
  for (std::size_t n = 0; n < chosen.size(); ++n)
    out += fmt::format(".visible .entry k{}() {}{} ret; }}\n", n, declared, instructions[chosen[n]]);
  return out;
}

// Each instruction is a text of its own, and all are given to one ptxas: it ends a text at the first fatal error, and reads
// the other texts. In each the entry stands on another line, so that a message's line is an instruction's number.
class PtxasJudge {
 public:
  PtxasJudge(const harness::Ptxas& ptxas, const Setting& setting, std::span<const std::string> instructions)
      : ptxas_(ptxas), setting_(setting), instructions_(instructions), refusals_(instructions.size()) {}

  std::vector<Refusal> run() {
    const std::string head = head_of(setting_), declared = registers_of(setting_);
    harness::write_file(text_of(0), head + ".visible .entry empty() { ret; }\n");
    for (std::size_t i = 0; i < instructions_.size(); ++i)
      harness::write_file(text_of(i + 1), fmt::format("{}\n{}.visible .entry k{}() {}{} ret; }}\n", head,
                                                      std::string(i, '\n'), i, declared, instructions_[i]));
    if (!ask({}).accepted) throw diag::InputError("ptxas refuses an empty kernel for " + spelling(setting_));
    std::vector<std::size_t> all(instructions_.size());
    std::iota(all.begin(), all.end(), std::size_t(0));
    judge(std::move(all));
    return std::move(refusals_);
  }

 private:
  struct Answer {
    bool accepted = false, crashed = false;
    std::map<std::size_t, std::string> errors{}, fatal{}, narrow{};  // by instruction: first message; of a narrow address
    std::string unplaced{};
  };

  // Modifiers in front of a fatal error are counted with those of the next text, so other errors are believed only where
  // there is no fatal one. What no error named is asked again, because later passes of ptxas refuse more. Crashes are
  // narrowed down.
  void judge(std::vector<std::size_t> chosen) {
    while (!chosen.empty()) {
      const Answer answer = ask(chosen);
      if (answer.accepted) return;
      const auto& named = answer.fatal.empty() ? answer.errors : answer.fatal;
      if (answer.crashed || named.empty()) return narrow(chosen, answer);
      for (const auto& [i, message] : named) refusals_[i] = message;
      std::erase_if(chosen, [&](std::size_t i) { return named.contains(i); });
    }
  }

  void narrow(const std::vector<std::size_t>& chosen, const Answer& answer) {
    if (chosen.size() == 1) {
      refusals_[chosen[0]] = answer.crashed ? "crash" : answer.unplaced;
      if (refusals_[chosen[0]].empty())
        throw diag::InputError("ptxas refuses without a reason: " + instructions_[chosen[0]]);
      return;
    }
    const auto middle = chosen.begin() + std::ptrdiff_t(chosen.size() / 2);
    judge({chosen.begin(), middle});
    judge({middle, chosen.end()});
  }

  std::string text_of(std::size_t number) const { return folder_.file(fmt::format("{}.ptx", number)); }

  Answer ask(std::span<const std::size_t> chosen) {
    std::vector<std::string> command{ptxas_.path, "-arch=" + isa::spelling(setting_.target), "-o",
                                     folder_.file("forms.cubin"), text_of(0)};
    for (const std::size_t i : chosen) command.push_back(text_of(i + 1));
    const auto ran = harness::run_process(command, timeout);
    Answer answer;
    answer.accepted = ran.exit_code == 0;
    answer.crashed = ran.signal != 0 || ran.timed_out;
    for (std::string_view rest = ran.err; !rest.empty();) {
      const std::size_t end = std::min(rest.find('\n'), rest.size());
      read_message(rest.substr(0, end), answer);
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    // A generic address in a 32-bit register turns all texts down, and only warnings say where there is one.
    if (answer.unplaced.find("32-Bit") != std::string::npos) answer.errors.merge(answer.narrow);
    return answer;
  }

  // "ptxas FILE, line 8; error   : Arguments mismatch for instruction 'mov'", or without a line.
  void read_message(std::string_view line, Answer& answer) const {
    const std::size_t colon = line.find(" : "), at = line.find(", line ");
    if (colon == line.npos || line.find("Ptx assembly aborted") != line.npos) return;
    const std::string_view head = line.substr(0, colon);
    const std::string_view narrow_address = "Program uses 32-bit address on line '";
    if (const std::size_t where = line.find(narrow_address); where != line.npos) {
      if (const auto i = at_line(line.substr(where + narrow_address.size()))) answer.narrow.emplace(*i, line);
      return;
    }
    const bool fatal = head.find("fatal") != head.npos;
    if (!fatal && head.find("error") == head.npos) return;
    const std::string message(line.substr(colon + 3));
    // What ptxas makes of some instructions it reads again, and then counts the lines of that.
    const bool placed = at < colon && head.find("<builtin>") == head.npos;
    if (const auto i = placed ? at_line(line.substr(at + 7)) : std::nullopt)
      (fatal ? answer.fatal : answer.errors).emplace(*i, message);
    else
      answer.unplaced = message;
  }

  // The instruction on the line whose number a text starts with.
  std::optional<std::size_t> at_line(std::string_view text) const {
    int number = 0;
    std::from_chars(text.data(), text.data() + text.size(), number);
    if (number < first_line || number - first_line >= int(instructions_.size())) return std::nullopt;
    return std::size_t(number - first_line);
  }

  const harness::Ptxas& ptxas_;
  const Setting& setting_;
  const std::span<const std::string> instructions_;
  const harness::TemporaryFolder folder_{};
  std::vector<Refusal> refusals_;
};

// Judges instructions in one text. Where a syntax error stands on the line of one, the text of others may have led to
// what is found: then nothing is said, and the answer is which of them have such an error.
std::vector<std::size_t> judge_by_kiln(const Setting& setting, std::span<const std::string> instructions,
                                       std::span<const std::size_t> chosen, std::vector<Refusal>& refusals) {
  const auto source = std::make_shared<const diag::Source>("forms.ptx", module_of(setting, instructions, chosen));
  const auto number = [&](const diag::Diagnostic& d) {
    const auto n = std::size_t(source->position(d.where.place.begin).line - first_line);
    return n < chosen.size() ? n : 0;
  };
  diag::Sink sink;
  const ir::Module module = parse::parse(source, sink);
  if (sink.has_errors() && chosen.size() > 1) {
    std::vector<std::size_t> out;
    for (const diag::Diagnostic& d : sink.all())
      if (const std::size_t i = chosen[number(d)]; out.empty() || out.back() != i) out.push_back(i);
    return out;
  }
  verifier::check(module, sink, rules::Profile::isa, {}, setting.ptxas);
  for (const diag::Diagnostic& d : sink.all()) {
    if (!is_about_form(d.slug)) continue;
    Refusal& refusal = refusals[chosen[number(d)]];
    if (!refusal.empty()) refusal += "; ";
    refusal += d.message + (d.slug.empty() ? "" : " [" + d.slug + "]");
  }
  return {};
}

}  // namespace

std::string spelling(const Setting& s) {
  return isa::spelling(s.target) + fmt::format("@{}.{}", s.version.major, s.version.minor);
}

std::string module_of(const Setting& setting, std::span<const std::string> instructions) {
  std::vector<std::size_t> all(instructions.size());
  std::iota(all.begin(), all.end(), std::size_t(0));
  return module_of(setting, instructions, all);
}

std::vector<Refusal> ask_ptxas(const harness::Ptxas& ptxas, const Setting& setting,
                               std::span<const std::string> instructions) {
  return PtxasJudge(ptxas, setting, instructions).run();
}

std::vector<Refusal> ask_kiln(const Setting& setting, std::span<const std::string> instructions) {
  std::vector<Refusal> refusals(instructions.size());
  std::vector<std::size_t> all(instructions.size());
  std::iota(all.begin(), all.end(), std::size_t(0));
  for (;;) {
    const std::vector<std::size_t> unread = judge_by_kiln(setting, instructions, all, refusals);
    for (const std::size_t& i : unread) judge_by_kiln(setting, instructions, {&i, 1}, refusals);
    std::erase_if(all, [&](std::size_t i) { return std::count(unread.begin(), unread.end(), i) != 0; });
    if (unread.empty() || all.empty()) break;
  }
  return refusals;
}

}  // namespace kiln::test
