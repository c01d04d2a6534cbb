// PTX as text, through the verifier.
#pragma once

#include <doctest/doctest.h>

#include <fstream>
#include <sstream>
#include <string>

#include "ptx/diag/render.hpp"
#include "ptx/parse/parse.hpp"
#include "verifier/verify.hpp"

#ifndef KILN_TEST_DATA
#define KILN_TEST_DATA "tests/data"
#endif

namespace kiln::test {

inline std::string read_data(const std::string& name) {
  std::ifstream in(std::string(KILN_TEST_DATA "/") + name);
  REQUIRE_MESSAGE(in.good(), name);
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

inline const std::string preamble = ".version 9.0\n.target sm_100a\n.address_size 64\n";

/// The findings about a module.
inline diag::Sink check_text(const std::string& text) {
  diag::Sink sink;
  const ir::Module module = parse::parse(std::make_shared<diag::Source>("t.ptx", text), sink);
  verifier::check(module, sink);
  return sink;
}

/// The slugs of the findings in order of place, each followed by a space.
inline std::string slugs(const diag::Sink& sink) {
  std::string out;
  for (const auto& d : sink.all()) out += (d.slug.empty() ? d.message : d.slug) + " ";
  return out;
}

/// `text` with every `from` replaced; fails when there is none.
inline std::string replaced(std::string text, const std::string& from, const std::string& to) {
  std::size_t at = text.find(from);
  CHECK_MESSAGE(at != std::string::npos, "nothing to replace: " << from);
  for (; at != std::string::npos; at = text.find(from, at + to.size())) text.replace(at, from.size(), to);
  return text;
}

}  // namespace kiln::test
