// The epilogue that quantises: a thread has a row, so that a block's greatest magnitude is found in its registers.
#include <array>

#include "kernels/epilogues.hpp"
#include "launch/operands.hpp"
#include "ptx/num/format.hpp"

namespace kiln::kernels {

using namespace kiln::dsl;

namespace {

constexpr int chunk_rows = isa::scale_chunk_rows, column_rows = isa::scale_column_rows;
constexpr num::Format f32_format = num::format_of(ScalarType::f32);

// Four scales of a row: a word of their chunk, and by what their blocks are multiplied.
struct Scaled {
  U32 word;
  std::vector<F32> factors;
};

// The power of two below each magnitude, less the largest exponent of an element; that of zeros is 1.
Scaled powers_of_two(const std::vector<F32>& magnitudes, ElementType element) {
  constexpr int fraction_bits = f32_format.fraction_bits, bias = f32_format.bias;
  const auto least = std::uint32_t(num::format_of(element.scalar).emax());
  std::vector<U32> codes;
  std::vector<F32> factors;
  for (const F32& most : magnitudes) {
    const U32 exponent = bit_cast<U32>(most) >> fraction_bits;
    codes.push_back(
        select(most == 0.0f, U32(most.recorder(), ir::Operand::number(bias)), max(exponent, least) - least));
    factors.push_back(bit_cast<F32>((2 * bias - codes.back()) << fraction_bits));
  }
  return {codes[0] | codes[1] << 8 | codes[2] << 16 | codes[3] << 24, std::move(factors)};
}

// Each magnitude by the largest e2m1, as ue4m3; where that is zero, so are the elements.
Scaled fractions(const std::vector<F32>& magnitudes) {
  const auto largest_e2m1 = float(num::to_double(ScalarType::e2m1, num::format_of(ScalarType::e2m1).max_finite()));
  const AnyRegisters scales = converted(
      make_registers(int(magnitudes.size()), [&](int i) { return magnitudes[std::size_t(i)] * (1 / largest_e2m1); }),
      element_type<e4m3>);
  const AnyRegisters values = widened(scales);
  std::vector<F32> factors;
  for (int i = 0; i < values.count(); ++i)
    factors.push_back(select(values.f32(i) == 0.0f, 0.0f, rcp_rn(values.f32(i))));
  return {U32(scales.recorder(), scales.operands()[0]), std::move(factors)};
}

}  // namespace

RoleStep Quantised::device(KernelBuilder& gemm, int width) const {
  const AnyPointer words = gemm.pointer("SFD", element_type<u32>);
  std::optional<AnyPointer> alpha_at;
  if (is_fine()) alpha_at.emplace(gemm.pointer("alpha", element_type<f32>));
  return [=, block = block(), fine = is_fine()](Warpgroup& g) -> RowStep {
    std::optional<F32> alpha;
    if (alpha_at) alpha.emplace(g.ld_global_f32(alpha_at->address()));
    return [=](const RowPlace& row) -> StoreColumns {
      const ElementType element = row.d.elements.element();
      // Chunks of a row of them, and this row's word of the first chunk of its tile.
      const U32 chunks = (row.d.n + (width - 1)) / width, rows = (row.d.m + (chunk_rows - 1)) / chunk_rows * chunk_rows;
      const U32 in_chunk = row.row % chunk_rows;
      const U64 first =
          words.at(multiply_wide(row.row / chunk_rows * chunks + row.col / width, isa::scale_chunk_bytes / 4) +
                   widen(in_chunk % column_rows * isa::scales_per_cell + in_chunk / column_rows));
      const U32 columns = select(row.row < rows, select(row.col < row.d.n, row.d.n - row.col, 0), 0);
      const U64 to = row.d.elements.address() + (row.index * element.bits >> 3);
      return [=](Warpgroup& g, const AnyTmem& sums, int column) {
        const AnyRegisters loaded = g.wait(g.load(sums.columns(column, width)));
        const auto value = [&](int i) { return alpha ? loaded.f32(i) * *alpha : loaded.f32(i); };
        std::vector<F32> values, magnitudes;
        for (int i = 0; i < width; ++i) values.push_back(value(i));
        for (int i = 0; i < width; i += block) {
          std::vector<F32> sizes;
          for (int j = i; j < i + block; ++j) sizes.push_back(abs(values[std::size_t(j)]));
          magnitudes.push_back(combined(sizes, [](const F32& a, const F32& b) { return max(a, b); }));
        }
        const Scaled scaled = fine ? fractions(magnitudes) : powers_of_two(magnitudes, element);
        const AnyRegisters quotients = make_registers(
            width, [&](int i) { return values[std::size_t(i)] * scaled.factors[std::size_t(i / block)]; });
        g.store_global(to, converted(quotients, element), row.left, column);
        g.store_global(first, scaled.word, columns > column, column / width * (isa::scale_chunk_bytes / 4));
      };
    };
  };
}

void Quantised::describe(launch::Contract& c, const GemmSizes& s) const {
  constexpr std::uint64_t least = 32;  // a block, and 16 bytes of the narrowest elements
  if (s.n % least != 0)
    throw diag::InputError("--n " + std::to_string(s.n) + ": must be a multiple of 32: rows of D are whole blocks");
  c.buffers.push_back(launch::scale_buffer("SFD", scale_, s.m, s.n / std::uint64_t(block())));
  launch::Expectation& product = c.expectations.front();
  product.sfd = "SFD";
  if (is_fine()) {
    add_workspace(c, "alpha", isa::ScalarType::f32, 1, launch::Init::Kind::normal).init.seed = 3;
    product.factors = {"alpha"};
  }
  launch::Expectation scales;
  scales.kind = launch::Expectation::Kind::scales;
  scales.output = "SFD";
  scales.a = "D";
  c.expectations.push_back(scales);
}

std::vector<NamedArgument> Quantised::arguments() const {
  std::vector<NamedArgument> all{{"SFD", std::string("SFD")}};
  if (is_fine()) all.push_back({"alpha", std::string("alpha")});
  return all;
}

}  // namespace kiln::kernels
