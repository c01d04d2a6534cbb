// What the NVFP4 GEMM walk-through (S4 of docs/requirements.md) has wrong, put right. Its scales are in
// scaling_test.cpp.
#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <variant>
#include <vector>

#include "harness/host/process.hpp"
#include "ptx/flow/cfg.hpp"
#include "ptx/isa/shared_descriptor.hpp"
#include "tests/unit/truth/asked.hpp"
#include "tests/unit/verifier/checked.hpp"

namespace truth_nvfp4 {

using namespace kiln;

namespace {

// The pipelined kernel of the project, as text and with its control flow.
struct Pipeline {
  diag::Sink sink;
  ir::Module module;
  ir::Code code;
  flow::Cfg cfg;

  static ir::Module read(diag::Sink& sink) {
    const auto emitted = harness::run_process({KILN_COMMAND, "emit", "gemm_bf16"}, std::chrono::seconds(60));
    REQUIRE_MESSAGE(emitted.exit_code == 0, emitted.err);
    return parse::parse(std::make_shared<const diag::Source>("gemm_bf16.ptx", emitted.out), sink);
  }
  static const ir::Function& kernel(const ir::Module& m) {
    for (const ir::Item& item : m.items)
      if (const auto* f = std::get_if<ir::Function>(&item)) return *f;
    throw std::runtime_error("no function");
  }
  Pipeline() : module(read(sink)), code(ir::decode(module, kernel(module), sink)), cfg(code) {}

  std::vector<std::uint32_t> all(isa::Opcode opcode) const {
    std::vector<std::uint32_t> found;
    for (std::uint32_t i = 0; i < code.operations.size(); ++i)
      if (code.operations[i].opcode == opcode) found.push_back(i);
    return found;
  }
  bool reaches(std::uint32_t from, std::uint32_t to) const {  // by at least one edge
    std::vector<bool> seen(cfg.blocks.size());
    std::vector<flow::BlockId> open{cfg.block_of(from)};
    while (!open.empty()) {
      const flow::BlockId b = open.back();
      open.pop_back();
      for (const std::uint32_t e : cfg.blocks[b].out) {
        const flow::BlockId next = cfg.edges[e].to;
        if (next == cfg.block_of(to)) return true;
        if (!seen[next]) seen[next] = true, open.push_back(next);
      }
    }
    return false;
  }
  bool in_loop(std::uint32_t i) const { return reaches(i, i); }
  /// The register that holds the address of an operand.
  ir::RegisterId address(std::uint32_t i, std::size_t operand) const {
    return code.components(code.operations[i].arg(operand))[0].id;
  }
  /// The last wait on an mbarrier in front of an operation.
  std::uint32_t wait_before(std::uint32_t i) const {
    std::uint32_t last = 0;
    for (const std::uint32_t w : all(isa::Opcode::mbarrier_try_wait))
      if (w < i) last = w;
    return last;
  }
};

}  // namespace

TEST_CASE("S4-14: the encoding of a descriptor keeps eighteen bits of an address and makes fourteen of them") {
  isa::SharedDescriptorFields f;
  f.version = 0;
  f.start = 0x3FFF0;
  CHECK(isa::pack(f) == 0x3FFF);
  f.start = 0x4000;  // bit 14: lost if only fourteen bits were kept
  CHECK(isa::pack(f) == 0x400);
}

TEST_CASE("S4-48: the epilogue runs once, after the loop; what is awaited in the loop is the MMA of a stage") {
  const Pipeline p;
  REQUIRE(p.sink.all().empty());
  const auto loads = p.all(isa::Opcode::tcgen05_ld), mmas = p.all(isa::Opcode::tcgen05_mma);
  const auto copies = p.all(isa::Opcode::cp_async_bulk_tensor);
  REQUIRE(!loads.empty());
  REQUIRE(!mmas.empty());
  for (const std::uint32_t i : mmas) CHECK(p.in_loop(i));
  for (const std::uint32_t i : loads) CHECK(!p.in_loop(i));
  // The copies of the next round are in a loop, after a wait in the same loop, which the MMAs' commits release.
  REQUIRE(p.in_loop(copies[0]));
  const std::uint32_t wait = p.wait_before(copies[0]);
  CHECK(p.reaches(copies[0], wait));
  CHECK(p.cfg.dominates(p.cfg.block_of(wait), p.cfg.block_of(copies[0])));
}

TEST_CASE("S4-83: the commit of a stage frees its buffers; the epilogue waits for another, after the loop") {
  const Pipeline p;
  const auto commits = p.all(isa::Opcode::tcgen05_commit);
  REQUIRE(commits.size() == 2);
  CHECK(p.in_loop(commits[0]));
  CHECK(!p.in_loop(commits[1]));
  const std::uint32_t epilogue = p.wait_before(p.all(isa::Opcode::tcgen05_ld)[0]);
  CHECK(p.address(epilogue, 1) == p.address(commits[1], 0));
  CHECK(p.address(epilogue, 1) != p.address(commits[0], 0));
}

TEST_CASE("S0-74, S4-52: between the wait for the MMAs and the first load stands tcgen05.fence::after_thread_sync") {
  const Pipeline p;
  const std::uint32_t load = p.all(isa::Opcode::tcgen05_ld).at(0), wait = p.wait_before(load);
  CHECK(std::ranges::any_of(p.all(isa::Opcode::tcgen05_fence_after),
                            [&](std::uint32_t fence) { return wait < fence && fence < load; }));
}

TEST_CASE("S4-62: a backslash and an n are no line break in PTX") {
  test::accepted({"mov.b32 r1, 0;\n\tmov.b32 r2, 0;"});
  test::refused("mov.b32 r1, 0;\\n\\tmov.b32 r2, 0;", "parsing error near '\\'");
}

TEST_CASE("S4-97: a kernel that never frees its tensor memory is an error") {
  const auto found = [](const std::string& end) {
    return test::slugs(test::check_text(
        test::preamble +
        ".shared .align 4 .b32 slot; .visible .entry k() { .reg .b32 %r<4>;\n"
        "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot], 64; ld.shared.u32 %r1, [slot];\n" +
        end + " ret; }"));
  };
  CHECK(found("") == "tcgen05-alloc-leak ");
  CHECK(found("bar.sync 0; tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r1, 64;").empty());
}

TEST_CASE("S4-101: tcgen05.cp of .32x128b needs .warpx4") {
  test::accepted({"tcgen05.cp.cta_group::1.32x128b.warpx4 [r0], d1;"});
  test::refused("tcgen05.cp.cta_group::1.32x128b [r0], d1;", "modifier '.warptype' require");
}

TEST_CASE("S4-102: the modifier is .block_scale") {
  test::refused("tcgen05.mma.cta_group::1.kind::mxf4nvf4.block_sc.block16 [r0], d1, d2, r1, [r5], [r6], p1;",
                "unknown modifier '.block_sc'");
}

}  // namespace truth_nvfp4
