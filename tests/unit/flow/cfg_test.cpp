#include "tests/unit/flow/analysed.hpp"

using kiln::test::Analysed;
using namespace kiln;

TEST_CASE("an empty function is its end") {
  const Analysed k("");
  CHECK(k.cfg.blocks.size() == 1);
  CHECK(k.cfg.end() == 0);
  CHECK(k.cfg.reachable(0));
}

TEST_CASE("a guarded branch has two edges with opposite conditions") {
  const Analysed k("A: @%p1 bra C; B: mov.u32 %r1, 0; C: ret;");
  const auto& out = k.cfg.blocks[k.block("A")].out;
  REQUIRE(out.size() == 2);
  CHECK(k.cfg.edges[out[0]].to == k.block("C"));
  CHECK(k.cfg.edges[out[0]].condition->value);
  CHECK(k.cfg.edges[out[1]].to == k.block("B"));
  CHECK_FALSE(k.cfg.edges[out[1]].condition->value);
  CHECK(k.cfg.dominator(k.block("C")) == k.block("A"));
  CHECK(k.cfg.post_dominator(k.block("A")) == k.block("C"));
  CHECK_FALSE(k.cfg.dominates(k.block("B"), k.block("C")));
  CHECK(k.cfg.post_dominates(k.block("C"), k.block("B")));
}

TEST_CASE("a loop's header dominates its body, and its exit post-dominates both") {
  const Analysed k("HEAD: @%p1 bra EXIT; BODY: bra HEAD; EXIT: ret;");
  CHECK(k.cfg.dominates(k.block("HEAD"), k.block("BODY")));
  CHECK(k.cfg.post_dominates(k.block("EXIT"), k.block("BODY")));
  CHECK(k.cfg.reverse_post_order.front() == 0);
  CHECK(k.cfg.reverse_post_order.back() == k.cfg.end());
}

TEST_CASE("a block reaches itself in a loop alone, and nothing beyond an edge that is not taken") {
  const Analysed k("HEAD: @%p1 bra EXIT; BODY: bra HEAD; EXIT: ret;");
  const auto from_body = k.cfg.reached_from(k.block("BODY")), from_exit = k.cfg.reached_from(k.block("EXIT"));
  CHECK(from_body[k.block("BODY")]);
  CHECK(from_body[k.block("EXIT")]);
  CHECK(from_body[k.cfg.end()]);
  CHECK_FALSE(from_exit[k.block("EXIT")]);
  CHECK_FALSE(from_exit[k.block("HEAD")]);
  const auto unconditional =
      k.cfg.reached_from(k.block("BODY"), [&](std::uint32_t e) { return !k.cfg.edges[e].condition; });
  CHECK(unconditional[k.block("HEAD")]);
  CHECK_FALSE(unconditional[k.block("EXIT")]);
}

TEST_CASE("exits, guarded and not, lead to the end; traps lead nowhere") {
  const Analysed k("A: @%p1 exit; B: @%p2 trap; C: bra E; D: ret; E: trap; F:");
  CHECK(k.cfg.blocks[k.block("A")].out.size() == 2);
  CHECK(k.cfg.blocks[k.block("B")].out.size() == 1);
  CHECK_FALSE(k.cfg.reachable(k.block("D")));
  CHECK(k.cfg.blocks[k.block("E")].out.empty());
  CHECK(k.cfg.dominator(k.block("D")) == flow::no_block);
  CHECK(k.cfg.post_dominator(k.block("E")) == flow::no_block);
}

TEST_CASE("an indexed branch reaches every target of its table") {
  const Analysed k("T: .branchtargets A, B, C; brx.idx %r1, T; A: ret; B: ret; C: ret;");
  CHECK(k.cfg.blocks[0].out.size() == 3);
  for (const char* label : {"A", "B", "C"}) CHECK(k.cfg.dominator(k.block(label)) == 0);
}

TEST_CASE("control falls through calls") {
  const Analysed k("{ .param .b32 p0; A: call.uni vprintf, (p0, p0); }\nret;");
  CHECK(k.cfg.blocks.size() == 2);
}

TEST_CASE("an infinite loop never reaches the end") {
  const Analysed k("L: bra L;");
  CHECK_FALSE(k.cfg.reachable(k.cfg.end()));
  CHECK(k.cfg.post_dominator(0) == flow::no_block);
}

TEST_CASE("a long chain of blocks needs no deep stack") {
  std::string body;
  for (int i = 0; i < 100000; ++i) body += "L" + std::to_string(i) + ": @%p1 bra END;\n";
  const Analysed k(body + "END: ret;");
  CHECK(k.cfg.dominator(k.block("END")) == 0);
}
