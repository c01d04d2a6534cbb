// What analyses make of integer instructions on numbers, against what the simulator makes of them.
#include <doctest/doctest.h>

#include <sstream>

#include "ptx/flow/known_bits.hpp"
#include "tests/unit/sim/run.hpp"

namespace flow_numbers {

using namespace kiln;

// Instructions with the kinds of their operands, the result first: h, w and x are registers of 16, 32 and 64 bits, p is
// a predicate.
constexpr const char* forms[] = {"add.u32 www",
                                 "add.sat.s32 www",
                                 "add.s64 xxx",
                                 "add.u16 hhh",
                                 "add.u16x2 www",
                                 "add.s16x2 www",
                                 "sub.s32 www",
                                 "sub.sat.s32 www",
                                 "sub.u64 xxx",
                                 "mul.lo.s32 www",
                                 "mul.lo.u64 xxx",
                                 "mul.lo.s16 hhh",
                                 "mul.hi.u32 www",
                                 "mul.hi.s32 www",
                                 "mul.hi.u64 xxx",
                                 "mul.hi.s64 xxx",
                                 "mul.hi.u16 hhh",
                                 "mul.hi.s16 hhh",
                                 "mul.wide.u32 xww",
                                 "mul.wide.s32 xww",
                                 "mul.wide.u16 whh",
                                 "mul.wide.s16 whh",
                                 "mad.lo.s32 wwww",
                                 "mad.lo.u64 xxxx",
                                 "mad.hi.u32 wwww",
                                 "mad.hi.s32 wwww",
                                 "mad.hi.sat.s32 wwww",
                                 "mad.hi.s64 xxxx",
                                 "mad.wide.u32 xwwx",
                                 "mad.wide.s32 xwwx",
                                 "mul24.lo.u32 www",
                                 "mul24.lo.s32 www",
                                 "mul24.hi.u32 www",
                                 "mul24.hi.s32 www",
                                 "mad24.lo.s32 wwww",
                                 "mad24.hi.u32 wwww",
                                 "mad24.hi.sat.s32 wwww",
                                 "div.u32 www",
                                 "div.s32 www",
                                 "div.u64 xxx",
                                 "div.s64 xxx",
                                 "div.s16 hhh",
                                 "rem.u32 www",
                                 "rem.s32 www",
                                 "rem.u64 xxx",
                                 "rem.s64 xxx",
                                 "abs.s32 ww",
                                 "abs.s64 xx",
                                 "neg.s32 ww",
                                 "neg.s16 hh",
                                 "min.u32 www",
                                 "min.s32 www",
                                 "min.s64 xxx",
                                 "min.relu.s32 www",
                                 "min.u16x2 www",
                                 "max.u64 xxx",
                                 "max.s32 www",
                                 "max.s16 hhh",
                                 "max.relu.s16x2 www",
                                 "sad.u32 wwww",
                                 "sad.s32 wwww",
                                 "sad.u64 xxxx",
                                 "and.b32 www",
                                 "or.b64 xxx",
                                 "xor.b16 hhh",
                                 "not.b32 ww",
                                 "not.b16 hh",
                                 "cnot.b32 ww",
                                 "cnot.b64 xx",
                                 "shl.b32 wws",
                                 "shl.b64 xxs",
                                 "shl.b16 hhs",
                                 "shr.u32 wws",
                                 "shr.s32 wws",
                                 "shr.u64 xxs",
                                 "shr.s64 xxs",
                                 "shr.s16 hhs",
                                 "shr.b16 hhs",
                                 "shf.l.wrap.b32 wwws",
                                 "shf.l.clamp.b32 wwws",
                                 "shf.r.wrap.b32 wwws",
                                 "shf.r.clamp.b32 wwws",
                                 "bfe.u32 wwss",
                                 "bfe.s32 wwss",
                                 "bfe.u64 xxss",
                                 "bfe.s64 xxss",
                                 "bfi.b32 wwwss",
                                 "bfi.b64 xxxss",
                                 "bfind.u32 ww",
                                 "bfind.s32 ww",
                                 "bfind.u64 wx",
                                 "bfind.shiftamt.s64 wx",
                                 "brev.b32 ww",
                                 "brev.b64 xx",
                                 "popc.b32 ww",
                                 "popc.b64 wx",
                                 "clz.b32 ww",
                                 "clz.b64 wx",
                                 "fns.b32 wwsw",
                                 "bmsk.clamp.b32 wss",
                                 "bmsk.wrap.b32 wss",
                                 "szext.clamp.u32 wws",
                                 "szext.wrap.s32 wws",
                                 "prmt.b32 wwww",
                                 "prmt.b32.f4e wwws",
                                 "prmt.b32.rc16 wwws",
                                 "prmt.b32.ecl wwws",
                                 "dp4a.u32.u32 wwww",
                                 "dp4a.s32.u32 wwww",
                                 "dp2a.lo.s32.s32 wwww",
                                 "dp2a.hi.u32.s32 wwww",
                                 "cvt.u64.u32 xw",
                                 "cvt.s64.s32 xw",
                                 "cvt.u32.u64 wx",
                                 "cvt.u16.u32 hw",
                                 "cvt.u8.u32 ww",
                                 "cvt.s8.s32 ww",
                                 "cvt.s16.s32 ww",
                                 "cvt.u16.s32 ww",
                                 "cvt.sat.u8.s32 ww",
                                 "cvt.sat.s16.s32 ww",
                                 "cvt.sat.u32.s64 wx",
                                 "cvt.sat.s32.u32 ww",
                                 "cvt.s32.s16 wh",
                                 "cvt.u32.s16 wh",
                                 "slct.b32.s32 wwww",
                                 "slct.u64.s32 xxxw",
                                 "set.lt.u32.s32 www",
                                 "set.ge.u32.u32 www",
                                 "setp.lt.s32 pww",
                                 "setp.lt.u32 pww",
                                 "setp.ge.s64 pxx",
                                 "setp.ne.b32 pww",
                                 "setp.hi.u32 pww",
                                 "setp.ls.u32 pww",
                                 "setp.le.s16 phh"};

constexpr std::uint64_t words[] = {0,
                                   1,
                                   2,
                                   3,
                                   7,
                                   31,
                                   32,
                                   33,
                                   0xFF,
                                   0x7FFF,
                                   0x8000,
                                   0xFFFF,
                                   0x10001,
                                   0x92492493,
                                   0x7FFFFFFF,
                                   0x80000000,
                                   0xFFFFFFFF,
                                   0xFFFFFFFF80000000,
                                   0x7FFFFFFFFFFFFFFF,
                                   0x8000000000000000,
                                   0xDEADBEEF12345678,
                                   ~std::uint64_t{0}};
constexpr std::uint64_t small[] = {0, 1, 2, 5, 8, 15, 16, 31, 32, 33, 63, 64, 65, 200, 255};

TEST_CASE("integer instructions on numbers give what the simulator gives") {
  constexpr std::size_t tries = 24, count = std::size(forms) * tries;
  std::ostringstream body;
  std::vector<std::string> names(count), what(count);
  std::vector<int> bytes(count);
  std::uint64_t seed = 1;
  int next = 0;
  for (std::size_t k = 0; k < count; ++k) {
    const std::string form = forms[k / tries];
    const std::string name = form.substr(0, form.find(' ')), kinds = form.substr(form.find(' ') + 1);
    std::string operands;
    for (std::size_t i = 1; i < kinds.size(); ++i) {
      const bool is_small = kinds[i] == 's';
      seed = seed * 6364136223846793005u + 1442695040888963407u;
      const std::size_t pick = std::size_t(seed >> 33);
      const std::uint64_t v = is_small ? small[pick % std::size(small)] : words[pick % std::size(words)];
      const char kind = is_small ? 'w' : kinds[i];
      const int bits = kind == 'h' ? 16 : kind == 'w' ? 32 : 64;
      operands += std::string(", %") + kind + std::to_string(next);
      body << "mov.b" << bits << " %" << kind << next++ << ", " << (v & flow::low_mask(bits)) << ";\n";
      what[k] += " " + std::to_string(v & flow::low_mask(bits));
    }
    const char kind = kinds[0];
    const int number = next++;
    body << name << " %" << kind << number << operands << ";\n";
    what[k] = name + what[k];
    names[k] = std::string("%") + (kind == 'p' ? 'w' : kind) + std::to_string(number);
    if (kind == 'p') body << "selp.u32 " << names[k] << ", 1, 0, %p" << number << ";\n";
    bytes[k] = kind == 'h' ? 2 : kind == 'x' ? 8 : 4;
    body << "st.global.b" << 8 * bytes[k] << " [%out+" << 8 * k << "], " << names[k] << ";\n";
  }
  const std::string n = std::to_string(next);
  const std::string text = test::head + ".visible .entry k(.param .u64 out) {\n.reg .pred %p<" + n +
                           ">; .reg .b16 %h<" + n + ">; .reg .b32 %w<" + n + ">; .reg .b64 %x<" + n +
                           ">; .reg .b64 %out;\nld.param.u64 %out, [out];\n" + body.str() + "ret;\n}\n";
  const test::Run run = test::run_kernel(text, 1, 2 * count);
  REQUIRE_MESSAGE(run.clean(), run.findings());
  const auto results = run.read<std::uint64_t>("out");

  diag::Sink sink;
  const ir::Module module = parse::parse(std::make_shared<diag::Source>("k.ptx", text), sink);
  const ir::Code code = ir::decode(module, *module.find_function("k"), sink);
  const flow::Definitions definitions(code);
  const flow::KnownBits known(code, definitions);
  std::map<std::string, ir::RegisterId> registers;
  for (ir::RegisterId r = 0; r < code.registers.size(); ++r) registers[code.registers[r].name] = r;
  for (std::size_t k = 0; k < count; ++k) {
    const auto v = known.of(registers.at(names[k])).value();
    const bool by_zero = (what[k].starts_with("div") || what[k].starts_with("rem")) && what[k].ends_with(" 0");
    CHECK_MESSAGE((v.has_value() != by_zero), what[k]);
    if (v) CHECK_MESSAGE(*v == (results[k] & flow::low_mask(8 * bytes[k])), what[k]);
  }
}

}  // namespace flow_numbers
