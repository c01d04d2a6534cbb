#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <tuple>
#include <variant>

#include "ptx/diag/render.hpp"
#include "ptx/isa/ptx_versions.hpp"
#include "ptx/ops/features.hpp"
#include "ptx/ops/operations.hpp"
#include "ptx/parse/parse.hpp"

using namespace kiln;

namespace {

constexpr const char* registers =
    ".reg .pred %p, %q; .reg .b16 %h; .reg .b32 %r<10>; .reg .b64 %d<10>; .reg .b128 %x; .reg .f32 %f<10>;\n";

// One instruction in a kernel, decoded.
struct One {
  explicit One(const std::string& instruction) {
    const std::string text = ".version 9.0\n.target sm_100a\n.address_size 64\n.visible .entry k()\n{\n" +
                             std::string(registers) + instruction + "\n}\n";
    module = parse::parse(std::make_shared<diag::Source>("t.ptx", text), sink);
    code = ir::decode(module, *module.find_function("k"), sink);
    REQUIRE_MESSAGE(!sink.has_errors(), diag::render_text(sink));
    REQUIRE(code.operations.size() == 1);
  }
  const ir::Operation& op() const { return code.operations[0]; }

  diag::Sink sink;
  ir::Module module;
  ir::Code code;
};

// What stands in a role.
std::string text(const ops::Operand& o) {
  if (!o) return "";
  const ir::Operand& written = *o->operand;
  return written.kind == ir::Operand::Kind::address ? "[" + written.items[0].text + "]"
         : written.is_integer()                     ? std::to_string(written.value)
                                                    : written.text;
}

const std::string mma = "tcgen05.mma.cta_group::1.kind::f16 [%r0], %d1, %d2, %r3, ";

}  // namespace

TEST_CASE("a dense MMA has enable-input-d, and a scale only as a number at its end") {
  const One plain(mma + "%p;");
  const auto m = ops::as<ops::Mma>(plain.op());
  REQUIRE(m);
  CHECK(text(m->d) == "[%r0]");
  CHECK(text(m->a) == "%d1");
  CHECK(text(m->b) == "%d2");
  CHECK(text(m->idesc) == "%r3");
  CHECK(text(m->enable_input_d) == "%p");
  CHECK_FALSE(m->scale_input_d);
  CHECK_FALSE(m->lanes);
  CHECK_FALSE(m->form.a_in_tmem);

  const One scaled(mma + "%p, 7;");
  CHECK(text(ops::roles<ops::Mma>(scaled.op()).scale_input_d) == "7");
  CHECK_FALSE(ops::roles<ops::Mma>(scaled.op()).second_predicate);
  CHECK(ops::roles<ops::Mma>(scaled.op()).form.scale_input_d);
}

// ptxas 13.0 assembles `p, q, 7`, `p, 1, 7` and, for kind::i8, `p, q`; it refuses a second predicate of .ws and of
// block-scaled kinds.
TEST_CASE("the second predicate that the ISA lacks is neither a scale nor a mask") {
  struct Case {
    const char *tail, *second, *scale;
  };
  for (const Case& c : {Case{"%p, %q, 7;", "%q", "7"}, Case{"%p, 1, 7;", "1", "7"}, Case{"%p, %q;", "%q", ""}}) {
    const One one(mma + c.tail);
    const auto m = ops::as<ops::Mma>(one.op());
    REQUIRE_MESSAGE(m, c.tail);
    CHECK_MESSAGE(text(m->enable_input_d) == "%p", c.tail);
    CHECK_MESSAGE(text(m->second_predicate) == c.second, c.tail);
    CHECK_MESSAGE(text(m->scale_input_d) == c.scale, c.tail);
  }
  const One masked("tcgen05.mma.ws.cta_group::1.kind::f16 [%r0], %d1, %d2, %r3, %p, %d4;");
  CHECK(text(ops::roles<ops::Mma>(masked.op()).zero_mask) == "%d4");
  CHECK_FALSE(ops::roles<ops::Mma>(masked.op()).second_predicate);
  const One scaled("tcgen05.mma.cta_group::1.kind::mxf8f6f4.block_scale [%r0], %d1, %d2, %r3, [%r4], [%r5], %p;");
  CHECK(text(ops::roles<ops::Mma>(scaled.op()).sfb) == "[%r5]");
}

// The rules of forms are asked of these too.
TEST_CASE("block scaling that is written without scales leaves the other operands where they are") {
  const One one("tcgen05.mma.cta_group::1.block_scale.kind::i8 [%r0], [%r2], %d1, %r3, %p, 11;");
  const auto m = ops::as<ops::Mma>(one.op());
  REQUIRE(m);
  CHECK(text(m->enable_input_d) == "%p");
  CHECK(text(m->scale_input_d) == "11");
  CHECK_FALSE(m->sfa);
  CHECK(m->form.block_scale);
}

TEST_CASE("an MMA with an operand too few or too many has no roles") {
  for (const char* tail : {";", "%p, %q, 7, 8;"}) {
    std::string text = mma + tail;
    if (tail[0] == ';') text.replace(text.rfind(", ;"), 3, ";");
    const One one(text);
    CHECK_MESSAGE(!ops::as<ops::Mma>(one.op()), text);
    CHECK_FALSE(ops::roles<ops::Mma>(one.op()).d);
  }
}

TEST_CASE("an operation is read into the type of its family alone") {
  const One add("add.u32 %r0, %r1, 5;");
  CHECK(ops::family(add.op().opcode) == ops::Family::arithmetic);
  CHECK(text(ops::roles<ops::Alu>(add.op()).b) == "5");
  CHECK_FALSE(ops::as<ops::MemoryAccess>(add.op()));
  CHECK(ops::roles<ops::MemoryAccess>(add.op()).address->kind == ir::Argument::Kind::none);
}

TEST_CASE("a bulk copy has the operands that its modifiers say") {
  const One load(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster.L2::cache_hint "
      "[%r0], [%d1], 64, [%r2], %h, %d3;");
  const auto in = ops::roles<ops::BulkCopy>(load.op());
  CHECK(text(in.to) == "[%r0]");
  CHECK(text(in.mbarrier) == "[%r2]");
  CHECK(text(in.ctas) == "%h");
  CHECK(text(in.cache_policy) == "%d3");
  const One store("cp.async.bulk.global.shared::cta.bulk_group.L2::cache_hint.cp_mask [%d0], [%r1], 64, %d3, %h;");
  const auto out = ops::roles<ops::BulkCopy>(store.op());
  CHECK(text(out.byte_mask) == "%h");
  CHECK(text(out.cache_policy) == "%d3");
  CHECK_FALSE(out.mbarrier);
}

TEST_CASE("a tensor copy has its shared address first or second") {
  const One load(
      "cp.async.bulk.tensor.3d.shared::cta.global.im2col.mbarrier::complete_tx::bytes [%r0], [%d1, {%r1, %r2, %r3}], "
      "[%r4], {%h};");
  const auto in = ops::roles<ops::TensorCopy>(load.op());
  CHECK(in.loads());
  CHECK(text(in.shared) == "[%r0]");
  CHECK(text(in.tensor) == "[%d1]");
  CHECK(in.offsets);
  const One store("cp.async.bulk.tensor.1d.global.shared::cta.bulk_group [%d1, {%r1}], [%r0];");
  const auto out = ops::roles<ops::TensorCopy>(store.op());
  CHECK_FALSE(out.loads());
  CHECK(text(out.shared) == "[%r0]");
  CHECK(text(out.tensor) == "[%d1]");
}

TEST_CASE("an arrival has a state, bytes or a count, each only where it is written") {
  const One counted("mbarrier.arrive.shared::cta.b64 %d0, [%r1], 3;");
  const auto a = ops::roles<ops::Mbarrier>(counted.op());
  CHECK(text(a.state) == "%d0");
  CHECK(text(a.count) == "3");
  CHECK_FALSE(a.bytes);
  const One remote("mbarrier.arrive.expect_tx.release.cluster.shared::cluster.b64 _, [%r1], 64;");
  const auto b = ops::roles<ops::Mbarrier>(remote.op());
  CHECK(text(b.object) == "[%r1]");
  CHECK(text(b.bytes) == "64");
  CHECK_FALSE(b.count);
  const One wait("mbarrier.try_wait.parity.shared::cta.b64 %p, [%r1], 1, 1000;");
  const auto c = ops::roles<ops::Mbarrier>(wait.op());
  CHECK(text(c.done) == "%p");
  CHECK(text(c.parity) == "1");
  CHECK(text(c.time_limit) == "1000");
  CHECK_FALSE(c.state);
}

TEST_CASE("a barrier that reduces has its number after its result") {
  const One all("barrier.cta.red.and.pred %p, 3, %q;");
  const auto a = ops::roles<ops::Barrier>(all.op());
  CHECK(text(a.id) == "3");
  CHECK_FALSE(a.threads);
  CHECK(text(a.predicate) == "%q");
  const One some("barrier.cta.red.and.pred %p, 3, 64, %q;");
  CHECK(text(ops::roles<ops::Barrier>(some.op()).threads) == "64");
}

namespace {

bool is_read(const ir::Operation& op) {
  switch (ops::family(op.opcode)) {
#define FAMILY(id, Type) \
  case ops::Family::id:  \
    return ops::as<ops::Type>(op).has_value();
#define ROLE(member)
#define ROLE_IF(member, condition)
#define ROLES()
#define END()
#include "ptx/ops/families.def"
#undef FAMILY
#undef ROLE
#undef ROLE_IF
#undef ROLES
#undef END
  }
  return false;
}

}  // namespace

TEST_CASE("every instruction of the test files has its roles") {
  int read = 0;
  for (const auto& file : std::filesystem::directory_iterator(KILN_TEST_DATA "/ptx")) {
    if (file.path().extension() != ".ptx") continue;
    std::ifstream in(file.path());
    const std::string text{std::istreambuf_iterator<char>(in), {}};
    diag::Sink sink;
    const auto source = std::make_shared<diag::Source>(file.path().filename().string(), text);
    const ir::Module module = parse::parse(source, sink);
    for (const ir::Item& item : module.items) {
      const auto* f = std::get_if<ir::Function>(&item);
      if (!f || !f->body) continue;
      const ir::Code code = ir::decode(module, *f, sink);
      for (const ir::Operation& op : code.operations) {
        CHECK_MESSAGE(is_read(op), file.path().filename().string() << ": " << ir::mnemonic(*op.instruction) << " with "
                                                                   << op.arguments.size() << " operands");
        ++read;
      }
    }
  }
  CHECK(read > 1000);
}

TEST_CASE("the lowest version of a module is that of its target, or of what its instructions need") {
  struct Row {
    const char* target;
    const char* instruction;
    const char* lowest;
  };
  const Row rows[] = {
      {"sm_75", "add.s32 %r0, %r1, %r2;", "6.3"},
      {"sm_75", "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r0}, [%r1];", "6.5"},
      {"sm_75", "cvt.pack.sat.s16.s32 %r0, %r1, %r2;", "6.5"},
      {"sm_75", "tanh.approx.f32 %f0, %f1;", "7.0"},
      {"sm_75", "alloca.u64 %d0, %d1;", "7.3"},
      {"sm_75", "fence.proxy.alias;", "7.5"},
      {"sm_75", "ld.shared::cta.b32 %r0, [%r1];", "7.8"},
      {"sm_75", "barrier.cta.sync 0;", "7.8"},
      {"sm_75", "mov.u64 %d0, %current_graph_exec;", "8.0"},
      {"sm_75", "lop3.or.b32 %r0|%p, %r1, %r2, %r3, 1, %q;", "8.2"},
      {"sm_75", "cvta.param::entry.u64 %d0, %d1;", "8.3"},
      {"sm_80", "mbarrier.test_wait.parity.shared.b64 %p, [%r0], 0;", "7.1"},
      {"sm_80", "discard.global.L2 [%d0], 128;", "7.4"},
      {"sm_80", "mov.u32 %r0, %reserved_smem_offset_0;", "7.6"},
      {"sm_80", "cvt.rna.satfinite.tf32.f32 %r0, %f0;", "8.1"},
      {"sm_86", "min.xorsign.abs.f32 %f0, %f1, %f2;", "7.2"},
      {"sm_80", "add.s32 %r0, %r1, %r2;", "7.0"},
      {"sm_80", "createpolicy.fractional.L2::evict_last.b64 %d0, 1.0;", "7.4"},
      {"sm_80", "ld.global.L1::evict_last.u32 %r0, [%d0];", "7.4"},
      {"sm_80", "bmsk.clamp.b32 %r0, %r1, 3;", "7.6"},
      {"sm_80", "cvta.param.u64 %d0, %d1;", "7.7"},
      {"sm_80", "movmatrix.sync.aligned.m8n8.trans.b16 %r0, %r1;", "7.8"},
      {"sm_80", "mbarrier.arrive.release.cta.shared.b64 %d0, [%r0];", "8.0"},
      {"sm_80", "ld.mmio.relaxed.sys.global.u32 %r0, [%d0];", "8.2"},
      {"sm_80", "ld.relaxed.mmio.sys.global.u32 %r0, [%d0];", "8.2"},
      {"sm_80", "ld.mmio.acquire.sys.global.u32 %r0, [%d0];", "9.3"},
      {"sm_80", "ld.global.b128 %x, [%d0];", "8.3"},
      {"sm_80", "cp.async.ca.shared.global [%r0], [%d0], 16, %r1;", "7.0"},
      {"sm_80", "cp.async.ca.shared.global [%r0], [%d0], 16, %p;", "7.5"},
      {"sm_89", "cvt.rn.satfinite.e4m3x2.f32 %h, %f0, %f1;", "8.1"},
      {"sm_90", "cvt.rn.satfinite.e4m3x2.f32 %h, %f0, %f1;", "7.8"},
      {"sm_90", "mapa.u32 %r0, %r1, 1;", "7.8"},
      {"sm_90", "barrier.cluster.arrive;", "7.8"},
      {"sm_90", "barrier.cluster.arrive.release;", "8.0"},
      {"sm_90", "elect.sync _|%p, -1;", "8.0"},
      {"sm_90", "cp.async.bulk.commit_group;", "8.0"},
      {"sm_90", "fence.proxy.async;", "8.0"},
      {"sm_90", "prefetch.tensormap [%d0];", "8.0"},
      {"sm_90", "mbarrier.arrive.expect_tx.shared.b64 %d0, [%r0], 2;", "8.0"},
      {"sm_90", "min.s16x2 %r0, %r1, %r2;", "8.0"},
      {"sm_90", "cvt.rn.bf16.s32 %h, %r0;", "7.8"},
      {"sm_90", "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.b32 [%r0], %r1, [%r2];", "8.1"},
      {"sm_90", "multimem.st.global.f32 [%d0], %f0;", "8.1"},
      {"sm_90", "red.global.add.v2.f32 [%d0], {%f0, %f1};", "8.1"},
      {"sm_90a", "add.s32 %r0, %r1, %r2;", "8.0"},
      {"sm_100a",
       "mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f32.e4m3.e5m2.f32 {%f0, %f1, %f2, %f3}, {%r0, %r1, %r2, %r3}, "
       "{%r0, %r1}, {%f0, %f1, %f2, %f3};",
       "8.6"},
      {"sm_100a",
       "mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f16.e4m3.e5m2.f16 {%r0, %r1}, {%r0, %r1, %r2, %r3}, "
       "{%r0, %r1}, {%r2, %r3};",
       "8.7"},
      {"sm_107a", "add.s32 %r0, %r1, %r2;", "9.4"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.instruction);
    One one(row.instruction);
    one.module.targets = {row.target};
    CHECK(isa::spelling(ops::lowest_version(one.module)) == row.lowest);
  }
}
