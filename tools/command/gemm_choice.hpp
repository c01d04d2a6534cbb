// `gemm`: which kernel of the table computes a product, and with which strategy.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "dsl/entry.hpp"
#include "harness/tune/tune_cache.hpp"
#include "timing/chip.hpp"
#include "timing/estimate.hpp"
#include "tools/command/report/kernel_choice.hpp"

namespace kiln::command {

/// One way to compute a product.
struct GemmChoice {
  const dsl::Entry* row = nullptr;
  dsl::Strategy strategy{};
  launch::Tiling tiling{};
  timing::Estimate estimate{};
};
/// "gemm_f16 --tile 256x256x64 --stages 7".
std::string words(const GemmChoice&);
std::string words(const harness::TunedStrategy&);
/// Whether an option says a part of the shape, and nothing of a strategy.
bool is_extent(std::string_view option);

/// What is asked: `asked` names `gemm`, a type, sizes and what is to stand of a strategy.
struct GemmQuestion {
  KernelChoice asked{};
  isa::Target target{};
  timing::Chip chip{};
};
/// Target and chip follow from each other where one of them is not said. Throws InputError for types, targets, sizes
/// and chips that there are not.
GemmQuestion gemm_question(const KernelChoice& asked);

/// Every legal way, the one that the estimate says is fastest first; of those within 2 % of it, the one that loads the
/// fewest bytes. Throws InputError where there is none.
std::vector<GemmChoice> ranked(const GemmQuestion&);

/// The question with the kernel and its options in the place of `gemm`.
KernelChoice chosen(const GemmQuestion&, const GemmChoice&);
KernelChoice chosen(const GemmQuestion&, const harness::TunedStrategy&);

harness::TuneKey tune_key(const GemmQuestion&);
/// The file of the cache: what was said, $KILN_TUNE_CACHE, or tune.json in the folder of caches. Empty: there is no
/// such folder.
std::string tune_cache_path(const std::string& said);

/// KernelChoice::choose: what the cache has where nothing of a strategy is given, else the first of ranked(). Says on
/// stderr which and why.
void choose_gemm(KernelChoice&);

}  // namespace kiln::command
