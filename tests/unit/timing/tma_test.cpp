// Bulk tensor loads under the clock, against what they took on a B200: one CTA and all of them, out of L2 and of HBM, a
// few to many at once, multicast or not.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cmath>
#include <map>

#include "tests/unit/timing/rows.hpp"
#include "tests/unit/timing/timed.hpp"

namespace kiln::test::tma_time_test {
namespace {

constexpr double sms = 148, moved_bytes = 2147483648.0;

struct Load {
  std::string kind{};
  int depth = 1;  // in flight
  std::uint32_t w = 0, h = 0, bytes = 0;
  double cycles = 0;  // measured, of one load

  bool starts_with(const char* text) const { return kind.starts_with(text); }
  bool is_one_cta() const { return starts_with("latency_l2") || kind == "latency_hbm" || starts_with("interval"); }
  bool hits_l2() const { return starts_with("latency_l2") || starts_with("interval"); }
  bool is_multicast() const { return starts_with("explicit") && group() > 1; }
  std::uint32_t group() const { return kind.find("_g") == kind.npos ? 1 : std::uint32_t(kind.back() - '0'); }
};

// How many loads the programs of the groups have in flight was not recorded: two fit those of one and two CTAs (their
// boxes are also in throughput_hbm), one those of four.
std::vector<Load> measured() {
  std::vector<Load> all;
  for (const std::vector<std::string>& cells : rows_of("tma_b200.csv", "kind")) {
    if (cells[0] == "store_latency") continue;
    const auto number = [&](std::size_t k) { return std::uint32_t(std::stoul(cells[k])); };
    Load l{cells[0], int(number(1)), number(2), number(3), number(4), std::stod(cells[5])};
    if (l.depth == 0) {
      l.depth = l.group() < 4 ? 2 : 1;
      l.cycles /= moved_bytes / sms / l.bytes;
    }
    all.push_back(l);
  }
  return all;
}

launch::Contract contract_of(const Load& l, std::uint32_t boxes) {
  launch::Contract c;
  const bool is_f32 = !l.is_one_cta();
  const std::uint64_t element = is_f32 ? 4 : 2;
  c.buffers.push_back(buffer("a", l.bytes));
  c.buffers.push_back(buffer("out", 64));
  launch::TensorMap t;
  t.buffer = "a";
  t.dtype = is_f32 ? isa::ScalarType::f32 : isa::ScalarType::bf16;
  t.dims = {l.w, l.h};
  t.strides = {0, l.w * element};
  t.box = {l.w, l.h / boxes, 1, 1, 1};
  if (!is_f32) t.swizzle = isa::Swizzle::b128;
  c.tensor_maps["a"] = t;
  launch::Launch launch;
  const std::uint32_t ctas = l.is_one_cta() ? 1 : std::uint32_t(sms) / l.group() * l.group();
  launch.grid = {ctas, 1, 1}, launch.cluster = {l.group(), 1, 1}, launch.block = {32, 1, 1};
  launch.dynamic_smem = std::uint32_t(l.depth) * l.bytes + 1024;
  launch.params = {map("a"), pointer("out")};
  c.launches.push_back(launch);
  return c;
}

// Each CTA keeps `depth` boxes in flight, `count` in all. Of a multicast box it loads its part, for all of the group.
std::string ptx_of(const Load& l, int count) {
  const std::uint32_t parts = l.is_multicast() ? l.group() : 1, part = l.bytes / parts;
  const auto load = [&](int k) {
    const int slot = k % l.depth;
    return fmt::format(
        "mbarrier.arrive.expect_tx.shared::cta.b64 _, [bars+{}], {};\n"
        "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes{} [%r3+{}], [%rd1, {{0, "
        "%r5}}], "
        "[bars+{}]{};\n",
        8 * slot, l.bytes, parts > 1 ? ".multicast::cluster" : "", std::uint32_t(slot) * l.bytes, 8 * slot,
        parts > 1 ? ", %h1" : "");
  };
  std::string body;
  for (int k = 0; k < std::min(count, l.depth); ++k) body += load(k);
  for (int k = 0; k < count; ++k) {
    body += fmt::format("W{0}: mbarrier.try_wait.parity.shared::cta.b64 %p2, [bars+{1}], {2};\n@!%p2 bra W{0};\n", k,
                        8 * (k % l.depth), k / l.depth % 2);
    if (k + l.depth < count) body += load(k + l.depth);
  }
  return fmt::format(R"(.version 8.8
.target sm_100a
.address_size 64
.extern .shared .align 1024 .b8 room[];
.visible .entry k(.param .align 64 .b8 a[128], .param .u64 out) {{
  .reg .pred %p<4>; .reg .b16 %h<4>; .reg .b32 %r<9>; .reg .b64 %rd<9>;
  .shared .align 8 .b64 bars[8];
  mov.u32 %r1, %tid.x; mov.b64 %rd1, a; cvta.param.u64 %rd1, %rd1;
  mov.u32 %r4, %cluster_ctarank; mul.lo.u32 %r5, %r4, {rows}; mov.u32 %r3, room; mad.lo.u32 %r3, %r4, {part}, %r3;
  mov.u16 %h1, {mask};
  setp.ne.u32 %p1, %r1, 0; @%p1 bra READY;
  {inits}
  fence.mbarrier_init.release.cluster;
READY:
  barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;
  setp.ne.u32 %p1, %r1, 0; @%p1 bra DONE;
  mov.u64 %rd3, %clock64;
{body}
  mov.u64 %rd4, %clock64; sub.u64 %rd4, %rd4, %rd3; ld.param.u64 %rd5, [out]; st.global.u64 [%rd5], %rd4;
DONE:
  barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;
  ret;
}}
)",
                     fmt::arg("rows", parts > 1 ? l.h / parts : 0), fmt::arg("part", parts > 1 ? part : 0),
                     fmt::arg("mask", (1 << l.group()) - 1),
                     fmt::arg("inits",
                              [&] {
                                std::string out;
                                for (int k = 0; k < l.depth; ++k)
                                  out += fmt::format("mbarrier.init.shared::cta.b64 [bars+{}], 1; ", 8 * k);
                                return out;
                              }()),
                     fmt::arg("body", body));
}

double cycles_of(const Load& l, int count) {
  timing::Surroundings around = no_values;
  around.hits_l2 = l.hits_l2();
  // CTAs that load the same box get it from HBM once.
  if (!l.hits_l2()) around.from_hbm = l.starts_with("implicit") ? 1.0 / l.group() : 1;
  const Timed t = time_of(ptx_of(l, count), contract_of(l, l.is_multicast() ? l.group() : 1), around);
  return double(t.run.read<std::uint64_t>("out")[0]);
}

double predicted(const Load& l) {
  const int few = 2 * l.depth, many = 6 * l.depth;
  return (cycles_of(l, many) - cycles_of(l, few)) / (many - few);
}

TEST_CASE("tensor loads take what they took on a B200") {
  struct Sum {
    double error = 0, worst = 0;
    int count = 0;
  };
  std::map<std::string, Sum> kinds;
  const bool all = std::getenv("KILN_ALL_LOADS") != nullptr;
  Sum sum;
  for (const Load& l : measured()) {
    const double p = predicted(l), error = p / l.cycles - 1;
    for (Sum* s : {&kinds[l.kind], &sum})
      s->error += std::abs(error), s->worst = std::max(s->worst, std::abs(error)), ++s->count;
    if (all)
      MESSAGE(fmt::format("{} depth {} box {} x {}: {:.0f} measured, {:.0f} predicted, {:+.1f} %", l.kind, l.depth, l.w,
                          l.h, l.cycles, p, 100 * error));
  }
  for (const auto& [kind, s] : kinds)
    MESSAGE(fmt::format("{}: {} rows, {:.1f} % off on average, {:.1f} % at worst", kind, s.count,
                        100 * s.error / s.count, 100 * s.worst));
  MESSAGE(fmt::format("{} loads: {:.1f} % off on average", sum.count, 100 * sum.error / sum.count));
  CHECK(sum.count == 314);
  CHECK(sum.error / sum.count <= 0.14);
}

}  // namespace
}  // namespace kiln::test::tma_time_test
