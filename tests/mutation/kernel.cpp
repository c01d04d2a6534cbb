#include "tests/mutation/kernel.hpp"

#include <algorithm>
#include <filesystem>

#include "dsl/entry.hpp"
#include "harness/contract/contract_json.hpp"
#include "harness/pipeline/pipeline.hpp"
#include "harness/problem/fill.hpp"
#include "ptx/diag/error.hpp"

namespace kiln::mutation {
namespace {

// A kernel of the tree at a problem that one run has done in some milliseconds.
struct BuiltIn {
  std::string_view name;
  dsl::Sizes sizes;
};

const std::vector<BuiltIn>& built_in() {
  static const std::vector<BuiltIn> table{
      {"gemm_bf16", {{"m", 128}, {"n", 256}, {"k", 512}}},
      {"gemm_bf16_basic", {{"m", 128}, {"n", 128}, {"k", 256}}},
      {"copy_tma", {{"rows", 128}, {"cols", 128}}},
  };
  return table;
}

// PTX files in tests/mutation/kernels, each with a contract of the same name.
constexpr std::string_view files[] = {
    "persistent", "store_ring", "generic_producer", "scaled",    "attention", "dsmem",
    "cp_async",   "flags",      "named_barrier",    "multicast", "dependent",
};

Kernel read_built_in(const BuiltIn& b) {
  for (const dsl::Entry& entry : dsl::kernel_table()) {
    if (entry.name != b.name) continue;
    dsl::Sizes sizes = dsl::standard_sizes(entry);
    for (const auto& [name, value] : b.sizes) sizes[name] = value;
    dsl::Kernel kernel = entry.build(entry.targets[0], sizes);
    Kernel out{std::string(b.name), nullptr, entry.problem(kernel, sizes)};
    diag::Sink sink;
    out.ptx = harness::emit_verified(std::move(kernel.module), out.name + ".ptx", sink);
    if (!out.ptx) throw diag::InternalError(out.name + " does not verify");
    harness::fill(out.contract);
    return out;
  }
  throw diag::InputError("no kernel " + std::string(b.name));
}

Kernel read_file(std::string_view name) {
  const std::string folder = KILN_MUTATION "/kernels", path = folder + "/" + std::string(name);
  Kernel out{std::string(name), diag::Source::read(path + ".ptx"), harness::read_contract_file(path + ".json")};
  harness::fill(out.contract, folder);
  return out;
}

}  // namespace

std::vector<Kernel> kernels() {
  std::vector<Kernel> out;
  for (const BuiltIn& b : built_in()) out.push_back(read_built_in(b));
  for (const std::string_view name : files)
    if (std::filesystem::exists(KILN_MUTATION "/kernels/" + std::string(name) + ".ptx")) out.push_back(read_file(name));
  return out;
}

Kernel foreign_kernel(const std::string& ptx, const std::string& launch) {
  namespace fs = std::filesystem;
  const fs::path path = fs::absolute(ptx);
  const std::string name = path.stem() == "kernel" ? path.parent_path().filename() : path.stem();
  Kernel out{name, diag::Source::read(ptx), harness::read_contract_file(launch)};
  harness::fill(out.contract, fs::absolute(launch).parent_path());
  return out;
}

}  // namespace kiln::mutation
