// What the pages show: the file of docs/first-kernel.md does what the page says, every snippet of the others is
// verified, runs and is proven or not as it says, and docs/accumulators.md has the tables of the code.
#include <doctest/doctest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "emit/emit.hpp"
#include "harness/problem/fill.hpp"
#include "ptx/diag/render.hpp"
#include "ptx/num/format.hpp"
#include "ptx/parse/parse.hpp"
#include "sim/simulate.hpp"
#include "tests/pages/snippets.hpp"
#include "verifier/explore.hpp"
#include "verifier/verify.hpp"

namespace pages_test {

using namespace kiln;

namespace {

ir::Module parsed(const dsl::Kernel& kernel) {
  diag::Sink sink;
  const auto verified = verifier::verify(kernel.module, sink);
  INFO(diag::render_text(sink));
  REQUIRE(verified);
  REQUIRE(sink.all().empty());
  return parse::parse(std::make_shared<const diag::Source>("kernel.ptx", emit::emit(*verified)), sink);
}

void run(const ir::Module& module, launch::Contract& c) {
  harness::fill(c);
  diag::Sink sink;
  const sim::Result result = sim::simulate(module, c, {}, sink);
  INFO(diag::render_text(sink));
  REQUIRE(result.outcome == sim::Outcome::finished);
  REQUIRE(sink.all().empty());
}

// A launch of one CTA: tensors of 512 x 512, words that are 3, and 3 for a number.
launch::Contract some_problem(const dsl::Kernel& kernel) {
  launch::Contract c;
  std::vector<dsl::NamedArgument> arguments;
  for (const dsl::ParameterInfo& p : kernel.parameters) {
    launch::Buffer b;
    b.name = p.name;
    b.init.kind = launch::Init::Kind::values;
    if (p.is_tensor_map) {
      b.dtype = p.type;
      b.shape = {512, 512};
      b.init.kind = launch::Init::Kind::normal;
      arguments.emplace_back(p.name, dsl::GlobalTensor{p.name, 512, 512});
    } else if (p.is_pointer) {
      b.dtype = isa::ScalarType::u32;
      b.shape = {1 << 14};
      b.init.values.assign(1 << 14, 3);
      arguments.emplace_back(p.name, p.name);
    } else {
      arguments.emplace_back(p.name, std::uint64_t(3));
      continue;
    }
    c.buffers.push_back(b);
  }
  dsl::launch_kernel(c, kernel, {1, 1, 1}, std::move(arguments));
  return c;
}

std::string file(const std::string& name) {
  std::ostringstream text;
  text << std::ifstream(std::string(KILN_SOURCE_DIR) + "/" + name).rdbuf();
  return text.str();
}

// The row of the table for one MMA.
std::string accumulator_row(const std::string& what, int m, isa::CtaGroup group, bool ws, bool sparse) {
  const isa::DataPath path = isa::data_path(m, group, sparse, ws);
  std::string shape = "`32x32b`", lanes = "128", columns = "N";
  std::string holds = "row r: all N columns";
  switch (dsl::sums_layout(path)) {
    case dsl::SumsLayout::rows: break;
    case dsl::SumsLayout::half_of_lanes:
      shape = "`16x32bx2`";
      lanes = "64: 0-15, 32-47, 64-79, 96-111";
      holds = "`row_of(acc)`: N / 2 columns from `column_of(acc)` on";
      break;
    case dsl::SumsLayout::column_halves:
      columns = "N / 2";
      holds = "row r % 64: N / 2 columns, the first half where r < 64";
      break;
    case dsl::SumsLayout::column_quarters:
      columns = "N / 4";
      holds = "row r % 32: N / 4 columns, quarter r / 32";
      break;
  }
  CHECK(isa::accumulator_columns(path, 128) == (columns == "N" ? 128 : columns == "N / 2" ? 64 : 32));
  return "| " + what + " | " + "ABCDEFG"[int(path)] + " | " + lanes + " | " + columns + " | " + shape + " | " + holds +
         " |\n";
}

}  // namespace

TEST_CASE("the first kernel scales rows, at ragged sizes too") {
  const dsl::Entry& e = dsl::kernel_table().front();
  for (const std::uint64_t m : {256, 130}) {
    dsl::Sizes sizes = dsl::standard_sizes(e);
    sizes["m"] = m;
    const dsl::Kernel kernel = e.build(e.targets[0], sizes);
    launch::Contract c = e.problem(kernel, sizes);
    run(parsed(kernel), c);
    const auto number = [&](const char* name, std::size_t i) {
      const launch::Buffer& b = c.at(name);
      const std::size_t bytes = std::size_t(isa::bits(b.dtype) / 8);
      std::uint64_t word = 0;
      for (std::size_t k = 0; k < bytes; ++k) word |= std::uint64_t(b.bytes[i * bytes + k]) << 8 * k;
      return num::to_double(b.dtype, word);
    };
    const std::size_t n = std::size_t(c.at("A").shape[1]);
    int wrong = 0;
    for (std::size_t i = 0; i < m * n; ++i) {
      const double want = number("A", i) * number("factor", i / n);
      wrong += !(std::abs(number("D", i) - want) <= 0.004 * std::abs(want));
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE("snippets are verified, run, and are proven where their page says so") {
  REQUIRE(!pages::snippets().empty());
  for (const pages::Snippet& s : pages::snippets()) {
    INFO(std::string(s.place));
    const dsl::Kernel kernel = s.build();
    const ir::Module module = parsed(kernel);
    launch::Contract c = some_problem(kernel);
    run(module, c);
    diag::Sink sink;
    verifier::check_synchronisation(module, sink, nullptr);
    INFO(diag::render_text(sink));
    CHECK_FALSE(sink.has_errors());
    CHECK((diag::exit_code(sink, true) == 0) == s.is_proven);
  }
}

TEST_CASE("docs/accumulators.md has the layouts that the code has") {
  using isa::CtaGroup;
  std::string table =
      "| MMA | layout | lanes of a CTA | columns | `load` is tcgen05.ld | thread r of the warpgroup has |\n"
      "|---|---|---|---|---|---|\n";
  table += accumulator_row("M = 128", 128, CtaGroup::one, false, false);
  table += accumulator_row("M = 64", 64, CtaGroup::one, false, false);
  table += accumulator_row("a pair, M = 256", 256, CtaGroup::two, false, false);
  table += accumulator_row("a pair, M = 128", 128, CtaGroup::two, false, false);
  table += accumulator_row("a pair, M = 128, sparse", 128, CtaGroup::two, false, true);
  table += accumulator_row("`.ws`, M = 128", 128, CtaGroup::one, true, false);
  table += accumulator_row("`.ws`, M = 64", 64, CtaGroup::one, true, false);
  table += accumulator_row("`.ws`, M = 32", 32, CtaGroup::one, true, false);
  INFO("the page must have:\n" << table);
  CHECK(file("docs/accumulators.md").find(table) != std::string::npos);
}

}  // namespace pages_test
