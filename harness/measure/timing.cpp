#include "harness/measure/timing.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "harness/problem/attention_parts.hpp"
#include "harness/problem/gemm_problem.hpp"
#include "harness/problem/parts.hpp"

namespace kiln::harness {
namespace {

using launch::Contract;
using launch::Expectation;

constexpr std::uint64_t most_copies = 16;

double product(double m, double n, double k) { return 2 * m * n * k; }

std::string sizes(std::uint64_t m, std::uint64_t n, std::uint64_t k) { return fmt::format("M={} N={} K={}", m, n, k); }

Work work_of_groups(const Contract& contract, const Expectation& e) {
  double rows = 0;
  for (const RowGroup& g : row_groups(contract, e)) rows += double(g.rows);
  const launch::Buffer& b = contract.at(e.b);
  return {product(rows, double(b.shape[1]), double(b.shape[2])), 0, fmt::format("2 * {} rows of groups * N * K", rows),
          sizes(contract.at(e.a).elements() / b.shape[2], b.shape[1], b.shape[2])};
}

Work work_of_gemm(const Contract& contract, const Expectation& e) {
  if (has_groups(e)) return work_of_groups(contract, e);
  if (const auto matrices = batch_size(contract, e)) {
    const Contract one = matrix_of_batch(contract, e, 0);
    const GemmProblem p = gemm_problem(one, e);
    return {double(*matrices) * product(double(p.rows()), double(p.columns()), double(p.k())), 0,
            fmt::format("2 * M * N * K * {} matrices", *matrices),
            fmt::format("{} x {}", *matrices, sizes(p.rows(), p.columns(), p.k()))};
  }
  const GemmProblem p = gemm_problem(contract, e);
  std::string counted = "2 * M * N * K";
  if (p.sparse()) counted += " of the dense product; the kernel does half of them";
  if (p.a.scales) counted += "; scales not counted";
  if (p.epilogue.has_steps()) counted += "; epilogue not counted";
  return {product(double(p.rows()), double(p.columns()), double(p.k())), 0, counted,
          sizes(p.rows(), p.columns(), p.k())};
}

// The extent of a buffer, or 0 where it has no such.
double extent(const Contract& contract, const std::string& buffer, std::size_t index) {
  const launch::Buffer& b = contract.at(buffer);
  return index < b.shape.size() ? double(b.shape[index]) : 0;
}

Work work_of(const Contract& contract, const Expectation& e) {
  using Kind = Expectation::Kind;
  const double rows = extent(contract, e.a, 0), depth = extent(contract, e.a, 1);
  switch (e.kind) {
    case Kind::gemm: return work_of_gemm(contract, e);
    case Kind::copy:
      return {0, double(contract.at(e.a).size()) + double(contract.at(e.output).size()), "bytes read and written", {}};
    case Kind::attention: {
      const AttentionWork work = attention_work(contract, e);
      if (!e.pages.empty()) return {0, work.bytes, "bytes of keys and values, of each sequence once", {}};
      return {work.flops, 0, "2 * M * N * (K + L) of each head, two products; the softmax not counted", {}};
    }
    case Kind::swiglu:
      return {2 * product(rows, extent(contract, e.b, 0), depth), 0, "4 * M * N * K, two products", {}};
    case Kind::scales: return {};
    case Kind::absmax: return {product(rows, extent(contract, e.b, 0), depth), 0, "2 * M * N * K", {}};
    case Kind::convolution:
      return {product(extent(contract, e.a, 1), extent(contract, e.b, 0), rows * extent(contract, e.a, 2)),
              0,
              "2 * M * N * K * taps, zeros beyond sequences included",
              {}};
  }
  return {};
}

}  // namespace

double Times::median() const {
  if (milliseconds.empty()) return 0;
  std::vector<double> sorted = milliseconds;
  std::sort(sorted.begin(), sorted.end());
  const std::size_t middle = sorted.size() / 2;
  return sorted.size() % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

double Times::least() const {
  return milliseconds.empty() ? 0 : *std::min_element(milliseconds.begin(), milliseconds.end());
}

double Times::most() const {
  return milliseconds.empty() ? 0 : *std::max_element(milliseconds.begin(), milliseconds.end());
}

Rotation plan_rotation(std::uint64_t footprint, std::uint64_t l2_bytes, std::uint64_t memory_bytes) {
  footprint = std::max<std::uint64_t>(footprint, 1);
  const std::uint64_t wanted = 2 + 2 * l2_bytes / footprint;
  const std::uint64_t fitting = std::max<std::uint64_t>(memory_bytes / footprint, 1);
  Rotation r;
  r.copies = std::min({wanted, most_copies, fitting});
  const std::uint64_t others = (r.copies - 1) * footprint;
  if (others <= 2 * l2_bytes) r.filler_bytes = 2 * l2_bytes + 1 - others;
  return r;
}

std::optional<Work> work_of(const Contract& contract) {
  if (contract.expectations.empty()) return std::nullopt;
  Work all;
  for (const Expectation& e : contract.expectations) {
    const Work one = work_of(contract, e);
    all.operations += one.operations;
    all.bytes_moved += one.bytes_moved;
    if (contract.expectations.size() == 1) all.sizes = one.sizes;
    if (all.counted.find(one.counted) == std::string::npos)
      all.counted += (all.counted.empty() ? "" : "; ") + one.counted;
  }
  if (all.operations > 0) all.bytes_moved = 0;
  return all;
}

}  // namespace kiln::harness
