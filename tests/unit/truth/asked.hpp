// One instruction at a time, asked of the verifier and of ptxas. The two must agree with each other and with the test.
#pragma once

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "harness/ptxas/ptxas.hpp"
#include "ptx/diag/render.hpp"
#include "ptx/parse/parse.hpp"
#include "tests/about_form.hpp"
#include "tests/skip.hpp"
#include "verifier/verify.hpp"

namespace kiln::test {

/// ptxas, looked for once; says SKIPPED once when there is none.
inline const harness::Ptxas& ptxas() {
  static const harness::Ptxas found = [] {
    harness::Ptxas p = harness::find_ptxas();
    if (!p.found()) skip("what ptxas says about instructions: " + p.missing);
    return p;
  }();
  return found;
}

inline std::string header(isa::Target t) {
  return ".version 9.0\n.target " + isa::spelling(t) +
         "\n.address_size 64\n.shared .align 8 .b64 bar; .shared .align 16 .b8 smem[1024];\n";
}

/// A kernel of one instruction, which may use r0..., f0... (32 bits), d0... (64 bits), h0... (16 bits) and p0...
inline std::string kernel_of(const std::string& instruction, int number = 0) {
  return ".visible .entry k" + std::to_string(number) +
         "() { .reg .b32 r<200>; .reg .f32 f<20>; .reg .b64 d<20>; .reg .b16 h<9>; .reg .pred p<9>;\n" + instruction +
         "\nret; }\n";
}

/// What an assembler says: whether it takes the text, and its first error when it does not.
struct Answer {
  bool taken = false;
  std::string error{};
  harness::Assembly assembly{};
};

inline Answer ask_ptxas(const std::string& text, isa::Target t) {
  diag::Sink sink;
  Answer a;
  a.assembly = harness::assemble(ptxas(), std::make_shared<const diag::Source>("asked.ptx", text), t, sink);
  a.taken = a.assembly.status == harness::Assembly::Status::assembled;
  a.error = diag::render_text(sink);
  return a;
}

/// The verifier on the form of the instructions alone: what a kernel around them would lack does not count.
inline Answer ask_verifier(const std::string& text) {
  diag::Sink sink;
  const ir::Module module = parse::parse(std::make_shared<const diag::Source>("asked.ptx", text), sink);
  Answer a;
  a.taken = !sink.has_errors();
  a.error = diag::render_text(sink);
  verifier::check(module, sink);
  for (const diag::Diagnostic& d : sink.all())
    if (is_about_form(d.slug)) a.taken = false, a.error += d.slug + ": " + d.message + "\n";
  return a;
}

/// The verifier and ptxas take each of these instructions.
inline void accepted(const std::vector<std::string>& instructions, isa::Target t = isa::sm_100a) {
  std::string text = header(t);
  for (std::size_t i = 0; i < instructions.size(); ++i) {
    const std::string kernel = kernel_of(instructions[i], int(i));
    const Answer said = ask_verifier(header(t) + kernel);
    CHECK_MESSAGE(said.taken, instructions[i] << "\n" << said.error);
    text += kernel;
  }
  if (!ptxas().found()) return;
  const Answer said = ask_ptxas(text, t);
  CHECK_MESSAGE(said.taken, said.error);
}

/// ptxas refuses the instruction with a message that contains `says` (in lower case, as findings are).
inline void refused_by_ptxas(const std::string& instruction, const std::string& says, isa::Target t = isa::sm_100a) {
  if (!ptxas().found()) return;
  const Answer said = ask_ptxas(header(t) + kernel_of(instruction), t);
  CHECK_MESSAGE(!said.taken, "ptxas takes " << instruction);
  CHECK_MESSAGE(said.error.find(says) != std::string::npos, instruction << "\n" << said.error);
}

/// The verifier refuses the instruction, and so does ptxas, with a message that contains `says`.
inline void refused(const std::string& instruction, const std::string& says, isa::Target t = isa::sm_100a) {
  CHECK_MESSAGE(!ask_verifier(header(t) + kernel_of(instruction)).taken, "the verifier takes " << instruction);
  refused_by_ptxas(instruction, says, t);
}

}  // namespace kiln::test
