// Where missing waits and fences are put: the findings' fix-its, applied, leave nothing to find and nothing to repair.
#include "ptx/diag/repair.hpp"
#include "tests/unit/verifier/checked.hpp"

namespace verifier_repair {

using namespace kiln;
using test::preamble;

namespace {

diag::Sink judged(const diag::SourcePtr& source) {
  diag::Sink sink;
  const ir::Module module = parse::parse(source, sink);
  REQUIRE(!sink.has_errors());
  verifier::check(module, sink);
  return sink;
}

// The lines that one round of repairs inserts, each with the next line; nothing may be left to repair.
std::string inserted(const std::string& text) {
  const auto before = std::make_shared<const diag::Source>("t.ptx", text);
  const auto after = std::make_shared<const diag::Source>("t.ptx", diag::repair(*before, judged(before)).text);
  CHECK(test::slugs(judged(after)) == "");
  std::string out;
  for (int old_line = 1, line = 1; line <= after->line_count(); ++line) {
    if (old_line <= before->line_count() && after->line(line) == before->line(old_line)) {
      ++old_line;
      continue;
    }
    out += std::string(after->line(line)) + " |" + std::string(after->line(line + 1)) + "\n";
  }
  return out;
}

const std::string head = preamble + R"(
.visible .entry k(.param .u32 k_t, .param .u32 k_n) .reqntid 128
{
  .reg .b32 %t, %n, %me, %x<4>, %s;
  .reg .pred %p;
  ld.param.u32 %t, [k_t];
  ld.param.u32 %n, [k_n];
  mov.u32 %me, %tid.x;
)";

constexpr const char* wait = "  tcgen05.wait::ld.sync.aligned; |";

}  // namespace

TEST_CASE("one wait in front of the first read serves all loads before it") {
  CHECK(inserted(head + R"(
  tcgen05.ld.sync.aligned.32x32b.x1.b32 {%x0}, [%t];
  tcgen05.ld.sync.aligned.32x32b.x1.b32 {%x1}, [%t];
  add.u32 %s, %s, %x1;
  add.u32 %s, %s, %x0;
  ret;
})") == std::string(wait) + "  add.u32 %s, %s, %x1;\n");
}

TEST_CASE("a load that is read on both sides of a branch is waited for on both") {
  CHECK(inserted(head + R"(
  tcgen05.ld.sync.aligned.32x32b.x1.b32 {%x0}, [%t];
  setp.eq.u32 %p, %n, 0;
  @%p bra OTHER;
  add.u32 %s, %s, %x0;
  ret;
OTHER:
  sub.u32 %s, %s, %x0;
  ret;
})") == std::string(wait) + "  add.u32 %s, %s, %x0;\n" + wait + "  sub.u32 %s, %s, %x0;\n");
}

TEST_CASE("a read that a part of a warp reaches is no place for a wait: it goes after the load") {
  CHECK(inserted(head + R"(
  tcgen05.ld.sync.aligned.32x32b.x1.b32 {%x0}, [%t];
  setp.ne.u32 %p, %me, 5;
  @%p bra OUT;
  add.u32 %s, %s, %x0;
OUT:
  ret;
})") == std::string(wait) + "  setp.ne.u32 %p, %me, 5;\n");
}

TEST_CASE("a guarded read is waited for without the guard") {
  CHECK(inserted(head + R"(
  setp.ne.u32 %p, %me, 5;
  tcgen05.ld.sync.aligned.32x32b.x1.b32 {%x0}, [%t];
  @%p add.u32 %s, %s, %x0;
  ret;
})") == std::string(wait) + "  @%p add.u32 %s, %s, %x0;\n");
}

TEST_CASE("what two loads fill and a part of a warp reads has no repair that is right for sure") {
  const auto source = std::make_shared<const diag::Source>("t.ptx", head + R"(
  tcgen05.ld.sync.aligned.32x32b.x1.b32 {%x0}, [%t];
  setp.eq.u32 %p, %n, 0;
  @%p tcgen05.ld.sync.aligned.32x32b.x1.b32 {%x0}, [%t+1];
  setp.ne.u32 %p, %me, 5;
  @%p bra OUT;
  add.u32 %s, %s, %x0;
OUT:
  ret;
})");
  const diag::Sink found = judged(source);
  CHECK(test::slugs(found) == "tcgen05-ld-wait ");
  CHECK(diag::repair(*source, found).findings.empty());
}

}  // namespace verifier_repair
