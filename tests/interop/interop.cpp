#include "tests/interop/interop.hpp"

#include <algorithm>
#include <fstream>
#include <memory>
#include <sstream>
#include <stdexcept>

#include "harness/contract/contract_json.hpp"
#include "ptx/diag/render.hpp"

namespace kiln::test::interop {
namespace {

const std::string folder = KILN_SOURCE_DIR "/tests/interop/";

std::string text_of(const std::string& file) {
  std::ifstream in(folder + file);
  if (!in) throw std::runtime_error("cannot read " + folder + file);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

Outcome run(const Kernel& kernel, const std::string& file, launch::Contract contract, std::uint64_t seed) {
  harness::RunOptions options;
  options.folder = folder;
  options.simulation.seed = seed;
  Outcome out;
  out.report = harness::run_text(std::make_shared<const diag::Source>(file, text_of(file)), contract, options);
  if (!out.report.finished()) return out;
  for (const harness::Comparison& c : out.report.comparisons) out.wrong += c.wrong;
  if (contract.expectations.empty()) out.wrong = wrong_elements(kernel, contract);
  return out;
}

launch::Contract contract_of(const Kernel& kernel) {
  return harness::read_contract_file(folder + kernel.name + ".json");
}

std::vector<std::string> slugs_of(const Outcome& o, bool errors_only) {
  std::vector<std::string> slugs;
  const auto add = [&](const std::string& slug) {
    if (std::find(slugs.begin(), slugs.end(), slug) == slugs.end()) slugs.push_back(slug);
  };
  for (const diag::Diagnostic& d : o.report.findings.all())
    if (d.severity == diag::Severity::error || (!errors_only && d.severity == diag::Severity::portability)) add(d.slug);
  if (o.wrong != 0) add("wrong-values");
  return slugs;
}

}  // namespace

const std::vector<Kernel>& kernels() {
  static const std::vector<Kernel> all = {{"gemm_bf16_pipelined", "gemm_bf16_pipelined"},
                                          {"gemm_bf16_cluster", "gemm_bf16_cluster"},
                                          {"gemm_mxf8", "gemm_block_scaled"},
                                          {"gemm_nvf4", "gemm_block_scaled"},
                                          {"attention_chain", "attention_chain"}};
  return all;
}

std::vector<std::string> Outcome::slugs() const { return slugs_of(*this, false); }
std::vector<std::string> Outcome::error_slugs() const { return slugs_of(*this, true); }
std::string Outcome::text() const {
  return diag::render_text(report.findings) + std::to_string(wrong) + " elements are wrong";
}

Outcome run(const Kernel& kernel, const std::string& prefix, std::uint64_t seed) {
  return run(kernel, prefix + kernel.source + ".ptx", contract_of(kernel), seed);
}

Outcome run_with_bug(const Kernel& kernel, std::uint32_t bug, std::uint64_t seed) {
  launch::Contract contract = contract_of(kernel);
  contract.launches[0].params.push_back({launch::ScalarParam{isa::ScalarType::u32, bug}});
  return run(kernel, "bugs_" + kernel.source + ".ptx", std::move(contract), seed);
}

std::vector<std::string> bug_names(const Kernel& kernel) {
  const std::string text = text_of(kernel.source + ".cu"), head = "enum Bug : uint32_t {";
  const std::size_t begin = text.find(head) + head.size();
  std::string list = text.substr(begin, text.find('}', begin) - begin);
  std::replace(list.begin(), list.end(), ',', ' ');
  std::istringstream in(list);
  std::vector<std::string> names;
  for (std::string name; in >> name;) names.push_back(name);
  if (names.size() < 3 || names.front() != "no_bug" || names.back() != "last_bug")
    throw std::runtime_error(kernel.source + ".cu: enum Bug must go from no_bug to last_bug");
  return {names.begin() + 1, names.end() - 1};
}

std::vector<std::string> lines(const std::string& file) {
  std::istringstream in(text_of(file));
  std::vector<std::string> all;
  for (std::string line; std::getline(in, line);) all.push_back(line);
  return all;
}

}  // namespace kiln::test::interop
