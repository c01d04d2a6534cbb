// The smaller kernels of the cookbook, as in cookbook_test.cpp: 1,050 schedules in all. And what holds for every kernel
// of the table: ptxas assembles it without spills.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <sstream>

#include "dsl/entry.hpp"
#include "harness/ptxas/ptxas.hpp"
#include "kernels.hpp"
#include "ptx/diag/render.hpp"
#include "ptx/isa/scales.hpp"
#include "tests/skip.hpp"
#include "verifier/explore.hpp"

namespace cookbook_test {

namespace {

/// A kernel's result does not depend on the order of its threads: what is wanted is computed once for each problem.
class Wanted {
 public:
  using Compute = std::function<double(std::size_t, std::size_t)>;
  const std::vector<double>& of(const launch::Contract& c, std::size_t rows, std::size_t columns, const Compute& f) {
    const std::string key =
        std::to_string(rows) + "x" + std::to_string(columns) + "x" + std::to_string(c.buffers[0].bytes.size());
    std::vector<double>& values = all_[key];
    for (std::size_t i = values.size(); i < rows * columns; ++i) values.push_back(f(i / columns, i % columns));
    return values;
  }

 private:
  std::map<std::string, std::vector<double>> all_;
};

/// Compares a result of two dimensions with `f`.
std::function<void(const launch::Contract&)> is(const char* result, double share,
                                                std::function<Wanted::Compute(const launch::Contract&)> of_problem) {
  return [=, wanted = Wanted()](const launch::Contract& c) mutable {
    const Matrix got = matrix(c, result);
    const std::size_t rows = got.values.size() / got.columns;
    const std::vector<double>& want = wanted.of(c, rows, got.columns, of_problem(c));
    CHECK(wrong(got, share, [&](std::size_t r, std::size_t col) { return want[r * got.columns + col]; }) == 0);
  };
}

std::string text_of(const std::string& file) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

double dot(const Matrix& a, std::size_t r, const Matrix& b, std::size_t col) {
  double sum = 0;
  for (std::size_t k = 0; k < a.columns; ++k) sum += a.at(r, k) * b.at(col, k);
  return sum;
}

}  // namespace

TEST_CASE("bias_gelu adds a number for each column and applies gelu") {
  check("bias_gelu", {{}, {{"m", 200}, {"n", 136}, {"k", 72}}, {{"m", 40}, {"n", 72}, {"k", 136}}}, 150,
        is("D", bf16_share, [](const launch::Contract& c) {
          return [a = matrix(c, "A"), b = matrix(c, "B"), bias = matrix(c, "bias")](std::size_t r, std::size_t col) {
            const double x = dot(a, r, b, col) + bias.values[col];
            return x / 2 * (1 + std::tanh(std::sqrt(2 / 3.14159265358979) * (x + 0.044715 * x * x * x)));
          };
        }));
}

TEST_CASE("pair multiplies by pairs, which take over tiles") {
  check("pair", {{}, {{"m", 300}, {"n", 520}, {"k", 136}}, {{"m", 264}, {"n", 72}, {"k", 64}}}, 150,
        is("D", bf16_share, [](const launch::Contract& c) {
          return [a = matrix(c, "A"), b = matrix(c, "B")](std::size_t r, std::size_t col) { return dot(a, r, b, col); };
        }));
}

TEST_CASE("mxfp8 multiplies what scales of 32 elements scale") {
  check("mxfp8", {{}, {{"m", 200}, {"n", 136}, {"k", 160}}, {{"m", 40}, {"n", 72}, {"k", 288}}}, 150,
        is("D", bf16_share, [](const launch::Contract& c) {
          const auto scales = [&](const char* name) {
            const launch::Buffer& b = *c.find(name);
            return [bytes = b.bytes, chunks = b.shape[1]](std::size_t r, std::size_t k) {
              return std::exp2(double(bytes[isa::scale_index(r, k / 32, chunks)]) - 127);
            };
          };
          return [a = matrix(c, "A"), b = matrix(c, "B"), sa = scales("SFA"), sb = scales("SFB")](std::size_t r,
                                                                                                  std::size_t col) {
            double sum = 0;
            for (std::size_t k = 0; k < a.columns; ++k) sum += a.at(r, k) * sa(r, k) * b.at(col, k) * sb(col, k);
            return sum;
          };
        }));
}

TEST_CASE("rms_norm divides rows by their root mean square") {
  check("rms_norm", {{}, {{"m", 3}, {"n", 1032}}, {{"m", 2}, {"n", 200}}}, 150,
        is("Y", bf16_share, [](const launch::Contract& c) {
          return [x = matrix(c, "X"), weight = matrix(c, "weight")](std::size_t r, std::size_t col) {
            double squares = 0;
            for (std::size_t i = 0; i < x.columns; ++i) squares += x.at(r, i) * x.at(r, i);
            return x.at(r, col) * weight.values[col] / std::sqrt(squares / double(x.columns) + 1e-5);
          };
        }));
}

TEST_CASE("softmax is one over each row") {
  check("softmax", {{}, {{"m", 130}, {"n", 200}}, {{"m", 20}, {"n", 136}}}, 150,
        is("Y", 1e-3, [](const launch::Contract& c) {
          return [x = matrix(c, "X")](std::size_t r, std::size_t col) {
            double sum = 0;
            for (std::size_t i = 0; i < x.columns; ++i) sum += std::exp(x.at(r, i));
            return std::exp(x.at(r, col)) / sum;
          };
        }));
}

TEST_CASE("argmax finds the first of the greatest") {
  check("argmax", {{}, {{"m", 3}, {"n", 516}}, {{"m", 2}, {"n", 100}}}, 150,
        is("best", 0, [](const launch::Contract& c) {
          return [x = matrix(c, "X")](std::size_t r, std::size_t) {
            const auto row = x.values.begin() + std::ptrdiff_t(r * x.columns);
            return double(std::max_element(row, row + std::ptrdiff_t(x.columns)) - row);
          };
        }));
}

TEST_CASE("gather picks rows") {
  check("gather", {{}, {{"m", 130}, {"n", 72}, {"rows", 77}}, {{"m", 6}, {"n", 40}, {"rows", 5}}}, 150,
        is("Y", 0, [](const launch::Contract& c) {
          return [x = matrix(c, "X"), index = matrix(c, "index")](std::size_t r, std::size_t col) {
            return x.at(std::size_t(index.values[r]), col);
          };
        }));
}

TEST_CASE("every kernel of the cookbook is assembled, without spills") {
  const harness::Ptxas ptxas = harness::find_ptxas();
  if (!ptxas.found()) return test::skip(ptxas.missing);
  for (const dsl::Entry& e : dsl::kernel_table()) {
    INFO(std::string(e.name));
    diag::Sink sink;
    const harness::Assembly a = harness::assemble(ptxas, problem(e.name, {}).module.source, e.targets[0], sink);
    INFO(diag::render_text(sink));
    REQUIRE(a.status == harness::Assembly::Status::assembled);
    for (const harness::EntryResources& entry : a.entries) {
      CHECK_FALSE(entry.spills());
      if (e.name == "block_scaled") CHECK(entry.registers <= 168);  // of eight warps that add, each half of the columns
    }
  }
}

TEST_CASE("the page of the cookbook says how long each kernel is, and none is written with bare words") {
  const std::string folder = std::string(KILN_SOURCE_DIR) + "/examples/cookbook/", page = text_of(folder + "README.md");
  for (const dsl::Entry& e : dsl::kernel_table()) {
    const std::string name(e.name), source = text_of(folder + name + ".cpp");
    INFO(name);
    const std::size_t first = source.find("\nKernel " + name + "("), last = source.find("\n}\n", first);
    REQUIRE(last != std::string::npos);
    const auto lines =
        std::count(source.begin() + std::ptrdiff_t(first), source.begin() + std::ptrdiff_t(last) + 2, '\n');
    CHECK(page.find("\n| `" + name + ".cpp` | " + std::to_string(lines) + " |") != std::string::npos);
    for (const char* bare : {"recorder()", "quarter(", "fence_", "ptx(", "ptx<"})
      CHECK_MESSAGE(source.find(bare) == std::string::npos, bare);
  }
}

TEST_CASE("the synchronisation of the smaller kernels is proven") {
  for (const char* name : {"bias_gelu", "pair", "mxfp8", "rms_norm", "softmax", "argmax", "gather"}) {
    INFO(name);
    const Problem p = problem(name, {});
    diag::Sink sink;
    verifier::check_synchronisation(p.module, sink, nullptr);
    INFO(diag::render_text(sink));
    CHECK(diag::exit_code(sink, true) == 0);
  }
}

}  // namespace cookbook_test
