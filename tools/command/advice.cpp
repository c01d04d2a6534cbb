#include "tools/command/advice.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "harness/ptxas/ptxas.hpp"

namespace kiln::command {
namespace {

constexpr double full_enough = 0.9;  // of the last wave's places
constexpr double much = 0.25;        // of a role's cycles

// What ptxas makes of the kernel's registers.
void advise_on_registers(const diag::SourcePtr& ptx, isa::Target target, std::vector<std::string>& out) {
  const harness::Ptxas ptxas = harness::find_ptxas();
  if (!ptxas.found()) {
    out.push_back("registers: not known, " + ptxas.missing);
    return;
  }
  diag::Sink sink;
  const harness::Assembly a = harness::assemble(ptxas, ptx, target, sink);
  for (const diag::Diagnostic& d : sink.all())
    if (d.message.find("setmaxnreg") != std::string::npos)
      out.push_back(fmt::format(
          "registers: ptxas leaves setmaxnreg out ({}): every role has as many registers as the kernel begins with; "
          "say how many that is (.maxnreg, or .maxntid with .minnctapersm)",
          d.message));
  for (const harness::EntryResources& e : a.entries)
    if (e.spills())
      out.push_back(
          fmt::format("registers: {} has {} a thread and spills {} bytes by stores, {} by loads: give the role "
                      "that needs them more (setmaxnreg), or all threads (.maxnreg)",
                      e.name, e.registers, e.spill_store_bytes, e.spill_load_bytes));
}

void advise_on_waves(const timing::LaunchTime& l, std::vector<std::string>& out) {
  const timing::ClusterTime& c = l.cluster;
  if (c.takes_clusters) return;
  // Clusters of a persistent kernel: the longest list of tiles decides.
  const double mean = l.grid.busy / double(c.clusters);
  if (l.waves == 1 && c.clusters == c.resident && mean < full_enough * l.grid.cycles)
    out.push_back(fmt::format(
        "tail: clusters take {:.0f} cycles on average and the longest {:.0f}, so {:.0f} % of the chip has nothing "
        "to do: smaller tiles, a K that is split for the last ones, or clusters that ask for work "
        "(clusterlaunchcontrol)",
        mean, l.grid.cycles, 100 * (1 - mean / l.grid.cycles)));
  const std::uint64_t last = c.clusters % c.resident;
  const double used = double(c.clusters) / double(l.waves * c.resident);
  if (last == 0 || double(last) >= full_enough * double(c.resident)) return;
  if (l.waves == 1)
    out.push_back(
        fmt::format("waves: {} of {} places for clusters are used: smaller tiles, or a K that is split, "
                    "would use the others",
                    last, c.resident));
  else
    out.push_back(
        fmt::format("waves: the last of {} has {} of {} clusters, so {:.0f} % of the places are used: tiles of "
                    "another size, or a persistent kernel",
                    l.waves, last, c.resident, 100 * used));
}

// Who waits for copies has too few of them on their way, unless what brings them is busy.
void advise_on_waits(const timing::LaunchTime& l, std::vector<std::string>& out) {
  if (!l.binds.starts_with("latency")) return;
  for (const timing::RoleTime& r : l.cluster.roles)
    for (const auto& [what, cycles] : r.reasons())
      if (what.ends_with("(copies)") && cycles >= much * (r.issued + r.waited()))
        out.push_back(
            fmt::format("stages: {} waits {:.0f} % of its time for {}, and nothing is busy: more stages, or "
                        "larger ones, hide the latency (--what-if stages=N)",
                        r.name, 100 * cycles / (r.issued + r.waited()), what));
}

}  // namespace

std::vector<std::string> advice_on(const diag::SourcePtr& ptx, isa::Target target, const timing::Prediction& p) {
  std::vector<std::string> out;
  advise_on_registers(ptx, target, out);
  for (const timing::LaunchTime& l : p.launches) {
    advise_on_waves(l, out);
    advise_on_waits(l, out);
  }
  return out;
}

}  // namespace kiln::command
