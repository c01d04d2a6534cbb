// The numbers that a kernel's options take: problem sizes, and the strategy that it is built with.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace kiln::dsl {

/// What an option was given: a number, extents such as 256x128x64, or a list such as 96,0,128; nothing, where it
/// follows from other options.
class Size {
 public:
  constexpr Size() = default;
  constexpr Size(std::uint64_t number) : extents_{number}, count_(1) {}
  constexpr Size(std::uint64_t m, std::uint64_t n, std::uint64_t k) : extents_{m, n, k}, count_(3) {}

  /// A number for each of several problems. A list of one is that number.
  static Size list(std::vector<std::uint64_t> numbers);

  constexpr bool is_given() const { return !extents().empty(); }
  constexpr bool is_list() const { return !list_.empty(); }
  /// The number, the extents, or the numbers of a list.
  constexpr std::span<const std::uint64_t> extents() const {
    if (is_list()) return list_;
    return {extents_.data(), count_};
  }
  /// Whether the same was given.
  constexpr bool is(const Size& other) const {
    return count_ == other.count_ && extents_ == other.extents_ && list_ == other.list_;
  }
  /// The number. Throws diag::InternalError for extents, for a list, and for nothing.
  operator std::uint64_t() const;

 private:
  std::array<std::uint64_t, 3> extents_{};
  std::size_t count_ = 0;
  std::vector<std::uint64_t> list_{};  // two numbers or more, or none
};

/// "512", "256x128x64", "96,0,128", "".
std::string text(const Size&);

/// What the command offers as --name: a problem size, or a choice that specialises the kernel.
struct SizeOption {
  std::string_view name;  // "m"
  Size standard;          // the default; nothing: that of the strategy which the other options leave
  std::string_view help;
  std::string_view form = "N";  // what is to be given, in the help: "N", "MxNxK", or "N,..." for a list
};

/// The sizes of one problem, by option name; every declared option with a value is there.
using Sizes = std::map<std::string, Size, std::less<>>;

/// One way to build a kernel: a value for each option that tells the ways apart, as it is shown.
using Strategy = std::vector<std::pair<std::string_view, Size>>;

/// "--tile 256x128x64 --stages 7".
std::string text(const Strategy&);

/// What these sizes say of the options of a strategy.
Strategy given_of(const Strategy& strategy, const Sizes&);
/// The first strategy of a list that has every value given for its options; nothing where none has.
std::optional<std::size_t> listed_strategy(std::span<const Strategy>, const Sizes&);

}  // namespace kiln::dsl
