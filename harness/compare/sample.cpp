#include "harness/compare/sample.hpp"

#include <algorithm>

#include "harness/problem/element.hpp"
#include "harness/problem/gemm_problem.hpp"
#include "harness/problem/parts.hpp"
#include "harness/problem/random.hpp"
#include "launch/operands.hpp"
#include "ptx/diag/error.hpp"

namespace kiln::harness {
namespace {

using launch::Buffer;
using launch::Contract;
using launch::Expectation;
using Indices = std::vector<std::uint64_t>;

constexpr std::uint64_t width = 8;

/// Draws numbers one after the other.
class Draw {
 public:
  explicit Draw(std::uint64_t seed) : stream_(seed, "sample") {}
  std::uint64_t below(std::uint64_t range) { return stream_.below(next_++, range); }

  /// Up to `width` different numbers from `first` on.
  Indices different(std::uint64_t first, std::uint64_t range) {
    Indices out;
    while (out.size() < std::min(width, range)) {
      const std::uint64_t index = first + below(range);
      if (std::find(out.begin(), out.end(), index) == out.end()) out.push_back(index);
    }
    return out;
  }

 private:
  RandomStream stream_;
  std::uint64_t next_ = 0;
};

Buffer empty_like(const Buffer& b, std::vector<std::uint64_t> shape) {
  Buffer out{b.name, b.dtype, std::move(shape)};
  out.bytes.resize(out.size());
  return out;
}

// The last extent but one and the last; what stands before them counts matrices.
std::uint64_t slow_extent(const Buffer& b) { return b.shape[b.shape.size() - 2]; }
std::uint64_t fast_extent(const Buffer& b) { return b.shape.back(); }

// The elements of one matrix of `from` where these rows and columns meet.
Buffer gathered(const Buffer& from, std::uint64_t matrix, const Indices& rows, const Indices& columns) {
  Buffer out = empty_like(from, {rows.size(), columns.size()});
  const std::uint64_t start = matrix * slow_extent(from) * fast_extent(from);
  for (std::uint64_t r = 0; r < rows.size(); ++r)
    for (std::uint64_t c = 0; c < columns.size(); ++c)
      store_element(out.bytes, out.dtype, r * columns.size() + c,
                    load_element(from.bytes, from.dtype, start + rows[r] * fast_extent(from) + columns[c]));
  return out;
}

Indices all(std::uint64_t count) {
  Indices out(count);
  for (std::uint64_t i = 0; i < count; ++i) out[i] = i;
  return out;
}

Buffer operand(const Buffer& from, std::uint64_t matrix, const Indices& rows, bool transposed) {
  return transposed ? gathered(from, matrix, all(slow_extent(from)), rows)
                    : gathered(from, matrix, rows, all(fast_extent(from)));
}

Buffer scales(const Buffer& from, const Indices& rows, std::uint64_t count) {
  Buffer out = empty_like(from, {isa::scale_row_chunks(rows.size()), from.shape[1], from.shape[2]});
  for (std::uint64_t r = 0; r < rows.size(); ++r)
    for (std::uint64_t i = 0; i < count; ++i)
      store_element(out.bytes, out.dtype, isa::scale_index(r, i, out.shape[1]),
                    load_element(from.bytes, from.dtype, isa::scale_index(rows[r], i, from.shape[1])));
  return out;
}

Buffer metadata(const Buffer& from, isa::MmaKind kind, const Indices& rows, std::uint64_t k) {
  Buffer out = empty_like(from, {isa::metadata_row_images(rows.size()), from.shape[1], from.shape[2]});
  for (std::uint64_t r = 0; r < rows.size(); ++r)
    for (std::uint64_t chunk = 0; chunk < k / std::uint64_t(isa::metadata_chunk(kind)); ++chunk) {
      const isa::MetadataNibble in = isa::metadata_nibble(kind, rows[r], chunk, from.shape[1]);
      const isa::MetadataNibble at = isa::metadata_nibble(kind, r, chunk, out.shape[1]);
      const std::uint64_t nibble = load_element(from.bytes, from.dtype, in.word) >> in.bit & 0xF;
      store_element(out.bytes, out.dtype, at.word, load_element(out.bytes, out.dtype, at.word) | nibble << at.bit);
    }
  return out;
}

Buffer bias(const Buffer& from, const Indices& columns) {
  Buffer out = empty_like(from, {columns.size()});
  for (std::uint64_t c = 0; c < columns.size(); ++c)
    store_element(out.bytes, out.dtype, c, load_element(from.bytes, from.dtype, columns[c]));
  return out;
}

/// Puts a block's buffers together, each under a name of its own: one buffer may have several parts to play.
class Assembly {
 public:
  explicit Assembly(const Expectation& e) { contract.expectations = {e}; }

  void add(std::string& role, const char* name, Buffer b) {
    role = b.name = name;
    contract.buffers.push_back(std::move(b));
  }
  Expectation& expectation() { return contract.expectations[0]; }

  Contract contract{};
};

void add_scaling(Assembly& to, const Contract& contract, const Expectation& e, const SampleBlock& block) {
  const Buffer &a = contract.at(e.a), &b = contract.at(e.b);
  const std::uint64_t stored = a.shape[1];
  if (!e.sfa.empty()) {
    to.add(to.expectation().sfa, "scales of A", scales(contract.at(e.sfa), block.rows, stored / e.block));
    to.add(to.expectation().sfb, "scales of B", scales(contract.at(e.sfb), block.columns, stored / e.block));
  }
  if (e.metadata.empty()) return;
  const isa::MmaKind kind = launch::mma_kind(a.dtype, b.dtype, e.block, e.mma_k);
  to.add(to.expectation().metadata, "metadata", metadata(contract.at(e.metadata), kind, block.rows, b.shape[1]));
}

void add_epilogue(Assembly& to, const Contract& contract, const Expectation& e, const SampleBlock& block) {
  for (std::size_t i = 0; i < e.factors.size(); ++i) {
    const std::string name = "factor " + std::to_string(i);
    to.add(to.expectation().factors[i], name.c_str(), contract.at(e.factors[i]));
  }
  if (!e.c.empty()) to.add(to.expectation().c, "C", gathered(contract.at(e.c), 0, block.rows, block.columns));
  if (!e.beta.empty()) to.add(to.expectation().beta, "beta", contract.at(e.beta));
  if (!e.bias.empty()) to.add(to.expectation().bias, "bias", bias(contract.at(e.bias), block.columns));
}

// What there is to choose from: the whole, a batch's matrices, or rows in groups.
void check(const Contract& contract, const Expectation& e) {
  if (e.kind != Expectation::Kind::gemm) throw diag::InputError("only gemms are checked in part");
  if (has_groups(e)) return check_groups(contract, e);
  const auto matrices = batch_size(contract, e);
  const Contract one = matrices ? matrix_of_batch(contract, e, 0) : Contract{};
  gemm_problem(matrices ? one : contract, e);
}

}  // namespace

std::vector<SampleBlock> choose_blocks(const Contract& contract, const Expectation& e, std::uint64_t elements,
                                       std::uint64_t seed) {
  check(contract, e);
  const Buffer& d = contract.at(e.output);
  const std::uint64_t matrices = d.shape.size() == 3 ? d.shape[0] : 1;
  const std::vector<RowGroup> groups = has_groups(e) ? row_groups(contract, e) : std::vector<RowGroup>{};
  std::vector<SampleBlock> out;
  if (d.elements() == 0 || (has_groups(e) && groups.empty())) return out;
  Draw draw(seed);
  for (std::uint64_t chosen = 0; chosen < elements; chosen += out.back().rows.size() * out.back().columns.size()) {
    SampleBlock block;
    RowGroup from{draw.below(matrices), 0, slow_extent(d)};
    if (!groups.empty()) {
      const std::uint64_t row = draw.below(groups.back().first + groups.back().rows);
      const auto after =
          std::find_if(groups.begin(), groups.end(), [&](const auto& g) { return row < g.first + g.rows; });
      from = *after;
    }
    block.matrix = from.index;
    block.rows = draw.different(from.first, from.rows);
    block.columns = draw.different(0, fast_extent(d));
    out.push_back(std::move(block));
  }
  return out;
}

Contract gemm_of_block(const Contract& contract, const Expectation& e, const SampleBlock& block) {
  const std::uint64_t rows_matrix = has_groups(e) ? 0 : block.matrix;
  Assembly to(e);
  to.expectation().groups.clear(), to.expectation().lengths.clear();
  to.add(to.expectation().a, "A", operand(contract.at(e.a), rows_matrix, block.rows, e.a_transposed));
  to.add(to.expectation().b, "B", operand(contract.at(e.b), block.matrix, block.columns, e.b_transposed));
  to.add(to.expectation().output, "D", gathered(contract.at(e.output), rows_matrix, block.rows, block.columns));
  add_scaling(to, contract, e, block);
  add_epilogue(to, contract, e, block);
  return std::move(to.contract);
}

}  // namespace kiln::harness
