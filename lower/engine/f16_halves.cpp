#include "lower/engine/f16_halves.hpp"

namespace kiln::lower {

void write_half(Builder& b, const Registers& fragments, isa::ScalarType type, int from, int to, int count, int half) {
  const std::string convert = "cvt.rn.f16x2." + std::string(isa::spelling(type)) + "x2";
  for (int r = 0; r < count; ++r) {
    const Registers pairs = b.regs(ScalarType::b16, 2);
    b.op("mov.b32", vec(pairs, 0, 2), fragments[std::size_t(from + r)]);
    b.op(convert, fragments[std::size_t(to + r)], pairs[std::size_t(half)]);
  }
}

}  // namespace kiln::lower
