// Execution scopes: the threads that execute what follows. Which instructions a scope may issue is which members it
// has; members that only refuse say which scope has the instruction. What all scopes share is a chain: mbarriers,
// fences, the cluster, and here control flow and state. thread.hpp has one thread, warp.hpp whole warps.
#pragma once

#include "ptx/rules/require.hpp"  // first: a broken rule is then two includes away from the user's file

#include <array>
#include <bit>
#include <functional>
#include <string>
#include <type_traits>
#include <vector>

#include "dsl/bare_ptx.hpp"
#include "dsl/memory.hpp"
#include "dsl/registers.hpp"
#include "dsl/schedule.hpp"
#include "dsl/shared_access.hpp"
#include "dsl/vars.hpp"
#include "ptx/rules/dsl.hpp"
#include "ptx/rules/mbarrier.hpp"
#include "ptx/rules/target.hpp"

namespace kiln::dsl {

/// What a body's result says about the body.
template <class Result>
inline constexpr rules::Verdict body_verdict = rules::body_result(std::is_void_v<Result>);

/// Whether a loop goes over tiles, and gives its body their places.
template <class Trips>
inline constexpr bool loops_over_tiles =
    std::is_same_v<Trips, StaticTiles> || std::is_same_v<Trips, LaunchControlTiles>;

/// elect.sync in a converged warp: the predicate that holds in the elected lane.
ir::Operand elect_leader(Recorder& r, Here at);

/// The format of printf and its line.
struct PrintFormat {
  PrintFormat(const char* text, Here at = {}) : text(text), at(at) {}
  std::string text;
  Here at;
};
/// A value that is printed, or a text that the host has.
struct PrintArgument {
  ScalarType type = ScalarType::none;  // none: a text
  ir::Operand value{};
  std::string text{};
};
/// Whether something is one of them.
template <class X>
inline constexpr bool is_printed = HasKind<X> || std::is_convertible_v<X, std::string>;
/// What a module that prints declares: vprintf and the texts, and in the kernel the bytes of the arguments.
void append_prints(const Recorder& r, ir::Module& module);
std::optional<ir::Variable> print_arguments(const Recorder& r);

/// What every scope can do: control flow, state, waiting, and bare PTX.
class Scope : public SharedAccess {
 public:
  /// `converged`: whole warps execute this, and must find together again after a branch.
  Scope(Recorder& r, RoleContext& role, bool converged) : SharedAccess(r, role), converged_(converged) {}

  /// Repeats the body for i = 0 ... trips - 1; zero trips are possible.
  template <class Body>
  void loop(OperandOf<U32> trips, Body body) {
    rules::require<body_verdict<decltype(body(std::declval<U32>()))>>();
    loop_over(trips, [&](const U32& i) { body(i); });
  }

  /// Once for every tile that the schedule gives this CTA or pair, in the same order in every role; maybe never.
  template <class Body>
    requires(std::is_invocable_v<Body&, TilePlace>)
  void loop(const StaticTiles& tiles, Body body, Here at = {}) {
    rules::require<body_verdict<decltype(body(std::declval<TilePlace>()))>>();
    loop_over({tiles.trips, at}, [&](const U32& i) {
      body(tiles.place(apply("add", tiles.first, apply("mul.lo", i, tiles.step, at), at), at));
    });
  }

  // Here only to explain: a body that does not take what the loop gives it.
  template <class Trips, class Body>
    requires(!std::is_invocable_v<Body&, std::conditional_t<loops_over_tiles<Trips>, TilePlace, U32>>)
  KILN_REFUSED(arguments, "loop(trips, [&](U32 i) { ... }): the body takes the index; over tiles, loop(tiles, "
                          "[&](TilePlace at) { ... }) [dsl-arguments]")
  void loop(const Trips&, Body, Here = {}) {}

  KILN_OTHERWISE(arguments, "loop(trips, [&](U32 i) { ... }): how often, from 0 on, and what is done; over tiles, "
                            "loop(tiles, [&](TilePlace at) { ... }) [dsl-arguments]")
  void loop(KILN_WHATEVER);

  /// Executes the body where `p` holds.
  template <class Body>
  void when(const Pred& p, Body body, Here at = {}) {
    rules::require<body_verdict<decltype(body())>>();
    when_else(p, [&] { body(); }, nullptr, at);
  }
  template <class Body, class Otherwise>
    requires std::is_invocable_v<Otherwise>
  void when(const Pred& p, Body body, Otherwise otherwise, Here at = {}) {
    rules::require<body_verdict<decltype(body())>>();
    rules::require<body_verdict<decltype(otherwise())>>();
    when_else(p, [&] { body(); }, [&] { otherwise(); }, at);
  }

  // Here only to explain: no predicate, or a body that wants something.
  template <class P, class... Rest>
    requires(!std::is_convertible_v<P, Pred>)
  KILN_REFUSED(value_kind, "when(predicate, [&] { ... }): compare a value, as in x != 0, to make a predicate "
                           "[dsl-value-kind]")
  void when(const P&, const Rest&...) {}
  template <class Body>
    requires(!std::is_invocable_v<Body>)
  KILN_REFUSED(arguments, "when(predicate, [&] { ... }): the body takes nothing [dsl-arguments]")
  void when(const Pred&, Body, Here = {}) {}
  KILN_OTHERWISE(arguments, "when(predicate, [&] { ... }): what is done where it holds, and, after it, elsewhere "
                            "[dsl-arguments]")
  void when(KILN_WHATEVER);

  /// Ends the role for the threads where `p` holds: they skip what follows in its body. What every role does at its end
  /// they still do: its copies and the peer's arrivals are waited for, tensor memory is freed after all. Of a warp or a
  /// warpgroup all lanes of a warp must agree where something after it needs whole warps. A ring's other roles must end
  /// for the same reason, or wait for ever; `kiln check` follows that where they ask the same words.
  void exit_when(const Pred& p, Here at = {});
  // Here only to explain: no predicate.
  template <class P>
    requires(!std::is_convertible_v<P, Pred>)
  KILN_REFUSED(value_kind, "exit_when(predicate): compare a value, as in n == 0, to make a predicate [dsl-value-kind]")
  void exit_when(const P&, Here = {}) {}

  /// State that may be assigned, with its first value: of that value's kind, U32 of a host integer, F32 of a float.
  template <class X>
  Var<kind_of<X>> var(const X& first, Here at = {}) {
    using V = kind_of<X>;
    return {*rec_, new_variable(V::scalar, OperandOf<V>(first, at).input())};
  }
  /// N of them in a row, all with that first value: `auto sums = g.vars<128>(0.0f); sums[i] += x;` with `i` a host
  /// integer, for registers have no addresses.
  template <int N, class X>
    requires(N >= 1)
  Vars<kind_of<X>, N> vars(const X& first, Here at = {}) {
    std::vector<Var<kind_of<X>>> all;
    for (int i = 0; i < N; ++i) all.push_back(var(first, at));
    return {*rec_, std::move(all)};
  }

  // Here only to explain: no number to begin with.
  KILN_OTHERWISE(value_kind, "var(first): a number or a value of the variable's kind; load(...) reads a tile or an "
                             "accumulator, a predicate is kept as a U32 of select(p, 1, 0) [dsl-value-kind]")
  Var<U32> var(KILN_WHATEVER);
  KILN_OTHERWISE(arguments, "vars<N>(first): N variables in a row, one at least, all with that first number or value "
                            "[dsl-arguments]")
  Vars<U32, 1> vars(KILN_WHATEVER);

  /// Stops the kernel with an error, everywhere or where the predicate holds: for what must not happen. PTX ISA "trap".
  void trap(Here at = {});
  void trap_if(const Pred& p, Here at = {});
  KILN_OTHERWISE(value_kind, "trap_if(predicate): compare a value, as in x != 0, to make one [dsl-value-kind]")
  void trap_if(KILN_WHATEVER);
  KILN_OTHERWISE(arguments, "trap() stops the kernel, trap_if(predicate) where that holds [dsl-arguments]")
  void trap(KILN_WHATEVER);

  /// Prints, once for each thread: `t.printf("tile %u: %f\n", i, x)`. %d %i %u %x %o %c take U32 and S32, with ll U64,
  /// %f %e %g F32, %s a host string. The simulator prints on stdout. CUDA C++ Programming Guide, "Formatted Output".
  template <class... Values>
    requires(... && is_printed<Values>)
  void printf(const PrintFormat& format, const Values&... values) {
    print(format, {argument(values, format.at)...});
  }
  // Here only to explain.
  template <class... Values>
    requires(!(... && is_printed<Values>))
  KILN_REFUSED(value_kind, "printf(format, ...) prints numbers, U32, S32, U64 or F32, and host strings; registers[i] "
                           "is "
                           "a value [dsl-value-kind]")
  void printf(const PrintFormat& format, const Values&... values);
  template <class X, class... Values>
    requires(!std::is_convertible_v<X, PrintFormat>)
  KILN_REFUSED(arguments, "printf(format, ...): printf(\"%f\\n\", x) [dsl-arguments]")
  void printf(const X&, const Values&...);

  /// A bare PTX instruction, for what no member has, with its signature: `const U32 bytes = g.ptx<"prmt.b32", U32(U32,
  /// U32, U32)>(a, b, 0x5410);`. The signature has the result, or void, and up to six operands: kinds of values, Pred,
  /// Address<U32> of shared and Address<U64> of global memory. Every type in the mnemonic must be the kind of the
  /// result or of an operand; .b32 and .b64 are integers. build() checks the rest of the instruction.
  template <Mnemonic mnemonic, class Signature, class A = detail::NoOperand, class B = detail::NoOperand,
            class C = detail::NoOperand, class D = detail::NoOperand, class E = detail::NoOperand,
            class F = detail::NoOperand>
    requires(detail::ptx_fault<mnemonic, Signature, A, B, C, D, E, F> == detail::PtxFault::none)
  detail::ptx_result<Signature> ptx(const A& a = {}, const B& b = {}, const C& c = {}, const D& d = {}, const E& e = {},
                                    const F& f = {}, Here at = {}) {
    auto operands = detail::PtxSignature<Signature>::operands(*rec_, at, a, b, c, d, e, f);
    using Result = detail::ptx_result<Signature>;
    if constexpr (std::is_void_v<Result>) ptx(mnemonic.view(), std::move(operands), at);
    else return {*rec_, bare(detail::ptx_register<Result>, mnemonic.view(), std::move(operands), at)};
  }
  // Here only to explain.
#define KILN_PTX_REFUSED(fault, rule, text)                                                                        \
  template <Mnemonic mnemonic, class Signature, class A = detail::NoOperand, class B = detail::NoOperand,          \
            class C = detail::NoOperand, class D = detail::NoOperand, class E = detail::NoOperand,                 \
            class F = detail::NoOperand>                                                                           \
    requires(detail::ptx_fault<mnemonic, Signature, A, B, C, D, E, F> == detail::PtxFault::fault)                  \
  KILN_REFUSED(rule, text)                                                                                         \
  detail::ptx_result<Signature> ptx(const A& = {}, const B& = {}, const C& = {}, const D& = {}, const E& = {},     \
                                    const F& = {}, Here = {});
  KILN_PTX_REFUSED(unknown, arguments, "PTX has no instruction of this name [dsl-arguments]")
  KILN_PTX_REFUSED(result, arguments, "the signature's result is void exactly where the instruction writes none "
                                      "[dsl-arguments]")
  KILN_PTX_REFUSED(arity, arguments, "the call has more or fewer operands than the signature [dsl-arguments]")
  KILN_PTX_REFUSED(types, value_kind, "the mnemonic's types are not the kinds of the signature: .f32 is an F32, .b32, "
                                      ".u32 and .s32 a U32 or S32, 64 bits a U64 [dsl-value-kind]")
  KILN_PTX_REFUSED(kinds, value_kind, "an operand is of another kind than the signature says; bit_cast<U32>(x) gives "
                                      "the bits of a float [dsl-value-kind]")
#undef KILN_PTX_REFUSED
#define KILN_PTX_TEXT \
  "ptx<\"prmt.b32\", U32(U32, U32, U32)>(a, b, c): the mnemonic and the signature, then the operands [dsl-arguments]"
  KILN_OTHERWISE_OF(arguments, KILN_PTX_TEXT, Mnemonic)
  rules::Refused ptx(KILN_WHATEVER);
  template <class... Operands>
    requires(sizeof...(Operands) != 1 || !(... && std::is_convertible_v<Operands, std::vector<ir::Operand>>))
  KILN_REFUSED(arguments, KILN_PTX_TEXT)
  rules::Refused ptx(const char*, const Operands&...);
#undef KILN_PTX_TEXT
  /// The same without a check: the mnemonic and its operands, vectors and predicates included.
  void ptx(std::string_view mnemonic, std::vector<ir::Operand> operands, Here at = {});
  /// 16 bytes of shared memory, at a multiple of 16.
  std::array<U32, 4> ld_shared_v4(const U32& address, Here at = {});
  void st_shared_v4(const U32& address, const std::array<U32, 4>& values, Here at = {});
  /// 16 bytes of global memory, at a multiple of 16.
  void st_global_v4(const U64& address, const std::array<U32, 4>& values, Here at = {});
  Registers<f32, 4> ld_global_v4_f32(const U64& address, Here at = {});
  /// One number of global memory.
  F32 ld_global_f32(const U64& address, Here at = {});
  KILN_OTHERWISE(arguments, "ld_global_f32(address): a U64, of an element pointer.at(index) [dsl-arguments]")
  F32 ld_global_f32(KILN_WHATEVER);
  /// The index of this warp in its CTA, and of this thread.
  U32 warp_index() const { return {*rec_, role_->warp}; }
  U32 thread_index() const { return {*rec_, role_->thread}; }

 protected:
  // For a scope that arrives in its own way.
  template <class Self, class Body>
  static void loop_answered(Self& self, const LaunchControlTiles& tiles, Body& body, Here at) {
    rules::require<body_verdict<decltype(body(std::declval<TilePlace>()))>>();
    Scope& scope = self;
    scope.loop_granted(tiles, [&](const U32& number) { body(tiles.grid.place(number, at)); },
                       [&](const AnyMbarrier& b) { self.arrive(b, at); }, at);
  }
  // Ends after the tile that no answer followed; `arrive` tells that the answer has been read.
  void loop_granted(const LaunchControlTiles& tiles, const std::function<void(const U32&)>& body,
                    const std::function<void(const AnyMbarrier&)>& arrive, Here at);
  void loop_over(OperandOf<U32> trips, const std::function<void(const U32&)>& body);
  void when_else(const Pred& p, const std::function<void()>& body, const std::function<void()>& otherwise, Here at);
  void before_tcgen05(Here at);

  ir::Operand bare(ScalarType type, std::string_view mnemonic, std::vector<ir::Operand> operands, Here at);
  ir::Operand new_variable(ScalarType type, const Input& first);
  void print(const PrintFormat& format, const std::vector<PrintArgument>& arguments);

 private:
  template <class X>
  PrintArgument argument(const X& value, Here at) {
    if constexpr (std::is_convertible_v<X, std::string>) {
      return {ScalarType::none, {}, value};
    } else {
      using V = kind_of<X>;
      return {V::scalar, use(*rec_, OperandOf<V>(value, at).input()), {}};
    }
  }

 protected:

  bool converged_;
};

}  // namespace kiln::dsl
