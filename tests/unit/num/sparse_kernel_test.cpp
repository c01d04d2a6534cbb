// A sparse A in the vector kernel, where it lies with its zeros.
#include "tests/unit/num/gemm_case.hpp"

namespace num_sparse_kernel {

using namespace kiln::num;
using namespace kiln::num::test;

namespace {

// A dense case with the same products: the zeros that a sparse A leaves out.
Case expanded(const Case& c) {
  Case out = c;
  out.a.assign(static_cast<std::size_t>(c.m * c.k()), 0);
  for (int row = 0; row < c.m; ++row)
    for (int s = 0; s < c.steps; ++s)
      for (int slot = 0; slot < c.stored_step(); ++slot) {
        const int words = c.metadata_step(), first = (row * c.steps + s) * words;
        const std::span metadata(&c.metadata[static_cast<std::size_t>(first)], static_cast<std::size_t>(words));
        const int at = row * c.k() + s * c.k_step() + sparse_column(c.spec.kind, slot, metadata);
        out.a[static_cast<std::size_t>(at)] =
            c.a[static_cast<std::size_t>(row * c.stored() + s * c.stored_step() + slot)];
      }
  out.spec.sparse = false;
  out.steps = 2 * c.steps;
  return out;
}

}  // namespace

TEST_CASE("fast sums of a sparse A are those of all its elements, zeros included, in the order of k") {
  Random random(11);
  using enum ScalarType;
  const DotSpec specs[] = {{.kind = MmaKind::f16, .a = bf16, .b = bf16, .sparse = true},
                           {.kind = MmaKind::tf32, .a = tf32, .b = tf32, .sparse = true},
                           {.kind = MmaKind::f8f6f4, .a = e4m3, .b = e5m2, .sparse = true}};
  for (const DotSpec& spec : specs)
    for (VectorUnit unit : units()) {
      const Case c = make(spec, normal, normal, random, 37, 75, 2);
      CHECK(computed(c, unit, nullptr, Arithmetic::fast) == computed(expanded(c), unit, nullptr, Arithmetic::fast));
    }
}

TEST_CASE("what no row of a sparse A selects leaves no trace in fast sums either") {
  Random random(12);
  Case c = make({.kind = MmaKind::f16, .a = ScalarType::bf16, .b = ScalarType::bf16, .sparse = true}, small_integer,
                small_integer, random, 9, 70, 2);
  std::fill(c.metadata.begin(), c.metadata.end(), 0x44444444);  // the first two of four
  const Words want = expected(c);
  for (std::size_t i = 0; i < c.b.size(); ++i)
    if (i % 4 > 1) c.b[i] = i % 8 > 4 ? 0x7F80 : 0xFFC0;
  for (VectorUnit unit : units()) {
    CHECK(computed(c, unit) == want);
    CHECK(computed(c, unit, nullptr, Arithmetic::fast) == want);
  }
}

}  // namespace num_sparse_kernel
