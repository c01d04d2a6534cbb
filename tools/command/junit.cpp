#include "tools/command/junit.hpp"

#include <fmt/format.h>

#include "ptx/diag/render.hpp"

namespace kiln::command {
namespace {

using Outcome = InputResult::Outcome;

// XML 1.0 has no other control characters, and is UTF-8: each byte that is neither becomes a question mark.
std::string escaped(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    const bool is_printable = c >= 0x20 && c < 0x7f;
    if (c == '&')
      out += "&amp;";
    else if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '"')
      out += "&quot;";
    else
      out += is_printable || c == '\n' || c == '\t' ? char(c) : '?';
  }
  return out;
}

enum class State : std::uint8_t { passed, failed, skipped, error };

State state_of(const InputResult& r, bool strict) {
  if (r.outcome == Outcome::unusable || r.outcome == Outcome::broken) return State::error;
  switch (diag::exit_code(r.judgement.found, strict)) {
    case 0: return State::passed;
    case 3: return State::skipped;
    default: return State::failed;
  }
}

const char* element(State s) {
  switch (s) {
    case State::failed: return "failure";
    case State::skipped: return "skipped";
    case State::error: return "error";
    case State::passed: break;
  }
  return "system-out";
}

std::string test_case(const InputResult& r, State state) {
  std::string out = fmt::format("    <testcase classname=\"kiln.check\" name=\"{0}\" file=\"{0}\" time=\"{1:.3f}\"",
                                escaped(r.input.path), r.seconds);
  const std::string text = escaped(diag::render_grouped(r.judgement.found, "--all"));
  if (state == State::passed && text.empty()) return out + "/>\n";
  const std::string message = escaped(r.why.empty() ? diag::summary(r.judgement.found) : r.why);
  const std::string attribute = state == State::passed ? "" : fmt::format(" message=\"{}\"", message);
  return out + fmt::format(">\n      <{0}{1}>{2}</{0}>\n    </testcase>\n", element(state), attribute, text);
}

}  // namespace

std::string junit(const std::vector<InputResult>& results, bool strict) {
  std::size_t failed = 0, skipped = 0, errors = 0;
  double seconds = 0;
  std::string cases;
  for (const InputResult& r : results) {
    const State state = state_of(r, strict);
    failed += state == State::failed;
    skipped += state == State::skipped;
    errors += state == State::error;
    seconds += r.seconds;
    cases += test_case(r, state);
  }
  const std::string counts = fmt::format("tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\" time=\"{:.3f}\"",
                                         results.size(), failed, errors, skipped, seconds);
  return fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites {0}>\n  <testsuite name=\"kiln check\" {0}>\n{1}"
      "  </testsuite>\n</testsuites>\n",
      counts, cases);
}

}  // namespace kiln::command
