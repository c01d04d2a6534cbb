// What the DSL has of PTX 8.6 to 9.5 beside the tensor core: words whose meaning is published are run against plain
// arithmetic, the others are incomplete and named.
#include <doctest/doctest.h>

#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "dsl/dsl.hpp"
#include "tests/differential/dsl_run.hpp"

namespace dsl_newer_words {

using namespace kiln;
using namespace kiln::dsl;
using Word = std::uint32_t;
using Words = std::vector<Word>;

namespace {

using Bytes = SharedTile<u8, 8, 64, K_major, packed>;

launch::Buffer buffer(const char* name, Words words) {
  launch::Buffer b;
  b.name = name;
  b.dtype = ScalarType::u32;
  b.shape = {words.size()};
  b.init.kind = launch::Init::Kind::hex;
  b.bytes.resize(4 * words.size());
  std::memcpy(b.bytes.data(), words.data(), b.bytes.size());
  return b;
}

Words numbered(std::size_t count, Word first) {
  Words out(count);
  for (std::size_t i = 0; i < count; ++i) out[i] = first + Word(i);
  return out;
}

Words words_of(const launch::Contract& c, const char* name) {
  const auto& bytes = c.find(name)->bytes;
  Words out(bytes.size() / 4);
  std::memcpy(out.data(), bytes.data(), bytes.size());
  return out;
}

// Shared memory that copies or asynchronous stores wrote, to global memory.
void copy_out(Thread& t, const U64& to, const U32& from, int bytes) {
  t.fence_proxy_async();
  t.cp_async_bulk(to, from, bytes);
  t.cp_async_bulk_commit_group();
  t.cp_async_bulk_wait_group(0);
}

}  // namespace

TEST_CASE("st_async brings words, vectors and 128 bits to the other CTA, and they count on its mbarrier") {
  constexpr auto list = parameters("out"_arg.is<Pointer<u32>>());
  KernelBuilder k("stored", sm_100a, warps<1>, cta_group_2);
  const auto given = declare(k, list);
  const U32 here = k.shared<Bytes>().address, rank = k.pair_rank();
  const auto full = k.mbarrier("full");
  k.role("store", warp<0>.elect(), [&](Thread t) {
    const U32 x = rank * 100, other = rank ^ 1u;
    const RemoteMbarrier its = t.mapa(full, other);
    const auto there = [&](int at) { return t.mapa(here + at, other); };
    t.expect_tx(full, 64);
    t.st_async(there(0), x, its);
    t.st_async(there(4), bit_cast<F32>(x + 1), its);
    t.st_async(there(8), widen(x + 2), its);
    t.st_async_v2(there(16), {x + 4, x + 5}, its);
    t.st_async_v2(there(24), {x + 6, x + 7}, its);
    t.st_async_v4(there(32), {x + 8, x + 9, x + 10, x + 11}, its);
    t.st_async_b128(there(48), {widen(x + 12), widen(x + 14)}, its);
    t.wait(full, Phase{0});
    copy_out(t, given["out"_arg].at(widen(rank * 16)), here, 64);
  });
  const Kernel kernel = k.build();
  launch::Contract c;
  c.buffers = {buffer("out", Words(32))};
  launch_kernel(c, kernel, list, {2, 1, 1}, "out"_arg = "out");
  test::simulate(kernel, c);
  Words want;
  for (const Word x : {100u, 0u})
    for (const Word w : {x, x + 1, x + 2, 0u, x + 4, x + 5, x + 6, x + 7, x + 8, x + 9, x + 10, x + 11, x + 12, 0u,
                         x + 14, 0u})
      want.push_back(w);
  CHECK(words_of(c, "out") == want);
}

TEST_CASE("multimem stores, additions and copies reach every replica") {
  constexpr auto list = parameters("in"_arg.is<Pointer<u32>>(), "all"_arg.is<Pointer<u32>>());
  KernelBuilder k("replicated", sm_100a, warps<1>);
  const auto given = declare(k, list);
  const U32 here = k.shared<Bytes>().address;
  const auto full = k.mbarrier("full");
  k.role("copy", warp<0>.elect(), [&](Thread t) {
    const auto all = [&](Word i) { return given["all"_arg].at(i); };
    const U32 seven = k.constant(7);
    t.multimem_st_async(all(0), seven, release_gpu);
    t.multimem_st_async(all(2), widen(seven), release_sys);
    t.multimem_red_async_add(all(4), seven, release_sys);
    t.multimem_red_async_add(all(6), widen(seven), release_gpu);
    t.expect_tx(full, 32);
    t.cp_async_bulk(here, given["in"_arg].at(0u), 32, full);
    t.wait(full, Phase{0});
    t.multimem_cp_async_bulk(all(8), here, 32);
    t.multimem_cp_async_bulk(all(16), here, 32, cp_mask(k.constant(0x00F0)));  // bytes 4 to 7 of each 16
    t.multimem_cp_reduce_async_bulk<RedOp::max, s32>(all(24), here, 16);
    t.multimem_cp_reduce_async_bulk<RedOp::add, u32>(all(28), here, 16);
    t.cp_async_bulk_commit_group();
    t.cp_async_bulk_wait_group(0);
  });
  const Kernel kernel = k.build();
  const Words in = numbered(8, 1000);
  launch::Contract c;
  c.buffers = {buffer("in", in), buffer("first", numbered(32, 10)), buffer("second", numbered(32, 5000))};
  c.multimems = {{"all", {"first", "second"}}};
  launch_kernel(c, kernel, list, {1, 1, 1}, "in"_arg = "in", "all"_arg = "all");
  test::simulate(kernel, c);
  for (const auto& of : {std::pair{"first", Word(10)}, std::pair{"second", Word(5000)}}) {
    const char* const name = of.first;
    Words want = numbered(32, of.second);
    want[0] = want[2] = 7, want[3] = 0;
    want[4] += 7, want[6] += 7;
    for (std::size_t i = 0; i < 8; ++i) want[8 + i] = in[i];
    want[17] = in[1], want[21] = in[5];
    for (std::size_t i = 0; i < 4; ++i) want[24 + i] = std::max(want[24 + i], in[i]), want[28 + i] += in[i];
    CHECK_MESSAGE(words_of(c, name) == want, name);
  }
}

TEST_CASE("cp_async_bulk_ignore_oob copies what begins or ends outside of a buffer") {
  constexpr auto list = parameters("in"_arg.is<Pointer<u32>>(), "out"_arg.is<Pointer<u32>>());
  KernelBuilder k("ends", sm_90a, warps<1>);
  const auto given = declare(k, list);
  const U32 here = k.shared<Bytes>().address;
  const auto full = k.mbarrier("full");
  k.role("copy", warp<0>.elect(), [&](Thread t) {
    t.expect_tx(full, 96);
    t.cp_async_bulk_ignore_oob(here, given["in"_arg].at(0u), 64, 0, 4, full);  // of the last 16 bytes 12 are there
    t.cp_async_bulk_ignore_oob(here + 64, given["in"_arg].at(4u), 32, k.constant(3), 0, full);
    t.wait(full, Phase{0});
    copy_out(t, given["out"_arg].at(0u), here, 48);
    copy_out(t, given["out"_arg].at(12u), here + 80, 16);
  });
  const Kernel kernel = k.build();
  launch::Contract c;
  c.buffers = {buffer("in", numbered(15, 1)), buffer("out", Words(16))};
  launch_kernel(c, kernel, list, {1, 1, 1}, "in"_arg = "in", "out"_arg = "out");
  test::simulate(kernel, c);
  Words want = numbered(16, 1);
  for (std::size_t i = 0; i < 4; ++i) want[12 + i] = Word(9 + i);
  CHECK(words_of(c, "out") == want);
}

TEST_CASE("override_global_address loads and stores boxes of another tensor than the map's") {
  constexpr auto list = parameters("map"_arg.is<TensorMapHandle<u8, 2>>(), "from"_arg.is<Pointer<u32>>(),
                                   "to"_arg.is<Pointer<u32>>());
  KernelBuilder k("elsewhere", sm_107a, warps<1>);
  const auto given = declare(k, list);
  const U32 here = k.shared<Bytes>().address, zero = k.constant(0);
  const auto full = k.mbarrier("full");
  k.role("copy", warp<0>.elect(), [&](Thread t) {
    const auto box = given["map"_arg].at(zero, zero);
    t.expect_tx(full, Bytes::bytes);
    t.cp_async_bulk_tensor(here, box.override_global_address(given["from"_arg].at(0u)), full);
    t.wait(full, Phase{0});
    t.cp_async_bulk_tensor(box.override_global_address(given["to"_arg].at(0u)), here);
    t.cp_async_bulk_commit_group();
    t.cp_async_bulk_wait_group(0);
  });
  const Kernel kernel = k.build();
  const Words from = numbered(128, 1000), held = numbered(128, 5);
  launch::Contract c;
  launch::Buffer bytes = buffer("held", held);
  bytes.dtype = ScalarType::u8, bytes.shape = {8, 64};
  c.buffers = {bytes, buffer("from", from), buffer("to", Words(128))};
  launch_kernel(c, kernel, list, {1, 1, 1}, "map"_arg = tensor_map<Bytes>(GlobalTensor{"held", 8, 64}),
                "from"_arg = "from", "to"_arg = "to");
  test::simulate(kernel, c);
  CHECK(words_of(c, "to") == from);
  CHECK(words_of(c, "held") == held);
}

TEST_CASE("an mbarrier of layout v1 knows its layout, and its phases are over as those of v0") {
  constexpr auto list = parameters("out"_arg.is<Pointer<u32>>());
  KernelBuilder k("layout", sm_90a, warps<1>);
  const auto given = declare(k, list);
  const U32 place = k.shared<Bytes>().address;
  k.role("wait", warp<0>.elect(), [&](Thread t) {
    const Mbarrier b{place, "b", nullptr};
    const auto answer = [&](Word i, const Pred& p) {
      t.st_global(given["out"_arg].at(i), select(p, k.constant(1), k.constant(2)));
    };
    t.mbarrier_init(b, 2, layout_v1);
    answer(0, t.mbarrier_check_layout(b, layout_v1));
    answer(1, t.mbarrier_check_layout(b, layout_v0));
    const MbarrierState state = t.mbarrier_arrive(b);
    answer(2, t.mbarrier_test_wait(b, state, phase_type_primary));
    t.mbarrier_arrive(b);
    t.wait(b, Phase{0}, {phase_type_conditional, suspend_time_hint(1000)});
    answer(3, t.mbarrier_test_wait(b, state, phase_type_primary));
    answer(4, t.mbarrier_test_wait(b, Phase{0}, {relaxed_cluster, phase_type_conditional}));
    answer(5, t.mbarrier_test_wait(b, Phase{1}, {relaxed_cluster, phase_type_conditional}));
  });
  const Kernel kernel = k.build();
  launch::Contract c;
  c.buffers = {buffer("out", Words(6))};
  launch_kernel(c, kernel, list, {1, 1, 1}, "out"_arg = "out");
  test::simulate(kernel, c);
  CHECK(words_of(c, "out") == Words{1, 2, 2, 1, 1, 2});
}

TEST_CASE("a priority of L2 that is lowered changes no data") {
  constexpr auto list = parameters("data"_arg.is<Pointer<u32>>());
  KernelBuilder k("priority", sm_107a, warps<1>);
  const auto given = declare(k, list);
  k.role("hint", warp<0>.elect(), [&](Thread t) {
    t.st_global(given["data"_arg].at(1u), 77);
    t.applypriority_async_bulk_L2_evict_normal(given["data"_arg].at(0u), 128);
    t.cp_async_bulk_commit_group();
    t.cp_async_bulk_wait_group(0);
    t.st_global(given["data"_arg].at(2u), t.ld_global(given["data"_arg].at(1u)) + 1);
  });
  const Kernel kernel = k.build();
  launch::Contract c;
  c.buffers = {buffer("data", numbered(32, 1))};
  launch_kernel(c, kernel, list, {1, 1, 1}, "data"_arg = "data");
  test::simulate(kernel, c);
  Words want = numbered(32, 1);
  want[1] = 77, want[2] = 78;
  CHECK(words_of(c, "data") == want);
}

TEST_CASE("words whose meaning is not published are incomplete, by name, of the verifier and of a run") {
  constexpr auto list = parameters("data"_arg.is<Pointer<u32>>());
  using Body = std::function<void(Thread&, const U64& data, const U32& here, const Mbarrier& full)>;
  const auto load = [](auto report) -> Body {
    return [report](Thread& t, const U64& data, const U32& here, const Mbarrier& full) {
      t.cp_async_bulk<shared_cta>(here, data, 16, full, report);
    };
  };
  const std::pair<std::string, Body> words[] = {
      {".mbarrier::report::validity::per_16bytes::80000000", load(report_per_16bytes_80000000)},
      {".mbarrier::report::validity::per_16bytes::8000", load(report_per_16bytes_8000)},
      {".mbarrier::report::validity::per_16bytes::80", load(report_per_16bytes_80)},
      {".mbarrier::report::validity::per_16bytes::8", load(report_per_16bytes_8)},
      {".mbarrier::report::validity::per_element::ff", load(report_per_element_ff)},
      {".sync_restrict::shared::cluster::read",
       [](Thread& t, const U64&, const U32&, const Mbarrier&) {
         t.fence_proxy_async_generic_release_sync_restrict_shared_cluster_read_cta();
       }},
      {".sync_restrict::shared::cluster::read",
       [](Thread& t, const U64&, const U32&, const Mbarrier&) {
         t.fence_proxy_async_generic_release_sync_restrict_shared_cluster_read_cluster();
       }},
      {".sync_restrict::proxy::async",
       [](Thread& t, const U64& data, const U32& here, const Mbarrier&) {
         t.cp_async_bulk(data, here, 16);
         t.cp_async_bulk_commit_group();
         t.cp_async_bulk_wait_group_sync_restrict_proxy_async(0);
       }},
  };
  for (const auto& word : words) {
    const std::string& name = word.first;
    CAPTURE(name);
    KernelBuilder k("unpublished", sm_107a, warps<1>);
    const auto given = declare(k, list);
    const U32 here = k.shared<Bytes>().address;
    const auto full = k.mbarrier("full");
    k.role("say", warp<0>.elect(), [&](Thread t) {
      t.arrive(full);
      word.second(t, given["data"_arg].at(0u), here, full);
    });
    const Kernel kernel = k.build();
    diag::Sink found;
    verifier::check(kernel.module, found);
    const std::string by_check = diag::render_text(found);
    CHECK_MESSAGE(by_check.find("got '" + name + "' of") != std::string::npos, by_check);
    CHECK(found.incomplete());
    CHECK_FALSE(found.has_errors());
    launch::Contract c;
    c.buffers = {buffer("data", Words(32))};
    launch_kernel(c, kernel, list, {1, 1, 1}, "data"_arg = "data");
    diag::Sink of_run;
    const sim::Result result = sim::simulate(kernel.module, c, sim::Options{}, of_run);
    const std::string by_run = diag::render_text(of_run);
    CHECK(result.outcome == sim::Outcome::incomplete);
    CHECK_MESSAGE(by_run.find(name) != std::string::npos, by_run);
  }
}

}  // namespace dsl_newer_words
