// Named parameters and the typed launch. A kernel's parameter list is a value: names and types known at compile time.
// The builder declares from it, the launch is checked against it.
#pragma once

#include "ptx/rules/require.hpp"  // first: a broken rule is then two includes away from the user's file

#include <boost/hana/at_key.hpp>
#include <boost/hana/concat.hpp>
#include <boost/hana/map.hpp>
#include <boost/hana/pair.hpp>
#include <boost/hana/tuple.hpp>
#include <boost/hana/type.hpp>
#include <boost/hana/contains.hpp>
#include <boost/hana/size.hpp>
#include <boost/hana/unpack.hpp>
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

namespace detail {

template <Name name> struct Key {};
template <Name name> inline constexpr auto key = boost::hana::type_c<Key<name>>;

template <Name name, class T>
constexpr auto declared(Parameter<name, T>) {
  return boost::hana::make_pair(key<name>, boost::hana::type_c<T>);
}

}  // namespace detail

/// The handles that the builder made for a list, by name: handles["A"_arg].
template <class Map>
struct Handles {
  Map map;
  template <Name name>
  const auto& operator[](ArgumentName<name>) const { return map[detail::key<name>]; }
};

/// A kernel's parameters, in order.
template <Name... names, class... Types>
constexpr auto parameters(Parameter<names, Types>... list) {
  return boost::hana::make_tuple(detail::declared(list)...);
}

/// One list after the other.
template <class First, class Second>
constexpr auto joined(const First& first, const Second& second) { return boost::hana::concat(first, second); }

namespace detail {
template <Name name> inline constexpr Name stored = name;
template <Name name>
constexpr const char* text(boost::hana::basic_type<Key<name>>) {
  return stored<name>.text;
}
}  // namespace detail

/// Declares every parameter of the list with the builder, in order, and hands back the handles by name.
template <class List>
auto declare(KernelBuilder& builder, const List& list) {
  const auto make = [&](auto entry) {
    using T = typename std::decay_t<decltype(boost::hana::second(entry))>::type;
    return boost::hana::make_pair(boost::hana::first(entry),
                                  builder.param<T>(detail::text(boost::hana::first(entry))));
  };
  // Braces evaluate in order, a function call's arguments need not.
  return boost::hana::unpack(list, [&](auto... entries) {
    auto pairs = boost::hana::tuple<decltype(make(entries))...>{make(entries)...};
    auto map = boost::hana::to_map(pairs);
    return Handles<decltype(map)>{map};
  });
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
  std::string_view name;
  std::variant<GlobalTensor, launch::TensorMap, std::string, std::uint64_t> value;
};

/// Appends a launch of the kernel to a contract. Every parameter of the kernel is given once, by name, with a value of
/// its type. Throws diag::Rejected [dsl-launch-arguments] where one is not, and diag::InputError where a global tensor
/// does not fit the kernel's tensor map.
void launch_kernel(launch::Contract& contract, const Kernel& kernel, launch::Dim3 grid,
                   std::vector<NamedArgument> arguments);

namespace detail {

// Whether the arguments fit the list, one by one; flat, so that a mistake is reported from one level below the caller.
template <class Entry, class Given>
constexpr bool is_given() {
  using T = typename std::decay_t<decltype(boost::hana::second(std::declval<Entry>()))>::type;
  using Key = std::decay_t<decltype(boost::hana::first(std::declval<Entry>()))>;
  if constexpr (!decltype(boost::hana::contains(std::declval<Given>(), Key{}))::value) return false;
  else return accepts<T, std::decay_t<decltype(boost::hana::at_key(std::declval<Given>(), Key{}))>>;
}
template <class Given, class... Entries>
constexpr bool all_given(const boost::hana::tuple<Entries...>*) {
  return (is_given<Entries, Given>() && ...);
}

// A value as the parameter's type takes it.
inline GlobalTensor given_to(GlobalTensor t) { return t; }
inline launch::TensorMap given_to(launch::TensorMap m) { return m; }
inline std::string given_to(std::string buffer) { return buffer; }
inline std::string given_to(const char* buffer) { return buffer; }
template <class V>
  requires std::is_integral_v<V>
std::uint64_t given_to(V value) {
  return std::uint64_t(value);
}

}  // namespace detail

/// The same where the parameter list is a type: a mistake fails to compile with [dsl-launch-arguments].
template <class List, Name... names, class... Values>
void launch_kernel(launch::Contract& contract, const Kernel& kernel, const List&, launch::Dim3 grid,
                   Argument<names, Values>... arguments) {
  using Given = decltype(boost::hana::make_map(boost::hana::make_pair(detail::key<names>, arguments.value)...));
  constexpr bool fits = sizeof...(names) == decltype(boost::hana::size(std::declval<List>()))::value &&
                        detail::all_given<Given>(static_cast<const List*>(nullptr));
  rules::require<rules::launch_arguments(fits)>();
  if constexpr (fits)
    launch_kernel(contract, kernel, grid,
                  {NamedArgument{detail::stored<names>.text, detail::given_to(std::move(arguments.value))}...});
}

}  // namespace kiln::dsl
