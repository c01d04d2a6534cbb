// Mistakes of use, each as a new author writes it, in a function of its own: tests/mistakes/check compiles the file
// once with each compiler and compares what that says of each. The comment above a mistake names the rule and, after
// it, words that the message has: the given and the expected type, or what to write.
#include "dsl/dsl.hpp"

#include "dsl/warpgroup_mma.hpp"
// clang-format off: a mistake stands in one line
using namespace kiln;
using namespace kiln::dsl;

using Block = Fragment<bf16, 16, 16>;
using WideBlock = Fragment<bf16, 32, 64>;
using Cells = Fragment<e4m3, 16, 16>;
using ATile = SharedTile<bf16, 128, 64, K_major, swizzle_128B>;
using BTile = SharedTile<bf16, 256, 64, K_major, swizzle_128B>;
using DTile = SharedTile<bf16, 128, 32, K_major, swizzle_64B>;
using HalfTile = SharedTile<bf16, 64, 64, K_major, swizzle_128B>;
using PackedTile = SharedTile<bf16, 128, 64, K_major, packed>;
using TransposedTile = SharedTile<bf16, 128, 64, MN_major, swizzle_128B>;
using FloatTile = SharedTile<f32, 128, 32, K_major, swizzle_128B>;
using WideTile = SharedTile<f32, 128, 64, K_major, swizzle_128B>;
using Mma = tcgen05_mma<kind_f16, bf16, bf16, f32, 128, 256>;
using Pair = tcgen05_mma<kind_f16, bf16, bf16, f32, 256, 256, cta_group_2>;
using Ws = tcgen05_mma<kind_f16, bf16, bf16, f32, 64, 256, weight_stationary>;
using Ws32 = tcgen05_mma<kind_f16, bf16, bf16, f32, 32, 128, weight_stationary>;
using Pair128 = tcgen05_mma<kind_f16, bf16, bf16, f32, 128, 256, cta_group_2>;
using PairA = Pair::ATile<64, K_major, swizzle_128B>;
using PairB = Pair::BTile<64, K_major, swizzle_128B>;

// What the functions below use: a kernel, its roles' scopes, and what it owns.
extern KernelBuilder kernel;
extern Thread t;
extern Warp w;
extern Warpgroup g;
extern Shared<ATile> a;
extern Shared<BTile> b;
extern Shared<DTile> d;
extern Shared<HalfTile> half;
extern Shared<SharedTile<bf16, 32, 64, K_major, swizzle_128B>> quarter_a;
extern Shared<PackedTile> plain;
extern Shared<TransposedTile> transposed;
extern Shared<FloatTile> floats;
extern Shared<WideTile> wide;
extern Shared<PairA> pair_a;
extern Shared<PairB> pair_b;
extern TensorMap<ATile> A;
extern TensorMapHandle<bf16, 2> rows;
extern TensorMap<BTile> B;
extern TensorMap<DTile> D;
extern Ring<4, ATile, BTile> ring;
extern Ring<2, ATile, ATile> twins;
extern Ring<2, DTile> other;
extern Slot<ATile, BTile> slot;
extern Slot<ATile, ATile> twin;
extern Slot<DTile> other_slot;
extern StoreRing<2, DTile> out;
extern AccumulatorRing<2, Mma> sums_ring;
extern AccumulatorRing<2, Pair> pair_ring;
extern AccumulatorSlot<Mma> sums;
extern AccumulatorSlot<Pair> pair_sums;
extern Tmem<f32, 128, 256> acc;
extern Tmem<f32, 32, 128> quarter_rows;
extern Tmem<f32, 128, 96> odd;
extern Tmem<s32, 128, 256> integers;
extern TmemA<bf16, 128, 64> tensor_a;
extern TmemA<bf16, 64, 64> half_a;
extern TmemAOf<Ws, 64> stationary_a;
extern Tmem<f32, 128, 128, SumsLayout::column_halves> stationary;
extern Mbarrier done;
extern Pointer<f32> pointer;
extern Registers<f32, 32> row;
extern Registers<bf16, 8> eight;
extern Registers<bf16, 8, LdState::pending> eight_pending;
extern Registers<f32, 32, LdState::pending> pending;
extern Registers<bf16, 32> half_row;
extern Registers<bf16, 32, LdState::pending> halves_pending;
extern U32 i;
extern S32 s;
extern U64 address;
extern F32 x;
extern Pred p;
extern BF16x2 pair_value;
extern Var<U32> count;
extern Var<F32> sum;
extern Vars<F32, 8> many;
extern WarpgroupScratch scratch;
extern StaticTiles tiles;
extern TensorMap<HalfTile> P;
extern Warpgroups<2> gg;
extern WarpgroupMma mma;
extern WgmmaSums<256> wide_sums;
extern WgmmaA<bf16, 64> a_registers;
extern Shared<SharedTile<f16, 256, 64, K_major, swizzle_128B>> f16_b;
extern Tmem<f32, 128, 33> uneven;
extern Registers<f16, 8> eight16;
extern tcgen05_mma<kind_f16, bf16, bf16, f32, 64, 256>::Accumulator acc64;

// Copies of tiles -----------------------------------------------------------------------------------------------------

// [dsl-tile-type] the box is of another tile | 128, 64 | 256, 64
void box_of_another_tile() { t.tma_load(a, B.at(i, 0), done); }
// [dsl-tile-type] the box is of another tile | 128, 32 | 128, 64
void tile_of_the_other_ring() { t.tma_load(other_slot.get<DTile>(), A.at(i, 0), other_slot.full); }
// [dsl-arguments] tma_load(tile, box, mbarrier)
void copy_from_tile_to_box() { t.tma_load(A.at(i, 0), a, done); }
// [dsl-arguments] tma_load(tile, box, mbarrier)
void load_without_a_barrier() { t.tma_load(a, A.at(i, 0)); }
// [dsl-arguments] slot.full
void slot_for_its_barrier() { t.tma_load(a, A.at(i, 0), slot); }
// [dsl-arguments] slot.get<Tile>()
void slot_for_its_tile() { t.tma_load(slot, A.at(i, 0), slot.full); }
// [dsl-arguments] map.at(row, column)
void map_for_a_box() { t.tma_load(a, A, done); }
// [tma-issuer] inside elect
void load_by_a_warpgroup() { g.tma_load(a, A.at(i, 0), done); }
// [tma-issuer]
void store_by_a_warp() { w.tma_store(A.at(i, 0), a); }
// [dsl-arguments] tma_store(box, tile)
void store_to_a_tile() { t.tma_store(a, A.at(i, 0)); }
// [dsl-tile-type] 256, 64 | 128, 64
void store_of_another_tile() { t.tma_store(B.at(i, 0), a); }
// [dsl-arguments] map.at(row, column)
void store_to_a_map() { t.tma_store(A, a); }
// [dsl-value-kind] clang++: a U32 is wanted and an F32 is given | g++: Other = kiln::dsl::F32
void coordinate_that_is_a_float() { t.tma_load(a, A.at(x, 0), done); }
// [dsl-value-kind] float | convert<To>(x) | clang++: a U32 is wanted and a host float is given
void coordinate_that_is_a_host_float() { t.tma_load(a, A.at(0.5f, 0), done); }
// [dsl-arguments] at(row, column)
void one_coordinate() { t.tma_load(a, A.at(i), done); }

// Slots and rings -----------------------------------------------------------------------------------------------------

// [dsl-tile-type] 128, 32 | 128, 64 | 256, 64
void tile_that_the_slot_has_not() { (void)slot.get<DTile>(); }
// [dsl-tile-type] get<index>() | 128, 64
void which_of_two_tiles() { (void)twin.get<ATile>(); }
// [dsl-tile-type] 128, 64 | 256, 64
void part_that_the_slot_has_not() { (void)slot.get<2>(); }
// [dsl-scope] one thread fills a ring
void acquire_by_a_warp() { (void)ring.acquire(w); }
// [dsl-arguments] this ring's wait(scope)
void release_of_another_rings_slot() { ring.release(g, other_slot); }
// [dsl-arguments]
void release_of_a_barrier() { ring.release(g, slot.empty); }
// [dsl-arguments]
void release_of_a_tile() { ring.release(g, a); }
// [dsl-arguments]
void release_without_the_scope() { ring.release(slot); }
// [dsl-arguments]
void release_with_scope_last() { ring.release(slot, g); }
// [dsl-scope] one thread issues the MMAs
void accumulator_acquired_by_a_warpgroup() { (void)sums_ring.acquire(g); }
// [dsl-scope] whole warps read an accumulator
void accumulator_read_by_a_thread() { (void)sums_ring.wait(t); }
// [dsl-scope] one thread issues the MMAs
void accumulator_acquired_by_a_warp() { (void)sums_ring.acquire(w); }
// [dsl-arguments]
void release_of_another_accumulator() { sums_ring.release(g, pair_sums); }
// [dsl-arguments]
void release_of_the_sums() { sums_ring.release(g, sums.sums); }
// [dsl-arguments]
void accumulator_released_by_a_thread() { sums_ring.release(t, sums); }
// [dsl-scope]
void store_ring_in_a_thread() { (void)out.acquire(t); }
// [dsl-arguments] publish(warpgroup, tile, box)
void publish_to_a_tile() { out.publish(g, D.at(i, 0), d); }
// [dsl-tile-type] 128, 64 | 128, 32
void publish_of_another_tile() { out.publish(g, a, D.at(i, 0)); }
// [dsl-tile-type] 128, 32 | 128, 64
void publish_to_another_box() { out.publish(g, d, A.at(i, 0)); }
// [dsl-arguments]
void publish_by_a_thread() { out.publish(t, d, D.at(i, 0)); }
// [dsl-arguments] slot.empty
void commit_to_a_slot() { t.commit(slot); }
// [dsl-arguments] slot.full
void commit_to_an_accumulator() { t.commit(sums); }
// [tcgen05-mma-issuer]
void commit_by_a_warpgroup() { g.commit(done); }
// [dsl-arguments] ring.wait(scope)
void wait_for_a_slot() { g.wait(slot); }
// [dsl-arguments] wait(mbarrier, phase)
void wait_without_a_phase() { g.wait(done); }
// [dsl-value-kind]
void phase_that_is_a_float() { g.wait(done, x); }
// [dsl-arguments]
void ring_without_slots() { (void)kernel.ring<0, ATile>(); }
// [dsl-arguments]
void ring_of_maps() { (void)kernel.ring<4, TensorMap<ATile>>(); }

// MMAs ----------------------------------------------------------------------------------------------------------------

// [tcgen05-mma-operands] 64
void b_with_other_columns() { t.mma(acc, a.k_slice(0), half.k_slice(0), accumulate(true)); }
// [tcgen05-mma-operands]
void a_with_other_rows() { t.mma(acc, half.k_slice(0), b.k_slice(0), accumulate(true)); }
// [dsl-arguments] tile.k_slice(k)
void tiles_for_slices() { t.mma(acc, a, b, accumulate(true)); }
// [dsl-arguments]
void tile_for_the_slice_of_b() { t.mma(acc, a.k_slice(0), b, accumulate(true)); }
// [dsl-arguments] accumulate(p)
void bool_for_accumulate() { t.mma(acc, a.k_slice(0), b.k_slice(0), true); }
// [dsl-arguments]
void predicate_for_accumulate() { t.mma(acc, a.k_slice(0), b.k_slice(0), i != 0); }
// [dsl-arguments]
void no_accumulate() { t.mma(acc, a.k_slice(0), b.k_slice(0)); }
// [dsl-arguments]
void sums_last() { t.mma(a.k_slice(0), b.k_slice(0), acc, accumulate(true)); }
// [dsl-arguments] slot.sums
void slot_for_its_sums() { t.mma<Mma>(sums, a.k_slice(0), b.k_slice(0), accumulate(true)); }
// [tcgen05-tmem-range] 256 | 96
void sums_of_another_mma() { t.mma<Mma>(odd, a.k_slice(0), b.k_slice(0), accumulate(true)); }
// [tcgen05-mma-operands]
void tile_in_the_place_of_a_half() { t.mma<Pair>(pair_sums.sums, pair_a.k_slice(0), b.k_slice(0), accumulate(true)); }
// [tcgen05-mma-types]
void types_without_a_kind() { t.mma(acc, a.k_slice(0), floats.k_slice(0), accumulate(true)); }
// [tcgen05-mma-accumulator]
void sums_of_integers() { t.mma<Mma>(integers, a.k_slice(0), b.k_slice(0), accumulate(true)); }
// [dsl-arguments] mma_tiles(sums, a, b, accumulate(p))
void slices_for_tiles() { t.mma_tiles(acc, a.k_slice(0), b.k_slice(0), accumulate(true)); }
// [dsl-arguments] mma_tiles<Mma>(sums, a, b, accumulate(p))
void tiles_of_other_k() { t.mma_tiles<Mma>(acc, a, d, accumulate(true)); }
// [dsl-arguments] whether to add
void tiles_and_no_accumulate() { t.mma_tiles<Mma>(acc, a, b); }
// [dsl-arguments] mma_tiles(sums, a, b, accumulate(p))
void slot_for_the_sums_of_tiles() { t.mma_tiles(sums, a, b, accumulate(true)); }
// [tcgen05-mma-operands] 128
void tiles_with_other_columns() { t.mma_tiles<Mma>(acc, a, a, accumulate(true)); }
// [tcgen05-mma-issuer]
void tiles_by_a_warpgroup() { g.mma_tiles(acc, a, b, accumulate(true)); }
// [dsl-tile-type] accumulator<Mma>(name)
void sums_of_a_stationary_mma_in_rows() { t.mma_tiles<Ws>(acc, half, b, accumulate(true)); }
// [dsl-tile-type] other lanes of tensor memory
void sums_in_quarters_in_rows() { t.mma_tiles<Ws32>(quarter_rows, quarter_a, a, accumulate(true)); }
// [dsl-tile-type] other lanes
void sums_of_a_pair_in_rows() { t.mma<Pair128>(acc, half.k_slice(0), a.k_slice(0), accumulate(true)); }
// [dsl-arguments] 128 rows, or 64
void sums_of_32_rows() { (void)kernel.tmem<f32, 32, 128>("acc"); }
// [dsl-arguments] load_fragment<columns>(sums, half, first)
void fragment_of_a_slot() { (void)g.load_fragment<16>(sums); }
// [dsl-arguments] lanes are rows
void fragment_of_halves() { (void)g.load_fragment<16>(stationary); }
// [tcgen05-ld-wait]
void sums_fragment_before_the_wait() { (void)cvt<bf16>(g.load_fragment<16>(acc)); }
// [tcgen05-mma-issuer]
void mma_by_a_warpgroup() { g.mma(acc, a.k_slice(0), b.k_slice(0), accumulate(true)); }
// [dsl-value-kind]
void accumulate_a_number() { t.mma(acc, a.k_slice(0), b.k_slice(0), accumulate(i)); }
// [shared-tile-slice] 128, 64
void slice_inside_an_instruction() { (void)a.k_slice<24>(); }
// [shared-tile-layout] 128, 64
void slice_of_a_packed_tile() { (void)plain.k_slice(0); }
// [dsl-value-kind]
void slice_at_a_device_value() { (void)a.k_slice(i); }

// Accumulators --------------------------------------------------------------------------------------------------------

// [tcgen05-ld-wait] wrap the load in wait(...)
void read_before_the_wait() { (void)g.load(acc.columns<16>(0))[0]; }
// [tcgen05-ld-wait]
void convert_before_the_wait() { (void)cvt<bf16>(pending); }
// [tcgen05-ld-wait]
void store_before_the_wait() { g.store_global(address, halves_pending, i); }
// [tcgen05-ld-wait]
void store_to_a_tile_before_the_wait() { g.store(wide, g.load(acc.columns<64>(0))); }
// [tcgen05-ld-repeat] 96 | 64
void load_of_96_columns() { (void)g.load(odd); }
// [tcgen05-ld-repeat] 48 | 32
void load_of_48_columns() { (void)g.load<48>(acc, 0); }
// [tcgen05-ld-issuer]
void load_by_a_thread() { (void)t.load(acc); }
// [tcgen05-ld-issuer]
void load_by_a_warp() { (void)w.load(acc); }
// [dsl-arguments] slot.sums
void load_of_an_accumulator_slot() { (void)g.load(sums); }
// [dsl-arguments]
void load_of_an_operand() { (void)g.load(tensor_a); }
// [dsl-arguments] slot.get<Tile>()
void load_of_a_slot() { (void)g.load(slot); }
// [tcgen05-tmem-range] 512 | 256
void columns_beyond_the_block() { (void)acc.columns<512>(i); }
// [dsl-value-kind]
void columns_at_a_float() { (void)acc.columns<32>(x); }
// [dsl-register-type] other elements
void floats_into_a_bf16_operand() { g.store(tensor_a, row); }
// [dsl-register-type]
void bf16_into_sums() { g.store(acc, half_row); }
// [dsl-tile-type] of other elements
void floats_into_a_bf16_tile() { g.store(d, row); }
// [dsl-tile-type]
void half_a_row_into_a_tile() { g.store(a, half_row); }
// [dsl-tile-type] TmemAOf<Mma, K>
void a_in_the_lanes_of_another_mma() { t.mma<Ws>(stationary, half_a.k_slice(0), b.k_slice(0), accumulate(true)); }
// [dsl-register-type] cvt<To>(x)
void sums_as_a_of_a_stationary_mma() { g.store(stationary_a, row); }
// [dsl-tile-type] ldmatrix moves 1, 2 or 4 matrices
void fragment_of_sixteen_matrices() { (void)w.ldmatrix<WideBlock>(a, 0, 0); }
// [dsl-tile-type] ldmatrix moves
void fragment_of_other_elements() { (void)w.ldmatrix<Cells>(a, 0, 0); }
// [dsl-tile-type] stmatrix moves 1, 2 or 4 matrices
void fragment_that_is_too_wide() { w.stmatrix<WideBlock>(a, 0, 0, eight); }
// [dsl-register-type] F::elements
void fragment_of_half_a_row() { w.stmatrix<Block>(a, 0, 0, half_row); }
// [tcgen05-ld-wait]
void fragment_that_is_pending() { w.stmatrix<Block>(a, 0, 0, eight_pending); }
// [dsl-warp-issuer]
void ldmatrix_by_a_thread() { (void)t.ldmatrix<Block>(a, 0, 0); }
// [dsl-arguments] ldmatrix<F>(tile, row, column)
void ldmatrix_without_a_place() { (void)w.ldmatrix<Block>(a); }
// [dsl-value-kind] clang++: a U32 is wanted and an F32 is given
void ldmatrix_at_a_float() { (void)w.ldmatrix<Block>(a, x, 0); }
// [dsl-value-kind] row < m
void row_for_a_predicate() { g.store_row(d, i, half_row, i); }
// [dsl-arguments] tma_gather(tile, map, column, [&](U32 r) { return row; }, mbarrier)
void gather_with_the_map_of_a_tile() { t.tma_gather(a, A, 0, [&](U32 r) { return r; }, done); }
// [dsl-arguments] tma_gather(tile, map, column
void gather_of_one_row() { t.tma_gather(a, rows, 0, i, done); }
// [dsl-arguments] a K-major tile with a swizzle
void gather_of_columns() { t.tma_gather(transposed, rows, 0, [&](U32 r) { return r; }, done); }
// [dsl-arguments] tma_scatter(map, column, [&](U32 r) { return row; }, tile)
void scatter_of_a_map() { t.tma_scatter(rows, 0, [&](U32 r) { return r; }, rows); }
// [dsl-value-kind] bit_cast<U32>(x)
void float_for_bits() { (void)g.ptx<"prmt.b32", U32(U32, U32, U32)>(x, i, 0x5410); }
// [dsl-arguments] more or fewer operands than the signature
void operand_that_is_missing() { (void)t.ptx<"prmt.b32", U32(U32, U32, U32)>(i, i); }
// [dsl-arguments] no instruction of this name
void instruction_that_is_none() { (void)t.ptx<"permute.b32", U32(U32, U32)>(i, i); }
// [dsl-value-kind] .f32 is an F32
void signature_of_another_type() { (void)t.ptx<"add.f32", U32(U32, U32)>(i, i); }
// [dsl-value-kind] .b32, .u32 and .s32 a U32
void float_signature_of_bits() { (void)t.ptx<"prmt.b32", F32(F32, F32, U32)>(x, x, 0x5410); }
// [dsl-arguments] void exactly where
void result_that_is_dropped() { t.ptx<"add.u32", void(U32, U32)>(i, i); }
// [dsl-tile-type] load_row(tile, row)
void tile_of_64_rows_by_a_warpgroup() { (void)g.load(half); }
// [dsl-tile-type] store_row(tile, row, values)
void store_to_256_rows() { g.store(b, half_row); }
// [dsl-tile-type]
void load_of_a_transposed_tile() { (void)g.load(transposed); }
// [dsl-arguments]
void values_before_the_tile() { g.store(half_row, d); }
// [dsl-arguments]
void store_of_one_value() { g.store(floats, x); }
// [tcgen05-tmem-range]
void too_many_columns() { (void)kernel.tmem<f32, 128, 1024>("acc"); }
// [tcgen05-mma-n]
void mma_that_is_not() { (void)kernel.accumulator<tcgen05_mma<kind_f16, bf16, bf16, f32, 128, 250>>("acc"); }

// Values and variables ------------------------------------------------------------------------------------------------

// [dsl-value-kind]
void integer_plus_float() { (void)(i + x); }
// [dsl-value-kind]
void integer_times_host_float() { (void)(i * 0.5f); }
// [dsl-value-kind]
void unsigned_and_signed() { (void)(i < s); }
// [dsl-value-kind]
void wide_plus_narrow() { (void)(address + i); }
// [dsl-value-assignment] Var
void assignment_to_a_value() { i = 3; }
// [dsl-value-assignment]
void sum_in_a_value() { x += 1.0f; }
// [dsl-value-kind]
void float_for_a_variable_of_integers() { count = 0.5f; }
// [dsl-value-kind]
void integer_into_a_variable_of_floats() { sum = i; }
// [dsl-value-kind]
void integer_added_to_a_variable_of_floats() { sum += i; }
// [dsl-value-kind]
void variable_of_integers_added_to_one_of_floats() { sum += count; }
// [dsl-arguments]
void increment() { ++count; }
// [dsl-value-kind]
void predicate_in_arithmetic() { (void)(i + p); }
// [dsl-host-condition] t.when
void host_condition() { if (i < 3) t.trap(); }
// [dsl-host-condition]
void host_condition_of_a_number() { if (i) t.trap(); }
// [dsl-value-kind]
void root_of_an_integer() { (void)sqrt_rn(i); }
// [dsl-value-kind]
void bits_of_a_float() { (void)popc(x); }
// [dsl-value-kind]
void select_of_two_kinds() { (void)select(p, s, x); }
// [dsl-value-kind]
void select_by_a_number() { (void)select(s, x, 0.0f); }
// [dsl-value-kind]
void conversion_to_a_pair() { (void)convert<BF16x2>(x); }
// [dsl-value-kind]
void cast_of_64_bits() { (void)bit_cast<F32>(address); }
// [dsl-value-kind]
void pair_plus_float() { (void)(pair_value + s); }
// [dsl-value-kind]
void pair_of_integers() { (void)pack<BF16x2>(i, i); }
// [dsl-register-index] host integer
void index_on_the_device() { (void)many[i]; }
// [dsl-register-index]
void register_by_a_device_index() { (void)row[i]; }
// [dsl-register-type]
void element_of_packed_registers() { (void)half_row[0]; }
// [dsl-register-type]
void conversion_to_f32() { (void)cvt<f32>(half_row); }
// [dsl-register-type]
void rounding_of_bf16() { (void)cvt<bf16>(half_row); }
// [dsl-register-type]
void widening_of_floats() { (void)widen(row); }
// [dsl-value-kind]
void element_at_a_float() { (void)pointer.at(x); }

// Scopes, roles and control flow --------------------------------------------------------------------------------------

// [dsl-scope] [&](Warp w)
void thread_of_a_whole_warp() { kernel.role("load", warp<4>, [](Thread) {}); }
// [dsl-scope] [&](Thread t)
void warpgroup_of_one_thread() { kernel.role("mma", warp<5>.elect(), [](Warpgroup&) {}); }
// [dsl-scope] [&](Warpgroup& g)
void thread_of_a_warpgroup() { kernel.role("store", warpgroup<0>, [](Thread) {}); }
// [dsl-body-result]
void role_that_returns() { kernel.role("load", warp<4>.elect(), [](Thread) { return 1; }); }
// [dsl-scope]
void role_without_a_scope() { kernel.role("load", warp<4>.elect(), [] {}); }
// [dsl-arguments] the body takes the index
void loop_without_an_index() { t.loop(i, [] {}); }
// [dsl-value-kind]
void trips_that_are_floats() { t.loop(x, [](U32) {}); }
// [dsl-arguments]
void loop_with_a_host_index() { t.loop(i, [](int) {}); }
// [dsl-arguments]
void loop_body_first() { t.loop([](U32) {}, i); }
// [dsl-value-kind] x != 0
void when_of_a_number() { t.when(i, [] {}); }
// [dsl-value-kind] n == 0
void exit_when_of_a_number() { t.exit_when(i); }
// [dsl-arguments]
void when_with_an_index() { t.when(p, [](U32) {}); }
// [dsl-warp-issuer] a whole warp executes this
void shuffle_by_a_thread() { (void)t.shfl_sync_bfly(x, 1); }
// [dsl-value-kind]
void shuffle_of_a_predicate() { (void)w.shfl_sync_bfly(p, 1); }
// [dsl-value-kind] only integers have a remainder
void remainder_of_a_float() { sum %= 2.0f; }
// [dsl-value-kind]
void select_of_a_predicate_and_a_number() { (void)select(p, p, 1); }
// [dsl-value-kind]
void vote_of_a_number() { (void)w.vote_sync_all(i); }
// [dsl-value-kind]
void largest_float_in_memory() { (void)t.atom<RedOp::max>(address, x); }
// [dsl-arguments]
void atomic_at_a_float() { (void)t.atom<RedOp::add>(x, i); }
// [dsl-arguments] pointer.at(index)
void atomic_at_a_pointer() { (void)t.atom<RedOp::add>(pointer, x); }
// [dsl-value-kind]
void reduction_by_inc() { (void)w.warp_reduce<RedOp::inc>(i); }
// [dsl-arguments] kernel.warpgroup_scratch()
void reduction_without_scratch() { (void)g.warpgroup_reduce<RedOp::add>(x); }
// [dsl-arguments]
void store_to_a_pointer() { g.store_global(pointer, row, i); }
// [dsl-arguments]
void store_without_a_length() { g.store_global(address, row); }
// [dsl-arguments]
void values_before_the_address() { g.store_global(row, address, i); }
// [dsl-register-type]
void three_floats() { (void)g.load_global<f32, 3>(address, i); }
// [dsl-arguments] ld_global<T>(address), or (address, predicate, otherwise)
void load_from_a_pointer() { (void)t.ld_global<f32>(pointer); }
// [dsl-arguments] ld_global<T>(address), or (address, predicate, otherwise)
void load_where_a_number_holds() { (void)t.ld_global<f32>(address, i, 0); }
// [dsl-register-type] T is f32, bf16, f16
void load_of_one_byte_float() { (void)t.ld_global<e4m3>(address); }
// [dsl-arguments] the address is a U32, of shared memory
void shared_load_from_global() { (void)t.ld_shared<u32>(address); }
// [dsl-value-kind] takes values of its own kind
void store_of_a_float_as_words() { t.st_global<u32>(address, x); }
// [dsl-value-kind] takes values of its own kind
void store_of_a_predicate() { t.st_shared(i, p); }
// [dsl-arguments] st_global(address, value), and a predicate last
void value_before_the_address() { t.st_global(x, address); }
// [dsl-arguments] Pointer<f32>
void parameter_of_a_host_type() { (void)kernel.param<float>("alpha"); }
// [dsl-arguments]
void parameter_that_is_a_tile() { (void)kernel.param<ATile>("A"); }
// [dsl-arguments]
void parameter_that_is_a_value() { (void)kernel.param<U32>("n"); }
// [mbarrier-count]
void barrier_for_none() { (void)kernel.mbarrier<0>("done"); }

// Other arguments than a function's -----------------------------------------------------------------------------------

// [dsl-arguments] load_row(tile, row) or load_row<N>(tile, row, first): a shared tile (of a slot:
void row_of_an_accumulator() { (void)g.load_row(acc, i); }
// [dsl-arguments] load_row(tile, row) or load_row<N>(tile, row, first): a shared tile (of a slot:
void row_of_a_slot() { (void)g.load_row(slot, i); }
// [dsl-arguments] load_row(tile, row) or load_row<N>(tile, row, first): a shared tile (of a slot:
void row_without_a_number() { (void)g.load_row(a); }
// [dsl-arguments] load_row(tile, row) or load_row<N>(tile, row, first): a shared tile (of a slot:
void row_at_a_float() { (void)g.load_row(a, x); }
// [dsl-arguments] store_row(tile, row, registers) or store_row(tile, row, first, registers): a shared tile
void values_before_the_row() { g.store_row(a, half_row, i); }
// [dsl-arguments] store_row(tile, row, registers) or store_row(tile, row, first, registers): a shared tile
void row_of_a_slot_stored() { g.store_row(slot, i, half_row); }
// [dsl-arguments] store_row(tile, row, registers) or store_row(tile, row, first, registers): a shared tile
void row_stored_at_a_float() { g.store_row(d, x, half_row); }
// [dsl-arguments] tma_load_part(tile, first, box, mbarrier): slot.get<Tile>() is a slot's tile, `first` a
void part_of_a_slot() { t.tma_load_part(slot, 0, P.at(i, 0), done); }
// [dsl-arguments] tma_load_part(tile, first, box, mbarrier): slot.get<Tile>() is a slot's tile, `first` a
void part_from_a_map() { t.tma_load_part(a, 0, P, done); }
// [dsl-arguments] tma_load_part(tile, first, box, mbarrier): slot.get<Tile>() is a slot's tile, `first` a
void part_at_a_device_value() { t.tma_load_part(a, i, P.at(i, 0), done); }
// [dsl-arguments] tma_load_part(tile, first, box, mbarrier): slot.get<Tile>() is a slot's tile, `first` a
void part_without_a_barrier() { t.tma_load_part(a, 0, P.at(i, 0)); }
// [dsl-arguments] load_reduced<op>(sums): an accumulator with M = 128 or 256 of a pair, whose lanes are
void reduced_load_of_a_slot() { (void)g.load_reduced<RedOp::max>(sums); }
// [dsl-arguments] row_of(sums): an accumulator (of a slot: slot.sums) or A in tensor memory; g.row() is the
void row_of_an_accumulator_slot() { (void)g.row_of(sums); }
// [dsl-arguments] column_of(sums): an accumulator (of a slot: slot.sums) or A in tensor memory; g.row() is
void column_of_a_tile() { (void)g.column_of(a); }
// [dsl-arguments] row_of_fragment(sums, half): an accumulator with M = 64, 128 or 256 whose lanes are rows
void fragment_row_of_a_slot() { (void)g.row_of_fragment(sums); }
// [dsl-arguments] descriptor(tile) or descriptor(slice): of a slot slot.get<Tile>()
void descriptor_of_a_slot() { t.descriptor(slot); }
// [dsl-arguments] share(sums) or share(tile) of a role's warpgroups: of a slot slot.sums or slot.get<Tile>()
void share_of_a_slot() { (void)gg.share(slot); }
// [dsl-arguments] share(sums) or share(tile) of a role's warpgroups: of a slot slot.sums or slot.get<Tile>()
void share_of_an_accumulator_slot() { (void)gg.share(sums); }
// [shared-tile-slice] columns<N>(at) of a K-major tile: N and at are whole spans of the swizzle inside of the | 128, 64
void columns_of_a_tile_at_a_float() { (void)a.columns<64>(x); }
// [shared-tile-slice] rows<M>(at) of a K-major tile: 8, 16, ... rows inside of the tile, | 128, 64
void twelve_rows_of_a_tile() { (void)a.rows<12>(0); }
// [dsl-arguments] publish(warpgroup, slot): the warpgroup that has stored to it, and the slot that this
void publish_of_another_rings_slot() { ring.publish(g, other_slot); }
// [dsl-arguments] publish(warpgroup, slot): the warpgroup that has stored to it, and the slot that this
void publish_of_a_slot_by_a_thread() { ring.publish(t, slot); }
// [dsl-arguments] wait(scope): the scope that reads the slot
void wait_of_a_ring_without_a_scope() { (void)ring.wait(); }
// [dsl-arguments] wait(scope): the scope that reads the slot
void wait_of_a_ring_for_a_slot() { (void)ring.wait(slot); }
// [dsl-scope] drain(thread): the thread that fills the ring, inside elect([&](Thread t) { ... }) or in
void drain_by_a_warpgroup() { ring.drain(g); }
// [dsl-tile-type] 128, 32 | 128, 64 | 256, 64
void acquire_of_a_tile_that_slots_have_not() { (void)ring.acquire<DTile>(t); }
// [dsl-value-kind] var(first): a number or a value of the variable's kind; load(...) reads a tile or an
void variable_of_an_accumulator() { (void)g.var(acc); }
// [dsl-value-kind] var(first): a number or a value of the variable's kind; load(...) reads a tile or an
void variable_of_a_tile() { (void)g.var(a); }
// [dsl-value-kind] var(first): a number or a value of the variable's kind; load(...) reads a tile or an
void variable_of_a_predicate() { (void)g.var(p); }
// [dsl-arguments] vars<N>(first): N variables in a row, one at least, all with that first number or value
void variables_of_a_slot() { (void)g.vars<8>(slot); }
// [dsl-value-kind] a value, a variable or a host number is wanted; load(...) reads a tile or an accumulator,
void accumulator_into_a_variable() { sum = acc; }
// [dsl-value-kind] a value, a variable or a host number is wanted; load(...) reads a tile or an accumulator,
void registers_into_a_variable() { sum = row; }
// [dsl-arguments] variables in a row are assigned one by one: `for (int i = 0; i < N; ++i) row[i] = x`
void number_into_all_variables() { many = 0.0f; }
// [dsl-arguments] arrive(mbarrier): slot.full is a slot's mbarrier; ring.publish(g, slot) and
void arrival_at_a_slot() { g.arrive(slot); }
// [dsl-arguments] expect_tx(mbarrier, bytes): slot.full is a slot's mbarrier, and a ring's acquire(thread)
void bytes_announced_to_a_slot() { t.expect_tx(slot, 128); }
// [dsl-arguments] expect_tx(mbarrier, bytes): slot.full is a slot's mbarrier, and a ring's acquire(thread)
void announcement_without_bytes() { t.expect_tx(done); }
// [dsl-arguments] arrive(mbarrier): slot.full is a slot's mbarrier; ring.release(scope, slot) gives a slot
void arrival_of_a_thread_at_a_slot() { t.arrive(slot); }
// [dsl-arguments] store_global(address, registers, elements, first): the U64 where the row begins, this
void length_that_is_a_float() { g.store_global(address, row, x); }
// [dsl-arguments] load_global<T, N>(address, elements, first): the U64 where the row begins
void row_from_a_pointer() { (void)g.load_global<f32, 4>(pointer, i); }
// [dsl-arguments] ld_global(address, ...): an address of global memory is a U64, of an element
void word_at_a_pointer() { (void)g.ld_global(pointer); }
// [dsl-arguments] ld_global_f32(address): a U64, of an element pointer.at(index)
void float_at_a_pointer() { (void)g.ld_global_f32(pointer); }
// [dsl-arguments] ld_global(address, ...): an address of global memory is a U64, of an element
void word_at_32_bits() { (void)g.ld_global(i); }
// [dsl-arguments] atom_cas(address, expected, wanted): the address of an element is pointer.at(index), both
void swap_at_a_pointer() { (void)t.atom_cas(pointer, i, i); }
// [dsl-value-kind] convert<To>(x) | clang++: an F32 is wanted and a U32 is given
void product_of_two_kinds() { (void)fma(i, x, x); }
// [dsl-value-kind] widen(x) and multiply_wide(x, y) take U32; convert<U64>(x) takes other numbers
void wide_product_of_a_float() { (void)multiply_wide(x, i); }
// [dsl-value-kind] widen(x) and multiply_wide(x, y) take U32; convert<U64>(x) takes other numbers
void widening_of_a_float() { (void)widen(x); }
// [dsl-value-kind] pack<Pair>(first, second) takes two F32, convert<F32>(x) makes one of an integer;
void unpacking_of_a_float() { (void)unpack(x); }
// [dsl-register-type] pair(registers, i) is a register of bf16 or f16; registers[i] is one of f32,
void pair_of_floats() { (void)pair(row, 0); }
// [dsl-value-kind] make_registers<N>([&](int i) { return value; }): an F32, U32 or S32, or a pair of 16
void registers_of_host_floats() { (void)make_registers<4>([](int) { return 0.0f; }); }
// [dsl-value-kind] make_registers<N>([&](int i) { return value; }): an F32, U32 or S32, or a pair of 16
void registers_of_accumulators() { (void)make_registers<4>([](int) { return acc; }); }
// [tcgen05-ld-wait] loaded registers are readable only after tcgen05.wait::ld; wrap the load in wait(...)
void combination_before_the_wait() { (void)combined(pending, [](F32 a, F32 b) { return a + b; }); }
// [dsl-arguments] shared<Tile>(): SharedTile, ScaleTile, MetadataTile; a parameter is
void shared_map() { (void)kernel.shared<TensorMap<ATile>>(); }
// [dsl-arguments] store_ring<stages, Tile>(name): one slot at least, each a SharedTile
void store_ring_of_an_mma() { (void)kernel.store_ring<2, Mma>(); }
// [dsl-arguments] accumulator<Mma>(name), accumulator_ring<stages, Mma>(name): Mma is a tcgen05_mma<...>
void accumulator_of_a_tile() { (void)kernel.accumulator<ATile>("x"); }
// [dsl-arguments] tensor_memory<T>(name): TmemA, TmemAOf, SFA, SFB or SparseMetadata;
void tile_in_tensor_memory() { (void)kernel.tensor_memory<ATile>("x"); }
// [dsl-arguments] accumulator_ring<stages, Mma>(name): one accumulator at least
void ring_without_accumulators() { (void)kernel.accumulator_ring<0, Mma>("x"); }
// [dsl-scope] the body of a role of warpgroups<first, count> takes them: [&](auto& g) { ... }
void thread_of_two_warpgroups() { kernel.role("x", warpgroups<0, 2>, [](Thread) {}); }
// [dsl-arguments] role(name, threads, body): warp<i>.elect(), warp<i>, warpgroup<i> or warpgroups<first,
void role_of_a_number() { kernel.role("x", 4, [](Warp) {}); }
// [dsl-arguments] tiles(schedule, rows, columns): static_schedule or launch_control, and how many tiles as
void tiles_of_a_float() { (void)kernel.tiles(static_schedule, x, i); }
// [dsl-arguments] ceil_div(a, b): a U32 and a host integer
void quotient_by_a_device_value() { (void)kernel.ceil_div(i, i); }
// [dsl-value-kind] printf(format, ...) prints numbers, U32, S32, U64 or F32, and host strings; registers[i]
void print_of_an_accumulator() { t.printf("%f", acc); }
// [dsl-scope] each_warp([&](Warp w) { ... }): the body takes a warp
void thread_of_each_warp() { g.each_warp([](Thread) {}); }
// [dsl-scope] elect([&](Thread t) { ... }): the body takes one thread
void warp_that_is_elected() { g.elect([](Warp) {}); }
// [dsl-arguments] loop(trips, [&](U32 i) { ... }): the body takes the index; over tiles, loop(tiles,
void loop_over_tiles_with_an_index() { t.loop(tiles, [](U32) {}); }
// [dsl-value-kind] trap_if(predicate): compare a value, as in x != 0, to make one
void trap_if_a_number() { t.trap_if(i); }
// [dsl-value-kind] bar_red_and(predicate): compare a value, as in x != 0, to make one
void barrier_of_a_number() { (void)g.bar_red_and(i); }
// [dsl-arguments] warpgroup_reduce<op>(value, scratch): a number as warp_reduce takes it, and auto scratch
void reduction_through_a_number() { (void)g.warpgroup_reduce<RedOp::add>(x, i); }
// [dsl-scope] a warpgroup reduces so: a role of warpgroup<i>; a warp has warp_reduce<op>(value)
void warpgroup_reduction_by_a_warp() { (void)w.warpgroup_reduce<RedOp::add>(x, scratch); }
// [dsl-value-kind] a shuffle takes a value of 32 or 64 bits and a lane: U32, S32, U64, F32, F16x2; registers[i]
void shuffle_of_registers() { (void)w.shfl_sync_bfly(row, 1); }
// [dsl-value-kind] warp_reduce<op>(value): add, min, max or bits of U32 or S32, add, min or max of F32;
void reduction_of_an_accumulator() { (void)w.warp_reduce<RedOp::add>(acc); }
// [dsl-register-type] red<RedOp::add>(address, registers) adds 8 or 16 bytes of f32, f16 or bf16: two or four
void sum_of_32_registers_in_memory() { t.red<RedOp::add>(address, row); }
// [dsl-arguments] cp_async_bulk(shared, global, bytes, mbarrier) or cp_async_bulk(global, shared, bytes): a
void bulk_copy_to_a_tile() { t.cp_async_bulk(a, address, 128, done); }
// [dsl-arguments] ldmatrix<F>(tile, row, column): a shared tile (of a slot: slot.get<Tile>()) and where the
void ldmatrix_of_a_slot() { (void)w.ldmatrix<Block>(slot, i, 0); }
// [dsl-arguments] ldmatrix<F>(tile, row, column): a shared tile (of a slot: slot.get<Tile>()) and where the
void ldmatrix_of_an_accumulator() { (void)w.ldmatrix<Block>(acc, i, 0); }
// [dsl-arguments] stmatrix<F>(tile, row, column, registers): a shared tile, where the fragment begins in
void stmatrix_to_a_slot() { w.stmatrix<Block>(slot, 0, 0, eight); }
// [dsl-arguments] tcgen05_ld<shape, repeat>(address): a U32 in the lanes of this warp's quarter, as
void bare_load_of_an_accumulator() { (void)w.tcgen05_ld<isa::DataShape::s32x32b, 32>(acc); }
// [dsl-arguments] tcgen05_st<shape, repeat>(address, registers): a U32 in the lanes of this warp's quarter,
void bare_store_to_an_accumulator() { g.tcgen05_st<isa::DataShape::s32x32b, 32>(acc, row); }
// [dsl-arguments] quarter(address): a U32, of an accumulator sums.address()
void quarter_of_an_accumulator() { (void)g.quarter(acc); }
// [dsl-arguments] at(row, column): where the box begins, in elements
void three_coordinates() { (void)A.at(i, 0, 0); }
// [dsl-value-kind] a value, a variable or a host number is wanted; load(...) reads a tile or an accumulator,
void element_at_an_accumulator() { (void)pointer.at(acc); }
// [dsl-value-kind] only integers have a remainder; x - trunc(x / y) * y is that of floats
void remainder_of_floats() { (void)(x % 2.0f); }
// [dsl-value-assignment] device values are immutable; keep state that changes in a Var: auto v = t.var(x)
void product_in_a_value() { i *= 2u; }
// [dsl-value-assignment] device values are immutable; keep state that changes in a Var: auto v = t.var(x)
void quotient_in_a_value() { x /= 2.0f; }
// [dsl-value-assignment] device values are immutable; a loop that counts is t.loop(n, [&](U32 i) { ... })
void increment_of_a_value() { i++; }
// [dsl-value-kind] && and
void number_and_predicate() { (void)(p && i); }
// [dsl-value-kind] convert<To>(x) makes a U32, S32, U64 or F32 of another; cvt<bf16>(registers) and
void conversion_to_an_element() { (void)convert<bf16>(x); }
// [dsl-value-kind] a value, a variable or a host number is wanted; load(...) reads a tile or an accumulator,
void accumulator_plus_float() { (void)(acc + x); }
// [dsl-value-kind] a value, a variable or a host number is wanted; load(...) reads a tile or an accumulator,
void registers_plus_float() { (void)(row + x); }
// [dsl-value-kind] load(tile) reads its elements, tile.address is a U32, tile.rows<M>(at) a part
void tile_plus_number() { (void)(slot.get<ATile>() + 1); }
// [dsl-value-kind] a value, a variable or a host number is wanted; load(...) reads a tile or an accumulator,
void product_with_a_slot() { sum += row[0] * slot; }
// [dsl-arguments] store(to, registers, first): an accumulator (of a slot: slot.sums), A in tensor memory or
void store_to_an_accumulator_slot() { g.store(sums, row); }
// [dsl-arguments] store(to, registers, first): an accumulator (of a slot: slot.sums), A in tensor memory or
void store_to_a_slot() { g.store(slot, half_row); }
// [dsl-arguments] store(to, registers, first): an accumulator (of a slot: slot.sums), A in tensor memory or
void store_at_a_float() { g.store(acc, row, x); }
// [dsl-arguments] store(to, registers, first): an accumulator (of a slot: slot.sums), A in tensor memory or
void store_at_a_device_value() { g.store(acc, row, i); }
// [dsl-arguments] load<N>(sums, first): an accumulator (of a slot: slot.sums), `first` a host integer; at a
void load_of_columns_at_a_device_value() { (void)g.load<32>(acc, i); }
// [dsl-arguments] load<N>(sums, first): an accumulator (of a slot: slot.sums), `first` a host integer; at a
void load_of_columns_of_a_slot() { (void)g.load<32>(sums, 0); }
// [dsl-value-kind] a column is a host integer or a U32
void columns_at_a_host_float() { (void)acc.columns<32>(0.5f); }
// [dsl-value-kind] select(predicate, a, b): compare a value, as in x != 0, to make a predicate; a and b are
void select_of_accumulators() { (void)select(p, acc, acc); }
// [dsl-arguments] vars<N>(first): N variables in a row, one at least, all with that first number or value
void no_variables() { (void)g.vars<0>(0.0f); }

// wgmma in its own words
// [dsl-tile-type] wgmma multiplies a swizzled tile with 64 rows of f16 or bf16 by one of the same type and K,
void wgmma_of_128_rows() { mma.multiply(wide_sums, a, b, accumulate(false)); }
// [dsl-tile-type] wgmma multiplies a swizzled tile with 64 rows of f16 or bf16 by one of the same type and K,
void wgmma_of_two_types() { mma.multiply(wide_sums, half, f16_b, accumulate(false)); }
// [dsl-tile-type] the tile has the type and the K of A in registers, and a row for each column of the sums
void wgmma_of_too_few_columns() { mma.multiply(wide_sums, a_registers, a, accumulate(false)); }
// [dsl-arguments] multiply(sums, a, b, accumulate(p)): sums<N>(), a tile or a<T, K>(), a tile
void wgmma_without_accumulate() { mma.multiply(wide_sums, half, b); }
// [tcgen05-mma-issuer] one thread issues this
void wgmma_as_tcgen05() { gg.mma(acc, a, b); }

// Calls with too little, too much, or what C++ calls it ---------------------------------------------------------------

// [dsl-arguments] shared<Tile>(), which has no name
void tile_with_a_name() { (void)kernel.shared<ATile>("a"); }
// [dsl-arguments] shared<Tile>(), which has no name
void tile_by_its_extents() { (void)kernel.shared<bf16, 128, 64>(); }
// [dsl-arguments] shared<Tile>(), which has no name
void tile_without_a_type() { (void)kernel.shared(); }
// [dsl-arguments] mbarrier(name), or mbarrier<arrivals>(name)
void barrier_without_a_name() { (void)kernel.mbarrier(); }
// [dsl-arguments] mbarrier(name), or mbarrier<arrivals>(name)
void barrier_of_four_without_a_name() { (void)kernel.mbarrier<4>(); }
// [dsl-arguments] mbarrier(name), or mbarrier<arrivals>(name)
void arrivals_for_a_name() { (void)kernel.mbarrier(4); }
// [dsl-arguments] ring<stages, Tiles...>(name)
void ring_without_a_number_of_slots() { (void)kernel.ring<ATile, BTile>("in"); }
// [dsl-arguments] accumulator<Mma>(name)
void accumulator_of_no_mma() { (void)kernel.accumulator("acc"); }
// [dsl-arguments] accumulator<Mma>(name)
void accumulator_by_its_extents() { (void)kernel.accumulator<f32, 128, 256>("acc"); }
// [dsl-arguments] accumulator_ring<stages, Mma>(name)
void accumulators_of_a_type_before_their_number() { (void)kernel.accumulator_ring<Mma, 2>("acc"); }
// [dsl-arguments] accumulator_ring<stages, Mma>(name)
void accumulators_of_no_mma() { (void)kernel.accumulator_ring<2>("acc"); }
// [dsl-arguments] tmem<f32, rows, columns>(name)
void tensor_memory_of_no_extents() { (void)kernel.tmem<f32>("acc"); }
// [dsl-arguments] tmem<f32, rows, columns>(name)
void tensor_memory_of_an_mma() { (void)kernel.tmem<Mma>("acc"); }
// [dsl-arguments] store_ring<stages, Tile>(name)
void store_ring_without_a_number() { (void)kernel.store_ring<DTile>("out"); }
// [dsl-arguments] store_ring<stages, Tile>(name)
void store_ring_of_two_tiles() { (void)kernel.store_ring<2, DTile, DTile>("out"); }
// [dsl-arguments] tensor_memory<T>(name)
void tensor_memory_of_no_type() { (void)kernel.tensor_memory("w"); }
// [dsl-arguments] pointer.at(index) is the address
void element_without_an_index() { (void)pointer.at(); }
// [dsl-arguments] pointer.at(index) is the address
void element_in_brackets() { (void)pointer[i]; }
// [dsl-arguments] pointer.at(index) is the address
void first_element_by_a_star() { (void)*pointer; }
// [dsl-register-type] ld_global<T>: T is f32
void element_of_a_host_type() { (void)g.ld_global<float>(address); }
// [dsl-arguments] ld_global<T>(address)
void load_of_no_address() { (void)g.ld_global<f32>(); }
// [dsl-register-type] cvt<To>(registers)
void rounding_to_a_host_type() { (void)cvt<float>(row); }
// [dsl-register-type] cvt<To>(registers)
void rounding_of_one_value() { (void)cvt<bf16>(x); }
// [dsl-register-type] cvt<To>(registers)
void rounding_to_no_type() { (void)cvt(row); }
// [dsl-arguments] combined(registers
void registers_combined_by_nothing() { (void)combined(row); }
// [dsl-arguments] combined(registers
void two_values_combined() { (void)combined(x, x); }
// [dsl-value-kind] make_registers<N>
void registers_without_a_number() { (void)make_registers([](int) { return x; }); }
// [dsl-arguments] atom<op>(address, value)
void atomic_without_an_operation() { (void)g.atom(address, x); }
// [dsl-value-kind] F32
void power_of_an_index() { (void)ex2_approx_ftz(i); }
// [dsl-value-kind] a value, a variable or a host number
void reciprocal_of_an_accumulator() { (void)rcp_approx_ftz(acc); }
// [dsl-value-kind] min(a, b) and max(a, b)
void greater_of_two_predicates() { (void)max(p, p); }
// [dsl-value-kind] min(a, b) and max(a, b)
void lesser_of_registers() { (void)min(row, row); }
// [dsl-value-kind] select(predicate, a, b)
void choice_of_one() { (void)select(p, x); }
// [dsl-value-kind] operations on bits are of integers
void and_of_a_float() { (void)(x & 3); }
// [dsl-value-kind] operations on bits are of integers
void shift_of_a_float() { (void)(x << 2); }
// [dsl-arguments] mma_tiles<Mma>(sums, a, b, accumulate(p))
void slot_for_its_sums_of_tiles() { t.mma_tiles<Mma>(sums, a, b, accumulate(true)); }
// [dsl-arguments] commit(mbarrier)
void commit_to_nothing() { t.commit(); }
// [dsl-arguments] wait(mbarrier, phase)
void wait_for_a_slot_and_a_phase() { t.wait(slot, Phase{0}); }
// [dsl-arguments] acquire(scope)
void slot_for_nobody() { (void)ring.acquire(); }
// [dsl-arguments] acquire(scope)
void slot_with_a_barrier() { (void)ring.acquire(g, done); }
// [dsl-arguments] wait(warpgroup)
void sums_for_nobody() { (void)sums_ring.wait(); }
// [dsl-arguments] acquire(warpgroup)
void tile_out_for_nobody() { (void)out.acquire(); }
// [dsl-arguments] load(sums) reads an accumulator
void load_of_nothing() { (void)g.load(); }
// [dsl-arguments] load(sums) reads an accumulator
void load_from_to() { (void)g.load(acc, 0, 32); }
// [dsl-arguments] columns<Width>(at)
void columns_from_nowhere() { (void)g.load(acc.columns<32>()); }
// [dsl-arguments] loop(trips, [&](U32 i) { ... })
void loop_without_an_end() { g.loop([](U32) {}); }
// [dsl-arguments] loop(trips, [&](U32 i) { ... })
void loop_from_to() { g.loop(0, i, [](U32) {}); }
// [dsl-arguments] when(predicate, [&] { ... })
void when_nothing_is_done() { g.when(p); }
// [dsl-arguments] row_of(sums)
void row_of_an_accumulator_by_row() { (void)g.row(acc); }
// [dsl-scope] one thread waits for no others
void sync_of_one_thread() { t.sync(); }
// [dsl-scope] rows are those of a warpgroup's threads
void row_of_one_thread() { (void)t.row(); }
// [dsl-scope] which lane elect() takes is not said
void lane_of_one_thread() { (void)t.lane(); }
// [dsl-arguments] printf(format, ...)
void print_without_a_format() { g.printf(x); }
// [dsl-arguments] trap_if(predicate)
void trap_with_a_predicate() { g.trap(p); }
// [dsl-arguments] ptx<"prmt.b32", U32(U32, U32, U32)>(a, b, c)
void ptx_without_a_signature() { (void)g.ptx<"prmt.b32">(i, i, i); }
// [dsl-arguments] ptx<"prmt.b32", U32(U32, U32, U32)>(a, b, c)
void ptx_as_a_call() { (void)g.ptx("prmt.b32", i, i, i); }
// [dsl-arguments] ex2_approx_ftz(x * std::numbers::log2e_v<float>)
void exponential_of_cpp() { (void)exp(x); }
// [dsl-arguments] ex2_approx_ftz(x)
void power_of_two_of_cpp() { (void)exp2(x); }
// [dsl-arguments] lg2_approx_ftz(x) *
void logarithm_of_cpp() { (void)log(x); }
// [dsl-arguments] lg2_approx_ftz(x)
void logarithm_to_base_two_of_cpp() { (void)log2(x); }
// [dsl-arguments] sqrt_rn(x)
void root_of_cpp() { (void)sqrt(x); }
// [dsl-arguments] rsqrt_approx_ftz(x)
void reciprocal_root_of_cpp() { (void)rsqrt(x); }
// [dsl-arguments] tanh_approx(x)
void tangent_of_cpp() { (void)tanh(x); }
// [dsl-arguments] sin_approx_ftz(x)
void sine_of_cpp() { (void)sin(x); }
// [dsl-arguments] cos_approx_ftz(x)
void cosine_of_cpp() { (void)cos(x); }
// [shared-tile-slice] share(tile) | 128, 64
void half_a_span_for_each_warpgroup() { (void)gg.share(a); }
// [dsl-arguments] share(sums)
void sums_in_unequal_parts() { (void)gg.share(uneven); }
