// spcompress and spdecompress: how many registers each vector has. PTX ISA has no table of it; measured with
// ptxas 13.5.
#include <charconv>

#include "ptx/rules/forms.hpp"
#include "verifier/checks/forms.hpp"
#include "verifier/finding.hpp"

namespace kiln::verifier {
namespace {

constexpr int register_bits = 32, most_registers = 253;  // of the three vectors together

// ".sp::2:4": of so many elements so many are kept.
struct Sparsity {
  int kept = 0, of = 0;
};

Sparsity sparsity(const isa::Modifiers& m) {
  Sparsity out;
  for (const std::string& word : m.others) {
    if (!word.starts_with("sp::")) continue;
    const char* const end = word.data() + word.size();
    const char* const colon = std::from_chars(word.data() + 4, end, out.kept).ptr;
    if (colon != end) std::from_chars(colon + 1, end, out.of);
  }
  return out;
}

int registers(int elements, int bits) { return (elements * bits + register_bits - 1) / register_bits; }

// Says which operand has another length than `due`; false when it has.
bool has_length(const ir::Code& code, const ir::Operation& op, std::size_t at, int due, diag::Sink& sink) {
  const ir::Argument& a = op.arg(at);
  return !judge(sink, rules::form_operands(int(a.count) == due), {code, op, a.operand},
                std::to_string(a.count) + " registers where " + std::to_string(due) + " belong");
}

}  // namespace

bool check_compression(const ir::Code& code, const ir::Operation& op, diag::Sink& sink) {
  const isa::Modifiers& m = op.modifiers;
  const int n = isa::repeat_count(m.repeat), element = isa::bits(m.types[0]), index = isa::bits(m.types[1]);
  const auto refuse = [&](const std::string& what) {
    judge(sink, rules::form_modifier(false), {code, op}, what);
    return false;
  };
  if (op.opcode == isa::Opcode::spcompress)
    return has_length(code, op, 0, (n * index + element - 1) / element, sink) && has_length(code, op, 1, n, sink) &&
           has_length(code, op, 2, 2 * n, sink);
  if (op.opcode != isa::Opcode::spdecompress) return true;
  const Sparsity s = sparsity(m);
  if (s.of > 1 << index)
    return refuse("indices of " + std::to_string(index) + " bits for groups of " + std::to_string(s.of));
  if (s.kept == 4 && element != 8) return refuse("four elements of a group that have no 8 bits");
  if (n * s.of * element < register_bits) return refuse("less than a register of elements");
  const int whole = registers(n * s.of, element), indices = registers(n * s.kept, index),
            kept = registers(n * s.kept, element);
  if (whole + indices + kept > most_registers)
    return refuse("more than " + std::to_string(most_registers) + " registers");
  return has_length(code, op, 0, whole, sink) && has_length(code, op, 1, indices, sink) &&
         has_length(code, op, 2, kept, sink);
}

}  // namespace kiln::verifier
