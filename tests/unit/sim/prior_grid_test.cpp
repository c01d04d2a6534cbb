// Programmatic dependent launches: what the grid before touches, and griddepcontrol.wait.
#include <doctest/doctest.h>

#include "tests/unit/sim/run.hpp"

namespace sim_prior_grid {

using namespace kiln;
using namespace kiln::test;

namespace {

// Two kernels in one module: `first` stores to 64 bytes of X and reads Y, `second` is the body given.
Run run_two(const std::string& second, bool overlaps, const std::string& first = "st.global.u32 [%x], 5;") {
  launch::Contract c;
  c.buffers = {buffer("X", 256), buffer("Y", 256)};
  launch::Launch l;
  l.entry = "first";
  l.params = {pointer("X"), pointer("Y")};
  c.launches = {l, l};
  c.launches[1].entry = "second";
  if (overlaps) c.launches[1].pdl.emplace();
  const auto entry = [](const std::string& name, const std::string& body) {
    return ".visible .entry " + name +
           "(.param .u64 X, .param .u64 Y) { .reg .b64 %x, %y; .reg .b32 %r<4>; .reg .pred %p; .shared .align 16 .b8 "
           "s[16]; ld.param.u64 %x, [X]; ld.param.u64 %y, [Y];" +
           body + " ret; }\n";
  };
  return run(head + entry("first", first) + entry("second", second), c);
}

constexpr const char* reads = "ld.global.u32 %r1, [%x]; st.global.u32 [%y], %r1;";
constexpr const char* waits = "griddepcontrol.wait;";

}  // namespace

TEST_CASE("a launch that does not overlap reads what the one before wrote") {
  const Run r = run_two(reads, false);
  REQUIRE_MESSAGE(r.clean(), r.findings());
  CHECK(r.read<std::uint32_t>("Y")[0] == 5);
}

TEST_CASE("a dependent launch reads what the one before wrote after griddepcontrol.wait, and not before") {
  const Run late = run_two(waits + std::string(reads), true);
  REQUIRE_MESSAGE(late.clean(), late.findings());
  CHECK(late.read<std::uint32_t>("Y")[0] == 5);
  const Run early = run_two(reads + std::string(waits), true);
  CHECK_MESSAGE(early.has("got a read of `X` from byte 0 by warp 0, lane 0 of CTA (0, 0, 0) [pdl-wait]"),
                early.findings());
  CHECK(early.has("against the write by the grid before this one, which may still run"));
  CHECK(early.has("repair: griddepcontrol.wait before this access"));
  CHECK(early.sink.all().size() == 1);
}

TEST_CASE("a dependent launch writes what the one before reads or writes after griddepcontrol.wait") {
  const std::string first = "ld.global.u32 %r1, [%x+16]; st.global.u32 [%x], 5;";
  CHECK(run_two("griddepcontrol.wait; st.global.u32 [%x], 6; st.global.u32 [%x+16], 6;", true, first).clean());
  CHECK(run_two("st.global.u32 [%x], 6;", true, first).has("against the write by the grid before"));
  CHECK(run_two("st.global.u32 [%x+16], 6;", true, first).has("against the read by the grid before"));
  CHECK(run_two("ld.global.u32 %r1, [%x+16];", true, first).clean());  // two reads
}

TEST_CASE("bytes that the launch before left alone need no wait, and reads of them stay read") {
  const std::string first = "st.global.u32 [%x+4], 5;";
  CHECK(run_two("ld.global.u32 %r1, [%x]; ld.global.u32 %r1, [%x+8]; st.global.u32 [%y], 1;", true, first).clean());
  CHECK(run_two("ld.global.v2.u32 {%r1, %r2}, [%x];", true, first).has("[pdl-wait]"));
}

TEST_CASE("launch_dependents is no edge of memory") {
  const std::string lets = "griddepcontrol.launch_dependents;";
  CHECK(run_two(reads, true, "st.global.u32 [%x], 5; " + lets).has("[pdl-wait]"));
  CHECK(run_two(lets + reads, true).has("[pdl-wait]"));
  CHECK(run_two(waits + lets + reads, true, lets + "st.global.u32 [%x], 5;").clean());
}

TEST_CASE("what a dependent launch does is one more launch's to wait for") {
  launch::Contract c;
  c.buffers = {buffer("X", 16)};
  launch::Launch l;
  l.entry = "k";
  l.params = {pointer("X")};
  c.launches = {l, l, l};
  c.launches[1].pdl.emplace();
  c.launches[2].pdl.emplace();
  const auto with = [&](const std::string& before) {
    return run(head + ".visible .entry k(.param .u64 X) { .reg .b64 %x; .reg .b32 %r; ld.param.u64 %x, [X];" + before +
                   "ld.global.u32 %r, [%x]; add.u32 %r, %r, 1; st.global.u32 [%x], %r; ret; }",
               c);
  };
  const Run r = with("griddepcontrol.wait; ");
  REQUIRE_MESSAGE(r.clean(), r.findings());
  CHECK(r.read<std::uint32_t>("X")[0] == 3);
  CHECK(with("").has("[pdl-wait]"));
}

// What an H100 does: tests/gpu/chain_of_grids.cu. The first of three grids writes, the last one reads.
TEST_CASE("grids before the prior one are over unless that lets the next one begin first") {
  launch::Contract c;
  c.buffers = {buffer("X", 16)};
  launch::Launch l;
  l.params = {pointer("X")};
  c.launches = {l, l, l};
  for (const std::size_t i : {0u, 1u, 2u}) c.launches[i].entry = std::vector{"write", "between", "read"}[i];
  c.launches[1].pdl.emplace();
  c.launches[2].pdl.emplace();
  const auto entry = [](const std::string& name, const std::string& body) {
    return ".visible .entry " + name +
           "(.param .u64 X) { .reg .b64 %x; .reg .b32 %r; .reg .pred %p; ld.param.u64 %x, [X];" + body + " ret; }\n";
  };
  const auto with = [&](const std::string& between, const std::string& before_read) {
    return run(head + entry("write", "griddepcontrol.launch_dependents; st.global.u32 [%x], 5;") +
                   entry("between", between) + entry("read", before_read + "ld.global.u32 %r, [%x];"),
               c);
  };
  const std::string begin = "griddepcontrol.launch_dependents;", wait = waits;
  for (const std::string& between : {begin, begin + wait, std::string()}) {
    CHECK_MESSAGE(with(between, "").has("[pdl-wait]"), between);
    CHECK_MESSAGE(with(between, wait).clean(), between);
  }
  for (const std::string& between : {wait + begin, wait}) CHECK_MESSAGE(with(between, "").clean(), between);
  // Another thread of the CTA waits, and the one that lets the next grid begin does not know of it.
  const std::string first = "mov.u32 %r, %tid.x; setp.eq.u32 %p, %r, 0; ";
  c.launches[1].block = {2, 1, 1};
  CHECK(with(first + "@%p griddepcontrol.wait; bar.warp.sync 3; @!%p griddepcontrol.launch_dependents;", "").clean());
  CHECK(with(first + "@!%p griddepcontrol.launch_dependents; @%p griddepcontrol.wait;", "").has("[pdl-wait]"));
}

TEST_CASE("a contract names what a grid that it does not have touches") {
  launch::Contract c;
  c.buffers = {buffer("X", 16), buffer("out", 16)};
  launch::Launch l;
  l.grid = {2, 1, 1};
  l.block = {64, 1, 1};
  l.params = {pointer("X"), pointer("out")};
  l.pdl = {{"X"}, {"out"}};
  c.launches = {l};
  const auto with = [&](const std::string& body) {
    return run(head +
                   ".visible .entry k(.param .u64 X, .param .u64 out) { .reg .b64 %x, %o; .reg .b32 %r, %t; .reg "
                   ".pred %p; ld.param.u64 %x, [X]; ld.param.u64 %o, [out]; mov.u32 %t, %tid.x;" +
                   body + " ret; }",
               c);
  };
  // One thread of each CTA waits; a barrier tells the others. It must be one of each.
  const std::string copies = "ld.global.u32 %r, [%x+4];";
  CHECK(with("setp.ne.u32 %p, %t, 0; @%p bra L; griddepcontrol.wait; L: bar.sync 0;" + copies).clean());
  CHECK(with("setp.ne.u32 %p, %t, 0; @%p bra L; griddepcontrol.wait; L:" + copies).has("[pdl-wait]"));
  CHECK(with("mov.u32 %r, %ctaid.x; setp.ne.u32 %p, %r, 0; @%p bra L; griddepcontrol.wait; L: bar.sync 0;" + copies)
            .has("of CTA (1, 0, 0) [pdl-wait]"));
  CHECK(with("st.global.u32 [%o], 1;").has("against the read by the grid before"));
  CHECK_THROWS([&] {
    c.launches[0].pdl = {{"Z"}, {}};
    with("");
  }());
}

}  // namespace sim_prior_grid
