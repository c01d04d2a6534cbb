#include "verifier/checks/checks.hpp"

#include <array>
#include <optional>

#include "ptx/flow/forward.hpp"
#include "ptx/ops/operations.hpp"
#include "ptx/rules/tcgen05_form.hpp"
#include "verifier/finding.hpp"

namespace kiln::verifier {
namespace {

using isa::CollectorUse;
using State = std::array<isa::CollectorState, isa::all_collector_buffers>;

class Collectors {
 public:
  explicit Collectors(const Facts& facts) : facts_(facts), in_(facts.cfg.blocks.size()) {}

  void check() {
    // What a caller has left in the buffers is not known here, and may be what the function uses.
    in_[0] = State{};
    if (!facts_.function.entry) in_[0]->fill({true, 0});
    flow::propagate(
        facts_.cfg, in_, [&](flow::BlockId b, const Entry& s) { return Entry(walk(b, s, false)); }, join_into);
    for (flow::BlockId b : facts_.cfg.reverse_post_order) walk(b, in_[b], true);
  }

 private:
  using Entry = std::optional<State>;  // nothing: not reached

  static bool join_into(Entry& into, const Entry& from) {
    if (!into) return into = from, true;
    State joined;
    for (std::size_t i = 0; i < joined.size(); ++i) joined[i] = rules::join((*into)[i], (*from)[i]);
    if (joined == *into) return false;
    into = joined;
    return true;
  }

  State walk(flow::BlockId b, const Entry& entry, bool report) {
    State state = entry.value_or(State{});
    const flow::BasicBlock& block = facts_.cfg.blocks[b];
    for (std::uint32_t i = block.first; i < block.last; ++i)
      if (const auto mma = ops::as<ops::Mma>(facts_.code.operations[i]);
          mma && facts_.is_formed(facts_.code.operations[i]))
        execute(facts_.code.operations[i], *mma, state, report);
    return state;
  }

  void execute(const ir::Operation& op, const ops::Mma& mma, State& state, bool report) {
    const isa::MmaForm& f = mma.form;
    execute(op, isa::collector_use(f.collector), isa::spelling(f.collector), owner(f.ws ? mma.b : mma.a),
            state[std::size_t(isa::collector_buffer(f.collector, f.ws))], report);
    if (!f.ws)
      execute(op, isa::collector_use(f.collector_b), isa::spelling(f.collector_b), owner(mma.b),
              state[isa::collector_b_buffer], report);
  }

  void execute(const ir::Operation& op, CollectorUse use, std::string_view spelling, std::uint64_t operand,
               isa::CollectorState& buffer, bool report) {
    const auto [next, verdict] = rules::step(buffer, use, operand);
    if (report)
      judge(facts_.sink, verdict, {facts_.code, op},
            "." + std::string(spelling) +
                (buffer.filled ? " with another operand than the fill's" : " where no fill is live"));
    const bool ends = use == CollectorUse::discard || use == CollectorUse::lastuse;
    if (!op.guard || !ends) buffer = next;
  }

  // A name for an operand whose value is a constant; 0 otherwise.
  std::uint64_t owner(const ir::Argument& a) const {
    const auto value = facts_.known.constant(a, a.kind == ir::Argument::Kind::address ? 32 : 64);
    return value ? *value + 1 : 0;
  }

  const Facts& facts_;
  std::vector<Entry> in_;
};

}  // namespace

void check_collectors(const Facts& facts) { Collectors(facts).check(); }

}  // namespace kiln::verifier
