// A large kernel to measure with: one of the tree with its loops unrolled, as a compiler does it.
#pragma once

#include <regex>
#include <set>
#include <string>
#include <vector>

#include "ptx/diag/error.hpp"

namespace kiln::bench {

/// Instructions of a text: lines that end in a semicolon and are no declaration or directive.
inline std::size_t instructions_of(const std::string& ptx) {
  static const std::regex line(R"(\n[ \t]*(\{ *)?[@a-z][^\n]*;)");
  return std::size_t(std::distance(std::sregex_iterator(ptx.begin(), ptx.end(), line), {}));
}

inline std::set<std::string> registers_of(const std::string& ptx) {
  static const std::regex name(R"(%(?:p|r|rd)[0-9]+\b)");
  std::set<std::string> out;
  for (std::sregex_iterator m(ptx.begin(), ptx.end(), name); m != std::sregex_iterator(); ++m) out.insert(m->str());
  return out;
}

/// A loop `label: ... @p bra label; label_end:` of a text, by offsets.
struct Loop {
  std::size_t first = 0, branch = 0, end = 0;  // after the label; `@p bra label;`; after that
  std::string predicate{};
};

inline Loop find_loop(const std::string& ptx, const std::string& label) {
  const std::regex back("\n *@(%p[0-9]+) bra " + label + ";\n");
  Loop out;
  std::smatch m;
  out.first = ptx.find("\n" + label + ":\n");
  if (out.first == ptx.npos || !std::regex_search(ptx, m, back))
    throw diag::InputError("no loop " + label + " in the kernel to unroll");
  out.first += label.size() + 3;
  out.branch = std::size_t(m.position()) + 1;
  out.end = std::size_t(m.position() + m.length());
  out.predicate = m[1];
  return out;
}

/// The PTX with a loop's body written `times` times. Each copy tests whether it was the last one, and has labels of its
/// own, and registers of its own where nothing outside the loop uses them.
inline std::string unrolled(std::string ptx, const std::string& label, int times) {
  const Loop loop = find_loop(ptx, label);
  const std::string body = ptx.substr(loop.first, loop.branch - loop.first);
  const std::set<std::string> outside = registers_of(ptx.substr(0, loop.first) + ptx.substr(loop.end));
  std::set<std::string> own = registers_of(body);
  std::erase_if(own, [&](const std::string& r) { return outside.contains(r); });
  static const std::regex labels(R"(\b(wait_[a-z]+)\b)"), registers(R"((%(?:p|r|rd)[0-9]+)\b)");
  std::string copies, declared;
  for (int k = 0; k < times; ++k) {
    const std::string suffix = "_" + label + std::to_string(k);
    std::string copy = body + "  @" + std::string(k + 1 < times ? "!" : "") + loop.predicate + " bra " + label +
                       (k + 1 < times ? "_end;\n" : ";\n");
    copy = std::regex_replace(copy, labels, "$1" + suffix);
    std::string renamed;
    std::size_t at = 0;
    for (std::sregex_iterator m(copy.begin(), copy.end(), registers); m != std::sregex_iterator(); ++m) {
      renamed += copy.substr(at, std::size_t(m->position()) - at) + m->str() + (own.contains(m->str()) ? suffix : "");
      at = std::size_t(m->position() + m->length());
    }
    copies += renamed + copy.substr(at);
    for (const std::string& r : own)
      declared += "  .reg ." + std::string(r[1] == 'p' ? "pred " : r[2] == 'd' ? "b64 " : "b32 ") + r + suffix + ";\n";
  }
  ptx.replace(loop.first, loop.end - loop.first, copies);
  return ptx.insert(ptx.find("\n{\n") + 3, declared);
}

/// gemm_bf16 with both its loops over K unrolled, until it has at least that many instructions.
inline std::string large_gemm(const std::string& gemm_bf16, std::size_t instructions) {
  constexpr int step = 4;  // stages of the ring, so that a copy is always at the same one
  std::string out = gemm_bf16;
  for (int times = step; instructions_of(out) < instructions; times += step)
    out = unrolled(unrolled(gemm_bf16, "loop_load", times), "loop_mma", times);
  return out;
}

}  // namespace kiln::bench
