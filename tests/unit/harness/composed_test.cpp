// Attention and SwiGLU as contracts expect them, against plain loops.
#include <doctest/doctest.h>

#include <cmath>
#include <vector>

#include "harness/compare/compare.hpp"
#include "harness/compare/reference.hpp"
#include "harness/contract/contract_json.hpp"
#include "harness/problem/element.hpp"
#include "tests/unit/harness/buffer.hpp"
#include "tests/unit/harness/temporary.hpp"

namespace kiln::harness::composed_tests {
namespace {

using isa::ScalarType;
using launch::Contract;
using launch::Expectation;
using test::contains;
using test::error_of;

launch::Buffer input(const char* name, std::uint64_t rows, std::uint64_t columns, ScalarType type = ScalarType::bf16) {
  return test::normal(name, type, {rows, columns});
}

constexpr std::uint64_t m = 5, n = 40, k = 24, l = 8;

Contract attention(ScalarType type = ScalarType::bf16) {
  Contract c;
  c.buffers = {input("Q", m, k, type), input("K", n, k, type), input("V", n, l, type), input("O", m, l)};
  Expectation e;
  e.kind = Expectation::Kind::attention;
  e.output = "O", e.a = "Q", e.b = "K", e.c = "V";
  c.expectations = {e};
  return c;
}

// The softmax as a kernel might write it: in f32, without blocks. `weight_of` may get a weight wrong.
template <class WeightOf>
void run_attention(Contract& c, double scale, WeightOf weight_of) {
  const Matrix q = values(c.buffers[0]), keys = values(c.buffers[1]), v = values(c.buffers[2]);
  launch::Buffer& o = c.buffers[3];
  const Expectation& e = c.expectations[0];
  for (std::uint64_t i = 0; i < q.rows; ++i) {
    std::vector<float> sums(l);
    float total = 0;
    const std::uint64_t end = e.causal ? keys.rows - q.rows + i + 1 : keys.rows;
    for (std::uint64_t j = e.window != 0 && e.window < end ? end - e.window : 0; j < end; ++j) {
      double score = 0;
      for (std::uint64_t x = 0; x < k; ++x) score += q.at[i * k + x] * keys.at[j * k + x];
      const float weight = weight_of(j, float(std::exp(scale * score)));
      total += weight;
      const double used = element_value(c.buffers[2].dtype, quantise(c.buffers[2].dtype, double(weight)));
      for (std::uint64_t x = 0; x < l; ++x) sums[x] += float(used * v.at[j * l + x]);
    }
    for (std::uint64_t x = 0; x < l; ++x)
      store_element(o.bytes, o.dtype, i * l + x, quantise(o.dtype, double(sums[x] / total)));
  }
}

const auto as_it_is = [](std::uint64_t, float w) { return w; };

Comparison compared(const Contract& c) { return compare(c, c.expectations[0]); }

TEST_CASE("attention is the softmax of scaled scores times values, with weights rounded to the type of the values") {
  for (const ScalarType type : {ScalarType::bf16, ScalarType::f16}) {
    Contract c = attention(type);
    run_attention(c, 1 / std::sqrt(double(k)), as_it_is);
    const Comparison right = compared(c);
    CHECK(right.pass);
    CHECK(right.max_error > 0);
    CHECK(right.bound < 0.05);
  }
}

TEST_CASE("attention with another scale, a key left out, or a key counted twice is wrong") {
  Contract c = attention();
  run_attention(c, 1, as_it_is);
  CHECK_FALSE(compared(c).pass);
  c.expectations[0].scale = 1;
  CHECK(compared(c).pass);
  c.expectations[0].scale = -1;
  CHECK_FALSE(compared(c).pass);
  run_attention(c, -1, as_it_is);
  CHECK(compared(c).pass);

  c.expectations[0].scale = 0;
  const double scale = 1 / std::sqrt(double(k));
  run_attention(c, scale, [](std::uint64_t j, float w) { return j == 7 ? 0 : w; });
  CHECK_FALSE(compared(c).pass);
  run_attention(c, scale, [](std::uint64_t j, float w) { return j == n - 1 ? 2 * w : w; });
  CHECK_FALSE(compared(c).pass);
}

TEST_CASE("causal attention has each row see the keys so far, the last row all of them") {
  Contract c = attention();
  c.expectations[0].causal = true;
  const double scale = 1 / std::sqrt(double(k));
  run_attention(c, scale, as_it_is);
  CHECK(compared(c).pass);
  c.expectations[0].causal = false;
  const Comparison all = compared(c);
  CHECK_FALSE(all.pass);
  CHECK(all.worst[0] < m - 1);
  c.expectations[0].causal = true;
  run_attention(c, scale, [](std::uint64_t j, float w) { return j == n - m ? 0 : w; });  // the last that row 0 sees
  CHECK_FALSE(compared(c).pass);
}

TEST_CASE("attention of several heads is that of each head, with the head of K and V that it shares") {
  constexpr std::uint64_t heads = 4, sharing = 2;
  Contract all = attention();
  for (launch::Buffer& b : all.buffers) {
    const bool is_shared = b.name == "K" || b.name == "V";
    b = test::normal(b.name.c_str(), b.dtype, {is_shared ? heads / sharing : heads, b.shape[0], b.shape[1]});
  }
  // Each head by itself, as matrices.
  const auto run_head = [&](std::uint64_t h, std::uint64_t of_k) {
    Contract one = attention();
    for (launch::Buffer& b : one.buffers) {
      const launch::Buffer& from = all.at(b.name);
      const bool is_shared = b.name == "K" || b.name == "V";
      const auto first = from.bytes.begin() + std::ptrdiff_t((is_shared ? of_k : h) * b.size());
      b.bytes.assign(first, first + std::ptrdiff_t(b.size()));
    }
    run_attention(one, 1 / std::sqrt(double(k)), as_it_is);
    std::copy(one.at("O").bytes.begin(), one.at("O").bytes.end(),
              all.at("O").bytes.begin() + std::ptrdiff_t(h * one.at("O").size()));
  };
  for (std::uint64_t h = 0; h < heads; ++h) run_head(h, h / sharing);
  const Comparison right = compared(all);
  CHECK(right.pass);
  CHECK(right.elements == heads * m * l);
  run_head(3, 0);
  const Comparison wrong = compared(all);
  CHECK_FALSE(wrong.pass);
  CHECK(wrong.worst[0] == 3);
}

TEST_CASE("in a window a row sees the last keys of those so far, itself among them") {
  Contract c = attention();
  c.expectations[0].causal = true;
  const double scale = 1 / std::sqrt(double(k));
  for (const std::uint64_t window : {1, 7, 37, 100}) {
    CAPTURE(window);
    c.expectations[0].window = window;
    run_attention(c, scale, as_it_is);
    CHECK(compared(c).pass);
    c.expectations[0].window = window + 1;
    CHECK(compared(c).pass == (window == 100));
  }
  c.expectations[0].window = 7;
  run_attention(c, scale, [](std::uint64_t j, float w) { return j == n - 7 ? 0 : w; });  // the last row's first
  CHECK_FALSE(compared(c).pass);
}

// Rows `first` to `end` of a buffer, whatever its other extents are.
launch::Buffer rows_of(const launch::Buffer& all, std::uint64_t first, std::uint64_t end) {
  launch::Buffer out = all;
  const std::uint64_t row = all.shape.back() * 2;
  out.shape = {end - first, all.shape.back()};
  out.bytes.assign(all.bytes.begin() + std::ptrdiff_t(first * row), all.bytes.begin() + std::ptrdiff_t(end * row));
  return out;
}
void put_rows(launch::Buffer& all, std::uint64_t first, const launch::Buffer& rows) {
  const std::uint64_t row = all.shape.back() * 2;
  std::copy(rows.bytes.begin(), rows.bytes.end(), all.bytes.begin() + std::ptrdiff_t(first * row));
}
launch::Buffer numbers(const char* name, std::vector<std::uint64_t> shape, const std::vector<std::uint64_t>& values) {
  launch::Buffer b{name, ScalarType::u32, std::move(shape)};
  b.bytes.resize(b.size());
  for (std::uint64_t i = 0; i < values.size(); ++i) store_element(b.bytes, b.dtype, i, values[i]);
  return b;
}

TEST_CASE("offsets cut rows and keys into sequences, of which each is attention by itself") {
  Contract all = attention();
  for (launch::Buffer& b : all.buffers) b = test::normal(b.name.c_str(), b.dtype, {2, b.shape[0], b.shape[1]});
  all.buffers.push_back(numbers("rows", {4}, {0, 2, 2, m}));
  all.buffers.push_back(numbers("keys", {4}, {0, 15, 16, n}));
  all.expectations[0].row_offsets = "rows", all.expectations[0].key_offsets = "keys";
  const auto run_part = [&](std::uint64_t head, std::uint64_t row, std::uint64_t rows_end, std::uint64_t key,
                            std::uint64_t keys_end) {
    Contract one = attention();
    one.expectations[0].causal = all.expectations[0].causal;
    const std::uint64_t q = head * m, at = head * n;
    one.buffers = {rows_of(all.at("Q"), q + row, q + rows_end), rows_of(all.at("K"), at + key, at + keys_end),
                   rows_of(all.at("V"), at + key, at + keys_end), rows_of(all.at("O"), q + row, q + rows_end)};
    run_attention(one, 1 / std::sqrt(double(k)), as_it_is);
    put_rows(all.at("O"), q + row, one.at("O"));
  };
  for (const bool causal : {false, true}) {
    all.expectations[0].causal = causal;
    for (std::uint64_t head = 0; head < 2; ++head) run_part(head, 0, 2, 0, 15), run_part(head, 2, m, 16, n);
    CHECK(compared(all).pass);
    run_part(1, 2, m, 15, n);  // a key of the sequence before
    const Comparison wrong = compared(all);
    CHECK_FALSE(wrong.pass);
    CHECK(wrong.worst[0] == 1);
    CHECK(wrong.worst[1] >= 2);
  }
  all.at("keys") = numbers("keys", {4}, {0, 15, 16, n - 1});
  CHECK(contains(error_of([&] { compared(all); }), "offsets go from 0 to 40 and never down"));
  all.at("keys") = numbers("keys", {4}, {0, 15, n - 2, n});
  CHECK(error_of([&] { compared(all); }) == "sequence 2 has 3 rows and 2 keys: each row must see one");
}

TEST_CASE("pages have the keys of a sequence in the order of its table, as many as its length says") {
  constexpr std::uint64_t page = 16, heads = 2, pages = 5;
  Contract all = attention();
  for (launch::Buffer& b : all.buffers) {
    const bool is_paged = b.name == "K" || b.name == "V";
    b = is_paged ? test::normal(b.name.c_str(), b.dtype, {pages, page, heads, b.shape[1]})
                 : test::normal(b.name.c_str(), b.dtype, {2, 2 * heads, b.shape[1]});
  }
  all.buffers.push_back(numbers("table", {2, 3}, {4, 0, 2, 3, 1, 0}));
  all.buffers.push_back(numbers("lengths", {2}, {33, 5}));
  all.expectations[0].pages = "table", all.expectations[0].lengths = "lengths";
  const std::vector<std::vector<std::uint64_t>> tables{{4, 0, 2}, {3, 1, 0}};
  const auto run_row = [&](std::uint64_t sequence, std::uint64_t head, std::uint64_t keys) {
    Contract one = attention();
    one.at("K").shape[0] = one.at("V").shape[0] = keys;
    for (const char* name : {"K", "V"}) {
      launch::Buffer& b = one.at(name);
      b.bytes.resize(b.size());
      for (std::uint64_t j = 0; j < keys; ++j) {
        const std::uint64_t row = (tables[sequence][j / page] * page + j % page) * heads + head / 2;
        put_rows(b, j, rows_of(all.at(name), row, row + 1));
      }
    }
    const std::uint64_t row = sequence * 2 * heads + head;
    one.at("Q") = rows_of(all.at("Q"), row, row + 1), one.at("O") = rows_of(all.at("O"), row, row + 1);
    run_attention(one, 1 / std::sqrt(double(k)), as_it_is);
    put_rows(all.at("O"), row, one.at("O"));
  };
  for (std::uint64_t head = 0; head < 2 * heads; ++head) run_row(0, head, 33), run_row(1, head, 5);
  const Comparison right = compared(all);
  CHECK(right.pass);
  CHECK(right.elements == 2 * 2 * heads * l);
  run_row(1, 3, 6);
  const Comparison wrong = compared(all);
  CHECK_FALSE(wrong.pass);
  CHECK(wrong.worst[0] == 1);
  CHECK(wrong.worst[1] == 3);
  all.at("lengths") = numbers("lengths", {2}, {49, 5});
  CHECK(contains(error_of([&] { compared(all); }), "sequence 0 has 49 keys; must be in [1, 48]"));
  all.at("lengths") = numbers("lengths", {2}, {33, 5});
  all.at("table") = numbers("table", {2, 3}, {4, 0, 5, 3, 1, 0});
  CHECK(contains(error_of([&] { compared(all); }), "sequence 0 has page 5; K has 5"));
}

TEST_CASE("attention with scores too large for f32 is bounded by the values themselves") {
  Contract c = attention();
  c.expectations[0].scale = 1e8;
  launch::Buffer& o = c.buffers[3];
  for (std::uint64_t i = 0; i < m * l; ++i) store_element(o.bytes, o.dtype, i, quantise(o.dtype, 0));
  CHECK(compared(c).pass);
  store_element(o.bytes, o.dtype, 3, quantise(o.dtype, 20));
  CHECK(compared(c).wrong == 1);
}

Contract swiglu(float error) {
  Contract c;
  c.buffers = {input("A", m, k), input("G", n, k), input("U", n, k), input("D", m, n, ScalarType::f32)};
  const Matrix a = values(c.buffers[0]), g = values(c.buffers[1]), u = values(c.buffers[2]);
  for (std::uint64_t i = 0; i < m * n; ++i) {
    double gate = 0, up = 0;
    for (std::uint64_t x = 0; x < k; ++x) {
      gate += a.at[i / n * k + x] * g.at[i % n * k + x];
      up += a.at[i / n * k + x] * u.at[i % n * k + x];
    }
    const float exponential = std::exp2(float(gate) * -1.44269504f);
    const float d = float(gate) / (1 + exponential) * float(up) * (1 + error);
    store_element(c.buffers[3].bytes, ScalarType::f32, i, quantise(ScalarType::f32, double(d)));
  }
  Expectation e;
  e.kind = Expectation::Kind::swiglu;
  e.output = "D", e.a = "A", e.b = "G", e.c = "U";
  c.expectations = {e};
  return c;
}

TEST_CASE("SwiGLU is silu of the first product times the second, to a few units of f32") {
  CHECK(compared(swiglu(0)).pass);
  CHECK_FALSE(compared(swiglu(1e-3f)).pass);
  Contract other = swiglu(0);
  std::swap(other.expectations[0].b, other.expectations[0].c);
  CHECK_FALSE(compared(other).pass);
}

constexpr std::uint32_t block = 16;

// The greatest magnitudes of blocks of 16 columns, the last of which has 8; one of them off by a part of itself.
Contract absmax(double error) {
  Contract c;
  c.buffers = {input("A", m, k), input("B", n, k), input("S", m, (n + block - 1) / block, ScalarType::f32)};
  const Matrix a = values(c.buffers[0]), b = values(c.buffers[1]);
  std::vector<double> greatest(c.buffers[2].elements());
  for (std::uint64_t i = 0; i < m * n; ++i) {
    double sum = 0;
    for (std::uint64_t x = 0; x < k; ++x) sum += a.at[i / n * k + x] * b.at[i % n * k + x];
    double& most = greatest[i / n * c.buffers[2].shape[1] + i % n / block];
    most = std::max(most, std::abs(sum));
  }
  greatest.back() *= 1 + error;
  for (std::uint64_t i = 0; i < greatest.size(); ++i)
    store_element(c.buffers[2].bytes, ScalarType::f32, i, quantise(ScalarType::f32, greatest[i]));
  Expectation e;
  e.kind = Expectation::Kind::absmax;
  e.output = "S", e.a = "A", e.b = "B", e.block = block;
  c.expectations = {e};
  return c;
}

TEST_CASE("absmax is the greatest magnitude of each block of columns") {
  CHECK(compared(absmax(0)).pass);
  const Comparison wrong = compared(absmax(1e-3));
  CHECK(wrong.wrong == 1);
  CHECK(wrong.worst == std::vector<std::uint64_t>{m - 1, 2});
  Contract other = absmax(0);
  other.buffers[2].shape[1] = 2;
  CHECK(error_of([&] { compared(other); }) ==
        "buffer S: must be floats [5, 3], one for each 16 columns; it is f32 [5, 2]");
}

TEST_CASE("rtol replaces the derived bounds") {
  Contract c = swiglu(1e-3f);
  c.expectations[0].rtol = 1e-2;
  CHECK(compared(c).pass);
  c.expectations[0].rtol = 1e-5;
  CHECK_FALSE(compared(c).pass);
}

std::string contract_with(const std::string& expectation) {
  return R"({"block": [1], "buffers": {"Q": {"dtype": "bf16", "shape": [4, 8]}, "K": {"dtype": "bf16", "shape": [6, 8]},
             "V": {"dtype": "bf16", "shape": [6, 3]}, "F": {"dtype": "bf16", "shape": [4, 3]},
             "W": {"dtype": "f32", "shape": [6, 3]},
             "O": {"dtype": "bf16", "shape": [4, 3]}, "D": {"dtype": "f32", "shape": [4, 6]},
             "Q3": {"dtype": "bf16", "shape": [4, 4, 8]}, "K3": {"dtype": "bf16", "shape": [3, 6, 8]},
             "O3": {"dtype": "bf16", "shape": [4, 4, 8]}, "K4": {"dtype": "bf16", "shape": [6, 16, 2, 8]},
             "N": {"dtype": "u32", "shape": [4]}, "P": {"dtype": "u32", "shape": [4, 2]}}, "expect": )" +
         expectation + "}";
}
Contract read(const std::string& expectation) { return read_contract(contract_with(expectation), "l.json"); }
std::string error_for(const std::string& expectation) {
  return error_of([&] { read(expectation); });
}

TEST_CASE("attention, swiglu and absmax are read, and written as they were read") {
  const Contract a = read(R"({"O": {"attention": {"q": "Q", "k": "K", "v": "V", "scale": 0.5}}})");
  CHECK(a.expectations[0].kind == Expectation::Kind::attention);
  CHECK(a.expectations[0].c == "V");
  CHECK(a.expectations[0].scale == 0.5);
  CHECK(contains(write_contract(a), R"("attention": {"q": "Q", "k": "K", "v": "V", "scale": 0.5})"));
  const Contract causal = read(R"({"O": {"attention": {"q": "Q", "k": "K", "v": "V", "causal": true}}})");
  CHECK(causal.expectations[0].causal);
  CHECK(contains(write_contract(causal), R"("attention": {"q": "Q", "k": "K", "v": "V", "causal": true})"));
  for (const char* more : {R"("causal": true, "window": 3)", R"("row_offsets": "N", "key_offsets": "N")"}) {
    const std::string text = R"("attention": {"q": "Q", "k": "K", "v": "V", )" + std::string(more) + "}";
    CHECK(contains(write_contract(read(R"({"O": {)" + text + "}}")), text));
  }
  const std::string paged = R"("attention": {"q": "Q3", "k": "K4", "v": "K4", "pages": "P", "lengths": "N"})";
  CHECK(contains(write_contract(read(R"({"O3": {)" + paged + "}}")), paged));
  const Contract plain = read(R"({"O": {"attention": {"q": "Q", "k": "K", "v": "V"}}})");
  CHECK(plain.expectations[0].scale == 0);
  CHECK(contains(write_contract(plain), R"("attention": {"q": "Q", "k": "K", "v": "V"})"));
  const Contract s = read(R"({"D": {"swiglu": {"a": "Q", "gate": "K", "up": "K"}}})");
  CHECK(s.expectations[0].kind == Expectation::Kind::swiglu);
  CHECK(contains(write_contract(s), R"("swiglu": {"a": "Q", "gate": "K", "up": "K"})"));
  const Contract m = read(R"({"D": {"absmax": {"a": "Q", "b": "K", "block": 1}}})");
  CHECK(m.expectations[0].kind == Expectation::Kind::absmax);
  CHECK(m.expectations[0].block == 1);
  CHECK(contains(write_contract(m), R"("absmax": {"a": "Q", "b": "K", "block": 1})"));
}

TEST_CASE("what does not fit attention, swiglu or absmax is refused") {
  const auto attention_of = [](const std::string& inside) {
    return error_for(R"({"O": {"attention": )" + inside + "}}");
  };
  CHECK(contains(attention_of(R"({"q": "Q", "k": "K"})"), "/expect/O/attention"));
  CHECK(contains(attention_of(R"({"q": "Q", "k": "K", "v": "V", "scale": 0})"),
                 "/expect/O/attention/scale: must not be 0"));
  CHECK(contains(attention_of(R"({"q": "Q", "k": "K", "v": "V", "mask": 1})"), "mask"));
  CHECK(contains(attention_of(R"({"q": "Q", "k": "K", "v": "V", "causal": 1})"),
                 "/expect/O/attention/causal: must be true or false"));
  CHECK(contains(attention_of(R"({"q": "K", "k": "Q", "v": "F", "causal": true})"), "no more rows than keys"));
  CHECK(contains(attention_of(R"({"q": "K", "k": "Q", "v": "V"})"), "Q has 4 keys, V has 6"));
  CHECK(contains(attention_of(R"({"q": "Q", "k": "V", "v": "V"})"), "Q has rows of 8, V has rows of 3"));
  CHECK(contains(attention_of(R"({"q": "Q", "k": "K", "v": "W"})"), "attention is of f16 or bf16"));
  CHECK(contains(attention_of(R"({"q": "Q", "k": "K", "v": "K"})"), "O must be 4 x 8; it is 4 x 3"));
  CHECK(contains(attention_of(R"({"q": "Q3", "k": "K", "v": "V"})"), "Q3 has 3 extents, K has 2"));
  CHECK(contains(error_for(R"({"O3": {"attention": {"q": "Q3", "k": "K3", "v": "K3"}}})"),
                 "as many heads of Q3 must share each of K3"));
  CHECK(contains(error_for(R"({"O3": {"attention": {"q": "K3", "k": "K3", "v": "K3"}}})"),
                 "O3 must be 3 x 6 x 8; it is 4 x 4 x 8"));
  CHECK(contains(attention_of(R"({"q": "Q", "k": "K", "v": "V", "window": 3})"), "a window is one of causal"));
  CHECK(contains(attention_of(R"({"q": "Q", "k": "K", "v": "V", "row_offsets": "N"})"), "are given together"));
  CHECK(contains(attention_of(R"({"q": "Q", "k": "K", "v": "V", "row_offsets": "N", "key_offsets": "P"})"),
                 "buffer P: offsets are u32, [4]; it is [4, 2]"));
  CHECK(contains(attention_of(R"({"q": "Q", "k": "K", "v": "V", "pages": "P"})"), "are given together"));
  CHECK(contains(attention_of(R"({"q": "Q", "k": "K", "v": "V", "pages": "P", "lengths": "N"})"),
                 "attention of pages has Q and O of three extents, K and V of four"));
  CHECK(contains(error_for(R"({"O3": {"attention": {"q": "Q3", "k": "K4", "v": "K4", "pages": "P", "lengths": "P"}}})"),
                 "buffer P: lengths are u32, [4]"));
  CHECK(contains(error_for(R"({"D": {"swiglu": {"a": "Q", "gate": "K", "up": "Q"}}})"), "D must be 4 x 4"));
  CHECK(contains(error_for(R"({"D": {"swiglu": {"a": "Q", "gate": "K"}}})"), "/expect/D/swiglu"));
  CHECK(contains(error_for(R"({"D": {"copy": "D", "swiglu": {"a": "Q", "gate": "K", "up": "K"}}})"),
                 "must have one of gemm, copy, attention, swiglu, absmax, convolution"));
  CHECK(contains(error_for(R"({"D": {"absmax": {"a": "Q", "b": "K", "block": 0}}})"), "/expect/D/absmax/block"));
  CHECK(contains(error_for(R"({"D": {"absmax": {"a": "Q", "b": "V", "block": 1}}})"), "K = 8"));
}

}  // namespace
}  // namespace kiln::harness::composed_tests
