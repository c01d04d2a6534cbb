// Every kernel of the library, as it stands and, where it can be, for one CTA: lowered for both targets it gives the
// right result, or it is refused for the reason that is written here.
#include <algorithm>

#include "tests/unit/lower/lowered.hpp"

using namespace kiln;
using namespace kiln::test;

namespace {

struct Refusal {
  const char* kernel;
  const char* got;  // of the first finding; its slug follows
  const char* slug = "lower-unsupported";
};

// For any target. Kernels whose standard strategy is a pair of CTAs are refused as pairs; these, when one CTA works
// alone.
constexpr Refusal refused[] = {
    {"gemm_mxf8", "tcgen05.cp"},      {"gemm_mxf8_bias_silu", "tcgen05.cp"},
    {"gemm_mxf6_mxf4", "tcgen05.cp"}, {"gemm_mxf4", "tcgen05.cp"},
    {"gemm_nvf4", "tcgen05.cp"},      {"gemm_nvf4_axpby", "tcgen05.cp"},
    {"gemm_mxf4nvf4", "tcgen05.cp"},  {"gemm_sp_bf16", "tcgen05.cp"},
    {"gemm_sp_tf32", "tcgen05.cp"},   {"gemm_sp_e4m3", "tcgen05.cp"},
    {"gemm_sp_nvf4", "tcgen05.cp"},   {"conv1d_ws", "an MMA with a mask of columns"},
    {"gemm_e3m2_e2m3", "an operand of e3m2"},
};
// What fits 99 KiB.
constexpr const char* small[] = {"gemm_bf16_basic", "copy_tma"};

bool has_option(const dsl::Entry& e, std::string_view name) {
  return std::any_of(e.sizes.begin(), e.sizes.end(), [&](const dsl::SizeOption& s) { return s.name == name; });
}

bool is_pair(const Kernel& k) { return k.text->text().find("cta_group::2") != std::string_view::npos; }

// What the kernel must be refused for; nothing when it must run.
std::optional<Refusal> expected(const std::string& name, const Kernel& kernel, isa::Target target) {
  if (is_pair(kernel)) return Refusal{"", "", "lower-pair"};
  for (const Refusal& r : refused)
    if (name == r.kernel) return r;
  if (target == isa::sm_120a && std::find(std::begin(small), std::end(small), name) == std::end(small))
    return Refusal{"", "of 101376 bytes", "lower-shared-memory"};
  return std::nullopt;
}

void check(const std::string& name, const Kernel& kernel, isa::Target target) {
  CAPTURE(name);
  CAPTURE(isa::spelling(target));
  diag::Sink sink;
  const auto low = lowered(kernel, target, sink);
  INFO(diag::render_text(sink));
  const auto refusal = expected(name, kernel, target);
  CHECK(low.has_value() == !refusal.has_value());
  if (low) check_right(simulated(*low));
  if (!refusal || low) return;
  REQUIRE_FALSE(sink.all().empty());
  const bool named = std::any_of(sink.all().begin(), sink.all().end(), [&](const diag::Diagnostic& d) {
    return d.slug == refusal->slug && d.message.find(refusal->got) != std::string::npos && !d.where.place.empty();
  });
  CHECK(named);
}

}  // namespace

TEST_CASE("S3-59, S3-60: every kernel of the library is lowered and right, or refused for a reason that is known") {
  for (const dsl::Entry& entry : dsl::kernel_table()) {
    const std::string name(entry.name);
    dsl::Sizes sizes;
    for (const char* extent : {"m", "n", "k"})
      if (has_option(entry, extent) && name != "gemm_grouped") sizes[extent] = dsl::Size(std::uint64_t{256});
    std::vector<dsl::Sizes> variants{sizes};
    if (has_option(entry, "cta-group")) {
      variants.push_back(sizes);
      variants.back()["cta-group"] = dsl::Size(std::uint64_t{1});
    }
    for (const dsl::Sizes& v : variants) {
      const Kernel kernel = library_kernel(name, v);
      for (const isa::Target target : {isa::sm_90a, isa::sm_120a}) check(name, kernel, target);
    }
  }
}
