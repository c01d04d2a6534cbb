// Kernels of the library, lowered and run: what the tests of lower/ share.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>

#include "dsl/entry.hpp"
#include "emit/emit.hpp"
#include "harness/compare/compare.hpp"
#include "harness/problem/fill.hpp"
#include "harness/ptxas/ptxas.hpp"
#include "lower/lower.hpp"
#include "ptx/diag/render.hpp"
#include "ptx/parse/parse.hpp"
#include "sim/simulate.hpp"
#include "verifier/verify.hpp"

namespace kiln::test {

/// A text and how it is launched, with inputs.
struct Kernel {
  std::shared_ptr<const diag::Source> text{};
  ir::Module module{};
  launch::Contract contract{};
};

inline Kernel parsed(const std::string& ptx, launch::Contract contract) {
  diag::Sink sink;
  Kernel out;
  out.text = std::make_shared<const diag::Source>("kernel.ptx", ptx);
  out.module = parse::parse(out.text, sink);
  INFO(diag::render_text(sink));
  REQUIRE_FALSE(sink.has_errors());
  out.contract = std::move(contract);
  return out;
}

/// A kernel of the table at the sizes given, and else its standard ones.
inline Kernel library_kernel(const std::string& name, const dsl::Sizes& given) {
  for (const dsl::Entry& entry : dsl::kernel_table()) {
    if (entry.name != name) continue;
    dsl::Sizes sizes = dsl::standard_sizes(entry);
    for (const auto& [option, value] : given) sizes[option] = value;
    const dsl::Kernel kernel = entry.build(entry.targets[0], sizes);
    diag::Sink sink;
    const auto verified = verifier::verify(kernel.module, sink);
    REQUIRE(verified);
    Kernel out = parsed(emit::emit(*verified), entry.problem(kernel, sizes));
    harness::fill(out.contract);
    return out;
  }
  FAIL("no kernel is named ", name);
  return {};
}

/// The strategies of a kernel with one CTA for a tile, as options.
inline std::vector<dsl::Strategy> strategies_of_one_cta(const dsl::Entry& entry) {
  std::vector<dsl::Strategy> out;
  for (const dsl::Strategy& s : entry.strategies)
    if (std::any_of(s.begin(), s.end(),
                    [](const auto& o) { return o.first == "cta-group" && o.second == dsl::Size(std::uint64_t{1}); }))
      out.push_back(s);
  return out;
}

/// The kernel lowered, written as text and read back; nothing, and the findings, when it cannot be.
inline std::optional<Kernel> lowered(const Kernel& k, isa::Target target, diag::Sink& sink,
                                     lower::Place image = lower::Place::automatic) {
  auto out = lower::lower(k.module, {target, image, &k.contract}, sink);
  if (!out) return std::nullopt;
  diag::Sink verdict;
  verifier::check(out->module, verdict);
  INFO(diag::render_text(verdict));
  CHECK_FALSE(verdict.has_errors());
  return parsed(emit::emit_unverified(out->module), std::move(out->contract));
}

/// Runs it; the contract then holds the results. No error is reported.
inline launch::Contract simulated(const Kernel& k, std::uint64_t seed = 1, bool races = true) {
  launch::Contract contract = k.contract;
  sim::Options options;
  options.seed = seed;
  options.detect_races = races;
  diag::Sink sink;
  const sim::Result result = sim::simulate(k.module, contract, options, sink);
  INFO(diag::render_text(sink));
  CHECK(result.outcome == sim::Outcome::finished);
  CHECK_FALSE(sink.has_errors());
  CHECK_FALSE(sink.incomplete());
  return contract;
}

inline void check_right(const launch::Contract& contract) {
  CHECK_FALSE(contract.expectations.empty());
  for (const launch::Expectation& e : contract.expectations) {
    const harness::Comparison c = harness::compare(contract, e);
    INFO(e.output, ": ", c.wrong, " of ", c.elements, " wrong; got ", c.got, ", want ", c.want);
    CHECK(c.pass);
  }
}

}  // namespace kiln::test
