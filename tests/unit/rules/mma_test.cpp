#include "tests/unit/rules/switch.hpp"

#include "ptx/rules/tcgen05_mma.hpp"

using namespace kiln;
using namespace kiln::rules;
using isa::CtaGroup, isa::Major, isa::MmaKind, isa::ScalarType, isa::ScaleVector;
using kiln::test::is_broken;

TEST_CASE("tcgen05-mma-m: 64 and 128 for one CTA, 128 and 256 for two") {
  for (int m : {64, 128}) CHECK(mma_m(CtaGroup::one, m).ok());
  for (int m : {128, 256}) CHECK(mma_m(CtaGroup::two, m).ok());
  CHECK(is_broken(mma_m(CtaGroup::one, 32), Rule::mma_m, 64));
  CHECK(is_broken(mma_m(CtaGroup::one, 256), Rule::mma_m, 128));
  CHECK(is_broken(mma_m(CtaGroup::two, 64), Rule::mma_m, 128));
}

TEST_CASE("tcgen05-mma-lane: the first lane of a quarter, and the 16th where D leaves half of them free") {
  using isa::DataPath;
  for (const DataPath path :
       {DataPath::A, DataPath::B, DataPath::C, DataPath::D, DataPath::E, DataPath::F, DataPath::G}) {
    const bool half = path == DataPath::C || path == DataPath::F;
    for (int lane : {0, 32, 96}) CHECK(mma_lane(path, lane).ok());
    for (int lane : {16, 48}) CHECK(mma_lane(path, lane).ok() == half);
    for (int lane : {1, 8, 17, 31}) CHECK(is_broken(mma_lane(path, lane), Rule::mma_lane, 0));
  }
  CHECK(is_broken(mma_lane(DataPath::D, 48), Rule::mma_lane, 32));
}

TEST_CASE("tcgen05-mma-m: block-scaled kinds have less, .ws has more") {
  CHECK(is_broken(mma_m(CtaGroup::one, 64, MmaKind::mxf8f6f4), Rule::mma_m, 128));
  CHECK(mma_m(CtaGroup::two, 128, MmaKind::mxf4).ok());
  CHECK(is_broken(mma_m(CtaGroup::two, 128, MmaKind::mxf4, true), Rule::mma_m, 256));
  CHECK(mma_m(CtaGroup::two, 128, MmaKind::f16, true).ok());
  for (int m : {32, 64, 128}) CHECK(mma_ws_m(m).ok());
  CHECK(is_broken(mma_ws_m(256), Rule::mma_m, 128));
}

TEST_CASE("tcgen05-mma-n: steps of 8 for one CTA and 16 for two, up to 256") {
  for (int n = 8; n <= 256; n += 8) {
    CHECK(mma_n(MmaKind::f16, CtaGroup::one, n).ok());
    CHECK(mma_n(MmaKind::tf32, CtaGroup::two, n).ok() == (n % 16 == 0));
    CHECK(mma_n(MmaKind::f8f6f4, CtaGroup::one, n, true).ok() == (n % 16 == 0));
    CHECK(mma_n(MmaKind::f8f6f4, CtaGroup::two, n, true).ok() == (n % 32 == 0));
  }
  CHECK(is_broken(mma_n(MmaKind::f16, CtaGroup::one, 0), Rule::mma_n, 8));
  CHECK(is_broken(mma_n(MmaKind::f16, CtaGroup::one, 12), Rule::mma_n, 16));
  CHECK(is_broken(mma_n(MmaKind::f16, CtaGroup::one, 264), Rule::mma_n, 256));
}

TEST_CASE("tcgen05-mma-n: i8 has 8, 16, 24, 32 and then steps of 16, with two CTAs steps of 32") {
  for (int n : {8, 16, 24, 32, 48, 64, 256}) CHECK(mma_n(MmaKind::i8, CtaGroup::one, n).ok());
  CHECK(is_broken(mma_n(MmaKind::i8, CtaGroup::one, 40), Rule::mma_n, 48));
  CHECK(mma_n(MmaKind::i8, CtaGroup::two, 96).ok());
  CHECK(is_broken(mma_n(MmaKind::i8, CtaGroup::two, 48), Rule::mma_n, 64));
}

TEST_CASE("tcgen05-mma-n: .ws has 64, 128 and, dense, 256") {
  for (int n : {64, 128, 256}) CHECK(mma_ws_n(n, false).ok());
  CHECK(is_broken(mma_ws_n(256, true), Rule::mma_n, 128));
  CHECK(is_broken(mma_ws_n(96, false), Rule::mma_n, 128));
  CHECK(is_broken(mma_ws_n(8, true), Rule::mma_n, 64));
}

TEST_CASE("tcgen05-mma-types: types of the kind, and no f16 with bf16") {
  CHECK(mma_types(MmaKind::f16, ScalarType::bf16, ScalarType::bf16).ok());
  CHECK(is_broken(mma_types(MmaKind::f16, ScalarType::f16, ScalarType::bf16), Rule::mma_types));
  CHECK(is_broken(mma_types(MmaKind::f16, ScalarType::e4m3, ScalarType::e4m3), Rule::mma_types));
  CHECK(mma_types(MmaKind::f8f6f4, ScalarType::e2m1, ScalarType::e3m2).ok());
  CHECK(mma_types(MmaKind::i8, ScalarType::u8, ScalarType::s8).ok());
  CHECK(is_broken(mma_types(MmaKind::mxf4, ScalarType::e4m3, ScalarType::e2m1), Rule::mma_types));
}

TEST_CASE("tcgen05-mma-accumulator: f32, f16 for halves and f8f6f4, s32 for i8") {
  CHECK(mma_accumulator(MmaKind::f16, ScalarType::bf16, ScalarType::f32).ok());
  CHECK(mma_accumulator(MmaKind::f16, ScalarType::f16, ScalarType::f16).ok());
  CHECK(mma_accumulator(MmaKind::f8f6f4, ScalarType::e5m2, ScalarType::f16).ok());
  CHECK(mma_accumulator(MmaKind::i8, ScalarType::s8, ScalarType::s32).ok());
  CHECK(is_broken(mma_accumulator(MmaKind::f16, ScalarType::bf16, ScalarType::f16), Rule::mma_accumulator));
  CHECK(is_broken(mma_accumulator(MmaKind::tf32, ScalarType::tf32, ScalarType::f16), Rule::mma_accumulator));
  CHECK(is_broken(mma_accumulator(MmaKind::i8, ScalarType::s8, ScalarType::f32), Rule::mma_accumulator));
}

TEST_CASE("tcgen05-idesc-reserved: reserved bits, and fields that the kind or the form has not") {
  isa::InstructionDescriptorFields f;
  CHECK(idesc_reserved(MmaKind::f16, f, false).ok());
  f.reserved = 1 << 6;
  CHECK(is_broken(idesc_reserved(MmaKind::f16, f, false), Rule::idesc_reserved));
  f = {};
  f.saturate = true;
  CHECK(idesc_reserved(MmaKind::i8, f, false).ok());
  CHECK(is_broken(idesc_reserved(MmaKind::f16, f, false), Rule::idesc_reserved));
  f = {};
  f.negate_b = true;
  CHECK(idesc_reserved(MmaKind::tf32, f, false).ok());
  CHECK(is_broken(idesc_reserved(MmaKind::i8, f, false), Rule::idesc_reserved));
  f = {};
  f.max_shift = 2;
  CHECK(idesc_reserved(MmaKind::f16, f, true).ok());
  CHECK(is_broken(idesc_reserved(MmaKind::f16, f, false), Rule::idesc_reserved));
  f = {};
  f.selector = 1;
  CHECK(is_broken(idesc_reserved(MmaKind::f16, f, false), Rule::idesc_reserved));
  f.sparse = true;
  CHECK(idesc_reserved(MmaKind::f16, f, false).ok());
  CHECK(is_broken(idesc_reserved(MmaKind::f8f6f4, f, false), Rule::idesc_reserved));
}

TEST_CASE("tcgen05-idesc-sparse: the bit and the form agree") {
  CHECK(idesc_sparse(true, true).ok());
  CHECK(idesc_sparse(false, false).ok());
  CHECK(is_broken(idesc_sparse(true, false), Rule::idesc_sparse, 0));
  CHECK(is_broken(idesc_sparse(false, true), Rule::idesc_sparse, 1));
}

TEST_CASE("tcgen05-idesc-transpose: not in tensor memory, not for packed elements") {
  CHECK(idesc_transpose(MmaKind::f16, Major::MN, Major::MN, false).ok());
  CHECK(idesc_transpose(MmaKind::f16, Major::K, Major::MN, true).ok());
  CHECK(is_broken(idesc_transpose(MmaKind::f16, Major::MN, Major::K, true), Rule::idesc_transpose, 0));
  CHECK(is_broken(idesc_transpose(MmaKind::mxf4, Major::K, Major::MN, false), Rule::idesc_transpose, 0));
  CHECK(idesc_transpose(MmaKind::mxf8f6f4, Major::MN, Major::MN, false).ok());
}

TEST_CASE("tcgen05-idesc-scale: ue4m3 with sixteen elements a scale alone, ids within the cell") {
  isa::InstructionDescriptorFields f;
  f.scale_format = 1;
  CHECK(idesc_scale(MmaKind::mxf8f6f4, ScaleVector::none, f).ok());
  CHECK(idesc_scale(MmaKind::f16, ScaleVector::none, {}).ok());
  f.sfa_id = 3;
  CHECK(idesc_scale(MmaKind::mxf8f6f4, ScaleVector::x1, f).ok());
  CHECK(is_broken(idesc_scale(MmaKind::mxf4, ScaleVector::x2, f), Rule::idesc_scale, 2));
  f.k96 = true;
  CHECK(idesc_scale(MmaKind::mxf4, ScaleVector::block32, f).ok());
  CHECK(is_broken(idesc_scale(MmaKind::mxf8f6f4, ScaleVector::none, {}), Rule::idesc_scale, 1));
  CHECK(idesc_scale(MmaKind::mxf4nvf4, ScaleVector::block16, {}).ok());
  CHECK(is_broken(idesc_scale(MmaKind::mxf4nvf4, ScaleVector::block32, {}), Rule::idesc_scale, 1));
  f = {};
  f.scale_format = 1, f.wide = true, f.sfa_id = 2;  // two scales of mxf8f6f4, four of mxf4
  CHECK(idesc_scale(MmaKind::mxf8f6f4, ScaleVector::x1, f).ok());
  CHECK(is_broken(idesc_scale(MmaKind::mxf4, ScaleVector::x2, f), Rule::idesc_scale, 0));
  f.sfa_id = 3;
  CHECK(is_broken(idesc_scale(MmaKind::mxf8f6f4, ScaleVector::x1, f), Rule::idesc_scale, 2));
  f = {};
  f.sfb_id = 2;
  CHECK(is_broken(idesc_scale(MmaKind::mxf4nvf4, ScaleVector::x4, f), Rule::idesc_scale, 0));
}

TEST_CASE("the words that libraries write are legal") {
  const auto legal_word = [](MmaKind kind, CtaGroup group, std::uint32_t word, bool sparse = false,
                             ScaleVector v = ScaleVector::none) {
    return instruction_descriptor(kind, group, word, sparse, false, false, v).ok();
  };
  for (std::uint32_t word : {0x08200490u, 0x08400490u, 0x04100490u, 0x04100000u, 0x08410010u})
    CHECK(legal_word(MmaKind::f16, CtaGroup::one, word));
  for (std::uint32_t word : {0x10400490u, 0x10418490u}) CHECK(legal_word(MmaKind::f16, CtaGroup::two, word));
  CHECK(legal_word(MmaKind::f16, CtaGroup::one, 0x08200494, true));
  CHECK(legal_word(MmaKind::tf32, CtaGroup::one, 0x08200910));
  CHECK(legal_word(MmaKind::tf32, CtaGroup::two, 0x10108914, true));
  for (std::uint32_t word : {0x08200410u, 0x04021280u}) CHECK(legal_word(MmaKind::f8f6f4, CtaGroup::one, word));
  CHECK(legal_word(MmaKind::f8f6f4, CtaGroup::two, 0x10090194, true));
  CHECK(legal_word(MmaKind::i8, CtaGroup::one, 0x080800A0));
  CHECK(legal_word(MmaKind::mxf8f6f4, CtaGroup::one, 0x08A00400));
  CHECK(legal_word(MmaKind::mxf8f6f4, CtaGroup::two, 0x10C10280));
  CHECK(legal_word(MmaKind::mxf4, CtaGroup::one, 0x08900480));
  CHECK(legal_word(MmaKind::mxf4nvf4, CtaGroup::two, 0x10400484, true, ScaleVector::x4));
}

TEST_CASE("a descriptor's first broken rule is the one a reader would ask first") {
  const auto rule = [](std::uint32_t word, bool ws = false) {
    return instruction_descriptor(MmaKind::f16, CtaGroup::one, word, false, ws, false).rule;
  };
  CHECK(rule(0x00000040) == Rule::idesc_reserved);
  CHECK(rule(0x08200494) == Rule::idesc_sparse);
  CHECK(rule(0x08200890) == Rule::mma_types);
  CHECK(rule(0x08200480) == Rule::mma_accumulator);
  CHECK(rule(0x10200490) == Rule::mma_m);
  CHECK(rule(0x08000490) == Rule::mma_n);
  CHECK(rule(0x02200490, true) == Rule::none);
  CHECK(rule(0x02020490, true) == Rule::mma_n);
}
