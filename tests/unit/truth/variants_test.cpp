// What "tcgen05 and the Tensor Memory Model" (S2 of docs/requirements.md) has wrong about the forms of tcgen05.mma and
// about the collector, put right.
#include <doctest/doctest.h>

#include "ptx/isa/instruction_descriptor.hpp"
#include "ptx/isa/opcodes.hpp"
#include "ptx/isa/shared_descriptor.hpp"
#include "tests/laws/cubin.hpp"
#include "tests/unit/sim/tensor_kernel.hpp"
#include "tests/unit/truth/asked.hpp"

namespace truth_variants {

using namespace kiln;

namespace {

const std::string mismatch = "arguments mismatch for instruction 'tcgen05.mma";

// What the GPU executes of a kernel of one instruction.
std::map<std::string, std::string> machine_code(const std::string& instruction) {
  const test::Answer said = test::ask_ptxas(test::header(isa::sm_100a) + test::kernel_of(instruction), isa::sm_100a);
  REQUIRE_MESSAGE(said.taken, said.error);
  return test::Cubin(std::string(said.assembly.cubin.begin(), said.assembly.cubin.end())).code_and_data();
}

// D of two MMAs, the second on top of the first, of 128 x 32 ones; `first` and `second` follow the kind.
test::Run two_mmas(const std::string& first, const std::string& second) {
  return test::run_tensor(test::tensor_kernel(R"(
    mov.u32 %r10, %r0; mov.u32 %r12, 0x3F803F80;
  CP: shl.b32 %r11, %r10, 4; add.u32 %r11, %r11, %r3; st.shared.v4.u32 [%r11], {%r12, %r12, %r12, %r12};
    add.u32 %r10, %r10, 128; setp.lt.u32 %p1, %r10, 256; @%p1 bra CP;
    fence.proxy.async.shared::cta; bar.sync 0;
    setp.ne.u32 %p1, %r0, 0; @%p1 bra W;
    shr.u32 %r12, %r3, 4; cvt.u64.u32 %rd2, %r12; add.u64 %rd2, %rd2, 0x0000400800800000;
    tcgen05.mma.cta_group::1.kind::f16)" + first +
                                              R"( [%r2], %rd2, %rd2, 0x08080490, 0;
    tcgen05.mma.cta_group::1.kind::f16)" + second +
                                              R"( [%r2], %rd2, %rd2, 0x08080490, 1;
    tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%r4];
  W: mbarrier.try_wait.parity.shared.b64 %p3, [%r4], 0; @!%p3 bra W;
    tcgen05.fence::after_thread_sync;
    tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r100}, [%r6]; tcgen05.wait::ld.sync.aligned;
    )" + test::put(100, 1)),
                          std::vector<std::uint8_t>(16), 512);
}

}  // namespace

TEST_CASE("S2-30: tcgen05.mma is four instructions, with block scale and A in tensor memory as options") {
  int opcodes = 0;
  for (int i = 1; i <= int(isa::Opcode::suq); ++i)  // the last of the table
    opcodes += isa::spelling(isa::Opcode(i)).starts_with("tcgen05.mma");
  CHECK(opcodes == 4);
  test::accepted({"tcgen05.mma.cta_group::1.kind::f16 [r0], d1, d2, r1, p1;",
                  "tcgen05.mma.sp.cta_group::1.kind::f16 [r0], d1, d2, [r4], r1, p1;",
                  "tcgen05.mma.ws.cta_group::1.kind::f16 [r0], d1, d2, r1, p1;",
                  "tcgen05.mma.ws.sp.cta_group::1.kind::f16 [r0], d1, d2, [r4], r1, p1;",
                  "tcgen05.mma.cta_group::1.kind::mxf8f6f4.block_scale [r0], [r3], d2, r1, [r5], [r6], p1;",
                  "tcgen05.mma.sp.cta_group::1.kind::mxf8f6f4.block_scale [r0], [r3], d2, [r4], r1, [r5], [r6], p1;"});
}

TEST_CASE("S2-36, S2-50: there is no warp-specialised MMA; .ws is weight stationary") {
  test::refused("tcgen05.mma.warp_specialized.cta_group::1.kind::f16 [r0], d1, d2, r1, p1;",
                "unknown modifier '.warp_specialized'");
  // What tells .ws from plain MMAs is its collector of B and that it has one CTA, nothing about warps.
  test::accepted({"tcgen05.mma.ws.cta_group::1.kind::f16.collector::b1::fill [r0], d1, d2, r1, p1;",
                  "tcgen05.mma.cta_group::2.kind::f16 [r0], d1, d2, r1, p1;"});
  test::refused("tcgen05.mma.ws.cta_group::2.kind::f16 [r0], d1, d2, r1, p1;", "illegal modifier '.cta_group::2'");
}

TEST_CASE("S2-37: .ws and block scale exclude each other") {
  test::refused("tcgen05.mma.ws.cta_group::1.kind::mxf8f6f4 [r0], d1, d2, r1, p1;",
                "illegal modifier '.kind::mxf8f6f4' for instruction 'tcgen05.mma.ws'");
  test::refused("tcgen05.mma.ws.cta_group::1.kind::mxf8f6f4.block_scale [r0], d1, d2, r1, [r5], [r6], p1;", mismatch);
  test::refused("tcgen05.mma.ws.sp.cta_group::1.kind::mxf4.block_scale [r0], d1, d2, [r4], r1, [r5], [r6], p1;",
                mismatch);
}

TEST_CASE("S2-41: an MMA takes a run-time instruction descriptor and enable-input-d") {
  test::accepted({"tcgen05.mma.cta_group::1.kind::f16 [r0], d1, d2, r1, p1;",
                  "tcgen05.mma.cta_group::1.kind::f16 [r0], d1, d2, r1, {r2, r3, r4, r5}, p1, 3;"});
  test::refused("tcgen05.mma.cta_group::1.kind::f16 [r0], d1, d2, p1;", mismatch);
  test::refused("tcgen05.mma.cta_group::1.kind::f16 [r0], d1, d2, r1;", mismatch);
}

TEST_CASE("S2-43, S2-45, S2-49: A may lie in shared memory in the sparse, the .ws and the block-scaled forms") {
  test::accepted({"tcgen05.mma.sp.cta_group::1.kind::f16 [r0], d1, d2, [r4], r1, p1;",
                  "tcgen05.mma.sp.cta_group::1.kind::f16 [r0], [r3], d2, [r4], r1, p1;",
                  "tcgen05.mma.ws.cta_group::1.kind::f16 [r0], d1, d2, r1, p1;",
                  "tcgen05.mma.ws.cta_group::1.kind::f16 [r0], [r3], d2, r1, p1;",
                  "tcgen05.mma.ws.sp.cta_group::1.kind::f16 [r0], d1, d2, [r4], r1, p1;",
                  "tcgen05.mma.sp.cta_group::1.kind::mxf8f6f4.block_scale [r0], d1, d2, [r4], r1, [r5], [r6], p1;"});
}

TEST_CASE("S2-46, S2-68: kind::f8f6f4 has no scales and is another kind than mxf8f6f4") {
  CHECK(isa::MmaKind::f8f6f4 != isa::MmaKind::mxf8f6f4);
  CHECK(!isa::is_block_scaled(isa::MmaKind::f8f6f4));
  CHECK(isa::is_block_scaled(isa::MmaKind::mxf8f6f4));
  test::accepted({"tcgen05.mma.cta_group::1.kind::f8f6f4 [r0], d1, d2, r1, p1;",
                  "tcgen05.mma.cta_group::1.kind::mxf8f6f4.block_scale [r0], d1, d2, r1, [r5], [r6], p1;"});
  test::refused("tcgen05.mma.cta_group::1.kind::f8f6f4.block_scale [r0], d1, d2, r1, [r5], [r6], p1;",
                "modifier '.kind::f8f6f4' cannot be combined with modifier '.block_scale'");
}

TEST_CASE("S2-52: the matrix descriptor has a version and a wider layout code than that of wgmma") {
  // wgmma: bits 62-63 are 1, 2, 3 for 128, 64, 32 bytes; everything between base offset and there is zero.
  const auto word = [](isa::Swizzle s) {
    isa::SharedDescriptorFields f;
    f.swizzle_code = isa::descriptor_code(s);
    return isa::pack(f);
  };
  CHECK((word(isa::Swizzle::b128) >> 62) == 1);  // these three codes coincide
  CHECK((word(isa::Swizzle::b64) >> 62) == 2);
  CHECK((word(isa::Swizzle::b32) >> 62) == 3);
  CHECK((word(isa::Swizzle::b128_atom32) >> 61) == 1);  // bit 61 is the new code's
  CHECK((word(isa::Swizzle::none) >> 46 & 7) == 1);     // the version, which wgmma has not
  isa::SharedDescriptorFields absolute;
  absolute.leading_is_absolute = true;
  CHECK((isa::pack(absolute) >> 52 & 1) == 1);
}

TEST_CASE("S2-54: enable-input-d is a predicate; scale-input-d is an immediate of its own") {
  test::accepted({"tcgen05.mma.cta_group::1.kind::f16 [r0], d1, d2, r1, p1;",
                  "tcgen05.mma.cta_group::1.kind::f16 [r0], d1, d2, r1, p1, 15;"});
  test::refused("tcgen05.mma.cta_group::1.kind::f16 [r0], d1, d2, r1, p1, 16;", "expected to be in range [0..15]");
}

TEST_CASE("S2-64: kind::i8 takes signed and unsigned bytes") {
  CHECK(isa::operand_type_code(isa::MmaKind::i8, isa::ScalarType::u8) == 0);
  CHECK(isa::operand_type_code(isa::MmaKind::i8, isa::ScalarType::s8) == 1);
}

TEST_CASE("S2-96: sparsity and block scale are chosen apart; the instruction descriptor says sparse in bit 2") {
  test::accepted({"tcgen05.mma.sp.cta_group::1.kind::f16 [r0], d1, d2, [r4], r1, p1;",
                  "tcgen05.mma.cta_group::1.kind::mxf4.block_scale [r0], d1, d2, r1, [r5], [r6], p1;",
                  "tcgen05.mma.sp.cta_group::1.kind::mxf4.block_scale [r0], d1, d2, [r4], r1, [r5], [r6], p1;"});
  for (const isa::MmaKind kind : {isa::MmaKind::f16, isa::MmaKind::mxf4}) {
    isa::InstructionDescriptorFields f;
    f.sparse = true;
    CHECK(isa::pack(f, kind) == 1u << 2);
  }
}

TEST_CASE("S2-74: the collector belongs to the tensor core: no registers, no warp group, one issuing thread") {
  test::accepted({"@p2 tcgen05.mma.cta_group::1.kind::f16.collector::a::fill [r0], d1, d2, r1, p1;"});
  test::refused("tcgen05.mma.sync.aligned.cta_group::1.kind::f16.collector::a::fill [r0], d1, d2, r1, p1;",
                "illegal modifier '.sync'");
  test::refused("tcgen05.mma.cta_group::1.kind::f16.collector::a::fill {r4, r5, r6, r7}, [r0], d1, d2, r1, p1;",
                mismatch);
  if (!test::ptxas().found()) return;
  const auto registers = [](const std::string& collector) {
    const std::string text = "tcgen05.mma.cta_group::1.kind::f16" + collector + " [r0], d1, d2, r1, p1;";
    return test::ask_ptxas(test::header(isa::sm_100a) + test::kernel_of(text), isa::sm_100a)
        .assembly.entries.at(0)
        .registers;
  };
  CHECK(registers(".collector::a::fill") == registers(""));
}

TEST_CASE("S2-75: the collector has four operations; discard is what holds when none is written") {
  std::vector<std::string> all;
  for (const std::string operation : {"fill", "use", "lastuse", "discard"})
    all.push_back("tcgen05.mma.cta_group::1.kind::f16.collector::a::" + operation + " [r0], d1, d2, r1, p1;");
  test::accepted(all);
  test::refused("tcgen05.mma.cta_group::1.kind::f16.collector::a::keep [r0], d1, d2, r1, p1;",
                "unknown modifier '.collector::a::keep'");
  if (!test::ptxas().found()) return;
  const auto plain = machine_code("tcgen05.mma.cta_group::1.kind::f16 [r0], d1, d2, r1, p1;");
  CHECK(machine_code(all[3]) == plain);
  for (int i = 0; i < 3; ++i) CHECK(machine_code(all[std::size_t(i)]) != plain);
}

TEST_CASE(
    "S2-76, S2-77, S2-81: with a collector A is still an operand, may lie in shared memory, and may be read again") {
  test::accepted({"tcgen05.mma.cta_group::1.kind::f16.collector::a::fill [r0], d1, d2, r1, p1;",
                  "tcgen05.mma.cta_group::1.kind::f16.collector::a::use [r0], [r3], d2, r1, p1;"});
  test::refused("tcgen05.mma.cta_group::1.kind::f16.collector::a::use [r0], d2, r1, p1;", mismatch);
  // Nothing but speed depends on the collector: the same D with and without it.
  const test::Run with = two_mmas(".collector::a::fill", ".collector::a::use"), without = two_mmas("", "");
  REQUIRE_MESSAGE(with.clean(), with.findings());
  REQUIRE_MESSAGE(without.clean(), without.findings());
  CHECK(with.read<float>("out") == std::vector<float>(128, 32.0f));
  CHECK(with.read<float>("out") == without.read<float>("out"));
}

TEST_CASE("S2-83, S2-110: .ws collects B, in four buffers, and has no collector of A") {
  std::vector<std::string> all;
  for (const std::string buffer : {"b0", "b1", "b2", "b3"})
    all.push_back("tcgen05.mma.ws.cta_group::1.kind::f16.collector::" + buffer + "::use [r0], d1, d2, r1, p1;");
  test::accepted(all);
  test::refused("tcgen05.mma.ws.cta_group::1.kind::f16.collector::b4::use [r0], d1, d2, r1, p1;",
                "unknown modifier '.collector::b4::use'");
  test::refused("tcgen05.mma.ws.cta_group::1.kind::f16.collector::a::use [r0], d1, d2, r1, p1;",
                "illegal modifier '.collector::a::use' for instruction 'tcgen05.mma.ws'");
  test::refused("tcgen05.mma.cta_group::1.kind::f16.collector::b0::use [r0], d1, d2, r1, p1;",
                "illegal modifier '.collector::b0::use' for instruction 'tcgen05.mma'");
}

TEST_CASE("S2-90: block-scaled MMAs may fill and use the collector") {
  std::vector<std::string> all;
  for (const std::string kind : {"mxf8f6f4.block_scale", "mxf4.block_scale", "mxf4nvf4.block_scale.block16"})
    for (const std::string operation : {"fill", "use", "lastuse", "discard"})
      all.push_back("tcgen05.mma.cta_group::1.kind::" + kind + ".collector::a::" + operation +
                    " [r0], d1, d2, r1, [r5], [r6], p1;");
  test::accepted(all);
}

TEST_CASE("S2-111: .ws takes f16, tf32, f8f6f4 and i8, and none of the three block-scaled kinds") {
  std::vector<std::string> all;
  for (const std::string kind : {"f16", "tf32", "f8f6f4", "i8"})
    all.push_back("tcgen05.mma.ws.cta_group::1.kind::" + kind + " [r0], d1, d2, r1, p1;");
  test::accepted(all);
  for (const std::string kind : {"mxf8f6f4", "mxf4", "mxf4nvf4"})
    test::refused("tcgen05.mma.ws.cta_group::1.kind::" + kind + " [r0], d1, d2, r1, p1;",
                  "illegal modifier '.kind::" + kind + "' for instruction 'tcgen05.mma.ws'");
}

}  // namespace truth_variants
