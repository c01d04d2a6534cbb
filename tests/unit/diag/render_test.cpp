// One finding, three forms.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "ptx/diag/render.hpp"
#include "ptx/diag/render_json.hpp"

using namespace kiln::diag;

namespace {

Sink one_finding() {
  auto source = std::make_shared<const Source>("gemm.ptx", "first;\n\tadd.u32 %r1, 48;\nlast;\n");
  Sink sink;
  Diagnostic& d = sink.error(source, {22, 24}, "the count must be a power of two; got 48", "tcgen05-alloc-columns");
  d.fixits.push_back({{22, 24}, "64"});
  d.where.file = "gemm.cpp";
  d.where.line = 12;
  d.notes.push_back({"allocated here", Where::at(source, {0, 5})});
  return sink;
}

}  // namespace

TEST_CASE("text has the source line, slug, place, caret under the range, fix-it and notes") {
  CHECK(render_text(one_finding()) ==
        "gemm.cpp:12: error: the count must be a power of two; got 48 [tcgen05-alloc-columns]\n"
        "gemm.ptx:2:16: note: in this instruction\n"
        "\tadd.u32 %r1, 48;\n"
        "\t              ^~\n"
        "\t              64\n"
        "gemm.ptx:1:1: note: allocated here\n"
        "first;\n"
        "^~~~~\n");
}

TEST_CASE("of a very long line only what is around the caret is shown") {
  const std::string line = std::string(300, 'a') + "X" + std::string(300, 'b');
  Sink sink;
  sink.error(std::make_shared<const Source>("f", line), {300, 301}, "here");
  CHECK(render_text(sink) == "f:1:301: error: here\n..." + std::string(60, 'a') + "X" + std::string(99, 'b') + "...\n" +
                                 std::string(63, ' ') + "^\n");
  Sink start;
  start.error(std::make_shared<const Source>("f", line), {2, 3}, "here");
  CHECK(render_text(start) == "f:1:3: error: here\n" + std::string(160, 'a') + "...\n  ^\n");
}

TEST_CASE("of more than three portability findings of a rule the first is shown, and the lines of the others") {
  std::string text;
  for (int i = 0; i < 12; ++i) text += "x;\n";
  const auto source = std::make_shared<const Source>("k.ptx", text);
  const auto found = [&](Severity severity, std::size_t places) {
    Sink sink;
    for (std::uint32_t i = 0; i < places; ++i) {
      Diagnostic& d = sink.error(source, {3 * i, 3 * i + 1}, "a fence is missing", "tcgen05-fence");
      d.severity = severity;
    }
    return sink;
  };
  const std::string first = render_text(found(Severity::portability, 1));
  CHECK(render_grouped(found(Severity::portability, 4), "--all") ==
        first +
            "k.ptx: portability: the same rule at 3 more places: lines 2, 3, 4; --all shows each [tcgen05-fence]\n");
  CHECK(render_grouped(found(Severity::portability, 12), "kiln check --all") ==
        first +
            "k.ptx: portability: the same rule at 11 more places: lines 2, 3, 4, 5, 6, 7, 8, 9 and 3 more; kiln check "
            "--all shows each [tcgen05-fence]\n");
  for (const Sink& each :
       {found(Severity::portability, 3), found(Severity::error, 12), found(Severity::incomplete, 12)})
    CHECK(render_grouped(each, "--all") == render_text(each));
}

TEST_CASE("the short summary names the rules of what is no error, with how often each is broken") {
  Sink sink;
  const auto report = [&](Severity severity, std::string slug) {
    Diagnostic d;
    d.severity = severity;
    d.message = "no";
    d.slug = std::move(slug);
    sink.report(d);
  };
  CHECK(summary_by_rule(sink) == "clean");
  report(Severity::incomplete, "");
  CHECK(summary_by_rule(sink) == "1 incomplete");
  report(Severity::portability, "tcgen05-fence");
  report(Severity::error, "tcgen05-alloc-leak");
  report(Severity::portability, "tcgen05-ld-wait");
  report(Severity::portability, "tcgen05-fence");
  report(Severity::incomplete, "unfollowed");
  CHECK(summary_by_rule(sink) ==
        "1 error, 3 portability (tcgen05-fence x2, tcgen05-ld-wait x1), 2 incomplete (unfollowed x1)");
}

TEST_CASE("a finding at a line of C++ alone names that line") {
  Sink sink;
  Diagnostic d;
  d.message = "no";
  d.where.file = "k.cpp";
  d.where.line = 3;
  sink.report(d);
  CHECK(render_text(sink) == "k.cpp:3: error: no\n");
}

TEST_CASE("JSON has one object per finding and the counts") {
  const auto j = nlohmann::json::parse(render_json(one_finding()));
  CHECK(j["diagnostics"][0]["line"] == 2);
  CHECK(j["diagnostics"][0]["column"] == 16);
  CHECK(j["diagnostics"][0]["behind"]["line"] == 12);
  CHECK(j["diagnostics"][0]["fixits"][0]["text"] == "64");
  CHECK(j["counts"]["error"] == 1);
}

TEST_CASE("SARIF has the rule, the region, the fix and the related place") {
  const auto j = nlohmann::json::parse(render_sarif(one_finding()));
  const auto& r = j["runs"][0]["results"][0];
  CHECK(j["version"] == "2.1.0");
  CHECK(r["ruleId"] == "tcgen05-alloc-columns");
  CHECK(r["locations"][0]["physicalLocation"]["region"]["startColumn"] == 16);
  CHECK(r["fixes"][0]["artifactChanges"][0]["replacements"][0]["insertedContent"]["text"] == "64");
  CHECK(r["relatedLocations"][0]["physicalLocation"]["region"] == nlohmann::json{{"startLine", 12}});
  CHECK(r["relatedLocations"][1]["physicalLocation"]["region"]["startLine"] == 1);
}

TEST_CASE("names that are not UTF-8 do not break JSON") {
  Sink sink;
  sink.error(std::make_shared<const Source>("a\xff.ptx", "x"), {0, 1}, "bad \xfe text");
  CHECK(nlohmann::json::accept(render_json(sink)));
}

TEST_CASE("the summary counts by severity and says clean when there is nothing") {
  CHECK(summary(one_finding()) == "1 error");
  CHECK(summary(Sink{}) == "clean");
}

TEST_CASE("an error outranks incomplete in the exit code, and portability counts only when strict") {
  Sink sink;
  CHECK(exit_code(sink) == 0);
  Diagnostic d;
  d.severity = Severity::portability;
  sink.report(d);
  CHECK(exit_code(sink) == 0);
  CHECK(exit_code(sink, true) == 1);
  d.severity = Severity::incomplete;
  sink.report(d);
  CHECK(exit_code(sink) == 3);
  d.severity = Severity::error;
  sink.report(d);
  CHECK(exit_code(sink) == 1);
}

TEST_CASE("positions are 1-based and the last line needs no line break") {
  const Source s("a", "ab\ncd");
  CHECK(s.position(0).line == 1);
  CHECK(s.position(4).line == 2);
  CHECK(s.position(4).column == 2);
  CHECK(s.line(2) == "cd");
  CHECK(s.line(3) == "");
}
