// The kernels of the cookbook against plain arithmetic, on even and on ragged sizes and in many schedules; nothing is
// reported of any. Their synchronisation is proven.
#include <doctest/doctest.h>

#include <cmath>

#include "kernels.hpp"
#include "ptx/diag/render.hpp"
#include "verifier/explore.hpp"

namespace cookbook_test {

namespace {

void check_residual(const launch::Contract& c) {
  const Matrix a = matrix(c, "A"), b = matrix(c, "B"), addend = matrix(c, "C"), scale = matrix(c, "scale"),
               d = matrix(c, "D");
  Matrix want{{}, d.columns};
  for (std::size_t r = 0; r < scale.values.size(); ++r)
    for (std::size_t col = 0; col < d.columns; ++col) {
      double sum = addend.at(r, col);
      for (std::size_t k = 0; k < a.columns; ++k) sum += a.at(r, k) * b.at(col, k);
      want.values.push_back(sum * scale.values[r]);
    }
  CHECK(wrong(d, bf16_share, [&](std::size_t r, std::size_t col) { return want.at(r, col); }) == 0);
  CHECK(wrong(matrix(c, "sums"), 1e-3, [&](std::size_t r, std::size_t) {
          double squares = 0;
          for (std::size_t col = 0; col < d.columns; ++col) squares += want.at(r, col) * want.at(r, col);
          return squares;
        }) == 0);
}

void check_block_scaled(const launch::Contract& c) {
  const Matrix a = matrix(c, "A"), b = matrix(c, "B"), sa = matrix(c, "a_scales"), sb = matrix(c, "b_scales");
  CHECK(wrong(matrix(c, "D"), bf16_share, [&](std::size_t r, std::size_t col) {
          double sum = 0;
          for (std::size_t k = 0; k < a.columns; ++k)
            sum += a.at(r, k) * b.at(col, k) * sa.at(r, k / 128) * sb.at(col / 128, k / 128);
          return sum;
        }) == 0);
}

void check_paged_decode(const launch::Contract& c) {
  constexpr std::size_t rows = 64, page = 64, head = 128;
  const Matrix q = matrix(c, "Q"), k = matrix(c, "K"), v = matrix(c, "V"), pages = matrix(c, "pages"),
               lengths = matrix(c, "lengths"), o = matrix(c, "O");
  int bad = 0;
  for (std::size_t group = 0; group < lengths.values.size(); ++group)
    for (std::size_t r = group * rows; r < (group + 1) * rows; ++r) {
      std::vector<double> weights, sums(head);
      double total = 0;
      const auto place = [&](std::size_t key) { return std::size_t(pages.at(group, key / page)) * page + key % page; };
      for (std::size_t key = 0; key < std::size_t(lengths.values[group]); ++key) {
        double score = 0;
        for (std::size_t i = 0; i < head; ++i) score += q.at(r, i) * k.at(place(key), i);
        total += weights.emplace_back(std::exp(score / std::sqrt(double(head))));
      }
      for (std::size_t key = 0; key < weights.size(); ++key)
        for (std::size_t i = 0; i < head; ++i) sums[i] += weights[key] / total * v.at(place(key), i);
      for (std::size_t i = 0; i < head; ++i) bad += !(std::abs(o.at(r, i) - sums[i]) <= 0.02);
    }
  CHECK(bad == 0);
}

}  // namespace

TEST_CASE("residual adds, scales and sums") {
  check(
      "residual",
      {{{"m", 256}, {"n", 384}, {"k", 448}}, {{"m", 200}, {"n", 232}, {"k", 136}}, {{"m", 72}, {"n", 200}, {"k", 64}}},
      1000, check_residual);
}

TEST_CASE("block_scaled promotes every block") {
  check("block_scaled",
        {{{"m", 512}, {"n", 384}, {"k", 512}},
         {{"m", 300}, {"n", 200}, {"k", 400}, {"ctas", 4}},
         {{"m", 200}, {"n", 104}, {"k", 240}, {"ctas", 2}}},
        1000, check_block_scaled);
}

TEST_CASE("paged_decode attends to its pages") {
  check("paged_decode", {{{"batch", 3}, {"n", 320}}, {{"batch", 2}, {"n", 77}}, {{"batch", 1}, {"n", 200}}}, 1000,
        check_paged_decode);
}

TEST_CASE("the synchronisation of the larger kernels is proven for every launch, and for one") {
  for (const char* name : {"residual", "block_scaled", "paged_decode"}) {
    const Problem p = problem(name, {});
    for (const launch::Contract* launch : {static_cast<const launch::Contract*>(nullptr), &p.contract}) {
      INFO(name << (launch ? ", one launch" : ", every launch"));
      diag::Sink sink;
      verifier::check_synchronisation(p.module, sink, launch);
      INFO(diag::render_text(sink));
      CHECK(diag::exit_code(sink, true) == 0);
    }
  }
}

}  // namespace cookbook_test
