#include "harness/problem/parts.hpp"

#include <fmt/format.h>

#include "harness/problem/element.hpp"
#include "harness/problem/gemm_problem.hpp"
#include "ptx/diag/error.hpp"
#include "ptx/isa/scales.hpp"

namespace kiln::harness {
namespace {

using launch::Buffer;
using launch::Contract;
using launch::Expectation;

// Rows of all matrices.
std::uint64_t all_rows(const Buffer& b) { return b.elements() / b.shape.back(); }

// `count` of the slowest extent's parts, from `first` on; `shape` is theirs.
Buffer part(const Buffer& whole, std::uint64_t first, std::uint64_t count, std::vector<std::uint64_t> shape) {
  Buffer out = whole;
  out.shape = std::move(shape);
  if (whole.bytes.empty()) return out;
  const std::uint64_t each = whole.size() / whole.shape[0];
  out.bytes.assign(whole.bytes.begin() + long(first * each), whole.bytes.begin() + long((first + count) * each));
  return out;
}

// The scales of one matrix of several, [matrices, R, C, 512]; of an operand without scales nothing.
void add_scales(Contract& to, const Contract& contract, const std::string& name, std::uint64_t matrix) {
  if (name.empty()) return;
  const Buffer& all = contract.at(name);
  to.buffers.push_back(part(all, matrix, 1, {all.shape.begin() + 1, all.shape.end()}));
}

void check_scales_of_all(const Contract& contract, const std::string& name, std::uint64_t matrices) {
  if (name.empty()) return;
  const Buffer& all = contract.at(name);
  const bool is_f32 = all.dtype == isa::ScalarType::f32;
  if (all.shape.size() != (is_f32 ? 3 : 4) || all.shape[0] != matrices)
    throw diag::InputError(fmt::format("buffer {}: must be the scales of {} matrices, [{}, {}]", name, matrices, matrices,
                                       is_f32 ? "rows, K blocks" : "row chunks, K chunks, 512"));
}

// Whole rows and matrices can be cut out.
void check_cuts(const Buffer& b, std::size_t extents) {
  if (b.shape.size() != extents)
    throw diag::InputError(fmt::format("buffer {}: must have {} extents in a gemm of groups", b.name, extents));
  std::uint64_t bits = std::uint64_t(isa::bits(b.dtype));
  for (std::size_t i = 1; i < extents; ++i) bits *= b.shape[i];
  if (b.shape[0] == 0 || bits % 8 != 0)
    throw diag::InputError(fmt::format("buffer {}: what belongs to a group must be whole bytes", b.name));
  if (b.init.quantised) throw diag::InputError(fmt::format("buffer {}: groups are not quantised", b.name));
}

}  // namespace

std::optional<std::uint64_t> batch_size(const Contract& contract, const Expectation& e) {
  const Buffer &a = contract.at(e.a), &b = contract.at(e.b), &d = contract.at(e.output);
  if (d.shape.size() != 3) return std::nullopt;
  for (const Buffer* operand : {&a, &b}) {
    if (operand->shape.size() != 3 || operand->shape[0] != d.shape[0])
      throw diag::InputError(
          fmt::format("{} is a batch of {} matrices; {} must be one too", d.name, d.shape[0], operand->name));
    if (operand->init.quantised)
      throw diag::InputError(fmt::format("buffer {}: a batch is not quantised", operand->name));
  }
  for (const Buffer* x : {&a, &b, &d})
    if (x->shape[1] * x->shape[2] * std::uint64_t(isa::bits(x->dtype)) % 8 != 0)
      throw diag::InputError(fmt::format("buffer {}: a matrix of a batch must be whole bytes", x->name));
  if (!e.metadata.empty() || !e.c.empty() || !e.bias.empty() || !e.sfd.empty() || e.norm > 0)
    throw diag::InputError("a gemm of batches has no metadata, addend, bias, norm or scales of D");
  for (const std::string& name : {e.sfa, e.sfb}) check_scales_of_all(contract, name, d.shape[0]);
  return d.shape[0];
}

Contract matrix_of_batch(const Contract& contract, const Expectation& e, std::uint64_t index) {
  Contract one;
  for (const std::string& name : {e.a, e.b, e.output}) {
    const Buffer& batch = contract.at(name);
    one.buffers.push_back(part(batch, index, 1, {batch.shape[1], batch.shape[2]}));
  }
  for (const std::string& name : {e.sfa, e.sfb}) add_scales(one, contract, name, index);
  for (const std::string& name : e.factors) one.buffers.push_back(contract.at(name));
  one.expectations = {e};
  return one;
}

void check_groups(const Contract& contract, const Expectation& e) {
  const Buffer &a = contract.at(e.a), &b = contract.at(e.b), &d = contract.at(e.output);
  if (!e.groups.empty() && !e.lengths.empty()) throw diag::InputError("a gemm has groups or lengths, not both");
  const bool is_batch = e.groups.empty();
  const Buffer& ends = contract.at(is_batch ? e.lengths : e.groups);
  check_cuts(a, is_batch ? 3 : 2), check_cuts(b, 3), check_cuts(d, is_batch ? 3 : 2);
  if (is_batch && (a.shape[0] != b.shape[0] || d.shape[0] != b.shape[0] || d.shape[1] != a.shape[1]))
    throw diag::InputError(fmt::format("{} has {} matrices; {} and {} must have as many, of as many rows", b.name,
                                       b.shape[0], a.name, d.name));
  if (ends.dtype != isa::ScalarType::u32 || ends.shape.size() != 1 || ends.shape[0] != b.shape[0])
    throw diag::InputError(
        fmt::format("buffer {}: must be a u32 for each of the {} matrices of {}", ends.name, b.shape[0], b.name));
  if (!e.metadata.empty() || !e.c.empty() || !e.sfd.empty() || e.norm > 0 || e.a_transposed || e.b_transposed)
    throw diag::InputError("a gemm of groups has no metadata, addend, norm, scales of D or transposed operands");
  if (is_batch) check_scales_of_all(contract, e.sfa, b.shape[0]);
  check_scales_of_all(contract, e.sfb, b.shape[0]);
  const Contract all = matrices_of_group(contract, e, {0, 0, is_batch ? a.shape[1] : all_rows(a)});
  gemm_problem(all, all.expectations.front());
}

std::vector<RowGroup> row_groups(const Contract& contract, const Expectation& e) {
  check_groups(contract, e);
  std::vector<RowGroup> out;
  if (e.groups.empty()) {
    const Buffer& lengths = contract.at(e.lengths);
    const std::uint64_t most = contract.at(e.a).shape[1];
    for (std::uint64_t g = 0; g < lengths.shape[0]; ++g) {
      const std::uint64_t length = load_element(lengths.bytes, lengths.dtype, g);
      if (length > most)
        throw diag::InputError(fmt::format("buffer {}: matrix {} has {} rows that count; must be in [0, {}]",
                                           lengths.name, g, length, most));
      if (length > 0) out.push_back({g, g * most, length});
    }
    return out;
  }
  const Buffer& ends = contract.at(e.groups);
  const std::uint64_t rows = contract.at(e.a).shape[0];
  for (std::uint64_t g = 0, first = 0, chunk = 0; g < ends.shape[0]; ++g) {
    const std::uint64_t end = load_element(ends.bytes, ends.dtype, g);
    if (end < first || end > rows)
      throw diag::InputError(
          fmt::format("buffer {}: group {} ends at row {}; must be in [{}, {}]", ends.name, g, end, first, rows));
    if (end > first) out.push_back({g, first, end - first, chunk});
    chunk += isa::scale_row_chunks(end - first);
    first = end;
  }
  return out;
}

Contract matrices_of_group(const Contract& contract, const Expectation& e, const RowGroup& g) {
  const Buffer &a = contract.at(e.a), &b = contract.at(e.b), &d = contract.at(e.output);
  const auto rows = [&](Buffer of) {
    of.shape = {all_rows(of), of.shape.back()};
    return part(of, g.first, g.rows, {g.rows, of.shape[1]});
  };
  Contract one;
  one.buffers = {rows(a), part(b, g.index, 1, {b.shape[1], b.shape[2]}), rows(d)};
  add_scales(one, contract, e.sfb, g.index);
  if (!e.lengths.empty()) add_scales(one, contract, e.sfa, g.index);
  if (!e.groups.empty() && !e.sfa.empty()) {
    const Buffer& all = contract.at(e.sfa);
    const bool is_f32 = all.dtype == isa::ScalarType::f32;  // a row of them for each of A's
    const std::uint64_t first = is_f32 ? g.first : g.chunk, count = is_f32 ? g.rows : isa::scale_row_chunks(g.rows);
    std::vector<std::uint64_t> shape = all.shape;
    if (shape.empty() || shape[0] < first + count)
      throw diag::InputError(fmt::format("buffer {}: must have {} {} at least", all.name, first + count,
                                         is_f32 ? "rows" : "chunks of rows"));
    shape[0] = count;
    one.buffers.push_back(part(all, first, count, std::move(shape)));
  }
  for (const std::string& name : e.factors) one.buffers.push_back(contract.at(name));
  if (!e.bias.empty()) one.buffers.push_back(contract.at(e.bias));
  one.expectations = {e};
  one.expectations.front().groups.clear(), one.expectations.front().lengths.clear();
  return one;
}

std::vector<std::uint64_t> place_in_groups(const Buffer& d, std::uint64_t row, std::uint64_t column) {
  if (d.shape.size() == 2) return {row, column};
  return {row / d.shape[1], row % d.shape[1], column};
}

}  // namespace kiln::harness
