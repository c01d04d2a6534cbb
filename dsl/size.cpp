#include "dsl/size.hpp"

#include <algorithm>

#include "ptx/diag/error.hpp"

namespace kiln::dsl {
namespace {

// What was given for an option of a strategy.
Size given_for(const Sizes& sizes, std::string_view option) {
  const auto found = sizes.find(option);
  return found == sizes.end() ? Size() : found->second;
}

bool fits(const Strategy& strategy, const Sizes& sizes) {
  return std::all_of(strategy.begin(), strategy.end(), [&](const auto& value) {
    const Size wanted = given_for(sizes, value.first);
    return !wanted.is_given() || wanted == value.second;
  });
}

}  // namespace

Size Size::list(std::vector<std::uint64_t> numbers) {
  if (numbers.size() == 1) return numbers[0];
  Size out;
  out.is_list_ = !numbers.empty();
  out.numbers_ = std::move(numbers);
  return out;
}

Size::operator std::uint64_t() const {
  if (numbers_.size() != 1) throw diag::InternalError("'" + text(*this) + "' is used as one number");
  return numbers_[0];
}

std::string text(const Size& size) {
  std::string out;
  for (const std::uint64_t extent : size.extents())
    out += (out.empty() ? "" : size.is_list() ? "," : "x") + std::to_string(extent);
  return out;
}

std::string text(const Strategy& strategy) {
  std::string out;
  for (const auto& [option, value] : strategy)
    out += (out.empty() ? "--" : " --") + std::string(option) + " " + text(value);
  return out;
}

Strategy given_of(const Strategy& strategy, const Sizes& sizes) {
  Strategy given;
  for (const auto& [option, value] : strategy)
    if (const Size size = given_for(sizes, option); size.is_given()) given.emplace_back(option, size);
  return given;
}

std::optional<std::size_t> listed_strategy(std::span<const Strategy> strategies, const Sizes& sizes) {
  for (std::size_t i = 0; i < strategies.size(); ++i)
    if (fits(strategies[i], sizes)) return i;
  return std::nullopt;
}

}  // namespace kiln::dsl
