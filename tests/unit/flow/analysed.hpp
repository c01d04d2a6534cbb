// A kernel as text with all of ptx/flow at hand.
#pragma once

#include <doctest/doctest.h>

#include <string>

#include "ptx/flow/cfg.hpp"
#include "ptx/flow/definitions.hpp"
#include "ptx/flow/known_bits.hpp"
#include "ptx/flow/origins.hpp"
#include "ptx/flow/uniformity.hpp"
#include "ptx/parse/parse.hpp"

namespace kiln::test {

/// The kernel `k` with this body; `head` follows its parameters (.reqntid and the like).
struct Analysed {
  explicit Analysed(const std::string& body, const std::string& head = {})
      : module(parse::parse(std::make_shared<diag::Source>("t.ptx", text(body, head)), sink)),
        code(ir::decode(module, *module.find_function("k"), sink)) {
    for (const auto& d : sink.all()) FAIL_CHECK(d.message);
  }

  static std::string text(const std::string& body, const std::string& head) {
    return ".version 9.0\n.target sm_100a\n.address_size 64\n"
           ".shared .align 128 .b8 tile[4096];\n.shared .align 8 .b64 bars[8];\n.shared .align 4 .b32 slot;\n"
           ".visible .entry k(.param .u64 a, .param .u32 n) " +
           head +
           "\n{\n.reg .b16 %h<20>; .reg .b32 %r<40>; "
           ".reg .b64 %rd<40>; .reg .pred %p<20>;\n" +
           body + "\n}\n";
  }

  ir::RegisterId reg(const std::string& name) const {
    for (ir::RegisterId r = 0; r < code.registers.size(); ++r)
      if (code.registers[r].name == name) return r;
    FAIL("no register " << name);
    return 0;
  }
  flow::Bits bits(const std::string& name) const { return known.of(reg(name)); }
  flow::Origin origin(const std::string& name) const { return origins.of(reg(name)); }
  /// The operation after a label.
  std::uint32_t at(const std::string& label) const {
    for (const auto& [position, name] : code.labels)
      if (name == label) return position;
    FAIL("no label " << label);
    return 0;
  }
  flow::BlockId block(const std::string& label) const {
    return at(label) < code.operations.size() ? cfg.block_of(at(label)) : cfg.end();
  }

  diag::Sink sink;
  ir::Module module;
  ir::Code code;
  flow::Cfg cfg{code};
  flow::Definitions definitions{code};
  flow::KnownBits known{code, definitions};
  flow::Origins origins{code, definitions, known};
  flow::Uniformity uniformity{code, cfg, definitions, known};
};

}  // namespace kiln::test
