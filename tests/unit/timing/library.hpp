// Predictions of the library's kernels.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "dsl/entry.hpp"
#include "harness/pipeline/pipeline.hpp"
#include "ptx/parse/parse.hpp"
#include "tests/unit/timing/timed.hpp"
#include "timing/predict.hpp"

namespace kiln::test {

/// A kernel of the table at some sizes, the others at their default: its PTX and its contract, the buffers of zeros.
struct Subject {
  ir::Module module{};
  launch::Contract contract{};
};

inline Subject subject_of(std::string_view name, const std::vector<std::pair<std::string, dsl::Size>>& sizes,
                          isa::Target target = isa::sm_100a) {
  const auto table = dsl::kernel_table();
  const auto entry = std::find_if(table.begin(), table.end(), [&](const dsl::Entry& e) { return e.name == name; });
  REQUIRE(entry != table.end());
  dsl::Sizes all = dsl::standard_sizes(*entry);
  for (const auto& [option, value] : sizes) all[option] = value;
  all = dsl::with_strategy(*entry, all);
  dsl::Kernel kernel = entry->build(target, all);
  Subject s;
  s.contract = entry->problem(kernel, all);
  for (launch::Buffer& b : s.contract.buffers) b.bytes.assign(b.size(), 0);
  diag::Sink sink;
  const diag::SourcePtr ptx = harness::emit_verified(std::move(kernel.module), std::string(name) + ".ptx", sink);
  REQUIRE(ptx);
  s.module = parse::parse(ptx, sink);
  return s;
}

inline timing::Prediction prediction_of(const Subject& s, const timing::Chip& chip = b200(),
                                        const timing::Question& question = {}) {
  diag::Sink sink;
  timing::Prediction p = timing::predict(s.module, s.contract, chip, question, sink);
  CHECK(p.outcome == sim::Outcome::finished);
  return p;
}

}  // namespace kiln::test
