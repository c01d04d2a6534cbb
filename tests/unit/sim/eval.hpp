// One operation on given operands, run by itself.
#pragma once

#include <doctest/doctest.h>

#include "tests/unit/sim/run.hpp"

namespace kiln::test {

using u32 = std::uint32_t;
using u64 = std::uint64_t;

inline std::string digits(u64 v) { return std::to_string(v); }

// `op` computes %r9 from %r1, %r2, %r3 (32-bit) and may use every other register.
inline u32 eval(const std::string& op, u32 a = 0, u32 b = 0, u32 c = 0) {
  const Run r = run_kernel(kernel("mov.u32 %r1, " + digits(a) + "; mov.u32 %r2, " + digits(b) + "; mov.u32 %r3, " +
                                  digits(c) + ";\n" + op + "\nst.global.u32 [%out], %r9;"));
  CHECK_MESSAGE(r.clean(), op << "\n" << r.findings());
  return r.read<u32>("out")[0];
}

inline u64 eval64(const std::string& op, u64 a = 0, u64 b = 0, u64 c = 0) {
  const Run r = run_kernel(kernel("mov.u64 %rd1, " + digits(a) + "; mov.u64 %rd2, " + digits(b) + "; mov.u64 %rd3, " +
                                  digits(c) + ";\n" + op + "\nst.global.u64 [%out], %rd9;"));
  CHECK_MESSAGE(r.clean(), op << "\n" << r.findings());
  return r.read<u64>("out")[0];
}

// %f9 from %f1, %f2, %f3.
inline u32 evalf(const std::string& op, float a = 0, float b = 0, float c = 0) {
  const auto bits = [](float v) { return std::bit_cast<u32>(v); };
  return eval("mov.b32 %f1, %r1; mov.b32 %f2, %r2; mov.b32 %f3, %r3; " + op + " mov.b32 %r9, %f9;", bits(a), bits(b),
              bits(c));
}
inline float real(u32 v) { return std::bit_cast<float>(v); }

constexpr u32 minus(u32 n) { return 0u - n; }

}  // namespace kiln::test
