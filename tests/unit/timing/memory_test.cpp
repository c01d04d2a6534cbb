// What memory asks of a warp's access: bank conflicts, lines of global memory, and what wgmma shares with copies:
// nothing.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include "tests/unit/timing/library.hpp"
#include "timing/l1_cache.hpp"
#include "timing/wavefronts.hpp"

namespace kiln::test::memory_time_test {
namespace {

std::vector<timing::Touch> lanes(std::uint32_t stride, std::uint32_t bytes) {
  std::vector<timing::Touch> out;
  for (std::uint32_t lane = 0; lane < 32; ++lane) out.push_back({std::uint64_t(lane) * stride, bytes});
  return out;
}

TEST_CASE("a wavefront gives each bank's word once, to all lanes that want it") {
  CHECK(timing::wavefronts(lanes(4, 4)) == 1);
  CHECK(timing::wavefronts(lanes(0, 4)) == 1);
  CHECK(timing::wavefronts(lanes(8, 4)) == 2);
  CHECK(timing::wavefronts(lanes(128, 4)) == 32);
  CHECK(timing::wavefronts(lanes(16, 16)) == 4);    // 512 bytes
  CHECK(timing::wavefronts(lanes(128, 16)) == 32);  // a column of 16 bytes in rows of 128
  CHECK(timing::wavefronts(lanes(2, 2)) == 1);
  CHECK(timing::lines(lanes(4, 4)) == 1);
  CHECK(timing::lines(lanes(4096, 16)) == 32);
  CHECK(timing::sectors(lanes(64, 4)) == 32);
}

TEST_CASE("a 128-byte swizzle takes the conflicts out of a column of 16 bytes") {
  std::vector<timing::Touch> swizzled;
  for (std::uint64_t row = 0; row < 32; ++row) swizzled.push_back({row * 128 + (3 ^ row % 8) * 16, 16});
  CHECK(timing::wavefronts(swizzled) == 4);
}

// Cycles that one warp takes for 64 accesses in a row, with lanes `shift` bits apart.
double cycles_of(const std::string& access, int shift, const timing::Chip& chip = b200()) {
  std::string body = fmt::format(
      ".shared .align 128 .b8 room[8192]; mov.u32 %r1, %tid.x; shl.b32 %r2, %r1, {}; "
      "mov.u32 %r3, room; add.u32 %r3, %r3, %r2; mul.wide.u32 %rd1, %r2, 1; "
      "add.u64 %rd1, %rd1, %out;\n",
      shift);
  for (int k = 0; k < 64; ++k) body += access + "\n";
  launch::Contract c = one_buffer(32);
  c.buffers[0] = buffer("out", 1 << 16);
  return time_of(kernel(body), c, no_values, chip).until_stored();
}

TEST_CASE("stores with 32 lanes in one bank take 32 times the turns, and stores by rows a turn for each line") {
  const std::string shared = "st.shared.u32 [%r3], %r1;", global = "st.global.u32 [%rd1], %r1;";
  CHECK(cycles_of(shared, 7) - cycles_of(shared, 2) == doctest::Approx(64 * 31).epsilon(0.05));
  CHECK(cycles_of(global, 7) - cycles_of(global, 2) == doctest::Approx(64 * 31).epsilon(0.05));
  timing::Chip wide = b200();
  wide.values[std::size_t(timing::FactId::store_line)].value = 0.5;
  CHECK(cycles_of(global, 7, wide) < 0.6 * cycles_of(global, 7));
}

TEST_CASE(
    "loads of global memory do not wait for stores to shared memory before them, but for stores to global memory") {
  // Eight loads, each followed by a store of what it loaded.
  const auto cycles = [](const std::string& store) {
    std::string body =
        ".shared .align 128 .b8 room[4096]; mov.u32 %r1, %tid.x; mul.wide.u32 %rd1, %r1, 4; add.u64 %rd1, %rd1, %out; "
        "mov.u32 %r3, room; mad.lo.u32 %r3, %r1, 4, %r3;\n";
    for (int k = 0; k < 8; ++k)
      body += fmt::format("ld.global.u32 %r{0}, [%rd1+{1}];\n", 10 + k, 256 * k) +
              fmt::format(fmt::runtime(store), 10 + k, 256 * k);
    launch::Contract c = one_buffer(32);
    c.buffers[0] = buffer("out", 1 << 13);
    return time_of(kernel(body), c, no_values).until_stored();
  };
  const double latency = b200()[timing::FactId::l2_latency];
  CHECK(cycles("st.shared.u32 [%r3+{1}], %r{0};\n") < 2 * latency);
  CHECK(cycles("st.global.u32 [%rd1+{1}], %r{0};\n") > 7 * latency);
}

TEST_CASE("stores by rows take longer where L2 takes fewer lines from all SMs than these store") {
  const std::string body =
      "mov.u32 %r1, %tid.x; shl.b32 %r2, %r1, 7; mul.wide.u32 %rd1, %r2, 1; add.u64 %rd1, %rd1, "
      "%out; mov.u32 %r4, 64;\nAGAIN: st.global.u32 [%rd1], %r1; sub.u32 %r4, %r4, 1; setp.ne.u32 "
      "%p1, %r4, 0; @%p1 bra AGAIN;\n";
  timing::Chip chip = b200();
  chip.values[std::size_t(timing::FactId::store_lines_all)].value = 37;
  const auto cycles = [&](std::uint32_t ctas) {
    launch::Contract c = one_buffer(32, ctas);
    c.buffers[0] = buffer("out", 1 << 16);
    return time_of(kernel(body), c, no_values, chip).until_stored();
  };
  CHECK(cycles(148) - cycles(1) == doctest::Approx(64 * 32 * 3).epsilon(0.05));
  CHECK(cycles(37) > cycles(1));
  CHECK(cycles(37) - cycles(1) < (cycles(148) - cycles(1)) / 4);
}

// Stores of a warp to 64 places: 16 bytes of a row for each lane, or 512 bytes without a gap.
std::string stores(int count, bool by_rows) {
  std::string text = fmt::format(
      "mov.u32 %r1, %tid.x; shl.b32 %r2, %r1, {}; mul.wide.u32 %rd2, %r2, 1; "
      "add.u64 %rd1, %out, %rd2;\n",
      by_rows ? 11 : 4);
  for (int k = 0; k < count; ++k)
    text += fmt::format("st.global.v4.u32 [%rd1+{}], {{%r1, %r1, %r1, %r1}};\n", k * (by_rows ? 16 : 512));
  return text;
}

Timed stored(const std::string& body, std::uint32_t shared = 0, const timing::Chip& chip = b200()) {
  launch::Contract c = one_buffer(32);
  c.buffers[0] = buffer("out", 1 << 17);
  c.launches[0].dynamic_smem = shared;
  return time_of(kernel(body, ".extern .shared .align 16 .b8 pool[];\n"), c, no_values, chip);
}

TEST_CASE("a store of whole lines takes a turn for each sector, and one of a part of a line no less than a line's") {
  const timing::Chip h100 = harness::chip_of("h100");
  CHECK(stored(stores(64, false), 0, h100).until_stored() == doctest::Approx(64 * 16).epsilon(0.1));
  CHECK(stored(stores(64, true), 0, h100).until_stored() == doctest::Approx(64 * 32 * 2).epsilon(0.1));
}

TEST_CASE("a warp goes on while what it stored is on its way, as much of it as the queue holds") {
  const timing::Chip h100 = harness::chip_of("h100");
  const Timed few = stored(stores(40, true), 0, h100), many = stored(stores(64, true), 0, h100);
  CHECK(few.cycles() < 0.2 * few.until_stored());  // 20 KB
  const double held = h100[timing::FactId::store_queue] * 32;
  CHECK(many.cycles() == doctest::Approx(2 * (64 * 32 - held)).epsilon(0.1));
  CHECK(stored(stores(64, true), 227 << 10, h100).cycles() == doctest::Approx(many.cycles()).epsilon(0.02));
}

TEST_CASE("on a B200 the first-level cache holds what is on its way") {
  const timing::Chip chip = b200();
  const Timed free = stored(stores(64, true)), full = stored(stores(64, true), 227 << 10);
  CHECK(free.cycles() < 0.2 * free.until_stored());  // 64 KB of sectors fit into 256
  const double room = chip[timing::FactId::l1_and_shared] - (227 << 10), line = chip[timing::FactId::store_line];
  CHECK(full.cycles() == doctest::Approx(line * (64 * 32 - room / 32)).epsilon(0.1));
  CHECK(full.until_stored() == doctest::Approx(free.until_stored()).epsilon(0.02));
}

TEST_CASE("stores to shared memory wait behind those to global memory that came before") {
  const timing::Chip h100 = harness::chip_of("h100");
  // The second warp's, while the first one stores by rows.
  const auto cycles = [&](int count) {
    std::string text =
        "mov.u32 %r1, %tid.x; setp.lt.u32 %p1, %r1, 32; @%p1 bra STORE; mov.u32 %r5, pool;\n"
        "mov.u32 %r6, %clock;\n";
    for (int k = 0; k < 60; ++k) text += "st.shared.u32 [%r5], %r5;\n";
    text += "mov.u32 %r7, %clock; sub.u32 %r7, %r7, %r6; st.global.u32 [%out+1024], %r7; bra END;\nSTORE:\n" +
            stores(count, true) + "END:\n";
    launch::Contract c = one_buffer(64);
    c.buffers[0] = buffer("out", 1 << 17);
    c.launches[0].dynamic_smem = 1024;
    const Timed t = time_of(kernel(text, ".extern .shared .align 16 .b8 pool[];\n"), c, no_values, h100);
    return t.run.read<std::uint32_t>("out").at(256);
  };
  CHECK(cycles(0) < 300);
  CHECK(cycles(40) > 1000);  // though there is room for them
}

TEST_CASE("the last of CTAs that count shares L2 with the last ones alone") {
  const timing::Chip h100 = harness::chip_of("h100");
  const auto stored_after = [&](std::uint32_t counted) {
    launch::Contract c = one_buffer(32, 132);
    c.buffers[0] = filled("out", std::vector<std::uint32_t>(1 << 15, counted));
    const std::string text = "atom.global.inc.u32 %r4, [%out], 3; bar.warp.sync -1;\n" + stores(64, true);
    return time_of(kernel(text), c, no_values, h100).until_stored();
  };
  const auto of_lines = [&](double sms) { return 64 * 32 * timing::share_of(h100, sms).store_line; };
  CHECK(stored_after(3) - stored_after(0) == doctest::Approx(of_lines(33) - of_lines(132)).epsilon(0.1));
}

TEST_CASE("what releases to other CTAs waits until L2 has the stores, a relaxed access does not") {
  const timing::Chip h100 = harness::chip_of("h100");
  const double alone = h100[timing::FactId::fence_wide], all = 64 * 32 * 2;
  const auto after_stores = [&](const std::string& text) { return stored(stores(64, true) + text, 0, h100).cycles(); };
  const double none = after_stores("");
  CHECK(after_stores("fence.acq_rel.cta;") < none + 100);
  CHECK(after_stores("fence.acq_rel.gpu;") > all);
  CHECK(after_stores("atom.acq_rel.gpu.global.add.u32 %r3, [%out], 1;") > all);
  CHECK(after_stores("atom.relaxed.gpu.global.add.u32 %r3, [%out], 1;") < all / 2);
  CHECK(after_stores("red.release.gpu.global.add.u32 [%out], 1;") > all);
  CHECK(stored("fence.acq_rel.gpu;", 0, h100).cycles() == doctest::Approx(alone).epsilon(0.05));
}

// Cycles of 32 loads of a line each, of which HBM gives all, after the text.
double loads_of_hbm(const std::string& before, timing::Surroundings around) {
  std::string text = before + "mov.u32 %r3, 0;\n";
  for (int k = 0; k < 32; ++k)
    text += fmt::format("ld.global.u32 %r{}, [%out+{}]; add.u32 %r3, %r3, %r{};\n", 10 + k, 4096 * k, 10 + k);
  around.hits_l2 = false, around.values = false, around.busy_clusters = 148;
  launch::Contract c = one_buffer(1, 148);
  c.buffers[0] = buffer("out", 1 << 17);
  return time_of(kernel(text + "st.global.u32 [%out], %r3;"), c, around).cycles();
}

TEST_CASE("HBM gives what L2 has lost of a buffer that others wrote, and nothing that this cluster has just written") {
  const double kept = loads_of_hbm("", {.spilled = {{"out", 0}}}), lost = loads_of_hbm("", {.spilled = {{"out", 1}}});
  const double far = b200()[timing::FactId::hbm_latency] - b200()[timing::FactId::l2_latency];
  CHECK(lost > kept + 0.9 * far);
  std::string writes;
  for (int k = 0; k < 32; ++k) writes += fmt::format("st.global.u32 [%out+{}], 1;\n", 4096 * k);
  CHECK(loads_of_hbm(writes, {.spilled = {{"out", 1}}}) < lost);
}

TEST_CASE("what comes into an L2 that is full of written bytes drives them out to HBM") {
  constexpr int loads = 12, bytes = 512;  // of a warp
  std::string text = "mov.u32 %r1, %tid.x; mul.wide.u32 %rd2, %r1, 16; add.u64 %rd1, %out, %rd2; mov.u32 %r3, 0;\n";
  for (int k = 0; k < loads; ++k) {
    const int r = 4 * (k + 1);
    text += fmt::format("ld.global.v4.u32 {{%r{}, %r{}, %r{}, %r{}}}, [%rd1+{}];\n", r, r + 1, r + 2, r + 3, 4096 * k);
  }
  for (int k = 0; k < loads; ++k) text += fmt::format("add.u32 %r3, %r3, %r{};\n", 4 * (k + 1));
  const auto cycles = [&](double dirty) {
    timing::Surroundings around{.from_hbm = 1, .dirty = dirty};
    around.hits_l2 = false, around.values = false, around.busy_clusters = 148;
    launch::Contract c = one_buffer(32, 148);
    c.buffers[0] = buffer("out", 1 << 17);
    return time_of(kernel(text + "st.global.u32 [%out], %r3;"), c, around).cycles();
  };
  // HBM gives no more than its share, and takes as much as it gives.
  const double share = timing::share_of(b200(), 148).hbm_rate;
  CHECK(cycles(1) - cycles(0) == doctest::Approx(loads * bytes / share).epsilon(0.2));
}

TEST_CASE("what another cluster has written comes from the far side of L2") {
  const timing::Surroundings near = no_values;
  timing::Surroundings far = near;
  far.handed = {"out"};
  const auto once = [&](const timing::Surroundings& around) {
    return time_of(kernel("ld.global.u32 %r1, [%out]; add.u32 %r1, %r1, 1; bar.sync 0;"), one_buffer(32), around)
        .cycles();
  };
  CHECK(once(far) - once(near) ==
        doctest::Approx(b200()[timing::FactId::l2_far] - b200()[timing::FactId::l2_latency]).epsilon(0.05));
}

TEST_CASE("a load that L1 does not answer is sent behind the stores") {
  const std::string load = "ld.global.u32 %r3, [%out+65536]; add.u32 %r3, %r3, 1; st.shared.u32 [pool], %r3;";
  const timing::Chip h100 = harness::chip_of("h100");
  CHECK(stored(stores(64, true) + load, 1024, h100).cycles() > 64 * 32 * 2 + h100[timing::FactId::l2_latency]);
}

// Cycles between two reads of the clock around some text, in a warp whose first thread has `out` in %rd1.
double between_clocks(const std::string& before, const std::string& text) {
  const std::string body = "mov.u64 %rd1, %out;\n" + before + "\nmov.u32 %r92, %clock;\n" + text +
                           "\nmov.u32 %r93, %clock; sub.u32 %r93, %r93, %r92; st.global.u32 [%out], %r93;";
  launch::Contract c = one_buffer(1);
  c.buffers[0] = buffer("out", 1 << 16);
  return time_of(kernel(body), c, no_values).run.read<std::uint32_t>("out").at(0);
}

TEST_CASE("a line that was loaded is in L1 until other CTAs' stores are acquired, unless the load says otherwise") {
  const double l1 = b200()[timing::FactId::l1_latency], l2 = b200()[timing::FactId::l2_latency];
  const auto again = [](const std::string& between, const std::string& cache) {
    const std::string one = "ld.global" + cache + ".u32 %r1, [%rd1];",
                      two = "ld.global" + cache + ".u32 %r2, [%rd1+64];";
    return between_clocks(one + two + " add.u32 %r3, %r1, %r2; " + between, one + " add.u32 %r3, %r1, 1;");
  };
  CHECK(again("", "") == doctest::Approx(l1).epsilon(0.25));
  CHECK(again("", ".ca") == doctest::Approx(l1).epsilon(0.25));
  CHECK(again("", ".cg") == doctest::Approx(l2).epsilon(0.1));
  CHECK(again("", ".volatile") == doctest::Approx(l2).epsilon(0.1));
  CHECK(again("", ".L1::no_allocate") == doctest::Approx(l2).epsilon(0.1));
  CHECK(again("fence.acq_rel.gpu;", "") == doctest::Approx(l2).epsilon(0.1));
  CHECK(again("fence.acq_rel.cta;", "") == doctest::Approx(l1).epsilon(0.25));
}

TEST_CASE("what has been asked for is not in L1 before it has come, and HBM gives two sectors at once") {
  const double l1 = b200()[timing::FactId::l1_latency], l2 = b200()[timing::FactId::l2_latency],
               hbm = b200()[timing::FactId::hbm_latency];
  timing::L1Cache cache(1 << 16);
  const std::vector<timing::Touch> one{{0, 16}}, beside{{32, 16}};
  CHECK(cache.find(one).missing == 1);
  cache.fill(one, 500);
  CHECK(cache.find(one).missing == 0);
  CHECK(cache.find(one).there == 500);
  CHECK(cache.find(beside).missing == 1);
  const auto second = [](const std::string& at, double from_hbm) {
    const std::string body =
        "ld.global.u32 %r1, [%out]; add.u32 %r1, %r1, 1; mov.u32 %r92, %clock; bar.sync 0;"
        "mov.u32 %r92, %clock; ld.global.u32 %r2, [%out+" +
        at +
        "]; bar.sync 0;"
        "add.u32 %r2, %r2, 1; st.volatile.global.u32 [%out], %r2; mov.u32 %r93, %clock;"
        "sub.u32 %r93, %r93, %r92; st.global.u32 [%out], %r93;";
    timing::Surroundings around = no_values;
    around.hits_l2 = false, around.from_hbm = from_hbm;
    return double(time_of(kernel(body), one_buffer(1), around).run.read<std::uint32_t>("out").at(0));
  };
  const double same = second("0", 1), neighbour = second("32", 1), next = second("64", 1), half = second("64", 0.5);
  CHECK(neighbour - same == doctest::Approx(l2 - l1).epsilon(0.1));
  CHECK(next - neighbour == doctest::Approx(hbm - l2).epsilon(0.1));
  CHECK(next - half == doctest::Approx((hbm - l2) / 2).epsilon(0.1));
}

TEST_CASE("loads that are each followed by their sum wait for L2 once, those that order memory one after the other") {
  const double l2 = b200()[timing::FactId::l2_latency];
  const auto eight = [](const std::string& load) {
    std::string text;
    for (int k = 0; k < 8; ++k)
      text += fmt::format("{} %r{}, [%rd1+{}]; add.u32 %r20, %r20, %r{};\n", load, k + 1, 4096 * k, k + 1);
    return between_clocks("mov.u32 %r20, 0;", text);
  };
  CHECK(eight("ld.global.u32") < 1.5 * l2);
  CHECK(eight("ld.acquire.gpu.global.u32") > 7.5 * l2);
}

TEST_CASE("a step with two and three slots takes so much more than with four as on an H100: wgmmas queue") {
  // gemm_f16 by pairs of CTAs with tiles of 256 x 256 x 64, inputs in L2, four clusters: 974 and 16 cycles more.
  const auto step = [](std::uint64_t stages) {
    const auto cycles = [&](std::uint64_t k) {
      const Subject s = subject_of("gemm_f16",
                                   {{"m", 512ull},
                                    {"n", 512ull},
                                    {"k", k},
                                    {"ctas", 132ull},
                                    {"stages", stages},
                                    {"cta-group", 2ull},
                                    {"tile", dsl::Size(256, 256, 64)}},
                                   isa::sm_90a);
      return prediction_of(s, harness::chip_of("h100"), {.l2 = timing::L2::warm}).cycles.value;
    };
    return (cycles(2048) - cycles(1024)) / 16;
  };
  const double four = step(4);
  CHECK(step(2) == doctest::Approx(1031 + 974).epsilon(0.12));
  CHECK(step(3) - four < 40);
}

TEST_CASE("a K step of the library's GEMM takes its wgmmas' time while copies land: 1,010 to 1,024 cycles on an H100") {
  const auto cycles = [](std::uint64_t k) {
    const Subject s = subject_of("gemm_v5", {{"m", 2048ull}, {"n", 2048ull}, {"k", k}}, isa::sm_90a);
    return prediction_of(s, harness::chip_of("h100")).cycles.value;
  };
  CHECK((cycles(4096) - cycles(2048)) / 32 == doctest::Approx(1022).epsilon(0.02));
}

// gemm_bf16_kept on an H200, by pairs, with all of its SMs.
timing::Prediction by_pairs(const timing::Chip& chip, std::uint64_t m, std::uint64_t n, std::uint64_t k, dsl::Size tile,
                            std::uint64_t stages, const std::vector<std::pair<std::string, dsl::Size>>& others = {}) {
  std::vector<std::pair<std::string, dsl::Size>> sizes{{"m", m},
                                                       {"n", n},
                                                       {"k", k},
                                                       {"tile", tile},
                                                       {"stages", stages},
                                                       {"cta-group", 2ull},
                                                       {"accumulators", 2ull},
                                                       {"ctas", 132ull}};
  sizes.insert(sizes.end(), others.begin(), others.end());  // the later of two values counts
  return prediction_of(subject_of("gemm_bf16_kept", sizes, isa::sm_90a), chip);
}

timing::Chip with(timing::Chip chip, timing::FactId fact, double value) {
  chip.values[std::size_t(fact)].value = value;
  return chip;
}

TEST_CASE(
    "of what pairs of a GPC load alike L2 gives most again, but at first what several GPCs ask for comes at once") {
  const timing::Chip h200 = harness::chip_of("h200");
  const auto four_tiles = [](const timing::Chip& chip) {
    return by_pairs(chip, 1024, 4096, 3328, {256, 64, 64}, 8).cycles.value;
  };
  CHECK(four_tiles(h200) == doctest::Approx(100086).epsilon(0.06));
  CHECK(four_tiles(with(h200, timing::FactId::gpc_again, 0.01)) < 0.8 * 100086);
  const auto one_tile = [](const timing::Chip& chip) {
    return by_pairs(chip, 2048, 768, 3328, {256, 96, 64}, 6).cycles.value;
  };
  CHECK(one_tile(h200) == doctest::Approx(32385).epsilon(0.06));
  CHECK(one_tile(with(h200, timing::FactId::first_again, 1)) > 1.08 * 32385);
}

TEST_CASE("arrivals from eight CTAs take as much of the way into an SM as boxes: 39,046 cycles on an H200") {
  const timing::Chip h200 = harness::chip_of("h200");
  const auto cycles = [](const timing::Chip& chip) {
    return by_pairs(chip, 640, 512, 6144, {256, 32, 64}, 10,
                    {{"ctas", 120ull}, {"pairs", 4ull}, {"storers", 1ull}, {"tma-store", 1ull}})
        .cycles.value;
  };
  CHECK(cycles(h200) == doctest::Approx(39046).epsilon(0.08));
  CHECK(cycles(with(h200, timing::FactId::remote_arrive_port, 0.01)) < 0.8 * 39046);
}

TEST_CASE(
    "of pairs that share a tile the one that comes last adds up: 29,309 cycles on an H200, on a grid of one axis") {
  const timing::Prediction p =
      by_pairs(harness::chip_of("h200"), 768, 640, 4608, {256, 128, 64}, 6, {{"splits", 4ull}});
  CHECK(p.cycles.value == doctest::Approx(29309).epsilon(0.08));
  CHECK(p.launches.at(0).grid.adds > 6000);
}

// Cycles of a K step of gemm_bf16_kept on an H100 whose L2 has the inputs.
double step_of(dsl::Size tile, std::uint64_t ctas, std::uint64_t stages, std::uint64_t m, std::uint64_t n,
               std::uint64_t from, std::uint64_t to) {
  const auto cycles = [&](std::uint64_t k) {
    const Subject s = subject_of("gemm_bf16_kept",
                                 {{"m", m},
                                  {"n", n},
                                  {"k", k},
                                  {"ctas", 132ull},
                                  {"stages", stages},
                                  {"cta-group", ctas},
                                  {"accumulators", 2ull},
                                  {"tma-store", 1ull},
                                  {"storers", 1ull},
                                  {"tile", tile}},
                                 isa::sm_90a);
    return prediction_of(s, harness::chip_of("h100"), {.l2 = timing::L2::warm}).cycles.value;
  };
  return (cycles(to) - cycles(from)) / (double(to - from) / 64);
}

TEST_CASE("L2 gives a box the more slowly the fewer CTAs load it: steps of 405 to 667 cycles on an H100") {
  const dsl::Size narrow(128, 32, 64), wide(128, 128, 64), pairs(256, 128, 64);
  CHECK(step_of(narrow, 1, 10, 1536, 352, 1024, 2048) == doctest::Approx(405).epsilon(0.12));  // by 11 and 12
  CHECK(step_of(narrow, 1, 10, 4224, 128, 1024, 2048) == doctest::Approx(541).epsilon(0.16));  // by 4 and 33
  CHECK(step_of(narrow, 1, 10, 1536, 32, 1024, 2048) == doctest::Approx(206).epsilon(0.1));    // 12 SMs alone
  CHECK(step_of(wide, 1, 6, 1536, 1408, 1024, 2048) == doctest::Approx(520).epsilon(0.1));
  CHECK(step_of(pairs, 2, 6, 1536, 1408, 1024, 2048) == doctest::Approx(667).epsilon(0.1));
}

TEST_CASE("rows of a box that the tensor does not have take six cycles each on an H100") {
  CHECK(step_of(dsl::Size(128, 32, 64), 1, 10, 1, 4224, 1024, 2048) == doctest::Approx(820).epsilon(0.1));
}

TEST_CASE("rows of a box in two lines are bound by the part of the chip that asks for them") {
  const dsl::Size tile(128, 128, 64);
  CHECK(step_of(tile, 1, 6, 1536, 1408, 1032, 2056) == doctest::Approx(1156).epsilon(0.22));
  CHECK(step_of(tile, 1, 6, 1536, 384, 1032, 2056) < 0.65 * 1150);  // 36 SMs
}

}  // namespace
}  // namespace kiln::test::memory_time_test
