// Which commits write the sums to where tcgen05.ld finds them.
#include "tests/unit/lower/lowered.hpp"

namespace lower_flush {

using namespace kiln;
using namespace kiln::test;

namespace {

// Warp 0 multiplies and commits to `ring`; warp 1 waits for that and does `after`; warp 2 waits for `go` and does
// `reads`.
std::string kernel(const std::string& after, const std::string& reads) {
  return R"(.version 8.6
.target sm_100a
.address_size 64
.visible .entry kernel()
.reqntid 96, 1, 1
{
  .reg .b32 %r<10>;
  .reg .b64 %rd<4>;
  .reg .pred %p<4>;
  .shared .align 8 .b64 ring;
  .shared .align 8 .b64 go;
  .shared .align 4 .b32 address;
  .shared .align 1024 .b8 tile[32768];
  mov.u32 %r1, %tid.x;
  shr.u32 %r1, %r1, 5;
  setp.ne.u32 %p1, %r1, 0;
  @%p1 bra meet;
  tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [address], 128;
  mbarrier.init.shared::cta.b64 [ring], 1;
  mbarrier.init.shared::cta.b64 [go], 32;
meet:
  bar.sync 0;
  ld.shared.b32 %r0, [address];
  setp.eq.u32 %p1, %r1, 1;
  @%p1 bra second;
  setp.eq.u32 %p1, %r1, 2;
  @%p1 bra third;
  mov.b64 %rd0, 0x4000404000010000;
  tcgen05.mma.cta_group::1.kind::f16 [%r0], %rd0, %rd0, 0x8200490, 0;
  tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [ring];
  bra end;
second:
  mbarrier.try_wait.parity.shared::cta.b64 %p2, [ring], 0;
  @!%p2 bra second;
)" + after +
         R"(
  bra end;
third:
  mbarrier.try_wait.parity.shared::cta.b64 %p2, [go], 0;
  @!%p2 bra third;
)" + reads +
         R"(
end:
  bar.sync 0;
  @%p1 bra leave;
  tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r0, 128;
leave:
  ret;
}
)";
}

std::size_t occurrences(const std::string& text, const std::string& what) {
  std::size_t out = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++out;
  return out;
}

// Where commands are given, those that free columns and end the engine included.
std::size_t pushes(std::string text, const std::string& commit = "  tcgen05.commit") {
  text.replace(text.find("  tcgen05.commit"), 16, commit);
  diag::Sink sink;
  const auto out = lower::lower(parsed(text, {}).module, {}, sink);
  INFO(diag::render_text(sink));
  REQUIRE(out);
  return occurrences(emit::emit_unverified(out->module), "shared::cta.add.u32");
}

std::size_t flushes(const std::string& after, const std::string& reads) {
  const Kernel k = parsed(kernel(after, reads), {});
  diag::Sink sink;
  const auto out = lower::lower(k.module, {}, sink);
  INFO(diag::render_text(sink));
  REQUIRE(out);
  REQUIRE(out->reports.size() == 1);
  CHECK(out->reports[0].commits == 1);
  return out->reports[0].flushes;
}

const std::string reading = "  tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r5}, [%r0];\n  tcgen05.wait::ld.sync.aligned;";
const std::string writing = "  tcgen05.st.sync.aligned.32x32b.x1.b32 [%r0], {%r5};\n  tcgen05.wait::st.sync.aligned;";
const std::string pass_on = "  mbarrier.arrive.shared::cta.b64 _, [go];";

}  // namespace

TEST_CASE("a commit writes the sums when a thread that waits for it reads or writes tensor memory") {
  CHECK(flushes("", "") == 0);
  CHECK(flushes(reading, "") == 1);
  CHECK(flushes(writing, "") == 1);
}

TEST_CASE("a reader that waits for something else counts only when a thread that waits for the commit signals that") {
  CHECK(flushes("", reading) == 0);
  CHECK(flushes(pass_on, reading) == 1);
  CHECK(flushes("  bar.arrive 1, 64;", "  bar.sync 1, 64;\n" + reading) == 1);
  CHECK(flushes("  bar.arrive 1, 64;", "  bar.sync 2, 64;\n" + reading) == 0);
}

TEST_CASE("what others may see, and is not followed, counts as a reader") {
  CHECK(flushes("  atom.shared.add.u32 %r5, [address], 1;", "") == 1);
  CHECK(flushes("  st.release.cta.shared.b32 [address], %r5;", "") == 1);
}

TEST_CASE("a commit right after its MMAs that writes no sums is part of their command, and else has its own") {
  CHECK(pushes(kernel("", "")) == 3);
  CHECK(pushes(kernel(reading, "")) == 4);
  CHECK(pushes(kernel("", ""), "  @%p1 tcgen05.commit") == 4);
  CHECK(pushes(kernel("", ""), "  mbarrier.test_wait.parity.shared::cta.b64 %p2, [go], 0;\n  tcgen05.commit") == 4);
}

}  // namespace lower_flush
