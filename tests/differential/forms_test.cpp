// A sample of what the program `oracle` asks: Kiln's forms against ptxas.
#include <doctest/doctest.h>

#include <unordered_set>

#include "harness/host/files.hpp"
#include "ptx/parse/parse.hpp"
#include "tests/differential/forms_compare.hpp"
#include "tests/differential/forms_grammar.hpp"
#include "tests/differential/forms_rows.hpp"
#include "tests/skip.hpp"
#include "verifier/verify.hpp"

using namespace kiln;
using namespace kiln::test;

namespace {

const std::vector<std::string>& all() {
  static const auto made = instructions(read_grammar(KILN_TEST_DATA "/forms/grammar"));
  return made;
}

}  // namespace

TEST_CASE("the generated instructions are many, each is there once, and they are the same every time") {
  REQUIRE(all().size() > 100'000);
  CHECK(std::unordered_set<std::string>(all().begin(), all().end()).size() == all().size());
  CHECK(instructions(read_grammar(KILN_TEST_DATA "/forms/grammar")) == all());
}

TEST_CASE("patterns of exceptions") {
  CHECK(matches("tcgen05.*.b32*", "tcgen05.ld.sync.b32 r1;"));
  CHECK_FALSE(matches("tcgen05.*.b32", "tcgen05.ld.sync.b32 r1;"));
  CHECK(matches("* ~, [*", "x.y smem, [r1];"));
  CHECK_FALSE(matches("x.y ~, [*", "x.y [smem], [r1];"));
}

TEST_CASE("an exception leaves out the instructions that it names") {
  Exception e;
  e.setting = "*", e.instruction = "*.b8x16*", e.left_out = {"ldmatrix", "tcgen05.cp"};
  CHECK(is_about(e, "sm_100a@9.0", "atom.b8x16.add.u32 r1, [d2], r3;"));
  CHECK_FALSE(is_about(e, "sm_100a@9.0", "@p1 ldmatrix.sync.b8x16 {r1}, [smem];"));
  CHECK_FALSE(is_about(e, "sm_100a@9.0", "tcgen05.cp.b8x16 [r1], d1;"));
}

TEST_CASE("an exception with words is about what is refused with these alone") {
  CHECK(says("must not have it; got .row [form-modifiers]", "got .row"));
  CHECK_FALSE(says("must not have it; got .row_major [form-modifiers]", "got .row"));
  CHECK_FALSE(says("must not have it; got .row [form-modifiers]; must have it; got 'r1' [form-operands]", "got .row"));
  CHECK(says("got '[h1]' where an address belongs [form-operands]", "got '[h1]'"));
  CHECK(says("Illegal vector size: 8", "Illegal vector size"));
  CHECK_FALSE(says("must not have it; got .shared::cta [form-modifiers]", "got .shared"));
  CHECK_FALSE(says("must not have it; got .kind::f16 [form-modifiers]", "f16"));
  CHECK(says("anything", ""));
}

TEST_CASE("what a refusal got stands in the instruction") {
  const auto word = [](const char* said) {
    Exception e;
    e.said = said;
    return std::string(needed_word(e));
  };
  CHECK(word("got .row") == ".row");
  CHECK(word("got '[h1]'") == "[h1]");
  CHECK(word("got no .relaxed") == "");
  CHECK(word("got none of .finite") == "");
  CHECK(word("where an address in shared memory belongs") == "");
}

TEST_CASE("what ptxas said is kept in a file, for one setting and the same declarations") {
  const harness::TemporaryFolder folder;
  const harness::Ptxas ptxas{"/nowhere/ptxas", "13.0.88"};
  const Setting setting{isa::sm_100a, {9, 0}};
  Answers written(folder.path(), ptxas, setting);
  written.add("add.s32 r1, r2;", "Arguments mismatch");
  written.add("add.s32 r1, r2, r3;", "");
  written.write();
  const Answers read(folder.path(), ptxas, setting);
  CHECK(read.of("add.s32 r1, r2;") == "Arguments mismatch");
  CHECK(read.of("add.s32 r1, r2, r3;") == "");
  CHECK_FALSE(read.of("sub.s32 r1, r2, r3;").has_value());
  CHECK_FALSE(Answers(folder.path(), ptxas, {isa::sm_90a, {9, 0}}).of("add.s32 r1, r2;").has_value());
  // Known of all of them, so that no ptxas is started.
  Exceptions none;
  const Tally tally = compare(ptxas, setting, {"add.s32 r1, r2;", "add.s32 r1, r2, r3;"}, none, {1, &written});
  CHECK(tally.accepted == 1);
  CHECK(tally.disagreements.empty());
}

TEST_CASE("ptxas says of many instructions what it says of each alone") {
  const harness::Ptxas ptxas = harness::find_ptxas();
  if (!ptxas.found()) return skip("no ptxas: " + ptxas.missing);
  const Setting setting{isa::sm_90a, {9, 0}};
  const auto sample = thinned(all(), 60);
  const auto together = ask_ptxas(ptxas, setting, sample);
  for (std::size_t i = 0; i < sample.size(); ++i)
    CHECK_MESSAGE(ask_ptxas(ptxas, setting, {&sample[i], 1})[0].empty() == together[i].empty(), sample[i]);
}

TEST_CASE("a sample of the instructions is accepted by Kiln exactly where ptxas accepts it") {
  const harness::Ptxas ptxas = harness::find_ptxas();
  if (!ptxas.found()) return skip("no ptxas: " + ptxas.missing);
  const auto version = isa::parse_ptxas_version(ptxas.version);
  if (!version) return skip("a ptxas that Kiln does not know: " + ptxas.version);
  Exceptions exceptions = read_exceptions(KILN_TEST_DATA "/forms/exceptions.txt", *version);
  for (const isa::Target target : {isa::sm_100a, isa::sm_103f, isa::sm_90a}) {
    const Tally tally = compare(ptxas, {target, {9, 0}, *version}, thinned(all(), 700), exceptions);
    CHECK(tally.forms >= 700);
    CHECK(tally.accepted > 10);
    for (const Disagreement& d : tally.disagreements) FAIL_CHECK(d.text());
  }
}

TEST_CASE("samples of PTX 9.0 to 9.5: Kiln takes what ptxas 13.5 took, or 13.0 alone, and none that was refused") {
  const std::string path = KILN_TEST_DATA "/forms/newer_exceptions.txt";
  Exceptions exceptions = read_exceptions(path, isa::newest_ptxas),
             withdrawn = read_exceptions(path, isa::oldest_ptxas);
  const auto check = [](const Tally& tally, std::size_t fewest) {
    CHECK(tally.forms > fewest);
    for (const Disagreement& d : tally.disagreements) FAIL_CHECK(d.text());
  };
  check(ask_accepted(read_accepted_rows(KILN_TEST_DATA "/forms/newer.txt"), 37, exceptions), 800);
  check(ask_withdrawn(read_accepted_rows(KILN_TEST_DATA "/forms/withdrawn.txt"), 1, withdrawn, exceptions), 1000);
  check(ask_refused(read_refused_rows(KILN_TEST_DATA "/forms/newer_refused.txt"), 23, exceptions), 800);
}

namespace {

// The slugs of what Kiln finds in an instruction when no version of ptxas is asked about.
std::string slugs(const Setting& setting, const std::string& instruction) {
  diag::Sink sink;
  const auto source = std::make_shared<const diag::Source>("k.ptx", module_of(setting, {&instruction, 1}));
  verifier::check(parse::parse(source, sink), sink);
  std::string out;
  for (const diag::Diagnostic& d : sink.all()) out += d.slug + " ";
  return out;
}

}  // namespace

TEST_CASE("Kiln judges as each version of ptxas does what not all of them take, and ptxas does") {
  const auto rows = read_versions_rows(KILN_TEST_DATA "/forms/ptxas_versions.txt");
  REQUIRE(rows.size() > 40);
  const harness::Ptxas ptxas = harness::find_ptxas();
  const auto here = ptxas.found() ? isa::parse_ptxas_version(ptxas.version) : std::nullopt;
  if (!here) skip("no ptxas that Kiln knows");
  for (const VersionsRow& row : rows) {
    CAPTURE(row.instruction);
    for (int minor = 0; minor <= isa::newest_ptxas.minor; ++minor) {
      const Setting setting{row.target, row.version, {13, minor}};
      const bool taken = row.answers[std::size_t(minor)] == '+';
      CHECK_MESSAGE(ask_kiln(setting, {&row.instruction, 1})[0].empty() == taken, isa::spelling(setting.ptxas));
      const bool is_known = isa::lowest_version(row.target) <= isa::newest_version_of(setting.ptxas) &&
                            row.version <= isa::newest_version_of(setting.ptxas);
      if (here == setting.ptxas && is_known)
        CHECK(ask_ptxas(ptxas, setting, {&row.instruction, 1})[0].empty() == taken);
    }
  }
}

TEST_CASE("what the newest ptxas withdrew is a portability finding, and what it does not survive a note") {
  for (const VersionsRow& row : read_versions_rows(KILN_TEST_DATA "/forms/ptxas_versions.txt")) {
    CAPTURE(row.instruction);
    const std::string found = slugs({row.target, row.version}, row.instruction);
    CHECK((found.find("ptxas-withdrawn ") != found.npos) == (row.answers.back() == '-'));
    CHECK((found.find("ptxas-crash ") != found.npos) == (row.answers.back() == '!'));
    CHECK(found.find("ptxas-version ") == found.npos);
  }
  // Of what ptxas 13.0 took and 13.5 refuses, columns that no allocation has are errors whatever ptxas says.
  for (const AcceptedRows& group : read_accepted_rows(KILN_TEST_DATA "/forms/withdrawn.txt"))
    for (const std::string& i : group.instructions) {
      const std::string found = slugs({group.targets[0], group.version}, i);
      CHECK_MESSAGE(
          found.find(i.starts_with("tcgen05.dealloc") ? "tcgen05-alloc-columns " : "ptxas-withdrawn ") != found.npos,
          i);
    }
}
