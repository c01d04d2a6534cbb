#include "tools/command/report/kernel_choice.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "ptx/diag/error.hpp"
#include "tools/command/report/console.hpp"
#include "tools/command/report/kernels.hpp"
#include "tools/command/report/numbers.hpp"

namespace kiln::command {

const dsl::Entry* find_entry(std::string_view name) {
  const std::vector<dsl::Entry>& table = offered_kernels();
  const auto found = std::find_if(table.begin(), table.end(), [&](const dsl::Entry& e) { return e.name == name; });
  return found == table.end() ? nullptr : &*found;
}

bool is_gemm(std::string_view name) { return name == gemm_name && !find_entry(name); }

std::vector<const dsl::Entry*> rows_of_type(std::string_view type) {
  std::vector<const dsl::Entry*> rows;
  for (const dsl::Entry& e : offered_kernels())
    if (!type.empty() && e.product == type && e.candidates) rows.push_back(&e);
  return rows;
}

std::vector<std::string_view> gemm_types() {
  std::vector<std::string_view> types;
  for (const dsl::Entry& e : offered_kernels())
    if (!e.product.empty() && std::find(types.begin(), types.end(), e.product) == types.end())
      types.push_back(e.product);
  return types;
}

void KernelChoice::settle() {
  if (!is_gemm(name)) return;
  if (!choose) throw diag::InputError("this command does not choose kernels; name one of `kiln list`");
  choose(*this);
}

const dsl::Entry& KernelChoice::entry() const {
  if (const dsl::Entry* e = find_entry(name)) return *e;
  std::vector<std::string_view> names;
  for (const dsl::Entry& e : offered_kernels()) names.push_back(e.name);
  const std::string_view near = nearest(name, names);
  throw diag::InputError(fmt::format("no kernel is named '{}'{}; `kiln list` shows those there are", name,
                                     near.empty() ? "" : fmt::format(" (did you mean {}?)", near)));
}

isa::Target KernelChoice::chosen_target() const {
  const auto targets = entry().targets;
  if (target.empty()) return targets.front();
  const auto wanted = isa::parse_target(target);
  if (!wanted) throw diag::InputError(fmt::format("--target: must be a target such as sm_100a; got '{}'", target));
  if (std::find(targets.begin(), targets.end(), *wanted) != targets.end()) return *wanted;
  std::vector<std::string> names;
  for (isa::Target t : targets) names.push_back(isa::spelling(t));
  const std::string_view why = entry().why_not_others;
  throw diag::InputError(fmt::format("--target: {} is written for {}{}{}; got {}", name, fmt::join(names, ", "),
                                     why.empty() ? "" : "; ", why, target));
}

dsl::Sizes KernelChoice::sizes_for(const dsl::Entry& row) const {
  dsl::Sizes out = dsl::standard_sizes(row);
  for (const dsl::SizeOption& option : row.sizes)
    if (const auto given = sizes.find(std::string(option.name)); given != sizes.end())
      out[given->first] = size(given->second, option);
  // With a few CTAs more than multiprocessors, these few are a second round.
  if (multiprocessors && out.contains("ctas") && !sizes.contains("ctas")) out["ctas"] = multiprocessors(*this);
  return out;
}

dsl::Sizes KernelChoice::chosen_sizes() const {
  dsl::Sizes out = dsl::with_strategy(entry(), sizes_for(entry()));
  std::erase_if(out, [](const auto& size) { return !size.second.is_given(); });
  return out;
}

std::string shown(const dsl::Sizes& sizes, const dsl::Entry& entry) {
  std::string out;
  for (const dsl::SizeOption& s : entry.sizes)
    if (const auto size = sizes.find(s.name); size != sizes.end())
      out += fmt::format("{}{}={}", out.empty() ? "" : " ", s.name, text(size->second));
  return out;
}

std::vector<std::string> input_buffers(const launch::Contract& contract) {
  std::vector<std::string> names;
  for (const launch::Buffer& b : contract.buffers)
    if (b.init.kind != launch::Init::Kind::poison) names.push_back(b.name);
  return names;
}

std::vector<std::string> output_buffers(const launch::Contract& contract) {
  std::vector<std::string> names;
  for (const launch::Expectation& e : contract.expectations) names.push_back(e.output);
  if (!names.empty()) return names;
  for (const launch::Buffer& b : contract.buffers)
    if (b.init.kind == launch::Init::Kind::poison) names.push_back(b.name);
  return names;
}

}  // namespace kiln::command
