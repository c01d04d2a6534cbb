#include "kernels/generator.hpp"

#include <optional>
#include <string>

#include "dsl/register_sums.hpp"
#include "kernels/copied_result.hpp"
#include "kernels/partials.hpp"
#include "kernels/stream_k.hpp"

namespace kiln::kernels {

using namespace kiln::dsl;

namespace {

// Where a tile belongs: its matrix, and which row of tiles of that it stands in.
struct TileRow {
  std::optional<U32> matrix;  // of a batch
  U32 row;                    // of tiles, in that matrix
};
// The blocks of K that are summed up, all of them or a part.
struct BlocksOfK {
  std::optional<U32> part, first;  // where it is one of several
  U32 count;
  std::optional<U32> shared{};  // where CTAs share the last tiles: the tile's number among these

  U32 block(const U32& i) const { return first ? *first + i : i; }
};

// The tensor map of an operand: two dimensions, or in a batch three, of which the last one chooses a matrix.
class OperandMap {
 public:
  OperandMap(KernelBuilder& gemm, const char* name, const TileShape& tile, bool is_batched) : tile_(tile) {
    if (is_batched)
      batch_.emplace(gemm.bare_map(name, tile.element.scalar, 3));
    else
      flat_.emplace(gemm.param(name, tile));
  }

  // Brings the tile whose first element is (mn, k).
  void load(Thread& t, const AnySlot& slot, int part, const TileRow& where, const U32& mn, const U32& k,
            isa::L2Eviction eviction) const {
    const TensorLoadExtras hint = eviction == isa::L2Eviction::none ? TensorLoadExtras() : L2_cache_hint(eviction);
    if (flat_) {
      const AnyBox box = flat_->at(mn, k);
      t.tma_load(slot.tile(part, tile_), box, slot.full, hint);
    } else {
      const auto box = batch_->at(k, mn, *where.matrix);
      t.tma_load(tile_.part(), slot.part(part), box, slot.full, hint);
    }
  }

 private:
  TileShape tile_;
  std::optional<AnyTensorMap> flat_;
  std::optional<TensorMapHandle<u32, 3>> batch_;
};

// Where the parts of a slot stand; -1: there is no such part.
struct SlotPlaces {
  int a = 0, b = 1, up = -1, metadata = -1, sfa = -1, sfb = -1;
  std::vector<SlotPart> parts;

  explicit SlotPlaces(const GemmPlan& plan) {
    const auto add = [&](const SlotPart& part) { return parts.push_back(part), int(parts.size()) - 1; };
    a = add(plan.a_part.part());
    b = add(plan.b_tile.part());
    if (plan.problem.products > 1) up = add(plan.b_tile.part());
    if (plan.problem.is_sparse) metadata = add(plan.metadata().part());
    if (plan.problem.is_scaled()) sfa = add(plan.sfa_tile().part()), sfb = add(plan.sfb_tile().part());
  }
};

// What travels with the operands: global memory to shared memory by TMA, from there to tensor memory by tcgen05.cp,
// which the MMAs of the same thread follow in order. Each slot has its own columns, so that no MMA reads them while
// they are written.
struct MetadataSide {
  TensorMapHandle<u32, 3> map;
  std::optional<AnyTmemArray> columns{};
};
struct ScaleSides {
  TensorMapHandle<u32, 3> a_map, b_map;
  std::optional<AnyTmemArray> a_columns{}, b_columns{};
};

class Generator {
 public:
  Generator(const GemmPlan& plan, Target target)
      : plan_(plan),
        gemm_(std::string(plan.problem.name), target, warps_of(plan.strategy), plan.strategy.group,
              plan.strategy.pairs),
        places_(plan) {}

  Kernel build();

 private:
  static WarpCount warps_of(const GemmStrategy& s) {
    return s.multipliers_store() ? warps<9> : s.launch_control ? warps<7> : warps<6>;
  }
  void declare_sides();
  void place_sides();
  void deal_out(const U32& rows, const U32& columns);
  // Calls body(TilePlace, BlocksOfK) for each tile of this CTA or pair, and each that it has a part of.
  template <class Scope, class Body>
  void each_tile(Scope& scope, const Body& body) {
    const auto tile = [&](const TilePlace& at) { body(at, blocks_of(at)); };
    if (handed_out_) return scope.loop(*handed_out_, tile);
    if (!streamed_) return scope.loop(*tiles_, tile);
    scope.loop(streamed_->trips(), [&](const U32& trip) {
      const ShareOfTile share = streamed_->share(trip);
      body(tiles_->place(share.tile), BlocksOfK{{}, share.first, share.count, share.shared});
    });
  }
  void load(Thread& t);
  void load_slot(Thread& t, const TileRow& where, const U32& row, const U32& col, const U32& image,
                 const std::optional<U32>& chunk, const U32& block);
  void multiply(Thread& t);
  void multiply_slot(Thread& t, const AnyAccumulatorSlot& d, const OperandOf<U32>& first_row, const U32& block);
  void multiply_and_store(Warpgroup& g, int which);
  void store(Warpgroup& g);
  StoreSums store_of(const Result& d, const U32& row) const;
  void store_columns(Warpgroup& g, const AnyTmem& sums, const U32& col, const StoreSums& store);
  void store_part(Warpgroup& g, const TilePlace& tile, const AnyAccumulatorSlot& sums, const StoreSums& store);
  SharedTileOfD streamed_tile(const U32& number, const U32& of_cta, const U32& col) const;
  Pred is_whole(const BlocksOfK& k) const { return k.count == *k_blocks_; }

  // Parts of a tile's K follow one another, so that their sums are added soon.
  U32 tile_row(const TilePlace& tile) const { return is_split() ? tile.row / splits() : tile.row; }
  // Of tiles, not of clusters'.
  U32 column_of(const TilePlace& tile) const {
    return pair_ ? tile.column * plan_.strategy.pairs + *pair_ : tile.column;
  }
  TileRow row_of(const TilePlace& tile) const {
    const U32 row = tile_row(tile);
    if (!problem().is_batched) return {std::nullopt, row};
    return {row / *row_tiles_, row % *row_tiles_};
  }
  BlocksOfK blocks_of(const TilePlace& tile) const {
    if (!is_split()) return {{}, {}, *k_blocks_};
    const U32 part = tile.row % splits(), first = part * *k_blocks_ / splits();
    return {part, first, (part + 1) * *k_blocks_ / splits() - first};
  }
  // Two warpgroups multiply and store tiles of their own, and take turns.
  bool takes_turns() const { return plan_.strategy.storers == Storers::by_turns; }
  bool is_split() const { return plan_.strategy.splits > 1; }
  int splits() const { return plan_.strategy.splits; }
  // The extents of what tiles cover: D, or D transposed.
  const U32& tiled_rows() const { return plan_.strategy.swapped ? *n_ : *m_; }
  const U32& tiled_columns() const { return plan_.strategy.swapped ? *m_ : *n_; }
  // Where a box of a pair's tile begins. One that lies beyond the tensor brings the tensor's first rows (and their
  // metadata), whose sums are not stored: rows of zeros take the copy engine longer, and hold up the copies of all SMs
  // (docs/hopper-steps.md).
  U32 present(const U32& first, const U32& extent) const {
    return plan_.mma.ctas() > 1 ? select(first < extent, first, 0) : first;
  }
  const GemmProblem& problem() const { return plan_.problem; }

  const GemmPlan& plan_;
  KernelBuilder gemm_;
  SlotPlaces places_;
  std::optional<OperandMap> a_, b_, up_;
  std::optional<MetadataSide> metadata_;
  std::optional<ScaleSides> scales_;
  std::optional<U32> m_, n_;
  std::optional<Result> d_;  // one of these two
  CopyOut copy_out_;
  RegistersOut registers_out_;
  std::vector<Mbarrier> turns_;  // of each warpgroup that takes turns: its partner has waited for all slots of a tile
  std::optional<U32> k_blocks_, row_tiles_, column_tiles_, rank_;
  std::optional<U32> pair_;  // of a cluster of several, whose tiles are dealt out together
  std::optional<Partials> partials_;
  RoleStep epilogue_;
  std::optional<AnyRing> in_;
  std::optional<AnyAccumulatorRing> acc_;
  std::optional<StaticTiles> tiles_;  // one of these two
  std::optional<LaunchControlTiles> handed_out_;
  std::optional<StreamedTiles> streamed_;  // beside the first
  std::optional<U32> shared_;              // its tiles
};

void Generator::declare_sides() {
  const auto map = [&](const char* name) { return TensorMapHandle<u32, 3>(gemm_.bare_map(name, ScalarType::u32, 3)); };
  if (problem().is_sparse) metadata_.emplace(MetadataSide{map("E")});
  if (problem().is_scaled()) {
    const auto sfa = map("SFA");
    scales_.emplace(ScaleSides{sfa, map("SFB")});
  }
}

void Generator::place_sides() {
  const int stages = plan_.strategy.stages;
  if (metadata_) metadata_->columns = gemm_.tensor_memory("metadata", stages, plan_.metadata().columns_held());
  if (!scales_) return;
  scales_->a_columns = gemm_.tensor_memory("sfa", stages, plan_.sfa().columns_held());
  scales_->b_columns = gemm_.tensor_memory("sfb", stages, plan_.sfb().columns_held());
}

void Generator::deal_out(const U32& rows, const U32& columns) {
  const int together = plan_.strategy.rows_together;
  if (plan_.strategy.launch_control)
    handed_out_.emplace(gemm_.tiles(launch_control.in_groups_of(together), rows, columns));
  else
    tiles_.emplace(gemm_.tiles(static_schedule.in_groups_of(together), rows, columns));
}

Kernel Generator::build() {
  const MmaSpec& mma = plan_.mma;
  const bool is_dual = problem().products > 1;
  // Its ring takes the shared memory of an SM.
  if (!is_dual && !problem().is_sparse && !problem().is_scaled()) gemm_.minnctapersm(1);
  const OperandNames names = operand_names(plan_);
  a_.emplace(gemm_, names.a, plan_.a_part, problem().is_batched);
  b_.emplace(gemm_, names.b, plan_.b_tile, problem().is_batched);
  if (is_dual) up_.emplace(gemm_, "Up", plan_.b_tile, problem().is_batched);
  declare_sides();
  std::optional<AnyPointer> elements;
  if (plan_.strategy.multipliers_store())
    registers_out_ = registers_result(gemm_, problem().d, plan_.multiplier_columns());
  else if (plan_.strategy.tma_store)
    copy_out_ = copied_result(gemm_, problem().d);
  else
    elements.emplace(gemm_.pointer("D", problem().d));
  m_.emplace(gemm_.param<u32>("m")), n_.emplace(gemm_.param<u32>("n"));
  if (elements) d_.emplace(*elements, *m_, *n_);
  k_blocks_.emplace(gemm_.param<u32>("k_blocks"));
  epilogue_ = problem().epilogue->device(gemm_, plan_.width());
  std::optional<U32> batch;
  if (problem().is_batched) batch.emplace(gemm_.param<u32>("batch"));
  if (plan_.strategy.has_parts()) {
    const AnyPointer workspace = gemm_.pointer("partials", element_type<f32>);
    partials_.emplace(workspace, gemm_.pointer("counters", element_type<u32>), mma.N(), plan_.sums_are_integers());
  }

  if (plan_.strategy.stream_k) shared_.emplace(gemm_.param<u32>("shared_tiles"));

  in_.emplace(gemm_.ring("in", plan_.strategy.stages, places_.parts));
  if (takes_turns())
    for (const char* name : {"turn_0", "turn_1"}) turns_.push_back(gemm_.mbarrier<isa::warps_per_warpgroup>(name));
  if (!plan_.strategy.multipliers_store())
    acc_.emplace(gemm_.accumulator_ring("acc", plan_.strategy.accumulators, plan_.sum_columns(), problem().sums));
  place_sides();
  row_tiles_.emplace(gemm_.ceil_div(tiled_rows(), std::uint32_t(mma.M())));
  column_tiles_.emplace(gemm_.ceil_div(tiled_columns(), std::uint32_t(mma.N() * plan_.strategy.pairs)));
  // Tiles of a batch are dealt out as if its matrices stood on top of each other, and so are the parts of a tile's K.
  const U32 all_rows = batch ? *row_tiles_ * *batch : *row_tiles_;
  deal_out(is_split() ? all_rows * splits() : all_rows, *column_tiles_);
  if (shared_) streamed_.emplace(*tiles_, *shared_, *k_blocks_);
  rank_.emplace(gemm_.pair_rank());
  if (plan_.strategy.pairs > 1) pair_.emplace(gemm_.pair());

  if (plan_.strategy.multipliers_store()) {
    gemm_.role("multiply_0", warpgroup<0>, [&](Warpgroup& g) { multiply_and_store(g, 0); });
    gemm_.role("multiply_1", warpgroup<1>, [&](Warpgroup& g) { multiply_and_store(g, 1); });
    gemm_.role("load", warp<8>.elect(), [&](Thread t) { load(t); });
    return gemm_.build();
  }
  gemm_.role("load", warp<4>.elect(), [&](Thread t) { load(t); });
  gemm_.role("mma", leader_cta, warp<5>.elect(), [&](Thread t) { multiply(t); });
  if (handed_out_) gemm_.role("schedule", leader_cta, warp<6>.elect(), [&](Thread t) { t.hand_out(*handed_out_); });
  gemm_.role("store", warpgroup<0>, [&](Warpgroup& g) { store(g); });
  return gemm_.build();
}

// Loads ---------------------------------------------------------------------------------------------------------------

void Generator::load(Thread& t) {
  const MmaSpec& mma = plan_.mma;
  each_tile(t, [&](const TilePlace& tile, const BlocksOfK& k) {
    const TileRow where = row_of(tile);
    const U32 first_row = where.row * mma.M() + *rank_ * mma.a_rows();
    const U32 row = present(pair_ ? first_row + *pair_ * plan_.a_part.rows : first_row, tiled_rows());
    // With scales the column of this CTA's half is computed for each slot: computed once, it costs SASS instructions.
    const U32 first = column_of(tile) * mma.N();
    const U32 col = scales_ ? first : present(first + *rank_ * mma.b_rows(), tiled_columns());
    const U32 image = metadata_ ? row / mma.a_rows() : row;
    t.loop(k.count, [&](U32 i) { load_slot(t, where, row, col, image, tile.column, k.block(i)); });
  });
}

void Generator::load_slot(Thread& t, const TileRow& where, const U32& row, const U32& col, const U32& image,
                          const std::optional<U32>& column, const U32& block) {
  const AnySlot slot = in_->acquire(t);
  a_->load(t, slot, places_.a, where, row, block * plan_.stored_k, plan_.issued.a_eviction);
  const U32 b_col = scales_ ? col + *rank_ * plan_.mma.b_rows() : col;
  b_->load(t, slot, places_.b, where, b_col, block * plan_.k, plan_.issued.b_eviction);
  if (up_) up_->load(t, slot, places_.up, where, col, block * plan_.k, problem().b_eviction);
  const auto side = [&](int part, const TensorMapHandle<u32, 3>& map, const U32& along_k, const U32& across) {
    const auto box = map.at(0, along_k, across);
    t.tma_load(places_.parts[std::size_t(part)], slot.part(part), box, slot.full);
  };
  if (metadata_) side(places_.metadata, metadata_->map, block * (plan_.metadata().images() * image_rows), image);
  if (!scales_) return;
  const U32 a_chunk = row / ScaleChunks::rows;
  side(places_.sfa, scales_->a_map, block * plan_.sfa_tile().groups(), a_chunk);
  const U32 b_chunk = plan_.chunks().first(*column);
  side(places_.sfb, scales_->b_map, block * plan_.sfb_tile().groups(), b_chunk);
}

// MMAs ----------------------------------------------------------------------------------------------------------------

void Generator::multiply(Thread& t) {
  each_tile(t, [&](const TilePlace& tile, const BlocksOfK& k) {
    // The row of its first chunk of scales at which a tile begins.
    const bool begins_within = scales_ && plan_.chunks().are_shared();
    const OperandOf<U32> first_row =
        begins_within ? OperandOf<U32>(plan_.chunks().first_row(tile.column)) : OperandOf<U32>(0);
    const AnyAccumulatorSlot d = acc_->acquire(t);
    t.loop(k.count, [&](U32 block) { multiply_slot(t, d, first_row, block); });
    t.commit(d.full, all_ctas);
  });
}

void Generator::multiply_slot(Thread& t, const AnyAccumulatorSlot& d, const OperandOf<U32>& first_row,
                              const U32& block) {
  const MmaSpec& mma = plan_.mma;
  const AnySlot slot = in_->wait(t);
  std::optional<AnyMetadata> kept;
  std::optional<AnyScaleFactors> sfa, sfb_chunks, sfb;
  // A slot has its own columns for what its copies bring.
  if (metadata_) kept = AnyMetadata{metadata_->columns->at(slot.stage), plan_.metadata()};
  if (scales_) {
    sfa = AnyScaleFactors{scales_->a_columns->at(slot.stage), plan_.sfa()};
    sfb_chunks = AnyScaleFactors{scales_->b_columns->at(slot.stage), plan_.sfb()};
    sfb = first_row.value ? sfb_chunks->from_row(*first_row.value) : *sfb_chunks;
  }
  if (kept) t.copy_metadata(mma, *kept, slot.part(places_.metadata));
  if (scales_) {
    t.copy_scales(*sfa, slot.part(places_.sfa), plan_.sfa_tile());
    t.copy_scales(*sfb_chunks, slot.part(places_.sfb), plan_.sfb_tile());
  }
  const int columns = mma.d_columns();
  for (int step = 0; step < plan_.steps(); ++step) {
    std::optional<Metadata> metadata;
    std::optional<Scales> scale_cells;
    if (scales_) {
      const ScaleCell of_b = sfb->at(step), of_a = sfa->at(step);
      scale_cells.emplace(scales(of_a, of_b));
    }
    if (kept) metadata.emplace(kept->at(step));
    const Pred more = block != 0;
    const AnySlice of_a = slot.tile(places_.a, plan_.a_tile).k_slice(step * mma.a_k());
    // A slice of A that meets two matrices stays in the collector buffer between them.
    const auto product = [&](int number, int part, isa::Collector use) {
      const AnySlice of_b = slot.tile(part, plan_.b_tile).k_slice(step * mma.K());
      t.mma(mma, d.sums.columns(number * columns, columns), of_a, of_b, accumulate(more || step != 0), metadata,
            scale_cells, use);
    };
    product(0, places_.b, up_ ? isa::Collector::a_fill : isa::Collector::none);
    if (up_) product(1, places_.up, isa::Collector::a_lastuse);
  }
  t.commit(slot.empty, all_ctas);
}

// MMAs and epilogue of the same warps: of two warpgroups each has half of a tile's rows, or every other tile. Slots come
// in the order of tiles; a warpgroup skips those of its partner's.
void Generator::multiply_and_store(Warpgroup& g, int which) {
  const MmaSpec& mma = plan_.mma;
  const int blocks = mma.a_rows() / isa::wgmma_m, own = takes_turns() ? blocks : 1;
  AnyRing in = takes_turns() ? in_->in_runs(which, 2) : in_->by_mmas();
  RegisterSums sums(g, mma, takes_turns() ? 0 : which, own);
  std::optional<WarpgroupScratch> scratch;
  if (streamed_) scratch.emplace(gemm_.warpgroup_scratch());
  Var<U32> parity = g.var(which == 0 ? 1 : 0);  // the first one does not wait for its first turn
  if (takes_turns() && which == 1) in.skip(g, *k_blocks_);
  const auto tile_of = [&](const TilePlace& tile, const BlocksOfK& k) {
    if (takes_turns()) {
      g.wait(turns_[std::size_t(which)], Phase(parity));
      parity ^= 1;
    }
    g.loop(k.count, [&](U32 block) {
      const AnySlot slot = in.wait(g);
      sums.multiply(slot.tile(places_.a, plan_.a_tile), slot.tile(places_.b, plan_.b_tile), block != 0);
      sums.commit(slot.empty);
    });
    if (takes_turns()) {
      g.arrive_after_loads(turns_[std::size_t(1 - which)]);
      in.skip(g, *k_blocks_);
    }
    sums.finish();
    const U32 row = tile.row * mma.M() + *rank_ * mma.a_rows() + (takes_turns() ? 0 : which * isa::wgmma_m);
    const U32 col = column_of(tile) * mma.N();
    if (!k.shared) return registers_out_(g, which, sums, mma.N(), row, col);
    // What is not complete is stored below the last row, where TMA stores nothing.
    Var<U32> to = g.var(row);
    g.when(!is_whole(k), [&] {
      const SharedTileOfD shared = streamed_tile(*k.shared, *rank_ * 2 + which, col);
      const U32 part = streamed_->own() - streamed_->first_of(*k.shared);
      const U32 is_complete = partials_->add_up(g, sums, shared, part, *scratch);
      to = select(is_complete != 0, row, *m_);
    });
    registers_out_(g, which, sums, mma.N(), to.read(), col);
  };
  if (takes_turns())
    g.loop(tiles_->turn(which, 2), [&](const TilePlace& tile) { tile_of(tile, blocks_of(tile)); });
  else
    each_tile(g, tile_of);
}

// The epilogue --------------------------------------------------------------------------------------------------------

void Generator::store(Warpgroup& g) {
  const MmaSpec& mma = plan_.mma;
  const RowStep finish = epilogue_(g);
  each_tile(g, [&](const TilePlace& tile, const BlocksOfK& k) {
    const TileRow where = row_of(tile);
    const std::optional<Result> in_batch = where.matrix ? std::optional(d_->matrix(*where.matrix)) : d_;
    const AnyAccumulatorSlot sums = acc_->wait(g);
    const U32 col = tile.column * mma.N(), row = where.row * mma.M() + *rank_ * mma.a_rows();
    if (copy_out_) {
      copy_out_(g, sums.sums, row, col);
      return acc_->release(g, sums.empty);
    }
    const Result& d = *in_batch;
    if (is_split()) return store_part(g, tile, sums, store_of(d, row + g.row()));
    const auto store_tile = [&] {
      if (plan_.strategy.swapped)
        store_columns(g, sums.sums, col, store_of(d, row + g.row()));
      else
        store_rows(g, sums.sums, mma.N(), d, row, col, finish, plan_.width());
    };
    if (!k.shared) return store_tile(), acc_->release(g, sums.empty);
    const auto shared = [&] { return streamed_tile(*k.shared, *rank_, col); };
    g.when(is_whole(k), store_tile, [&] {
      partials_->leave(g, sums.sums, streamed_->own() - streamed_->first_of(*k.shared), shared());
    });
    acc_->release(g, sums.empty);
    g.when(!is_whole(k), [&] { partials_->add_up(g, shared(), store_of(d, row + g.row())); });
  });
}

// A tile of which several CTAs have parts, as the rows see it that are the `of_cta`-th of theirs.
SharedTileOfD Generator::streamed_tile(const U32& number, const U32& of_cta, const U32& col) const {
  const U32 first = streamed_->first_of(number) + number;
  return {of_cta * *shared_ + number, of_cta * streamed_->all_parts() + first, streamed_->parts_of(number), col};
}

// How sums of a tile's row are stored.
StoreSums Generator::store_of(const Result& d, const U32& row) const {
  return plan_.strategy.swapped ? into_column(d, row) : into_row(d, row);
}

void Generator::store_columns(Warpgroup& g, const AnyTmem& sums, const U32& col, const StoreSums& store) {
  for (int c = 0; c < plan_.mma.N(); c += plan_.width())
    store(g, g.wait(g.load(sums.columns(c, plan_.width()))), col + c);
}

void Generator::store_part(Warpgroup& g, const TilePlace& tile, const AnyAccumulatorSlot& sums,
                           const StoreSums& store) {
  const U32 of_all = tile_row(tile) * *column_tiles_ + tile.column;
  const U32 number = plan_.mma.ctas() > 1 ? of_all * plan_.mma.ctas() + *rank_ : of_all;
  const U32 parts = gemm_.constant(splits()), part = *blocks_of(tile).part;
  const PartGroups groups(splits(), plan_.strategy.all_add);
  const SharedTileOfD shared{number, number * groups.blocks(), parts, tile.column * plan_.mma.N()};
  partials_->leave(g, sums.sums, part, shared);
  acc_->release(g, sums.empty);
  if (plan_.strategy.all_add)
    partials_->add_slice(g, shared, splits(), part, store);
  else if (groups.is_one())
    partials_->add_up(g, shared, store);
  else
    partials_->add_up(g, groups, number, part, shared.col, store);
}

}  // namespace

Kernel build(const GemmPlan& plan, Target target) { return Generator(plan.on(target), target).build(); }

}  // namespace kiln::kernels
