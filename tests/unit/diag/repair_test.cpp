// Fix-its made into edits: what changes, what stays, byte for byte.
#include <doctest/doctest.h>

#include "ptx/diag/repair.hpp"

using namespace kiln::diag;

namespace {

struct Case {
  explicit Case(std::string text) : source(std::make_shared<const Source>("t.ptx", std::move(text))) {}

  Place of(std::string_view word) const {
    const std::size_t at = source->text().find(word);
    REQUIRE(at != std::string_view::npos);
    return {std::uint32_t(at), std::uint32_t(at + word.size())};
  }
  void ask(std::vector<FixIt> fixits) {
    Diagnostic d;
    d.where = Where::at(source, {0, 1});
    d.fixits = std::move(fixits);
    sink.report(std::move(d));
  }
  std::string text() const { return repair(*source, sink).text; }

  SourcePtr source;
  Sink sink{};
};

}  // namespace

TEST_CASE("a statement is put in front of another on a line of its own, indented alike, with the file's line breaks") {
  Case unix_text("{\n\tld a;\n\tuse a;\n}\n");
  unix_text.ask({insert_before(*unix_text.source, unix_text.of("use a;"), "wait;")});
  CHECK(unix_text.text() == "{\n\tld a;\n\twait;\n\tuse a;\n}\n");
  Case dos("{\r\n  ld a;\r\n  use a;\r\n}\r\n");
  dos.ask({insert_before(*dos.source, dos.of("use a;"), "wait;")});
  CHECK(dos.text() == "{\r\n  ld a;\r\n  wait;\r\n  use a;\r\n}\r\n");
}

TEST_CASE("in front of a statement that shares its line the insertion shares it too") {
  Case c("  ld a; use a;\nL: use b;\n");
  c.ask({insert_before(*c.source, c.of("use a;"), "wait;")});
  c.ask({insert_before(*c.source, c.of("use b;"), "wait;")});
  CHECK(c.text() == "  ld a; wait; use a;\nL: wait; use b;\n");
}

TEST_CASE("an insertion after a statement leaves the comment of its line where it is") {
  Case c("  ld a;  // first\n  use a;\n");
  c.ask({insert_behind(*c.source, c.of("ld a;"), "wait;")});
  CHECK(c.text() == "  ld a;  // first\n  wait;\n  use a;\n");
  Case dos("  ld a;\r\n  use a;");
  dos.ask(
      {insert_behind(*dos.source, dos.of("ld a;"), "wait;"), insert_behind(*dos.source, dos.of("use a;"), "done;")});
  CHECK(dos.text() == "  ld a;\r\n  wait;\r\n  use a;\r\n  done;");
  Case shared("  ld a; use a;\n  ld b; /* long\n*/ use b;\n");
  shared.ask({insert_behind(*shared.source, shared.of("ld a;"), "wait;")});
  shared.ask({insert_behind(*shared.source, shared.of("ld b;"), "wait;")});
  CHECK(shared.text() == "  ld a; wait; use a;\n  ld b; wait; /* long\n*/ use b;\n");
}

TEST_CASE("an edit that two findings ask for is made once, and both are repaired") {
  Case c("use a, b;");
  c.ask({insert_before(*c.source, c.of("use a, b;"), "wait;")});
  c.ask({insert_before(*c.source, c.of("use a, b;"), "wait;")});
  CHECK(c.text() == "wait;\nuse a, b;");
  CHECK(repair(*c.source, c.sink).findings == std::vector<std::size_t>{0, 1});
}

TEST_CASE("of edits that overlap the first is made, and a finding is repaired wholly or not at all") {
  Case c("alloc 48, 99;");
  c.ask({{c.of("48"), "64"}});
  c.ask({{c.of("99"), "100"}, {c.of("48"), "32"}});
  CHECK(c.text() == "alloc 64, 99;");
  CHECK(repair(*c.source, c.sink).findings == std::vector<std::size_t>{0});
}

TEST_CASE("insertions at one place keep the order of the findings") {
  Case c("use;");
  c.ask({{{0, 0}, "a;"}});
  c.ask({{{0, 0}, "b;"}});
  CHECK(c.text() == "a;b;use;");
}

TEST_CASE("findings without fix-its and those about other texts change nothing") {
  Case c("as it was\n"), other("something else\n");
  c.ask({});
  other.ask({{{0, 4}, "no"}});
  c.sink.append(other.sink);
  CHECK(c.text() == "as it was\n");
  CHECK(repair(*c.source, c.sink).findings.empty());
}
