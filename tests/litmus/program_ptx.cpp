#include "tests/litmus/program_ptx.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "tests/unit/sim/run.hpp"

namespace kiln::test {
namespace {

constexpr int block = 128;

std::string_view spelling(Strength s) {
  switch (s) {
    case Strength::weak: return ".weak";
    case Strength::relaxed: return ".relaxed";
    case Strength::acquire: return ".acquire";
    case Strength::release: return ".release";
    case Strength::acq_rel: return ".acq_rel";
    case Strength::sc: return ".sc";
  }
  return "";
}

std::string_view spelling(Reach r) {
  constexpr std::string_view words[] = {".cta", ".cluster", ".gpu", ".sys"};
  return words[int(r)];
}

bool is_met_by_all(Act a) {
  return a == Act::meet || a == Act::meet_warp || a == Act::cluster_arrive || a == Act::cluster_wait;
}

int ctas_of(const Program& p) {
  int n = 1;
  for (const LitmusThread& t : p.threads) n = std::max(n, t.spot.cta + 1);
  return n;
}

class ProgramWriter {
 public:
  explicit ProgramWriter(const Program& p) : p_(p) {}

  std::string text() {
    head();
    prepare();
    meet();
    const std::size_t segments = segment_count();
    for (std::size_t s = 0; s < segments; ++s) {
      for (const LitmusThread& t : p_.threads) segment(t, s);
      if (s + 1 < segments) barrier(s);
    }
    meet();
    line("ret; }");
    return out_;
  }

 private:
  void line(const std::string& s) { out_ += s + "\n"; }
  Space space(int place) const { return p_.locations[place].space; }
  bool is_shared(int place) const { return space(place) != Space::global; }
  bool is_remote(int place, int cta) const { return is_shared(place) && p_.locations[place].cta != cta; }

  void head() {
    line(".version 8.7\n.target sm_100a\n.address_size 64");
    const std::string cluster = p_.is_one_cluster ? fmt::format(" .reqnctapercluster {}", ctas_of(p_)) : "";
    line(".entry k(.param .u64 g)" + cluster + " {");
    line(".reg .pred %q, %first; .reg .b32 %x, %at, %rank, %id; .reg .b64 %gx;");
    line("ld.param.u64 %gx, [g]; cvta.to.global.u64 %gx, %gx; mov.u32 %at, %tid.x; mov.u32 %rank, %ctaid.x;");
    line(fmt::format("mad.lo.u32 %id, %rank, {}, %at; setp.eq.u32 %first, %at, 0;", block));
    for (int k = 0; k < int(p_.locations.size()); ++k) {
      if (space(k) == Space::global) {
        line(fmt::format(".reg .b64 %p{}; add.u64 %p{}, %gx, {};", k, k, 128 * k));
        continue;
      }
      line(fmt::format(".shared .align 16 .b8 s{}[16]; .reg .b32 %p{}, %c{}; mov.u32 %p{}, s{};", k, k, k, k, k));
      if (p_.is_one_cluster) line(fmt::format("mapa.shared::cluster.u32 %c{}, %p{}, {};", k, k, p_.locations[k].cta));
    }
  }

  // What the threads find: zeros, and mbarriers.
  void prepare() {
    line("@!%first bra READY; mov.u32 %x, 0;");
    for (int k = 0; k < int(p_.locations.size()); ++k) {
      if (space(k) == Space::shared) line(fmt::format("st.shared.v4.u32 [%p{}], {{%x, %x, %x, %x}};", k));
      if (space(k) == Space::mbarrier) line(fmt::format("mbarrier.init.shared::cta.b64 [%p{}], {};", k, count_of(k)));
    }
    line("fence.mbarrier_init.release.cluster; fence.proxy.async;");
    line("READY:");
  }

  // A bulk copy's second arrival in causality.hpp is that of its bytes.
  int count_of(int mbarrier) const {
    int bulk = 0;
    for (const LitmusThread& t : p_.threads)
      for (const Event& e : t.events) bulk += e.act == Act::load_bulk && e.mbarrier == mbarrier;
    return std::max(1, arrivals_on(p_, mbarrier) - bulk);
  }

  void meet() {
    line(p_.is_one_cluster ? "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" : "bar.sync 0;");
  }

  std::size_t segment_count() const {
    const auto count = [](const LitmusThread& t) {
      return std::count_if(t.events.begin(), t.events.end(), [](const Event& e) { return is_met_by_all(e.act); });
    };
    const auto n = count(p_.threads[0]);
    for (const LitmusThread& t : p_.threads)
      if (count(t) != n) throw std::runtime_error("a barrier that some threads do not meet at");
    return std::size_t(n) + 1;
  }

  const Event& barrier_of(const LitmusThread& t, std::size_t number) const {
    for (const Event& e : t.events)
      if (is_met_by_all(e.act) && number-- == 0) return e;
    throw std::runtime_error("no such barrier");
  }

  void barrier(std::size_t number) {
    const Event& e = barrier_of(p_.threads[0], number);
    if (e.act == Act::meet) line("bar.sync 0;");
    if (e.act == Act::meet_warp) line("bar.warp.sync 0xffffffff;");
    if (e.act == Act::cluster_arrive) line(fmt::format("barrier.cluster.arrive{}.aligned;", spelling(e.strength)));
    if (e.act == Act::cluster_wait) line("barrier.cluster.wait.acquire.aligned;");
  }

  void segment(const LitmusThread& t, std::size_t number) {
    std::string body;
    std::size_t now = 0;
    const std::string end = fmt::format("E{}", ++labels_);
    for (const Event& e : t.events) {
      if (is_met_by_all(e.act))
        ++now;
      else if (now == number)
        body += event(e, t.spot.cta, end) + "\n";
    }
    if (body.empty()) return;
    line(fmt::format("setp.ne.u32 %q, %id, {}; @%q bra {};", t.spot.cta * block + t.spot.warp * 32 + t.spot.lane, end));
    out_ += body;
    line(end + ":");
  }

  std::string address(int place, int cta) const {
    return fmt::format("[%{}{}]", is_remote(place, cta) ? "c" : "p", place);
  }
  std::string spaced(int place, int cta) const {
    return !is_shared(place) ? ".global" : is_remote(place, cta) ? ".shared::cluster" : ".shared::cta";
  }
  // .weak, or an order and a scope.
  static std::string strength(const Event& e) {
    return std::string(spelling(e.strength)) + (e.strength == Strength::weak ? "" : std::string(spelling(e.reach)));
  }

  std::string read(const Event& e, int cta, const std::string& end) {
    const std::string label = fmt::format("L{}", ++labels_);
    if (space(e.place) == Space::mbarrier && e.only_if)
      return fmt::format("mbarrier.try_wait.parity{}.shared::cta.b64 %q, {}, 0; @{}%q bra {};", strength(e),
                         address(e.place, cta), *e.only_if == 1 ? "!" : "", end);
    if (space(e.place) == Space::mbarrier)
      return fmt::format("{}: mbarrier.try_wait.parity{}.shared::cta.b64 %q, {}, 0; @!%q bra {};", label, strength(e),
                         address(e.place, cta), label);
    const std::string load =
        fmt::format("ld{}{}.u32 %x, {};", strength(e), spaced(e.place, cta), address(e.place, cta));
    if (e.until) return fmt::format("{}: {} setp.ne.u32 %q, %x, {}; @%q bra {};", label, load, *e.until, label);
    if (e.only_if) return fmt::format("{} setp.ne.u32 %q, %x, {}; @%q bra {};", load, *e.only_if, end);
    return load;
  }

  std::string update(const Event& e, int cta) const {
    if (space(e.place) == Space::mbarrier)
      return fmt::format("mbarrier.arrive{}{}.b64 _, {};", strength(e), spaced(e.place, cta), address(e.place, cta));
    return fmt::format("atom{}{}.add.u32 %x, {}, {};", strength(e), spaced(e.place, cta), address(e.place, cta),
                       e.value);
  }

  std::string event(const Event& e, int cta, const std::string& end) {
    const auto at = [&](int place) { return address(place, cta); };
    switch (e.act) {
      case Act::read: return read(e, cta, end);
      case Act::write:
        return fmt::format("st{}{}.u32 {}, {};", strength(e), spaced(e.place, cta), at(e.place), e.value);
      case Act::update: return update(e, cta);
      case Act::fence: return fmt::format("fence{}{};", spelling(e.strength), spelling(e.reach));
      case Act::proxy_fence:
        return e.space == Space::any      ? "fence.proxy.async;"
               : e.space == Space::global ? "fence.proxy.async.global;"
                                          : "fence.proxy.async.shared::cta;";
      case Act::load_bulk:
        return fmt::format(
            "mbarrier.arrive.expect_tx.shared::cta.b64 _, {}, 16;\n"
            "cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes {}, {}, 16, {};",
            at(e.mbarrier), at(e.place), at(e.source), at(e.mbarrier));
      case Act::store_bulk:
        return fmt::format("cp.async.bulk.global.shared::cta.bulk_group {}, {}, 16; cp.async.bulk.commit_group;",
                           at(e.place), at(e.source));
      case Act::stores_done: return "cp.async.bulk.wait_group 0;";
      case Act::stores_read: return "cp.async.bulk.wait_group.read 0;";
      case Act::load_async: return fmt::format("cp.async.ca.shared.global {}, {}, 16;", at(e.place), at(e.source));
      case Act::loads_done: return "cp.async.wait_all;";
      case Act::loads_arrive: return fmt::format("cp.async.mbarrier.arrive.noinc.shared::cta.b64 {};", at(e.mbarrier));
      default: throw std::runtime_error("not an event of one thread");
    }
  }

  const Program& p_;
  std::string out_{};
  int labels_ = 0;
};

}  // namespace

std::string ptx_of(const Program& p) { return ProgramWriter(p).text(); }

launch::Contract launch_of(const Program& p) {
  launch::Contract c;
  c.buffers = {buffer("gx", 4096)};
  launch::Launch l;
  l.entry = "k";
  l.grid = {std::uint32_t(ctas_of(p)), 1, 1};
  if (p.is_one_cluster) l.cluster = l.grid;
  l.block = {block, 1, 1};
  l.params = {pointer("gx")};
  c.launches = {l};
  return c;
}

}  // namespace kiln::test
