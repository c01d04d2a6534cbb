// The forms layer against what ptxas 13.0 says about the same instructions.
#include <filesystem>
#include <vector>

#include "ptx/isa/opcode_list.hpp"
#include "ptx/rules/catalogue.hpp"
#include "tests/about_form.hpp"
#include "tests/unit/verifier/checked.hpp"
#include "verifier/checks/forms.hpp"
#include "verifier/verify.hpp"

namespace verifier_forms {

using namespace kiln;

namespace {

// Front-coded lines: the number of characters shared with the line before, and the rest.
std::vector<std::string> read_instructions(const std::string& name) {
  std::istringstream in(test::read_data("forms/" + name + ".txt"));
  std::vector<std::string> out;
  std::string line, previous;
  while (std::getline(in, line)) {
    std::size_t used = 0;
    const auto shared = std::size_t(std::stoi(line, &used));
    previous = previous.substr(0, shared) + line.substr(used + 1);
    out.push_back(previous);
  }
  return out;
}

const std::string head = test::preamble + R"(
.shared .align 8 .b64 smbar;
.shared .align 16 .b8 smem[1024];
.global .align 8 .b64 gmem;
.visible .entry k()
{
.reg .b32 r<300>; .reg .u32 u<10>; .reg .s32 s<10>; .reg .f32 f<10>; .reg .b64 d<10>; .reg .u64 ud<10>;
.reg .s64 sd<10>; .reg .b16 h<10>; .reg .u16 uh<10>; .reg .s16 sh<10>; .reg .pred p<10>;
)";

// What the verifier says about each instruction of one big kernel, the kernel-wide rules left out.
std::vector<std::string> verdicts(const std::vector<std::string>& instructions) {
  std::string text = head;
  for (const std::string& i : instructions) text += i + "\n";
  const auto source = std::make_shared<diag::Source>("t.ptx", text + "ret;\n}\n");
  const int first = source->position(std::uint32_t(head.size())).line;
  diag::Sink sink;
  const ir::Module module = parse::parse(source, sink);
  verifier::check(module, sink);
  std::vector<std::string> out(instructions.size());
  for (const auto& d : sink.all()) {
    const int line = source->position(d.where.place.begin).line - first;
    const bool kernel_wide = d.slug == "tcgen05-cta-group-mixed" || d.slug == "tcgen05-alloc-leak";
    if (!kernel_wide && line >= 0 && line < int(out.size())) out[std::size_t(line)] += d.slug + " ";
  }
  return out;
}

// ptxas takes a dealloc of any multiple of 32; what can have been allocated is a power of two.
bool has_form_finding(const std::string& slugs) {
  std::istringstream words(slugs);
  for (std::string slug; words >> slug;)
    if (test::is_about_form(slug) && slug != "tcgen05-alloc-columns") return true;
  return false;
}

}  // namespace

TEST_CASE("every form that ptxas accepts has its form") {
  const auto accepted = read_instructions("accepted");
  REQUIRE(accepted.size() > 5000);
  const auto found = verdicts(accepted);
  for (std::size_t i = 0; i < accepted.size(); ++i)
    if (has_form_finding(found[i])) FAIL_CHECK(accepted[i] << "  " << found[i]);
}

TEST_CASE("every mutation that ptxas refuses is refused") {
  const auto rejected = read_instructions("rejected");
  REQUIRE(rejected.size() > 5000);
  const auto found = verdicts(rejected);
  for (std::size_t i = 0; i < rejected.size(); ++i)
    if (found[i].empty()) FAIL_CHECK(rejected[i]);
}

TEST_CASE("no file that a compiler or a person wrote and ptxas takes has a form or a target error") {
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(KILN_TEST_DATA "/ptx")) {
    if (entry.path().extension() != ".ptx") continue;
    const std::string name = entry.path().filename().string();
    const diag::Sink sink = test::check_text(test::read_data("ptx/" + name));
    for (const auto& d : sink.all())
      if (d.slug.starts_with("form-") || d.slug.starts_with("target-")) FAIL_CHECK(name << ": " << d.message);
    ++files;
  }
  CHECK(files > 20);
}

TEST_CASE("every opcode has forms") {
  for (const isa::Opcode op : isa::all_opcodes) {
    CAPTURE(spelling(op));
    CHECK_FALSE(verifier::find_forms(op).empty());
  }
}

TEST_CASE("unknown instructions are incomplete, once a spelling; an unknown modifier of a known one is wrong") {
  const auto sink = test::check_text(test::preamble + R"(.visible .entry k() { .reg .b32 %r<4>; .reg .pred p;
    tcgen06.mma %r1, %r2; tcgen06.mma %r1, %r2; ldu.novelty.b32 %r1, [%r2]; ret; })");
  CHECK(test::slugs(sink) == "form-modifier unmodelled ");
  const std::string said = std::string(rules::info(rules::Limit::unmodelled).says) + "; got ";
  CHECK(sink.all()[1].message == said + "the instruction 'tcgen06'");
  CHECK(diag::exit_code(sink) == 1);
}

TEST_CASE("a malformed instruction is judged no further") {
  const auto sink =
      test::check_text(test::preamble + R"(.visible .entry k() { .reg .b32 %r<4>; .reg .b64 %d<3>; .reg .pred p;
    tcgen05.mma.cta_group::1.kind::f16.ashift [%r1], 0, 0, 0xFFFFFFFF, p; ret; })");
  CHECK(test::slugs(sink) == "tcgen05-ashift ");
}

TEST_CASE("bulk copies take the operands that their modifiers promise") {
  const auto one = [](const std::string& instruction) {
    return test::slugs(
        test::check_text(test::preamble +
                         ".shared .align 128 .b8 s[256]; .shared .b64 bar;\n.visible .entry k() .explicitcluster { "
                         ".reg .b32 %r<4>; .reg .b64 %d<3>; .reg .b16 %h; mbarrier.init.shared::cta.b64 [bar], 1;\n" +
                         instruction + " ret; }"));
  };
  CHECK(one("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster.L2::cache_hint "
            "[s], [%d1], 16, [bar], %h, %d2;")
            .empty());
  CHECK(one("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [s], [%d1], 16, "
            "[bar];") == "form-operands ");
  CHECK(one("cp.async.bulk.global.shared::cta.mbarrier::complete_tx::bytes [%d1], [s], 16, [bar];") ==
        "form-modifier ");
  CHECK(one("cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%r1], [s], 16, [bar];").empty());
  CHECK(one("cp.async.bulk.prefetch.L2.global [%d1], 16;").empty());
  CHECK(one("cp.async.bulk.tensor.3d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes [s], [%d1, {%r1, %r1, "
            "%r1}], [bar], {%h};")
            .empty());
  CHECK(one("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.cta_group::2 [s], [%d1, {%r1, "
            "%r1}], [bar];")
            .empty());
  CHECK(one("cp.async.bulk.wait_group.read 0;").empty());
  CHECK(one("cp.async.bulk.commit_group;").empty());
}

TEST_CASE("mbarrier instructions") {
  const auto one = [](const std::string& instruction) {
    return test::slugs(test::check_text(test::preamble +
                                        ".shared .b64 bar;\n.visible .entry k() { .reg .b32 %r<4>; .reg .b64 %d<3>; "
                                        ".reg .pred %p; mbarrier.init.shared::cta.b64 [bar], 1; "
                                        "mbarrier.arrive.b64 %d2, [bar];\n" +
                                        instruction + " ret; }"));
  };
  for (const char* good :
       {"mbarrier.arrive.b64 %d1, [bar];", "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r1], 2;",
        "mbarrier.arrive.expect_tx.relaxed.cta.shared::cta.b64 %d1, [bar], %r1;",
        "mbarrier.arrive.noComplete.shared.b64 %d1, [bar], 1;", "mbarrier.inval.shared::cta.b64 [bar];",
        "mbarrier.test_wait.shared::cta.b64 %p, [bar], %d1;", "mbarrier.pending_count.b64 %r1, %d1;",
        "mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 %p, [bar], %r1, 1000;",
        "mbarrier.complete_tx.relaxed.cluster.shared::cluster.b64 [%r1], 16;"})
    CHECK_MESSAGE(one(good).empty(), good << "  " << one(good));
  CHECK(one("mbarrier.init.shared::cta.b64 [bar];") == "form-operands ");
  CHECK(one("mbarrier.arrive.noComplete.shared::cta.b64 %d1, [bar];") == "form-operands ");
  CHECK(one("mbarrier.arrive_drop.noComplete.shared::cta.b64 %d1, [bar];") == "form-operands ");
  CHECK(one("mbarrier.arrive.expect_tx.shared::cta.b64 %d1, [bar];") == "form-operands ");
  CHECK(one("mbarrier.init.shared::cluster.b64 [bar], 1;") == "form-modifier ");
  CHECK(one("mbarrier.try_wait.release.shared::cta.b64 %p, [bar], %d1;") == "form-modifier ");
}

TEST_CASE("wgmma wants as many accumulators as its tile has columns for, and signs of 1 and -1") {
  const auto one = [](const std::string& instruction) {
    const auto sink = test::check_text(R"(.version 9.0
.target sm_90a
.address_size 64
.visible .entry k() { .reg .f32 %f<13>; .reg .b32 %r<5>; .reg .b64 %d<3>; .reg .pred %p;
mov.b64 %d1, 0; mov.b64 %d2, 0; setp.ne.b64 %p, %d1, 0; wgmma.mma_async.sync.aligned.)" +
                                       instruction + " ret; }");
    for (const auto& d : sink.all())
      if (d.slug.starts_with("form-")) return d.message;
    return std::string();
  };
  const std::string twelve = "{%f1,%f2,%f3,%f4,%f5,%f6,%f7,%f8,%f9,%f10,%f11,%f12}";
  CHECK(one("m64n24k16.f32.bf16.bf16 " + twelve + ", %d1, %d2, %p, 1, -1, 0, 1;").empty());
  CHECK(one("m64n8k16.f32.bf16.bf16 " + twelve + ", %d1, %d2, %p, 1, 1, 0, 0;")
            .ends_with("where 4 registers of type .f32 belongs"));
  CHECK(one("m64n24k16.f32.bf16.bf16 " + twelve + ", %d1, %d2, %p, 1, 0, 0, 0;").ends_with("where a number belongs"));
  CHECK(one("m64n40k32.s32.s8.s8 {%r1,%r2,%r3,%r4}, %d1, %d2, %p;").find("got .m64n40k32") != std::string::npos);
  CHECK(one("m64n8k32.s32.s8.s8 {%r1,%r2,%r3,%r4}, %d1, %d2, %p;").empty());
}

TEST_CASE("tcgen05 on a target without it is one error, which says what is there instead") {
  const auto one = [](const std::string& target) {
    const auto sink = test::check_text(".version 9.0\n.target " + target + R"(
.address_size 64
.visible .entry k() { .reg .b32 %r<2>; mov.b32 %r1, 0;
tcgen05.fence::after_thread_sync; tcgen05.shift.cta_group::1.down [%r1]; tcgen05.wait::ld.sync.aligned; ret; })");
    REQUIRE(sink.all().size() == 1);
    CHECK(sink.all()[0].slug == "target-tcgen05");
    return sink.all()[0].message;
  };
  CHECK(one("sm_90a").ends_with("; got .target sm_90a, which multiplies with wgmma"));
  CHECK(one("sm_121a").ends_with("; got .target sm_121a, which multiplies with mma.sync and its block scaling"));
  CHECK(one("sm_100").ends_with("; got .target sm_100; use sm_100a or sm_100f"));
}

}  // namespace verifier_forms
