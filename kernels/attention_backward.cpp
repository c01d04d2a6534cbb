#include "kernels/attention_backward.hpp"

namespace kiln::kernels::backward {

namespace {

// Buffers of both passes with O and dO given, and an expectation of a result in `output`, which is like `like`.
launch::Expectation& expect(launch::Contract& c, launch::AttentionResult result, const char* output, const char* like) {
  launch::Buffer b = c.at(like);
  b.name = output, b.init = {};
  c.buffers.push_back(b);
  launch::Expectation e = c.expectations.front();
  e.output = output, e.result = result, e.d_o = "dO";
  c.expectations.push_back(e);
  return c.expectations.back();
}
launch::Contract backward_buffers(const Sizes& sizes) {
  const HeadSizes heads = head_sizes(sizes);
  launch::Contract c = attention_buffers(sizes.at("m"), sizes.at("n"), heads);
  launch::Buffer d_o = c.at("O");
  d_o.name = "dO";
  c.buffers.push_back(d_o);
  for (const auto& [name, seed] : {std::pair("O", 4), std::pair("dO", 5)}) {
    c.at(name).init = c.at("Q").init;
    c.at(name).init.seed = std::uint64_t(seed);
  }
  return c;
}
// What the forward pass leaves of a row, about as scores of normal numbers have it.
float usual_log_sum(std::uint64_t m, std::uint64_t n, bool causal, std::uint64_t row) {
  return std::log(float(causal ? n - m + row + 1 : n)) + 0.5f;
}
launch::Buffer& add_numbers(launch::Contract& c, const char* name, std::vector<std::uint64_t> shape,
                            std::vector<double> values) {
  launch::Buffer& b = add_workspace(c, name, isa::ScalarType::f32, 1, launch::Init::Kind::values);
  b.shape = std::move(shape), b.init.values = std::move(values);
  return b;
}

}  // namespace

launch::Contract q_buffers(const Sizes& sizes) {
  const std::uint64_t m = sizes.at("m"), n = sizes.at("n"), places = pieces(m, cta_rows) * cta_rows;
  const HeadSizes heads = head_sizes(sizes);
  launch::Contract c = backward_buffers(sizes);
  std::vector<double> log_sums;
  for (std::uint64_t h = 0; h < heads.q; ++h)
    for (std::uint64_t i = 0; i < m; ++i) log_sums.push_back(usual_log_sum(m, n, is_causal(sizes), i));
  add_numbers(c, "log_sums", {heads.q, m}, std::move(log_sums));
  const auto given_forward = [](launch::Expectation& e) { e.o = "O", e.log_sums = "log_sums"; };
  given_forward(expect(c, launch::AttentionResult::dq, "dQ", "Q"));
  given_forward(expect(c, launch::AttentionResult::row_terms, "row_terms", "log_sums"));
  c.at("row_terms").shape = {heads.q, places, terms};
  c.expectations.erase(c.expectations.begin());
  return c;
}

launch::Contract kv_buffers(const Sizes& sizes) {
  const std::uint64_t m = sizes.at("m"), n = sizes.at("n"), places = pieces(m, cta_rows) * cta_rows;
  const HeadSizes heads = head_sizes(sizes);
  launch::Contract c = backward_buffers(sizes);
  std::vector<double> of_rows;
  for (std::uint64_t i = 0; i < heads.q * places; ++i) {
    const std::uint64_t row = i % places;
    of_rows.push_back(row < m ? double(std::numbers::log2e_v<float> * usual_log_sum(m, n, is_causal(sizes), row))
                              : launch::no_row);
    of_rows.push_back(row < m ? 0.25 * (double(row % 7) - 3) : 0);
  }
  add_numbers(c, "row_terms", {heads.q, places, terms}, std::move(of_rows));
  expect(c, launch::AttentionResult::dk, "dK", "K").row_terms = "row_terms";
  expect(c, launch::AttentionResult::dv, "dV", "V").row_terms = "row_terms";
  c.expectations.erase(c.expectations.begin());
  return c;
}

}  // namespace kiln::kernels::backward
