// Every kernel of the library, as it stands and with options that make it smaller or one CTA's, and the kernels that
// nvcc and clang have compiled: lowered for each target it gives what the kernel itself gives, or it is refused, as
// the table in docs/lowering.md says. `make lowered` writes the table anew.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>

#include "harness/contract/contract_json.hpp"
#include "tests/unit/lower/lowered.hpp"

namespace lower_library {

using namespace kiln;
using namespace kiln::test;

namespace {

const std::string page = KILN_SOURCE_DIR "/docs/lowering.md", interop = KILN_SOURCE_DIR "/tests/interop/";
constexpr const char *table_begins = "<!-- kernels -->\n", *table_ends = "<!-- end of kernels -->\n";

std::string read(const std::string& path) {
  std::ifstream in(path);
  REQUIRE_MESSAGE(in, path);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

const dsl::SizeOption* option(const dsl::Entry& e, std::string_view name) {
  const auto found = std::find_if(e.sizes.begin(), e.sizes.end(), [&](const auto& s) { return s.name == name; });
  return found == e.sizes.end() ? nullptr : &*found;
}

// The extents that are asked for in every row.
dsl::Sizes extents(const dsl::Entry& e) {
  dsl::Sizes out;
  for (const char* extent : {"m", "n", "k"})
    if (option(e, extent) && e.name != "gemm_grouped") out[extent] = dsl::Size(std::uint64_t{256});
  return out;
}

double number(const launch::Buffer& b, std::size_t i) {
  if (b.dtype != isa::ScalarType::f32) return 0;
  float out = 0;
  std::memcpy(&out, b.bytes.data() + 4 * i, 4);
  return out;
}

// Of a kernel without an expectation: no element is further from its own result than rounding the operands of the next
// product to bf16 can bring it.
void check_close(const launch::Buffer& own, const launch::Buffer& lowered) {
  REQUIRE(own.dtype == isa::ScalarType::f32);
  double largest = 0, apart = 0;
  for (std::size_t i = 0; i < own.elements(); ++i) {
    largest = std::max(largest, std::abs(number(own, i)));
    apart = std::max(apart, std::abs(number(own, i) - number(lowered, i)));
  }
  CHECK(largest > 0);
  CHECK(apart <= largest / 256);
}

// The results of the lowered kernel beside those of the kernel itself.
std::string compared(const Kernel& kernel, const launch::Contract& own, const launch::Contract& lowered) {
  if (!kernel.contract.expectations.empty()) check_right(lowered);
  bool same = true;
  for (const launch::Buffer& b : own.buffers) {
    const launch::Buffer& other = *lowered.find(b.name);
    REQUIRE(b.bytes.size() == other.bytes.size());
    if (b.bytes == other.bytes) continue;
    same = false;
    CAPTURE(b.name);
    CHECK(!isa::is_integer(b.dtype));  // those are exact
    if (kernel.contract.expectations.empty()) check_close(b, other);
  }
  return same ? "the same bits" : "right";
}

// A cell of the table.
std::string outcome(const Kernel& kernel, const launch::Contract& own, isa::Target target) {
  CAPTURE(isa::spelling(target));
  diag::Sink sink;
  const auto low = lowered(kernel, target, sink);
  INFO(diag::render_text(sink));
  if (low) return compared(kernel, own, simulated(*low));
  REQUIRE_FALSE(sink.all().empty());
  for (const diag::Diagnostic& d : sink.all()) CHECK_FALSE(d.where.place.empty());
  const auto is_pair = [](const diag::Diagnostic& d) { return d.slug == "lower-pair"; };
  if (std::any_of(sink.all().begin(), sink.all().end(), is_pair)) return "`lower-pair`";
  const diag::Diagnostic& first = sink.all().front();
  const std::size_t got = first.message.find("; got ");
  std::string what = got == std::string::npos ? "" : first.message.substr(got + 6);
  if (what.find(" of 101376 bytes") != std::string::npos) what = what.substr(0, what.find(':'));
  what = what.substr(0, what.find(" for " + isa::spelling(target)));
  const auto is_bulk = [](const auto& d) { return d.message.find("cp.async.bulk") != std::string::npos; };
  if (std::any_of(sink.all().begin(), sink.all().end(), is_bulk)) what = "bulk copies";
  return "`" + first.slug + "`" + (what.empty() ? "" : ": " + what);
}

std::string row(const std::string& name, const Kernel& kernel) {
  CAPTURE(name);
  const launch::Contract own = simulated(kernel);
  std::string out = "| `" + name + "`";
  for (const isa::Target target : {isa::sm_90a, isa::sm_120a, isa::Target{89}})
    out += " | " + outcome(kernel, own, target);
  return out + " |\n";
}

// A kernel as it stands, and with each strategy for one CTA.
std::string rows(const dsl::Entry& e) {
  std::string out = row(std::string(e.name), library_kernel(std::string(e.name), extents(e)));
  for (const dsl::Strategy& strategy : strategies_of_one_cta(e)) {
    dsl::Sizes sizes = extents(e);
    dsl::Strategy told;
    for (const auto& [name, value] : strategy) {
      sizes[std::string(name)] = value;
      if (name == "tile" || name == "stages" || name == "cta-group") told.emplace_back(name, value);
    }
    out += row(std::string(e.name) + " " + dsl::text(told), library_kernel(std::string(e.name), sizes));
  }
  return out;
}

std::string interop_rows() {
  constexpr std::pair<const char*, const char*> kernels[] = {
      {"gemm_bf16_pipelined", "gemm_bf16_pipelined"},
      {"gemm_bf16_cluster", "gemm_bf16_cluster"},
      {"gemm_block_scaled", "gemm_mxf8"},
      {"gemm_block_scaled", "gemm_nvf4"},
      {"attention_chain", "attention_chain"},
  };
  std::string out;
  for (const auto& [source, contract] : kernels)
    for (const std::string compiler : {"", "clang_"}) {
      Kernel k =
          parsed(read(interop + compiler + source + ".ptx"), harness::read_contract_file(interop + contract + ".json"));
      harness::fill(k.contract);
      out += row("tests/interop/" + compiler + source + ".ptx" + (source == std::string(contract) ? "" : ", ") +
                     (source == std::string(contract) ? "" : contract),
                 k);
    }
  for (const std::string kernel : {"gemm_bf16_cp_async", "gemm_e4m3_cp_async", "gemm_s8_cp_async"}) {
    Kernel k = parsed(read(interop + "ada/gemm_cp_async.ptx"),
                      harness::read_contract_file(interop + "ada/" + kernel + ".json"));
    harness::fill(k.contract);
    out += row("tests/interop/ada/gemm_cp_async.ptx, " + kernel, k);
  }
  return out;
}

std::string table() {
  std::string out = "| kernel | sm_90a | sm_120a | sm_89 |\n|---|---|---|---|\n";
  for (const dsl::Entry& entry : dsl::kernel_table()) out += rows(entry);
  return out + interop_rows();
}

}  // namespace

TEST_CASE("S3-59, S3-60: every kernel of the library is lowered and right, or refused for a reason that is known") {
  const std::string text = read(page);
  const std::size_t begin = text.find(table_begins), end = text.find(table_ends);
  REQUIRE(begin != std::string::npos);
  REQUIRE(end != std::string::npos);
  const std::size_t first = begin + std::strlen(table_begins);
  const std::string found = table();
  if (std::getenv("KILN_LOWERED")) {
    std::ofstream(page) << text.substr(0, first) + found + text.substr(end);
    return;
  }
  std::istringstream now(found), then(text.substr(first, end - first));
  for (std::string is, was; std::getline(now, is), std::getline(then, was), now || then; is.clear(), was.clear())
    CHECK_MESSAGE(is == was, "docs/lowering.md, which `make lowered` writes anew, has another row");
}

}  // namespace lower_library
