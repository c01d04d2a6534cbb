// The chip and its launches: clusters at once, the gap between two CTAs of an SM, an empty kernel.
#include <algorithm>
#include <map>

#include "harness/calibrate/session.hpp"

namespace kiln::harness {
namespace {

using enum timing::FactId;

constexpr std::uint64_t whole_sm = 200u << 10;  // bytes of shared memory, so that an SM holds one CTA
constexpr unsigned lifetime_ns = 20000;

// A CTA's life: the SM, its clock and the GPU's at both ends.
struct Life {
  std::uint64_t sm = 0, begin = 0, end = 0, begin_ns = 0, end_ns = 0;
};

constexpr const char* life = R"(.version 8.6
.target {}
.address_size 64
.extern .shared .align 1024 .b8 pool[];
.visible .entry probe(.param .u64 out)
{{
  .reg .b64 %out, %at, %a, %b, %c, %d, %until;
  .reg .b32 %block, %sm;
  .reg .pred %p;
  mov.u64 %a, %clock64;
  mov.u64 %c, %globaltimer;
  ld.param.u64 %out, [out];
  mov.u32 %block, %ctaid.x;
  mul.wide.u32 %at, %block, 40;
  add.u64 %out, %out, %at;
  mov.u32 %sm, %smid;
  add.u64 %until, %c, {};
LIVE:
  mov.u64 %d, %globaltimer;
  setp.lt.u64 %p, %d, %until;
  @%p bra LIVE;
  cvt.u64.u32 %at, %sm;
  st.global.u64 [%out], %at;
  st.global.u64 [%out+8], %a;
  st.global.u64 [%out+24], %c;
  st.global.u64 [%out+32], %d;
  mov.u64 %b, %clock64;
  st.global.u64 [%out+16], %b;
  ret;
}}
)";

std::vector<Life> lives_of(Session& s, unsigned ctas, unsigned cluster) {
  launch::Contract c = contract_of({{"out", std::uint64_t(ctas) * sizeof(Life)}});
  launch::Launch& l = c.launches.emplace_back();
  l.grid = {ctas, 1, 1}, l.block = {32, 1, 1}, l.cluster = {cluster, 1, 1};
  l.dynamic_smem = whole_sm;
  l.params = {{launch::PointerParam{"out"}}};
  s.machine().run(fmt::format(fmt::runtime(life), s.machine().facts().target, lifetime_ns), c);
  const std::vector<std::uint64_t> w = words_of(c, "out");
  std::vector<Life> lives;
  for (std::size_t k = 0; k + 5 <= w.size(); k += 5) lives.push_back({w[k], w[k + 1], w[k + 2], w[k + 3], w[k + 4]});
  return lives;
}

// Clusters whose first CTA was there before any CTA ended.
double at_once(const std::vector<Life>& lives, unsigned cluster) {
  std::uint64_t first_end = UINT64_MAX;
  for (const Life& l : lives) first_end = std::min(first_end, l.end_ns);
  double count = 0;
  for (std::size_t k = 0; k < lives.size(); k += cluster) count += lives[k].begin_ns < first_end;
  return count;
}

Figure resident(Session& s, unsigned size) {
  return {at_once(lives_of(s, 2 * s.machine().facts().sms / size * size, size), size), 0};
}

// Returns the clusters of eight CTAs.
Figure measure_clusters(Session& s) {
  s.set(clusters_of_2, resident(s, 2), "that were there before one ended");
  s.set(clusters_of_4, resident(s, 4), "that were there before one ended");
  const Figure eights = resident(s, 8);
  s.observe("clusters of eight CTAs that are resident at once", eights, "count");
  return eights;
}

void clusters(Session& s) { measure_clusters(s); }

// A cluster lies in one GPC. A GPC of 16 to 23 SMs has room for two clusters of eight CTAs and for one of 16, a GPC of
// 8 to 15 for one and for none: it adds one to the difference.
void clusters_and_parts(Session& s) {
  const Figure eights = measure_clusters(s), sixteens = resident(s, 16);
  s.set(gpcs, {eights.value - sixteens.value, 0}, "clusters of 8 CTAs that are resident at once, less those of 16");
}

void replacement(Session& s) {
  std::map<std::uint64_t, std::vector<Life>> by_sm;
  for (const Life& l : lives_of(s, 4 * s.machine().facts().sms, 1)) by_sm[l.sm].push_back(l);
  std::vector<double> gaps;
  for (auto& [sm, lives] : by_sm) {
    std::sort(lives.begin(), lives.end(), [](const Life& x, const Life& y) { return x.begin < y.begin; });
    for (std::size_t k = 1; k < lives.size(); ++k)
      if (lives[k].begin > lives[k - 1].end) gaps.push_back(double(lives[k].begin - lives[k - 1].end));
  }
  s.set(cta_gap, figure_of(gaps), "clocks of one SM, CTAs of 32 threads with 200 KB of shared memory");
}

void spread_of_starts(Session& s) {
  std::vector<double> starts;
  const std::vector<Life> lives = lives_of(s, s.machine().facts().sms, 1);
  std::uint64_t first = UINT64_MAX;
  for (const Life& l : lives) first = std::min(first, l.begin_ns);
  double latest = 0;
  for (const Life& l : lives) latest = std::max(latest, double(l.begin_ns - first));
  s.observe("first to last start of a wave of CTAs", {latest, 0}, "ns");
}

void empty_kernel(Session& s) {
  const std::string text =
      fmt::format(".version 8.6\n.target {}\n.address_size 64\n.visible .entry probe(.param .u64 out) {{ ret; }}\n",
                  s.machine().facts().target);
  launch::Contract c = contract_of({{"out", 64}});
  launch::Launch l;
  l.grid = {s.machine().facts().sms, 1, 1}, l.block = {128, 1, 1};
  l.params = {{launch::PointerParam{"out"}}};
  c.launches.assign(24, l);
  std::vector<double> us;
  const std::vector<double> all = s.machine().run(text, c);
  for (std::size_t k = 4; k < all.size(); ++k) us.push_back(all[k] * 1e3);
  s.set(launch, figure_of(us), "event to event around an empty kernel of a CTA for each SM");
}

}  // namespace

std::vector<Probe> grid_probes() {
  return {{"launches", empty_kernel, true},
          {"CTAs, one after the other", replacement, true},
          {"starts of CTAs", spread_of_starts, true},
          {"clusters at once", clusters, true, timing::TensorCore::tcgen05},
          {"clusters at once, and GPCs", clusters_and_parts, true, timing::TensorCore::wgmma}};
}

}  // namespace kiln::harness
