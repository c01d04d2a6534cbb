// Attention of unusual inputs. Scores grow from block to block: what was summed before is scaled. And the values that a
// row sees are zero: what it does not see must not show, however little it is.
#include <doctest/doctest.h>

#include <algorithm>

#include "dsl/entry.hpp"
#include "harness/compare/compare.hpp"
#include "harness/problem/element.hpp"
#include "harness/problem/fill.hpp"
#include "ptx/diag/render.hpp"
#include "sim/simulate.hpp"

namespace kiln::attention_tests {
namespace {

constexpr std::uint64_t block = 128, head = 128;

// Keys of each block are four times those of the block before.
void grow(launch::Buffer& keys) {
  for (std::uint64_t i = block * head; i < keys.elements(); ++i) {
    const double times = double(std::uint64_t{1} << (2 * (i / (block * head))));
    const double key = harness::element_value(keys.dtype, harness::load_element(keys.bytes, keys.dtype, i));
    harness::store_element(keys.bytes, keys.dtype, i, harness::quantise(keys.dtype, times * key));
  }
}

// Runs an entry's problem of these sizes, whose inputs `change` changes, and gives its buffers.
template <class Change>
launch::Contract run(const dsl::Entry& entry, const dsl::Sizes& sizes, const Change& change) {
  const dsl::Kernel kernel = entry.build(entry.targets[0], sizes);
  launch::Contract contract = entry.problem(kernel, sizes);
  harness::fill(contract);
  change(contract);
  diag::Sink sink;
  const sim::Result result = sim::simulate(kernel.module, contract, {}, sink);
  INFO(diag::render_text(sink));
  REQUIRE(result.outcome == sim::Outcome::finished);
  CHECK(sink.all().empty());
  return contract;
}

}  // namespace

TEST_CASE("attention is right where each block of keys has greater scores than all before it") {
  for (const dsl::Entry& entry : dsl::kernel_table()) {
    if (entry.name != "attention" && entry.name != "attention_in_turn" && entry.name != "attention_in_turn_causal")
      continue;
    CAPTURE(entry.name);
    dsl::Sizes sizes = dsl::standard_sizes(entry);
    sizes["m"] = sizes["n"] = 4 * block;
    const launch::Contract contract = run(entry, sizes, [](launch::Contract& c) { grow(c.at("K")); });
    const harness::Comparison c = harness::compare(contract, contract.expectations.front());
    INFO(c.wrong, " of ", c.elements, " wrong; got ", c.got, ", want ", c.want);
    CHECK(c.pass);
  }
}

TEST_CASE("keys that a row does not see weigh nothing: the first row is zero where the first value is") {
  for (const dsl::Entry& entry : dsl::kernel_table()) {
    if (entry.name != "attention_causal" && entry.name != "attention_in_turn_causal" &&
        entry.name != "attention_window" && entry.name != "attention_wgmma_causal")
      continue;
    CAPTURE(entry.name);
    dsl::Sizes sizes = dsl::standard_sizes(entry);
    sizes["m"] = sizes["n"] = 2 * block;
    const launch::Contract contract = run(entry, sizes, [](launch::Contract& c) {
      launch::Buffer& values = c.at("V");
      std::fill_n(values.bytes.begin(), head * isa::bits(values.dtype) / 8, 0);
    });
    const launch::Buffer& o = contract.at("O");
    for (std::uint64_t i = 0; i < head; ++i) {
      CAPTURE(i);
      REQUIRE(harness::element_value(o.dtype, harness::load_element(o.bytes, o.dtype, i)) == 0);
    }
  }
}

}  // namespace kiln::attention_tests
