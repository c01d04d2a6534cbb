// The numbers that a kernel's options take: problem sizes, and the strategy that it is built with.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace kiln::dsl {

/// A number, extents such as 256x128x64, or a list such as 96,0,128; or nothing: the default of an option, which may be
/// a constant.
class StandardSize {
 public:
  constexpr StandardSize() = default;
  constexpr StandardSize(std::uint64_t number) : extents_{number}, count_(1) {}
  constexpr StandardSize(std::uint64_t m, std::uint64_t n, std::uint64_t k) : extents_{m, n, k}, count_(3) {}
  /// A list of two numbers or more, which must live as long.
  template <std::size_t n>
  constexpr StandardSize(const std::array<std::uint64_t, n>& list) : list_(list) {}

  constexpr bool is_given() const { return count_ > 0 || is_list(); }
  constexpr bool is_list() const { return !list_.empty(); }
  /// The number, the extents, or the numbers of a list.
  constexpr std::span<const std::uint64_t> extents() const {
    if (is_list()) return list_;
    return {extents_.data(), count_};
  }

 private:
  std::array<std::uint64_t, 3> extents_{};
  std::size_t count_ = 0;
  std::span<const std::uint64_t> list_{};
};

/// What an option was given: a number, extents such as 256x128x64, or a list such as 96,0,128; nothing, where it
/// follows from other options.
class Size {
 public:
  Size() = default;
  Size(const StandardSize& s) : numbers_(s.extents().begin(), s.extents().end()), is_list_(s.is_list()) {}
  Size(std::uint64_t number) : numbers_{number} {}
  Size(std::uint64_t m, std::uint64_t n, std::uint64_t k) : numbers_{m, n, k} {}

  /// A number for each of several problems. A list of one is that number.
  static Size list(std::vector<std::uint64_t> numbers);

  bool is_given() const { return !numbers_.empty(); }
  bool is_list() const { return is_list_; }
  /// The number, the extents, or the numbers of a list.
  std::span<const std::uint64_t> extents() const { return numbers_; }
  /// Whether the same was given; a size and a number are compared as numbers.
  template <std::same_as<Size> S>
  friend bool operator==(const S& a, const S& b) {
    return a.numbers_ == b.numbers_ && a.is_list_ == b.is_list_;
  }
  /// The number. Throws diag::InternalError for extents, for a list, and for nothing.
  operator std::uint64_t() const;

 private:
  std::vector<std::uint64_t> numbers_{};
  bool is_list_ = false;
};

/// "512", "256x128x64", "96,0,128", "".
std::string text(const Size&);

/// What the command offers as --name: a problem size, or a choice that specialises the kernel.
struct SizeOption {
  std::string_view name;  // "m"
  StandardSize standard;  // the default; nothing: that of the strategy which the other options leave
  std::string_view help;
  std::string_view form = "N";  // what is to be given, in the help: "N", "MxNxK", or "N,..." for a list
};

// Kernels have arrays of them as constants. g++ with sanitizers takes no constant whose destructor does something.
static_assert(std::is_trivially_destructible_v<SizeOption>);

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
