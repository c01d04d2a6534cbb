// The protocol of whole kernels: complete for the right ones, and each mistake where it stands.
#include <doctest/doctest.h>

#include <algorithm>

#include "harness/contract/contract_json.hpp"
#include "kernels/copy_tma.hpp"
#include "kernels/gemm.hpp"
#include "tests/unit/verifier/explored.hpp"
#include "verifier/lints.hpp"

namespace verifier_protocol {

using namespace kiln;
using test::Build;
using test::emitted;
using test::explored;
using test::file;
using test::Protocol;
using test::protocol;
using test::with;

TEST_CASE("the protocols of the kernels of the tree hold for every trip count") {
  for (const Build build : {kernels::copy_tma, kernels::gemm_bf16_basic, kernels::gemm_bf16})
    CHECK(protocol(emitted(build)).is_right());
}

TEST_CASE("so do those of kernels written by hand: rings, named barriers, scales, a cluster with multicast") {
  for (const char* name : {"multicast", "scaled", "store_ring", "named_barrier", "dependent", "dsmem"}) {
    CAPTURE(name);
    const Protocol p = protocol(file(name));
    CHECK_MESSAGE(p.is_right(), p.incomplete);
  }
}

TEST_CASE("the example of the explorer's README is right, and each step of it is needed") {
  const auto bytes = harness::read_file(KILN_SOURCE_DIR "/verifier/explore/README.md");
  const std::string readme(bytes.begin(), bytes.end());
  const std::size_t begin = readme.find("```ptx\n") + 7;
  const std::string text = readme.substr(begin, readme.find("```", begin) - begin);
  CHECK(protocol(text).is_right());
  CHECK(protocol(with(text, "@%producer mbarrier.arrive", "")).stands_still);
  const Protocol unawaited = protocol(with(text, "mbarrier.try_wait", "setp.eq.u32 %over, 0, 0;"));
  REQUIRE(unawaited.broken == std::vector{rules::Rule::race});
  CHECK(unawaited.at.starts_with("@%producer st.shared"));
  CHECK(unawaited.against.starts_with("ld.shared"));
  const std::string store = "@%producer st.shared.b32 [word], 7;";
  const Protocol late = protocol(with(with(text, store, ""), "exit", store + " exit;"));
  REQUIRE(late.broken == std::vector{rules::Rule::race});
  CHECK(late.at.starts_with("ld.shared"));
}

// The hand-written kernel of block-scaled MMAs, with the scales of B at `columns` from the accumulator on, and two
// columns later where the number of steps says so.
std::string with_narrow_scales(int columns) {
  std::string text = with(file("scaled"), ".reg .pred", ".reg .pred %p, %q, %e; .reg .b32 %half, %first, %moved;");
  text = with(text, "add.u32 %sb, %tm, 68",
              "add.u32 %sb, %tm, 68; add.u32 %first, %tm, " + std::to_string(columns) +
                  "; and.b32 %half, %k_tiles, 2; add.u32 %moved, %first, %half;");
  return with(with(text, "[%sb], %p", "[%moved], %p;"), "[%sb], 1", "[%moved], 1;");
}

TEST_CASE("without time the answer is incomplete, and says that more of it can be given") {
  diag::Sink sink;
  const ir::Module module = parse::parse(std::make_shared<diag::Source>("k.ptx", file("multicast")), sink);
  verifier::check_synchronisation(module, sink, nullptr, {}, std::chrono::milliseconds(0));
  CHECK(sink.incomplete());
  CHECK_FALSE(sink.has_errors());
  CHECK(diag::render_text(sink).find("too many ways to go in the time given (--budget)") != std::string::npos);
}

TEST_CASE("scales that begin in one of a few columns are read from all of them, but from none for sure") {
  const Protocol shared = protocol(with_narrow_scales(68));
  CHECK_MESSAGE(shared.is_right(), shared.incomplete);
  // Warps 0 to 3 write to a column that is read only if the scales begin later.
  std::string stores = with_narrow_scales(72);
  const std::string role = "role_store:";
  stores.insert(stores.find(role + "\n") + role.size(), R"( shl.b32 %i, %warp, 21; add.u32 %at, %tm, %i;
    add.u32 %at, %at, 74; tcgen05.st.sync.aligned.32x32b.x1.b32 [%at], {%i};
    tcgen05.wait::st.sync.aligned;)");
  const Protocol guess = protocol(stores);
  CHECK(guess.broken.empty());
  CHECK(guess.incomplete == "whether an access happens that would break a rule");
}

TEST_CASE("what nvcc makes of a loop over stages, unrolled and with its rest, holds for every trip count") {
  const auto bytes = harness::read_file(KILN_SOURCE_DIR "/tests/interop/gemm_block_scaled.ptx");
  const std::string both(bytes.begin(), bytes.end());
  const std::size_t second = both.find("	// .globl	gemm_nvf4");
  REQUIRE(second != std::string::npos);
  const Protocol p = protocol(both.substr(0, second));
  CHECK_MESSAGE(p.is_right(), p.incomplete);
}

TEST_CASE("a wait that a second phase may overtake is found, with the arrival that completes it") {
  const Protocol p = protocol(with(emitted(kernels::gemm_bf16_basic), "bar.sync 1, 128", ""));
  REQUIRE(p.broken == std::vector{rules::Rule::mbarrier_lapped});
  CHECK(p.at.starts_with("tcgen05.commit"));
  CHECK(p.against.starts_with("mbarrier.try_wait"));
}

TEST_CASE("a stage that is never freed, and a first wait for a phase that never comes, are deadlocks") {
  const std::string gemm = emitted(kernels::gemm_bf16);
  CHECK(protocol(with(gemm, "tcgen05.commit", "")).stands_still);
  CHECK(protocol(with(gemm, "xor.b32 %r27, %r22, 1", "mov.b32 %r27, %r22;")).stands_still);
  CHECK(protocol(with(gemm, "mbarrier.arrive.expect_tx", "")).stands_still);
}

TEST_CASE("operands and accumulators that are read too early are races") {
  const std::string gemm = emitted(kernels::gemm_bf16);
  const Protocol operands =
      protocol(with(gemm, "mbarrier.try_wait.parity.shared::cta.b64 %p6", "setp.eq.u32 %p6, 0, 0;"));
  CHECK(std::count(operands.broken.begin(), operands.broken.end(), rules::Rule::race_async));
  CHECK(operands.against.starts_with("cp.async.bulk.tensor"));
  const Protocol accumulator =
      protocol(with(gemm, "mbarrier.try_wait.parity.shared::cta.b64 %p9", "setp.eq.u32 %p9, 0, 0;"));
  REQUIRE_FALSE(accumulator.broken.empty());
  CHECK(accumulator.broken.front() == rules::Rule::race_tmem);
  CHECK(accumulator.at.starts_with("tcgen05.mma"));  // warps 0 to 3, which load, go first here
  CHECK(accumulator.against.starts_with("tcgen05.ld"));
}

TEST_CASE("tiles that threads store and a copy reads need the proxy fence, and their buffer the wait for its group") {
  const std::string gemm = emitted(kernels::gemm_bf16);
  std::string unfenced = gemm;
  for (std::size_t at; (at = unfenced.find("fence.proxy.async")) != std::string::npos;)
    unfenced.erase(at, unfenced.find(';', at) + 1 - at);
  const Protocol p = protocol(unfenced);
  CHECK(std::count(p.broken.begin(), p.broken.end(), rules::Rule::proxy_fence));
}

TEST_CASE("tensor memory that other threads have used needs tcgen05.fence on both sides of what tells of it") {
  const Protocol behind = protocol(with(file("multicast"), "tcgen05.fence::after_thread_sync", "", 2));
  REQUIRE(behind.broken == std::vector{rules::Rule::tcgen05_fence});
  CHECK(behind.at.starts_with("tcgen05.ld"));
  CHECK(behind.against.starts_with("tcgen05.mma"));
  // Columns that are set to zero before the first MMA.
  const std::string zeroed = with(file("multicast"), "ld.shared.b32 %tm, [slot]", R"(ld.shared.b32 %tm, [slot];
  setp.lt.u32 %q, %warp, 4;
  shl.b32 %at, %warp, 21;
  add.u32 %at, %tm, %at;
  mov.b32 %v0, 0;
  @%q tcgen05.st.sync.aligned.32x32b.x1.b32 [%at], {%v0};
  tcgen05.wait::st.sync.aligned;
  tcgen05.fence::before_thread_sync;
  bar.sync 0;
  tcgen05.fence::after_thread_sync;)");
  CHECK(protocol(zeroed).is_right());
  CHECK(protocol(with(zeroed, "tcgen05.wait::st", "")).broken == std::vector{rules::Rule::race_tmem});
  const Protocol before = protocol(with(zeroed, "tcgen05.fence::before_thread_sync", ""));
  REQUIRE(before.broken == std::vector{rules::Rule::tcgen05_fence});
  CHECK(before.at.starts_with("tcgen05.mma"));
  CHECK(before.against.starts_with("@%q tcgen05.st"));
}

TEST_CASE("a proxy fence is about the memory that it names") {
  const std::string ring = file("store_ring");
  const Protocol p = protocol(with(ring, "fence.proxy.async.shared::cta", "fence.proxy.async.global;", 2));
  CHECK(std::count(p.broken.begin(), p.broken.end(), rules::Rule::proxy_fence));
  CHECK(protocol(with(ring, "fence.proxy.async.shared::cta", "fence.proxy.async;", 2)).is_right());
}

TEST_CASE("the shape of an MMA may be a parameter of the launch") {
  const auto replace_all = [](std::string text, const std::string& what, const std::string& by) {
    for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += by.size())
      text.replace(at, what.size(), by);
    return text;
  };
  std::string text = replace_all(file("persistent"), "0x8100490", "%shape");
  text = replace_all(text, ".param .u32 k_tiles)", ".param .u32 k_tiles, .param .u32 shape)");
  text = with(text, "ld.param.u32 %tiles",
              "ld.param.u32 %tiles, [tiles]; .reg .b32 %shape; ld.param.u32 %shape, [shape];");
  launch::Contract contract = harness::read_contract_file(KILN_SOURCE_DIR "/tests/mutation/kernels/persistent.json");
  launch::Param shape = contract.launches[0].params.back();
  std::get<launch::ScalarParam>(shape.value).bits = 0x8100490;
  contract.launches[0].params.push_back(shape);
  CHECK(explored(text, &contract) == "");
  // Groups of eight rows at a distance of 528 bytes.
  const std::string wrong = explored(replace_all(text, "0x8000402000000000", "0x8000402100000000"), &contract);
  CHECK(wrong.find("tcgen05-sdesc-tile ") != std::string::npos);
}

TEST_CASE("descriptors advance together where a mask leaves out no lanes") {
  const launch::Contract contract =
      harness::read_contract_file(KILN_SOURCE_DIR "/tests/mutation/kernels/persistent.json");
  // A stays where it is in the second step along K.
  const std::string wrong =
      with(with(file("persistent"), "add.u64 %da, %da, 2", ""), "ld.param.u32 %tiles",
           "ld.param.u32 %tiles, [tiles]; .reg .b32 %none, %some; mov.b32 %none, 0; mov.b32 %some, 1;");
  CHECK(explored(wrong, &contract) == "tcgen05-sdesc-advance ");
  const auto masked = [&](const char* mask) {
    return explored(
        with(wrong, "tcgen05.mma",
             "tcgen05.mma.cta_group::1.kind::f16 [%y], %da, %db, 0x8100490, " + std::string(mask) + ", 1;", 2),
        &contract);
  };
  CHECK(masked("{%none, %none, %none, %none}") == "tcgen05-sdesc-advance ");
  CHECK(masked("{%some, %none, %none, %none}") == "");
}

TEST_CASE("without time no fence is called redundant") {
  diag::Sink sink;
  const std::string twice = with(file("store_ring"), "fence.proxy.async.shared::cta",
                                 "fence.proxy.async.shared::cta; fence.proxy.async.shared::cta;");
  const ir::Module module = parse::parse(std::make_shared<diag::Source>("k.ptx", twice), sink);
  const auto notes_in = [&](std::chrono::milliseconds time) {
    diag::Sink found;
    verifier::check_redundant_fences(module, found, nullptr, {}, time);
    return found.all().size();
  };
  CHECK(notes_in(verifier::no_limit) > 0);
  CHECK(notes_in(std::chrono::milliseconds(0)) == 0);
}

TEST_CASE("a finding after a bound that is divided, rounded up, has a number for what is divided") {
  const auto stands_still = [](const std::string& divide) {
    return protocol(
        ".version 8.7\n.target sm_100a\n.address_size 64\n.visible .entry k(.param .u32 n) .reqntid 1 {\n"
        "  .reg .pred %p, %q;\n  .reg .b32 %n, %trips;\n  .shared .align 8 .b64 bar;\n"
        "  mbarrier.init.shared::cta.b64 [bar], 2;\n  ld.param.u32 %n, [n];\n  add.u32 %n, %n, 95;\n" +
        divide +
        "  setp.ne.u32 %p, %trips, 20;\n  @%p bra DONE;\n  mbarrier.arrive.shared::cta.b64 _, [bar];\nAGAIN:\n"
        "  mbarrier.try_wait.parity.shared::cta.b64 %q, [bar], 0;\n  @!%q bra AGAIN;\nDONE:\n  ret;\n}\n");
  };
  const Protocol divided = stands_still("  div.u32 %trips, %n, 96;\n");
  CHECK(divided.stands_still);
  CHECK((std::stoi(divided.example.substr(std::string("n = ").size())) + 95) / 96 == 20);
  const Protocol shifted = stands_still("  shr.u32 %trips, %n, 6;\n");
  CHECK(shifted.stands_still);
  CHECK((std::stoi(shifted.example.substr(std::string("n = ").size())) + 95) / 64 == 20);
}

TEST_CASE("a phase or an address that a parameter chooses is followed for each choice") {
  const std::string chosen = R"(.version 8.7
.target sm_100a
.address_size 64
.visible .entry k(.param .u32 n) .reqntid 32 {
  .reg .pred %p, %q, %first;
  .reg .b32 %n, %t, %parity, %bar;
  .shared .align 8 .b64 bars[2];
  mov.u32 %t, %tid.x;
  ld.param.u32 %n, [n];
  setp.eq.u32 %first, %t, 0;
  setp.gt.u32 %p, %n, 5;
  @%first mbarrier.init.shared::cta.b64 [bars], 32;
  @%first mbarrier.init.shared::cta.b64 [bars+8], 32;
  bar.warp.sync 0xffffffff;
  mov.u32 %bar, bars;
  add.u32 %parity, %bar, 8;
  selp.u32 %bar, %parity, %bar, %p;
  @%p mbarrier.arrive.shared::cta.b64 _, [%bar];
  selp.u32 %parity, 0, 1, %p;
WAIT:
  mbarrier.try_wait.parity.shared::cta.b64 %q, [%bar], %parity;
  @!%q bra WAIT;
  ret;
}
)";
  const Protocol right = protocol(chosen);
  CHECK_MESSAGE(right.is_right(), right.incomplete);
  const Protocol wrong = protocol(with(chosen, "selp.u32 %parity, 0, 1, %p", "selp.u32 %parity, 1, 0, %p;"));
  CHECK(wrong.stands_still);
  CHECK(std::stoi(wrong.example.substr(std::string("n = ").size())) <= 5);
  CHECK(protocol(with(chosen, "mbarrier.init.shared::cta.b64 [bars+8], 32", "")).broken ==
        std::vector{rules::Rule::mbarrier_uninitialised});
}

TEST_CASE("what is not followed is named, and no verdict") {
  const Protocol p = protocol(with(file("flags"), "cp.async.bulk.commit_group", "bar.red.popc.u32 %v0, 0, %p;"));
  CHECK_FALSE(p.complete);
  CHECK(p.incomplete == "a barrier that reduces");
  CHECK(p.broken.empty());
  std::string gemm = emitted(kernels::gemm_bf16_basic);
  gemm.erase(gemm.find(".reqntid"), std::string(".reqntid 128, 1, 1").size());
  CHECK(protocol(gemm).complete);  // with as many threads as the text suggests
  gemm.replace(gemm.find("%tid.x"), 6, "%tid.y");
  CHECK_FALSE(protocol(gemm).complete);
  CHECK(protocol(gemm).incomplete == "how many threads a CTA has");
}

}  // namespace verifier_protocol
