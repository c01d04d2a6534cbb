// Handlers: for functions, and for operations that work lane by lane on values of one type, and the choice of the one
// for a PTX type. An operation is the type of a function object without state.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>

#include "ptx/isa/types.hpp"
#include "sim/core/convergence.hpp"
#include "sim/core/lanes.hpp"
#include "sim/core/machine.hpp"
#include "sim/ops/binder.hpp"

namespace kiln::sim {

/// The handler of a function that executes an instruction and always goes on to the next.
template <void (*execute)(Context&, const Inst&, Mask)>
Status goes_on(Context& c, const Inst& i, Mask lanes) {
  execute(c, i, lanes);
  return Status::next;
}
/// The same of an instruction that a whole warp executes together.
template <void (*execute)(Context&, const Inst&, Mask)>
Status warp_wide(Context& c, const Inst& i, Mask lanes) {
  if (!whole_warp(c, i, lanes)) return Status::blocked;
  execute(c, i, lanes);
  return Status::next;
}

/// Writes one word to these lanes of a register.
inline void fill_lanes(Context& c, u32 offset, Mask lanes, u32 word) {
  auto* d = c.lanes<u32>(offset);
  for_lanes(lanes, [=](int l) { d[l] = word; });
}

template <class Op, class T, class R = T>
Status unary(Context& c, const Inst& i, Mask lanes) {
  auto* d = c.lanes<Word<R>>(i.d);
  const auto* a = c.lanes<Word<T>>(i.a);
  for_lanes(lanes, [=](int l) { d[l] = to_word<R>(Op{}(from_word<T>(a[l]))); });
  return Status::next;
}

template <class Op, class T, class R = T, class B = T>
Status binary(Context& c, const Inst& i, Mask lanes) {
  auto* d = c.lanes<Word<R>>(i.d);
  const auto* a = c.lanes<Word<T>>(i.a);
  const auto* b = c.lanes<Word<B>>(i.b);
  for_lanes(lanes, [=](int l) { d[l] = to_word<R>(Op{}(from_word<T>(a[l]), from_word<B>(b[l]))); });
  return Status::next;
}

template <class Op, class T, class R = T, class C = R, class B = T>
Status ternary(Context& c, const Inst& i, Mask lanes) {
  auto* d = c.lanes<Word<R>>(i.d);
  const auto* a = c.lanes<Word<T>>(i.a);
  const auto* b = c.lanes<Word<B>>(i.b);
  const auto* e = c.lanes<Word<C>>(i.c);
  for_lanes(lanes, [=](int l) { d[l] = to_word<R>(Op{}(from_word<T>(a[l]), from_word<B>(b[l]), from_word<C>(e[l]))); });
  return Status::next;
}

/// What carries a C++ type to a generic lambda: []<class T>(As<T>) { ... }.
template <class T>
struct As {};

/// Calls f(As<T>{}) with the C++ integer that a PTX integer or untyped type is; a null handler for any other type.
template <class F>
Handler with_integer(ScalarType t, F f) {
  switch (t) {
    case ScalarType::u16:
    case ScalarType::b16: return f(As<u16>{});
    case ScalarType::s16: return f(As<std::int16_t>{});
    case ScalarType::u32:
    case ScalarType::b32: return f(As<u32>{});
    case ScalarType::s32: return f(As<std::int32_t>{});
    case ScalarType::u64:
    case ScalarType::b64: return f(As<u64>{});
    case ScalarType::s64: return f(As<std::int64_t>{});
    default: return nullptr;
  }
}

/// The handler of an operation with one or two sources of an integer type.
template <class Op>
Handler one(ScalarType t) {
  return with_integer(t, []<class T>(As<T>) -> Handler { return unary<Op, T>; });
}
template <class Op>
Handler two(ScalarType t) {
  return with_integer(t, []<class T>(As<T>) -> Handler { return binary<Op, T>; });
}

/// Resolves d and as many of the sources a, b, c as there are types for them.
inline void operands(Binder& binder, const ops::Alu& alu, Inst& inst, ScalarType d,
                     std::span<const ScalarType> sources) {
  inst.d = binder.result(alu.d, d).offset;
  if (sources.size() > 0) inst.a = binder.source(alu.a, sources[0]).offset;
  if (sources.size() > 1) inst.b = binder.source(alu.b, sources[1]).offset;
  if (sources.size() > 2) inst.c = binder.source(alu.c, sources[2]).offset;
}
inline void operands(Binder& binder, const ops::Alu& alu, Inst& inst, ScalarType d,
                     std::initializer_list<ScalarType> sources) {
  operands(binder, alu, inst, d, std::span(sources.begin(), sources.size()));
}
/// The same of a one-type operation.
inline void operands(Binder& binder, const ops::Alu& alu, Inst& inst, ScalarType type, int sources) {
  const ScalarType types[] = {type, type, type};
  operands(binder, alu, inst, type, std::span(types, std::size_t(sources)));
}

// The two halves of the family `arithmetic`: types of integers, and of floating-point numbers.
void bind_integer(Binder& binder, const ir::Operation& op, const ops::Alu& alu, Inst& inst);
void bind_float(Binder& binder, const ir::Operation& op, const ops::Alu& alu, Inst& inst);
/// Of bind_float: instructions that name the types of their sources.
void bind_mixed_float(Binder& binder, const ir::Operation& op, const ops::Alu& alu, Inst& inst);

/// The selectors that prmt takes from its third operand: four nibbles.
u32 prmt_selector(isa::PrmtMode mode, u32 control);

/// ret of a device function.
void bind_return(Binder& binder, Inst& inst);

/// mov and cvt of a register that counts time.
bool is_clock(const ir::Argument& a);
void bind_clock(Binder& binder, const ir::Operation& op, const ops::Alu& alu, Inst& inst);

}  // namespace kiln::sim
