#include "lower/plan/passes.hpp"

#include <algorithm>
#include <set>

namespace kiln::lower {
namespace {

using isa::Opcode;
using rules::Limit;

class PeerCopyFinder {
 public:
  PeerCopyFinder(const Facts& f, Plan& p) : f_(f), p_(p) {}

  bool run() {
    bool good = true;
    for (std::uint32_t i = 0; i < f_.code.operations.size(); ++i) {
      const ir::Operation& op = f_.code.operations[i];
      if (op.modifiers.cta_group != isa::CtaGroup::two || isa::unit(op.opcode) == isa::Unit::tcgen05) continue;
      good &= add(i, op);
    }
    return good;
  }

 private:
  bool add(std::uint32_t i, const ir::Operation& op) {
    const auto no = [&](const char* what) { return f_.refuse(Limit::lower_pair, what, op); };
    const auto copy = ops::as<ops::TensorCopy>(op);
    if (op.opcode != Opcode::cp_async_bulk_tensor || !copy) return no("an operation with cta_group::2");
    if (op.modifiers.multicast()) return no("a copy with cta_group::2 to several CTAs");
    const std::set<std::uint64_t> bytes = bytes_of(copy->tensor);
    if (bytes.empty()) return no("a copy with cta_group::2 whose tensor map no contract tells");
    if (bytes.size() > 1) return no("a copy with cta_group::2 whose launches have boxes of different sizes");
    p_.peer_copies[i] = *bytes.begin();
    return true;
  }

  // In all launches; empty when one of them does not say.
  std::set<std::uint64_t> bytes_of(const ir::Argument& map) const {
    const flow::Origin origin = f_.origins.of(map);
    if (!origin.is(flow::Origin::Base::symbol) || !origin.exact()) return {};
    const ir::Symbol& symbol = f_.code.symbols[origin.id];
    if (!symbol.is_parameter || symbol.parameter_index < 0) return {};
    std::set<std::uint64_t> out;
    for (const launch::Launch* l : f_.launches()) {
      if (std::size_t(symbol.parameter_index) >= l->params.size()) return {};
      const auto bytes = bytes_of(l->params[std::size_t(symbol.parameter_index)], origin.offset());
      if (!bytes) return {};
      out.insert(*bytes);
    }
    return out;
  }

  std::optional<std::uint64_t> bytes_of(const launch::Param& p, std::int64_t offset) const {
    if (const auto* fields = std::get_if<launch::StructParam>(&p.value)) {
      for (const launch::StructField& f : fields->fields)
        if (f.at == offset) return bytes_of(f.value, 0);
      return std::nullopt;
    }
    const auto* map = std::get_if<launch::TensorMapParam>(&p.value);
    if (!map || offset != 0) return std::nullopt;
    const auto found = f_.options.contract->tensor_maps.find(map->tensor_map);
    return found == f_.options.contract->tensor_maps.end() ? std::nullopt : std::optional(found->second.box_bytes());
  }

  const Facts& f_;
  Plan& p_;
};

}  // namespace

bool find_peer_copies(const Facts& facts, Plan& plan) { return PeerCopyFinder(facts, plan).run(); }

}  // namespace kiln::lower
