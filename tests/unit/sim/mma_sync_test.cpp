// mma.sync and mma.sp of every shape and family of types, against plain loops over matrices of small numbers, whose
// sums are exact in any order. Where rounding happens is tests/unit/num/warp_dot_test.cpp's business, and which
// architecture does it which way, the last cases' here.
#include "ptx/num/warp_dot.hpp"
#include "tests/unit/sim/matrix_kernel.hpp"

namespace sim_mma_sync {

using namespace kiln;
using namespace kiln::test;
using isa::MatrixShape;
using isa::MmaSyncCell;

namespace {

struct Case {
  std::string target, shape, types;  // types as written after .row.col
  ScalarType a, b, d;
  int container;  // bits of an element of A and B; 32 for b1
  bool sparse = false;
  int selector = 0;
  int scales = 0;  // per row
  ScalarType scale = ScalarType::none;
};

int shift_of(const Case& c, ScalarType t) { return t == ScalarType::e2m1 && c.container == 8 ? 2 : 0; }

// Four bits of metadata for each chunk of a row, and the logical columns that they keep.
struct Selection {
  std::vector<u32> nibbles;
  std::vector<int> columns;
};
Selection choose(int container, int k, std::mt19937& random) {
  Selection s;
  const int chunk = container == 32 ? 2 : container == 4 ? 8 : 4;
  for (int first = 0; first < k; first += chunk) {
    if (container == 32) {
      const int which = int(random() % 2);
      s.nibbles.push_back(which ? 0xE : 0x4);
      s.columns.push_back(first + which);
      continue;
    }
    const int low = int(random() % 3), high = low + 1 + int(random() % u32(3 - low));
    s.nibbles.push_back(u32(low | high << 2));
    const int wide = chunk / 4;  // nibbles go in pairs
    for (int part : {low, high})
      for (int i = 0; i < wide; ++i) s.columns.push_back(first + part * wide + i);
  }
  return s;
}

double product(const Case& c, u32 a, u32 b) {
  if (c.a != ScalarType::b1) return value_of(c.a, a) * value_of(c.b, b);
  return c.types.find("xor") != std::string::npos ? a ^ b : a & b;
}

// Everything of one instruction: matrices, and how they lie in registers.
struct Problem {
  Case c;
  MatrixShape shape;
  int stored_k;
  Matrix a, b, init, expect;
  std::vector<Selection> rows;
  Matrix sfa, sfb;

  Problem(const Case& made, std::mt19937& random)
      : c(made),
        shape(*isa::parse_matrix_shape(made.shape)),
        stored_k(shape.k / (made.sparse ? 2 : 1)),
        a(random_matrix(made.a, shape.m, stored_k, random)),
        b(random_matrix(made.b, shape.k, shape.n, random)),
        init(random_matrix(made.d, shape.m, shape.n, random)),
        expect(shape.m, shape.n),
        sfa(shape.m, std::max(1, made.scales)),
        sfb(shape.n, std::max(1, made.scales)) {
    for (int row = 0; row < shape.m; ++row) rows.push_back(choose(made.container, shape.k, random));
    for (Matrix* s : {&sfa, &sfb})
      for (u32& w : s->words)
        w = word_of(made.scale == ScalarType::none ? ScalarType::ue8m0 : made.scale, double(1 << random() % 3));
    for (int row = 0; row < shape.m; ++row)
      for (int column = 0; column < shape.n; ++column) expect.at(row, column) = compute(row, column);
  }

  double scale(const Matrix& m, int row, int stored) const {
    return c.scales ? value_of(c.scale, m.at(row, stored * c.scales / stored_k)) : 1;
  }
  u32 compute(int row, int column) const {
    double sum = value_of(c.d, init.at(row, column));
    for (int i = 0; i < stored_k; ++i) {
      const int k = c.sparse ? rows[std::size_t(row)].columns[std::size_t(i)] : i;
      sum += product(c, a.at(row, i), b.at(k, column)) * scale(sfa, row, i) * scale(sfb, column, i);
    }
    return word_of(c.d, sum);
  }
};

Registers accumulators(const Problem& p) {
  const bool half = p.c.d == ScalarType::f16;
  const int count = p.shape.m * p.shape.n / 32 / (half ? 2 : 1);
  return pack(count, half ? 16 : 32, 0, [&](int t, int r, int e) {
    const MmaSyncCell at = isa::mma_sync_cell(t, half ? 2 * r + e : r);
    return p.init.at(at.row, at.column);
  });
}

// Bits of b1 matrices are elements of one bit here.
int bits_of(const Case& c) { return c.a == ScalarType::b1 ? 1 : c.container; }

Registers operand_a(const Problem& p) {
  const int bits = bits_of(p.c), per = 32 / bits;
  return pack(p.shape.m * p.stored_k * bits / 1024, bits, shift_of(p.c, p.c.a), [&](int t, int r, int e) {
    const MmaSyncCell at = isa::mma_sync_a_cell(t, r, e, per, p.shape.m);
    return p.a.at(at.row, at.column);
  });
}
Registers operand_b(const Problem& p) {
  const int bits = bits_of(p.c), per = 32 / bits;
  return pack(p.shape.n * p.shape.k * bits / 1024, bits, shift_of(p.c, p.c.b), [&](int t, int r, int e) {
    const MmaSyncCell at = isa::mma_sync_b_cell(t, r, e, per);
    return p.b.at(at.row, at.column);
  });
}

// What lanes that are not chosen hold must not matter.
std::array<u32, 32> metadata(const Problem& p) {
  std::array<u32, 32> out;
  out.fill(0xFFFFFFFF);
  for (int clear = 0; clear < 2; ++clear)
    for (int row = 0; row < p.shape.m; ++row)
      for (std::size_t chunk = 0; chunk < p.rows[std::size_t(row)].nibbles.size(); ++chunk) {
        const auto at = isa::metadata_bits(p.c.container, p.stored_k, row, int(chunk), p.c.selector);
        u32& w = out[std::size_t(at.lane)];
        w = clear == 0 ? w & ~(15u << at.shift) : w | p.rows[std::size_t(row)].nibbles[chunk] << at.shift;
      }
  return out;
}

std::array<u32, 32> scales(const Problem& p, const Matrix& m, bool of_a, int byte, int thread) {
  std::array<u32, 32> out;
  out.fill(0xFFFFFFFF);
  for (int row = 0; row < m.rows; ++row)
    for (int k = 0; k < p.c.scales; ++k) {
      const auto at = of_a ? isa::mma_sync_scale_a(row, k, byte, thread) : isa::mma_sync_scale_b(row, k, byte, thread);
      u32& w = out[std::size_t(at.lane)];
      w = (w & ~(0xFFu << 8 * at.byte)) | m.at(row, k) << 8 * at.byte;
    }
  return out;
}

void add(Registers& to, const Registers& more) { to.insert(to.end(), more.begin(), more.end()); }

// In braces, of scales and their metadata, the first register counts alone.
void check(const Case& c, unsigned seed) {
  std::mt19937 random(seed);
  const Problem p(c, random);
  const Registers a = operand_a(p), b = operand_b(p), init = accumulators(p);
  const int na = int(a.size()), nb = int(b.size()), nd = int(init.size());
  Registers in = init;
  add(in, a), add(in, b);
  const bool single = c.d == ScalarType::f32;
  std::string body, d = names(single ? "%f" : "%d", 0, nd), old = names(single ? "%c" : "%r", 0, nd);
  for (int r = 0; single && r < nd; ++r) body += "mov.b32 %c" + std::to_string(r) + ", %r" + std::to_string(r) + ";\n";
  body += std::string(c.sparse ? "mma.sp::ordered_metadata" : "mma") + ".sync.aligned." + c.shape + ".row.col." +
          c.types + " " + d + ", " + names("%r", nd, na) + ", " + names("%r", nd + na, nb) + ", " + old;
  if (c.sparse) {
    const std::string metadata_register = "%r" + std::to_string(in.size());
    body +=
        ", " + (c.scales ? "{" + metadata_register + ", %r0}" : metadata_register) + ", " + std::to_string(c.selector);
    in.push_back(metadata(p));
  }
  if (c.scales) {
    const int byte_a = c.scales == 1 ? 3 : c.scales == 2 ? 2 : 0, byte_b = c.scales == 1 ? 1 : 0;
    body += ", {%r" + std::to_string(in.size()) + ", %r0}, {" + std::to_string(byte_a) + ", 1}, %r" +
            std::to_string(in.size() + 1) + ", {" + std::to_string(byte_b) + ", 3}";
    in.push_back(scales(p, p.sfa, true, byte_a, 1));
    in.push_back(scales(p, p.sfb, false, byte_b, 3));
  }
  body += ";\n";
  for (int r = 0; single && r < nd; ++r) body += "mov.b32 %d" + std::to_string(r) + ", %f" + std::to_string(r) + ";\n";
  const Registers out = run_registers(c.target, body, in, nd);
  CAPTURE(body);
  const bool half = c.d == ScalarType::f16;
  int wrong = 0;
  for (int r = 0; r < nd; ++r)
    for (int t = 0; t < 32; ++t)
      for (int e = 0; e < (half ? 2 : 1); ++e) {
        const MmaSyncCell at = isa::mma_sync_cell(t, half ? 2 * r + e : r);
        const u32 got =
            half ? out[std::size_t(r)][std::size_t(t)] >> 16 * e & 0xFFFF : out[std::size_t(r)][std::size_t(t)];
        wrong += got != p.expect.at(at.row, at.column);
      }
  CHECK(wrong == 0);
}

void check_all(const std::vector<Case>& cases) {
  unsigned seed = 1;
  for (const Case& c : cases) check(c, ++seed);
}

using S = ScalarType;

}  // namespace

TEST_CASE("mma.sync multiplies f16, bf16 and tf32 of every shape") {
  check_all({{"sm_80", "m16n8k8", "f16.f16.f16.f16", S::f16, S::f16, S::f16, 16},
             {"sm_80", "m16n8k8", "f32.f16.f16.f32", S::f16, S::f16, S::f32, 16},
             {"sm_80", "m16n8k8", "f32.bf16.bf16.f32", S::bf16, S::bf16, S::f32, 16},
             {"sm_90a", "m16n8k16", "f16.f16.f16.f16", S::f16, S::f16, S::f16, 16},
             {"sm_90a", "m16n8k16", "f32.f16.f16.f32", S::f16, S::f16, S::f32, 16},
             {"sm_100a", "m16n8k16", "f32.bf16.bf16.f32", S::bf16, S::bf16, S::f32, 16},
             {"sm_80", "m16n8k4", "f32.tf32.tf32.f32", S::tf32, S::tf32, S::f32, 32},
             {"sm_120a", "m16n8k8", "f32.tf32.tf32.f32", S::tf32, S::tf32, S::f32, 32}});
}

TEST_CASE("mma.sync multiplies bytes, nibbles and bits of every shape") {
  check_all({{"sm_80", "m8n8k16", "s32.u8.s8.s32", S::u8, S::s8, S::s32, 8},
             {"sm_80", "m16n8k16", "s32.s8.s8.s32", S::s8, S::s8, S::s32, 8},
             {"sm_90a", "m16n8k32", "satfinite.s32.s8.u8.s32", S::s8, S::u8, S::s32, 8},
             {"sm_80", "m8n8k32", "s32.u4.s4.s32", S::u4, S::s4, S::s32, 4},
             {"sm_80", "m16n8k32", "s32.s4.s4.s32", S::s4, S::s4, S::s32, 4},
             {"sm_80", "m16n8k64", "s32.s4.u4.s32", S::s4, S::u4, S::s32, 4},
             {"sm_80", "m8n8k128", "s32.b1.b1.s32.xor.popc", S::b1, S::b1, S::s32, 32},
             {"sm_80", "m16n8k128", "s32.b1.b1.s32.and.popc", S::b1, S::b1, S::s32, 32},
             {"sm_90a", "m16n8k256", "s32.b1.b1.s32.xor.popc", S::b1, S::b1, S::s32, 32}});
}

TEST_CASE("mma.sync multiplies fp8 and the narrow types of sm_120") {
  check_all({{"sm_89", "m16n8k32", "f32.e4m3.e5m2.f32", S::e4m3, S::e5m2, S::f32, 8},
             {"sm_90a", "m16n8k32", "f16.e5m2.e4m3.f16", S::e5m2, S::e4m3, S::f16, 8},
             {"sm_100a", "m16n8k16", "f32.e4m3.e4m3.f32", S::e4m3, S::e4m3, S::f32, 8},
             {"sm_120a", "m16n8k16", "f16.e4m3.e4m3.f16", S::e4m3, S::e4m3, S::f16, 8},
             {"sm_120a", "m16n8k32", "kind::f8f6f4.f32.e3m2.e2m1.f32", S::e3m2, S::e2m1, S::f32, 8},
             {"sm_120a", "m16n8k32", "kind::f8f6f4.f16.e2m1.e2m3.f16", S::e2m1, S::e2m3, S::f16, 8}});
}

TEST_CASE("mma.sync scales blocks with the bytes that {byte-id, thread-id} choose") {
  const auto scaled = [](std::string shape, std::string types, S a, S b, int container, int scales, S scale) {
    return Case{"sm_120a", std::move(shape), std::move(types), a, b, S::f32, container, false, 0, scales, scale};
  };
  check_all({scaled("m16n8k32", "kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e4m3.e2m1.f32.ue8m0", S::e4m3, S::e2m1, 8,
                    1, S::ue8m0),
             scaled("m16n8k64", "kind::mxf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0", S::e2m1, S::e2m1, 4, 2,
                    S::ue8m0),
             scaled("m16n8k64", "kind::mxf4nvf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0", S::e2m1, S::e2m1, 4,
                    2, S::ue8m0),
             scaled("m16n8k64", "kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3", S::e2m1, S::e2m1, 4,
                    4, S::ue4m3)});
}

TEST_CASE("mma.sp multiplies what the metadata of the chosen lanes selects") {
  const auto sparse = [](std::string target, std::string shape, std::string types, S a, S b, S d, int container,
                         int selector) {
    return Case{std::move(target), std::move(shape), std::move(types), a, b, d, container, true, selector};
  };
  check_all({sparse("sm_80", "m16n8k16", "f32.f16.f16.f32", S::f16, S::f16, S::f32, 16, 3),
             sparse("sm_80", "m16n8k32", "f16.f16.f16.f16", S::f16, S::f16, S::f16, 16, 1),
             sparse("sm_90a", "m16n8k32", "f32.bf16.bf16.f32", S::bf16, S::bf16, S::f32, 16, 0),
             sparse("sm_80", "m16n8k8", "f32.tf32.tf32.f32", S::tf32, S::tf32, S::f32, 32, 2),
             sparse("sm_90a", "m16n8k16", "f32.tf32.tf32.f32", S::tf32, S::tf32, S::f32, 32, 1),
             sparse("sm_80", "m16n8k32", "s32.s8.u8.s32", S::s8, S::u8, S::s32, 8, 1),
             sparse("sm_90a", "m16n8k64", "satfinite.s32.u8.s8.s32", S::u8, S::s8, S::s32, 8, 0),
             sparse("sm_80", "m16n8k64", "s32.s4.u4.s32", S::s4, S::u4, S::s32, 4, 1),
             sparse("sm_80", "m16n8k128", "s32.u4.u4.s32", S::u4, S::u4, S::s32, 4, 0),
             sparse("sm_90a", "m16n8k64", "f32.e4m3.e5m2.f32", S::e4m3, S::e5m2, S::f32, 8, 0),
             sparse("sm_120a", "m16n8k64", "kind::f8f6f4.f32.e2m1.e3m2.f32", S::e2m1, S::e3m2, S::f32, 8, 0),
             {"sm_120a", "m16n8k64", "kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e4m3.e2m3.f32.ue8m0", S::e4m3,
              S::e2m3, S::f32, 8, true, 0, 1, S::ue8m0},
             {"sm_120a", "m16n8k128", "kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3", S::e2m1,
              S::e2m1, S::f32, 4, true, 0, 4, S::ue4m3}});
}

TEST_CASE("an f16 chain of sm_80 rounds between its halves, one of sm_90 does not") {
  // Row 0: 1 + 2^-24, then -1; the first window of sm_80 keeps the 1 alone.
  const auto in = [] {
    Registers r(6, std::array<u32, 32>{});
    r[0][0] = 0x3C00 | u32(0x0001) << 16;  // A[0][0] = 1, A[0][1] = 2^-24
    r[2][0] = 0xBC00;                      // A[0][8] = -1
    for (std::size_t t = 0; t < 32; ++t) r[4][t] = r[5][t] = 0x3C003C00;
    return r;
  }();
  const std::string body =
      "mov.b32 %c0, 0f00000000;\nmma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f0, %f1, %f2, %f3}, {%r0, %r1, "
      "%r2, %r3}, {%r4, %r5}, {%c0, %c0, %c0, %c0};\nmov.b32 %d0, %f0;\n";
  CHECK(run_registers("sm_80", body, in, 1)[0][0] == 0);
  CHECK(run_registers("sm_90a", body, in, 1)[0][0] == 0x33800000);
}

TEST_CASE("fp8 of any bits is, on sm_90, what two windows of f16 and an addition make of it") {
  std::mt19937 random(11);
  const MatrixShape shape{16, 8, 32};
  for (const S type : {S::e4m3, S::e5m2}) {
    const std::string name(isa::spelling(type));
    Registers in(10);  // A: 0 to 3, B: 4 and 5, C: 6 to 9
    for (std::size_t r = 0; r < in.size(); ++r)
      for (u32& word : in[r])
        word = r < 6 ? u32(random()) : std::bit_cast<u32>(float(int(random() % 2000) - 1000) / 64);
    const auto element = [](u32 word, int e) { return word >> 8 * e & 0xFF; };
    Matrix a(shape.m, shape.k), b(shape.n, shape.k);
    for (int t = 0; t < 32; ++t)
      for (int e = 0; e < 4; ++e) {
        for (int r = 0; r < 4; ++r) {
          const MmaSyncCell at = isa::mma_sync_a_cell(t, r, e, 4, shape.m);
          a.at(at.row, at.column) = element(in[std::size_t(r)][std::size_t(t)], e);
        }
        for (int r = 0; r < 2; ++r) {
          const MmaSyncCell at = isa::mma_sync_b_cell(t, r, e, 4);
          b.at(at.column, at.row) = element(in[std::size_t(4 + r)][std::size_t(t)], e);
        }
      }
    num::WarpDotSpec spec;
    spec.sm = 90;
    spec.kind = num::MmaKind::f8f6f4;
    spec.a = spec.b = type;
    std::string body;
    for (int r = 0; r < 4; ++r) body += "mov.b32 %c" + std::to_string(r) + ", %r" + std::to_string(6 + r) + ";\n";
    body += "mma.sync.aligned.m16n8k32.row.col.f32." + name + "." + name +
            ".f32 {%f0, %f1, %f2, %f3}, {%r0, %r1, %r2, %r3}, {%r4, %r5}, {%c0, %c1, %c2, %c3};\n";
    for (int r = 0; r < 4; ++r) body += "mov.b32 %d" + std::to_string(r) + ", %f" + std::to_string(r) + ";\n";
    const Registers out = run_registers("sm_90a", body, in, 4);
    int wrong = 0;
    for (int t = 0; t < 32; ++t)
      for (int r = 0; r < 4; ++r) {
        const MmaSyncCell at = isa::mma_sync_cell(t, r);
        const auto row = [&](const Matrix& m, int i) {
          return std::span(m.words).subspan(std::size_t(i * shape.k), std::size_t(shape.k));
        };
        const u32 c = in[std::size_t(6 + r)][std::size_t(t)];
        wrong += out[std::size_t(r)][std::size_t(t)] != num::warp_dot(spec, row(a, at.row), row(b, at.column), c);
      }
    CAPTURE(name);
    CHECK(wrong == 0);
  }
}

namespace {

// Doubles of the lanes go in as pairs of registers, low word first.
void check_f64(const std::string& target, MatrixShape s) {
  std::mt19937 random(5);
  std::vector<double> a(std::size_t(s.m * s.k)), b(std::size_t(s.n * s.k)), d(std::size_t(s.m * s.n));
  for (auto* matrix : {&a, &b, &d})
    for (double& v : *matrix) v = double(int(random() % 200) - 100) / 8;
  Registers in;
  std::string body, lists[3];
  const auto add_fragment = [&](int which, const char* name, int count, auto value) {
    for (int r = 0; r < count; ++r) {
      const auto at = std::to_string(in.size());
      body += "mov.b64 %" + std::string(name) + std::to_string(r) + ", {%r" + at + ", %r" +
              std::to_string(in.size() + 1) + "};\n";
      lists[which] += (r ? ", %" : "%") + std::string(name) + std::to_string(r);
      in.resize(in.size() + 2);
      for (int t = 0; t < 32; ++t) {
        const auto bits = std::bit_cast<std::uint64_t>(value(t, r));
        in[in.size() - 2][std::size_t(t)] = u32(bits), in[in.size() - 1][std::size_t(t)] = u32(bits >> 32);
      }
    }
  };
  add_fragment(0, "A", s.m * s.k / 32, [&](int t, int r) {
    const MmaSyncCell at = isa::mma_sync_a_cell(t, r, 0, 1, s.m);
    return a[std::size_t(at.row * s.k + at.column)];
  });
  add_fragment(1, "B", s.n * s.k / 32, [&](int t, int r) {
    const MmaSyncCell at = isa::mma_sync_b_cell(t, r, 0, 1);
    return b[std::size_t(at.column * s.k + at.row)];
  });
  const int nd = s.m * s.n / 32;
  add_fragment(2, "C", nd, [&](int t, int r) {
    const MmaSyncCell at = isa::mma_sync_cell(t, r);
    return d[std::size_t(at.row * s.n + at.column)];
  });
  const std::string shape = "m" + std::to_string(s.m) + "n8k" + std::to_string(s.k);
  body = ".reg .f64 %A<8>, %B<8>, %C<8>, %D<8>;\n" + body + "mma.sync.aligned." + shape + ".row.col.f64.f64.f64.f64 " +
         names("%D", 0, nd) + ", {" + lists[0] + "}, {" + lists[1] + "}, {" + lists[2] + "};\n";
  for (int r = 0; r < nd; ++r)
    body += "mov.b64 {%d" + std::to_string(2 * r) + ", %d" + std::to_string(2 * r + 1) + "}, %D" + std::to_string(r) +
            ";\n";
  const Registers out = run_registers(target, body, in, 2 * nd);
  for (int r = 0; r < nd; ++r)
    for (int t = 0; t < 32; ++t) {
      const MmaSyncCell at = isa::mma_sync_cell(t, r);
      double sum = d[std::size_t(at.row * s.n + at.column)];
      for (int k = 0; k < s.k; ++k) sum += a[std::size_t(at.row * s.k + k)] * b[std::size_t(at.column * s.k + k)];
      const auto low = out[std::size_t(2 * r)][std::size_t(t)], high = out[std::size_t(2 * r + 1)][std::size_t(t)];
      CHECK(std::bit_cast<double>(std::uint64_t(high) << 32 | low) == sum);
    }
}

}  // namespace

TEST_CASE("mma.sync multiplies f64 of every shape") {
  check_f64("sm_80", {8, 8, 4});
  check_f64("sm_90a", {16, 8, 4});
  check_f64("sm_90a", {16, 8, 8});
  check_f64("sm_100a", {16, 8, 16});
}

TEST_CASE("metadata without a meaning and the f16 shape of sm_70 end as incomplete") {
  const auto outcome = [](const std::string& body) {
    const std::string text =
        ".version 8.8\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 out) {\n.reg .f32 "
        "%f<16>; .reg .b32 %r<8>; mov.b32 %r0, 0x44444440; mov.b32 %r1, 0;\n" +
        body + "\nret;\n}\n";
    return run_kernel(text, 32).result.outcome;
  };
  CHECK(outcome("mma.sp.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f0, %f1, %f2, %f3}, {%r1, %r1}, {%r1, %r1}, "
                "{%f0, %f1, %f2, %f3}, %r0, 0;") == sim::Outcome::incomplete);
  CHECK(outcome("mma.sync.aligned.m8n8k4.row.col.f16.f16.f16.f16 {%r1, %r2, %r3, %r4}, {%r1, %r1}, {%r1, %r1}, "
                "{%r1, %r2, %r3, %r4};") == sim::Outcome::incomplete);
}

TEST_CASE("a sparsity selector that the shape does not have ends as incomplete") {
  const auto outcome = [](int selector) {
    const std::string text =
        ".version 8.8\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 out) {\n.reg .f32 "
        "%f<16>; .reg .b32 %r<8>; mov.b32 %r0, 0x44444444; mov.b32 %r1, 0; mov.b32 %f0, 0f00000000;\n"
        "mma.sp.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32 {%f1, %f2, %f3, %f4}, {%r1, %r1, %r1, %r1}, "
        "{%r1, %r1, %r1, %r1}, {%f0, %f0, %f0, %f0}, %r0, " +
        std::to_string(selector) + ";\nret;\n}\n";
    return run_kernel(text, 32).result.outcome;
  };
  CHECK(outcome(0) == sim::Outcome::finished);
  CHECK(outcome(1) == sim::Outcome::finished);
  CHECK(outcome(2) == sim::Outcome::incomplete);
  CHECK(outcome(3) == sim::Outcome::incomplete);
}

TEST_CASE("a matrix instruction needs all lanes of its warp: warp-aligned") {
  const std::string text =
      ".version 8.8\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 out) {\n.reg .b32 %r<4>;\n"
      "mov.b32 %r0, 0; movmatrix.sync.aligned.m8n8.trans.b16 %r1, %r0;\nret;\n}\n";
  CHECK(run_kernel(text, 32).clean());
  CHECK(run_kernel(text, 24).has("warp-aligned"));
}

}  // namespace sim_mma_sync
