#include "tests/litmus/litmus.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>

namespace kiln::test {
namespace {

std::vector<std::string> words(const std::string& line) {
  std::istringstream in(line);
  std::vector<std::string> out;
  for (std::string w; in >> w;) out.push_back(w);
  return out;
}

std::string rest(const std::string& line, std::size_t n) {
  std::istringstream in(line);
  std::string w, tail;
  while (n--) in >> w;
  std::getline(in >> std::ws, tail);
  return tail;
}

Place place_of(const std::string& word) {
  for (const Place p : {Place::same, Place::lane, Place::warp, Place::cluster, Place::grid})
    if (word == spelling(p)) return p;
  throw std::runtime_error("no place `" + word + "`");
}

LitmusStep step_of(const std::string& line) {
  LitmusStep s;
  const auto w = words(line);
  s.agent = w[0][0];
  s.whole_warp = w[0].ends_with("*");
  const bool named = w.at(1)[0] == '-';
  if (named) s.name = w[1].substr(1);
  s.text = rest(line, named ? 2 : 1);
  if (const std::size_t bang = s.text.find(" ! "); bang != s.text.npos) {
    s.cites = s.text.substr(bang + 3);
    s.text.resize(bang);
  }
  if (named == s.cites.empty()) throw std::runtime_error("a step with a name needs ! and what decides it");
  return s;
}

void read_line(LitmusPattern& p, const std::string& line) {
  const auto w = words(line);
  if (w.empty() || w[0][0] == '#') return;
  if (w[0] == "about")
    p.about = rest(line, 1);
  else if (w[0] == "places")
    for (std::size_t k = 1; k < w.size(); ++k) p.places.push_back(place_of(w[k]));
  else if (w[0] == "shared")
    p.objects.push_back({w.at(1), std::stoi(w.at(2)), 0, w.at(3)[0], w.size() > 4});
  else if (w[0] == "barrier")
    p.objects.push_back({w.at(1), 8, std::stoi(w.at(2)), w.at(3)[0], false});
  else if (w[0] == "tmem")
    p.tmem = true;
  else if (w[0] == "wgmma")
    p.wgmma = true;
  else if (w[0] == "bare")
    p.bare = true;
  else if (w[0] == "prior" && (w.at(1) == "writes" || w[1] == "reads"))
    p.prior = w[1];
  else if (w[0] == "A" || w[0] == "B" || w[0] == "A*" || w[0] == "B*" || w[0] == "all")
    p.steps.push_back(step_of(line));
  else
    throw std::runtime_error("no line begins with `" + w[0] + "`");
}

// Writes one kernel.
class Writer {
 public:
  Writer(const LitmusPattern& p, Place place, const std::string& removed) : p_(p), place_(place), removed_(removed) {}

  std::string text() {
    head();
    objects();
    if (p_.tmem) tensor_memory();
    if (!p_.bare) meet();
    if (p_.tmem) {
      line("tcgen05.fence::after_thread_sync; ld.shared.b32 %tm, [slot];");
      line("shl.b32 %t10, %t1, 21; add.u32 %t10, %t10, %tm;");
    }
    agents();
    meet();
    if (p_.tmem) {
      line("@!%first bra FREED; tcgen05.dealloc.cta_group::1.sync.aligned.b32 %tm, 64;");
      line("FREED:");
    }
    line("ret; }");
    return out_;
  }

 private:
  void line(const std::string& s) { out_ += s + "\n"; }
  bool pair() const { return place_ == Place::cluster; }
  bool apart() const { return place_ == Place::cluster || place_ == Place::grid; }  // two CTAs

  void head() {
    line(fmt::format(".version 8.7\n.target {}\n.address_size 64", p_.wgmma ? "sm_90a" : "sm_100a"));
    line(std::string(".entry k(.param .u64 g)") + (pair() ? " .reqnctapercluster 2" : "") + " {");
    line(
        ".reg .pred %A, %B, %wA, %wB, %q, %first; .reg .b32 %t<32>; .reg .b64 %d<16>; .reg .b32 %tm, %rank; .reg .b64 "
        "%da, %db, %gx; .reg .f32 %f<4>;");
    line(".shared .align 4 .b32 slot; .shared .align 128 .b8 opa[4096]; .shared .align 128 .b8 opb[512];");
    for (const LitmusObject& o : p_.objects) {
      line(fmt::format(".shared .align 128 .b8 {}[{}]; .reg .b32 %A_{}, %B_{};", o.name, o.bytes, o.name, o.name));
    }
    line("ld.param.u64 %gx, [g]; cvta.to.global.u64 %gx, %gx; mov.u32 %rank, " +
         std::string(pair() ? "%cluster_ctarank;" : "%ctaid.x;"));
    line("mov.u32 %t0, %tid.x; shr.u32 %t1, %t0, 5; and.b32 %t2, %t0, 31; setp.eq.u32 %first, %t1, 0;");
    const int warp = place_ == Place::warp ? 1 : 0, lane = place_ == Place::lane ? 1 : 0, rank = apart() ? 1 : 0;
    line(fmt::format("mad.lo.u32 %t3, %rank, 64, %t1; setp.eq.u32 %wA, %t3, 0; setp.eq.u32 %wB, %t3, {};",
                     64 * rank + warp));
    line(fmt::format("setp.eq.and.u32 %A, %t2, 0, %wA; setp.eq.and.u32 %B, %t2, {}, %wB;", lane));
  }

  // Addresses, and everything that is written and published before the agents begin.
  void objects() {
    for (const LitmusObject& o : p_.objects) {
      line(fmt::format("mov.u32 %t4, {};", o.name));
      for (const char agent : {'A', 'B'}) {
        if (pair())
          line(fmt::format("mapa.shared::cluster.u32 %{}_{}, %t4, {};", agent, o.name, int(o.owner == 'B')));
        else
          line(fmt::format("mov.u32 %{}_{}, %t4;", agent, o.name));
      }
    }
    line("setp.ne.u32 %q, %t0, 0; @%q bra READY;");
    for (const LitmusObject& o : p_.objects) {
      if (o.count) line(fmt::format("mbarrier.init.shared::cta.b64 [{}], {};", o.name, o.count));
      if (o.filled) fill(o.name, o.bytes);
    }
    if (p_.tmem || p_.wgmma) {
      fill("opa", 4096);
      fill("opb", 512);
      describe("opa", "%da");
      describe("opb", "%db");
    }
    line("fence.mbarrier_init.release.cluster; fence.proxy.async;");
    line("READY:");
  }

  // ptxas wants the address in a register.
  void fill(const std::string& what, int bytes) {
    line(fmt::format("mov.u32 %t6, {}; st.bulk.weak.shared::cta [%t6], {}, 0;", what, bytes));
  }

  // A descriptor: K-major, no swizzle, 128 bytes along K and 256 along M or N.
  void describe(const char* what, const char* to) {
    out_.insert(out_.find("setp.ne.u32 %q, %t0, 0;"),
                fmt::format("mov.u32 %t5, {}; shr.u32 %t5, %t5, 4; cvt.u64.u32 {}, %t5; or.b64 {}, {}, {};\n", what, to,
                            to, to, (p_.wgmma ? 0 : 1ull << 46) | (16ull << 32) | (8ull << 16)));
  }

  void tensor_memory() {
    line("@!%first bra ALLOCATED; tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot], 64;");
    line("ALLOCATED: tcgen05.fence::before_thread_sync;");
  }

  void meet() { line(pair() ? "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" : "bar.sync 0;"); }

  // The steps of A, then those of B, up to the next step of all threads.
  void agents() {
    auto from = p_.steps.begin();
    while (from != p_.steps.end()) {
      const auto to = std::find_if(from, p_.steps.end(), [](const LitmusStep& s) { return s.agent == 'a'; });
      for (const char agent : {'A', 'B'})
        for (auto s = from; s != to; ++s)
          if (s->agent == agent) step(*s, agent);
      if (to == p_.steps.end()) return;
      if (to->name.empty() || to->name != removed_) line(expand(to->text, 'A'));
      from = to + 1;
    }
  }

  void step(const LitmusStep& s, char agent) {
    if (!s.name.empty() && s.name == removed_) return;
    const std::string label = fmt::format("S{}", ++labels_);
    line(fmt::format("@!%{}{} bra {};", s.whole_warp ? "w" : "", agent, label));
    line(expand(s.text, agent));
    line(label + ":");
  }

  const LitmusObject& object(const std::string& name) const {
    for (const LitmusObject& o : p_.objects)
      if (o.name == name) return o;
    throw std::runtime_error(p_.name + ": no object `" + name + "`");
  }
  const char* space(const std::string& name, char agent) const {
    return pair() && object(name).owner != agent ? ".shared::cluster" : ".shared::cta";
  }

  std::string expand(const std::string& text, char agent) {
    std::string out;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t semicolon = std::min(text.find(';', at), text.size());
      out += instruction(text.substr(at, semicolon - at), agent) + "; ";
      at = semicolon + 1;
    }
    return out;
  }

  std::string instruction(const std::string& text, char agent) {
    const auto w = words(text);
    if (w.empty()) return "";
    if (w[0] == "WAIT") {
      const std::string label = fmt::format("W{}", ++labels_);
      return fmt::format("{}: mbarrier.try_wait.parity.shared::cta.b64 %q, [%{}_{}], {}; @!%q bra {}", label, agent,
                         w.at(1), w.at(2), label);
    }
    if (w[0] == "ARRIVE") {
      const bool remote = pair() && object(w.at(1)).owner != agent;
      return fmt::format("mbarrier.arrive{}{}.b64 _, [%{}_{}]", remote ? ".release.cluster" : "", space(w[1], agent),
                         agent, w[1]);
    }
    if (w[0] == "MMA" && p_.wgmma)
      return "wgmma.fence.sync.aligned; wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0, %f1, %f2, %f3}, %da, "
             "%db, 0, 1, 1, 0, 0; wgmma.commit_group.sync.aligned";
    if (w[0] == "MMA") return "tcgen05.mma.cta_group::1.kind::f16 [%tm], %da, %db, 0x8040490, 0";
    return placeholders(text, agent);
  }

  std::string placeholders(std::string s, char agent) const {
    for (std::size_t open; (open = s.find('{')) != s.npos;) {
      const std::size_t close = s.find('}', open);
      std::string name = s.substr(open + 1, close - open - 1), to;
      if (name == "gx")
        to = "%gx";
      else if (name[0] == '.')
        to = space(name.substr(1), agent);
      else if (name[0] == '%')
        to = "\x01" + name + "\x02";  // a register vector, braces and all
      else
        to = fmt::format("%{}_{}", agent, object(name).name);
      s.replace(open, close - open + 1, to);
    }
    for (char& c : s) c = c == '\x01' ? '{' : c == '\x02' ? '}' : c;
    return s;
  }

  const LitmusPattern& p_;
  Place place_;
  const std::string& removed_;
  std::string out_;
  int labels_ = 0;
};

}  // namespace

std::string_view spelling(Place p) {
  switch (p) {
    case Place::same: return "same";
    case Place::lane: return "lane";
    case Place::warp: return "warp";
    case Place::cluster: return "cluster";
    case Place::grid: return "grid";
  }
  return "";
}

LitmusPattern read_pattern(const std::string& path) {
  std::ifstream in(path);
  if (!in) throw std::runtime_error("cannot read " + path);
  return read_pattern(in, path);
}

LitmusPattern read_pattern(std::istream& in, const std::string& path) {
  LitmusPattern p;
  p.name = std::filesystem::path(path).stem();
  int number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    try {
      read_line(p, line);
    } catch (const std::exception& e) {
      throw std::runtime_error(fmt::format("{}:{}: {}", path, number, e.what()));
    }
  }
  return p;
}

std::string kernel_of(const LitmusPattern& p, Place place, const std::string& removed) {
  return Writer(p, place, removed).text();
}

}  // namespace kiln::test
