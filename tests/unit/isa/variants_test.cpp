// The taxonomy: ten names, six instructions.
#include <doctest/doctest.h>

#include <boost/hana/size.hpp>

#include "ptx/isa/variants.hpp"

using namespace kiln::isa;

TEST_CASE("S2-30: of ten variants, six are instructions, two are aliases and two are nothing") {
  CHECK(decltype(boost::hana::size(variants))::value == 10);
  int instructions = 0, aliases = 0, nothing = 0;
  boost::hana::for_each(variants, [&](auto t) {
    using Type = typename decltype(t)::type;
    instructions += Type::info.encoding == Encoding::instruction;
    aliases += Type::info.encoding == Encoding::alias;
    nothing += Type::info.encoding == Encoding::nothing;
    CHECK(Type::info.variant == Type::variant);
    CHECK((Type::info.encoding == Encoding::nothing) == Type::info.mnemonic.empty());
  });
  CHECK(instructions == 6);
  CHECK(aliases == 2);
  CHECK(nothing == 2);
}

TEST_CASE("S2-36, S2-37, S2-50: the warp-specialized rows are aliases or nothing") {
  CHECK(encoded_variant(Variant::warp_specialized_dense) == Variant::ws_dense);
  CHECK(encoded_variant(Variant::warp_specialized_sparse) == Variant::ws_sparse);
  CHECK_FALSE(encoded_variant(Variant::warp_specialized_scaled));
  CHECK_FALSE(encoded_variant(Variant::warp_specialized_scaled_sparse));
  CHECK(encoded_variant(Variant::dense) == Variant::dense);
}

TEST_CASE("S2-43, S2-45, S2-49: A may come from shared memory in every instruction") {
  for (Variant v : {Variant::dense, Variant::sparse, Variant::ws_dense, Variant::ws_sparse, Variant::scaled_dense,
                    Variant::scaled_sparse}) {
    CHECK(info(v).contract.a == Residency::either);
    CHECK(info(v).contract.b == Residency::shared_descriptor);
  }
  CHECK(info(Variant::sparse).published.a == Residency::tensor_memory);  // as the document has it
}

TEST_CASE("a form is classified by what it is") {
  CHECK(classify({.kind = MmaKind::f16}) == Variant::dense);
  CHECK(classify({.kind = MmaKind::f16, .sparse = true}) == Variant::sparse);
  CHECK(classify({.kind = MmaKind::f16, .ws = true}) == Variant::ws_dense);
  CHECK(classify({.kind = MmaKind::f16, .sparse = true, .ws = true}) == Variant::ws_sparse);
  CHECK(classify({.kind = MmaKind::mxf4, .block_scale = true}) == Variant::scaled_dense);
  CHECK(classify({.kind = MmaKind::mxf4, .sparse = true, .block_scale = true}) == Variant::scaled_sparse);
  CHECK(classify({.kind = MmaKind::mxf4, .ws = true, .block_scale = true}) == Variant::warp_specialized_scaled);
}

TEST_CASE("S2-55: the idiom table selects its variants") {
  for (const Idiom& i : idioms) CHECK(select_variant(i.traits) == i.variant);
  CHECK(select_variant({.structured_sparsity = true, .reuses_stationary_operand = true}) == Variant::ws_sparse);
  CHECK(select_variant({.structured_sparsity = true, .shared_across_experts = true}) == Variant::warp_specialized_sparse);
  // Scales win: no weight-stationary instruction takes them.
  CHECK(select_variant({.microscaled = true, .reuses_stationary_operand = true}) == Variant::scaled_dense);
}

TEST_CASE("a run-time variant dispatches to its type") {
  int calls = 0;
  dispatch(Variant::ws_sparse, [&](auto t) {
    ++calls;
    CHECK(decltype(t)::variant == Variant::ws_sparse);
  });
  CHECK(calls == 1);
}
