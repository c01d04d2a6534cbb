// Which findings are about an instruction as it is written, so that ptxas can be asked the same question. The rest is
// about what a kernel does.
#pragma once

#include <string_view>

namespace kiln::test {

/// `slug` is empty for a syntax error.
inline bool is_about_form(std::string_view slug) {
  for (std::string_view prefix :
       {"form-", "target-", "ptxas-version", "tcgen05-ld-re", "tcgen05-alloc-columns", "tcgen05-block-scale",
        "tcgen05-scale-vector", "tcgen05-scale-input-d", "tcgen05-ashift", "tcgen05-collector-buffer", "tcgen05-ws-",
        "tcgen05-output-lanes", "tcgen05-cp-shape", "undeclared-name", "unmodelled", "bulk-size", "tma-rank",
        "mbarrier-count"})
    if (slug.starts_with(prefix)) return true;
  return slug.empty();
}

}  // namespace kiln::test
