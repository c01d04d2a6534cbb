#include "harness/views/look.hpp"

#include "harness/pipeline/pipeline.hpp"
#include "harness/problem/fill.hpp"
#include "ptx/parse/parse.hpp"

namespace kiln::harness {

Look look_at(ir::Module built, const std::string& name, launch::Contract contract, launch::Dim3 cluster,
             diag::Sink& sink) {
  const diag::SourcePtr ptx = emit_verified(std::move(built), name + ".ptx", sink);
  if (!ptx) return {};
  const ir::Module module = parse::parse(ptx, sink);
  contract.launches.resize(1);
  contract.launches.front().grid = cluster;
  fill(contract);
  sim::Options options;
  options.arithmetic = sim::Arithmetic::fast;
  options.detect_races = false;
  sim::MemoryMapper mapper;
  const sim::Result result = sim::simulate(module, contract, options, sink, &mapper);
  return {mapper.take(), result.outcome};
}

}  // namespace kiln::harness
