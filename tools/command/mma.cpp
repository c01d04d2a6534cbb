// kiln mma: dot products of the tensor core on raw words.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <memory>

#include "harness/dot/dot_problem.hpp"
#include "ptx/diag/error.hpp"
#include "tools/command/json.hpp"
#include "tools/command/read_source.hpp"
#include "tools/command/report/console.hpp"
#include "tools/command/subcommands.hpp"

namespace kiln::command {
namespace {

constexpr const char* mma_examples =
    "  kiln mma --json vectors.json\n"
    "  kiln mma --json vectors.json --check     compare with what hardware gave\n"
    "  echo '{\"vectors\": [{\"kind\": \"f16\", \"a_fmt\": \"bf16\", \"b_fmt\": \"bf16\", \"d_fmt\": \"f32\",\n"
    "         \"a\": [16256], \"b\": [16384], \"c\": 0}]}' | kiln mma --json -\n\n"
    "The file is an object with a list \"vectors\"; the output has \"results\": [word, ...], one word of D each.\n"
    "A vector has the words of one row of A and one column of B, each in the low bits of a number:\n"
    "  kind                  f16, tf32, f8f6f4, i8, mxf8f6f4, mxf4 or mxf4nvf4\n"
    "  a_fmt, b_fmt, d_fmt   formats: f16, bf16, tf32, e4m3, e5m2, e3m2, e2m3, e2m1, u8, s8; D: f32, f16, s32\n"
    "  a, b, c               K words, K words, the word of the old D; missing words of a and b are zeros\n"
    "  meta                  sparse: words of 4-bit selectors, the first lowest; a is as long as b, or only what is "
    "kept\n"
    "  scale_fmt, scale_vec  block-scaled: ue8m0 or ue4m3, and how many scales a row has\n"
    "  sa, sb                block-scaled: the scales' bytes\n"
    "  sat, negate_a, negate_b, enable_input_d, scale_input_d\n"
    "                        i8 saturates; as in the instruction, left out: false, false, false, true, 0\n"
    "  instruction, arch     tcgen05.mma (left out), mma.sync or wgmma, and the target of these, such as sm_90a\n"
    "  expect                the word that hardware gave, looked at by --check alone\n"
    "  id, path, provenance  notes";

struct MmaArguments {
  std::string file{};
  bool check = false;
};

// The vectors that differ, one line each.
std::string differences(const std::vector<harness::DotProblem>& problems, const std::vector<std::uint32_t>& results) {
  std::string out;
  std::size_t compared = 0, wrong = 0;
  for (std::size_t i = 0; i < problems.size(); ++i) {
    const harness::DotProblem& p = problems[i];
    if (!p.expect) continue;
    ++compared;
    if (*p.expect == results[i]) continue;
    ++wrong;
    out += fmt::format("{}: got {} ({:#010x}), expected {} ({:#010x})\n", p.name, results[i], results[i], *p.expect,
                       *p.expect);
  }
  if (compared == 0) throw diag::InputError("--check: no vector has \"expect\"");
  if (wrong) out += fmt::format("error: {} of {} vectors differ\n", wrong, compared);
  return out;
}

std::vector<harness::DotProblem> read_problems(const std::string& file) {
  const diag::SourcePtr source = read_source(file);
  return harness::read_dot_problems(source->text(), source->name());
}

int evaluate(const MmaArguments& a) {
  const std::vector<harness::DotProblem> problems = read_problems(a.file);
  std::vector<std::uint32_t> results;
  for (const harness::DotProblem& p : problems) {
    const auto word = harness::evaluate(p);
    if (!word) {
      complain(fmt::format("incomplete: {}: the arithmetic of {} on {} is not modelled\n", p.name,
                           spelling(p.instruction), p.arch));
      return Exit::incomplete;
    }
    results.push_back(*word);
  }
  const std::string wrong = a.check ? differences(problems, results) : std::string();
  print(versioned(fmt::format("{{\"results\": [{}]}}\n", fmt::join(results, ", "))));
  complain(wrong);
  return wrong.empty() ? Exit::clean : Exit::errors;
}

}  // namespace

void add_mma(const Builder& builder) {
  CLI::App* sub = builder.add("mma", "Compute dot products of the tensor core on raw words, bit for bit", mma_examples);
  auto a = std::make_shared<MmaArguments>();
  sub->add_option("--json", a->file, "the vectors; - reads stdin")->required()->type_name("FILE");
  sub->add_flag("--check", a->check, "fail and name the vectors whose word is not the expected one");
  sub->callback([a, &action = builder.action] { action = [a] { return evaluate(*a); }; });
}

}  // namespace kiln::command
