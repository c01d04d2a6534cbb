// What an observer is told about wgmma: four operations, their reads by the async proxy, and their groups.
#include <doctest/doctest.h>

#include <map>
#include <set>

#include "sim/core/observer.hpp"
#include "tests/unit/sim/run.hpp"

namespace sim_wgmma_watch {

using namespace kiln;
using namespace kiln::test;

namespace {

struct Watcher final : sim::Observer {
  std::set<sim::AsyncId> flying, done;
  std::map<sim::AsyncId, std::uint64_t> bytes;
  std::map<sim::SyncKind, int> syncs;
  int completed_before_wait = 0;

  void issue(sim::AsyncId id, const sim::Agent& who, const ir::Operation&) override {
    CHECK(who.lanes == 0xFFFFFFFF);
    flying.insert(id);
  }
  void complete(sim::AsyncId id) override {
    CHECK(flying.count(id) == 1);
    done.insert(id);
  }
  void access(const sim::Agent&, const ir::Operation&, const sim::Range& r, sim::AccessKind kind, sim::Proxy proxy,
              sim::AsyncId id) override {
    if (id == 0) return;
    CHECK(kind == sim::AccessKind::read);
    CHECK(proxy == sim::Proxy::async);
    CHECK(r.space == isa::Space::shared_cta);
    bytes[id] += r.bytes;
  }
  void sync(const sim::Agent&, const ir::Operation*, const sim::Sync& s) override {
    ++syncs[s.kind];
    if (s.kind == sim::SyncKind::wgmma_wait) completed_before_wait = int(done.size());
  }
};

}  // namespace

TEST_CASE("an observer sees each warp's wgmma fly, read its rows of A and all of B, and land before the wait") {
  const std::string text =
      ".version 8.8\n.target sm_90a\n.address_size 64\n.shared .align 1024 .b8 tile[16384];\n"
      ".visible .entry k(.param .u64 out) {\n.reg .f32 %f<8>; .reg .b32 %r<8>; .reg .b64 %rd<4>; .reg .pred %p;\n"
      "mov.u32 %r0, %tid.x; shl.b32 %r0, %r0, 7; mov.u32 %r1, tile; add.u32 %r1, %r1, %r0; add.u32 %r2, %r1, 128;\n"
      "L: st.shared.b32 [%r1], 0; add.u32 %r1, %r1, 4; setp.lt.u32 %p, %r1, %r2; @%p bra L;\n"
      "fence.proxy.async.shared::cta; bar.sync 0; mov.u32 %r1, tile; shr.u32 %r1, %r1, 4; cvt.u64.u32 %rd0, %r1;\n"
      "add.u64 %rd1, %rd0, 0x4000004000000000;\n"  // 128B, eight rows every 1024 bytes
      "wgmma.fence.sync.aligned;\n"
      "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0, %f1, %f2, %f3}, %rd1, %rd1, 0, 1, 1, 0, 0;\n"
      "wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;\nret;\n}\n";
  Watcher watcher;
  launch::Contract contract;
  contract.buffers.push_back(buffer("out", 4));
  launch::Launch l;
  l.block = {128, 1, 1};
  l.params = {pointer("out")};
  contract.launches.push_back(l);
  diag::Sink sink;
  const ir::Module module = parse::parse(std::make_shared<const diag::Source>("test.ptx", text), sink);
  const sim::Result result = sim::simulate(module, contract, {}, sink, &watcher);
  CHECK_MESSAGE(result.outcome == sim::Outcome::finished, diag::render_text(sink));
  CHECK(watcher.flying.size() == 4);
  CHECK(watcher.done == watcher.flying);
  CHECK(watcher.completed_before_wait == 4);
  for (const auto& [id, bytes] : watcher.bytes) CHECK(bytes == 16 * 32 + 8 * 32);
  CHECK(watcher.syncs[sim::SyncKind::wgmma_fence] == 4);
  CHECK(watcher.syncs[sim::SyncKind::wgmma_commit] == 4);
  CHECK(watcher.syncs[sim::SyncKind::wgmma_wait] == 4);
  CHECK(result.statistics.mma_flops == 2 * 64 * 8 * 16);
  CHECK(result.statistics.mma_instructions == 1);
}

}  // namespace sim_wgmma_watch
