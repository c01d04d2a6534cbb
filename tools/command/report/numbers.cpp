#include "tools/command/report/numbers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>

#include "ptx/diag/error.hpp"

namespace kiln::command {

std::uint64_t whole_number(const std::string& text, const std::string& what) {
  std::string digits = text;
  digits.erase(std::remove(digits.begin(), digits.end(), '_'), digits.end());
  const bool hex = digits.starts_with("0x") || digits.starts_with("0X");
  const char* begin = digits.data() + (hex ? 2 : 0);
  const char* end = digits.data() + digits.size();
  std::uint64_t value = 0;
  const auto [stop, failed] = std::from_chars(begin, end, value, hex ? 16 : 10);
  if (failed == std::errc::result_out_of_range)
    throw diag::InputError(fmt::format("{}: must fit 64 bits; got {}", what, text));
  if (failed != std::errc{} || stop != end)
    throw diag::InputError(fmt::format("{}: must be a whole number; got '{}'", what, text));
  return value;
}

namespace {

dsl::Size list(const std::string& text, const std::string& what) {
  std::vector<std::uint64_t> numbers;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    numbers.push_back(whole_number(text.substr(begin, end - begin), what));
    begin = end + 1;
  }
  return dsl::Size::list(std::move(numbers));
}

}  // namespace

dsl::Size size(const std::string& text, const dsl::SizeOption& option) {
  const std::string what = "--" + std::string(option.name);
  if (option.form.find(',') != std::string_view::npos) return list(text, what);
  if (option.form.find('x') == std::string_view::npos) return whole_number(text, what);
  const std::size_t first = text.find('x'), second = first == std::string::npos ? first : text.find('x', first + 1);
  if (second == std::string::npos)
    throw diag::InputError(fmt::format("{}: must be {}, as in 128x256x64; got '{}'", what, option.form, text));
  return {whole_number(text.substr(0, first), what), whole_number(text.substr(first + 1, second - first - 1), what),
          whole_number(text.substr(second + 1), what)};
}

double positive_number(const std::string& text, const std::string& what) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (text.empty() || *end != '\0' || !(value > 0) || value > 1e9)
    throw diag::InputError(fmt::format("{}: must be a number above 0; got '{}'", what, text));
  return value;
}

}  // namespace kiln::command
