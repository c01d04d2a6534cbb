// forms.def as data.
#include <algorithm>
#include <array>
#include <charconv>
#include <mutex>
#include <unordered_map>

#include "verifier/checks/forms.hpp"

namespace kiln::verifier {
namespace {

std::vector<std::string_view> split(std::string_view text, char at) {
  std::vector<std::string_view> out;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(at), text.size());
    if (end > 0) out.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

std::int64_t take_number(std::string_view& text) {
  std::int64_t n = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), n);
  if (failed == std::errc{}) text.remove_prefix(std::size_t(end - text.data()));
  return n;
}

// "(u32)"
isa::ScalarType take_type(std::string_view& text) {
  const std::size_t end = text.find(')');
  const auto type = isa::parse_type(text.substr(1, end - 1)).value_or(isa::ScalarType::none);
  text.remove_prefix(end + 1);
  return type;
}

// "<0..7>" and "<0..7/4>", where the last number is the step from one to the next.
void take_range(std::string_view& text, OperandSlot& slot) {
  text.remove_prefix(1);
  slot.low = take_number(text);
  text.remove_prefix(2);
  slot.high = take_number(text);
  if (text.starts_with('/')) {
    text.remove_prefix(1);
    slot.step = std::uint64_t(take_number(text));
  }
  text.remove_prefix(1);
}

OperandList make_operands(std::string_view text) {
  OperandList list;
  while (!text.empty()) {
    OperandSlot slot{text[0]};
    text.remove_prefix(1);
    slot.count = std::uint32_t(take_number(text));
    if (text.starts_with('/')) {
      text.remove_prefix(1);
      slot.columns = std::uint32_t(take_number(text));
    }
    if (text.starts_with('(')) slot.type = take_type(text);
    if (text.starts_with('<')) take_range(text, slot);
    list.letters += slot.letter;
    list.slots.push_back(slot);
  }
  return list;
}

// A row of a table as it is written: an instruction, its modifiers and the lists of operands that it may have.
struct Row {
  isa::Opcode opcode;
  std::string_view modifiers;
  std::array<std::string_view, 8> operands;
};

constexpr Row rows[] = {
#define FORM(opcode, modifiers, ...) {isa::Opcode::opcode, modifiers, {__VA_ARGS__}},
#include "verifier/checks/forms.def"
#include "verifier/checks/forms_arithmetic.def"
#include "verifier/checks/forms_bits.def"
#include "verifier/checks/forms_matrix.def"
#include "verifier/checks/forms_memory.def"
#include "verifier/checks/forms_texture.def"
#include "verifier/checks/forms_video.def"
#include "verifier/checks/forms_warp.def"
#undef FORM
};

Form make_form(const Row& row) {
  Form form;
  const auto words = split(row.modifiers, ' ');
  form.slots.reserve(words.size());
  for (std::string_view word : words) {
    Form::Slot slot;
    slot.optional = word.ends_with('?');
    if (slot.optional) word.remove_suffix(1);
    slot.first = word.starts_with('^');
    if (slot.first) word.remove_prefix(1);
    slot.words = word;
    form.slots.push_back(slot);
  }
  for (const std::string_view list : row.operands)
    if (list.data()) form.operands.push_back(make_operands(list));
  return form;
}

constexpr std::size_t opcodes = [] {
  std::size_t last = 0;
  for (const Row& row : rows) last = std::max(last, std::size_t(row.opcode));
  return last + 1;
}();

// Where the rows of each instruction stand: the first, and after each the next; `none` after the last.
struct RowIndex {
  static constexpr std::uint16_t none = 0xFFFF;
  std::array<std::uint16_t, opcodes> first{};
  std::array<std::uint16_t, std::size(rows)> next{};
};

constexpr RowIndex row_index = [] {
  RowIndex out;
  out.first.fill(RowIndex::none);
  for (std::size_t i = std::size(rows); i-- > 0;) {
    std::uint16_t& first = out.first[std::size_t(rows[i].opcode)];
    out.next[i] = first;
    first = std::uint16_t(i);
  }
  return out;
}();

std::size_t first_row(isa::Opcode op) {
  return std::size_t(op) < opcodes ? row_index.first[std::size_t(op)] : RowIndex::none;
}

}  // namespace

bool Form::Slot::has(std::string_view modifier) const {
  for (std::size_t at = 0; at + modifier.size() <= words.size(); ++at) {
    const std::size_t end = at + modifier.size();
    if ((end == words.size() || words[end] == '|') && words.substr(at, modifier.size()) == modifier) return true;
    at = words.find('|', at);
    if (at == words.npos) return false;
  }
  return false;
}

std::vector<std::string_view> Form::Slot::alternatives() const { return split(words, '|'); }

// A file has few of the instructions: their rows alone are taken apart, when the first of them is met.
std::span<const Form> find_forms(isa::Opcode op) {
  static std::mutex taking;
  static std::unordered_map<isa::Opcode, std::vector<Form>> taken;
  const std::lock_guard lock(taking);
  const auto [at, is_new] = taken.try_emplace(op);
  if (is_new)
    for (std::size_t i = first_row(op); i != RowIndex::none; i = row_index.next[i])
      at->second.push_back(make_form(rows[i]));
  return at->second;
}

}  // namespace kiln::verifier
