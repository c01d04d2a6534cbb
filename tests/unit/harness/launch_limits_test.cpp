// Launches that no device takes are refused before anything runs, with the place in the contract.
#include <doctest/doctest.h>

#include <fmt/format.h>

#include "harness/entry/entry.hpp"
#include "harness/ptxas/ptxas.hpp"
#include "launch/limits.hpp"
#include "ptx/diag/error.hpp"
#include "ptx/isa/launch_limits.hpp"
#include "ptx/parse/parse.hpp"
#include "tests/skip.hpp"

namespace harness_launch_limits {

using namespace kiln;
using launch::Launch, launch::Dim3;

namespace {

ir::Module module_of(const std::string& directives, const std::string& body = "") {
  diag::Sink sink;
  const std::string text = ".version 8.6\n.target sm_100a\n.address_size 64\n.visible .entry k() " + directives +
                           " {\n" + body + "ret;\n}\n";
  ir::Module m = parse::parse(std::make_shared<const diag::Source>("k.ptx", text), sink);
  REQUIRE(!sink.has_errors());
  return m;
}

std::string misfit(const ir::Module& m, const Launch& l, int launches = 1) {
  launch::Contract c;
  c.launches.assign(std::size_t(launches), Launch{});
  c.launches.back() = l;
  try {
    harness::check_fits(m, c);
  } catch (const diag::InputError& error) {
    return error.what();
  }
  return "";
}

Launch launch_of(Dim3 grid, Dim3 block, Dim3 cluster = {}) {
  Launch l;
  l.grid = grid, l.block = block, l.cluster = cluster;
  return l;
}

// A kernel whose threads hold `values` values at once.
std::string hungry(int values) {
  std::string text = fmt::format(".reg .b32 %v<{}>; .shared .b32 s[1024];\n", values);
  for (int i = 0; i < values; ++i) text += fmt::format("ld.volatile.shared.b32 %v{}, [s+{}];\n", i, 4 * i);
  for (int i = values - 1; i >= 0; --i) text += fmt::format("st.volatile.shared.b32 [s+{}], %v{};\n", 4 * i, i);
  return text;
}

}  // namespace

TEST_CASE("extents of grid, CTA and cluster have limits") {
  const ir::Module m = module_of("");
  CHECK(misfit(m, launch_of({0x7FFFFFFF, 1, 1}, {1024, 1, 1})) == "");
  CHECK(misfit(m, launch_of({1, 65535, 65535}, {1, 1, 64})) == "");
  CHECK(misfit(m, launch_of({1, 65536, 1}, {32, 1, 1})) ==
        "/grid: has at most [2147483647, 65535, 65535] CTAs; got [1, 65536, 1]");
  CHECK(misfit(m, launch_of({1, 1, 65536}, {32, 1, 1}), 2).starts_with("/launches/1/grid: has at most"));
  CHECK(misfit(m, launch_of({1, 1, 1}, {1, 1, 65})) == "/block: has at most [1024, 1024, 64] threads; got [1, 1, 65]");
  CHECK(misfit(m, launch_of({1, 1, 1}, {33, 32, 1})) == "/block: a CTA has at most 1024 threads; got 1056");
  CHECK(misfit(m, launch_of({0, 1, 1}, {32, 1, 1})) == "/grid: must not be empty");
  CHECK(misfit(m, launch_of({16, 2, 1}, {32, 1, 1}, {16, 1, 1})) == "");
  CHECK(misfit(m, launch_of({16, 2, 1}, {32, 1, 1}, {16, 2, 1})) ==
        "/cluster: a cluster has at most 16 CTAs, 8 on every device; got 32");
  CHECK(misfit(m, launch_of({6, 1, 1}, {32, 1, 1}, {4, 1, 1})) ==
        "/grid: [6, 1, 1] does not divide into clusters of [4, 1, 1]");
}

TEST_CASE("what the kernel says about its launches holds") {
  CHECK(misfit(module_of(".reqnctapercluster 4, 1, 1"), launch_of({6, 1, 1}, {32, 1, 1})).starts_with("/grid: "));
  CHECK(misfit(module_of(".maxntid 64, 1, 1"), launch_of({1, 1, 1}, {64, 1, 1})) == "");
  CHECK(misfit(module_of(".maxntid 64, 1, 1"), launch_of({1, 1, 1}, {65, 1, 1})) ==
        "/block: k is launched with 65 threads; its PTX allows 64");
  const ir::Module ranks = module_of(".explicitcluster .maxclusterrank 4");
  CHECK(misfit(ranks, launch_of({8, 1, 1}, {32, 1, 1}, {4, 1, 1})) == "");
  CHECK(misfit(ranks, launch_of({8, 1, 1}, {32, 1, 1}, {8, 1, 1})) ==
        "/cluster: k is launched with clusters of 8 CTAs; its PTX allows 4");
}

TEST_CASE("a CTA has 65536 registers, which ptxas knows how to count") {
  if (const harness::Ptxas ptxas = harness::find_ptxas(); !ptxas.found()) return test::skip("ptxas: " + ptxas.missing);
  const std::string body = hungry(100);
  const std::string got = misfit(module_of("", body), launch_of({1, 1, 1}, {1024, 1, 1}));
  CHECK_MESSAGE(got.starts_with("/block: k: 1024 threads of "), got);
  CHECK_MESSAGE(got.find("a CTA has at most 65536 (.maxntid tells ptxas)") != std::string::npos, got);
  CHECK(misfit(module_of("", body), launch_of({1, 1, 1}, {256, 1, 1})) == "");
  CHECK(misfit(module_of("", body), launch_of({1, 1, 1}, {384, 1, 1})) == "");
  CHECK(misfit(module_of(".maxntid 1024, 1, 1", body), launch_of({1, 1, 1}, {1024, 1, 1})) == "");
  CHECK(misfit(module_of(".maxnreg 64", body), launch_of({1, 1, 1}, {1024, 1, 1})) == "");
  CHECK(misfit(module_of("", hungry(20)), launch_of({1, 1, 1}, {1024, 1, 1})) == "");
}

TEST_CASE("an SM has room for so many CTAs") {
  const auto room = [](std::uint32_t threads, std::uint64_t shared, std::uint32_t registers, isa::Target t) {
    return launch::residents(launch_of({1, 1, 1}, {threads, 1, 1}), {shared, registers}, t);
  };
  CHECK(room(32, 0, 0, isa::sm_100a) == 32);
  CHECK(room(128, 0, 0, isa::sm_100a) == 16);
  CHECK(room(129, 0, 0, isa::sm_100a) == 12);  // five warps
  CHECK(room(128, 0, 0, isa::sm_120a) == 12);
  CHECK(room(128, 113 * 1024, 0, isa::sm_100a) == 2);
  CHECK(room(128, 113 * 1024 + 1, 0, isa::sm_100a) == 1);
  CHECK(room(128, 227 * 1024, 0, isa::sm_100a) == 1);
  CHECK(room(128, 0, 255, isa::sm_100a) == 2);
  CHECK(room(128, 0, 168, isa::sm_100a) == 3);
  CHECK(isa::cta_registers(33, 1) == 2 * 256);
  CHECK(isa::cta_registers(1024, 64) == 65536);
}

TEST_CASE("registers that CTAs share are those that ptxas gives a kernel with .minnctapersm beside .reqntid") {
  CHECK(isa::registers_to_share(1, 128) == 255);
  CHECK(isa::registers_to_share(1, 256) == 255);
  CHECK(isa::registers_to_share(1, 288) == 168);
  CHECK(isa::registers_to_share(2, 160) == 168);
  CHECK(isa::registers_to_share(1, 384) == 168);
  CHECK(isa::registers_to_share(1, 512) == 128);
  CHECK(isa::registers_to_share(1, 640) == 96);
}

}  // namespace harness_launch_limits
