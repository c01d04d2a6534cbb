// parse and emit undo each other, and what emit writes is the same program to ptxas.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>

#include "emit/emit.hpp"
#include "harness/host/process.hpp"
#include "harness/ptxas/ptxas.hpp"
#include "ptx/diag/render.hpp"
#include "tests/laws/corpus.hpp"
#include "tests/laws/cubin.hpp"
#include "tests/skip.hpp"

namespace {

using namespace kiln;
using test::Parsed;

std::string read_file(const std::string& path) { return std::string(diag::Source::read(path)->text()); }

void check_roundtrip(const std::string& path) {
  const Parsed first = test::parse_text(path, read_file(path));
  if (first.sink.has_errors()) return;  // a test of the parser's messages
  const std::string text = emit::emit_unverified(first.module);
  const Parsed second = test::parse_text(path + " (emitted)", text);
  INFO(diag::render_text(second.sink));
  CHECK(!second.sink.has_errors());
  CHECK(second.module == first.module);
  CHECK(emit::emit_unverified(second.module) == text);
}

/// The cubin that ptxas makes of a text; nothing when it refuses. Relocatable, where a function is defined elsewhere.
std::optional<test::Cubin> assemble(const std::string& ptxas, const std::string& text, isa::Target target,
                                    bool relocatable) {
  const std::string in = "law.ptx", out = "law.cubin";
  std::ofstream(in, std::ios::binary) << text;
  std::filesystem::remove(out);
  std::vector<std::string> words = {ptxas, "-arch=" + isa::spelling(target), in, "-o", out};
  if (relocatable) words.insert(words.begin() + 1, "-c");
  const auto result = harness::run_process(words, std::chrono::minutes(2));
  if (result.exit_code != 0) return std::nullopt;
  return test::Cubin(read_file(out));
}

// Unoptimised, ptxas adds even an offset of zero that is written; the waist does not keep one.
std::string without_zero_offsets(std::string text) {
  for (std::size_t at = 0; (at = text.find("+0]", at)) != std::string::npos;) text.erase(at, 2);
  return text;
}

bool check_same_program(const std::string& ptxas, const std::string& path) {
  const Parsed parsed = test::parse_text(path, read_file(path));
  const auto target = parsed.module.target();
  if (parsed.sink.has_errors() || !target) return false;
  const auto& targets = parsed.module.targets;
  const bool is_debug = std::find(targets.begin(), targets.end(), "debug") != targets.end();
  const std::string text = is_debug ? without_zero_offsets(read_file(path)) : read_file(path);
  for (const bool relocatable : {false, true}) {
    const auto theirs = assemble(ptxas, text, *target, relocatable);
    if (!theirs) continue;
    const auto ours = assemble(ptxas, emit::emit_unverified(parsed.module), *target, relocatable);
    REQUIRE(ours);
    for (const auto& [name, bytes] : theirs->code_and_data()) {
      const bool same = ours->code_and_data()[name] == bytes;
      const std::string& section = name;  // clang 14 does not let a lambda see a structured binding
      CHECK_MESSAGE(same, section);
    }
    CHECK(ours->code_and_data().size() == theirs->code_and_data().size());
    return true;
  }
  return false;
}

}  // namespace

TEST_CASE("every file of the corpus parses without an error") {
  const auto files = test::ptx_files("tests/data/ptx");
  CHECK(files.size() >= 15);
  for (const std::string& path : files) {
    const Parsed parsed = test::parse_text(path, read_file(path));
    INFO(diag::render_text(parsed.sink));
    CHECK(!parsed.sink.has_errors());
  }
}

TEST_CASE("parsing what was emitted gives the module back, and emitting that gives the same text") {
  for (const char* folder : {"tests/data/ptx", "lit"}) {
    for (const std::string& path : test::ptx_files(folder)) {
      INFO(path);
      check_roundtrip(path);
    }
  }
}

TEST_CASE("ptxas makes the same code and data of a text and of its emitted form") {
  const harness::Ptxas ptxas = harness::find_ptxas();
  if (!ptxas.found()) return test::skip("no ptxas: " + ptxas.missing);
  int assembled = 0;
  for (const char* folder : {"tests/data/ptx", "lit"}) {
    for (const std::string& path : test::ptx_files(folder)) {
      INFO(path);
      const bool same = check_same_program(ptxas.path, path);
      assembled += same;
      if (std::string_view(folder) == "tests/data/ptx") CHECK_MESSAGE(same, "ptxas refuses this file of the corpus");
    }
  }
  CHECK(assembled >= 15);
}
