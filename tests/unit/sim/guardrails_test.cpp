// ptxas can compile checks of tensor memory into a cubin: the guardrails. tests/guardrails holds, for each, a kernel
// that its trap would stop and one that comes close; here the simulator must find the first and pass the second. The
// table in tests/guardrails/README.md is what these files say.
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "harness/host/files.hpp"
#include "harness/host/process.hpp"
#include "harness/ptxas/ptxas.hpp"
#include "tests/skip.hpp"
#include "tests/unit/sim/run.hpp"

namespace sim_guardrails {

using namespace kiln;
using namespace kiln::test;

namespace {

const std::filesystem::path folder = std::filesystem::path(KILN_SOURCE_DIR) / "tests/guardrails";
constexpr std::uint32_t threads = 128;

std::string content(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  REQUIRE_MESSAGE(in, path.string());
  return std::string(std::istreambuf_iterator<char>(in), {});
}

// One kernel and what its comments say of it.
struct Kernel {
  std::filesystem::path path{};
  std::string text{}, about{}, out{};
  std::string slug{};  // of the line marked `// <- slug`
  std::uint32_t line = 0;
};

Kernel kernel_of(const std::string& guardrail, const std::string& kind) {
  Kernel k;
  k.path = folder / (guardrail + "." + kind + ".ptx");
  k.text = content(k.path);
  std::istringstream in(k.text);
  const std::string mark = "// <- ", out = "// out: ";
  std::uint32_t number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    if (number == 1) k.about = line.substr(3);
    if (line.starts_with(out)) k.out = line.substr(out.size());
    if (const auto at = line.find(mark); at != std::string::npos)
      k.slug = line.substr(at + mark.size()), k.line = number;
  }
  return k;
}

std::vector<std::string> guardrails() {
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (const std::string name = entry.path().filename(); name.ends_with(".ptx"))
      names.insert(name.substr(0, name.find('.')));
  return {names.begin(), names.end()};
}

Run run_guardrail(const Kernel& k) {
  launch::Contract c;
  c.buffers.push_back(buffer("out", threads * 4));
  launch::Launch l;
  l.block = {threads, 1, 1};
  l.params = {pointer("out")};
  c.launches.push_back(l);
  return run(k.text, c);
}

std::uint32_t line_of(const diag::Diagnostic& d) {
  return d.where.source ? d.where.source->position(d.where.place.begin).line : 0;
}

// The traps whose names a program holds; pieces of names, which ptxas has too, do not end with a zero.
std::set<std::string> traps_in(const std::string& bytes) {
  const std::string prefix = "tcgen05_guardrail_trap_", letters = "abcdefghijklmnopqrstuvwxyz_";
  std::set<std::string> names;
  for (auto at = bytes.find(prefix); at != std::string::npos; at = bytes.find(prefix, at + 1)) {
    const std::size_t first = at + prefix.size(), end = bytes.find_first_not_of(letters, first);
    if (end != std::string::npos && bytes[end] == 0) names.insert(bytes.substr(first, end - first));
  }
  return names;
}

}  // namespace

TEST_CASE("what a guardrail of ptxas would trap on is found, in its line and by its rule") {
  for (const std::string& guardrail : guardrails()) {
    const Kernel k = kernel_of(guardrail, "trigger");
    CAPTURE(guardrail);
    REQUIRE(k.line != 0);
    const Run r = run_guardrail(k);
    CAPTURE(r.findings());
    REQUIRE(r.sink.all().size() == 1);
    CHECK(r.sink.all()[0].slug == k.slug);
    CHECK(line_of(r.sink.all()[0]) == k.line);
  }
}

TEST_CASE("what comes close to a guardrail runs without a finding, and right") {
  for (const std::string& guardrail : guardrails()) {
    const Kernel k = kernel_of(guardrail, "near_miss");
    CAPTURE(guardrail);
    const Run r = run_guardrail(k);
    CHECK_MESSAGE(r.result.outcome == sim::Outcome::finished, r.findings());
    CHECK_MESSAGE(r.sink.all().empty(), r.findings());
    const auto out = r.read<std::uint32_t>("out");
    REQUIRE(!k.out.empty());
    for (std::uint32_t t = 0; t < threads; ++t)
      CHECK(out[t] == (k.out == "tid + 1" ? t + 1 : std::uint32_t(std::stoul(k.out, nullptr, 16))));
  }
}

TEST_CASE("the table of the guardrails says what their kernels say") {
  std::string table = "| guardrail | rule | trigger | near miss |\n|---|---|---|---|\n";
  for (const std::string& g : guardrails()) {
    const Kernel trigger = kernel_of(g, "trigger"), near_miss = kernel_of(g, "near_miss");
    table += "| `" + g + "` | [" + trigger.slug + "](../../docs/rules/" + trigger.slug + ".md) | [" + trigger.about +
             "](" + trigger.path.filename().string() + ") | [" + near_miss.about + "](" +
             near_miss.path.filename().string() + ") |\n";
  }
  const std::string readme = content(folder / "README.md");
  CHECK_MESSAGE(readme.find(table) != std::string::npos, "the table must read:\n" << table);
}

TEST_CASE("every guardrail of ptxas has its kernels, and ptxas compiles its check into them") {
  const harness::Ptxas ptxas = harness::find_ptxas();
  if (!ptxas.found()) return skip("ptxas: " + ptxas.missing);
  const std::vector<std::string> known = guardrails();
  // What stands in the path may be a script that starts ptxas, and says nothing of its guardrails then.
  const std::string program = content(ptxas.path);
  if (ptxas.version.starts_with("13.0") && program.starts_with("\177ELF"))
    CHECK(traps_in(program) == std::set<std::string>(known.begin(), known.end()));
  std::set<std::string> compiled;
  const harness::TemporaryFolder folder_of_cubin;
  const std::string cubin = folder_of_cubin.file("guardrail.cubin");
  for (const std::string& guardrail : known)
    for (const char* kind : {"trigger", "near_miss"}) {
      const Kernel k = kernel_of(guardrail, kind);
      CAPTURE(k.path.string());
      const std::string arch = k.text.find("sm_100f") != std::string::npos ? "sm_100f" : "sm_100a";
      const harness::ProcessResult made = harness::run_process(
          {ptxas.path, "-arch=" + arch, "-g-tmem-access-check", k.path.string(), "-o", cubin}, std::chrono::minutes(1));
      REQUIRE_MESSAGE(made.exit_code == 0, made.err);
      const std::set<std::string> traps = traps_in(content(cubin));
      CHECK(traps.contains(guardrail));
      compiled.insert(traps.begin(), traps.end());
    }
  CHECK(compiled == std::set<std::string>(known.begin(), known.end()));
}

}  // namespace sim_guardrails
