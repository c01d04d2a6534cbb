// Every kind of tcgen05.mma, dense and sparse, scaled, weight stationary and over two CTAs, against a plain loop.
#include <doctest/doctest.h>

#include "tests/unit/sim/mma_problem.hpp"

namespace sim_mma_forms {

using namespace kiln;
using namespace kiln::test;
using isa::MmaKind;
using isa::ScalarType;

namespace {

void check(MmaProblem p, unsigned seed) {
  p.draw(seed);
  check_product(p, p.machine(), seed);
}

const MmaTypes unscaled[] = {
    {MmaKind::f16, ScalarType::bf16, ScalarType::bf16, ScalarType::f32},
    {MmaKind::f16, ScalarType::f16, ScalarType::f16, ScalarType::f16},
    {MmaKind::tf32, ScalarType::tf32, ScalarType::tf32, ScalarType::f32},
    {MmaKind::f8f6f4, ScalarType::e4m3, ScalarType::e5m2, ScalarType::f32},
    {MmaKind::f8f6f4, ScalarType::e2m1, ScalarType::e4m3, ScalarType::f16},
    {MmaKind::f8f6f4, ScalarType::e3m2, ScalarType::e2m3, ScalarType::f32},
    {MmaKind::f8f6f4, ScalarType::e5m2, ScalarType::e2m1, ScalarType::f32},
    {MmaKind::i8, ScalarType::s8, ScalarType::u8, ScalarType::s32},
};

struct Scaling {
  MmaTypes types;
  int scales;
  const char* vector;
  ScalarType scale;
};

constexpr ScalarType fp4 = ScalarType::e2m1;
const Scaling scalings[] = {
    {{MmaKind::mxf8f6f4, ScalarType::e4m3, ScalarType::e5m2, ScalarType::f32}, 1, ".scale_vec::1X", ScalarType::ue8m0},
    {{MmaKind::mxf8f6f4, ScalarType::e2m3, fp4, ScalarType::f32}, 1, ".block32", ScalarType::ue8m0},
    {{MmaKind::mxf4, fp4, fp4, ScalarType::f32}, 2, "", ScalarType::ue8m0},
    {{MmaKind::mxf4nvf4, fp4, fp4, ScalarType::f32}, 2, ".scale_vec::2X", ScalarType::ue8m0},
    {{MmaKind::mxf4nvf4, fp4, fp4, ScalarType::f32}, 4, ".scale_vec::4X", ScalarType::ue8m0},
    {{MmaKind::mxf4nvf4, fp4, fp4, ScalarType::f32}, 4, ".block16", ScalarType::ue4m3},
};

MmaProblem problem_of(const Scaling& s) {
  MmaProblem p = problem_of(s.types);
  p.scales = s.scales, p.scale_vector = s.vector, p.scale_type = s.scale;
  return p;
}

}  // namespace

TEST_CASE("every kind multiplies, dense and sparse, with 128 and 64 rows") {
  for (const MmaTypes& t : unscaled)
    for (const bool sparse : {false, true})
      for (const int m : {128, 64}) {
        MmaProblem p = problem_of(t);
        p.sparse = sparse, p.m = m;
        check(p, unsigned(m + sparse));
      }
}

TEST_CASE("the sparsity selector of f16 and tf32 takes the second column of the pair") {
  for (const MmaTypes& t : {unscaled[0], unscaled[2]}) {
    MmaProblem p = problem_of(t);
    p.sparse = true, p.selector = 1;
    check(p, 5);
  }
}

TEST_CASE("with 64 rows everything in tensor memory may begin at lane 16") {
  for (const MmaTypes& t : {unscaled[0], unscaled[2], unscaled[3]}) {
    MmaProblem p = problem_of(t);
    p.sparse = true, p.m = 64, p.lane = 16, p.a_in_tmem = true;
    check(p, 6);
  }
}

TEST_CASE("A comes from tensor memory in every kind but those with 6 bits") {
  for (const MmaTypes& t : unscaled)
    for (const bool sparse : {false, true}) {
      if (isa::bits(t.a) == 6) continue;
      MmaProblem p = problem_of(t);
      p.sparse = sparse, p.a_in_tmem = true;
      check(p, 7);
    }
}

TEST_CASE("weight-stationary forms fold the columns of D, dense and sparse") {
  for (const MmaTypes& t : unscaled)
    for (const bool sparse : {false, true})
      for (const int m : {128, 64, 32}) {
        MmaProblem p = problem_of(t);
        p.sparse = sparse, p.ws = true, p.m = m, p.n = 64, p.a_in_tmem = isa::bits(t.a) != 6 && m != 128;
        check(p, unsigned(m));
      }
}

TEST_CASE("two CTAs multiply, dense and sparse, with 256 and 128 rows") {
  for (const MmaTypes& t : unscaled)
    for (const bool sparse : {false, true})
      for (const int m : {256, 128}) {
        MmaProblem p = problem_of(t);
        p.sparse = sparse, p.m = m, p.ctas = 2, p.n = 64;
        check(p, unsigned(m + sparse));
      }
}

TEST_CASE("two CTAs read A from their tensor memories, each half of the lanes for its half of N") {
  for (const MmaTypes& t : unscaled)
    for (const bool sparse : {false, true})
      for (const int m : {256, 128}) {
        if (isa::bits(t.a) == 6) continue;
        MmaProblem p = problem_of(t);
        p.sparse = sparse, p.m = m, p.ctas = 2, p.n = 64, p.a_in_tmem = true;
        check(p, unsigned(m + sparse));
      }
}

TEST_CASE("block-scaled kinds read A from tensor memory too, with K = 96 twelve columns of it") {
  for (const Scaling& s : scalings)
    for (const int ctas : {1, 2}) {
      if (isa::bits(s.types.a) == 6) continue;
      MmaProblem p = problem_of(s);
      p.a_in_tmem = true, p.ctas = ctas, p.n = 64;
      check(p, 8);
      if (s.types.kind == MmaKind::mxf8f6f4) continue;
      p.k96 = true, p.m = 128 * ctas, p.scales = s.scales == 2 ? 3 : 6;
      check(p, 9);
    }
}

TEST_CASE("scales multiply rows and columns, dense and sparse, from every byte they may begin at") {
  for (const Scaling& s : scalings)
    for (const bool sparse : {false, true})
      for (int id = 0; id + s.scales <= 4; id += s.scales) {
        MmaProblem p = problem_of(s);
        p.sparse = sparse, p.sfa_id = id, p.sfb_id = 4 - s.scales - id;
        check(p, unsigned(id));
      }
}

TEST_CASE("scales of two CTAs: all of N in both, by halves of the lanes with 128 rows") {
  for (const Scaling& s : scalings)
    for (const bool sparse : {false, true})
      for (const int m : {256, 128}) {
        if (sparse && m == 128) continue;  // not in the ISA
        MmaProblem p = problem_of(s);
        p.sparse = sparse, p.m = m, p.ctas = 2, p.n = 64;
        check(p, unsigned(m));
      }
}

TEST_CASE("K = 96 has three or six scales, which may go on in the next group of columns") {
  for (const Scaling& s : scalings)
    for (const int ctas : {1, 2}) {
      if (s.types.kind == MmaKind::mxf8f6f4) continue;
      MmaProblem p = problem_of(s);
      p.k96 = true, p.ctas = ctas, p.m = 128 * ctas;
      p.scales = s.scales == 2 ? 3 : 6;
      for (int id = 0; id < 4; id += p.scales == 3 ? 1 : 2) {
        p.sfa_id = id, p.sfb_id = p.scales == 3 ? 3 - id : 2 - id;
        check(p, unsigned(id));
      }
    }
}

}  // namespace sim_mma_forms
