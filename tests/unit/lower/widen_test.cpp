// Elements of 4 and 6 bits become those of 8 bits that they are multiplied as.
#include <fmt/core.h>

#include <cmath>

#include "harness/contract/contract_json.hpp"
#include "lower/engine/operand.hpp"
#include "ptx/num/format.hpp"
#include "tests/unit/lower/lowered.hpp"

namespace lower_widen {

using namespace kiln;
using namespace kiln::test;

namespace {

// Thread t widens the codes t, t + 1, t + 2 and t + 3, side by side.
std::string kernel(isa::ScalarType type) {
  using ir::at;
  const int bits = isa::bits(type), codes = 1 << bits;
  ir::Builder b("w_");
  const ir::Register thread = b.b32("mov.u32", "%tid.x"), word = b.b32("mov.b32", 0);
  for (int i = 0; i < 4; ++i) b.op("bfi.b32", word, b.b32("add.u32", thread, i), word, bits * i, bits);
  lower::write_widening(b, type, word);
  const ir::Register out = b.b64("ld.param.u64", at("out"));
  b.op("mad.wide.u32", out, thread, 4, out);
  b.op("st.global.u32", at(out), word);
  b.op("ret");
  ir::Variable parameter;
  parameter.space = isa::Space::param, parameter.type = isa::ScalarType::u64, parameter.name = "out";
  ir::Function entry;
  entry.linkage = ir::Linkage::visible, entry.entry = true, entry.name = "kernel";
  entry.parameters = {parameter};
  entry.performance = {{"reqntid", {codes, 1, 1}, {}, {}}};
  entry.body = ir::Block{b.take(), {}};
  ir::Module module;
  module.version = {8, 6}, module.targets = {"sm_90a"};
  module.items.emplace_back(std::move(entry));
  return emit::emit_unverified(module);
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

}  // namespace lower_widen
