#include "harness/problem/quantisation.hpp"

#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <cstring>

#include "harness/compare/compare.hpp"
#include "harness/contract/contract_json.hpp"
#include "harness/problem/element.hpp"
#include "harness/problem/fill.hpp"
#include "harness/problem/npy.hpp"
#include "launch/operands.hpp"
#include "tests/unit/harness/buffer.hpp"
#include "tests/unit/harness/temporary.hpp"

namespace kiln::harness::quantisation_tests {
namespace {

using isa::ScalarType;
using launch::Buffer;
using launch::Contract;
using launch::Init;
using test::buffer;
using test::contains;
using test::error_of;

// One matrix A, quantised from the numbers of a file.
struct FromFile {
  TemporaryFolder folder{};
  Contract contract{};

  FromFile(ScalarType type, std::vector<std::uint64_t> stored, std::vector<double> numbers,
           launch::Quantisation q = {}) {
    Buffer a = buffer("A", type, stored);
    a.init.kind = Init::Kind::npy;
    a.init.text = "a.npy";
    if (!q.metadata.empty()) stored.back() *= 2;
    a.init.quantised = q;
    contract.buffers = {a};
    write(stored, numbers);
  }
  void write(const std::vector<std::uint64_t>& shape, const std::vector<double>& numbers) const {
    std::vector<std::uint8_t> bytes(numbers.size() * 8);
    std::memcpy(bytes.data(), numbers.data(), bytes.size());
    write_npy(folder.file("a.npy"), {"f8", shape, bytes});
  }
  Buffer& operator[](const char* name) { return *contract.find(name); }
  void fill() { harness::fill(contract, folder.path()); }
  std::uint64_t word(std::uint64_t i) { return load_element((*this)["A"].bytes, (*this)["A"].dtype, i); }
};

std::vector<double> row(std::uint64_t columns, std::vector<double> first) {
  first.resize(columns);
  return first;
}

launch::Quantisation scaled(std::uint32_t block) {
  launch::Quantisation q;
  q.scales = "SFA", q.block = block;
  return q;
}
launch::Quantisation pruned() {
  launch::Quantisation q;
  q.metadata = "E";
  return q;
}

TEST_CASE("an MX scale is the power of two that brings the largest element to the type's largest binade") {
  // amax 3: floor(log2 3) - 8 = -7 for e4m3, whose words of 384 and -64 are 0x7C and 0xE8.
  std::vector<double> numbers = row(64, {3, -0.5});
  numbers[32] = 1e-3;
  FromFile f(ScalarType::e4m3, {1, 64}, numbers, scaled(32));
  f.contract.buffers.push_back(launch::scale_buffer("SFA", ScalarType::ue8m0, 1, 2));
  f.fill();
  CHECK(f["SFA"].bytes[0] == 127 - 7);
  CHECK(f["SFA"].bytes[1] == 127 - 18);  // floor(log2 0.001) = -10
  CHECK(f.word(0) == 0x7C);
  CHECK(f.word(1) == 0xE8);
  CHECK(f["A"].exact == numbers);
}

TEST_CASE("MX elements beyond the largest saturate, and zeros have a scale of one") {
  std::vector<double> numbers = row(96, {7.9});
  numbers[32] = 8;
  FromFile f(ScalarType::e2m1, {1, 96}, numbers, scaled(32));
  f.contract.buffers.push_back(launch::scale_buffer("SFA", ScalarType::ue8m0, 1, 3));
  f.fill();
  CHECK(f["SFA"].bytes[0] == 127);
  CHECK(f.word(0) == 0x7);  // 6
  CHECK(f["SFA"].bytes[1] == 128);
  CHECK(f.word(32) == 0x6);  // 4
  CHECK(f["SFA"].bytes[2] == 127);
  CHECK(f.word(64) == 0);
}

TEST_CASE("MX scales stop at the ends of ue8m0") {
  std::vector<double> numbers = row(64, {1e-300});
  numbers[32] = 1e300;
  FromFile f(ScalarType::e4m3, {1, 64}, numbers, scaled(32));
  f.contract.buffers.push_back(launch::scale_buffer("SFA", ScalarType::ue8m0, 1, 2));
  f.fill();
  CHECK(f["SFA"].bytes[0] == 0);
  CHECK(f["SFA"].bytes[1] == 254);
  CHECK(f.word(0) == 0);
  CHECK(f.word(32) == 0x7E);
}

TEST_CASE("an nvfp4 scale is a sixth of the largest element, rounded") {
  std::vector<double> numbers = row(32, {3.3, -0.3});
  numbers[16] = 1e6;
  FromFile f(ScalarType::e2m1, {1, 32}, numbers, scaled(16));
  f.contract.buffers.push_back(launch::scale_buffer("SFA", ScalarType::ue4m3, 1, 2));
  f.fill();
  CHECK(f["SFA"].bytes[0] == 0x31);  // 0.55 becomes 1.125 / 2
  CHECK(f.word(0) == 0x7);           // 5.87
  CHECK(f.word(1) == 0x9);           // -0.533
  CHECK(f["SFA"].bytes[1] == 0x7E);  // 448 at most
  CHECK(f.word(16) == 0x7);
}

TEST_CASE("a global scale brings the largest element to 6 times 448") {
  std::vector<double> numbers = row(32, {26880});
  numbers[16] = 1e-4;
  launch::Quantisation q = scaled(16);
  q.global = "G";
  FromFile f(ScalarType::e2m1, {1, 32}, numbers, q);
  f.contract.buffers.push_back(launch::scale_buffer("SFA", ScalarType::ue4m3, 1, 2));
  f.contract.buffers.push_back(buffer("G", ScalarType::f32, {1}));
  f.fill();
  CHECK(element_value(ScalarType::f32, load_element(f["G"].bytes, ScalarType::f32, 0)) == 10);
  CHECK(f["SFA"].bytes[0] == 0x7E);
  CHECK(f.word(0) == 0x7);
  CHECK(f["SFA"].bytes[1] == 0);  // 1e-4 / 60 is nothing in ue4m3
  CHECK(f.word(16) == 0);
}

TEST_CASE("scales lie in chunks of 32 x 4 x 4, and what is past the matrix is one") {
  std::vector<double> numbers(130 * 160);
  for (std::uint64_t r = 0; r < 130; ++r)
    for (std::uint64_t b = 0; b < 5; ++b) numbers[r * 160 + b * 32] = std::ldexp(1, int((r * 7 + b * 31) % 100));
  FromFile f(ScalarType::e5m2, {130, 160}, numbers, scaled(32));
  f.contract.buffers.push_back(launch::scale_buffer("SFA", ScalarType::ue8m0, 130, 5));
  f.fill();
  const Buffer& s = f["SFA"];
  REQUIRE(s.shape == std::vector<std::uint64_t>{2, 2, 512});
  std::uint64_t wrong = 0, ones = 0;
  for (std::uint64_t r = 0; r < 256; ++r)
    for (std::uint64_t b = 0; b < 8; ++b) {
      const std::uint8_t byte = s.bytes[(r / 128 * 2 + b / 4) * 512 + r % 32 * 16 + r / 32 % 4 * 4 + b % 4];
      const bool inside = r < 130 && b < 5;
      wrong += byte != (inside ? 127 + (r * 7 + b * 31) % 100 - 15 : 127);
      ones += !inside;
    }
  CHECK(wrong == 0);
  CHECK(ones == 256 * 8 - 130 * 5);
}

TEST_CASE("without scales elements are rounded and saturate") {
  FromFile f(ScalarType::e4m3, {1, 4}, {1000, -1e9, 1.0625, 0.1});
  f.fill();
  CHECK(f["A"].bytes == std::vector<std::uint8_t>{0x7E, 0xFE, 0x38, 0x1D});  // 1.0625 is a tie, 0.1 nearest 0.1015625
}

TEST_CASE("sixteen elements of six bits take twelve bytes") {
  // 1, 0.125, -7.5, 2 in e2m3: 0x08, 0x01, 0x3F, 0x10.
  FromFile f(ScalarType::e2m3, {1, 16}, row(16, {1, 0.125, -7.5, 2}));
  f.fill();
  REQUIRE(f["A"].bytes.size() == 12);
  CHECK(f["A"].bytes[0] == (0x08 | (0x01 << 6 & 0xFF)));
  CHECK(f["A"].bytes[1] == (0x01 >> 2 | (0x3F << 4 & 0xFF)));
  CHECK(f["A"].bytes[2] == (0x3F >> 4 | 0x10 << 2));
  CHECK(f["A"].bytes[3] == 0);
}

TEST_CASE("two of four are kept by magnitude, the earlier of equals") {
  FromFile f(ScalarType::bf16, {1, 16}, row(32, {1, -4, 3, 2, 5, 5, 5, 5}), pruned());
  f.contract.buffers.push_back(launch::metadata_buffer("E", isa::MmaKind::f16, 1, 32));
  f.fill();
  CHECK(element_value(ScalarType::bf16, f.word(0)) == -4);
  CHECK(element_value(ScalarType::bf16, f.word(1)) == 3);
  CHECK(element_value(ScalarType::bf16, f.word(2)) == 5);
  // Columns 1 and 2: 0b1001; 0 and 1: 0b0100; zeros keep their first.
  CHECK(f["E"].bytes[0] == 0x49);
  CHECK(f["E"].bytes[1] == 0x44);
  CHECK(f["A"].exact == row(32, {0, -4, 3, 0, 5, 5}));
}

TEST_CASE("one of two tf32 and two pairs of four e2m1 are kept") {
  FromFile one(ScalarType::tf32, {1, 8}, row(16, {1, 2, 3, -1}), pruned());
  one.contract.buffers.push_back(launch::metadata_buffer("E", isa::MmaKind::tf32, 1, 16));
  one.fill();
  CHECK(element_value(ScalarType::tf32, one.word(0)) == 2);
  CHECK(element_value(ScalarType::tf32, one.word(1)) == 3);
  CHECK(one["E"].bytes[0] == 0x4E);
  launch::Quantisation q = scaled(32);
  q.metadata = "E";
  FromFile pairs(ScalarType::e2m1, {1, 64}, row(128, {1, 1, 3, 0, 2, 2, 0, 0}), q);
  pairs.contract.buffers.push_back(launch::scale_buffer("SFA", ScalarType::ue8m0, 1, 2));
  pairs.contract.buffers.push_back(launch::metadata_buffer("E", isa::MmaKind::mxf4, 1, 128));
  pairs.fill();
  CHECK(pairs["E"].bytes[0] == 0x49);
  CHECK(pairs["SFA"].bytes[0] == 126);  // amax 3 of what is kept: floor(log2 3) - 2
  CHECK(pairs.word(0) == 0x7);          // 3 / 0.5
  CHECK(pairs.word(2) == 0x6);
}

TEST_CASE("numbers that are not finite and files that do not fit are refused with their place") {
  std::vector<double> numbers(64, 1.0);
  numbers[35] = std::nan("");
  FromFile f(ScalarType::e4m3, {2, 32}, numbers);
  CHECK(contains(error_of([&] { f.fill(); }), "a.npy: [1, 3] is nan; buffer A is quantised from finite numbers"));
  f.write({64}, std::vector<double>(64, 1.0));
  CHECK(contains(error_of([&] { f.fill(); }), "buffer A is quantised from f2, f4 or f8 [2, 32], the file has f8 [64]"));
}

// The kernel's error is against what the buffers hold, that of quantisation against what they were made of.
TEST_CASE("errors of quantisation and of the kernel are told apart") {
  Contract c;
  for (const char* name : {"A", "B"}) {
    c.buffers.push_back(buffer(name, ScalarType::e4m3, {16, 64}));
    c.buffers.back().init.kind = Init::Kind::normal;
    c.buffers.back().init.quantised = launch::Quantisation{};
  }
  c.buffers.push_back(buffer("D", ScalarType::f32, {16, 16}));
  fill(c);
  double errors = 0, squares = 0, largest = 0;
  for (std::uint64_t i = 0; i < 256; ++i) {
    double sum = 0, exact = 0;
    for (std::uint64_t k = 0; k < 64; ++k) {
      const std::uint64_t a = i / 16 * 64 + k, b = i % 16 * 64 + k;
      sum += element_value(ScalarType::e4m3, c.buffers[0].bytes[a]) *
             element_value(ScalarType::e4m3, c.buffers[1].bytes[b]);
      exact += c.buffers[0].exact[a] * c.buffers[1].exact[b];
    }
    store_element(c.buffers[2].bytes, ScalarType::f32, i, quantise(ScalarType::f32, sum));
    errors += (sum - exact) * (sum - exact), squares += exact * exact;
    largest = std::max(largest, std::abs(sum - exact));
  }
  launch::Expectation e;
  e.output = "D", e.a = "A", e.b = "B";
  const Comparison result = compare(c, e);
  CHECK(result.pass);
  REQUIRE(result.quantisation);
  REQUIRE(result.kernel);
  CHECK(result.quantisation->largest == doctest::Approx(largest));
  CHECK(result.quantisation->relative == doctest::Approx(std::sqrt(errors / squares)));
  CHECK(result.quantisation->relative > 1e-2);
  CHECK(result.kernel->relative < 1e-6);
}

TEST_CASE("global scales and other factors leave the error of quantisation as it is") {
  Contract c;
  for (const char* name : {"A", "B"}) {
    c.buffers.push_back(buffer(name, ScalarType::e2m1, {20, 128}));
    c.buffers.back().init.kind = Init::Kind::normal;
    c.buffers.back().init.high = 1e6;
  }
  c.buffers.push_back(buffer("D", ScalarType::f32, {20, 20}));
  c.buffers.push_back(buffer("ALPHA", ScalarType::f32, {1}));
  c.find("ALPHA")->init.kind = Init::Kind::hex;
  c.find("ALPHA")->init.text = "00000040";  // 2
  launch::Quantisation q;
  q.block = 16;
  q.scales = "SFA", q.global = "GA";
  launch::quantise(c, "A", q, ScalarType::ue4m3, 4);
  q.scales = "SFB", q.global = "GB";
  launch::quantise(c, "B", q, ScalarType::ue4m3);
  CHECK(c.find("SFA")->shape == std::vector<std::uint64_t>{1, 4, 512});
  CHECK(c.find("SFB")->shape == std::vector<std::uint64_t>{1, 2, 512});
  fill(c);
  const auto number = [&](const char* name, std::uint64_t i) {
    return element_value(c.find(name)->dtype, load_element(c.find(name)->bytes, c.find(name)->dtype, i));
  };
  for (std::uint64_t i = 0; i < 400; ++i) {
    double sum = 0;
    for (std::uint64_t k = 0; k < 128; ++k) {
      const std::uint64_t row = i / 20, column = i % 20, scale = k / 64 * 512 + k / 16 % 4;
      sum += number("A", row * 128 + k) * number("SFA", scale + row * 16) * number("B", column * 128 + k) *
             number("SFB", scale + column * 16);
    }
    store_element(c.find("D")->bytes, ScalarType::f32, i,
                  quantise(ScalarType::f32, 2 * number("GA", 0) * number("GB", 0) * sum));
  }
  launch::Expectation e;
  e.output = "D", e.a = "A", e.b = "B", e.sfa = "SFA", e.sfb = "SFB", e.block = 16, e.factors = {"GA", "ALPHA", "GB"};
  const Comparison result = compare(c, e);
  CHECK(result.pass);
  CHECK(result.want != 0);
  REQUIRE(result.quantisation);
  CHECK(result.quantisation->relative > 0.05);
  CHECK(result.quantisation->relative < 0.2);  // as without a global scale; a wrong factor would be off by far more
  CHECK(result.kernel->relative < 1e-6);
  e.factors = {"GA", "ALPHA"};
  CHECK(contains(error_of([&] { compare(c, e); }), "the global scale GB, which is no factor of the gemm"));
}

TEST_CASE("what is added to a contract beside an operand has the shape that its quantisation needs") {
  Contract c;
  c.buffers = {buffer("A", ScalarType::e4m3, {300, 64})};
  c.buffers[0].init.kind = Init::Kind::normal;
  launch::Quantisation q;
  q.block = 32, q.scales = "SFA", q.metadata = "E";
  launch::quantise(c, "A", q);
  CHECK(c.find("SFA")->shape == std::vector<std::uint64_t>{3, 1, 512});
  CHECK(c.find("E")->shape == std::vector<std::uint64_t>{3, 1, 512});  // two MMAs of two columns
  fill(c);
  CHECK(error_of([&] { launch::quantise(c, "B", q); }) == "there is no matrix B to quantise in the contract");
}

const std::string head = R"({"block": [1], "buffers": {"SFA": {"dtype": "ue8m0", "shape": [1, 1, 512]},
  "E": {"dtype": "u32", "shape": [1, 1, 512]}, "G": {"dtype": "f32", "shape": [1]}, "A": )";
std::string with(const std::string& dtype, const std::string& shape, const std::string& init) {
  return head + R"({"dtype": ")" + dtype + R"(", "shape": )" + shape + R"(, "init": )" + init + "}}}";
}
std::string error_for(const std::string& json) {
  return error_of([&] { read_contract(json, "l.json"); });
}

TEST_CASE("a quantised buffer is read and written") {
  const std::string json = with(
      "e4m3", "[64, 64]", R"({"quantised": {"normal": 2.0, "seed": 3}, "scales": "SFA", "block": 32, "mma_k": 32})");
  const Contract c = read_contract(json, "l.json");
  REQUIRE(c.find("A")->init.quantised);
  CHECK(c.find("A")->init.quantised->scales == "SFA");
  CHECK(c.find("A")->init.quantised->block == 32);
  CHECK(c.find("A")->init.seed == 3);
  const std::string once = write_contract(c);
  CHECK(contains(once, R"("quantised": {"normal": 2.0, "seed": 3})"));
  CHECK(write_contract(read_contract(once, "again")) == once);
  Contract filled = c;
  fill(filled);
  CHECK(write_contract(filled) == once);
}

TEST_CASE("what cannot be quantised is refused where it stands") {
  const std::string normal = R"({"quantised": {"normal": 1.0})";
  CHECK(contains(error_for(with("e4m3", "[64, 64]", normal + R"(, "scales": "X", "block": 32})")),
                 "l.json: /buffers/A/init: buffer A: there is no buffer X"));
  CHECK(contains(error_for(with("e4m3", "[64, 64]", normal + R"(, "scales": "SFA"})")), "scales need a block"));
  CHECK(contains(error_for(with("e4m3", "[64, 64]", normal + R"(, "scales": "SFA", "block": 16})")),
                 "no MMA has ue8m0 scales for blocks of 16 of e4m3"));
  CHECK(contains(error_for(with("e4m3", "[64, 48]", normal + R"(, "scales": "SFA", "block": 32})")),
                 "a block of 32 does not divide its 48 columns"));
  CHECK(contains(error_for(with("e4m3", "[129, 64]", normal + R"(, "scales": "SFA", "block": 32})")),
                 "buffer SFA [1, 1, 512] must be at least [2, 1, 512]"));
  CHECK(contains(error_for(with("e4m3", "[64, 64]", normal + R"(, "scales": "E", "block": 32})")),
                 "scales are ue8m0 or ue4m3; got u32"));
  CHECK(contains(error_for(with("bf16", "[64, 64]", normal + R"(, "scales": "SFA", "block": 32})")),
                 "no MMA has ue8m0 scales for blocks of 32 of bf16"));
  CHECK(contains(error_for(with("e4m3", "[64, 64]", normal + R"(, "global": "G"})")), "goes with ue4m3 scales"));
  CHECK(contains(error_for(with("ue8m0", "[64, 64]", normal + "}")), "ue8m0 is no type to quantise to"));
  CHECK(
      contains(error_for(with("bf16", "[64, 64]", normal + R"(, "metadata": "SFA"})")), "metadata is u32; got ue8m0"));
  CHECK(
      contains(error_for(with("bf16", "[64, 320]", normal + R"(, "metadata": "E"})")), "must be at least [1, 5, 512]"));
  CHECK(contains(error_for(with("f32", "[64, 64]", normal + R"(, "metadata": "E"})")), "no MMA multiplies a sparse A"));
  CHECK(contains(error_for(with("bf16", "[64]", normal + R"(, "metadata": "E"})")), "belong to matrices"));
  CHECK(contains(error_for(with("bf16", "[64, 64]", R"({"quantised": {"hex": "00"}})")),
                 "/buffers/A/init/quantised: what is quantised is normal, uniform, integers or npy"));
  CHECK(contains(error_for(R"({"block": [1], "buffers": {"S": {"dtype": "ue8m0", "shape": [1, 1, 512], "init": "zeros"},
    "A": {"dtype": "e4m3", "shape": [8, 32], "init": {"quantised": {"normal": 1}, "scales": "S", "block": 32}}}})"),
                 "fills buffer S, which has an init of its own"));
  CHECK(contains(error_for(R"({"block": [1], "buffers": {"S": {"dtype": "ue8m0", "shape": [1, 1, 512]},
    "A": {"dtype": "e4m3", "shape": [8, 32], "init": {"quantised": {"normal": 1}, "scales": "S", "block": 32}},
    "B": {"dtype": "e4m3", "shape": [8, 32], "init": {"quantised": {"normal": 1}, "scales": "S", "block": 32}}}})"),
                 "buffer S is filled by more than one quantisation"));
}

TEST_CASE("a gemm names what its operands are quantised with") {
  const std::string buffers = R"({"block": [1], "buffers": {"S": {"dtype": "ue8m0", "shape": [1, 1, 512]},
    "T": {"dtype": "ue8m0", "shape": [1, 1, 512]}, "D": {"dtype": "f32", "shape": [8, 8]},
    "A": {"dtype": "e4m3", "shape": [8, 32], "init": {"quantised": {"normal": 1}, "scales": "S", "block": 32}},
    "B": {"dtype": "e4m3", "shape": [8, 32], "init": {"quantised": {"normal": 1}, "scales": "T", "block": 32}}},
    "expect": {"D": {"gemm": )";
  const std::string good = buffers + R"({"a": "A", "b": "B", "sfa": "S", "sfb": "T", "block": 32, "mma_k": 32}}}})";
  const Contract c = read_contract(good, "l.json");
  CHECK(c.expectations[0].sfb == "T");
  const std::string once = write_contract(c);
  CHECK(write_contract(read_contract(once, "again")) == once);
  CHECK(contains(error_for(buffers + R"({"a": "A", "b": "B", "sfa": "T", "sfb": "S", "block": 32}}}})"),
                 "/expect/D/gemm: buffer A is quantised with scales \"S\" in blocks of 32, the gemm has \"T\""));
  CHECK(contains(error_for(buffers + R"({"a": "A", "b": "B"}}}})"), "the gemm has \"\" in blocks of 0"));
  CHECK(contains(error_for(buffers + R"({"a": "A", "b": "B", "sfa": "S", "sfb": "T", "block": 33}}}})"),
                 "/expect/D/gemm/block: must be a whole number from 16 to 32"));
  CHECK(contains(error_for(buffers + R"({"a": "A", "b": "B", "accumulate": "bf16"}}}})"),
                 "/expect/D/gemm/accumulate: must be f32 or f16"));
}

}  // namespace
}  // namespace kiln::harness::quantisation_tests
