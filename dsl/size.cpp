#include "dsl/size.hpp"

#include <algorithm>

#include "ptx/diag/error.hpp"

namespace kiln::dsl {
namespace {

// What was asked of a strategy by this option; nothing where nothing was.
Size asked(const Sizes& sizes, std::string_view option) {
  const auto found = sizes.find(option);
  return found == sizes.end() ? Size() : found->second;
}

bool fits(const Strategy& strategy, const Sizes& sizes) {
  return std::all_of(strategy.begin(), strategy.end(), [&](const auto& value) {
    const Size wanted = asked(sizes, value.first);
    return !wanted.is_given() || wanted.is(value.second);
  });
}

}  // namespace

Size::operator std::uint64_t() const {
  if (count_ != 1) throw diag::InternalError("'" + text(*this) + "' is used as one number");
  return extents_[0];
}

std::string text(const Size& size) {
  std::string out;
  for (const std::uint64_t extent : size.extents()) out += (out.empty() ? "" : "x") + std::to_string(extent);
  return out;
}

std::string text(const Strategy& strategy) {
  std::string out;
  for (const auto& [option, value] : strategy)
    out += (out.empty() ? "--" : " --") + std::string(option) + " " + text(value);
  return out;
}

std::size_t chosen_strategy(std::string_view kernel, std::span<const Strategy> strategies, const Sizes& sizes) {
  for (std::size_t i = 0; i < strategies.size(); ++i)
    if (fits(strategies[i], sizes)) return i;
  Strategy wanted;
  std::string known;
  for (const Strategy& s : strategies) known += "\n  " + text(s);
  for (const auto& [option, value] : strategies.empty() ? Strategy() : strategies.front())
    if (const Size size = asked(sizes, option); size.is_given()) wanted.emplace_back(option, size);
  throw diag::InputError(text(wanted) + ": " + std::string(kernel) + " is not instantiated so; its strategies are" +
                         known);
}

}  // namespace kiln::dsl
