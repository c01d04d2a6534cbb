// A function with everything that the layers of the verifier know about it.
#pragma once

#include <optional>
#include <utility>

#include "ptx/diag/diagnostic.hpp"
#include "ptx/flow/cfg.hpp"
#include "ptx/flow/definitions.hpp"
#include "ptx/flow/known_bits.hpp"
#include "ptx/flow/origins.hpp"
#include "ptx/flow/uniformity.hpp"
#include "ptx/flow/webs.hpp"
#include "ptx/ir/code.hpp"
#include "ptx/isa/targets.hpp"
#include "ptx/rules/profile.hpp"
#include "verifier/entrance.hpp"
#include "verifier/launch_facts.hpp"

namespace kiln::verifier {

/// One decoded function and its analyses; made once, read by every layer.
struct Facts {
  /// `given`: what launches give the kernel's parameters.
  Facts(const ir::Module& m, const ir::Function& f, diag::Sink& s, flow::ParameterBytes given = {})
      : Facts(m, f, s, ir::decode(m, f, s), std::move(given)) {}
  /// `written`: the function as its text has it, decoded.
  Facts(const ir::Module& m, const ir::Function& f, diag::Sink& s, ir::Code written, flow::ParameterBytes given = {})
      : module(m),
        function(f),
        sink(s),
        code(flow::with_webs(std::move(written))),
        target(m.target()),
        known(code, definitions, std::move(given)) {}

  const ir::Module& module;
  const ir::Function& function;
  diag::Sink& sink;
  ir::Code code;
  std::optional<isa::Target> target;
  flow::Cfg cfg{code};
  flow::Definitions definitions{code};
  flow::KnownBits known;
  flow::Origins origins{code, definitions, known};
  flow::Uniformity uniformity{code, cfg, definitions, known};

  rules::Profile profile = rules::Profile::isa;
  LaunchFacts given{};                // what a user says of launches
  std::vector<Entrance> entrances{};  // how threads come to the function; filled by check()
  std::vector<bool> malformed{};      // by operation; filled by the forms layer

  /// The operation has its form, so that its operands are what they should be.
  bool is_formed(const ir::Operation& op) const {
    const std::uint32_t i = code.index(op);
    return i >= malformed.size() || !malformed[i];
  }

  /// Bytes of the shared variables of fixed size that the function names itself.
  std::int64_t static_shared_bytes() const {
    std::int64_t bytes = 0;
    for (const ir::Symbol& s : code.symbols)
      if (isa::is_shared(s.variable->space)) bytes += std::int64_t(s.variable->bytes());
    return bytes;
  }

  /// A 64-bit or narrower operand whose value is the same whenever it is executed.
  std::optional<std::int64_t> constant(const ir::Argument& a, int width) const {
    const auto bits = known.constant(a, width);
    if (!bits) return std::nullopt;
    return width < 64 ? std::int64_t(*bits << (64 - width)) >> (64 - width) : std::int64_t(*bits);
  }
};

}  // namespace kiln::verifier
