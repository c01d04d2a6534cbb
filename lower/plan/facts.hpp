// A kernel with everything that is known about it before it is lowered.
#pragma once

#include <string>

#include "launch/contract.hpp"
#include "lower/options.hpp"
#include "lower/plan/contract_values.hpp"
#include "ptx/flow/cfg.hpp"
#include "ptx/flow/definitions.hpp"
#include "ptx/flow/known_bits.hpp"
#include "ptx/flow/origins.hpp"
#include "ptx/flow/uniformity.hpp"
#include "ptx/flow/webs.hpp"
#include "ptx/ir/code.hpp"
#include "ptx/rules/finding.hpp"

namespace kiln::lower {

struct Facts {
  Facts(const ir::Module& m, const ir::Function& f, const Options& o, diag::Sink& s)
      : module(m), function(f), options(o), sink(s), code(flow::with_webs(ir::decode(m, f, s))) {}

  const ir::Module& module;
  const ir::Function& function;
  const Options& options;
  diag::Sink& sink;
  ir::Code code;
  flow::Cfg cfg{code};
  flow::Definitions definitions{code};
  flow::KnownBits known{code, definitions};
  flow::Origins origins{code, definitions, known};
  flow::Uniformity uniformity{code, cfg, definitions, known};
  ContractValues contract_values{code, definitions, launches()};

  /// Reports that a limit of lowering is reached, at an operation or at the kernel's head. Always false.
  bool refuse(rules::Limit limit, const std::string& got, const ir::Operation* op = nullptr) const {
    diag::Diagnostic d = rules::finding(limit, got);
    d.where = op ? code.where(*op) : diag::Where::at(module.source, function.name_at);
    sink.report(std::move(d));
    return false;
  }
  bool refuse(rules::Limit limit, const std::string& got, const ir::Operation& op) const {
    return refuse(limit, got, &op);
  }

  /// Whether a CTA may share its cluster with others, by the directives and the launches that are known.
  bool may_have_peers() const {
    const ir::Performance* asked = function.find("reqnctapercluster");
    bool out = function.find("explicitcluster") || function.find("maxclusterrank");
    for (const std::int64_t n : asked ? asked->values : std::vector<std::int64_t>{}) out |= n != 1;
    for (const launch::Launch* l : launches()) out |= l->cluster.volume() > 1;
    return out;
  }

  /// An operand's value, as it must be, or as the contract's launches make it: then the kernel has to check it.
  std::optional<std::uint64_t> assumed(const ir::Argument& a, int width) const {
    const auto out = known.constant(a, width);
    return out ? out : contract_values.constant(a, width);
  }

  /// The launches of this kernel that the contract has.
  std::vector<const launch::Launch*> launches() const {
    return options.contract ? launches(*options.contract, function) : std::vector<const launch::Launch*>{};
  }
  static std::vector<const launch::Launch*> launches(const launch::Contract& contract, const ir::Function& kernel) {
    std::vector<const launch::Launch*> out;
    for (const launch::Launch& l : contract.launches)
      if (kernel.name.find(l.entry) != std::string::npos) out.push_back(&l);
    return out;
  }
};

}  // namespace kiln::lower
