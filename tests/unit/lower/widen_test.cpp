// Elements of 4 and 6 bits become those of 8 bits that they are multiplied as.
#include <cmath>

#include "harness/contract/contract_json.hpp"
#include "lower/operand.hpp"
#include "ptx/num/format.hpp"
#include "tests/unit/lower/lowered.hpp"

using namespace kiln;
using namespace kiln::test;

namespace {

// Thread t widens the codes t, t + 1, t + 2 and t + 3, side by side.
std::string kernel(isa::ScalarType type) {
  const int bits = isa::bits(type), codes = 1 << bits;
  lower::Text body;
  for (int i = 0; i < 4; ++i) {
    body.line("add.u32 %r1, %r0, {};", i);
    body.line("bfi.b32 %word, %r1, %word, {}, {};", bits * i, bits);
  }
  lower::write_widening(body, type, "%word");
  return fmt::format(R"(.version 8.6
.target sm_90a
.address_size 64
.visible .entry kernel(.param .u64 out)
.reqntid {}, 1, 1
{{
  .reg .b32 %r<2>, %word;
  .reg .b64 %at, %base;
  mov.u32 %r0, %tid.x;
  mov.b32 %word, 0;
{}
  ld.param.u64 %base, [out];
  mad.wide.u32 %at, %r0, 4, %base;
  st.global.u32 [%at], %word;
  ret;
}}
)",
                     codes, body.str());
}

launch::Contract contract(int threads) {
  return harness::read_contract(
      fmt::format(R"({{"entry": "kernel", "grid": [1], "block": [{0}], "buffers": {{"out": {{"dtype": "u32",
                      "shape": [{0}]}}}}, "params": [{{"buffer": "out"}}]}})",
                  threads),
      "widen.json");
}

bool is_same_number(const num::Number& a, const num::Number& b) {
  if (a.kind != num::NumberClass::finite || b.kind != num::NumberClass::finite) return false;
  return a.negative == b.negative && std::ldexp(double(a.m), a.lsb) == std::ldexp(double(b.m), b.lsb);
}

}  // namespace

TEST_CASE(
    "every number of e2m1 and e2m3 becomes that of e4m3, every one of e3m2 that of e5m2, zeros with their signs") {
  for (const isa::ScalarType type : {isa::ScalarType::e2m1, isa::ScalarType::e2m3, isa::ScalarType::e3m2}) {
    CAPTURE(isa::spelling(type));
    const int codes = 1 << isa::bits(type);
    Kernel k = parsed(kernel(type), contract(codes));
    harness::fill(k.contract);
    const launch::Contract after = simulated(k);
    const std::vector<std::uint8_t>& bytes = after.at("out").bytes;
    for (int thread = 0; thread < codes; ++thread)
      for (int i = 0; i < 4; ++i) {
        const int code = (thread + i) % codes;
        CAPTURE(code);
        CHECK(is_same_number(num::decode(type, std::uint64_t(code)),
                             num::decode(lower::multiplied_as(type), bytes[std::size_t(4 * thread + i)])));
      }
  }
}
