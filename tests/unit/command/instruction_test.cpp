// What `kiln explain` knows of instructions, against every tcgen05 instruction that ptxas takes.
#include <doctest/doctest.h>

#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "ptx/diag/error.hpp"
#include "ptx/isa/opcode_list.hpp"
#include "tools/command/instruction_words.hpp"
#include "tools/command/lone_instruction.hpp"
#include "tools/command/modifier_words.hpp"
#include "verifier/checks/forms.hpp"

using namespace kiln;
using namespace kiln::command;

namespace {

// Front-coded lines: the number of characters shared with the line before, and the rest.
std::vector<std::string> accepted_instructions() {
  std::ifstream in(KILN_TEST_DATA "/forms/accepted.txt");
  REQUIRE(in);
  std::vector<std::string> out;
  std::string line, previous;
  while (std::getline(in, line)) {
    std::size_t used = 0;
    const auto shared = std::size_t(std::stoi(line, &used));
    out.push_back(previous = previous.substr(0, shared) + line.substr(used + 1));
  }
  REQUIRE(out.size() > 5000);
  return out;
}

// What the verifier says of the instruction's form and target, immediates apart.
std::string refused_form(const TargetAnswer& answer) {
  for (const diag::Diagnostic& d : answer.findings)
    if (d.slug.starts_with("form-") || d.slug.starts_with("target-") || d.severity == diag::Severity::incomplete)
      return d.message;
  return {};
}

std::vector<std::string_view> words_of(const std::string& text) {
  const LoneInstruction lone(text);
  const InstructionWords* words = find_words(lone.instruction());
  REQUIRE(words);
  std::vector<std::string_view> out;
  for (const Slot* s : slots_of(lone.instruction(), *words)) out.push_back(s ? s->words : "?");
  return out;
}

}  // namespace

TEST_CASE("every operand of every tcgen05 instruction has a role, and every form has all of its roles") {
  std::set<isa::Opcode> opcodes;
  for (const std::string& text : accepted_instructions()) {
    const LoneInstruction lone(text);
    const ir::Instruction& i = lone.instruction();
    const InstructionWords* words = find_words(i);
    REQUIRE_MESSAGE(words, text);
    opcodes.insert(i.opcode);
    const auto slots = slots_of(i, *words);
    for (std::size_t k = 0; k < slots.size(); ++k)
      if (!slots[k]) FAIL_CHECK("operand " << k << " of " << text);
    if (!is_complete(i, *words)) FAIL_CHECK("roles are left in " << text);
  }
  CHECK(opcodes.size() == 16);  // all but tcgen05.ld.red, which sm_100a has not
}

TEST_CASE("an instruction that ptxas takes has its form though nothing in it is declared") {
  for (const std::string& text : accepted_instructions())
    if (const std::string refused = refused_form(LoneInstruction(text).ask(isa::sm_100a)); !refused.empty())
      FAIL_CHECK(text << "  " << refused);
}

TEST_CASE("names of any spelling get the type of their place") {
  for (const char* text :
       {"tcgen05.mma.cta_group::1.kind::f16 [d], a, b, idesc, p",
        "tcgen05.mma.cta_group::1.kind::f16 [x], [y], z, %r4, !q",
        "@go tcgen05.mma.sp.cta_group::1.kind::i8 [d], a, b, [meta], i, {m0, m1, m2, m3}, p",
        "tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 [bar], mask",
        "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [smem], columns"})
    CHECK_MESSAGE(LoneInstruction(text).ask(isa::sm_100a).lowest, text);
}

TEST_CASE("a name that says its type keeps it, so that a wrong one is found") {
  const TargetAnswer answer =
      LoneInstruction("tcgen05.mma.cta_group::1.kind::f16 [%r1], %rd1, %rd2, %rd3, %p1").ask(isa::sm_100a);
  REQUIRE(answer.findings.size() == 1);
  CHECK(answer.findings[0].slug == "form-operands");
}

TEST_CASE("the lowest version is the later of the target's and the feature's") {
  using isa::PtxVersion;
  const auto lowest = [](const char* text, isa::Target t) { return LoneInstruction(text).ask(t).lowest; };
  const char* f16 = "tcgen05.mma.cta_group::1.kind::f16 [d], a, b, i, p";
  const char* nvf4 = "tcgen05.mma.cta_group::1.kind::mxf4nvf4.block_scale.scale_vec::4X [d], a, b, i, [s], [t], p";
  CHECK(lowest(f16, isa::sm_100a) == PtxVersion{8, 6});
  CHECK(lowest(f16, isa::sm_100f) == PtxVersion{8, 8});
  CHECK(lowest(f16, isa::sm_110a) == PtxVersion{9, 0});
  CHECK(lowest(nvf4, isa::sm_100a) == PtxVersion{8, 7});
  CHECK_FALSE(lowest(nvf4, isa::sm_100f));
  CHECK_FALSE(lowest(f16, isa::sm_90a));
}

TEST_CASE("what stands around an instruction is not missed") {
  for (const char* text : {"tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [a], 64",
                           "tcgen05.dealloc.cta_group::1.sync.aligned.b32 t, 64",
                           "tcgen05.mma.cta_group::1.kind::f16.collector::a::use [d], a, b, i, p",
                           "tcgen05.ld.sync.aligned.32x32b.x1.b32 {r}, [t]"})
    CHECK_MESSAGE(LoneInstruction(text).ask(isa::sm_100a).lowest, text);
}

TEST_CASE("operands that are there only with a modifier are told apart by it") {
  const std::string load = "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes";
  CHECK(words_of(load + ".L2::cache_hint [d], [m, {x, y}], [b], h").back() == "cache policy");
  CHECK(words_of(load + ".multicast::cluster [d], [m, {x, y}], [b], h").back() ==
        "mask of the CTAs that receive the box");
  CHECK(words_of("tcgen05.mma.cta_group::1.kind::f16 [d], [a], b, i, p")[1] == "A, in tensor memory");
  CHECK(words_of("tcgen05.mma.cta_group::1.kind::f16 [d], a, b, i, p")[1] == "A: a matrix descriptor of shared memory");
}

TEST_CASE("text that is not one instruction is refused") {
  for (const char* text :
       {"", "add.f32 ((", "mov.b32 a, b; mov.b32 c, d", ".reg .b32 x", "L: ret", "ret }", "{ ret; }"})
    CHECK_THROWS_AS(LoneInstruction{text}, diag::InputError);
}

TEST_CASE("every modifier that a form has is explained") {
  std::size_t asked = 0;
  for (const isa::Opcode opcode : isa::all_opcodes)
    for (const verifier::Form& form : verifier::find_forms(opcode))
      for (const verifier::Form::Slot& slot : form.slots)
        for (const std::string_view word : slot.alternatives()) {
          const std::vector<std::string> written{std::string(word)};
          if (isa::decode_modifiers(written).others.empty()) continue;  // the question and the answer have names
          ++asked;
          CHECK_MESSAGE(modifier_words(opcode, word), isa::spelling(opcode) << " ." << word);
        }
  CHECK(asked > 400);
  CHECK(modifier_words(isa::Opcode::wgmma_mma_async, "m64n128k16")->answer == "D is 64 x 128, and K is 16");
  CHECK_FALSE(modifier_words(isa::Opcode::wgmma_mma_async, "m64n128k16x"));
  CHECK_FALSE(modifier_words(isa::Opcode::add, "grad"));
}
