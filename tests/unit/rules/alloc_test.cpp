#include "tests/unit/rules/switch.hpp"

#include "ptx/rules/tcgen05_alloc.hpp"

using namespace kiln::rules;
using kiln::isa::AllocEvent, kiln::isa::AllocState, kiln::isa::ColumnRange;
using kiln::test::is_broken;

TEST_CASE("tcgen05-alloc-columns: powers of two from 32 to 512, and the next one up otherwise") {
  for (int n : {32, 64, 128, 256, 512}) CHECK(alloc_columns(n).ok());
  CHECK(is_broken(alloc_columns(0), Rule::alloc_columns, 32));
  CHECK(is_broken(alloc_columns(-64), Rule::alloc_columns, 32));
  CHECK(is_broken(alloc_columns(16), Rule::alloc_columns, 32));
  CHECK(is_broken(alloc_columns(33), Rule::alloc_columns, 64));
  CHECK(is_broken(alloc_columns(48), Rule::alloc_columns, 64));
  CHECK(is_broken(alloc_columns(300), Rule::alloc_columns, 512));
  CHECK(is_broken(alloc_columns(1024), Rule::alloc_columns, 512));
}

TEST_CASE("tcgen05-alloc-columns: an exclusive allocation has any multiple of 32, on sm_107 up to 576") {
  for (int n : {32, 96, 480, 512}) CHECK(alloc_columns(n, true).ok());
  CHECK(alloc_columns(576, true, kiln::isa::sm_107f).ok());
  CHECK(is_broken(alloc_columns(576, true, kiln::isa::sm_100a), Rule::alloc_columns, 512));
  CHECK(is_broken(alloc_columns(608, true, kiln::isa::sm_107a), Rule::alloc_columns, 576));
  CHECK(is_broken(alloc_columns(100, true), Rule::alloc_columns, 128));
  CHECK(is_broken(alloc_columns(576, false, kiln::isa::sm_107a), Rule::alloc_columns, 512));
}

TEST_CASE("tcgen05-tmem-range: columns lie between the start and the end of the allocation") {
  CHECK(tmem_range(0, 64, 64).ok());
  CHECK(tmem_range(32, 32, 64).ok());
  CHECK(is_broken(tmem_range(33, 32, 64), Rule::tmem_range));
  CHECK(is_broken(tmem_range(-1, 1, 64), Rule::tmem_range));
}

TEST_CASE(
    "tcgen05-tmem-range-unused: a load that goes on past its allocation is no error where nothing uses what lies "
    "beyond") {
  CHECK(tmem_range({32, 32}, {32, 32}, 64).ok());
  CHECK(is_broken(tmem_range({40, 32}, {40, 25}, 64), Rule::tmem_range));
  CHECK(is_broken(tmem_range({40, 32}, {40, 24}, 64), Rule::tmem_range_unused));
  CHECK(is_broken(tmem_range({60, 8}, {}, 64), Rule::tmem_range_unused));
  CHECK(is_broken(tmem_range({80, 4}, {}, 64), Rule::tmem_range));
  CHECK(is_broken(tmem_range({-1, 4}, {0, 2}, 64), Rule::tmem_range));
}

TEST_CASE("tcgen05-mma-overlap: what the MMA reads lies before D or after it") {
  CHECK(mma_overlap({0, 64}, {64, 8}).ok());
  CHECK(mma_overlap({64, 64}, {56, 8}).ok());
  CHECK(mma_overlap({0, 64}, {-4, 4}).ok());
  for (ColumnRange r : {ColumnRange{0, 1}, {63, 1}, {60, 8}, {-4, 5}, {-4, 100}})
    CHECK(is_broken(mma_overlap({0, 64}, r), Rule::mma_overlap));
}

TEST_CASE("tcgen05-tmem-unallocated: used between alloc and dealloc") {
  CHECK(step({64, true}, AllocEvent::use).verdict.ok());
  CHECK(step({64, true}, AllocEvent::use).next == AllocState{64, true});
  CHECK(is_broken(step({}, AllocEvent::use).verdict, Rule::tmem_unallocated));
  const AllocState freed = step({64, false}, AllocEvent::dealloc, 64).next;
  CHECK(is_broken(step(freed, AllocEvent::use).verdict, Rule::tmem_unallocated));
}

TEST_CASE("tcgen05-tmem-budget: handles fit 512 columns") {
  CHECK(tmem_budget(512).ok());
  CHECK(is_broken(tmem_budget(513), Rule::tmem_budget, 512));
}

TEST_CASE("tcgen05-dealloc-size: the size of the allocation, and of one that is there") {
  CHECK(dealloc_size(64, 64).ok());
  CHECK(is_broken(dealloc_size(32, 64), Rule::dealloc_size, 64));
  CHECK(is_broken(dealloc_size(32, 0), Rule::dealloc_size));
  CHECK(step({64, false}, AllocEvent::dealloc, 64).next == AllocState{0, false});
  CHECK(step({128, true}, AllocEvent::dealloc, 64).next == AllocState{64, true});
  CHECK(is_broken(step({0, false}, AllocEvent::dealloc, 64).verdict, Rule::dealloc_size));
}

TEST_CASE("tcgen05-alloc-budget: allocations add up to at most 512 columns") {
  CHECK(step({}, AllocEvent::alloc, 512).next == AllocState{512, false});
  CHECK(step({256, false}, AllocEvent::alloc, 256).verdict.ok());
  CHECK(is_broken(step({256, false}, AllocEvent::alloc, 512).verdict, Rule::alloc_budget));
}

TEST_CASE("tcgen05-alloc-relinquished: no alloc after the relinquish") {
  const AllocState given_up = step({64, false}, AllocEvent::relinquish).next;
  CHECK(given_up == AllocState{64, true});
  CHECK(is_broken(step(given_up, AllocEvent::alloc, 32).verdict, Rule::alloc_relinquished));
  CHECK(step(given_up, AllocEvent::dealloc, 64).verdict.ok());
}

TEST_CASE("tcgen05-alloc-leak: nothing is live at the end") {
  CHECK(step({0, true}, AllocEvent::exit).verdict.ok());
  CHECK(is_broken(step({64, true}, AllocEvent::exit).verdict, Rule::alloc_leak));
}

TEST_CASE("tcgen05-alloc-unused: columns that nothing touches") {
  CHECK(alloc_unused(true, 512).ok());
  CHECK(is_broken(alloc_unused(false, 512), Rule::alloc_unused));
}
