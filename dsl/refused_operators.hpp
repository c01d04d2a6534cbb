// Operators of values that are there only to explain, as macros for the classes of values. A class has them as members:
// g++ says a mistake with a free function twice.
#pragma once
#pragma GCC system_header  // keeps the expansions out of the user's errors

#include "ptx/rules/require.hpp"

// What would change a value is here only to explain.
#define KILN_IMMUTABLE(Self, op)                                                                                   \
  template <class T>                                                                                               \
    requires(true)                                                                                                 \
  KILN_REFUSED(value_assignment, "device values are immutable; keep state that changes in a Var: auto v = t.var(x) " \
                                 "[dsl-value-assignment]")                                                         \
  Self& operator op(T&&);
#define KILN_IMMUTABLE_VALUE(Self)                                                                                   \
  KILN_IMMUTABLE(Self, =)                                                                                            \
  KILN_IMMUTABLE(Self, +=)                                                                                           \
  KILN_IMMUTABLE(Self, -=)                                                                                           \
  KILN_IMMUTABLE(Self, *=)                                                                                           \
  KILN_IMMUTABLE(Self, /=)                                                                                           \
  KILN_IMMUTABLE(Self, %=)                                                                                           \
  KILN_IMMUTABLE(Self, &=)                                                                                           \
  KILN_IMMUTABLE(Self, |=)                                                                                           \
  KILN_IMMUTABLE(Self, ^=)                                                                                           \
  KILN_IMMUTABLE(Self, <<=)                                                                                          \
  KILN_IMMUTABLE(Self, >>=)                                                                                          \
  KILN_NO_STEP(Self, operator++())                                                                                   \
  KILN_NO_STEP(Self, operator++(int))                                                                                \
  KILN_NO_STEP(Self, operator--())                                                                                   \
  KILN_NO_STEP(Self, operator--(int))
#define KILN_NO_STEP(Self, declaration)                                                                              \
  template <class T = int>                                                                                           \
    requires(true)                                                                                                   \
  KILN_REFUSED(value_assignment, "device values are immutable; a loop that counts is t.loop(n, [&](U32 i) { ... }) " \
                                 "[dsl-value-assignment]")                                                           \
  Self& declaration;
// Operators on two values of different kinds, and on a value that is no predicate, are here only to explain.
#define KILN_TWO_KINDS(Self, Result, op)                                                                             \
  template <class B>                                                                                                 \
    requires(OfTwoKinds<Self, B>)                                                                                    \
  KILN_REFUSED(value_kind, "an operation takes values of its own kinds; convert<To>(x), bit_cast<To>(x), widen(x) "  \
                           "and narrow(x) change a kind [dsl-value-kind]")                                           \
  Result operator op(const B&) const;
#define KILN_ONE_KIND(Self, Result)     \
  KILN_TWO_KINDS(Self, Result, +)       \
  KILN_TWO_KINDS(Self, Result, -)       \
  KILN_TWO_KINDS(Self, Result, *)       \
  KILN_TWO_KINDS(Self, Result, /)       \
  KILN_TWO_KINDS(Self, Result, %)       \
  KILN_TWO_KINDS(Self, Result, &)       \
  KILN_TWO_KINDS(Self, Result, |)       \
  KILN_TWO_KINDS(Self, Result, ^)       \
  KILN_TWO_KINDS(Self, Result, <<)      \
  KILN_TWO_KINDS(Self, Result, >>)      \
  KILN_TWO_KINDS(Self, Pred, ==)        \
  KILN_TWO_KINDS(Self, Pred, !=)        \
  KILN_TWO_KINDS(Self, Pred, <)         \
  KILN_TWO_KINDS(Self, Pred, <=)        \
  KILN_TWO_KINDS(Self, Pred, >)         \
  KILN_TWO_KINDS(Self, Pred, >=)        \
  KILN_NO_PREDICATE(Self, &&)           \
  KILN_NO_PREDICATE(Self, ||)
#define KILN_NO_PREDICATE(Self, op)                                                                                   \
  template <class B>                                                                                                  \
    requires(!std::is_same_v<Self, B> || !std::is_same_v<Self, Pred>)                                                 \
  KILN_REFUSED(value_kind, "&& and || take predicates: compare a value, as in x != 0, to make one [dsl-value-kind]")  \
  Pred operator op(const B&) const;
// A device value has no truth on the host.
#define KILN_NO_HOST_CONDITION(text)                        \
  template <class T = void>                                 \
    requires(true)                                          \
  KILN_REFUSED(host_condition, text " [dsl-host-condition]") \
  explicit operator bool() const;
