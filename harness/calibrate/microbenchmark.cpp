#include "harness/calibrate/microbenchmark.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "ptx/diag/refuse.hpp"
#include "ptx/isa/targets.hpp"

namespace kiln::harness {
namespace {

constexpr std::size_t cold_samples = 2;  // at the start of a launch, in which code and translations are fetched
constexpr std::size_t sample_words = 2;  // cycles, nanoseconds

// %s counts samples, %i turns. Each CTA leaves its samples in its own part of `out`. `.reqntid`: else ptxas may give
// each thread more registers than a CTA of this size has room for.
constexpr const char* frame = R"(.version 8.6
.target {target}
.address_size 64
.extern .shared .align 1024 .b8 pool[];
.visible .entry probe(.param .u64 out, .param .u32 count, .param .u64 data{map_params})
.reqntid {threads}
{{
  .reg .b32 %r<64>;
  .reg .b64 %rd<64>;
  .reg .f32 %f<4>;
  .reg .pred %p<8>;
  .reg .b32 %count, %i, %s, %thread, %rank, %block, %smem;
  .reg .b64 %out, %data, %map, %begin, %end, %ns;
  {declare}
  ld.param.u64 %out, [out];
  ld.param.u32 %count, [count];
  ld.param.u64 %data, [data];
  {map_address}
  mov.u32 %thread, %tid.x;
  mov.u32 %rank, %cluster_ctarank;
  mov.u32 %block, %ctaid.x;
  mov.u32 %smem, pool;
  mul.wide.u32 %begin, %block, {cta_bytes};
  add.u64 %out, %out, %begin;
  {setup}
  mov.u32 %s, 0;
SAMPLE:
  {before}
  bar.sync 0;
  mov.u64 %ns, %globaltimer;
  mov.u64 %begin, %clock64;
  mov.u32 %i, %count;
TURN:
{body}
  sub.u32 %i, %i, 1;
  setp.ne.u32 %p7, %i, 0;
  @%p7 bra TURN;
  {after}
  bar.sync 0;
  mov.u64 %end, %clock64;
  {cycles}
  mov.u64 %begin, %globaltimer;
  sub.u64 %ns, %begin, %ns;
  setp.ne.u32 %p6, %thread, 0;
  @!%p6 st.global.u64 [%out], %end;
  @!%p6 st.global.u64 [%out+8], %ns;
  add.u64 %out, %out, 16;
  add.u32 %s, %s, 1;
  setp.lt.u32 %p7, %s, {samples};
  @%p7 bra SAMPLE;
  {finish}
  ret;
}}
)";

std::string copies_of(const std::string& body, unsigned count) {
  std::string out;
  for (unsigned k = 0; k < count; ++k)
    for (const char c : body + "\n")
      if (c == '#')
        out += std::to_string(k);
      else
        out += c;
  return out;
}

double middle(const std::vector<LoopTime>& samples) { return figure_of(samples, &LoopTime::cycles).value; }

}  // namespace

Figure figure_of(std::vector<double> samples) {
  if (samples.empty()) diag::refuse("a microbenchmark left no sample");
  std::sort(samples.begin(), samples.end());
  const std::size_t n = samples.size();
  const double value = n % 2 ? samples[n / 2] : (samples[n / 2 - 1] + samples[n / 2]) / 2;
  return {value, (samples[(3 * (n - 1) + 3) / 4] - samples[(n - 1) / 4]) / 2};
}

Figure figure_of(const std::vector<LoopTime>& samples, double LoopTime::*clock) {
  std::vector<double> values;
  for (const LoopTime& s : samples) values.push_back(s.*clock);
  return figure_of(std::move(values));
}

std::pair<double, double> line_through(const std::vector<std::pair<double, double>>& points) {
  double x = 0, y = 0, xx = 0, xy = 0;
  const auto n = double(points.size());
  for (const auto& [px, py] : points) x += px / n, y += py / n;
  for (const auto& [px, py] : points) xx += (px - x) * (px - x), xy += (px - x) * (py - y);
  const double slope = xx > 0 ? xy / xx : 0;
  return {y - slope * x, slope};
}

std::string ptx_of(const LoopKernel& k, const std::string& target) {
  std::string maps;
  for (std::size_t m = 0; m < k.maps.size(); ++m) maps += fmt::format(", .param .align 64 .b8 map{}[128]", m);
  return fmt::format(fmt::runtime(frame), fmt::arg("target", target), fmt::arg("map_params", maps),
                     fmt::arg("threads", k.threads), fmt::arg("declare", k.declare),
                     fmt::arg("map_address", k.maps.empty() ? "" : "mov.b64 %map, map0; cvta.param.u64 %map, %map;"),
                     fmt::arg("cta_bytes", k.samples * sample_words * 8), fmt::arg("setup", k.setup),
                     fmt::arg("before", k.before), fmt::arg("body", copies_of(k.body, k.copies)),
                     fmt::arg("after", k.after), fmt::arg("cycles", k.cycles), fmt::arg("samples", k.samples),
                     fmt::arg("finish", k.cluster > 1 ? "barrier.cluster.arrive; barrier.cluster.wait;" : ""));
}

launch::Contract contract_of(const std::vector<std::pair<std::string, std::uint64_t>>& buffers) {
  launch::Contract c;
  for (const auto& [name, bytes] : buffers) {
    launch::Buffer& b = c.buffers.emplace_back();
    b.name = name, b.shape = {bytes}, b.init.kind = launch::Init::Kind::zeros;
    b.bytes.assign(bytes, 0);
  }
  return c;
}

std::vector<std::uint64_t> words_of(const launch::Contract& contract, const std::string& buffer) {
  const std::vector<std::uint8_t>& bytes = contract.at(buffer).bytes;
  std::vector<std::uint64_t> words(bytes.size() / 8);
  std::memcpy(words.data(), bytes.data(), words.size() * 8);
  return words;
}

std::vector<std::vector<LoopTime>> samples_of(Machine& machine, const LoopKernel& k, unsigned turns) {
  launch::Contract c =
      contract_of({{"out", std::uint64_t(k.ctas) * k.samples * sample_words * 8}, {"data", k.data_bytes}});
  launch::Launch& l = c.launches.emplace_back();
  l.grid = {k.ctas, 1, 1}, l.block = {k.threads, 1, 1}, l.cluster = {k.cluster, 1, 1};
  l.dynamic_smem = k.shared_bytes;
  l.params = {{launch::PointerParam{"out"}},
              {launch::ScalarParam{isa::ScalarType::u32, turns}},
              {launch::PointerParam{"data"}}};
  for (std::size_t m = 0; m < k.maps.size(); ++m) {
    const std::string name = "map" + std::to_string(m);
    c.tensor_maps[name] = k.maps[m];
    c.tensor_maps[name].buffer = "data";
    l.params.push_back({launch::TensorMapParam{name}});
  }
  machine.run(ptx_of(k, machine.facts().target), c);
  const std::vector<std::uint64_t> words = words_of(c, "out");
  std::vector<std::vector<LoopTime>> out;
  for (unsigned cta = 0; cta < k.ctas; ++cta) {
    std::vector<LoopTime>& samples = out.emplace_back();
    for (std::size_t s = cold_samples; s < k.samples; ++s) {
      const std::size_t at = (cta * k.samples + s) * sample_words;
      if (words[at] != 0) samples.push_back({double(words[at]), double(words[at + 1])});
    }
    if (samples.empty()) out.pop_back();  // a CTA that did not run
  }
  if (out.empty()) diag::refuse("a microbenchmark left no sample");
  return out;
}

Figure cycles_of(Machine& machine, const LoopKernel& k, unsigned few, unsigned many) {
  const auto shorter = samples_of(machine, k, few), longer = samples_of(machine, k, many);
  const double copies = double(many - few) * k.copies;
  std::vector<double> slopes;
  if (longer.size() == 1 && shorter.size() == 1) {
    const double base = middle(shorter.front());
    for (const LoopTime& s : longer.front()) slopes.push_back((s.cycles - base) / copies);
  } else {
    for (std::size_t c = 0; c < std::min(longer.size(), shorter.size()); ++c)
      slopes.push_back((middle(longer[c]) - middle(shorter[c])) / copies);
  }
  return figure_of(slopes);
}

}  // namespace kiln::harness
