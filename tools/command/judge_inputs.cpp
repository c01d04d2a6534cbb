#include "tools/command/judge_inputs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>

#include "harness/host/isolated.hpp"
#include "tools/command/packed_findings.hpp"

namespace kiln::command {
namespace {

using Clock = std::chrono::steady_clock;
using Json = nlohmann::json;
using Outcome = InputResult::Outcome;

constexpr const char *not_checked = "not-checked", *internal_error = "internal-error";

std::string bytes_of(const Json& j) {
  std::string out;
  Json::to_cbor(j, out);
  return out;
}

// What a process sends: why nothing was judged, seconds, and for each text its name, itself and what was found. PTX
// files are small beside what judging them takes, so they are sent as well.
std::string judged_bytes(const Input& input, const InputJudge& with) {
  const Clock::time_point begun = Clock::now();
  Json texts = Json::array();
  std::string why;
  try {
    for (const JudgedText& text : with.judge(input))
      texts.push_back({text.source ? text.source->name() : "", std::string(text.source ? text.source->text() : ""),
                       pack(text.judgement, text.source)});
  } catch (const NotExtracted& reason) {
    why = reason.why;
  }
  return bytes_of({why, std::chrono::duration<double>(Clock::now() - begun).count(), texts});
}

void say_incomplete(InputResult& result, const char* slug, const std::string& message) {
  diag::Diagnostic d;
  d.severity = diag::Severity::incomplete;
  d.slug = slug;
  d.message = message;
  d.where.file = result.input.path;
  result.judgement.found.report(std::move(d));
}

void read_judged(const std::string& bytes, InputResult& result) {
  const Json all = Json::from_cbor(bytes);
  result.why = all.at(0).get<std::string>();
  result.seconds = all.at(1).get<double>();
  if (!result.why.empty()) {
    result.outcome = Outcome::not_judged;
    say_incomplete(result, not_checked, fmt::format("this file was not checked: {}", result.why));
  }
  for (const Json& text : all.at(2)) {
    const auto source =
        std::make_shared<const diag::Source>(text.at(0).get<std::string>(), text.at(1).get<std::string>());
    Judgement judged = unpack(text.at(2).get<std::string>(), source);
    result.judgement.found.append(std::move(judged.found));
    result.judgement.global = std::max(result.judgement.global, judged.global);
  }
}

InputResult result_of(const Input& input, const harness::PieceResult& piece) {
  InputResult out;
  out.input = input;
  switch (piece.outcome) {
    case harness::PieceResult::Outcome::done: read_judged(piece.text, out); break;
    case harness::PieceResult::Outcome::unusable:
      out.outcome = Outcome::unusable;
      out.why = piece.text;
      break;
    case harness::PieceResult::Outcome::broken:
      out.outcome = Outcome::broken;
      out.why = piece.text;
      say_incomplete(out, internal_error, fmt::format("Kiln failed on this file, which is a bug of Kiln: {}", out.why));
      break;
  }
  return out;
}

}  // namespace

std::vector<InputResult> judge_inputs(const std::vector<Input>& inputs, const InputJudge& with) {
  const auto work = [&](std::size_t i) { return judged_bytes(inputs[i], with); };
  const std::vector<harness::PieceResult> pieces =
      harness::in_isolation(inputs.size(), std::max(1u, with.at_once), work, with.begins);
  std::vector<InputResult> out;
  for (std::size_t i = 0; i < inputs.size(); ++i) out.push_back(result_of(inputs[i], pieces[i]));
  return out;
}

}  // namespace kiln::command
