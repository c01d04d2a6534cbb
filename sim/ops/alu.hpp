// Handlers for operations that work lane by lane on values of one type, and the choice of the one for a PTX type.
#pragma once

#include <cstdint>

#include "ptx/isa/types.hpp"
#include "sim/core/lanes.hpp"
#include "sim/ops/binder.hpp"
#include "sim/core/machine.hpp"

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

/// Resolves d and the sources a, b, c of a one-type operation.
inline void operands(Binder& l, const ir::Operation& op, Inst& inst, isa::ScalarType type, int sources) {
  inst.d = l.result(op.arg(0), type).offset;
  if (sources > 0) inst.a = l.source(op.arg(1), type).offset;
  if (sources > 1) inst.b = l.source(op.arg(2), type).offset;
  if (sources > 2) inst.c = l.source(op.arg(3), type).offset;
}

}  // namespace kiln::sim
