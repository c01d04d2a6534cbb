// What exploring the only kernel of a text comes to, and texts to explore.
#pragma once

#include <doctest/doctest.h>

#include <memory>
#include <string>
#include <vector>

#include "dsl/entry.hpp"
#include "emit/emit.hpp"
#include "harness/host/files.hpp"
#include "ptx/parse/parse.hpp"
#include "tests/unit/verifier/checked.hpp"
#include "verifier/explore.hpp"
#include "verifier/explore/explore.hpp"
#include "verifier/verify.hpp"

namespace kiln::test {

/// The slugs of what exploring finds in a text, each once and followed by a space.
inline std::string explored(const std::string& text, const launch::Contract* launch = nullptr) {
  diag::Sink sink;
  const ir::Module module = parse::parse(std::make_shared<diag::Source>("t.ptx", text), sink);
  REQUIRE_FALSE(sink.has_errors());
  verifier::check_synchronisation(module, sink, launch);
  std::string out;
  for (const auto& d : sink.all())
    if (!d.slug.empty() && out.find(d.slug + " ") == std::string::npos) out += d.slug + " ";
  return out;
}

struct Protocol {
  bool complete = false, stands_still = false;
  std::string incomplete{}, example{};
  std::vector<rules::Rule> broken{};
  std::string at{}, against{};  // of the first broken rule: the instructions

  bool is_right() const { return complete && broken.empty(); }
};

inline std::string text_of(const ir::Code& code, const ir::Operation* op) {
  if (!op) return {};
  const ir::At& at = op->instruction->at;
  return std::string(code.module->source->text().substr(at.begin, at.end - at.begin));
}

inline Protocol protocol(const std::string& text) {
  diag::Sink sink;
  const ir::Module module = parse::parse(std::make_shared<diag::Source>("k.ptx", text), sink);
  REQUIRE_FALSE(sink.has_errors());
  Protocol out;
  for (const ir::Item& item : module.items)
    if (const auto* f = std::get_if<ir::Function>(&item); f && f->body) {
      const verifier::Facts facts(module, *f, sink);
      const verifier::explore::Explored e = explore(verifier::explore::Program(facts));
      out.complete = e.complete, out.stands_still = e.deadlock != nullptr, out.incomplete = e.incomplete;
      out.example = e.example;
      for (const auto& b : e.breaches) out.broken.push_back(b.verdict.rule);
      if (!e.breaches.empty()) {
        out.at = text_of(facts.code, e.breaches[0].operation);
        out.against = text_of(facts.code, e.breaches[0].earlier);
      }
    }
  return out;
}

using Build = dsl::Kernel (*)(isa::Target, const dsl::Sizes&);

inline std::string emitted(Build build) {
  diag::Sink sink;
  const auto verified = verifier::verify(
      build(isa::sm_100a, {{"rows", 256}, {"cols", 256}, {"swizzle", 128}, {"inner", 128}, {"shift", 0}}).module, sink);
  REQUIRE(verified);
  return emit::emit(*verified);
}

// A kernel of tests/mutation.
inline std::string file(const std::string& name) {
  const auto bytes = harness::read_file(KILN_SOURCE_DIR "/tests/mutation/kernels/" + name + ".ptx");
  return {bytes.begin(), bytes.end()};
}

// The text with the instruction that begins so replaced; `nth` counts from 1.
inline std::string with(std::string text, const std::string& begin, const std::string& to, int nth = 1) {
  std::size_t at = 0;
  for (int k = 0; k < nth; ++k) at = text.find(begin, at + 1);
  REQUIRE_MESSAGE(at != std::string::npos, begin);
  return text.replace(at, text.find(';', at) + 1 - at, to);
}

}  // namespace kiln::test
