// Named parameters and the typed launch. A kernel's parameter list is a value: names and types known at compile time.
// The builder declares from it, the launch is checked against it.
#pragma once

#include "ptx/rules/require.hpp"  // first: a broken rule is then two includes away from the user's file

#include <boost/hana/tuple.hpp>
#include <algorithm>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "dsl/builder.hpp"
#include "launch/contract.hpp"

namespace kiln::dsl {

/// A string as a template argument.
template <std::size_t n>
struct Name {
  char text[n]{};
  constexpr Name(const char (&from)[n]) { std::copy_n(from, n, text); }
};

/// A parameter's declaration: its name and its type.
template <Name name, class T>
struct Parameter {
  using type = T;
};

/// A value given to a parameter.
template <Name name, class V>
struct Argument {
  V value;
};

/// "A"_arg: the name of a parameter, to declare, look up or give it.
template <Name name>
struct ArgumentName {
  template <class T>
  constexpr Parameter<name, T> is() const { return {}; }
  template <class V>
  constexpr Argument<name, V> operator=(V value) const { return {std::move(value)}; }
};

inline namespace literals {
template <Name name>
constexpr ArgumentName<name> operator""_arg() { return {}; }
}  // namespace literals

/// A global tensor as a launch names it: the buffer that holds it and its extents in elements, rows first (MN, then K).
struct GlobalTensor {
  std::string buffer;
  std::uint64_t mn = 0, k = 0;
};

/// Whether a value may be given to a parameter of type T.
template <class T, class V> inline constexpr bool accepts = false;
template <class Tile> inline constexpr bool accepts<TensorMap<Tile>, GlobalTensor> = true;
template <class Tile> inline constexpr bool accepts<TensorMap3d<Tile>, GlobalTensor> = true;
template <class T, int rank> inline constexpr bool accepts<TensorMapHandle<T, rank>, launch::TensorMap> = true;
template <class T> inline constexpr bool accepts<Pointer<T>, std::string> = true;
template <class T> inline constexpr bool accepts<Pointer<T>, const char*> = true;
template <ScalarType type, class V>
  requires std::is_integral_v<V>
inline constexpr bool accepts<Element<type>, V> = true;

/// A handle that the builder made for a parameter.
template <Name name, class T>
struct Handle {
  T value;
};

namespace detail {

template <Name name, class T>
const T& value_of(const Handle<name, T>& h) { return h.value; }

}  // namespace detail

/// The handles that the builder made for a list, by name: handles["A"_arg].
template <class... Each>
struct Handles : Each... {
  template <Name name>
  const auto& operator[](ArgumentName<name>) const {
    static_assert(requires(const Handles& h) { detail::value_of<name>(h); }, "the list has no parameter of this name");
    return detail::value_of<name>(*this);
  }
};

/// What parameters(...) returns.
template <class... List>
using Parameters = boost::hana::tuple<List...>;

/// A kernel's parameters, in order: parameters("A"_arg.is<TensorMap<ATile>>(), "m"_arg.is<u32>()).
template <Name... names, class... Types>
constexpr auto parameters(Parameter<names, Types>...) {
  return Parameters<Parameter<names, Types>...>{};
}

/// One list after the other.
template <class... First, class... Second>
constexpr auto joined(const Parameters<First...>&, const Parameters<Second...>&) {
  return Parameters<First..., Second...>{};
}

/// Declares every parameter of the list with the builder, in order, and hands back the handles by name.
template <Name... names, class... Types>
auto declare(KernelBuilder& builder, const Parameters<Parameter<names, Types>...>&) {
  // Braces evaluate in order.
  return Handles<Handle<names, decltype(builder.param<Types>(names.text))>...>{{builder.param<Types>(names.text)}...};
}

/// A tensor map over a global tensor, with boxes for a tile.
launch::TensorMap tensor_map(const GlobalTensor& t, const TileShape& tile);
/// The same for a tile type.
template <class Tile>
launch::TensorMap tensor_map(const GlobalTensor& t) {
  return tensor_map(t, Tile::shape);
}

/// A value given to a parameter by name.
struct NamedArgument {
  using Value = std::variant<GlobalTensor, launch::TensorMap, std::string, std::uint64_t, launch::StructParam>;
  std::string_view name;
  Value value;

  // Out of line, so that files of kernels need not compile them.
  NamedArgument(std::string_view name, Value value);
  NamedArgument(const NamedArgument&);
  ~NamedArgument();
};

/// The CTAs of a launch, {x, y, z} or a launch::Dim3, and the line that asks for it.
struct LaunchGrid {
  launch::Dim3 ctas;
  Here at;
  LaunchGrid(std::uint32_t x, std::uint32_t y, std::uint32_t z, Here from = {}) : ctas{x, y, z}, at(from) {}
  LaunchGrid(launch::Dim3 ctas_, Here from = {}) : ctas(ctas_), at(from) {}
};

/// Appends a launch of the kernel to a contract. Every parameter of the kernel is given once, by name, with a value of
/// its type. What is found of the launch is reported at its line. Throws diag::Rejected [dsl-launch-arguments] where a
/// parameter is missing or has another type, and diag::InputError where a global tensor does not fit the kernel's tensor
/// map.
void launch_kernel(launch::Contract& contract, const Kernel& kernel, LaunchGrid grid,
                   std::vector<NamedArgument> arguments);

namespace detail {

// Whether an argument gives the parameter a value of its type; flat, so that a mistake is reported from one level below
// the caller.
template <Name name, class T, class Given> inline constexpr bool gives = false;
template <Name name, class T, class V> inline constexpr bool gives<name, T, Argument<name, V>> = accepts<T, V>;
template <class... Given, Name name, class T>
constexpr bool is_given(const Parameter<name, T>&) { return (0 + ... + int(gives<name, T, Given>)) == 1; }

// A value as the parameter's type takes it.
inline NamedArgument::Value given_to(GlobalTensor t) { return t; }
inline NamedArgument::Value given_to(launch::TensorMap m) { return m; }
inline NamedArgument::Value given_to(std::string buffer) { return buffer; }
inline NamedArgument::Value given_to(const char* buffer) { return std::string(buffer); }
template <class V>
  requires std::is_integral_v<V>
NamedArgument::Value given_to(V value) {
  return std::uint64_t(value);
}

}  // namespace detail

/// The same where the parameter list is a type: a mistake fails to compile with [dsl-launch-arguments].
template <class... List, Name... given, class... Values>
void launch_kernel(launch::Contract& contract, const Kernel& kernel, const Parameters<List...>&, LaunchGrid grid,
                   Argument<given, Values>... arguments) {
  constexpr bool fits = sizeof...(List) == sizeof...(given) &&
                        (detail::is_given<Argument<given, Values>...>(List{}) && ...);
  rules::require<rules::launch_arguments(fits)>();
  if constexpr (fits)
    launch_kernel(contract, kernel, grid, {NamedArgument(given.text, detail::given_to(std::move(arguments.value)))...});
}

}  // namespace kiln::dsl
