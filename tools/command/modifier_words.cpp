#include "tools/command/modifier_words.hpp"

#include <fmt/format.h>

#include <charconv>

namespace kiln::command {
namespace {

struct WordsRow {
  std::string_view opcode, modifier, question, answer;
};

constexpr WordsRow words_rows[] = {
#define MODIFIER(opcode, modifier, question, answer) {opcode, modifier, question, answer},
#include "tools/command/modifier_words.def"
#undef MODIFIER
};

bool take_size(std::string_view& text, char letter, int& to) {
  if (!text.starts_with(letter)) return false;
  const char* const end = text.data() + text.size();
  const auto [next, failed] = std::from_chars(text.data() + 1, end, to);
  text = std::string_view(next, std::size_t(end - next));
  return failed == std::errc{};
}

// m16n8k32
std::optional<ModifierWords> shape_words(std::string_view text) {
  int m = 0, n = 0, k = 0;
  if (!take_size(text, 'm', m) || !take_size(text, 'n', n) || !take_size(text, 'k', k) || !text.empty())
    return std::nullopt;
  return ModifierWords{"shape", fmt::format("D is {} x {}, and K is {}", m, n, k)};
}

}  // namespace

std::optional<ModifierWords> modifier_words(isa::Opcode opcode, std::string_view modifier) {
  for (const WordsRow& row : words_rows)
    if (row.modifier == modifier && isa::spelling(opcode).starts_with(row.opcode))
      return ModifierWords{std::string(row.question), fmt::format("{}: {}", modifier, row.answer)};
  return shape_words(modifier);
}

}  // namespace kiln::command
