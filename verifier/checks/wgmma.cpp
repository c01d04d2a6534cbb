// Registers of wgmma: accumulators and fragments of A. ptxas knows them too: where a register is touched too early it
// puts a wait of its own (its note C7517, or it lets no two wgmma overlap, C7514), and where no fence comes before it,
// one too (C7519). So the values are right, and it costs. With -O1 they are not always: tests/gpu/wgmma_registers.cu.
#include <algorithm>
#include <unordered_map>

#include "ptx/flow/forward.hpp"
#include "ptx/ops/operations.hpp"
#include "ptx/rules/order.hpp"
#include "verifier/checks/checks.hpp"
#include "verifier/finding.hpp"

namespace kiln::verifier {
namespace {

using flow::BlockId;
using isa::Opcode;

class WgmmaRegisters {
 public:
  explicit WgmmaRegisters(const Facts& facts) : facts_(facts), code_(facts.code) {
    for (std::uint32_t i = 0; i < code_.operations.size(); ++i)
      for (const ir::RegisterId r : fragments(i)) bit_.emplace(r, bit_.size());
    holder_.assign(bit_.size(), 0);
    is_reported_.assign(code_.operations.size(), false);
  }

  void check() {
    if (bit_.empty()) return;
    in_.assign(facts_.cfg.blocks.size(), {});
    in_[0].assign(bit_.size(), {});
    flow::propagate(
        facts_.cfg, in_, [&](BlockId b, const State& s) { return walk(b, s, false); }, join_into);
    for (const BlockId b : facts_.cfg.reverse_post_order) walk(b, in_[b], true);
  }

 private:
  static constexpr std::uint8_t free = 255;  // no wgmma has it
  struct Register {
    std::uint8_t groups = free;  // that were committed since it was issued to a wgmma, the wgmma's own first
    bool is_touched = true;      // since the last fence, by other instructions

    bool operator==(const Register&) const = default;
  };
  using State = std::vector<Register>;  // by bit; empty: a block that nothing has reached yet

  static bool join_into(State& into, const State& from) {
    if (into.empty()) return into = from, true;
    bool changed = false;
    for (std::size_t k = 0; k < from.size(); ++k) {
      const Register joined{std::min(into[k].groups, from[k].groups), into[k].is_touched || from[k].is_touched};
      if (joined == into[k]) continue;
      into[k] = joined;
      changed = true;
    }
    return changed;
  }

  // The registers of D and A of a wgmma.
  std::vector<ir::RegisterId> fragments(std::uint32_t operation) const {
    const ir::Operation& op = code_.operations[operation];
    const auto mma = ops::as<ops::Wgmma>(op);
    if (!mma || !facts_.is_formed(op)) return {};
    std::vector<ir::RegisterId> out;
    for (const ops::Operand* operand : {&mma->d, &mma->a})
      for (const ir::Argument& part : code_.components(**operand))
        if (part.kind == ir::Argument::Kind::reg) out.push_back(part.id);
    return out;
  }

  State walk(BlockId b, State state, bool report) {
    const flow::BasicBlock& block = facts_.cfg.blocks[b];
    for (std::uint32_t i = block.first; i < block.last; ++i) {
      const ir::Operation& op = code_.operations[i];
      switch (op.opcode) {
        case Opcode::wgmma_fence:
          for (Register& r : state) r.is_touched = false;
          break;
        case Opcode::wgmma_commit_group:
          for (Register& r : state)
            if (r.groups < free - 1) ++r.groups;
          break;
        case Opcode::wgmma_wait_group: wait(op, state); break;
        case Opcode::wgmma_mma_async:
        case Opcode::wgmma_mma_async_sp: multiply(i, state, report); break;
        default: touch(i, state, report); break;
      }
    }
    return state;
  }

  static void wait(const ir::Operation& op, State& state) {
    const auto count = ops::roles<ops::Count>(op).count;
    if (!count || count->kind != ir::Argument::Kind::immediate) return;
    for (Register& r : state)
      if (std::int64_t(r.groups) > count->value) r.groups = free;
  }

  void multiply(std::uint32_t operation, State& state, bool report) {
    const ir::Operation& op = code_.operations[operation];
    bool fenced = true;
    for (const ir::RegisterId r : fragments(operation)) {
      Register& now = state[bit_.at(r)];
      fenced = fenced && !now.is_touched;
      now.groups = 0;
      if (report) holder_[bit_.at(r)] = operation;
    }
    for (Register& r : state)
      if (!fenced) r.is_touched = false;  // as if there were one
    if (!report || fenced) return;
    const rules::Verdict v = rules::wgmma_fence(false);
    if (!v.broken()) return;
    diag::Diagnostic& d = broken(facts_.sink, v, Subject{code_, op});
    if (const auto repair = insertion_before(code_, op, "wgmma.fence.sync.aligned;")) d.fixits.push_back(*repair);
  }

  void touch(std::uint32_t operation, State& state, bool report) {
    const auto written = facts_.definitions.written(operation);
    for (const auto registers : {facts_.definitions.read(operation), written})
      for (const ir::RegisterId r : registers) {
        const auto found = bit_.find(r);
        if (found == bit_.end()) continue;
        Register& now = state[found->second];
        if (report && now.groups != free) early(operation, r, now);
        now.is_touched = true;
      }
    if (code_.operations[operation].guard) return;
    for (const ir::RegisterId r : written)
      if (const auto found = bit_.find(r); found != bit_.end()) state[found->second].groups = free;
  }

  // Once for each wgmma.
  void early(std::uint32_t operation, ir::RegisterId r, const Register& now) {
    const std::uint32_t holder = holder_[bit_.at(r)];
    const rules::Verdict v = rules::wgmma_registers(false);
    if (is_reported_[holder] || !v.broken()) return;
    is_reported_[holder] = true;
    const ir::Operation& op = code_.operations[operation];
    diag::Diagnostic& d = broken(facts_.sink, v, Subject{code_, op}, code_.registers[r].name);
    d.notes.insert(d.notes.begin(), {"it is in flight from here on", code_.where(code_.operations[holder])});
    // A wait beside the wgmma: the same warps execute it.
    const bool beside = facts_.cfg.block_of(operation) == facts_.cfg.block_of(holder) && holder < operation;
    if (!beside || now.groups == 0 || code_.operations[holder].guard) return;
    const std::string wait = "wgmma.wait_group.sync.aligned " + std::to_string(now.groups - 1) + ";";
    if (const auto repair = insertion_before(code_, op, wait)) d.fixits.push_back(*repair);
  }

  const Facts& facts_;
  const ir::Code& code_;
  std::unordered_map<ir::RegisterId, std::size_t> bit_;
  std::vector<State> in_;
  std::vector<std::uint32_t> holder_;  // by bit: the wgmma that was seen last
  std::vector<bool> is_reported_;      // by operation: wgmma
};

}  // namespace

void check_wgmma_registers(const Facts& facts) { WgmmaRegisters(facts).check(); }

}  // namespace kiln::verifier
