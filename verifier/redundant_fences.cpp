#include "verifier/lints.hpp"

#include <algorithm>
#include <chrono>
#include <set>
#include <string>

#include "ptx/isa/proxy_fence.hpp"
#include "ptx/rules/order.hpp"
#include "verifier/explore.hpp"
#include "verifier/facts.hpp"
#include "verifier/finding.hpp"
#include "verifier/verify.hpp"

namespace kiln::verifier {
namespace {

using isa::Opcode;

// Order of accesses to shared and tensor memory is what is explored; that of global memory is not.
bool is_explored_fence(const ir::Operation& op) {
  switch (op.opcode) {
    case Opcode::tcgen05_fence_before:
    case Opcode::tcgen05_fence_after:
    case Opcode::fence_mbarrier_init: return true;
    case Opcode::fence_proxy: {
      const isa::AsyncFence fence = isa::async_fence(op.modifiers);
      return fence.shared && !fence.global;
    }
    default: return false;
  }
}

// Takes the instruction out that stands at a place.
bool remove(std::vector<ir::Statement>& statements, const diag::Place& place) {
  for (auto it = statements.begin(); it != statements.end(); ++it) {
    if (auto* block = std::get_if<ir::Block>(&it->node); block && remove(block->statements, place)) return true;
    const auto* instruction = std::get_if<ir::Instruction>(&it->node);
    if (!instruction || instruction->at.begin != place.begin) continue;
    statements.erase(it);
    return true;
  }
  return false;
}

ir::Module without(ir::Module module, const diag::Place& place) {
  for (ir::Item& item : module.items)
    if (auto* f = std::get_if<ir::Function>(&item); f && f->body && remove(f->body->statements, place)) break;
  return module;
}

// What is found, by rule and place.
using Findings = std::set<std::pair<std::string, std::size_t>>;

Findings findings(const diag::Sink& sink) {
  Findings out;
  for (const diag::Diagnostic& d : sink.all()) out.emplace(d.slug, d.where.place.begin);
  return out;
}

// Whether the verifier finds something that is not known, or is not done in time.
bool finds_more(const ir::Module& module, const launch::Contract* launch, const LaunchFacts& facts,
                std::chrono::milliseconds time, const Findings& known) {
  diag::Sink sink;
  const auto is_more = [&] {
    const Findings found = findings(sink);
    return !std::includes(known.begin(), known.end(), found.begin(), found.end());
  };
  check(module, sink, rules::Profile::isa, facts);
  if (is_more()) return true;
  check_synchronisation(module, sink, launch, facts, time);
  return is_more();
}

// Fences do not mend what the order of issue leaves open.
bool may_be_mended(const diag::Diagnostic& d) {
  return d.severity != diag::Severity::note && d.slug != rules::info(rules::Rule::tcgen05_pipeline).slug;
}

struct Fence {
  diag::Place place{};
  diag::Where where{};
  std::string name{};
};

std::vector<Fence> fences(const ir::Module& module) {
  std::vector<Fence> out;
  for (const ir::Item& item : module.items) {
    const auto* f = std::get_if<ir::Function>(&item);
    if (!f || !f->body || !f->entry) continue;
    diag::Sink said;  // what decoding says was said before
    const ir::Code code = ir::decode(module, *f, said);
    for (const ir::Operation& op : code.operations)
      if (is_explored_fence(op)) out.push_back({op.instruction->at, code.where(op), ir::mnemonic(*op.instruction)});
  }
  return out;
}

}  // namespace

void check_redundant_fences(const ir::Module& module, diag::Sink& sink, const launch::Contract* launch,
                            const LaunchFacts& facts, std::chrono::milliseconds time) {
  using std::chrono::steady_clock;
  const auto start = steady_clock::now();
  const auto left = [&] {
    return time == no_limit ? time
                            : time - std::chrono::duration_cast<std::chrono::milliseconds>(steady_clock::now() - start);
  };
  if (sink.incomplete() || std::any_of(sink.all().begin(), sink.all().end(), may_be_mended)) return;
  const Findings known = findings(sink);
  ir::Module needed = module;
  // From the end: of two that order the same the first stays, nearer to what it orders.
  std::vector<Fence> candidates = fences(module);
  std::reverse(candidates.begin(), candidates.end());
  for (const Fence& fence : candidates) {
    const std::chrono::milliseconds now = left();
    if (now <= std::chrono::milliseconds::zero()) break;
    ir::Module less = without(needed, fence.place);
    const rules::Verdict v = rules::fence_needed(finds_more(less, launch, facts, now, known));
    if (!v.broken()) continue;
    broken(sink, v, fence.where, fence.name + (launch ? ", without which this launch is in order" : ""));
    needed = std::move(less);
  }
  sink.sort();
}

}  // namespace kiln::verifier
