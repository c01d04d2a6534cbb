// Kernels of the DSL that are verified, emitted, read again and simulated, as a user's are.
#pragma once

#include <doctest/doctest.h>

#include "dsl/kernel.hpp"
#include "emit/emit.hpp"
#include "ptx/diag/render.hpp"
#include "ptx/parse/parse.hpp"
#include "sim/simulate.hpp"
#include "verifier/verify.hpp"

namespace kiln::test {

/// Ends a kernel of one warpgroup whose threads wrote `tile`: one thread copies it to (0, 0) of a tensor map.
template <class TensorMap, class Tile>
void store_tile(dsl::Warpgroup& g, TensorMap map, Tile& tile) {
  g.fence_proxy_async();
  g.sync();
  g.elect([&](dsl::Thread t) {
    t.tma_store(map.at(0, 0), tile);
    t.commit_stores();
    t.wait_stores_read(0);
  });
}

/// Runs the launches of a contract in the schedule of a seed; nothing may be found. The contract's buffers hold the
/// results afterwards.
inline void simulate(const dsl::Kernel& kernel, launch::Contract& c, std::uint64_t seed = 1) {
  diag::Sink sink;
  const auto verified = verifier::verify(kernel.module, sink);
  INFO(diag::render_text(sink));
  REQUIRE(verified);
  REQUIRE(sink.all().empty());
  const ir::Module module =
      parse::parse(std::make_shared<const diag::Source>("kernel.ptx", emit::emit(*verified)), sink);
  sim::Options options;
  options.seed = seed;
  const sim::Result result = sim::simulate(module, c, options, sink);
  INFO(diag::render_text(sink));
  REQUIRE(result.outcome == sim::Outcome::finished);
  REQUIRE(sink.all().empty());
}

}  // namespace kiln::test
