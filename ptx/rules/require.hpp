// The compile-time consumer of verdicts. A broken rule fails a static_assert that carries its catalogue text; the
// template arguments make both compilers print the value the user wrote and the nearest legal one.
#pragma once
#pragma GCC system_header  // keeps the table's macro expansions out of the user's errors

#include <string_view>
#include <type_traits>

#include "ptx/rules/verdict.hpp"

namespace kiln::rules {

/// Carriers that give the two numbers in a message their names.
template <std::int64_t value> struct given {};
template <std::int64_t value> struct nearest {};

template <class...> inline constexpr bool holds = false;

/// Instantiated with a broken rule, fails to compile with that rule's text. Rule::none has nothing to say.
template <Rule broken, class Given, class Nearest, class... Context> struct Require {};

#define RULE(id, slug, severity, seen, given, must, reference)                 \
  template <class Given, class Nearest, class... Context>                      \
  struct Require<Rule::id, Given, Nearest, Context...> {                       \
    static_assert(holds<Given, Nearest, Context...>, must " [" slug "]");      \
  };
#include "ptx/rules/rules.def"
#undef RULE

/// Asks a verdict at compile time: `require<rule(...)>();` where the operands are template arguments.
/// `Context`: the user's types, which the message then shows.
template <Verdict v, class... Context>
constexpr auto require() {
  (void)Require<v.ok() ? Rule::none : v.rule, given<v.given>, nearest<v.nearest>, Context...>{};
}

/// Fails with a rule's text whenever it is instantiated: for overloads that exist only to explain. At least one of
/// `Context` must depend on the caller's template parameters, or the overload fails where it is written.
template <Rule r, class... Context>
using refuse = Require<is_switched_off(r) ? Rule::none : r, given<0>, nearest<0>, Context...>;

/// An argument of any type, by a conversion: an overload that takes its arguments as they are is a better one.
struct Whatever {
  Whatever() {}
  template <class T>
  Whatever(const T&) {}
};

/// The same of what is no name.
struct NoName {
  NoName() {}
  template <class T>
    requires(!std::is_convertible_v<const T&, std::string_view>)
  NoName(const T&) {}
};

/// What a refused call answers: whatever is made of it, so that the mistake is one error.
struct Refused {
  template <class T>
  operator T() const;
};

}  // namespace kiln::rules

/// Marks an overload that exists only to explain: a call of it is an error at the caller's line, with that text. It
/// follows the parentheses of a requires clause: `requires(...) KILN_REFUSED(rule, "... [slug]") void f();`. It is for
/// members; of a constructor that converts it is KILN_REFUSED_CONVERSION: clang++ 14 does not see the one, and sees the
/// other twice where it is no constructor.
/// g++ 12 reports the call of a free function twice, so there the last parameter refuses, by a default argument:
///
///     #define KILN_TEXT "... [slug]"
///     KILN_REASON(NoFloat, rule, KILN_TEXT)
///     template <class X> requires(...) KILN_REFUSED_FUNCTION(rule, KILN_TEXT) F32 f(const X&, NoFloat = {});
///
/// KILN_OTHERWISE(rule, text) Result name(KILN_WHATEVER); is the member for a call that no other overload takes;
/// KILN_NO_NAME stands for KILN_WHATEVER where a right call may have a name alone. KILN_OTHERWISE_OF(rule, text, class,
/// auto...) is for template arguments that no right call has.
#if defined(KILN_BREAK_RULE)
#define KILN_REFUSED(rule, text) &&(!::kiln::rules::is_switched_off(::kiln::rules::Rule::rule))
#define KILN_REFUSED_CONVERSION(rule, text) KILN_REFUSED(rule, text)
#define KILN_REFUSED_FUNCTION(rule, text) KILN_REFUSED(rule, text)
#define KILN_REASON(Name, rule, text) struct Name {};
#elif defined(__clang__)
#define KILN_REFUSED(rule, text) __attribute__((diagnose_if(true, text, "error")))
#define KILN_REFUSED_CONVERSION(rule, text) __attribute__((unavailable(text)))
#define KILN_REFUSED_FUNCTION(rule, text) KILN_REFUSED(rule, text)
#define KILN_REASON(Name, rule, text) struct Name {};
#else
#define KILN_REFUSED(rule, text) __attribute__((unavailable(text)))
#define KILN_REFUSED_CONVERSION(rule, text) KILN_REFUSED(rule, text)
#define KILN_REFUSED_FUNCTION(rule, text)
#define KILN_REASON(Name, rule, text)   \
  struct Name {                         \
    template <class T = void>           \
      requires(true)                    \
    KILN_REFUSED(rule, text) Name() {}  \
  };
#endif
#define KILN_OTHERWISE(rule, text) template <auto...> requires(true) KILN_REFUSED(rule, text)
#define KILN_OTHERWISE_OF(rule, text, ...) template <__VA_ARGS__> requires(true) KILN_REFUSED(rule, text)
#define KILN_WHATEVER                                                                                        \
  ::kiln::rules::Whatever = {}, ::kiln::rules::Whatever = {}, ::kiln::rules::Whatever = {},                  \
  ::kiln::rules::Whatever = {}, ::kiln::rules::Whatever = {}, ::kiln::rules::Whatever = {}
#define KILN_NO_NAME \
  ::kiln::rules::NoName = {}, ::kiln::rules::Whatever = {}, ::kiln::rules::Whatever = {}, ::kiln::rules::Whatever = {}
