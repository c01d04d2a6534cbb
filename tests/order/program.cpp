#include "tests/order/program.hpp"

#include <fmt/format.h>

#include "sim/core/random.hpp"

namespace kiln::test {
namespace {

constexpr int barriers = 3;        // mbarriers of a CTA, one arrival each
constexpr int tensor_loads = 32;   // registers for them
constexpr int global_flags = 128;  // offset of the flags in global memory

class Generator {
 public:
  explicit Generator(std::uint64_t seed) : random_(sim::mix(seed, 1)) {}

  RandomProgram program() {
    p_.cluster = one_in(3) ? 2 : 1;
    p_.clusters = one_in(2) ? 1 : 1 + below(3);
    p_.together = p_.clusters > 1 && one_in(2);
    p_.warps = 1 + below(3);
    p_.lanes = 1 + below(2);
    p_.tensor = one_in(4);
    if (p_.tensor) {
      p_.lanes = 32;
      p_.clusters = 1;
      p_.together = false;
    }
    const int n = 3 + below(12);
    for (int k = 0; k < n; ++k) append(p_.statements, one_in(8));
    if (p_.tensor) free_columns(p_.statements);
    return std::move(p_);
  }

 private:
  using List = std::vector<Statement>;

  int below(int n) { return int(random_.below(std::uint32_t(n))); }
  bool one_in(int n) { return below(n) == 0; }
  const char* pick(std::initializer_list<const char*> of) { return of.begin()[below(int(of.size()))]; }
  static void add(List& to, const std::string& text) { to.push_back({text, {}, 0}); }

  // ---- the thread that executes: each guard sets %p1
  // A condition on the warp, the lane, the CTA.
  struct Guard {
    int warp = -1, lane = -1, cta = -1;
    bool lane_of_trip = false;
  };
  std::string guarded(const Guard& g, const std::string& instruction) const {
    std::string text;
    const auto also = [&](const char* what, const std::string& value) {
      text += fmt::format("setp.eq{}.u32 %p1, {}, {}{}; ", text.empty() ? "" : ".and", what, value,
                          text.empty() ? "" : ", %p1");
    };
    if (g.warp >= 0) also("%warp", std::to_string(g.warp));
    if (g.lane >= 0) also("%lane", std::to_string(g.lane));
    if (g.lane_of_trip) also("%lane", "%i");
    if (g.cta >= 0) also("%cta", std::to_string(g.cta));
    if (text.empty()) also("%at", "%at");
    return text + instruction;
  }
  Guard thread() {
    Guard g;
    g.warp = below(p_.warps);
    g.lane = p_.tensor ? 31 * below(2) : below(p_.lanes);
    if (p_.ctas() > 1 && one_in(3)) g.cta = below(int(p_.ctas()));
    return g;
  }
  Guard threads() {
    Guard g = thread();
    if (one_in(3)) g.warp = -1;
    if (one_in(p_.tensor ? 12 : 3)) g.lane = -1;  // 32 lanes make many pairs
    if (loop_ && one_in(3)) g.lane = -1, g.lane_of_trip = true;
    return g;
  }
  Guard warp() {
    Guard g = thread();
    g.lane = -1;
    return g;
  }
  static Guard of_warp(int w) { return {w, -1, -1, false}; }

  // ---- where: %r10 is an address in shared memory, %d10 one in global memory
  std::string shift() { return pick({"%odd", "%warp", "%cta", loop_ ? "%i" : "%odd"}); }
  std::string address(bool global, int offset, int size) {
    std::string text = fmt::format("mov.u32 %r9, {}; ", offset);
    if (one_in(3)) text += fmt::format("mad.lo.u32 %r9, {}, {}, %r9; ", shift(), std::max(4, size));
    if (global) return text + "cvt.u64.u32 %d9, %r9; add.u64 %d10, %g, %d9; ";
    return text + "mov.u32 %r10, s; add.u32 %r10, %r10, %r9; ";
  }
  // The same place in the other CTA of the cluster.
  static std::string remote(const char* what, const char* to) {
    return fmt::format("xor.b32 %r8, %rank, 1; mapa.shared::cluster.u32 {}, {}, %r8; ", to, what);
  }

  // ---- what
  void access(List& to) {
    const bool global = one_in(2), far = !global && p_.cluster > 1 && one_in(3);
    const int size = one_in(3) ? 1 << below(5) : 4;
    std::string text = address(global, below(3) * std::max(size, 4), size);
    if (far) text += remote("%r10", "%r10");
    const char* space = global ? "global" : far ? "shared::cluster" : "shared::cta";
    const char* at = global ? "%d10" : "%r10";
    const std::string type = size == 16 ? "v4.b32" : fmt::format("b{}", 8 * size);
    const std::string value = size == 16  ? "{%r20, %r21, %r22, %r23}"
                              : size == 8 ? "%d20"
                              : size == 4 ? "%r20"
                                          : "%h20";
    const Guard g = threads();
    switch (below(size == 4 ? 8 : 6)) {
      case 0:
      case 1:
      case 2: text += guarded(g, fmt::format("@%p1 ld.{}.{} {}, [{}];", space, type, value, at)); break;
      case 3:
      case 4:
        text += guarded(g, fmt::format("mov.u32 %r20, {}; @%p1 st.{}.{} [{}], {};", below(3), space, type, at, value));
        break;
      case 5:
        text +=
            guarded(g, fmt::format("mad.lo.u32 %r20, %at, 8, %cta; @%p1 st.{}.{} [{}], {};", space, type, at, value));
        break;
      default: text += guarded(g, strong(space, at)); break;
    }
    add(to, text);
  }

  // Bytes that overlap in part, from lane to lane too.
  void zeros(List& to) {
    add(to, guarded(threads(), address(false, 8 * below(4), 8) +
                                   fmt::format("@%p1 st.bulk.weak.shared::cta [%r10], {}, 0;", 8 << below(2))));
  }
  // All rows to one address; equal ones and others.
  void matrix(List& to) {
    add(to, guarded(warp(), address(false, 16 * below(2), 16) +
                                fmt::format("mov.u32 %r20, {}; @%p1 stmatrix.sync.aligned.m8n8.x1.shared.b16 [%r10], "
                                            "{{%r20}};",
                                            pick({"7", "%lane"}))));
  }

  std::string strong(const std::string& space, const char* at) {
    const char* scope = pick({"cta", "cluster", "gpu"});
    switch (below(5)) {
      case 0: return fmt::format("@%p1 ld.{}.{}.{}.u32 %r20, [{}];", pick({"relaxed", "acquire"}), scope, space, at);
      case 1: return fmt::format("@%p1 st.{}.{}.{}.u32 [{}], %r5;", pick({"relaxed", "release"}), scope, space, at);
      case 2:
        return fmt::format("@%p1 ld.volatile.{}.u32 %r20, [{}];", space == "shared::cluster" ? "shared" : space, at);
      case 3: return fmt::format("@%p1 red.relaxed.{}.{}.add.u32 [{}], 1;", scope, space, at);
      default:
        return fmt::format("@%p1 atom.{}.{}.{}.add.u32 %r20, [{}], 1;",
                           pick({"relaxed", "acquire", "release", "acq_rel"}), scope, space, at);
    }
  }

  // A strong access to a flag, or to data.
  std::string flag(bool writes, bool reads, bool orders) {
    const bool global = p_.ctas() > 1 || one_in(2);
    const int offset = 4 * below(2);
    std::string text = global ? fmt::format("add.u64 %d10, %g, {}; ", global_flags + offset)
                              : fmt::format("mov.u32 %r10, f; add.u32 %r10, %r10, {}; ", offset);
    const char* scope = pick({"cta", "cluster", "gpu", "gpu"});
    const char *space = global ? "global" : "shared::cta", *at = global ? "%d10" : "%r10";
    const char* sem = !orders ? "relaxed" : writes && reads ? "acq_rel" : writes ? "release" : "acquire";
    if (writes && (reads || one_in(2)))
      text += fmt::format("@%p1 atom.{}.{}.{}.add.u32 %r20, [{}], 1;", sem, scope, space, at);
    else if (writes)
      text += fmt::format("@%p1 st.{}.{}.{}.u32 [{}], {};", sem, scope, space, at, below(2));
    else
      text += fmt::format("@%p1 ld.{}.{}.{}.u32 %r20, [{}];", sem, scope, space, at);
    return text;
  }

  void hand_over_by_flag(List& to) {
    const bool orders = !one_in(3);
    const Guard writer = thread(), reader = thread();
    if (!orders) fence_of(to, writer);
    add(to, guarded(writer, flag(true, one_in(4), orders)));
    if (one_in(2)) access(to);
    add(to, guarded(reader, flag(one_in(4), true, orders)));
    if (!orders) fence_of(to, reader);
  }

  void fence_of(List& to, const Guard& g) {
    add(to, guarded(g, fmt::format("@%p1 fence.{}.{};", pick({"acq_rel", "acq_rel", "sc", "acquire", "release"}),
                                   pick({"cta", "cluster", "gpu"}))));
  }
  void proxy_fence(List& to, const Guard& g) {
    add(to, guarded(g, fmt::format("@%p1 fence.proxy.async{};",
                                   pick({"", "", ".shared::cta", ".shared::cluster", ".global"}))));
  }

  void barrier(List& to) {
    if (p_.cluster > 1 && one_in(2)) {
      // One statement: an arrival without its wait is undefined.
      List between;
      if (one_in(3)) access(between);
      std::string text = fmt::format("barrier.cluster.arrive{};\n", pick({"", ".release", ".relaxed"}));
      for (const Statement& s : between) text += s.text + "\n";
      return add(to, text + "barrier.cluster.wait;");
    }
    if (one_in(3)) return add(to, "bar.sync 0;");
    const int first = below(p_.warps), second = below(p_.warps), id = 1 + below(2);
    if (first == second) {
      if (one_in(2)) return add(to, guarded(of_warp(first), fmt::format("@%p1 bar.sync {}, 32;", id)));
      const char* how = pick({"bar.warp.sync", "bar.warp.sync", "elect.sync _|%q,"});
      return add(to, guarded(of_warp(first), fmt::format("@%p1 {} {};", how, (1ull << p_.lanes) - 1)));
    }
    add(to, guarded(of_warp(first), fmt::format("@%p1 bar.{} {}, 64;", pick({"arrive", "sync"}), id)));
    add(to, guarded(of_warp(second), fmt::format("@%p1 bar.sync {}, 64;", id)));
  }

  // Threads exit. Barriers of all threads go on without them.
  void leave(List& to) {
    if (one_in(2)) access(to);
    add(to, guarded(p_.tensor ? warp() : threads(), "@%p1 ret;"));
    if (one_in(2))
      add(to, p_.cluster > 1 && one_in(2) ? "barrier.cluster.arrive;\nbarrier.cluster.wait;" : "bar.sync 0;");
    access(to);
  }

  // ---- mbarriers: one arrival completes a phase
  static std::string mbarrier(int m, const char* to) {
    return fmt::format("mov.u32 {}, m; add.u32 {}, {}, {}; ", to, to, to, 8 * m);
  }
  void wait(List& to, const Guard& g, int m) {
    const std::string parity = fmt::format("add.u32 %r7, %i, {}; and.b32 %r7, %r7, 1; ", flips_[m] & 1);
    add(to,
        guarded(g, mbarrier(m, "%r11") + parity + "@%p1 mbarrier.try_wait.parity.shared::cta.b64 %q, [%r11], %r7;"));
  }
  void hand_over_by_mbarrier(List& to) {
    const int m = below(barriers);
    const bool far = p_.cluster > 1 && one_in(2);
    std::string text = mbarrier(m, "%r11");
    if (far) text += remote("%r11", "%r11");
    const char* space = far ? "shared::cluster" : "shared::cta";
    const char* sem = pick({"", ".release.cluster", ".release.cta", ".relaxed.cluster", ".relaxed.cta"});
    const Guard g = thread();
    if (std::string_view(sem).starts_with(".relaxed") && one_in(2)) fence_of(to, g);
    add(to, guarded(g, text + fmt::format("@%p1 mbarrier.arrive{}.{}.b64 _, [%r11];", sem, space)));
    if (one_in(3)) access(to);
    wait(to, thread(), m);
    ++flips_[m];
  }

  void expect(List& to, const Guard& g, int m, int bytes) {
    add(to, guarded(g, mbarrier(m, "%r11") +
                           fmt::format("@%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r11], {};", bytes)));
  }
  // Memory of 16 bytes at %r10 and %d10, for a bulk copy.
  std::string ends() { return address(false, 16 * below(2), 16) + address(true, 16 * below(2), 16); }
  void bulk_load(List& to) {
    const int m = below(barriers);
    const Guard g = thread();
    if (one_in(3)) proxy_fence(to, threads());
    expect(to, g, m, 16);
    std::string text = ends() + mbarrier(m, "%r11");
    if (p_.cluster > 1 && one_in(3)) {
      text += "mov.u32 %r12, s; " + remote("%r10", "%r10") + remote("%r11", "%r11");
      text += "@%p1 cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%r10], [%r12], 16, [%r11];";
    } else {
      text += "@%p1 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r10], [%d10], 16, [%r11];";
    }
    add(to, guarded(g, text));
    if (one_in(3)) access(to);
    wait(to, one_in(2) ? thread() : threads(), m);
    ++flips_[m];
  }
  void bulk_store(List& to) {
    const Guard g = one_in(3) ? threads() : thread();
    if (!one_in(3)) proxy_fence(to, one_in(2) ? g : threads());
    const std::string how = one_in(3) ? "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32"
                                      : "cp.async.bulk.global.shared::cta.bulk_group";
    add(to, guarded(g, ends() + fmt::format("@%p1 {} [%d10], [%r10], 16;", how)));
    if (!one_in(8)) add(to, guarded(g, "@%p1 cp.async.bulk.commit_group;"));
    if (one_in(3)) access(to);
    if (!one_in(4))
      add(to, guarded(g, fmt::format("@%p1 cp.async.bulk.wait_group{} {};", pick({"", ".read"}), below(4) / 3)));
  }
  void thread_copies(List& to) {
    const Guard g = threads();
    const int size = 4 << below(3);
    add(to, guarded(g, address(false, size * below(2), size) + address(true, size * below(2), size) +
                           fmt::format("@%p1 cp.async.ca.shared.global [%r10], [%d10], {};", size)));
    switch (below(4)) {
      case 0: return add(to, guarded(g, "@%p1 cp.async.wait_all;"));
      case 1: {
        const int m = below(barriers);
        add(to, guarded(thread(), mbarrier(m, "%r11") + "@%p1 cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%r11];"));
        wait(to, thread(), m);
        ++flips_[m];
        return;
      }
      default:
        add(to, guarded(g, "@%p1 cp.async.commit_group;"));
        if (one_in(3)) access(to);
        if (!one_in(4)) add(to, guarded(g, fmt::format("@%p1 cp.async.wait_group {};", below(4) / 3)));
    }
  }
  void remote_store(List& to) {
    if (p_.cluster == 1) return access(to);
    const int m = below(barriers);
    expect(to, thread(), m, 4);
    const char* how = pick({"st.async", "st.async", "red.async"});
    const char* more = how[0] == 's' ? ".weak.shared::cluster.mbarrier::complete_tx::bytes.b32"
                                     : ".relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32";
    add(to, guarded(thread(), address(false, 4 * below(3), 4) + mbarrier(m, "%r11") + remote("%r10", "%r10") +
                                  remote("%r11", "%r11") + fmt::format("@%p1 {}{} [%r10], %r5, [%r11];", how, more)));
    wait(to, thread(), m);
    ++flips_[m];
  }

  // ---- tensor memory: %r13 is the address of some columns
  static constexpr const char* tcgen05_before = "@%p1 tcgen05.fence::before_thread_sync;";
  static constexpr const char* tcgen05_after = "@%p1 tcgen05.fence::after_thread_sync;";
  std::string columns() { return fmt::format("add.u32 %r13, %tm, {}; ", pick({"0", "0", "8", "16"})); }

  // By a whole warp, in its quarter of the lanes. Nothing but the wait uses the registers of a load.
  void transfer(List& to, const Guard& g) {
    const std::string address = columns() + "shl.b32 %r9, %warp, 21; add.u32 %r13, %r13, %r9; ";
    const bool loads = one_in(2);
    const std::string how =
        loads ? fmt::format("ld.sync.aligned.32x32b.x1.b32 {{%t{}}}, [%r13];", loads_++ % tensor_loads)
              : std::string("st.sync.aligned.32x32b.x1.b32 [%r13], {%r5};");
    add(to, guarded(g, address + "@%p1 tcgen05." + how));
    if (one_in(4)) access(to);
    add(to, guarded(g, fmt::format("@%p1 tcgen05.wait::{}.sync.aligned;", loads ? "ld" : "st")));
  }
  // Operands and sources are the bytes that other statements touch: both strides of the descriptor are 0.
  void tensor_operation(List& to, const Guard& g) {
    const char* how = pick({"mma.cta_group::1.kind::f16 [%r13], %da, %da, 0x8040490, 0",
                            "mma.cta_group::1.kind::f16 [%r13], %da, %da, 0x4040490, 0",
                            "mma.cta_group::1.kind::f16 [%r13], %da, %da, 0x4020490, 0",
                            "cp.cta_group::1.128x256b [%r13], %da", "cp.cta_group::1.128x128b [%r13], %da",
                            "cp.cta_group::1.4x256b [%r13], %da", "shift.cta_group::1.down [%r13]"});
    add(to, guarded(g, columns() + "@%p1 tcgen05." + how + ";"));
  }
  void commit(List& to, const Guard& g, const Guard& waits) {
    const int m = below(barriers);
    const bool both = p_.cluster > 1 && one_in(3);
    add(to, guarded(g, mbarrier(m, "%r11") +
                           fmt::format(
                               "@%p1 tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster{}.b64 [%r11]{};",
                               both ? ".multicast::cluster" : "", both ? ", 3" : "")));
    wait(to, waits, m);
    ++flips_[m];
  }
  void use_tensor_memory(List& to) {
    if (one_in(2)) return transfer(to, warp());
    const Guard g = thread();
    for (int k = 1 + below(2); k > 0; --k) tensor_operation(to, g);
    if (!one_in(3)) commit(to, g, one_in(3) ? threads() : one_in(2) ? warp() : g);
  }
  // From one warp to another, or within one.
  void hand_over_tensor_memory(List& to) {
    Guard from = thread(), by = from, next = thread();
    if (one_in(2)) {
      by.lane = -1;
      transfer(to, by);
    } else {
      tensor_operation(to, from);
    }
    const Guard waits = one_in(2) ? of_warp(next.warp) : next;
    if (by.lane != -1 && !one_in(3)) {
      commit(to, from, waits);
    } else {
      add(to, guarded(by, tcgen05_before));
      if (one_in(2)) {
        barrier(to);
      } else {
        const int m = below(barriers);
        add(to, guarded(from, mbarrier(m, "%r11") + "@%p1 mbarrier.arrive.shared::cta.b64 _, [%r11];"));
        wait(to, waits, m);
        ++flips_[m];
      }
    }
    add(to, guarded(one_in(3) ? next : waits, tcgen05_after));
    if (one_in(2)) return transfer(to, of_warp(next.warp));
    tensor_operation(to, next);
    if (one_in(2)) commit(to, next, next);
  }
  void free_columns(List& to) {
    if (!one_in(4)) add(to, "bar.sync 0;");
    add(to, guarded(of_warp(0), "@%p1 tcgen05.dealloc.cta_group::1.sync.aligned.b32 %tm, 32;"));
  }

  // A hand-over loses one of its statements now and then: what is missing makes the race.
  void append(List& to, bool loop) {
    if (loop && !loop_) {
      Statement s;
      s.trips = 2 + below(2);
      loop_ = true;
      for (int k = 1 + below(4); k-- > 0;) append(s.body, false);
      loop_ = false;
      return to.push_back(std::move(s));
    }
    if (one_in(40)) return leave(to);
    List made;
    switch (below(p_.tensor ? 28 : 17)) {
      case 0:
      case 1: barrier(made); break;
      case 2:
      case 3: hand_over_by_flag(made); break;
      case 4:
      case 5: hand_over_by_mbarrier(made); break;
      case 6: bulk_load(made); break;
      case 7: bulk_store(made); break;
      case 8: thread_copies(made); break;
      case 9: remote_store(made); break;
      case 10: fence_of(made, threads()); break;
      case 11: proxy_fence(made, threads()); break;
      case 16:
      case 17:
      case 18:
      case 19: use_tensor_memory(made); break;
      case 20: add(made, guarded(one_in(2) ? threads() : warp(), one_in(2) ? tcgen05_before : tcgen05_after)); break;
      case 21:
      case 22:
      case 23:
      case 24:
      case 25:
      case 26:
      case 27: hand_over_tensor_memory(made); break;
      case 12: p_.tensor ? matrix(made) : zeros(made); break;
      default: access(made); break;
    }
    if (made.size() > 1 && one_in(6)) made.erase(made.begin() + below(int(made.size())));
    for (Statement& s : made) to.push_back(std::move(s));
  }

  sim::Random random_;
  RandomProgram p_;
  bool loop_ = false;
  int flips_[barriers] = {};
  int loads_ = 0;
};

void write(std::string& out, const std::vector<Statement>& statements, int& labels) {
  for (const Statement& s : statements) {
    if (s.trips == 0) {
      out += s.text + "\n";
      continue;
    }
    const int label = ++labels;
    out += fmt::format("L{}:\n", label);
    write(out, s.body, labels);
    out += fmt::format("add.u32 %i, %i, 1; setp.lt.u32 %p1, %i, {}; @%p1 bra L{};\nmov.u32 %i, 0;\n", s.trips, label);
  }
}

}  // namespace

std::string RandomProgram::ptx() const {
  std::string out = ".version 8.8\n.target sm_100a\n.address_size 64\n.visible .entry k(.param .u64 buffer)";
  if (cluster > 1) out += fmt::format(" .reqnctapercluster {}", cluster);
  out +=
      " {\n.reg .pred %p<2>, %q; .reg .b16 %h<30>; .reg .b32 %r<30>, %at, %warp, %lane, %odd, %cta, %rank, %i; "
      ".reg .b64 %d<30>, %g;\n"
      ".shared .align 16 .b8 s[128]; .shared .align 16 .b8 f[16]; .shared .align 16 .b8 m[32];\n"
      "ld.param.u64 %g, [buffer]; mov.u32 %at, %tid.x; shr.u32 %warp, %at, 5; and.b32 %lane, %at, 31; and.b32 %odd, "
      "%at, 1; mov.u32 %cta, "
      "%ctaid.x; mov.u32 %rank, %cluster_ctarank; mov.u32 %i, 0; mov.u32 %r5, 1; mov.b64 %d20, 1; mov.b16 %h20, 1;\n";
  out += fmt::format("setp.ge.u32 %p1, %lane, {}; @%p1 ret;\n", lanes);
  out += "mov.u32 %r10, m; mov.u32 %r11, s; mov.u32 %r12, f; setp.eq.u32 %p1, %at, 0;\n";
  for (int m = 0; m < barriers; ++m) out += fmt::format("@%p1 mbarrier.init.shared::cta.b64 [%r10+{}], 1;\n", 8 * m);
  out +=
      "@%p1 st.bulk.weak.shared::cta [%r11], 128, 0; @%p1 st.bulk.weak.shared::cta [%r12], 16, 0;\n"
      "@%p1 fence.mbarrier_init.release.cluster; @%p1 fence.proxy.async;\n";
  if (tensor)
    out += fmt::format(
        ".reg .b32 %tm, %t<{}>; .reg .b64 %da; .shared .align 4 .b32 slot;\n"
        "shr.u32 %r11, %r11, 4; cvt.u64.u32 %da, %r11; or.b64 %da, %da, {};\n"
        "setp.eq.u32 %p1, %warp, 0; @%p1 tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot], 32;\n",
        tensor_loads, std::uint64_t{1} << 46);
  out += cluster > 1 ? "barrier.cluster.arrive; barrier.cluster.wait;\n" : "bar.sync 0;\n";
  if (tensor) out += "tcgen05.fence::after_thread_sync; ld.shared.b32 %tm, [slot];\n";
  if (together)
    out += fmt::format(
        "setp.eq.u32 %p1, %at, 0; @!%p1 bra BEGIN; red.relaxed.gpu.global.add.u32 [%g+{0}], 1;\n"
        "MEET: ld.relaxed.gpu.global.u32 %r20, [%g+{0}]; setp.lt.u32 %p1, %r20, {1}; @%p1 bra MEET;\n"
        "BEGIN: bar.sync 0;\n",
        meeting_word, ctas());
  int labels = 0;
  write(out, statements, labels);
  return out + "ret;\n}\n";
}

RandomProgram random_program(std::uint64_t seed) { return Generator(seed).program(); }

}  // namespace kiln::test
