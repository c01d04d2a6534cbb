#include "ptx/flow/webs.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <span>

#include "ptx/flow/cfg.hpp"
#include "ptx/flow/definitions.hpp"

namespace kiln::flow {
namespace {

using ir::RegisterId;
using Kind = ir::Argument::Kind;

// It writes its registers after its instruction (mma.sync does not, and stays whole with wgmma), or parts of them only.
bool stays_whole(const ir::Operation& op) {
  const isa::Unit unit = isa::unit(op.opcode);
  return unit == isa::Unit::tcgen05 || unit == isa::Unit::matrix || unit == isa::Unit::video ||
         unit == isa::Unit::unknown;
}

// The webs of one register: sets of values that are the same register somewhere.
class Webs {
 public:
  Webs(const ir::Code& code, const Cfg& cfg, const Definitions& definitions, RegisterId r)
      : code_(code), cfg_(cfg), writers_(definitions.writers(r)) {
    entered_.resize(cfg.blocks.size(), none);
    for (std::size_t k = 0; k < writers_.size(); ++k) {
      made_[writers_[k]] = make();
      last_[cfg.block_of(writers_[k])] = writers_[k];
    }
    for (const std::uint32_t w : writers_)
      if (code.operations[w].guard) unite(made_.at(w), before(w));
    for (const std::uint32_t u : definitions.readers(r)) read_[u] = before(u);
  }

  std::uint32_t written(std::uint32_t operation) { return root(made_.at(operation)); }
  /// The only write that reaches an operation, on all paths; nothing if there are several.
  std::optional<std::uint32_t> only_write(std::uint32_t operation) const {
    const auto own = last_before(operation);
    if (own) return code_.operations[*own].guard ? std::nullopt : own;
    std::optional<std::uint32_t> found;
    std::vector<bool> seen(cfg_.blocks.size());
    std::vector<BlockId> work{cfg_.block_of(operation)};
    while (!work.empty()) {
      const BlockId b = work.back();
      work.pop_back();
      if (cfg_.blocks[b].in.empty()) return std::nullopt;
      for (const std::uint32_t e : cfg_.blocks[b].in) {
        const BlockId from = cfg_.edges[e].from;
        const auto last = last_.find(from);
        if (last == last_.end()) {
          if (!seen[from]) seen[from] = true, work.push_back(from);
        } else if (code_.operations[last->second].guard || (found && *found != last->second)) {
          return std::nullopt;
        } else {
          found = last->second;
        }
      }
    }
    return found;
  }
  std::uint32_t read(std::uint32_t operation) { return root(read_.at(operation)); }

 private:
  static constexpr std::uint32_t none = ~std::uint32_t{0};

  std::uint32_t make() { return set_.push_back(std::uint32_t(set_.size())), std::uint32_t(set_.size() - 1); }
  std::uint32_t root(std::uint32_t v) {
    while (set_[v] != v) v = set_[v] = set_[set_[v]];
    return v;
  }
  void unite(std::uint32_t a, std::uint32_t b) {
    a = root(a), b = root(b);
    set_[std::max(a, b)] = std::min(a, b);
  }

  // The value that an operation finds.
  std::uint32_t before(std::uint32_t operation) {
    const auto own = last_before(operation);
    return own ? made_.at(*own) : entered(cfg_.block_of(operation));
  }

  // The last write before an operation in its block.
  std::optional<std::uint32_t> last_before(std::uint32_t operation) const {
    const auto next = std::lower_bound(writers_.begin(), writers_.end(), operation);
    if (next == writers_.begin()) return std::nullopt;
    const std::uint32_t last = *std::prev(next);
    return last >= cfg_.blocks[cfg_.block_of(operation)].first ? std::optional(last) : std::nullopt;
  }

  // The value at the beginning of a block: what comes out of each block before it.
  std::uint32_t entered(BlockId first) {
    std::vector<BlockId> work;
    const auto value = [&](BlockId b) {
      if (entered_[b] == none) entered_[b] = make(), work.push_back(b);
      return entered_[b];
    };
    const std::uint32_t out = value(first);
    while (!work.empty()) {
      const BlockId b = work.back();
      work.pop_back();
      for (const std::uint32_t e : cfg_.blocks[b].in) {
        const BlockId from = cfg_.edges[e].from;
        const auto last = last_.find(from);
        unite(entered_[b], last == last_.end() ? value(from) : made_.at(last->second));
      }
    }
    return out;
  }

  const ir::Code& code_;
  const Cfg& cfg_;
  std::span<const std::uint32_t> writers_;
  std::vector<std::uint32_t> set_{}, entered_{};            // entered_ by block
  std::map<std::uint32_t, std::uint32_t> made_{}, read_{};  // by operation
  std::map<BlockId, std::uint32_t> last_{};                 // writer of a block
};

// Gives the registers of one operand their new numbers.
template <class F>
void rename(ir::Code& code, ir::Argument& a, F number) {
  switch (a.kind) {
    case Kind::reg: a.id = number(a.id); return;
    case Kind::vector:
    case Kind::list:
    case Kind::pair:
    case Kind::address:
      for (std::uint32_t k = 0; k < a.count; ++k) rename(code, code.arguments[a.id + k], number);
      return;
    default: return;
  }
}

// The number that an operation copies into its register.
std::optional<std::int64_t> copied(const ir::Operation& op) {
  if (op.opcode != isa::Opcode::mov || op.arguments.size() != 2 || op.arguments[1].kind != Kind::immediate)
    return std::nullopt;
  return op.arguments[0].kind == Kind::reg ? std::optional(op.arguments[1].value) : std::nullopt;
}

// It takes numbers where it takes registers. Which numbers is not asked: forms are judged before.
bool takes_numbers(const ir::Operation& op) {
  return isa::unit(op.opcode) == isa::Unit::alu || op.opcode == isa::Opcode::shfl;
}

// How many leading operands hold results.
std::size_t results(const ir::Operation& op, bool writes) {
  const std::size_t most = isa::results(isa::writes(op.opcode));
  return most > 1 ? std::min(most, op.arguments.size()) : writes;
}

}  // namespace

ir::Code with_webs(ir::Code code) {
  const Cfg cfg(code);
  const Definitions definitions(code);
  std::vector<bool> whole(code.registers.size());
  for (std::uint32_t i = 0; i < code.operations.size(); ++i)
    if (stays_whole(code.operations[i]))
      for (const RegisterId r : definitions.written(i)) whole[r] = true;
  std::map<std::pair<std::uint32_t, RegisterId>, RegisterId> written, read;  // by operation and register
  const auto registers = RegisterId(code.registers.size());
  for (RegisterId r = 0; r < registers; ++r) {
    if (whole[r] || definitions.writers(r).size() < 2) continue;
    Webs webs(code, cfg, definitions, r);
    std::map<std::uint32_t, RegisterId> numbers;
    const auto number = [&](std::uint32_t web) {
      const auto [found, is_new] = numbers.try_emplace(web, r);
      if (is_new && numbers.size() > 1) {
        found->second = RegisterId(code.registers.size());
        code.registers.push_back(ir::RegisterInfo(code.registers[r]));
      }
      return found->second;
    };
    for (const std::uint32_t w : definitions.writers(r)) written[{w, r}] = number(webs.written(w));
    for (const std::uint32_t u : definitions.readers(r)) read[{u, r}] = number(webs.read(u));
    const auto writers = definitions.writers(r);
    if (std::none_of(writers.begin(), writers.end(), [&](std::uint32_t w) { return copied(code.operations[w]); }))
      continue;
    for (const std::uint32_t u : definitions.readers(r)) {
      const auto from = takes_numbers(code.operations[u]) ? webs.only_write(u) : std::nullopt;
      const auto number = from ? copied(code.operations[*from]) : std::nullopt;
      if (!number) continue;
      ir::Operation& op = code.operations[u];
      for (ir::Argument& a : std::span(op.arguments).subspan(results(op, true)))
        if (a.kind == Kind::reg && a.id == r && a.value == 0 && !a.negated)
          a.kind = Kind::immediate, a.id = 0, a.value = *number;
    }
  }
  for (std::uint32_t i = 0; i < code.operations.size(); ++i) {
    ir::Operation& op = code.operations[i];
    const auto numbered = [&](const auto& numbers) {
      return [&, i](RegisterId r) {
        const auto found = numbers.find({i, r});
        return found == numbers.end() ? r : found->second;
      };
    };
    const std::span<ir::Argument> all = op.arguments;
    const std::size_t count = results(op, !definitions.written(i).empty());
    for (ir::Argument& a : all.first(count)) rename(code, a, numbered(written));
    for (ir::Argument& a : all.subspan(count)) rename(code, a, numbered(read));
    if (op.guard) op.guard = numbered(read)(*op.guard);
  }
  return code;
}

}  // namespace kiln::flow
