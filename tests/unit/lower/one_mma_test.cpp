// One tcgen05.mma, lowered: every form against a plain loop, on numbers that every order of summation adds exactly.
#include "emit/emit.hpp"
#include "lower/lower.hpp"
#include "ptx/isa/shared_descriptor.hpp"
#include "ptx/isa/zero_mask.hpp"
#include "tests/unit/sim/mma_problem.hpp"
#include "verifier/verify.hpp"

namespace lower_one_mma {

using namespace kiln;
using namespace kiln::test;
using isa::MmaKind;
using isa::ScalarType;

namespace {

// The module lowered, written as text and read back.
ir::Module lowered(const ir::Module& module, launch::Contract& contract, isa::Target target) {
  diag::Sink sink;
  auto out = lower::lower(module, {target, lower::Place::automatic, &contract}, sink);
  REQUIRE_MESSAGE(out, diag::render_text(sink));
  verifier::check(out->module, sink);
  CHECK_MESSAGE(!sink.has_errors(), diag::render_text(sink));
  contract = std::move(out->contract);
  const auto text = std::make_shared<const diag::Source>("lowered.ptx", emit::emit_unverified(out->module));
  return parse::parse(text, sink);
}

MmaMachine lowering(MmaMachine machine, isa::Target target = isa::sm_90a) {
  machine.rewritten = [target](ir::Module m, launch::Contract& c) { return lowered(m, c, target); };
  return machine;
}

void check(MmaProblem p, unsigned seed, isa::Target target = isa::sm_90a) {
  p.ordered = true;
  p.draw(seed);
  check_product(p, lowering(p.machine(), target), seed);
}

const MmaTypes kinds[] = {
    {MmaKind::f16, ScalarType::bf16, ScalarType::bf16, ScalarType::f32},
    {MmaKind::f16, ScalarType::f16, ScalarType::f16, ScalarType::f16},
    {MmaKind::tf32, ScalarType::tf32, ScalarType::tf32, ScalarType::f32},
    {MmaKind::f8f6f4, ScalarType::e4m3, ScalarType::e5m2, ScalarType::f32},
    {MmaKind::f8f6f4, ScalarType::e4m3, ScalarType::e2m1, ScalarType::f32},
    {MmaKind::f8f6f4, ScalarType::e2m1, ScalarType::e5m2, ScalarType::f16},
    {MmaKind::i8, ScalarType::s8, ScalarType::u8, ScalarType::s32},
};

}  // namespace

TEST_CASE("one MMA of every kind is lowered, dense and sparse, with 128 and 64 rows") {
  for (const MmaTypes& t : kinds)
    for (const bool sparse : {false, true})
      for (const int m : {128, 64}) {
        MmaProblem p = problem_of(t);
        p.sparse = sparse, p.m = m;
        for (const isa::Target target : {isa::sm_90a, isa::sm_120a}) check(p, unsigned(m + sparse), target);
      }
}

TEST_CASE("one MMA with block scaling takes the scales of its own rows and columns, of any N") {
  for (const bool packed : {false, true})
    for (const int n : {8, 24, 56, 72, 80, 88, 96}) {
      MmaProblem p;
      p.kind = packed ? MmaKind::mxf4nvf4 : MmaKind::mxf8f6f4;
      p.a_type = p.b_type = packed ? ScalarType::e2m1 : ScalarType::e4m3;
      p.scales = packed ? 4 : 1, p.scale_vector = packed ? ".scale_vec::4X" : ".scale_vec::1X";
      p.scale_type = packed ? ScalarType::ue4m3 : ScalarType::ue8m0;
      if (!packed) p.sfa_id = 2, p.sfb_id = 3;
      p.n = n;
      check(p, unsigned(n));
    }
}

TEST_CASE("the sparsity selector of f16 and tf32 chooses a column of metadata") {
  for (const MmaTypes& t : {kinds[0], kinds[2]}) {
    MmaProblem p = problem_of(t);
    p.sparse = true, p.selector = 1;
    check(p, 5);
  }
}

TEST_CASE("a sparse A in tensor memory, and with 64 rows all of it from lane 16 on") {
  for (const MmaTypes& t : kinds)
    for (const int lane : {0, 16}) {
      if (isa::bits(t.a) < 8) continue;
      MmaProblem p = problem_of(t);
      p.sparse = true, p.a_in_tmem = true, p.lane = lane;
      if (lane) p.m = 64;
      check(p, 6);
    }
}

TEST_CASE("weight-stationary forms with a sparse A read the metadata of their own lanes") {
  for (const MmaTypes& t : kinds)
    for (const int m : {128, 64, 32}) {
      MmaProblem p = problem_of(t);
      p.sparse = true, p.ws = true, p.m = m, p.n = 64;
      check(p, unsigned(m));
    }
}

TEST_CASE("a zero-column mask that the kernel computes takes columns of B as zeros, and shifts the others") {
  const int first[4] = {1, 0, 1, 0}, start[4] = {1, 2, 0, 1};
  for (const MmaTypes& t : {kinds[0], kinds[3]})
    for (const bool sparse : {false, true})
      for (const int m : {128, 64, 32})
        for (const int shift : {0, 2, 9}) {
          MmaProblem p = problem_of(t);
          p.ws = true, p.ordered = true, p.sparse = sparse, p.m = m, p.n = 64, p.shift = shift;
          p.max_shift = shift ? 2 : 0, p.extra = ", %rd12";
          p.draw(unsigned(m + shift));
          isa::ZeroMaskFields mask{.generate = true, .skip = 3, .use = 4, .shift = shift};
          for (std::size_t i = 0; i < 4; ++i) mask.first[i] = first[i], mask.start[i] = u8(start[i]);
          MmaMachine machine = lowering(p.machine());
          // After a branch, so that it is not known before.
          const Run r = machine.run("mov.b64 %rd12, 0; setp.ne.u32 %p5, %r2, 77; @%p5 mov.b64 %rd12, " +
                                    std::to_string(isa::pack(mask)) + ";\n" + p.instruction());
          REQUIRE_MESSAGE(r.clean(), r.findings());
          int wrong = 0;
          for (int row = 0; row < m; ++row)
            for (int n = 0; n < 64; ++n)
              wrong += d_word(p, machine, row, n) != (isa::is_zeroed(mask, m, 64, n) ? 0 : wanted_word(p, row, n));
          CHECK(wrong == 0);
        }
}

TEST_CASE("masks of lanes and of columns that are all zeros are no masks") {
  for (const bool ws : {false, true}) {
    MmaProblem p;
    p.ws = ws, p.n = 64, p.extra = ws ? ", 0" : "";
    p.draw(3);
    std::string text = p.instruction();
    if (!ws) {
      const std::string idesc = std::to_string(p.idesc());
      text = "mov.b32 %r40, 0;\n" + text.replace(text.find(idesc), idesc.size(), idesc + ", {%r40, %r40, %r40, %r40}");
    }
    MmaMachine machine = lowering(p.machine());
    const Run r = machine.run(text);
    REQUIRE_MESSAGE(r.clean(), r.findings());
    CHECK(wrong_elements(p, machine, 128) == 0);
  }
}

TEST_CASE("A in tensor memory of a weight-stationary form has rows for each part of N") {
  for (const MmaTypes& t : kinds)
    for (const bool sparse : {false, true})
      for (const int m : {128, 64, 32}) {
        if (isa::bits(t.a) < 8) continue;
        MmaProblem p = problem_of(t);
        p.ws = true, p.sparse = sparse, p.a_in_tmem = true, p.m = m, p.n = 64;
        check(p, unsigned(m));
      }
}

namespace {

// Shared memory full of elements that every order of summation adds exactly, wherever an operand begins.
MmaMachine full_of(ScalarType type, unsigned seed) {
  MmaMachine machine;
  std::mt19937 random(seed);
  std::vector<u8>& shared = machine.before[0].shared;
  const std::size_t bytes = std::size_t(std::max(8, isa::bits(type)) / 8);
  for (std::size_t at = 0; at < shared.size(); at += bytes) {
    const u32 word = operand_word(type, std::array{-2.0, -1.0, 0.0, 1.0, 2.0}[random() % 5]);
    std::memcpy(&shared[at], &word, bytes);
  }
  for (int lane = 0; lane < 128; ++lane)
    for (int column = 80; column < 84; ++column) machine.before[0].cell(lane, column) = 0x44444444;
  return machine;
}

struct Layout {
  isa::Swizzle swizzle;
  u32 leading, stride;
};

// The same tensor memory with and without lowering.
void check_majors(const MmaProblem& p, isa::Major a, isa::Major b, const Layout& l) {
  isa::InstructionDescriptorFields idesc = isa::unpack(p.idesc(), p.kind);
  idesc.a_major = a, idesc.b_major = b;
  const auto descriptor = [&](isa::Major major, u32 start) {
    isa::SharedDescriptorFields d{};
    const bool mn = major == isa::Major::MN;
    d.start = start, d.leading = mn ? l.leading : 16, d.stride = mn ? l.stride : 1024, d.version = 1;
    d.swizzle_code = isa::descriptor_code(mn ? l.swizzle : isa::Swizzle::b128);
    return std::to_string(isa::pack(d));
  };
  const std::string text = "add.u64 %rd10, %rd2, " + descriptor(a, 0) + "; add.u64 %rd11, %rd2, " +
                           descriptor(b, 16384) + "; add.u32 %r22, %r2, 80;\ntcgen05.mma" + (p.sparse ? ".sp" : "") +
                           ".cta_group::1." + std::string(isa::spelling(p.kind)) + " [%r2], %rd10, %rd11, " +
                           (p.sparse ? "[%r22], " : "") + std::to_string(isa::pack(idesc, p.kind)) + ", 0;";
  CAPTURE(text);
  MmaMachine there = full_of(p.a_type, 5), here = lowering(there);
  const Run first = there.run(text), second = here.run(text);
  REQUIRE_MESSAGE(first.clean(), first.findings());
  REQUIRE_MESSAGE(second.clean(), second.findings());
  CHECK(there.after[0].tmem == here.after[0].tmem);
  CHECK(there.after[0].tmem != there.before[0].tmem);
}

}  // namespace

TEST_CASE("operands of 8 and 32 bits that lie along M or N are gathered, in every layout that they may have") {
  using isa::Swizzle;
  const Layout words[] = {{Swizzle::b128_atom32, 4096, 512}, {Swizzle::b128_atom32, 512, 2048}};
  const Layout bytes[] = {
      {Swizzle::none, 2048, 128}, {Swizzle::b32, 4096, 256}, {Swizzle::b64, 2048, 512}, {Swizzle::b128, 4096, 1024}};
  for (const MmaTypes& t : {kinds[2], kinds[3], kinds[6]})
    for (const bool sparse : {false, true})
      for (const auto& [a, b] : {std::pair(isa::Major::MN, isa::Major::K),
                                 {isa::Major::K, isa::Major::MN},
                                 {isa::Major::MN, isa::Major::MN}}) {
        MmaProblem p = problem_of(t);
        p.sparse = sparse, p.n = 48;
        if (p.kind == MmaKind::f8f6f4) p.b_type = p.a_type;
        if (p.kind == MmaKind::i8) p.b_type = p.a_type;
        if (p.kind == MmaKind::tf32)
          for (const Layout& l : words) check_majors(p, a, b, l);
        else
          for (const Layout& l : bytes) check_majors(p, a, b, l);
      }
}

}  // namespace lower_one_mma
