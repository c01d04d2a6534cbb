// The tensor core as one thread drives it: tcgen05.mma and its completion.
#pragma once

#include "dsl/copies.hpp"
#include "ptx/rules/tcgen05_mma.hpp"

namespace kiln::dsl {

/// The tensor core's side of a thread.
class TensorCore : public Copies {
 public:
  using Copies::Copies;

  /// Arrives on `b` once every earlier MMA of this thread has completed.
  void commit(const Mbarrier& b, Here at = {});

  /// D = A * B, or D += A * B: kind::f16, one CTA.
  template <class D, int M, int N, class ATile, class BTile>
  void mma(const Tmem<D, M, N>& d, const KSlice<ATile>& a, const KSlice<BTile>& b, const EnableInputD& p, Here at = {}) {
    using namespace rules;
    using A = typename ATile::element;
    using B = typename BTile::element;
    constexpr auto kind = isa::MmaKind::f16;
    constexpr auto group = isa::CtaGroup::one;
    constexpr int k = isa::mma_k(kind);
    require<first(mma_types(kind, A::scalar, B::scalar), mma_accumulator(kind, A::scalar, D::scalar))>();
    require<first(mma_m(group, M), mma_n(kind, group, N))>();
    require<mma_operands(M, N, k, ATile::rows, ATile::cols, BTile::rows, BTile::cols)>();
    require<first(sdesc_atom32(kind, ATile::order, ATile::swizzle),
                        sdesc_atom32(kind, BTile::order, BTile::swizzle))>();
    isa::InstructionDescriptorFields f;
    f.d_type = isa::d_type_code(D::scalar).value_or(0);
    f.a_type = isa::operand_type_code(kind, A::scalar).value_or(0);
    f.b_type = isa::operand_type_code(kind, B::scalar).value_or(0);
    f.a_major = ATile::order;
    f.b_major = BTile::order;
    f.m = M;
    f.n = N;
    tcgen05_mma_f16(d.address(at), descriptor(a.address, ATile::descriptor(), a.offset, at),
                    descriptor(b.address, BTile::descriptor(), b.offset, at), isa::pack(f, kind), p, at);
  }

  /// tcgen05.mma.cta_group::1.kind::f16 with every operand given: the form without checks on shapes.
  void tcgen05_mma_f16(const U32& d_tmem, const U64& a_descriptor, const U64& b_descriptor, std::uint32_t idesc,
                       const EnableInputD& p, Here at = {});
  /// The matrix descriptor of a shared address: constant bits plus (address + offset) >> 4.
  U64 descriptor(const U32& address, std::uint64_t constant, int offset, Here at = {});
};

}  // namespace kiln::dsl
