#include "ptx/ops/operations.hpp"
#include "ptx/rules/tma.hpp"
#include "verifier/checks/checks.hpp"
#include "verifier/finding.hpp"

namespace kiln::verifier {
namespace {

using flow::Bits;
using isa::Opcode;
using Kind = ir::Argument::Kind;

bool is_tensor_copy(Opcode op) {
  return op == Opcode::cp_async_bulk_tensor || op == Opcode::cp_async_bulk_prefetch_tensor ||
         op == Opcode::cp_reduce_async_bulk_tensor;
}

bool is_plain_copy(Opcode op) {
  return op == Opcode::cp_async_bulk || op == Opcode::cp_async_bulk_prefetch || op == Opcode::cp_reduce_async_bulk ||
         op == Opcode::multimem_cp_async_bulk || op == Opcode::multimem_cp_reduce_async_bulk;
}

// A gather or scatter names one column and four rows, whatever its dimension.
int coordinates_due(const isa::Modifiers& m) {
  const bool four = m.tensor_mode == isa::TensorMode::gather4 || m.tensor_mode == isa::TensorMode::scatter4;
  return four ? 5 : isa::dimensions(m.dims);
}

// Judges a number of which only some bits need to be known: a one in the low bits is wrong whatever the others are.
std::optional<std::int64_t> with_low_bits(Bits bits, std::uint64_t low) {
  if (bits.is_nothing()) return std::nullopt;
  if (bits.is_constant()) return std::int64_t(bits.one);
  return bits.one & low ? std::optional(std::int64_t(bits.one & low)) : std::nullopt;
}

// [map, {coordinates}], with what replaces fields of the map between them.
void check_rank(const Facts& facts, const ir::Operation& op, const ir::Argument& tensor) {
  const auto parts = facts.code.components(tensor);
  if (parts.size() < 2 || parts.back().kind != Kind::vector || op.modifiers.dims == isa::TensorDims::none) return;
  const int count = int(parts.back().count);
  judge(facts.sink, rules::tma_rank(coordinates_due(op.modifiers), count), {facts.code, op, parts.back().operand},
        std::to_string(count) + (count == 1 ? " coordinate" : " coordinates") + " for ." +
            std::string(spelling(op.modifiers.dims)));
}

void check_tensor_copy(const Facts& facts, const ir::Operation& op) {
  const auto copy = ops::roles<ops::TensorCopy>(op);
  check_rank(facts, op, copy.tensor);
  const auto parts = facts.code.components(copy.shared);
  if (parts.size() != 1) return;
  const auto low = with_low_bits(facts.known.of(parts[0], 64), isa::tma_shared_alignment - 1);
  if (!low) return;
  const auto address = std::uint32_t(*low & flow::shared_window_mask);
  judge(facts.sink, rules::tma_alignment(address), {facts.code, op, copy.shared->operand, false},
        "an address " + std::to_string(address % isa::tma_shared_alignment) + " bytes after such a multiple");
}

void check_bulk_copy(const Facts& facts, const ir::Operation& op) {
  const ops::Operand size = ops::roles<ops::BulkCopy>(op).bytes;
  if (!size) return;
  if (const auto bytes = with_low_bits(facts.known.of(size, 32), 15))
    judge(facts.sink, rules::bulk_size(*bytes), {facts.code, op, size->operand});
}

}  // namespace

void check_copies(const Facts& facts) {
  for (const ir::Operation& op : facts.code.operations) {
    if (!facts.is_formed(op)) continue;
    if (is_tensor_copy(op.opcode))
      check_tensor_copy(facts, op);
    else if (op.opcode == Opcode::applypriority_tensor)
      check_rank(facts, op, op.arg(0));
    else if (is_plain_copy(op.opcode))
      check_bulk_copy(facts, op);
  }
}

}  // namespace kiln::verifier
