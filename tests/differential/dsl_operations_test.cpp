// The DSL's operations against plain arithmetic: one kernel of a warpgroup writes, in each thread, what each operation
// makes of the thread's numbers; it is verified, emitted, parsed back and simulated.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "dsl/dsl.hpp"
#include "ptx/num/format.hpp"
#include "tests/differential/dsl_run.hpp"

namespace dsl_operations {

using namespace kiln;
using namespace kiln::dsl;

namespace {

constexpr int threads = 128;
using Floats = std::array<float, threads>;
using Words = std::array<std::uint32_t, threads>;

/// What a thread computes with, and what the host knows of all threads.
struct Device {
  Warpgroup& g;
  F32 x, y;
  U32 n;
  WarpgroupScratch scratch;
};
struct Host {
  Floats x, y;
  Words n;
  int t = 0;

  float fx() const { return x[std::size_t(t)]; }
  float fy() const { return y[std::size_t(t)]; }
  std::uint32_t word() const { return n[std::size_t(t)]; }
};

/// Two results may differ by `error` of the larger of 1 and the expected one; words must agree.
struct Operation {
  const char* name;
  std::function<U32(Device&)> device;
  std::function<std::uint32_t(const Host&)> host;
  double error = -1;  // of a float; negative: the bits agree
};

template <class DeviceOp, class HostOp>
Operation real(const char* name, DeviceOp device, HostOp host, double error = 0) {
  return {name, [device](Device& d) { return bit_cast<U32>(F32(device(d))); },
          [host](const Host& h) { return std::bit_cast<std::uint32_t>(float(host(h))); }, error};
}
template <class DeviceOp, class HostOp>
Operation word(const char* name, DeviceOp device, HostOp host) {
  return {name, [device](Device& d) { return U32(device(d)); },
          [host](const Host& h) { return std::uint32_t(host(h)); }};
}

U32 as_word(Device& d, const Pred& p) { return select(p, d.g.thread_index() * 0 + 1, 0); }

constexpr double approximate = 1e-6;

std::vector<Operation> floats() {
  return {
      real(
          "arithmetic", [](Device& d) { return (d.x + d.y) * 2 - d.x / d.y; },
          [](const Host& h) { return (h.fx() + h.fy()) * 2 - h.fx() / h.fy(); }),
      real(
          "negation and fma", [](Device& d) { return fma(-d.x, d.y, 0.5); },
          [](const Host& h) { return std::fma(-h.fx(), h.fy(), 0.5f); }),
      real(
          "least and greatest", [](Device& d) { return max(min(d.x, d.y), -1.0f); },
          [](const Host& h) { return std::max(std::min(h.fx(), h.fy()), -1.0f); }),
      real(
          "roots", [](Device& d) { return sqrt_rn(abs(d.x)); },
          [](const Host& h) { return std::sqrt(std::abs(h.fx())); }),
      real(
          "rsqrt", [](Device& d) { return rsqrt_approx_ftz(abs(d.y)); },
          [](const Host& h) { return 1 / std::sqrt(std::abs(h.fy())); }, approximate),
      real(
          "sqrt", [](Device& d) { return sqrt_approx_ftz(abs(d.y)); },
          [](const Host& h) { return std::sqrt(std::abs(h.fy())); }, approximate),
      real(
          "rcp", [](Device& d) { return rcp_rn(d.y); }, [](const Host& h) { return 1 / h.fy(); }),
      real(
          "lg2 and ex2", [](Device& d) { return lg2_approx_ftz(abs(d.y)) + ex2_approx_ftz(d.x); },
          [](const Host& h) { return std::log2(std::abs(h.fy())) + std::exp2(h.fx()); }, approximate),
      real(
          "sin and cos", [](Device& d) { return sin_approx_ftz(d.x) + cos_approx_ftz(d.x); },
          [](const Host& h) { return std::sin(h.fx()) + std::cos(h.fx()); }, 2e-5),
      real(
          "tanh", [](Device& d) { return tanh_approx(d.x); }, [](const Host& h) { return std::tanh(h.fx()); }, 1e-3),
      real(
          "erf", [](Device& d) { return erf(d.x); }, [](const Host& h) { return std::erf(h.fx()); }, approximate),
      real(
          "whole numbers", [](Device& d) { return floor(d.x) + ceil(d.x) * 16 + trunc(d.x) * 256 + rint(d.x) * 4096; },
          [](const Host& h) {
            const float x = h.fx();
            return std::floor(x) + std::ceil(x) * 16 + std::trunc(x) * 256 + std::nearbyint(x) * 4096;
          }),
      real(
          "cut to 0 ... 1", [](Device& d) { return cvt_sat(d.x); },
          [](const Host& h) { return std::clamp(h.fx(), 0.0f, 1.0f); }),
      real(
          "sign", [](Device& d) { return copysign(d.y, d.x); },
          [](const Host& h) { return std::copysign(h.fy(), h.fx()); }),
      real("the sum of five",
           [](Device& d) {
             std::vector<F32> v;
             for (int i = 0; i < 5; ++i) v.push_back(d.x * i + d.y);
             return combined(v, [](const F32& a, const F32& b) { return a + b; });
           },
           [](const Host& h) {
             const auto v = [&](int i) { return h.fx() * float(i) + h.fy(); };
             return ((v(0) + v(1)) + (v(2) + v(3))) + v(4);
           }),
      real(
          "a variable",
          [](Device& d) {
            auto v = d.g.var(d.x);
            v += d.y;
            v *= 3;
            v -= 1.0f;
            d.g.when(v > 4, [&] { v = 0.25f; });
            return fma(v, 2.0f, v);
          },
          [](const Host& h) {
            float v = (h.fx() + h.fy()) * 3 - 1;
            if (v > 4) v = 0.25f;
            return std::fma(v, 2.0f, v);
          }),
      real(
          "variables in a row",
          [](Device& d) {
            auto v = d.g.vars<4>(1.0f);
            for (int i = 0; i < 4; ++i) v[i] += d.x * i;
            const auto last = v.template registers<2>(2);
            return last[0] + last[1] * 2;
          },
          [](const Host& h) { return (1 + h.fx() * 2) + (1 + h.fx() * 3) * 2; }),
  };
}

std::vector<Operation> words() {
  return {
      word(
          "comparisons of floats",
          [](Device& d) {
            return as_word(d, d.x < d.y) + as_word(d, d.x <= 0) * 2 + as_word(d, d.x == d.x) * 4 +
                   as_word(d, d.x != d.y) * 8 + as_word(d, d.x > 1) * 16 + as_word(d, d.x >= d.y) * 32;
          },
          [](const Host& h) {
            const float x = h.fx(), y = h.fy();
            return (x < y) + (x <= 0) * 2 + (x == x) * 4 + (x != y) * 8 + (x > 1) * 16 + (x >= y) * 32;
          }),
      word(
          "conversions",
          [](Device& d) {
            return convert<U32>(convert<S32>(d.x)) + convert<U32>(convert<S32, Rounding::rni>(d.y)) * 64 +
                   convert<U32>(convert<F32>(d.n & 1023)) * 4096;
          },
          [](const Host& h) {
            return std::uint32_t(int(h.fx())) + std::uint32_t(int(std::nearbyint(h.fy()))) * 64 +
                   (h.word() & 1023) * 4096;
          }),
      word(
          "a sum in 64 bits",
          [](Device& d) {
            auto v = d.g.var(widen(d.n));
            v += 0x100000000;
            return narrow((v + 1) >> widen(d.n & 7));
          },
          [](const Host& h) { return std::uint32_t((h.word() + 0x100000001) >> (h.word() & 7)); }),
      word(
          "integers", [](Device& d) { return max(min(d.n, 0x40000000), 77) ^ (~d.n >> 3) ^ mul_hi(d.n, 0x12345678); },
          [](const Host& h) {
            return std::max(std::min(h.word(), 0x40000000u), 77u) ^ (~h.word() >> 3) ^
                   std::uint32_t(std::uint64_t(h.word()) * 0x12345678 >> 32);
          }),
      word(
          "counts of bits", [](Device& d) { return popc(d.n) + clz(d.n >> 7) * 64 + (brev(d.n) & 0xff00); },
          [](const Host& h) {
            std::uint32_t reversed = 0;
            for (unsigned i = 0; i < 32; ++i) reversed |= (h.word() >> i & 1) << (31 - i);
            return std::uint32_t(std::popcount(h.word()) + std::countl_zero(h.word() >> 7) * 64) + (reversed & 0xff00);
          }),
      word(
          "fields of bits", [](Device& d) { return bfi(bfe(d.n, 9, 7), d.n, 20, 7); },
          [](const Host& h) { return (h.word() & ~(127u << 20)) | (h.word() >> 9 & 127) << 20; }),
      word(
          "bytes", [](Device& d) { return prmt(d.n, 0x44332211, 0x6152); },
          [](const Host& h) { return 0x33002200u | (h.word() >> 8 & 255) << 16 | (h.word() >> 16 & 255); }),
      word(
          "long shifts",
          [](Device& d) { return shf_l_wrap(d.n, 0x9abcdef0, 12) ^ shf_r_wrap(d.n, 0x9abcdef0, d.n & 31); },
          [](const Host& h) {
            const std::uint64_t both = std::uint64_t(0x9abcdef0) << 32 | h.word();
            return std::uint32_t(both << 12 >> 32) ^ std::uint32_t(both >> (h.word() & 31));
          }),
      word(
          "predicates of predicates",
          [](Device& d) {
            const Pred a = d.x < d.y, b = (d.n & 1) == 0, never = !(d.n >= 0);
            return as_word(d, a == b) + as_word(d, (!a) != b) * 2 + as_word(d, a == !b) * 4 +
                   as_word(d, select(a, b, d.x < 0)) * 8 + as_word(d, select(!a, never, !b)) * 16 +
                   as_word(d, a == true) * 32 + as_word(d, a != true) * 64 + as_word(d, a != (b && false)) * 128;
          },
          [](const Host& h) {
            const bool a = h.fx() < h.fy(), b = (h.word() & 1) == 0;
            return (a == b) + ((!a) != b) * 2 + (a == !b) * 4 + (a ? b : h.fx() < 0) * 8 + (a && !b) * 16 +
                   a * 32 + !a * 64 + a * 128;
          }),
      word(
          "signs and remainders",
          [](Device& d) {
            auto v = d.g.var(d.n);
            v %= 1000u;
            v %= (d.n & 7) + 1;
            const S32 s = convert<S32>(d.n);
            return -d.n + v * 3 + convert<U32>(abs(s)) * 5 + convert<U32>(-s >> 3) + narrow(-widen(d.n) >> 9) +
                   convert<U32>(mul_hi(s, 77777)) + narrow(mul_hi(widen(d.n) << 30, widen(d.n) << 31));
          },
          [](const Host& h) {
            const std::uint32_t n = h.word(), magnitude = int(n) < 0 ? 0 - n : n;
            return 0 - n + n % 1000 % ((n & 7) + 1) * 3 + magnitude * 5 + std::uint32_t(int(0 - n) >> 3) +
                   std::uint32_t((0 - std::uint64_t(n)) >> 9) + std::uint32_t(std::int64_t(int(n)) * 77777 >> 32) +
                   std::uint32_t(std::uint64_t(n) * n >> 3);
          }),
      word(
          "any function of three bits", [](Device& d) { return lop3<0xE8>(d.n, d.n << 1, 0x0f0ff0f0); },
          [](const Host& h) {
            const std::uint32_t a = h.word(), b = a << 1, c = 0x0f0ff0f0;
            return (a & b) | (b & c) | (a & c);
          }),
  };
}

std::uint32_t rounded(ScalarType type, float x) { return std::uint32_t(num::encode(type, double(x))); }
float back(ScalarType type, std::uint32_t bits) { return float(num::to_double(type, bits)); }

std::vector<Operation> pairs() {
  return {
      real(
          "pairs of f32",
          [](Device& d) {
            const auto a = pack<F32x2>(d.x, d.y), b = pack<F32x2>(d.y, d.y);
            const auto [low, high] = unpack(fma(a, b, a) - a * b + b);
            return low * 2 + high;
          },
          [](const Host& h) {
            const auto one = [&](float a, float b) { return std::fma(a, b, a) - a * b + b; };
            return one(h.fx(), h.fy()) * 2 + one(h.fy(), h.fy());
          }),
      word(
          "pairs of bf16",
          [](Device& d) {
            const auto a = pack<BF16x2>(d.x, d.y);
            return bit_cast<U32>(max(a, pack<BF16x2>(d.y, d.x)) * a);
          },
          [](const Host& h) {
            constexpr ScalarType t = ScalarType::bf16;
            const float x = back(t, rounded(t, h.fx())), y = back(t, rounded(t, h.fy())), most = std::max(x, y);
            return rounded(t, most * x) | rounded(t, most * y) << 16;
          }),
      real(
          "pairs of f16",
          [](Device& d) {
            const auto [low, high] = unpack(pack<F16x2>(d.x, d.y) + pack<F16x2>(d.y, d.y));
            return low - high;
          },
          [](const Host& h) {
            constexpr ScalarType t = ScalarType::f16;
            const float x = back(t, rounded(t, h.fx())), y = back(t, rounded(t, h.fy()));
            return back(t, rounded(t, x + y)) - back(t, rounded(t, y + y));
          }),
  };
}

/// Of a type of 16 bits: signs, comparisons, and what is chosen by them.
template <class Pair>
std::vector<Operation> signs_and_comparisons(const char* name, ScalarType t) {
  const auto rounded_to = [t](float x) { return t == ScalarType::f32 ? x : back(t, rounded(t, x)); };
  return {real(
              name,
              [](Device& d) {
                const auto a = pack<Pair>(d.x, d.y), b = pack<Pair>(d.y, d.x);
                const auto [low, high] = unpack(select(a < b, -a, abs(a)));
                return low * 2 + high;
              },
              [=](const Host& h) {
                const float x = rounded_to(h.fx()), y = rounded_to(h.fy());
                return (x < y ? -x : std::abs(x)) * 2 + (y < x ? -y : std::abs(y));
              }),
          word(
              name,
              [](Device& d) {
                const auto a = pack<Pair>(d.x, d.y), b = pack<Pair>(d.y, d.y), nan = pack<Pair>(d.x, sqrt_rn(-d.y));
                const auto word = [&](const PredPair& p) { return as_word(d, p.first) + as_word(d, p.second) * 2; };
                return word(a == b) + word(a != b) * 4 + word(a <= b) * 16 + word(a > b) * 64 + word(a >= b) * 256 +
                       word(nan != nan) * 1024 + word(nan <= nan) * 4096;
              },
              [=](const Host& h) {
                const float x = rounded_to(h.fx()), y = rounded_to(h.fy());
                return (x == y) + 2 + (x != y) * 4 + (x <= y) * 16 + 2 * 16 + (x > y) * 64 + (x >= y) * 256 + 2 * 256 +
                       2 * 1024 + 4096;
              })};
}

std::vector<Operation> pairs_and_their_signs() {
  std::vector<Operation> all = pairs();
  const auto add = [&all](std::vector<Operation> more) { all.insert(all.end(), more.begin(), more.end()); };
  add(signs_and_comparisons<F16x2>("signs and comparisons of f16", ScalarType::f16));
  add(signs_and_comparisons<BF16x2>("signs and comparisons of bf16", ScalarType::bf16));
  add(signs_and_comparisons<F32x2>("signs and comparisons of pairs of f32", ScalarType::f32));
  return all;
}

/// Eight numbers of a thread, of both signs, small and too large for a byte.
template <class V>
V number_of_eight(const V& x, const V& y, int i) {
  return i < 4 ? x * float(i + 1) : y * float(i % 2 ? 1 << 2 * i : -i);
}

/// Registers of a narrower float: what rounding makes of eight numbers, and what those are as f32.
template <class T>
std::vector<Operation> narrowed(const char* name, num::Rounding rounding) {
  constexpr int bits = T::bits, per_word = 32 / bits;
  constexpr bool is_scale = T::scalar == ScalarType::ue8m0;
  const auto words = [](Device& d) {
    return cvt<T>(make_registers<8>([&](int i) {
      const F32 v = number_of_eight(d.x, d.y, i);
      return is_scale ? F32(abs(v)) : v;
    }));
  };
  const auto word_of = [=](const Host& h, int i) {
    const float v = number_of_eight(h.fx(), h.fy(), i);
    return std::uint32_t(num::encode(T::scalar, double(is_scale ? std::abs(v) : v), rounding, bits < 16));
  };
  return {word(
              name,
              [=](Device& d) {
                const auto all = words(d);
                auto sum = d.g.var(0u);
                for (const ir::Operand& reg : all.operands()) sum = sum * 5 + U32(d.g.recorder(), reg);
                return sum.read();
              },
              [=](const Host& h) {
                std::uint32_t sum = 0;
                for (int r = 0; r < 8 / per_word; ++r) {
                  std::uint32_t reg = 0;
                  for (int i = 0; i < per_word; ++i) reg |= word_of(h, r * per_word + i) << i * bits;
                  sum = sum * 5 + reg;
                }
                return sum;
              }),
          real(
              name,
              [=](Device& d) {
                const Registers<f32, 8> wide = widen(words(d));
                auto sum = d.g.var(0.0f);
                for (int i = 0; i < 8; ++i) sum = sum * 0.5f + wide[i];
                return sum.read();
              },
              [=](const Host& h) {
                float sum = 0;
                for (int i = 0; i < 8; ++i) sum = sum * 0.5f + back(T::scalar, word_of(h, i));
                return sum;
              })};
}

std::vector<Operation> narrow_floats() {
  std::vector<Operation> all;
  const auto add = [&all](std::vector<Operation> more) { all.insert(all.end(), more.begin(), more.end()); };
  add(narrowed<f16>("f16", num::Rounding::rn));
  add(narrowed<bf16>("bf16", num::Rounding::rn));
  add(narrowed<e4m3>("e4m3", num::Rounding::rn));
  add(narrowed<e5m2>("e5m2", num::Rounding::rn));
  add(narrowed<unpacked<e2m3>>("e2m3", num::Rounding::rn));
  add(narrowed<unpacked<e3m2>>("e3m2", num::Rounding::rn));
  add(narrowed<e2m1>("e2m1", num::Rounding::rn));
  add(narrowed<ue8m0>("ue8m0", num::Rounding::rp));
  return all;
}

template <class T, class Combine>
T over(const std::array<T, threads>& all, int first, int count, Combine combine) {
  T sum = all[std::size_t(first)];
  for (int i = 1; i < count; ++i) sum = combine(sum, all[std::size_t(first + i)]);
  return sum;
}

/// The order in which warp_reduce adds: halves of halves.
float tree(const Floats& all, int first, int count) {
  return count == 1 ? all[std::size_t(first)] : tree(all, first, count / 2) + tree(all, first + count / 2, count / 2);
}

std::vector<Operation> exchanges() {
  const auto warp_of = [](const Host& h) { return h.t / 32 * 32; };
  return {
      real(
          "shuffles",
          [](Device& d) {
            return d.g.shfl_sync_bfly(d.x, 5) + d.g.shfl_sync_idx<8>(d.x, 3) * 2 + d.g.shfl_sync_up(d.x, 1) * 4 +
                   d.g.shfl_sync_down<16>(d.x, 2) * 8;
          },
          [](const Host& h) {
            const auto at = [&](int t) { return h.x[std::size_t(t)]; };
            const int t = h.t;
            return at(t ^ 5) + at(t / 8 * 8 + 3) * 2 + at(t % 32 ? t - 1 : t) * 4 + at(t % 16 < 14 ? t + 2 : t) * 8;
          }),
      word(
          "a shuffle in the order of the data", [](Device& d) { return d.g.shfl_sync_idx(d.n, d.n & 31) + d.g.lane(); },
          [=](const Host& h) { return h.n[std::size_t(warp_of(h)) + (h.word() & 31)] + std::uint32_t(h.t % 32); }),
      word(
          "shuffles of 64 bits",
          [](Device& d) {
            const U64 all = widen(d.n) * 0x100000003;
            const auto [low, high] = unpack(d.g.shfl_sync_idx<16>(pack<F32x2>(d.x, d.y), 5));
            return narrow(d.g.shfl_sync_bfly(all, 9) >> 7) ^ bit_cast<U32>(low + high) ^
                   narrow(d.g.shfl_sync_up(all, 1));
          },
          [](const Host& h) {
            const auto all = [&](int t) { return h.n[std::size_t(t)] * std::uint64_t(0x100000003); };
            const auto t = std::size_t(h.t / 16 * 16 + 5);
            return std::uint32_t(all(h.t ^ 9) >> 7) ^ std::bit_cast<std::uint32_t>(h.x[t] + h.y[t]) ^
                   std::uint32_t(all(h.t % 32 ? h.t - 1 : h.t));
          }),
      word(
          "votes",
          [](Device& d) {
            const Pred some = d.x > 1, sure = d.n >= 0;
            return as_word(d, d.g.vote_sync_any(some)) + as_word(d, d.g.vote_sync_all(!some)) * 2 +
                   as_word(d, d.g.vote_sync_all(sure)) * 4 + as_word(d, d.g.vote_sync_uni(some)) * 8 +
                   (d.g.vote_sync_ballot(some) << 4);
          },
          [=](const Host& h) {
            std::uint32_t ballot = 0;
            for (int i = 0; i < 32; ++i) ballot |= std::uint32_t(h.x[std::size_t(warp_of(h) + i)] > 1) << i;
            return std::uint32_t((ballot != 0) + (ballot == 0) * 2 + 4 + (ballot == 0 || ballot == ~0u) * 8) +
                   (ballot << 4);
          }),
      word(
          "reductions of words in a warp",
          [](Device& d) {
            return d.g.redux_sync<RedOp::add>(d.n) ^ d.g.warp_reduce<RedOp::max>(d.n) ^
                   convert<U32>(d.g.warp_reduce<RedOp::min>(convert<S32>(d.n)));
          },
          [=](const Host& h) {
            const auto all = [&](auto f) { return over(h.n, warp_of(h), 32, f); };
            return all([](auto a, auto b) { return a + b; }) ^ all([](auto a, auto b) { return std::max(a, b); }) ^
                   all([](auto a, auto b) { return std::uint32_t(std::min(int(a), int(b))); });
          }),
      real(
          "reductions of floats in a warp",
          [](Device& d) { return d.g.warp_reduce<RedOp::add>(d.x) + d.g.redux_sync<RedOp::max>(d.y) * 1024; },
          [=](const Host& h) {
            const float most = over(h.y, warp_of(h), 32, [](float a, float b) { return std::max(a, b); });
            return tree(h.x, warp_of(h), 32) + most * 1024;
          }),
      real(
          "reductions in a warpgroup",
          [](Device& d) {
            return d.g.warpgroup_reduce<RedOp::add>(d.x, d.scratch) +
                   d.g.warpgroup_reduce<RedOp::min>(d.y, d.scratch) * 1024;
          },
          [](const Host& h) {
            return tree(h.x, 0, threads) +
                   over(h.y, 0, threads, [](float a, float b) { return std::min(a, b); }) * 1024;
          }),
      word(
          "votes of a warpgroup",
          [](Device& d) {
            const Pred some = d.x > 1;
            return d.g.bar_red_popc(some) + as_word(d, d.g.bar_red_and(some)) * 256 +
                   as_word(d, d.g.bar_red_or(!some)) * 512;
          },
          [](const Host& h) {
            const auto n = std::count_if(h.x.begin(), h.x.end(), [](float x) { return x > 1; });
            return n + (n == threads) * 256 + (n < threads) * 512;
          }),
  };
}

/// One kernel with all operations: operation i of thread t is word 128 i + t.
Kernel kernel_of(const std::vector<Operation>& operations) {
  KernelBuilder k("operations", sm_100a, warps<4>);
  const U64 x = k.param<Pointer<f32>>("x").address(), y = k.param<Pointer<f32>>("y").address(),
            n = k.param<Pointer<u32>>("n").address(), out = k.param<Pointer<u32>>("out").address();
  const WarpgroupScratch scratch = k.warpgroup_scratch();
  k.role("compute", warpgroup<0>, [&](Warpgroup& g) {
    const U64 mine = widen(g.row()) * 4;
    Device d{g, g.ld_global_f32(x + mine), g.ld_global_f32(y + mine), g.ld_global(n + mine), scratch};
    for (std::size_t i = 0; i < operations.size(); ++i)
      g.ptx("st.global.b32", {ir::Operand::address((out + mine).operand(), std::int64_t(i) * 4 * threads),
                              operations[i].device(d).operand()});
  });
  return k.build();
}

template <class T>
launch::Buffer buffer(const char* name, ScalarType type, const T* values, std::size_t count) {
  launch::Buffer b;
  b.name = name;
  b.dtype = type;
  b.shape = {count};
  b.bytes.resize(4 * count);
  if (values) {
    std::memcpy(b.bytes.data(), values, 4 * count);
    b.init.kind = launch::Init::Kind::hex;
  }
  return b;
}

void compare(const std::vector<Operation>& operations) {
  Host host{};
  for (int t = 0; t < threads; ++t) {
    host.x[std::size_t(t)] = float(t % 29 - 14) * 0.1875f;
    host.y[std::size_t(t)] = 0.25f + float(t * 37 % 64) * 0.0625f;
    host.n[std::size_t(t)] = std::uint32_t(t) * 0x9E3779B9u;
  }
  const Kernel kernel = kernel_of(operations);
  launch::Contract c;
  const std::size_t count = operations.size() * threads;
  c.buffers = {buffer("x", ScalarType::f32, host.x.data(), threads),
               buffer("y", ScalarType::f32, host.y.data(), threads),
               buffer("n", ScalarType::u32, host.n.data(), threads),
               buffer<std::uint32_t>("out", ScalarType::u32, nullptr, count)};
  constexpr auto list = parameters("x"_arg.is<Pointer<f32>>(), "y"_arg.is<Pointer<f32>>(), "n"_arg.is<Pointer<u32>>(),
                                   "out"_arg.is<Pointer<u32>>());
  launch_kernel(c, kernel, list, {1, 1, 1}, "x"_arg = "x", "y"_arg = "y", "n"_arg = "n", "out"_arg = "out");
  test::simulate(kernel, c);
  for (std::size_t i = 0; i < operations.size(); ++i) {
    const Operation& o = operations[i];
    INFO(o.name);
    int wrong = 0;
    for (host.t = 0; host.t < threads; ++host.t) {
      std::uint32_t got;
      std::memcpy(&got, &c.find("out")->bytes[4 * (i * threads + std::size_t(host.t))], 4);
      const std::uint32_t want = o.host(host);
      const auto a = std::bit_cast<float>(got), b = std::bit_cast<float>(want);
      const bool right = got == want || (o.error >= 0 && std::abs(a - b) <= o.error * std::max(1.0f, std::abs(b)));
      if (!right && wrong++ == 0)
        MESSAGE(o.name << " in thread " << host.t << ": " << got << " for " << want << ", " << a << " for " << b);
    }
    CHECK(wrong == 0);
  }
}

}  // namespace

TEST_CASE("functions of floats are those of the host") { compare(floats()); }
TEST_CASE("comparisons, conversions and functions of bits are those of the host") { compare(words()); }
TEST_CASE("pairs of floats compute as two floats do") { compare(pairs_and_their_signs()); }
TEST_CASE("registers of f32 become narrower floats and f32 again") { compare(narrow_floats()); }
TEST_CASE("lanes and warps exchange and combine their values") { compare(exchanges()); }

TEST_CASE("atomic operations and reductions of every kind reach memory") {
  KernelBuilder k("atomics", sm_100a, warps<4>);
  const U64 out = k.param<Pointer<u32>>("out").address();
  const U32 shared = k.shared<SharedTile<u32, 8, 4, K_major, packed>>().address;
  k.role("add", warpgroup<0>, [&](Warpgroup& g) {
    const U32 row = g.row();
    const F32 x = convert<F32>(row);
    g.red<RedOp::add>(out, x);
    g.red<RedOp::add>(out + 4, 1, relaxed_gpu);
    g.red<RedOp::max>(out + 8, convert<S32>(row) - 200);
    g.red<RedOp::add>(out + 16, make_registers<4>([&](int i) { return x * i; }));
    g.red<RedOp::add>(out + 32, pack<F16x2>(x - x + 1, x - x + 2));
    g.red<RedOp::add>(out + 36, pack<BF16x2>(x - x + 0.5f, x - x));
    g.red<RedOp::add>(out + 40, cvt<bf16>(make_registers<4>([&](int i) { return x * 0 + std::min(i, 2); })));
    g.red<RedOp::add>(out + 48, widen(row));
    const U32 before = g.atom<RedOp::exch>(out + 56, row + 1);
    g.red<RedOp::add>(out + 60, before + row + 1);
    (void)g.atom_cas(out + 64, 0, row + 1);
    g.when(row == 0, [&] { g.ptx("st.shared.b32", {ir::Operand::address(shared.operand()), ir::Operand::number(7)}); });
    g.sync();
    g.red<RedOp::add>(shared, row);
    g.sync();
    g.when(row == 5, [&] { g.red<RedOp::add>(out + 68, g.ld_shared_v4(shared)[0]); });
  });
  const Kernel kernel = k.build();
  launch::Contract c;
  constexpr std::size_t count = 18;
  const std::array<std::uint32_t, count> zeros{};
  c.buffers = {buffer("out", ScalarType::u32, zeros.data(), count)};
  constexpr auto list = parameters("out"_arg.is<Pointer<u32>>());
  launch_kernel(c, kernel, list, {1, 1, 1}, "out"_arg = "out");
  test::simulate(kernel, c);
  std::array<std::uint32_t, count> got{};
  std::memcpy(got.data(), c.find("out")->bytes.data(), 4 * count);
  constexpr std::uint32_t sum = threads * (threads - 1) / 2;
  const auto as_float = [&](int i) { return std::bit_cast<float>(got[std::size_t(i)]); };
  CHECK(as_float(0) == sum);
  CHECK(got[1] == threads);
  CHECK(int(got[2]) == 0);  // all were below what lay there
  for (int i = 0; i < 4; ++i) CHECK(as_float(4 + i) == float(sum) * float(i));
  CHECK(got[8] == (rounded(ScalarType::f16, 128) | rounded(ScalarType::f16, 256) << 16));
  CHECK(got[9] == rounded(ScalarType::bf16, 64));
  CHECK(got[10] == rounded(ScalarType::bf16, 128) << 16);
  CHECK(got[11] == rounded(ScalarType::bf16, 256) * 0x10001u);
  CHECK((got[12] | std::uint64_t(got[13]) << 32) == sum);
  CHECK(got[15] + got[14] == 2 * (sum + threads));  // what was there before, and what is there last
  CHECK(got[16] != 0);
  CHECK(got[17] == sum + 7);
}

TEST_CASE("elements of memory are read and written by their types, and under predicates") {
  KernelBuilder k("elements", sm_100a, warps<4>);
  const U64 in = k.param<Pointer<u32>>("in").address(), out = k.param<Pointer<u32>>("out").address();
  const U32 shared = k.shared<SharedTile<u32, 32, 32, K_major, packed>>().address;
  k.role("move", warpgroup<0>, [&](Warpgroup& g) {
    const U32 row = g.row();
    const Pred some = row % 3 == 0;
    int written = 0;
    const auto give = [&](const auto& x) { g.st_global(out + written++ * 512 + widen(row) * 4, x); };
    const U64 word = in + widen(row) * 8;
    give(g.ld_global<f32>(word));
    give(g.ld_global<s32>(word) >> 1);
    give(narrow(g.ld_global<u64>(word, relaxed_gpu) >> 20));
    give(convert<U32>(g.ld_global<u8>(word + 1)));
    give(convert<U32>(g.ld_global<s8>(word + 3)));
    give(g.ld_global<u16>(word + 2));
    give(g.ld_global<bf16>(word + 2));
    give(g.ld_global<f16>(word));
    give(unpack(g.ld_global<BF16x2>(word))[0]);
    give(unpack(g.ld_global<F32x2>(word))[1]);
    give(g.ld_global<f32>(word, some, -2));
    give(g.ld_global<bf16>(word + 2, some, 1.5f));
    give(narrow(g.ld_global<u64>(word, !some, widen(row))));
    // Through shared memory: 8 bytes a thread.
    const U32 mine = shared + row * 8;
    g.st_shared(mine, g.ld_global<u64>(word));
    g.st_shared<u8>(mine + 5, row);
    g.st_shared<u16>(mine + 2, row, some);
    g.st_shared<bf16>(mine + 6, convert<F32>(row) + 0.25f);
    give(g.ld_shared(mine));
    give(g.ld_shared<u32>(mine + 4, some, 9));
    g.sync();
    give(g.ld_shared<f16>(shared + (row ^ 1) * 8 + 6));
    // Under predicates: what does not hold keeps the zeros.
    const U64 at = out + written * 512 + widen(row) * 4;
    g.st_global(at, row + 1, some);
    g.st_global<f16>(at + 512, 2, !some);
    g.st_global(at + 1024, 7.0f, row >= 0 && false);
    g.store_global(at + 1536 - 32, row + 5, some, 8);
    const auto four = g.load_global<f32, 4>(in, k.constant(4), some);
    g.st_global(at + 2048, four[1]);
  });
  const Kernel kernel = k.build();
  launch::Contract c;
  constexpr std::size_t places = 21;
  std::array<std::uint32_t, 2 * threads> words{};
  for (std::size_t i = 0; i < words.size(); ++i) words[i] = 0x3f80c000u + std::uint32_t(i) * 0x00035a13u;
  const std::array<std::uint32_t, places * threads> zeros{};
  c.buffers = {buffer("in", ScalarType::u32, words.data(), words.size()),
               buffer("out", ScalarType::u32, zeros.data(), zeros.size())};
  constexpr auto list = parameters("in"_arg.is<Pointer<u32>>(), "out"_arg.is<Pointer<u32>>());
  launch_kernel(c, kernel, list, {1, 1, 1}, "in"_arg = "in", "out"_arg = "out");
  test::simulate(kernel, c);
  std::array<std::uint32_t, places * threads> got{};
  std::memcpy(got.data(), c.find("out")->bytes.data(), sizeof got);
  const auto word = [](float x) { return std::bit_cast<std::uint32_t>(x); };
  const auto half = [&](ScalarType type, std::uint32_t bits) {
    const float x = back(type, bits & 0xffff);
    return std::isnan(x) ? 0x7fffffffu : word(x);
  };
  for (std::uint32_t t = 0; t < threads; ++t) {
    const bool some = t % 3 == 0;
    const std::uint32_t low = words[2 * t], high = words[2 * t + 1];
    const std::uint64_t both = std::uint64_t(high) << 32 | low;
    const std::uint32_t through = some ? (low & 0xffff) | t << 16 : low;
    const auto quarter = [](std::uint32_t row) { return rounded(ScalarType::bf16, float(row) + 0.25f); };
    const std::uint32_t want[places] = {low,
                                        std::uint32_t(int(low) >> 1),
                                        std::uint32_t(both >> 20),
                                        low >> 8 & 255,
                                        std::uint32_t(int(low) >> 24),
                                        low >> 16,
                                        low & 0xffff0000u,
                                        half(ScalarType::f16, low),
                                        low << 16,
                                        high,
                                        some ? low : word(-2),
                                        some ? low & 0xffff0000u : word(1.5f),
                                        some ? t : low,
                                        through,
                                        some ? (high & 0xff) | t << 8 | quarter(t) << 16 : 9,
                                        half(ScalarType::f16, quarter(t ^ 1)),
                                        some ? t + 1 : 0,
                                        some ? 0 : rounded(ScalarType::f16, 2),
                                        0,
                                        some ? t + 5 : 0,
                                        some ? words[1] : 0};
    for (std::size_t i = 0; i < places; ++i) {
      INFO("place " << i << " of thread " << t);
      CHECK(got[i * threads + t] == want[i]);
    }
  }
}

TEST_CASE("printf prints what each conversion of its format takes") {
  KernelBuilder k("prints", sm_100a, warps<4>);
  auto n = k.param<u32>("n");
  k.role("print", warp<0>.elect(), [&](Thread t) {
    auto sum = t.var(1.5f);
    t.printf("%d %5u %x|%lld|%f %e|%s %%\n", convert<S32>(n) - 9, n, 255, widen(n) << 33, sum, 0.25f, "text");
    t.printf("done\n");
  });
  const Kernel kernel = k.build();
  diag::Sink sink;
  const auto verified = verifier::verify(kernel.module, sink);
  INFO(diag::render_text(sink));
  REQUIRE(verified);
  const ir::Module module =
      parse::parse(std::make_shared<const diag::Source>("prints.ptx", emit::emit(*verified)), sink);
  launch::Contract c;
  launch_kernel(c, kernel, {1, 1, 1}, {{"n", 7u}});
  std::string printed;
  sim::Options options;
  options.print = [&](std::string_view text) { printed += text; };
  const sim::Result result = sim::simulate(module, c, options, sink);
  INFO(diag::render_text(sink));
  CHECK(result.outcome == sim::Outcome::finished);
  CHECK(printed == "-2     7 ff|60129542144|1.500000 2.500000e-01|text %\ndone\n");
}

TEST_CASE("printf takes the kinds of its format, and as many values") {
  const auto refused = [](auto body) {
    KernelBuilder k("prints", sm_100a, warps<4>);
    k.role("print", warp<0>.elect(), body);
    try {
      (void)k.build();
      return std::string("accepted");
    } catch (const diag::Rejected& e) {
      return diag::render_text(e.findings());
    }
  };
  CHECK(refused([](Thread t) { t.printf("%d\n", 0.5f); })
            .find("value 1 of printf is an F32, its format takes an integer of 32 bits") != std::string::npos);
  CHECK(refused([](Thread t) { t.printf("%d %d\n", 1); })
            .find("the format of printf takes 2 values, 1 are given") != std::string::npos);
}

}  // namespace dsl_operations
