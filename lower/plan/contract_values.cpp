#include "lower/plan/contract_values.hpp"

#include <algorithm>

#include "launch/known_bytes.hpp"
#include "ptx/ir/module.hpp"

namespace kiln::lower {

ContractValues::ContractValues(const ir::Code& code, const flow::Definitions& definitions,
                               std::vector<const launch::Launch*> launches)
    : code_(code), definitions_(definitions), launches_(std::move(launches)) {}

const std::vector<flow::KnownBits>& ContractValues::of_launches() const {
  if (of_launches_) return *of_launches_;
  std::vector<flow::ParameterBytes> different;
  for (const launch::Launch* l : launches_) {
    flow::ParameterBytes bytes;
    for (const launch::Param& p : l->params) bytes.push_back(launch::known_bytes(p));
    if (std::find(different.begin(), different.end(), bytes) == different.end()) different.push_back(std::move(bytes));
  }
  of_launches_.emplace();
  for (flow::ParameterBytes& bytes : different) of_launches_->emplace_back(code_, definitions_, std::move(bytes));
  return *of_launches_;
}

std::optional<std::uint64_t> ContractValues::constant(const ir::Argument& a, int width) const {
  std::optional<std::uint64_t> out;
  for (const flow::KnownBits& known : of_launches()) {
    const auto value = known.constant(a, width);
    if (!value || (out && *out != *value)) return std::nullopt;
    out = value;
  }
  return out;
}

// With numbers for all parameters it would be one.
bool ContractValues::is_from_parameters(const ir::Argument& a, int width) const {
  flow::ParameterBytes zeros;
  for (const ir::Variable& p : code_.function->parameters) {
    auto& bytes = zeros.emplace_back();
    for (std::uint32_t k = 0; k < p.bytes(); ++k) bytes[k] = 0;
  }
  return flow::KnownBits(code_, definitions_, std::move(zeros)).constant(a, width).has_value();
}

std::string ContractValues::why_unknown(const ir::Argument& a, int width) const {
  if (!is_from_parameters(a, width)) return {};
  const auto& launches = of_launches();
  if (launches.empty()) return "from the kernel's parameters, whose values a contract would say";
  const bool all = std::all_of(launches.begin(), launches.end(),
                               [&](const flow::KnownBits& known) { return known.constant(a, width).has_value(); });
  return all ? "from the kernel's parameters, of which the contract's launches make different values"
             : "from the kernel's parameters, of which the contract does not say enough";
}

}  // namespace kiln::lower
