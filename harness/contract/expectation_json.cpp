#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <vector>

#include "harness/compare/compare.hpp"
#include "harness/compare/composed.hpp"
#include "harness/contract/contract_reader.hpp"
#include "harness/problem/attention_parts.hpp"
#include "harness/problem/gemm_problem.hpp"
#include "harness/problem/parts.hpp"

namespace kiln::harness {
namespace {

using launch::Contract;
using launch::Expectation;

constexpr std::uint64_t max_mma_k = 256, max_width = 53, max_block = std::uint64_t{1} << 31;
constexpr std::size_t max_factors = 8;

void read_accumulator(const JsonNode& node, Expectation& e) {
  e.accumulate = read_dtype(node);
  if (e.accumulate != isa::ScalarType::f32 && e.accumulate != isa::ScalarType::f16)
    node.fail("must be f32 or f16; got {}", node.shown());
}

launch::Activation read_activation(const JsonNode& node) {
  for (const auto a : {launch::Activation::relu, launch::Activation::gelu_tanh, launch::Activation::silu})
    if (node.text() == spelling(a)) return a;
  node.fail("must be relu, gelu_tanh or silu; got {}", node.shown());
}

void read_gemm(const JsonNode& node, Expectation& e, const Contract& contract) {
  node.expect_object({"a", "b", "sfa", "sfb", "block", "metadata", "factors", "accumulate", "saturate", "mma_k",
                      "width", "c", "beta", "bias", "activation", "a_transposed", "b_transposed", "groups", "lengths",
                      "sfd", "norm"});
  const auto name = [&](const char* key, std::string& out) {
    node.when(key, [&](const JsonNode& v) { out = read_buffer_name(v, contract).name; });
  };
  e.a = read_buffer_name(node.at("a"), contract).name;
  e.b = read_buffer_name(node.at("b"), contract).name;
  node.when("a_transposed", [&](const JsonNode& v) { e.a_transposed = v.truth(); });
  node.when("b_transposed", [&](const JsonNode& v) { e.b_transposed = v.truth(); });
  name("sfa", e.sfa);
  name("sfb", e.sfb);
  name("sfd", e.sfd);
  name("metadata", e.metadata);
  name("c", e.c);
  name("beta", e.beta);
  name("bias", e.bias);
  name("groups", e.groups);
  name("lengths", e.lengths);
  node.when("activation", [&](const JsonNode& v) { e.activation = read_activation(v); });
  node.when("block", [&](const JsonNode& v) {
    e.block = std::uint32_t(v.whole(16, promoted_block));
    if (e.block > 32 && e.block != promoted_block)
      v.fail("must be a whole number from 16 to 32, or {} with f32 scales; got {}", promoted_block, v.shown());
  });
  node.when("factors", [&](const JsonNode& v) {
    v.each_element(1, max_factors,
                   [&](std::size_t, const JsonNode& f) { e.factors.push_back(read_buffer_name(f, contract).name); });
  });
  node.when("accumulate", [&](const JsonNode& v) { read_accumulator(v, e); });
  node.when("saturate", [&](const JsonNode& v) { e.saturate = v.truth(); });
  node.when("mma_k", [&](const JsonNode& v) { e.mma_k = std::uint32_t(v.whole(1, max_mma_k)); });
  node.when("width", [&](const JsonNode& v) { e.width = int(v.whole(1, max_width)); });
  node.when("norm", [&](const JsonNode& v) {
    e.norm = v.number();
    if (!(e.norm > 0)) v.fail("must be above 0: what is added to the mean of squares; got {}", v.shown());
  });
  check_at(node, [&] {
    if (has_groups(e)) return check_groups(contract, e);
    const auto matrices = batch_size(contract, e);
    gemm_problem(matrices ? matrix_of_batch(contract, e, 0) : contract, e);
  });
}

void read_copy(const JsonNode& all, const JsonNode& node, Expectation& e, const Contract& contract) {
  e.kind = Expectation::Kind::copy;
  const launch::Buffer& from = read_buffer_name(node, contract);
  e.a = from.name;
  all.when("zeros_before", [&](const JsonNode& z) { e.zeros_before = z.whole(); });
  check_at(node, [&] { check_copy(from, *contract.find(e.output), e.zeros_before); });
}

launch::AttentionResult read_result(const JsonNode& node) {
  using enum launch::AttentionResult;
  for (const auto r : {o, log_sums, row_terms, dq, dk, dv})
    if (node.text() == spelling(r)) return r;
  node.fail("must be o, log_sums, row_terms, dq, dk or dv; got {}", node.shown());
}

void read_attention(const JsonNode& node, Expectation& e, const Contract& contract) {
  node.expect_object({"q", "k", "v", "scale", "causal", "window", "row_offsets", "key_offsets", "pages", "lengths",
                      "result", "o", "do", "log_sums", "row_terms"});
  e.kind = Expectation::Kind::attention;
  e.a = read_buffer_name(node.at("q"), contract).name;
  e.b = read_buffer_name(node.at("k"), contract).name;
  e.c = read_buffer_name(node.at("v"), contract).name;
  node.when("scale", [&](const JsonNode& v) {
    e.scale = v.number();
    if (e.scale == 0 || !std::isfinite(e.scale))
      v.fail("must not be 0; leave it out for 1 / sqrt(K); got {}", v.shown());
  });
  node.when("causal", [&](const JsonNode& v) { e.causal = v.truth(); });
  node.when("window", [&](const JsonNode& v) { e.window = v.whole(1); });
  const auto name = [&](const char* key, std::string& to) {
    node.when(key, [&](const JsonNode& v) { to = read_buffer_name(v, contract).name; });
  };
  name("row_offsets", e.row_offsets), name("key_offsets", e.key_offsets);
  name("pages", e.pages), name("lengths", e.lengths);
  node.when("result", [&](const JsonNode& v) { e.result = read_result(v); });
  name("o", e.o), name("do", e.d_o), name("log_sums", e.log_sums), name("row_terms", e.row_terms);
  check_at(node, [&] { check_attention(contract, e); });
}

void read_swiglu(const JsonNode& node, Expectation& e, const Contract& contract) {
  node.expect_object({"a", "gate", "up", "sfa", "sf_gate", "sf_up", "block", "mma_k"});
  e.kind = Expectation::Kind::swiglu;
  e.a = read_buffer_name(node.at("a"), contract).name;
  e.b = read_buffer_name(node.at("gate"), contract).name;
  e.c = read_buffer_name(node.at("up"), contract).name;
  const auto name = [&](const char* key, std::string& to) {
    node.when(key, [&](const JsonNode& v) { to = read_buffer_name(v, contract).name; });
  };
  name("sfa", e.sfa), name("sf_gate", e.sfb), name("sf_up", e.sfc);
  node.when("block", [&](const JsonNode& v) { e.block = std::uint32_t(v.whole(16, 32)); });
  node.when("mma_k", [&](const JsonNode& v) { e.mma_k = std::uint32_t(v.whole(1, max_mma_k)); });
  check_at(node, [&] { check_swiglu(contract, e); });
}

void read_convolution(const JsonNode& node, Expectation& e, const Contract& contract) {
  node.expect_object({"weights", "inputs", "sequence"});
  e.kind = Expectation::Kind::convolution;
  e.a = read_buffer_name(node.at("weights"), contract).name;
  e.b = read_buffer_name(node.at("inputs"), contract).name;
  e.sequence = node.at("sequence").whole();
  check_at(node, [&] { check_convolution(contract, e); });
}

void read_absmax(const JsonNode& node, Expectation& e, const Contract& contract) {
  node.expect_object({"a", "b", "block"});
  e.kind = Expectation::Kind::absmax;
  e.a = read_buffer_name(node.at("a"), contract).name;
  e.b = read_buffer_name(node.at("b"), contract).name;
  e.block = std::uint32_t(node.at("block").whole(1, max_block));
  check_at(node, [&] { check_absmax(contract, e); });
}

// The gemm itself may follow: what it has is asked when the scales are compared.
void read_scales(const JsonNode& node, Expectation& e, const Contract& contract) {
  e.kind = Expectation::Kind::scales;
  e.a = read_buffer_name(node, contract).name;
}

// What an output can be, and what reads it; `all` is the whole expectation.
struct Kind {
  const char* name;
  void (*read)(const JsonNode& all, const JsonNode& node, Expectation&, const Contract&);
};
template <void (*read)(const JsonNode&, Expectation&, const Contract&)>
constexpr void read_alone(const JsonNode&, const JsonNode& node, Expectation& e, const Contract& contract) {
  read(node, e, contract);
}
constexpr std::array kinds{
    Kind{"gemm", read_alone<read_gemm>},           Kind{"copy", read_copy},
    Kind{"attention", read_alone<read_attention>}, Kind{"swiglu", read_alone<read_swiglu>},
    Kind{"absmax", read_alone<read_absmax>},       Kind{"convolution", read_alone<read_convolution>},
    Kind{"scales_of", read_alone<read_scales>}};

// Exactly one of these keys says what the output is.
const Kind& expectation_kind(const JsonNode& node) {
  std::vector<std::string_view> names;
  for (const Kind& k : kinds) names.push_back(k.name);
  std::vector<std::string_view> keys = names;
  keys.insert(keys.end(), {"zeros_before", "rtol"});
  node.expect_object(keys);
  const auto given = [&](const Kind& k) { return node.has(k.name); };
  if (std::count_if(kinds.begin(), kinds.end(), given) != 1)
    node.fail("must have one of {}; got {}", fmt::join(names, ", "), node.shown());
  return *std::find_if(kinds.begin(), kinds.end(), given);
}

}  // namespace

const launch::Buffer& read_buffer_name(const JsonNode& node, const Contract& contract) {
  const launch::Buffer* buffer = contract.find(node.text());
  if (!buffer) node.fail("there is no buffer {}", node.shown());
  return *buffer;
}

Expectation read_expectation(const std::string& output, const JsonNode& node, const Contract& contract) {
  const Kind& kind = expectation_kind(node);
  if (!contract.find(output)) node.fail("there is no buffer \"{}\"", output);
  Expectation e;
  e.output = output;
  kind.read(node, node.at(kind.name), e, contract);
  node.when("rtol", [&](const JsonNode& v) {
    e.rtol = v.number();
    if (!(e.rtol > 0)) v.fail("must be above 0; leave it out for the derived bound; got {}", v.shown());
    if (e.kind == Expectation::Kind::copy) v.fail("a copy is compared byte for byte");
  });
  return e;
}

}  // namespace kiln::harness
