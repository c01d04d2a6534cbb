// The examples of the DSL's forms, as a command.
//
//   forms_examples NAME [TARGET]   the PTX of an example, verified
//   forms_examples --list          every name with its targets
//   forms_examples --assemble      assembles every example for each of its targets
//
// What is newer than the ptxas that is found is assembled by $KILN_NEWEST_PTXAS.
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>

#include "emit/emit.hpp"
#include "harness/ptxas/ptxas.hpp"
#include "ptx/diag/error.hpp"
#include "ptx/diag/render.hpp"
#include "tests/forms/examples.hpp"
#include "tests/skip.hpp"
#include "verifier/verify.hpp"

namespace kiln::forms {
namespace {

std::vector<Example> all() {
  std::vector<Example> out;
  for (auto family : {mma(), tmem_moves(), tma(), bulk(), mbarrier(), cluster(), tensormap(), atomics(), operations()})
    out.insert(out.end(), family.begin(), family.end());
  return out;
}

void complain(const diag::Sink& sink) { std::fputs(diag::render_text(sink).c_str(), stderr); }

std::optional<std::string> text_of(const Example& e, Target target) {
  diag::Sink sink;
  const auto verified = verifier::verify(e.build(e.name, target).module, sink);
  complain(sink);
  if (!verified) return std::nullopt;
  return emit::emit(*verified);
}

int print(std::string_view name, std::string_view target) {
  for (const Example& e : all()) {
    if (e.name != name) continue;
    const auto text = text_of(e, target.empty() ? e.targets[0] : isa::parse_target(target).value_or(Target{}));
    if (text) std::fputs(text->c_str(), stdout);
    return text ? 0 : 1;
  }
  std::fprintf(stderr, "no example is named '%s'\n", std::string(name).c_str());
  return 2;
}

int list() {
  for (const Example& e : all()) {
    std::printf("%s", std::string(e.name).c_str());
    for (Target t : e.targets) std::printf(" %s", isa::spelling(t).c_str());
    std::printf("\n");
  }
  return 0;
}

bool assembles(const harness::Ptxas& ptxas, const Example& e, Target target) {
  const auto text = text_of(e, target);
  if (!text) return false;
  diag::Sink sink;
  const auto source = std::make_shared<diag::Source>(std::string(e.name) + ".ptx", *text);
  const harness::Assembly a = harness::assemble(ptxas, source, target, sink);
  const bool ok = a.status == harness::Assembly::Status::assembled;
  std::printf("%s %s: %s\n", std::string(e.name).c_str(), isa::spelling(target).c_str(), ok ? "assembled" : "refused");
  if (!ok) complain(sink);
  return ok;
}

// ptxas of CUDA 13.N takes PTX up to 9.N.
bool takes_version_of(const harness::Ptxas& ptxas, const Example& e, Target target) {
  const isa::PtxVersion wanted = e.build(e.name, target).module.version;
  const int minor = std::atoi(ptxas.version.c_str() + ptxas.version.find('.') + 1);
  const bool takes = wanted <= isa::PtxVersion{9, minor} || !ptxas.version.starts_with("13.");
  if (!takes)
    std::printf("%s %s: newer than ptxas %s\n", std::string(e.name).c_str(), isa::spelling(target).c_str(),
                ptxas.version.c_str());
  return takes;
}

int assemble_all() {
  const harness::Ptxas ptxas = harness::find_ptxas();
  if (!ptxas.found()) return test::skip(ptxas.missing), 0;
  const char* path = std::getenv("KILN_NEWEST_PTXAS");
  const harness::Ptxas newest = path ? harness::inspect_ptxas(path) : ptxas;
  if (!newest.found()) return std::fprintf(stderr, "%s\n", newest.missing.c_str()), 1;
  int refused = 0, assembled = 0;
  for (const Example& e : all())
    for (Target t : e.targets) {
      const harness::Ptxas& its = takes_version_of(ptxas, e, t) ? ptxas : newest;
      if (takes_version_of(its, e, t)) ++(assembles(its, e, t) ? assembled : refused);
    }
  std::printf("%d assembled, %d refused\n", assembled, refused);
  return refused == 0 && assembled > 0 ? 0 : 1;
}

int run(int argc, char** argv) {
  const std::string_view what = argc > 1 ? argv[1] : "--list";
  try {
    if (what == "--list") return list();
    if (what == "--assemble") return assemble_all();
    return print(what, argc > 2 ? argv[2] : "");
  } catch (const diag::Rejected& e) {
    complain(e.findings());
    return 1;
  }
}

}  // namespace
}  // namespace kiln::forms

int main(int argc, char** argv) { return kiln::forms::run(argc, argv); }
