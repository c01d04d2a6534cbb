#include "ptx/ops/operations.hpp"

#include <algorithm>
#include <type_traits>

namespace kiln::ops {
namespace {

using Kind = ir::Argument::Kind;

bool is_sparse(const ir::Operation& op) {
  switch (op.opcode) {
    case isa::Opcode::mma: return std::ranges::count(op.modifiers.others, "sp::ordered_metadata") != 0;
    case isa::Opcode::mma_sp:
    case isa::Opcode::wgmma_mma_async_sp:
    case isa::Opcode::tcgen05_mma_sp:
    case isa::Opcode::tcgen05_mma_ws_sp: return true;
    default: return false;
  }
}
bool is_ws(isa::Opcode op) { return op == isa::Opcode::tcgen05_mma_ws || op == isa::Opcode::tcgen05_mma_ws_sp; }

// Operands from left to right.
class Reader {
 public:
  explicit Reader(const ir::Operation& op) : rest_(op.arguments) {}

  std::size_t left() const { return rest_.size(); }
  Operand next() const { return rest_.empty() ? Operand() : Operand(rest_.front()); }
  bool take(Operand& role) {
    if (rest_.empty()) return false;
    role = Operand(rest_.front());
    rest_ = rest_.subspan(1);
    return true;
  }
  void skip() { rest_ = {}; }

 private:
  std::span<const ir::Argument> rest_;
};

template <typename T>
void complete(const ir::Operation&, T&) {}

void complete(const ir::Operation& op, Mma& mma) {
  const isa::Modifiers& m = op.modifiers;
  mma.form = {.kind = m.kind,
              .group = m.cta_group,
              .sparse = is_sparse(op),
              .ws = is_ws(op.opcode),
              .block_scale = m.block_scale,
              .scale_vector = m.scale_vector,
              .a_in_tmem = mma.a->kind == Kind::address,
              .collector = m.collector,
              .collector_b = m.collector_b,
              .decompress_b = m.decompress_b,
              .ashift = m.ashift,
              .disable_output_lane = bool(mma.lanes),
              .scale_input_d = bool(mma.scale_input_d),
              .zero_column_mask = bool(mma.zero_mask)};
}

}  // namespace

Family family(isa::Opcode op) {
  static constexpr Family families[] = {
      Family::unknown,
#define OPCODE(id, spelling, writes, unit, family) Family::family,
#include "ptx/isa/opcodes.def"
#undef OPCODE
  };
  return families[std::size_t(op)];
}

template <typename T>
std::optional<T> as(const ir::Operation& op) {
  [[maybe_unused]] const isa::Modifiers& m = op.modifiers;
  Reader reader(op);
  T out;
  bool is_read = false;
  switch (family(op.opcode)) {
#define FAMILY(id, Type) \
  case Family::id:       \
    if constexpr (std::is_same_v<T, Type>) is_read = [&]([[maybe_unused]] auto& o) {
#define ROLE(member) \
  if (!reader.take(o.member)) return false;
#define ROLE_IF(member, condition)                           \
  {                                                          \
    [[maybe_unused]] const ir::Argument& a = *reader.next(); \
    [[maybe_unused]] const std::size_t left = reader.left(); \
    if ((condition) && !reader.take(o.member)) return false; \
  }
#define ROLES() reader.skip();
#define END()                \
  return reader.left() == 0; \
  }                          \
  (out);                     \
  break;
#include "ptx/ops/families.def"
#undef FAMILY
#undef ROLE
#undef ROLE_IF
#undef ROLES
#undef END
  }
  if (!is_read) return std::nullopt;
  complete(op, out);
  return out;
}

template std::optional<Unread> as(const ir::Operation&);
template std::optional<Alu> as(const ir::Operation&);
template std::optional<Branch> as(const ir::Operation&);
template std::optional<BranchTable> as(const ir::Operation&);
template std::optional<Call> as(const ir::Operation&);
template std::optional<Count> as(const ir::Operation&);
template std::optional<Stack> as(const ir::Operation&);
template std::optional<MemoryAccess> as(const ir::Operation&);
template std::optional<Atomic> as(const ir::Operation&);
template std::optional<AsyncStore> as(const ir::Operation&);
template std::optional<BulkStore> as(const ir::Operation&);
template std::optional<CacheLine> as(const ir::Operation&);
template std::optional<CachePolicy> as(const ir::Operation&);
template std::optional<Fence> as(const ir::Operation&);
template std::optional<WarpExchange> as(const ir::Operation&);
template std::optional<Barrier> as(const ir::Operation&);
template std::optional<Mbarrier> as(const ir::Operation&);
template std::optional<CpAsync> as(const ir::Operation&);
template std::optional<BulkCopy> as(const ir::Operation&);
template std::optional<TensorCopy> as(const ir::Operation&);
template std::optional<TensorMapEdit> as(const ir::Operation&);
template std::optional<LaunchControl> as(const ir::Operation&);
template std::optional<MatrixAccess> as(const ir::Operation&);
template std::optional<MmaSync> as(const ir::Operation&);
template std::optional<Wgmma> as(const ir::Operation&);
template std::optional<TmemAllocation> as(const ir::Operation&);
template std::optional<TmemAccess> as(const ir::Operation&);
template std::optional<TmemCopy> as(const ir::Operation&);
template std::optional<TmemShift> as(const ir::Operation&);
template std::optional<Commit> as(const ir::Operation&);
template std::optional<Mma> as(const ir::Operation&);

}  // namespace kiln::ops
