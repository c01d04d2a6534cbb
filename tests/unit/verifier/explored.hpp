// PTX as text, through exploring.
#pragma once

#include "tests/unit/verifier/checked.hpp"
#include "verifier/explore.hpp"

namespace kiln::test {

/// The slugs of what exploring finds in a text, each once and followed by a space.
inline std::string explored(const std::string& text, const launch::Contract* launch = nullptr) {
  diag::Sink sink;
  const ir::Module module = parse::parse(std::make_shared<diag::Source>("t.ptx", text), sink);
  REQUIRE_FALSE(sink.has_errors());
  verifier::explore(module, sink, launch);
  std::string out;
  for (const auto& d : sink.all())
    if (out.find(d.slug + " ") == std::string::npos) out += d.slug + " ";
  return out;
}

}  // namespace kiln::test
