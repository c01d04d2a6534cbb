#include "tests/unit/rules/switch.hpp"

#include "ptx/rules/mbarrier.hpp"
#include "ptx/rules/tma.hpp"

using namespace kiln;
using namespace kiln::rules;
using isa::Swizzle;
using kiln::test::is_broken;

TEST_CASE("mbarrier-count, mbarrier-tx: twenty bits, and a count is not zero") {
  CHECK(mbarrier_count(1).ok());
  CHECK(mbarrier_count(1048575).ok());
  CHECK(is_broken(mbarrier_count(0), Rule::mbarrier_count, 1));
  CHECK(is_broken(mbarrier_count(1048576), Rule::mbarrier_count, 1048575));
  CHECK(mbarrier_count(511, isa::MbarrierLayout::v1).ok());
  CHECK(is_broken(mbarrier_count(512, isa::MbarrierLayout::v1), Rule::mbarrier_count, 511));
  CHECK(mbarrier_tx(0).ok());
  CHECK(is_broken(mbarrier_tx(-1), Rule::mbarrier_tx, 0));
  CHECK(is_broken(mbarrier_tx(1 << 20), Rule::mbarrier_tx, 1048575));
}

TEST_CASE("mbarrier-space, mbarrier-alignment: eight aligned bytes of shared memory") {
  using isa::Space;
  for (Space s : {Space::shared, Space::shared_cta, Space::shared_cluster}) CHECK(mbarrier_space(s).ok());
  for (Space s : {Space::global, Space::constant, Space::local, Space::param})
    CHECK(is_broken(mbarrier_space(s), Rule::mbarrier_space));
  for (std::uint32_t at : {0u, 8u, 1024u}) CHECK(mbarrier_alignment(at).ok());
  CHECK(is_broken(mbarrier_alignment(4), Rule::mbarrier_alignment, 0));
  CHECK(is_broken(mbarrier_alignment(17), Rule::mbarrier_alignment, 16));
}

TEST_CASE("mbarrier-parity, mbarrier-bytes: one phase is phase 0, and ends with its last byte") {
  CHECK(mbarrier_parity(0).ok());
  CHECK(mbarrier_parity(2).ok());
  CHECK(is_broken(mbarrier_parity(1), Rule::mbarrier_parity, 0));
  CHECK(mbarrier_bytes(3072, 3072).ok());
  CHECK(is_broken(mbarrier_bytes(16, 3072), Rule::mbarrier_bytes, 3072));
  CHECK(is_broken(mbarrier_bytes(4096, 3072), Rule::mbarrier_bytes, 3072));
}

TEST_CASE("mbarrier-uninitialised: init comes first") {
  CHECK(mbarrier_use(BarrierState::initialised).ok());
  CHECK(is_broken(mbarrier_use(BarrierState::fresh), Rule::mbarrier_uninitialised));
}

TEST_CASE("mbarrier-unsignalled: a wait needs an arrival") {
  CHECK(mbarrier_wait(true).ok());
  CHECK(is_broken(mbarrier_wait(false), Rule::mbarrier_unsignalled));
}

TEST_CASE("mbarrier-arrivals: what the phase waits for, one fewer with .noComplete") {
  CHECK(mbarrier_arrivals(2, 2, false).ok());
  CHECK(is_broken(mbarrier_arrivals(2, 3, false), Rule::mbarrier_arrivals, 2));
  CHECK(mbarrier_arrivals(2, 1, true).ok());
  CHECK(is_broken(mbarrier_arrivals(2, 2, true), Rule::mbarrier_arrivals, 1));
}

TEST_CASE("mbarrier-init-lanes: one lane initialises an mbarrier") {
  CHECK(mbarrier_init_lanes(1).ok());
  CHECK(is_broken(mbarrier_init_lanes(32), Rule::mbarrier_init_lanes, 1));
}

TEST_CASE("mbarrier-overwritten, tma-map, tma-map-address: what the unit finds is what was put there") {
  CHECK(mbarrier_overwritten(true).ok());
  CHECK(is_broken(mbarrier_overwritten(false), Rule::mbarrier_overwritten));
  CHECK(tma_map(true).ok());
  CHECK(is_broken(tma_map(false), Rule::tma_map));
  CHECK(tma_map_address(true).ok());
  CHECK(is_broken(tma_map_address(false), Rule::tma_map_address));
}

TEST_CASE("tma-rank: a coordinate a dimension") {
  CHECK(tma_rank(2, 2).ok());
  CHECK(is_broken(tma_rank(3, 2), Rule::tma_rank, 3));
}

TEST_CASE("tma-box, tma-inner-bytes, tma-inner-span: the box") {
  CHECK(tma_box(1).ok());
  CHECK(tma_box(256).ok());
  CHECK(is_broken(tma_box(0), Rule::tma_box, 1));
  CHECK(is_broken(tma_box(257), Rule::tma_box, 256));
  CHECK(tma_inner_bytes(128).ok());
  CHECK(is_broken(tma_inner_bytes(100), Rule::tma_inner_bytes, 112));
  CHECK(is_broken(tma_inner_bytes(0), Rule::tma_inner_bytes));
  CHECK(tma_inner_span(Swizzle::b128, 128).ok());
  CHECK(tma_inner_span(Swizzle::none, 512).ok());
  CHECK(is_broken(tma_inner_span(Swizzle::b64, 128), Rule::tma_inner_span, 64));
}

TEST_CASE("tma-reach, tma-type, tma-extents, tma-unread: tensor maps against their buffers") {
  CHECK(tma_reach(4096, 4096).ok());
  CHECK(is_broken(tma_reach(4097, 4096), Rule::tma_reach, 4096));
  using isa::ScalarType;
  CHECK(tma_type(ScalarType::bf16, ScalarType::bf16).ok());
  CHECK(tma_type(ScalarType::tf32, ScalarType::f32).ok());
  CHECK(tma_type(ScalarType::u32, ScalarType::ue8m0).ok());
  CHECK(tma_type(ScalarType::bf16, ScalarType::f16).rule == Rule::tma_type);
  CHECK(tma_type(ScalarType::f32, ScalarType::bf16).broken());
  CHECK(tma_extents(64, 256, 256, 64).ok());
  CHECK(tma_extents(64, 64, 64, 64).ok());
  CHECK(tma_extents(128, 128, 64, 256).ok());
  CHECK(tma_extents(64, 256, 64, 256).rule == Rule::tma_extents);
  CHECK(tma_unread(0).ok());
  CHECK(is_broken(tma_unread(512), Rule::tma_unread));
}

TEST_CASE("pointer-type, pointer-elements: what a launch gives to a pointer") {
  using isa::ScalarType;
  CHECK(pointer_type(ScalarType::f32, ScalarType::f32).ok());
  CHECK(pointer_type(ScalarType::u32, ScalarType::bf16).ok());
  CHECK(pointer_type(ScalarType::f16, ScalarType::bf16).rule == Rule::pointer_type);
  CHECK(pointer_elements(12, 32).ok());
  CHECK(pointer_elements(3, 4).ok());
  CHECK(pointer_elements(0, 64).ok());
  CHECK(is_broken(pointer_elements(10, 32), Rule::pointer_elements));
}

TEST_CASE("tma-stride, tma-coordinate, tma-alignment, bulk-size: multiples") {
  CHECK(tma_stride(1024).ok());
  CHECK(is_broken(tma_stride(1000), Rule::tma_stride, 1008));
  CHECK(tma_coordinate(-8, 16).ok());
  CHECK(is_broken(tma_coordinate(-4, 16), Rule::tma_coordinate));
  CHECK(is_broken(tma_coordinate(24, 4), Rule::tma_coordinate));
  CHECK(tma_alignment(0x480).ok());
  CHECK(is_broken(tma_alignment(0x410), Rule::tma_alignment, 0x480));
  CHECK(bulk_size(0).ok());
  CHECK(is_broken(bulk_size(100), Rule::bulk_size, 112));
  CHECK(is_broken(bulk_size(-16), Rule::bulk_size, 0));
}

TEST_CASE("tma-store-coordinate: a store may begin anywhere but before the tensor") {
  for (int c : {0, 1, 4096}) CHECK(tma_store_coordinate(c).ok());
  CHECK(is_broken(tma_store_coordinate(-1), Rule::tma_store_coordinate, 0));
}

TEST_CASE("tma-mode: which modes read, which write, and at which rank") {
  using kiln::isa::TensorAccess, kiln::isa::TensorMode;
  for (int rank = 1; rank <= 5; ++rank)
    for (auto access : {TensorAccess::load, TensorAccess::store, TensorAccess::reduce, TensorAccess::prefetch})
      CHECK(tma_mode(access, TensorMode::tile, rank).ok());
  for (auto access : {TensorAccess::load, TensorAccess::prefetch}) {
    CHECK(tma_mode(access, TensorMode::gather4, 2).ok());
    for (auto mode : {TensorMode::im2col, TensorMode::im2col_w, TensorMode::im2col_w_128}) {
      CHECK(tma_mode(access, mode, 3).ok());
      CHECK(is_broken(tma_mode(access, mode, 2), Rule::tma_mode, 3));
    }
    CHECK(is_broken(tma_mode(access, TensorMode::scatter4, 2), Rule::tma_mode));
    CHECK(is_broken(tma_mode(access, TensorMode::im2col_no_offs, 3), Rule::tma_mode));
  }
  for (auto access : {TensorAccess::store, TensorAccess::reduce}) {
    CHECK(tma_mode(access, TensorMode::scatter4, 2).ok() == (access == TensorAccess::store));
    CHECK(tma_mode(access, TensorMode::im2col_no_offs, 5).ok());
    CHECK(is_broken(tma_mode(access, TensorMode::gather4, 2), Rule::tma_mode));
    CHECK(is_broken(tma_mode(access, TensorMode::im2col, 4), Rule::tma_mode));
  }
  CHECK(is_broken(tma_mode(TensorAccess::load, TensorMode::gather4, 3), Rule::tma_mode, 2));
}

TEST_CASE("bulk-reduction: what ptxas 13.0 combines, to global memory and inside a cluster") {
  using kiln::isa::Combine, kiln::isa::ScalarType, kiln::isa::Space;
  const ScalarType types[] = {ScalarType::u32, ScalarType::s32, ScalarType::u64, ScalarType::s64, ScalarType::b32,
                              ScalarType::b64, ScalarType::f16, ScalarType::bf16, ScalarType::f32, ScalarType::f64};
  const auto row = [&](Combine op, Space to) {
    std::string out;
    for (ScalarType t : types) out += bulk_reduction(op, t, to).ok() ? '1' : '0';
    return out;
  };
  CHECK(row(Combine::add, Space::global) == "1110001111");
  CHECK(row(Combine::min, Space::global) == "1111001100");
  CHECK(row(Combine::inc, Space::global) == "1000000000");
  CHECK(row(Combine::xor_, Space::global) == "0000110000");
  CHECK(row(Combine::add, Space::shared_cluster) == "1110000000");
  CHECK(row(Combine::max, Space::shared_cluster) == "1100000000");
  CHECK(row(Combine::dec, Space::shared_cluster) == "1000000000");
  CHECK(row(Combine::and_, Space::shared_cluster) == "0000100000");
  CHECK(is_broken(bulk_reduction(Combine::exch, ScalarType::b32, Space::global), Rule::bulk_reduction));
  CHECK(bulk_reduction(Combine::inc).ok());
  CHECK(is_broken(bulk_reduction(Combine::cas), Rule::bulk_reduction));
}

TEST_CASE("tensormap-field: dimensions and codes that a field has") {
  using kiln::isa::TensorMapField;
  CHECK(tensormap_field(TensorMapField::global_dim, 4).ok());
  CHECK(is_broken(tensormap_field(TensorMapField::box_dim, 5), Rule::tensormap_field, 4));
  CHECK(is_broken(tensormap_field(TensorMapField::global_stride, 4), Rule::tensormap_field, 3));
  CHECK(is_broken(tensormap_field(TensorMapField::rank, 1), Rule::tensormap_field, 0));
  CHECK(tensormap_field(TensorMapField::elemtype, 15).ok());
  CHECK(is_broken(tensormap_field(TensorMapField::elemtype, 16), Rule::tensormap_field, 15));
  CHECK(is_broken(tensormap_field(TensorMapField::swizzle_mode, 4), Rule::tensormap_field, 3));
  CHECK(is_broken(tensormap_field(TensorMapField::fill_mode, -1), Rule::tensormap_field, 0));
}

TEST_CASE("mbarrier-scope-unwritten: an arrival for another CTA says its scope") {
  CHECK(mbarrier_scope_unwritten(true).ok());
  CHECK(is_broken(mbarrier_scope_unwritten(false), Rule::mbarrier_scope_unwritten));
}
