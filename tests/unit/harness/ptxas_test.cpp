#include "harness/ptxas/ptxas.hpp"

#include <doctest/doctest.h>

#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>

#include "harness/host/process.hpp"
#include "tests/skip.hpp"
#include "tests/unit/harness/temporary.hpp"

namespace kiln::harness::ptxas_tests {
namespace {

using test::contains;
using test::error_of;

const char* const bad =
    ".version 8.6\n.target sm_100a\n.address_size 64\n.visible .entry k(.param .u64 p)\n{\n"
    "  .reg .b32 %r<4>;\n  mov.u32 %r1, foo;\n\tadd.u32 %r9, %r1, 1;\n  ret;\n}\n";

diag::SourcePtr source(const char* text) { return std::make_shared<const diag::Source>("k.ptx", text); }

/// Sets an environment variable for one test.
class Environment {
 public:
  Environment(const char* name, const char* value) : name_(name) {
    if (const char* old = std::getenv(name)) old_ = old, had_ = true;
    if (value)
      ::setenv(name, value, 1);
    else
      ::unsetenv(name);
  }
  ~Environment() {
    if (had_)
      ::setenv(name_, old_.c_str(), 1);
    else
      ::unsetenv(name_);
  }

 private:
  const char* name_;
  std::string old_;
  bool had_ = false;
};

TEST_CASE("messages become findings at the word that they name") {
  const diag::SourcePtr text = source(bad);
  std::vector<EntryResources> entries;
  diag::Sink sink;
  read_ptxas_output(
      "ptxas /tmp/my error : dir/kernel.ptx, line 7; error   : Unknown symbol 'foo'\n"
      "ptxas /tmp/kernel.ptx, line 8; error   : Arguments mismatch for instruction 'add'\n"
      "ptxas /tmp/kernel.ptx, line 9; fatal   : Parsing error near '%q1': syntax error\n"
      "ptxas error   : Entry function 'k' uses too much shared data (0x493e0 bytes, 0x38c00 max)\n"
      "ptxas /tmp/kernel.ptx, line 999; warning : Something odd\n"
      "ptxas fatal   : Ptx assembly aborted due to errors\n",
      text, entries, sink);
  REQUIRE(sink.all().size() == 5);
  const diag::Diagnostic& symbol = sink.all()[0];
  CHECK(symbol.message == "unknown symbol 'foo'");
  CHECK(symbol.slug == "ptxas");
  CHECK(text->text(symbol.where.place) == "foo");
  CHECK(text->position(symbol.where.place.begin).line == 7);
  CHECK(text->text(sink.all()[1].where.place) == "add");
  CHECK(text->text(sink.all()[2].where.place) == "ret;");
  CHECK(sink.all()[3].where.place.empty());
  CHECK(sink.all()[4].severity == diag::Severity::note);
  CHECK(sink.count(diag::Severity::error) == 4);
}

TEST_CASE("figures are read for each entry, not for functions between them") {
  std::vector<EntryResources> entries;
  diag::Sink sink;
  read_ptxas_output(
      "ptxas info    : 0 bytes gmem, 12 bytes cmem[3]\n"
      "ptxas info    : Compiling entry function 'first' for 'sm_100a'\n"
      "ptxas info    : Function properties for first\n"
      "    16 bytes stack frame, 8 bytes spill stores, 4 bytes spill loads\n"
      "ptxas info    : Used 122 registers, used 1 barriers, 1024 bytes smem, 400 bytes cmem[0]\n"
      "ptxas info    : Compile time = 10.526 ms\n"
      "ptxas info    : Function properties for helper\n"
      "    64 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
      "ptxas info    : Compiling entry function 'second' for 'sm_100a'\n"
      "ptxas info    : Used 8 registers\n"
      "ptxas info    : (C7508) Potential Performance Loss: 'setmaxnreg' ignored\n",
      source(bad), entries, sink);
  REQUIRE(entries.size() == 2);
  CHECK(entries[0].name == "first");
  CHECK(entries[0].registers == 122);
  CHECK(entries[0].stack_bytes == 16);
  CHECK(entries[0].spill_store_bytes == 8);
  CHECK(entries[0].spill_load_bytes == 4);
  CHECK(entries[0].shared_bytes == 1024);
  CHECK(entries[0].spills());
  CHECK(entries[1].registers == 8);
  CHECK(!entries[1].spills());
  REQUIRE(sink.all().size() == 1);  // advice is a note
  CHECK(sink.all()[0].severity == diag::Severity::note);
}

TEST_CASE("odd output is survived") {
  std::vector<EntryResources> entries;
  diag::Sink sink;
  read_ptxas_output(
      "ptxas \nptxas error\nptxas info : Used registers\nptxas a, line x; error : Bad\n\n    bytes stack frame",
      source(""), entries, sink);
  CHECK(sink.count(diag::Severity::error) == 1);
}

std::string fake_ptxas(const TemporaryFolder& folder, const std::string& script) {
  const std::string path = folder.file("ptxas");
  write_file(path, "#!/bin/sh\n" + script);
  ::chmod(path.c_str(), 0755);
  return path;
}

TEST_CASE("a ptxas that will not do is named with the reason") {
  const TemporaryFolder folder;
  const std::string path = fake_ptxas(folder, "echo 'Cuda compilation tools, release 12.8, V12.8.93'\n");
  const Environment chosen("KILN_PTXAS", path.c_str());
  CHECK(!find_ptxas().found());
  CHECK(find_ptxas().missing == "KILN_PTXAS: " + path + " is of release 12.8, not 13.0 or later");
  fake_ptxas(folder, "echo hello\n");
  CHECK(contains(find_ptxas().missing, "does not answer --version as ptxas does"));
  const Environment absent("KILN_PTXAS", "/nonexistent/ptxas");
  CHECK(find_ptxas().missing == "KILN_PTXAS: /nonexistent/ptxas is not executable");
}

TEST_CASE("no ptxas, a hanging one and a crashing one are states, not exceptions") {
  diag::Sink sink;
  Ptxas none;
  none.missing = "nowhere";
  const Assembly absent = assemble(none, source(bad), isa::sm_100a, sink);
  CHECK(absent.status == Assembly::Status::unavailable);
  CHECK(absent.reason == "nowhere");

  const TemporaryFolder folder;
  const Ptxas slow{fake_ptxas(folder, "sleep 30\n"), "13.0", {}};
  const Assembly hung =
      assemble(slow, source(bad), isa::sm_100a, sink, TensorMemoryChecks::off, std::chrono::milliseconds(100));
  CHECK(hung.status == Assembly::Status::failed);
  CHECK(contains(hung.reason, "did not finish"));
  CHECK(hung.seconds < 10);

  const Ptxas crash{fake_ptxas(folder, "kill -SEGV $$\n"), "13.0", {}};
  CHECK(contains(assemble(crash, source(bad), isa::sm_100a, sink).reason, "killed by signal 11"));
  const Ptxas mute{fake_ptxas(folder, "exit 3\n"), "13.0", {}};
  CHECK(contains(assemble(mute, source(bad), isa::sm_100a, sink).reason, "exit code 3"));
}

TEST_CASE("a ptxas older than the text or the target is no ptxas for it, and the reason names both") {
  const TemporaryFolder folder;
  const Ptxas old{fake_ptxas(folder, "exit 3\n"), "13.0.88", {}};
  diag::Sink sink;
  const Assembly newer = assemble(old, source(".version 9.1\n.target sm_100a\n"), isa::sm_100a, sink);
  CHECK(newer.status == Assembly::Status::unavailable);
  CHECK(newer.reason == "ptxas 13.0.88 takes PTX up to 9.0; sm_100a here needs 9.1");
  const Assembly rubin = assemble(old, source("// .version 9.0\n"), isa::sm_107a, sink);
  CHECK(rubin.status == Assembly::Status::unavailable);
  CHECK(rubin.reason == "ptxas 13.0.88 takes PTX up to 9.0; sm_107a here needs 9.4");
  CHECK_FALSE(sink.has_errors());
  CHECK(assemble(old, source(".version 9.0\n"), isa::sm_100a, sink).status == Assembly::Status::failed);
  // What no ptxas that Kiln knows takes is asked all the same.
  CHECK(assemble(old, source(".version 9.9\n"), isa::sm_100a, sink).status == Assembly::Status::failed);
}

TEST_CASE("the real ptxas assembles and rejects") {
  const Ptxas ptxas = find_ptxas();
  if (!ptxas.found()) return test::skip("ptxas: " + ptxas.missing);
  diag::Sink sink;
  const diag::SourcePtr good =
      source(".version 8.6\n.target sm_100a\n.address_size 64\n.visible .entry k()\n{\n  ret;\n}\n");
  const Assembly assembled = assemble(ptxas, good, isa::sm_100a, sink);
  CHECK(assembled.status == Assembly::Status::assembled);
  CHECK(assembled.cubin.size() > 100);
  REQUIRE(assembled.entries.size() == 1);
  CHECK(assembled.entries[0].name == "k");
  CHECK(sink.all().empty());
  const Assembly rejected = assemble(ptxas, source(bad), isa::sm_100a, sink);
  CHECK(rejected.status == Assembly::Status::rejected);
  CHECK(sink.has_errors());
}

TEST_CASE("ptxas puts its checks of tensor memory into a kernel when they are asked for, and the assembly names them") {
  const Ptxas ptxas = find_ptxas();
  if (!ptxas.found()) return test::skip("ptxas: " + ptxas.missing);
  diag::Sink sink;
  const diag::SourcePtr text = source(
      ".version 8.6\n.target sm_100a\n.address_size 64\n.visible .entry k()\n{\n  .reg .b32 %r<2>;\n"
      "  .shared .align 4 .b32 slot;\n"
      "  tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot], 32;\n  ld.shared.b32 %r1, [slot];\n"
      "  tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r1, 32;\n  ret;\n}\n");
  const Assembly plain = assemble(ptxas, text, isa::sm_100a, sink);
  CHECK(plain.status == Assembly::Status::assembled);
  const auto has = [](const Assembly& a, const char* name) {
    return std::count(a.tensor_memory_checks.begin(), a.tensor_memory_checks.end(), name) == 1;
  };
  CHECK(has(plain, "unallocated_columns_being_dealloced"));  // what it checks in any case
  CHECK_FALSE(has(plain, "access_out_of_physical_bounds"));
  const Assembly checked = assemble(ptxas, text, isa::sm_100a, sink, TensorMemoryChecks::on);
  CHECK(checked.status == Assembly::Status::assembled);
  CHECK(checked.cubin.size() > plain.cubin.size());
  CHECK(has(checked, "unallocated_columns_being_dealloced"));
  CHECK(has(checked, "access_out_of_physical_bounds"));
}

TEST_CASE("a child's streams and exit code are kept, however much it says") {
  const ProcessResult r =
      run_process({"/bin/sh", "-c",
                   "i=0; while [ $i -lt 3000 ]; do echo 0123456789012345678901234567890123456789; i=$((i+1)); done; "
                   "echo bad >&2; exit 7"},
                  std::chrono::seconds(30));
  CHECK(r.exit_code == 7);
  CHECK(r.out.size() == 3000 * 41);
  CHECK(r.err == "bad\n");
  CHECK(contains(error_of([] { run_process({"/nonexistent/x"}, std::chrono::seconds(1)); }),
                 "cannot be started: No such file"));
}

}  // namespace
}  // namespace kiln::harness::ptxas_tests
