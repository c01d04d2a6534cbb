// Handlers for operations that work lane by lane on values of one type, and the choice of the one for a PTX type.
#pragma once

#include <cstdint>

#include "ptx/isa/types.hpp"
#include "sim/core/lanes.hpp"
#include "sim/core/machine.hpp"
#include "sim/ops/binder.hpp"

namespace kiln::sim {

template <class Op, class T, class R = T>
Status unary(Context& c, const Inst& i, Mask lanes) {
  auto* d = c.lanes<Word<R>>(i.d);
  const auto* a = c.lanes<Word<T>>(i.a);
  for_lanes(lanes, [=](int l) { d[l] = to_word<R>(Op::apply(from_word<T>(a[l]))); });
  return Status::next;
}

template <class Op, class T, class R = T, class B = T>
Status binary(Context& c, const Inst& i, Mask lanes) {
  auto* d = c.lanes<Word<R>>(i.d);
  const auto* a = c.lanes<Word<T>>(i.a);
  const auto* b = c.lanes<Word<B>>(i.b);
  for_lanes(lanes, [=](int l) { d[l] = to_word<R>(Op::apply(from_word<T>(a[l]), from_word<B>(b[l]))); });
  return Status::next;
}

template <class Op, class T, class R = T, class C = R>
Status ternary(Context& c, const Inst& i, Mask lanes) {
  auto* d = c.lanes<Word<R>>(i.d);
  const auto* a = c.lanes<Word<T>>(i.a);
  const auto* b = c.lanes<Word<T>>(i.b);
  const auto* e = c.lanes<Word<C>>(i.c);
  for_lanes(lanes,
            [=](int l) { d[l] = to_word<R>(Op::apply(from_word<T>(a[l]), from_word<T>(b[l]), from_word<C>(e[l]))); });
  return Status::next;
}

/// What carries a C++ type to a generic lambda.
template <class T>
struct As {
  using type = T;
};

/// Calls f(As<T>{}) with the C++ integer that a PTX integer or untyped type is; a null handler for any other type.
template <class F>
Handler with_integer(isa::ScalarType t, F f) {
  using isa::ScalarType;
  switch (t) {
    case ScalarType::u16:
    case ScalarType::b16: return f(As<std::uint16_t>{});
    case ScalarType::s16: return f(As<std::int16_t>{});
    case ScalarType::u32:
    case ScalarType::b32: return f(As<std::uint32_t>{});
    case ScalarType::s32: return f(As<std::int32_t>{});
    case ScalarType::u64:
    case ScalarType::b64: return f(As<std::uint64_t>{});
    case ScalarType::s64: return f(As<std::int64_t>{});
    default: return nullptr;
  }
}

/// The handler of an operation with one or two sources of an integer type.
template <class Op>
Handler one(isa::ScalarType t) {
  return with_integer(t, [](auto as) -> Handler { return unary<Op, typename decltype(as)::type>; });
}
template <class Op>
Handler two(isa::ScalarType t) {
  return with_integer(t, [](auto as) -> Handler { return binary<Op, typename decltype(as)::type>; });
}

/// Resolves d and the sources a, b, c of a one-type operation.
inline void operands(Binder& binder, const ops::Alu& alu, Inst& inst, isa::ScalarType type, int sources) {
  inst.d = binder.result(alu.d, type).offset;
  if (sources > 0) inst.a = binder.source(alu.a, type).offset;
  if (sources > 1) inst.b = binder.source(alu.b, type).offset;
  if (sources > 2) inst.c = binder.source(alu.c, type).offset;
}

// The two halves of the family `arithmetic`: types of integers, and of floating-point numbers.
void bind_integer(Binder& binder, const ir::Operation& op, const ops::Alu& alu, Inst& inst);
void bind_float(Binder& binder, const ir::Operation& op, const ops::Alu& alu, Inst& inst);

/// ret of a device function.
void bind_return(Binder& binder, Inst& inst);

/// Registers that count time, which mov and cvt read anew at each execution.
bool is_clock(const ir::Argument& a);
void bind_clock(Binder& binder, const ir::Operation& op, const ops::Alu& alu, Inst& inst);

}  // namespace kiln::sim
