// Mistakes of use, each as a new author writes it, in a function of its own: tests/mistakes/check compiles the file
// once with each compiler and compares what that says of each. The comment above a mistake names the rule and, after
// it, words that the message has: the given and the expected type, or what to write.
#include "dsl/dsl.hpp"
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

// [dsl-tile-type] 128, 32
void tile_that_the_slot_has_not() { (void)slot.get<DTile>(); }
// [dsl-tile-type] get<index>()
void which_of_two_tiles() { (void)twin.get<ATile>(); }
// [dsl-tile-type]
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
// [dsl-scope] a warpgroup reads an accumulator
void accumulator_read_by_a_thread() { (void)sums_ring.wait(t); }
// [dsl-scope]
void accumulator_read_by_a_warp() { (void)sums_ring.wait(w); }
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
// [shared-tile-slice]
void slice_inside_an_instruction() { (void)a.k_slice<24>(); }
// [shared-tile-layout]
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
// [tcgen05-tmem-range]
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
