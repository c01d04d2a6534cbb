#include <array>
#include <unordered_map>

#include "ptx/ir/code.hpp"

namespace kiln::ir {
namespace {

// In the order of the enumerators. Families (%envreg<32>, %pm<8>, %reserved_smem_...) stand under their common prefix.
constexpr std::array<std::string_view, std::size_t(Special::warp_size) + 1> names{"",
                                                                                  "%tid.x",
                                                                                  "%tid.y",
                                                                                  "%tid.z",
                                                                                  "%ntid.x",
                                                                                  "%ntid.y",
                                                                                  "%ntid.z",
                                                                                  "%laneid",
                                                                                  "%warpid",
                                                                                  "%nwarpid",
                                                                                  "%ctaid.x",
                                                                                  "%ctaid.y",
                                                                                  "%ctaid.z",
                                                                                  "%nctaid.x",
                                                                                  "%nctaid.y",
                                                                                  "%nctaid.z",
                                                                                  "%smid",
                                                                                  "%nsmid",
                                                                                  "%gridid",
                                                                                  "%is_explicit_cluster",
                                                                                  "%clusterid.x",
                                                                                  "%clusterid.y",
                                                                                  "%clusterid.z",
                                                                                  "%nclusterid.x",
                                                                                  "%nclusterid.y",
                                                                                  "%nclusterid.z",
                                                                                  "%cluster_ctaid.x",
                                                                                  "%cluster_ctaid.y",
                                                                                  "%cluster_ctaid.z",
                                                                                  "%cluster_nctaid.x",
                                                                                  "%cluster_nctaid.y",
                                                                                  "%cluster_nctaid.z",
                                                                                  "%cluster_ctarank",
                                                                                  "%cluster_nctarank",
                                                                                  "%lanemask_eq",
                                                                                  "%lanemask_le",
                                                                                  "%lanemask_lt",
                                                                                  "%lanemask_ge",
                                                                                  "%lanemask_gt",
                                                                                  "%clock",
                                                                                  "%clock_hi",
                                                                                  "%clock64",
                                                                                  "%globaltimer",
                                                                                  "%globaltimer_lo",
                                                                                  "%globaltimer_hi",
                                                                                  "%total_smem_size",
                                                                                  "%aggr_smem_size",
                                                                                  "%dynamic_smem_size",
                                                                                  "%current_graph_exec",
                                                                                  "%envreg",
                                                                                  "%pm",
                                                                                  "%reserved_smem_offset",
                                                                                  "WARP_SZ"};

const std::unordered_map<std::string_view, Special>& by_name() {
  static const auto map = [] {
    std::unordered_map<std::string_view, Special> m;
    for (std::size_t i = 1; i < names.size(); ++i)
      if (Special(i) != Special::envreg && Special(i) != Special::pm && Special(i) != Special::reserved_smem)
        m.emplace(names[i], Special(i));
    return m;
  }();
  return map;
}

}  // namespace

Special special_register(std::string_view name) {
  if (!name.starts_with('%') && name != spelling(Special::warp_size)) return Special::none;
  if (const auto found = by_name().find(name); found != by_name().end()) return found->second;
  for (Special family : {Special::envreg, Special::pm, Special::reserved_smem})
    if (name.starts_with(spelling(family)) && name.size() > spelling(family).size()) return family;
  return Special::none;
}

std::string_view spelling(Special s) { return names[std::size_t(s)]; }

}  // namespace kiln::ir
