#include "verifier/callers.hpp"

#include <algorithm>

#include "ptx/ops/operations.hpp"

namespace kiln::verifier {
namespace {

using flow::Who;

// A thread's number says which one it is only where CTAs have one dimension.
bool is_flat(const ir::Function& f) {
  const ir::Performance* p = f.find("reqntid");
  if (!p) p = f.find("maxntid");
  return !p || std::all_of(p->values.begin() + (p->values.empty() ? 0 : 1), p->values.end(),
                           [](std::int64_t extent) { return extent <= 1; });
}

flow::ThreadSet cta_of(const Facts& facts) {
  flow::ThreadSet all;
  for (int t = 0; t < facts.uniformity.threads(); ++t) all.set(std::size_t(t));
  return all;
}

}  // namespace

Callers::Callers(const ir::Module& module) {
  std::vector<const ir::Function*> others;
  for (const ir::Item& item : module.items) {
    const auto* f = std::get_if<ir::Function>(&item);
    if (f && f->body) (f->entry ? order_ : others).push_back(f);
  }
  // A function is declared before it is used, so a caller mostly comes later in the text.
  order_.insert(order_.end(), others.rbegin(), others.rend());
}

std::vector<Entrance> Callers::entrances(const Facts& facts) const {
  const auto calls = calls_.find(facts.function.name);
  if (!facts.function.entry && calls != calls_.end()) return calls->second;
  return {{cta_of(facts), cta_of(facts), false, facts.function.entry, {}}};
}

void Callers::note(const Facts& facts) {
  const std::vector<Entrance> here = entrances(facts);
  for (std::uint32_t i = 0; i < facts.code.operations.size(); ++i) {
    const ir::Operation& op = facts.code.operations[i];
    const auto call = ops::as<ops::Call>(op);
    if (!call || !call->callee || call->callee->kind != ir::Argument::Kind::function) continue;
    const std::string& name = call->callee->operand->text;
    const Who who = facts.uniformity.who(i);
    for (const Entrance& e : here) {
      Entrance out = e;
      out.threads &= facts.uniformity.threads_at(i);
      out.one_per_warp |= who == Who::one_thread || who == Who::one_per_warp;
      out.is_exact &= facts.uniformity.is_exact(i) && is_flat(facts.function);
      out.call = facts.code.where(op);
      std::vector<Entrance>& known = calls_[name];
      const auto same = [&](const Entrance& o) {
        return o.threads == out.threads && o.cta == out.cta && o.one_per_warp == out.one_per_warp &&
               o.is_exact == out.is_exact;
      };
      if (std::none_of(known.begin(), known.end(), same)) known.push_back(std::move(out));
    }
  }
}

}  // namespace kiln::verifier
