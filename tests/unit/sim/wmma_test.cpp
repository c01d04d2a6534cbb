// wmma.load, wmma.mma and wmma.store of every type, against plain loops over matrices of small numbers in memory.
#include "tests/unit/sim/matrix_kernel.hpp"

namespace sim_wmma {

using namespace kiln;
using namespace kiln::test;
using isa::MatrixShape;

namespace {

struct Case {
  std::string target, shape;
  ScalarType a, d;
  std::string mma_types;  // after the shape
  int a_registers, b_registers, d_registers;
  bool a_column = false, b_column = true, d_column = false;
  int padding = 0;  // elements after each row; strides are then written
};

// A matrix in memory: `bits` an element, row after row or column after column.
struct Stored {
  int rows, columns, bits, padding;
  bool by_columns;

  int stride() const { return (by_columns ? rows : columns) + padding; }
  int index(int row, int column) const { return by_columns ? column * stride() + row : row * stride() + column; }
  std::size_t bytes() const { return std::size_t((by_columns ? columns : rows) * stride() * bits / 8); }
};

void put(std::vector<std::uint8_t>& bytes, const Stored& s, int row, int column, std::uint64_t word) {
  const int bit = s.index(row, column) * s.bits;
  if (s.bits < 8)
    bytes[std::size_t(bit / 8)] |= std::uint8_t(word << bit % 8);
  else
    std::memcpy(bytes.data() + bit / 8, &word, std::size_t(s.bits / 8));
}

std::uint64_t get(const std::vector<std::uint8_t>& bytes, const Stored& s, int row, int column) {
  std::uint64_t word = 0;
  std::memcpy(&word, bytes.data() + s.index(row, column) * s.bits / 8, std::size_t(s.bits / 8));
  return word;
}

std::uint64_t word_in(ScalarType t, double v) {
  return t == ScalarType::f64 ? std::bit_cast<std::uint64_t>(v) : word_of(t, v);
}

double draw(ScalarType t, std::mt19937& random) {
  if (t == ScalarType::b1) return double(random() & 1);
  const int v = int(random() % 8);
  return isa::type_class(t) == isa::TypeClass::unsigned_integer ? v : v - 4;
}

std::string layout(bool column) { return column ? ".col" : ".row"; }

std::string text_of(const Case& c, const Stored* stored) {
  const std::string wide = c.a == ScalarType::f64 ? ".f64" : ".b32", d_class = c.d == ScalarType::f32 ? ".f32" : wide;
  const auto stride = [&](int i) { return c.padding ? ", " + std::to_string(stored[i].stride()) : std::string(); };
  const std::string a_type(isa::spelling(c.a)), d_type(isa::spelling(c.d)), shape = "." + c.shape + ".global.";
  const std::string bits = c.a == ScalarType::b1 ? ".xor.popc" : "";
  return ".version 8.8\n.target " + c.target +
         "\n.address_size 64\n.visible .entry k(.param .u64 a, .param .u64 b, .param .u64 c, .param .u64 d) {\n.reg "
         ".b64 "
         "%p<4>;\n.reg " +
         wide + " %a<8>, %b<8>; .reg " + d_class +
         " %c<8>, %d<8>;\n"
         "ld.param.u64 %p0, [a]; ld.param.u64 %p1, [b]; ld.param.u64 %p2, [c]; ld.param.u64 %p3, [d];\n"
         "wmma.load.a.sync.aligned" +
         layout(c.a_column) + shape + a_type + " " + names("%a", 0, c.a_registers) + ", [%p0]" + stride(0) +
         ";\nwmma.load.b.sync.aligned" + layout(c.b_column) + shape + a_type + " " + names("%b", 0, c.b_registers) +
         ", [%p1]" + stride(1) + ";\nwmma.load.c.sync.aligned" + layout(c.d_column) + shape + d_type + " " +
         names("%c", 0, c.d_registers) + ", [%p2]" + stride(2) + ";\nwmma.mma" + bits + ".sync.aligned" +
         layout(c.a_column) + layout(c.b_column) + "." + c.shape + "." + c.mma_types + " " +
         names("%d", 0, c.d_registers) + ", " + names("%a", 0, c.a_registers) + ", " + names("%b", 0, c.b_registers) +
         ", " + names("%c", 0, c.d_registers) + ";\nwmma.store.d.sync.aligned" + layout(c.d_column) + shape + d_type +
         " [%p3], " + names("%d", 0, c.d_registers) + stride(2) + ";\nret;\n}\n";
}

void check(const Case& c, unsigned seed) {
  std::mt19937 random(seed);
  const MatrixShape s = *isa::parse_matrix_shape(c.shape);
  const Stored stored[3] = {{s.m, s.k, isa::bits(c.a), c.padding, c.a_column},
                            {s.k, s.n, isa::bits(c.a), c.padding, c.b_column},
                            {s.m, s.n, isa::bits(c.d), c.padding, c.d_column}};
  std::vector<std::vector<double>> values(3);
  launch::Contract contract;
  const char* name[] = {"a", "b", "c"};
  for (std::size_t i = 0; i < 3; ++i) {
    const ScalarType type = i == 2 ? c.d : c.a;
    std::vector<std::uint8_t> bytes(stored[i].bytes() + 8);
    for (int row = 0; row < stored[i].rows; ++row)
      for (int column = 0; column < stored[i].columns; ++column) {
        values[i].push_back(draw(type, random));
        put(bytes, stored[i], row, column, word_in(type, values[i].back()));
      }
    contract.buffers.push_back(filled(name[i], bytes));
  }
  contract.buffers.push_back(buffer("d", stored[2].bytes()));
  launch::Launch l;
  l.block = {32, 1, 1};
  l.params = {pointer("a"), pointer("b"), pointer("c"), pointer("d")};
  contract.launches.push_back(l);
  const std::string text = text_of(c, stored);
  if (ptxas().found()) {
    const Answer said = ask_ptxas(text, *isa::parse_target(c.target));
    CHECK_MESSAGE(said.taken, text << said.error);
  }
  const Run done = run(text, contract);
  CHECK_MESSAGE(done.clean(), text << done.findings());
  const auto out = done.read<std::uint8_t>("d");
  int wrong = 0;
  for (int row = 0; row < s.m; ++row)
    for (int column = 0; column < s.n; ++column) {
      double sum = values[2][std::size_t(row * s.n + column)];
      for (int k = 0; k < s.k; ++k) {
        const double x = values[0][std::size_t(row * s.k + k)], y = values[1][std::size_t(k * s.n + column)];
        sum += c.a == ScalarType::b1 ? double(x != y) : x * y;
      }
      wrong += get(out, stored[2], row, column) != word_in(c.d, sum);
    }
  CHECK_MESSAGE(wrong == 0, text);
}

using S = ScalarType;

}  // namespace

TEST_CASE("wmma multiplies floating-point matrices of every shape, layout and stride") {
  unsigned seed = 1;
  for (const Case& c : {Case{"sm_80", "m16n16k16", S::f16, S::f32, "f32.f32", 8, 8, 8},
                        {"sm_90a", "m16n16k16", S::f16, S::f16, "f16.f16", 8, 8, 4, true, false, true, 8},
                        {"sm_80", "m8n32k16", S::f16, S::f32, "f32.f32", 8, 8, 8, false, false, false, 16},
                        {"sm_100a", "m32n8k16", S::f16, S::f16, "f16.f16", 8, 8, 4, true, true},
                        {"sm_80", "m16n16k16", S::bf16, S::f32, "f32.bf16.bf16.f32", 4, 4, 8, true},
                        {"sm_80", "m8n32k16", S::bf16, S::f32, "f32.bf16.bf16.f32", 2, 8, 8},
                        {"sm_90a", "m32n8k16", S::bf16, S::f32, "f32.bf16.bf16.f32", 8, 2, 8},
                        {"sm_80", "m16n16k8", S::tf32, S::f32, "f32.tf32.tf32.f32", 4, 4, 8, false, false, true, 4},
                        {"sm_80", "m8n8k4", S::f64, S::f64, "f64.f64.f64.f64", 1, 1, 2, true, false, false, 2}})
    check(c, ++seed);
}

TEST_CASE("wmma multiplies bytes, nibbles and bits") {
  unsigned seed = 20;
  for (const Case& c :
       {Case{"sm_80", "m16n16k16", S::s8, S::s32, "s32.s8.s8.s32", 2, 2, 8},
        {"sm_80", "m8n32k16", S::u8, S::s32, "s32.u8.u8.s32", 1, 4, 8, true, false},
        {"sm_90a", "m32n8k16", S::u8, S::s32, "s32.u8.u8.s32.satfinite", 4, 1, 8, false, true, true, 16},
        {"sm_80", "m8n8k32", S::u4, S::s32, "s32.u4.u4.s32", 1, 1, 2, false, true, false, 32},
        {"sm_80", "m8n8k32", S::s4, S::s32, "s32.s4.s4.s32", 1, 1, 2},
        {"sm_80", "m8n8k128", S::b1, S::s32, "s32.b1.b1.s32", 1, 1, 2, false, true, false, 128}})
    check(c, ++seed);
}

}  // namespace sim_wmma
