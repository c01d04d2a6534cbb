// What the modifiers and operands of tcgen05 instructions must be to each other.
#include "tests/unit/rules/switch.hpp"

#include "ptx/rules/tcgen05_shape.hpp"

using namespace kiln;
using namespace kiln::rules;
using isa::Collector, isa::CollectorState, isa::CtaGroup, isa::MmaForm, isa::MmaKind, isa::MmaShape, isa::ScalarType, isa::ScaleVector;
using kiln::test::is_broken;

namespace {

constexpr MmaForm dense{.kind = MmaKind::f16};
constexpr MmaForm scaled(MmaKind kind, ScaleVector v) { return {.kind = kind, .block_scale = true, .scale_vector = v}; }
constexpr MmaForm with(MmaForm f, Collector c) { return f.collector = c, f; }

// The rule is broken by this value.
bool is_broken_by(std::int64_t given, const Verdict& v, Rule r) { return is_broken(v, r) && v.given == given; }

}  // namespace

TEST_CASE("tcgen05-block-scale: the mx kinds are block-scaled and the others are not") {
  for (MmaKind k : {MmaKind::f16, MmaKind::tf32, MmaKind::f8f6f4, MmaKind::i8}) {
    CHECK(block_scale({.kind = k}).ok());
    CHECK(is_broken(block_scale({.kind = k, .block_scale = true}), Rule::block_scale));
  }
  for (MmaKind k : {MmaKind::mxf8f6f4, MmaKind::mxf4, MmaKind::mxf4nvf4}) {
    CHECK(block_scale({.kind = k, .block_scale = true}).ok());
    CHECK(is_broken(block_scale({.kind = k}), Rule::block_scale));
  }
}

TEST_CASE("tcgen05-scale-vector: each kind has its sizes, and mxf4nvf4 must write one") {
  using enum ScaleVector;
  const ScaleVector all[] = {none, x1, x2, x4, block16, block32};
  const auto legal_ones = [&](MmaKind k) {
    std::string out;
    for (ScaleVector v : all) out += rules::scale_vector(scaled(k, v)).ok() ? '1' : '0';
    return out;
  };
  CHECK(legal_ones(MmaKind::mxf8f6f4) == "110001");
  CHECK(legal_ones(MmaKind::mxf4) == "101001");
  CHECK(legal_ones(MmaKind::mxf4nvf4) == "001111");
  CHECK(legal_ones(MmaKind::f16) == "100000");
}

TEST_CASE("tcgen05-scale-types: scales of A and B agree, and ue4m3 scales blocks of 16") {
  using enum ScalarType;
  CHECK(scale_types(MmaKind::mxf8f6f4, 32, ue8m0, ue8m0).ok());
  CHECK(scale_types(MmaKind::mxf4, 32, ue8m0, ue8m0).ok());
  CHECK(scale_types(MmaKind::mxf4nvf4, 16, ue4m3, ue4m3).ok());
  CHECK(scale_types(MmaKind::mxf4nvf4, 16, ue8m0, ue8m0).ok());
  CHECK(scale_types(MmaKind::mxf4nvf4, 32, ue8m0, ue8m0).ok());
  CHECK(scale_types(MmaKind::mxf4nvf4, 32, ue8m0, ue8m0, true).ok());
  CHECK(is_broken(scale_types(MmaKind::mxf4nvf4, 32, ue4m3, ue4m3), Rule::scale_types));
  CHECK(is_broken(scale_types(MmaKind::mxf4nvf4, 16, ue4m3, ue8m0), Rule::scale_types));
  CHECK(is_broken(scale_types(MmaKind::mxf4, 32, ue4m3, ue4m3), Rule::scale_types));
  CHECK(is_broken_by(16, scale_types(MmaKind::mxf4, 16, ue8m0, ue8m0), Rule::scale_types));
  CHECK(is_broken(scale_types(MmaKind::mxf8f6f4, 32, e4m3, e4m3), Rule::scale_types));
}

TEST_CASE("tcgen05-scale-input-d: f16 and tf32, 0 to 15; i8 drops it silently under profile isa") {
  for (MmaKind k : {MmaKind::f16, MmaKind::tf32}) CHECK(scale_input_d({.kind = k, .scale_input_d = true}).ok());
  CHECK(is_broken(scale_input_d({.kind = MmaKind::f8f6f4, .scale_input_d = true}), Rule::scale_input_d));
  const MmaForm i8{.kind = MmaKind::i8, .scale_input_d = true};
  CHECK(scale_input_d(i8, Profile::isa).ok());
  CHECK(is_broken(scale_input_d(i8, Profile::tileiras), Rule::scale_input_d));
  CHECK(scale_input_d_value(0).ok());
  CHECK(scale_input_d_value(15).ok());
  CHECK(is_broken_by(16, scale_input_d_value(16), Rule::scale_input_d));
  CHECK(is_broken_by(-1, scale_input_d_value(-1), Rule::scale_input_d));
}

TEST_CASE("tcgen05-ashift: A in tensor memory, M of 128 or 256, neither scaled nor weight stationary") {
  CHECK(ashift({.kind = MmaKind::f16, .a_in_tmem = true, .ashift = true}).ok());
  CHECK(is_broken(ashift({.kind = MmaKind::f16, .ashift = true}), Rule::ashift));
  CHECK(is_broken(ashift({.kind = MmaKind::f16, .ws = true, .a_in_tmem = true, .ashift = true}), Rule::ashift));
  CHECK(is_broken(ashift({.kind = MmaKind::mxf4, .block_scale = true, .a_in_tmem = true, .ashift = true}), Rule::ashift));
  CHECK(ashift_m(128).ok());
  CHECK(ashift_m(256).ok());
  CHECK(is_broken_by(64, ashift_m(64), Rule::ashift));
}

TEST_CASE("tcgen05-ashift-collector: ashift leaves the collector empty") {
  MmaForm f = dense;
  f.ashift = f.a_in_tmem = true;
  CHECK(ashift_collector(f).ok());
  CHECK(ashift_collector(with(f, Collector::a_discard)).ok());
  CHECK(ashift_collector(with(f, Collector::a_lastuse)).ok());
  CHECK(is_broken(ashift_collector(with(f, Collector::a_fill)), Rule::ashift_collector));
  CHECK(is_broken(ashift_collector(with(f, Collector::a_use)), Rule::ashift_collector));
  CHECK(ashift_collector(with(dense, Collector::a_fill)).ok());
}

TEST_CASE("tcgen05-collector-buffer: a without .ws, b0 to b3 with it") {
  MmaForm ws = dense;
  ws.ws = true;
  CHECK(rules::collector_buffer(with(dense, Collector::a_use)).ok());
  CHECK(rules::collector_buffer(with(ws, Collector::b3_lastuse)).ok());
  CHECK(rules::collector_buffer(ws).ok());
  CHECK(is_broken(rules::collector_buffer(with(dense, Collector::b0_fill)), Rule::collector_buffer));
  CHECK(is_broken(rules::collector_buffer(with(ws, Collector::a_fill)), Rule::collector_buffer));
  MmaForm b = with(dense, Collector::a_fill);
  b.collector_b = isa::CollectorB::fill;
  CHECK(rules::collector_buffer(b).ok());
  b.kind = isa::MmaKind::i8;
  CHECK(is_broken(rules::collector_buffer(b), Rule::collector_buffer));
  ws.collector_b = isa::CollectorB::use;
  CHECK(is_broken(rules::collector_buffer(ws), Rule::collector_buffer));
}

TEST_CASE("tcgen05-collector-fill: a use needs a fill that nothing has ended, of the same operand") {
  using isa::CollectorUse;
  const CollectorState filled = step({}, CollectorUse::fill, 7).next;
  CHECK(step(filled, CollectorUse::use, 7).verdict.ok());
  CHECK(step(filled, CollectorUse::use).verdict.ok());  // an operand that is not known may be the same
  CHECK(step(filled, CollectorUse::lastuse, 7).verdict.ok());
  CHECK(is_broken(step({}, CollectorUse::use).verdict, Rule::collector_fill));
  CHECK(is_broken(step({}, CollectorUse::lastuse).verdict, Rule::collector_fill));
  CHECK(is_broken(step(filled, CollectorUse::use, 8).verdict, Rule::collector_fill));
  CHECK(is_broken(step(step(filled, CollectorUse::lastuse, 7).next, CollectorUse::use, 7).verdict, Rule::collector_fill));
  CHECK(is_broken(step(step(filled, CollectorUse::discard, 7).next, CollectorUse::use, 7).verdict, Rule::collector_fill));
  CHECK(is_broken(step(join(filled, {}), CollectorUse::use, 7).verdict, Rule::collector_fill));
  CHECK(step(join(filled, {true, 9}), CollectorUse::use, 8).verdict.ok());
}

TEST_CASE("tcgen05-ws-cta-group: weight stationary is for one CTA") {
  CHECK(ws_group({.kind = MmaKind::f16, .ws = true}).ok());
  CHECK(ws_group({.kind = MmaKind::f16, .group = CtaGroup::two}).ok());
  CHECK(is_broken(ws_group({.kind = MmaKind::f16, .group = CtaGroup::two, .ws = true}), Rule::ws_cta_group));
}

TEST_CASE("tcgen05-ws-kind: weight stationary takes no scaled kinds") {
  for (MmaKind k : {MmaKind::f16, MmaKind::tf32, MmaKind::f8f6f4, MmaKind::i8}) CHECK(ws_kind({.kind = k, .ws = true}).ok());
  for (MmaKind k : {MmaKind::mxf8f6f4, MmaKind::mxf4, MmaKind::mxf4nvf4})
    CHECK(is_broken(ws_kind({.kind = k, .ws = true}), Rule::ws_kind));
}

TEST_CASE("tcgen05-zero-mask: no reserved bits, and no shift beyond M's and the descriptor's") {
  CHECK(zero_mask_fields(isa::unpack_zero_mask(0x0203'0380'0000'0000)).ok());
  CHECK(is_broken(zero_mask_fields(isa::unpack_zero_mask(std::uint64_t{1} << 36)), Rule::zero_mask));
  CHECK(zero_mask_shift(16, 32, 32).ok());
  CHECK(is_broken_by(17, zero_mask_shift(17, 32, 32), Rule::zero_mask));
  CHECK(zero_mask_shift(32, 64, 32).ok());
  CHECK(is_broken_by(9, zero_mask_shift(9, 64, 8), Rule::zero_mask));
}

TEST_CASE("tcgen05-output-lanes: four masks, eight for a pair, none for .ws and scaled kinds") {
  const MmaForm pair{.kind = MmaKind::f16, .group = CtaGroup::two};
  CHECK(output_lanes(dense, 4).ok());
  CHECK(output_lanes(pair, 8).ok());
  CHECK(is_broken_by(8, output_lanes(dense, 8), Rule::output_lanes));
  CHECK(is_broken_by(4, output_lanes(pair, 4), Rule::output_lanes));
  CHECK(is_broken(output_lanes({.kind = MmaKind::f16, .ws = true}, 4), Rule::output_lanes));
  CHECK(is_broken(output_lanes({.kind = MmaKind::mxf4, .block_scale = true}, 4), Rule::output_lanes));
}

TEST_CASE("tcgen05-mma-wide: K of 64 bytes on sm_107, sparse of mxf8f6f4 alone") {
  for (const MmaKind kind : {MmaKind::f8f6f4, MmaKind::mxf8f6f4, MmaKind::mxf4, MmaKind::mxf4nvf4}) {
    for (const isa::Target t : {isa::sm_107a, isa::sm_107f}) CHECK(mma_wide(t, kind, false).ok());
    CHECK(is_broken(mma_wide(isa::sm_100a, kind, false), Rule::mma_wide, 107));
    CHECK(is_broken(mma_wide(isa::sm_103a, kind, false), Rule::mma_wide, 107));
    CHECK(mma_wide(isa::sm_107a, kind, true).ok() == (kind == MmaKind::mxf8f6f4));
  }
  for (const MmaKind kind : {MmaKind::f16, MmaKind::tf32, MmaKind::i8, MmaKind::ti16})
    CHECK(is_broken(mma_wide(isa::sm_107a, kind, false), Rule::mma_wide));
}

TEST_CASE("tcgen05-mma-k96: dense packed kinds on sm_103a") {
  CHECK(mma_k96(isa::sm_103a, CtaGroup::one, false, 128).ok());
  CHECK(mma_k96(isa::sm_103a, CtaGroup::two, false, 256).ok());
  CHECK(is_broken(mma_k96(isa::sm_100a, CtaGroup::one, false, 128), Rule::mma_k96));
  CHECK(is_broken(mma_k96(isa::sm_103f, CtaGroup::one, false, 128), Rule::mma_k96));
  CHECK(is_broken(mma_k96(isa::sm_103a, CtaGroup::one, true, 128), Rule::mma_k96));
  CHECK(is_broken_by(128, mma_k96(isa::sm_103a, CtaGroup::two, false, 128), Rule::mma_k96));
}

TEST_CASE("tcgen05-cp-shape: which shapes multicast, and formats in pairs") {
  using enum isa::DataShape;
  using Multicast = isa::CpMulticast;
  for (auto s : {s128x256b, s4x256b, s128x128b}) {
    CHECK(cp_shape(s, Multicast::none, false, false).ok());
    CHECK(is_broken(cp_shape(s, Multicast::warpx4, false, false), Rule::cp_shape));
  }
  CHECK(cp_shape(s64x128b, Multicast::warpx2_02_13, true, true).ok());
  CHECK(cp_shape(s64x128b, Multicast::warpx2_01_23, false, false).ok());
  CHECK(cp_shape(s32x128b, Multicast::warpx4, false, false).ok());
  CHECK(is_broken(cp_shape(s32x128b, Multicast::none, false, false), Rule::cp_shape));
  CHECK(is_broken(cp_shape(s64x128b, Multicast::warpx4, false, false), Rule::cp_shape));
  CHECK(is_broken(cp_shape(s128x256b, Multicast::none, true, false), Rule::cp_shape));
  CHECK(is_broken(cp_shape(s32x32b, Multicast::none, false, false), Rule::cp_shape));
}

TEST_CASE("tcgen05-ld-red: two shapes, two values at least, and f32 alone has .abs and .NaN") {
  using enum isa::DataShape;
  CHECK(ld_reduction(s32x32b, 2, ScalarType::f32, true, true).ok());
  CHECK(ld_reduction(s16x32bx2, 128, ScalarType::s32, false, false).ok());
  CHECK(is_broken(ld_reduction(s16x64b, 2, ScalarType::f32, false, false), Rule::ld_red));
  CHECK(is_broken_by(1, ld_reduction(s32x32b, 1, ScalarType::f32, false, false), Rule::ld_red));
  CHECK(is_broken(ld_reduction(s32x32b, 2, ScalarType::u32, true, false), Rule::ld_red));
  CHECK(is_broken(ld_reduction(s32x32b, 2, ScalarType::u32, false, true), Rule::ld_red));
  CHECK(is_broken(ld_reduction(s32x32b, 2, ScalarType::b32, false, false), Rule::ld_red));
}

namespace {

constexpr MmaShape bf16_shape{.a = ScalarType::bf16, .b = ScalarType::bf16, .m = 128, .n = 64};
constexpr MmaOperand bf16_tile(int rows, int k) { return {false, ScalarType::bf16, 16, rows, k}; }

}  // namespace

TEST_CASE("tcgen05-mma-operands: the tiles have the rows of the instruction and at least its K") {
  CHECK(mma_a(dense, bf16_shape, bf16_tile(128, 16)).ok());
  CHECK(mma_b(dense, bf16_shape, bf16_tile(64, 64)).ok());
  CHECK(is_broken_by(64, mma_a(dense, bf16_shape, bf16_tile(64, 64)), Rule::mma_operands));
  CHECK(is_broken_by(128, mma_b(dense, bf16_shape, bf16_tile(128, 64)), Rule::mma_operands));
  CHECK(is_broken_by(8, mma_a(dense, bf16_shape, bf16_tile(128, 8)), Rule::mma_operands));
  CHECK(is_broken_by(8, mma_b(dense, bf16_shape, bf16_tile(64, 8)), Rule::mma_operands));
  // A sparse A stores half of K; each CTA of a pair half of the rows.
  const MmaForm sparse{.kind = MmaKind::f16, .sparse = true}, pair{.kind = MmaKind::f16, .group = CtaGroup::two};
  CHECK(mma_a(sparse, bf16_shape, bf16_tile(128, 16)).ok());
  CHECK(is_broken_by(16, mma_b(sparse, bf16_shape, bf16_tile(64, 16)), Rule::mma_operands));
  CHECK(mma_a(pair, bf16_shape, bf16_tile(64, 64)).ok());
  CHECK(mma_b(pair, bf16_shape, bf16_tile(32, 64)).ok());
}

TEST_CASE("tcgen05-mma-container: packed where the kind reads packed, bytes where it mixes widths") {
  const MmaForm mixed{.kind = MmaKind::f8f6f4}, packed = scaled(MmaKind::mxf4, ScaleVector::none);
  MmaShape fp4 = bf16_shape;
  fp4.a = fp4.b = ScalarType::e2m1;
  CHECK(mma_a(mixed, fp4, {false, ScalarType::e2m1, 8, 128, 128}).ok());
  CHECK(is_broken_by(4, mma_a(mixed, fp4, {false, ScalarType::e2m1, 4, 128, 128}), Rule::mma_container));
  CHECK(mma_b(packed, fp4, {false, ScalarType::e2m1, 4, 64, 128}).ok());
  CHECK(is_broken_by(8, mma_b(packed, fp4, {false, ScalarType::e2m1, 8, 64, 128}), Rule::mma_container));
}

TEST_CASE("tcgen05-mma-b-shared: B does not come from tensor memory") {
  MmaOperand b = bf16_tile(64, 16);
  b.in_tmem = true;
  CHECK(is_broken(mma_b(dense, bf16_shape, b), Rule::mma_b_shared));
  b.rows = 128;
  CHECK(mma_a(dense, bf16_shape, b).ok());
}

TEST_CASE("tcgen05-mma-extras: scales for scaled kinds, metadata for sparse ones") {
  const MmaForm sparse{.kind = MmaKind::f16, .sparse = true}, mx{.kind = MmaKind::mxf4, .block_scale = true};
  CHECK(mma_extras(dense, false, false).ok());
  CHECK(mma_extras(sparse, false, true).ok());
  CHECK(mma_extras(mx, true, false).ok());
  CHECK(is_broken(mma_extras(dense, true, false), Rule::mma_extras));
  CHECK(is_broken(mma_extras(sparse, false, false), Rule::mma_extras));
  CHECK(is_broken(mma_extras(mx, false, false), Rule::mma_extras));
}

TEST_CASE("tcgen05-metadata-image: whole images of 128 rows, the same on both sides of the copy") {
  const MmaForm sparse{.kind = MmaKind::f16, .sparse = true};
  const MmaForm pair{.kind = MmaKind::f8f6f4, .group = CtaGroup::two, .sparse = true};
  CHECK(metadata_image(sparse, 128, 4, 4).ok());
  CHECK(metadata_image(pair, 256, 8, 8).ok());
  CHECK(is_broken_by(64, metadata_image(sparse, 64, 4, 4), Rule::metadata_image));
  CHECK(is_broken_by(128, metadata_image(pair, 128, 4, 4), Rule::metadata_image));
  CHECK(is_broken_by(2, metadata_image(sparse, 128, 2, 2), Rule::metadata_image));
  CHECK(is_broken_by(4, metadata_image(sparse, 128, 4, 8), Rule::metadata_image));
}
