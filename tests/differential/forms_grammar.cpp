#include "tests/differential/forms_grammar.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <random>
#include <stdexcept>
#include <unordered_set>

namespace kiln::test {
namespace {

// Limits for one template, so that none drowns the others; a grammar file may set the first.
constexpr std::size_t most_combinations = 1600, random_mutants = 60;

std::string_view trimmed(std::string_view s) {
  while (!s.empty() && s.front() == ' ') s.remove_prefix(1);
  while (!s.empty() && s.back() == ' ') s.remove_suffix(1);
  return s;
}

std::vector<std::string> split(std::string_view text, std::string_view at) {
  std::vector<std::string> out;
  for (;;) {
    const std::size_t end = text.find(at);
    if (const auto piece = trimmed(text.substr(0, end)); !piece.empty()) out.emplace_back(piece);
    if (end == text.npos) return out;
    text.remove_prefix(end + at.size());
  }
}

// "{r10*4}" written out.
std::string expanded(const std::string& operand) {
  const std::size_t star = operand.find('*');
  if (star == operand.npos || operand[0] != '{') return operand;
  const std::size_t digits = operand.find_first_of("0123456789");
  const std::string name = operand.substr(1, digits - 1);
  const int first = std::stoi(operand.substr(digits)), count = std::stoi(operand.substr(star + 1));
  std::string out = "{";
  for (int i = 0; i < count; ++i) out += (i ? "," : "") + name + std::to_string(first + i);
  return out + "}";
}

Template read_template(const std::string& line) {
  Template t;
  std::vector<std::string> fields = split(line, " ; ");
  const std::vector<std::string> words = split(fields[0], " ");
  t.opcodes = split(words[0], "|");
  for (std::size_t i = 1; i < words.size(); ++i) t.modifiers.push_back(split(words[i], "|"));
  for (std::size_t i = 1; i < fields.size(); ++i) {
    t.operands.push_back(split(fields[i], " | "));
    for (std::string& o : t.operands.back()) o = expanded(o);
  }
  for (const auto& slot : t.modifiers)
    for (const std::string& m : slot)
      if (m[0] != '.' && m != "-") throw std::runtime_error("not a modifier: " + m + " in " + line);
  return t;
}

template <class Use>
void for_each_line(const std::string& path, Use&& use) {
  std::ifstream in(path);
  if (!in) throw std::runtime_error("cannot read " + path);
  for (std::string line; std::getline(in, line);)
    if (!line.empty() && line[0] != '#') use(line);
}

// A line "most N" sets the limit for the templates below it.
void read_templates(const std::string& path, Grammar& into) {
  std::size_t most = most_combinations;
  for_each_line(path, [&](const std::string& line) {
    if (line.starts_with("most ")) {
      most = std::stoul(line.substr(5));
      return;
    }
    into.templates.push_back(read_template(line));
    into.templates.back().most = most;
  });
}

void read_words(const std::string& path, Grammar& into) {
  bool is_operand = false;
  for_each_line(path, [&](const std::string& line) {
    if (line == "modifiers" || line == "operands") {
      is_operand = line == "operands";
      return;
    }
    for (const std::string& word : split(line, is_operand ? " ; " : " "))
      (is_operand ? into.operands : into.modifiers).push_back(expanded(word));
  });
}

// The combinations of a template's alternatives, evenly thinned out where there are too many.
class Combinations {
 public:
  explicit Combinations(const Template& t) : t_(t) {
    total_ = t.opcodes.size();
    for (const auto* slots : {&t.modifiers, &t.operands})
      for (const auto& slot : *slots) total_ *= slot.size();
  }

  std::size_t size() const { return std::min(total_, t_.most); }

  Instruction operator[](std::size_t i) const {
    std::size_t number = total_ <= t_.most ? i : i * (total_ / t_.most) + i % 7;
    Instruction out;
    const auto take = [&](const std::vector<std::string>& slot) {
      const std::string& word = slot[number % slot.size()];
      number /= slot.size();
      return word;
    };
    out.opcode = take(t_.opcodes);
    for (const auto& slot : t_.modifiers)
      if (const std::string word = take(slot); word != "-") out.modifiers.push_back(word);
    for (const auto& slot : t_.operands) out.operands.push_back(take(slot));
    return out;
  }

 private:
  const Template& t_;
  std::size_t total_ = 1;
};

// What a vector becomes when it loses or gains an element.
std::string resized(const std::string& vector, bool longer) {
  if (longer) return vector.substr(0, vector.size() - 1) + ",r9}";
  const std::size_t comma = vector.rfind(',');
  return comma == vector.npos ? vector : vector.substr(0, comma) + "}";
}

// Every single change of an instruction.
class Mutations {
 public:
  Mutations(const Grammar& grammar, const Instruction& from, std::vector<Instruction>& to)
      : grammar_(grammar), from_(from), to_(to) {}

  void all() {
    spoil_list(&Instruction::modifiers, grammar_.modifiers);
    spoil_list(&Instruction::operands, grammar_.operands);
    for (std::size_t i = 0; i < from_.operands.size(); ++i) spoil_operand(i);
    for (const char* guard : {"@p1 ", "@!p2 ", "@r1 "}) add()->opcode = guard + from_.opcode;
  }

 private:
  using List = std::vector<std::string> Instruction::*;

  Instruction* add() { return &to_.emplace_back(from_); }

  // Words lost, doubled, swapped, replaced and added.
  void spoil_list(List list, const std::vector<std::string>& words) {
    const std::vector<std::string>& old = from_.*list;
    for (std::size_t i = 0; i < old.size(); ++i) {
      (add()->*list).erase(old_at(list, i));
      auto& twice = add()->*list;
      twice.insert(twice.begin() + std::ptrdiff_t(i), old[i]);
      (add()->*list).push_back(old[i]);
      for (std::size_t j = i + 1; j < old.size(); ++j) {
        auto& swapped = add()->*list;
        std::swap(swapped[i], swapped[j]);
      }
      // Each word stands in one slot of the modifiers, but in every place of the operands.
      for (std::size_t w = 0; w < words.size(); ++w)
        if (list == &Instruction::operands || w % old.size() == i) (add()->*list)[i] = words[w];
    }
    for (std::size_t w = 0; w < words.size(); ++w) {
      auto& longer = add()->*list;
      const std::size_t at = list == &Instruction::operands ? old.size() : w % (old.size() + 1);
      longer.insert(longer.begin() + std::ptrdiff_t(at), words[w]);
    }
  }

  std::vector<std::string>::const_iterator old_at(List list, std::size_t i) {
    return (to_.back().*list).begin() + std::ptrdiff_t(i);
  }

  void spoil_operand(std::size_t i) {
    const std::string& old = from_.operands[i];
    add()->operands[i] = "{" + old + "}";
    if (old[0] == '{') {
      add()->operands[i] = resized(old, true);
      add()->operands[i] = resized(old, false);
    } else if (old[0] == '[') {
      add()->operands[i] = old.substr(1, old.size() - 2);
    } else {
      add()->operands[i] = "[" + old + "]";
    }
  }

  const Grammar& grammar_;
  const Instruction from_;
  std::vector<Instruction>& to_;
};

// Distributions of the standard library differ between libraries; the generator itself does not.
class Random {
 public:
  std::size_t below(std::size_t n) { return std::size_t(engine_() % n); }

 private:
  std::mt19937_64 engine_{0};
};

}  // namespace

std::string Instruction::text() const {
  std::string out = opcode;
  for (const std::string& m : modifiers) out += m;
  for (std::size_t i = 0; i < operands.size(); ++i) out += (i ? ", " : " ") + operands[i];
  return out + ";";
}

Grammar read_grammar(const std::string& folder) {
  Grammar grammar;
  std::vector<std::string> paths;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) paths.push_back(entry.path().string());
  std::sort(paths.begin(), paths.end());
  for (const std::string& path : paths) {
    if (path.ends_with("words.txt"))
      read_words(path, grammar);
    else
      read_templates(path, grammar);
  }
  return grammar;
}

std::vector<std::string> instructions(const Grammar& grammar) {
  std::vector<std::string> out;
  std::unordered_set<std::string> seen;
  Random random;
  const auto keep = [&](const Instruction& i) {
    if (std::string text = i.text(); seen.insert(text).second) out.push_back(std::move(text));
  };
  for (const Template& t : grammar.templates) {
    const Combinations combinations(t);
    for (std::size_t i = 0; i < combinations.size(); ++i) keep(combinations[i]);
    std::vector<Instruction> mutants;
    Mutations(grammar, combinations[0], mutants).all();
    for (const Instruction& i : mutants) keep(i);
    for (std::size_t n = 0; n < random_mutants; ++n) {
      mutants.clear();
      Mutations(grammar, combinations[random.below(combinations.size())], mutants).all();
      keep(mutants[random.below(mutants.size())]);
    }
  }
  return out;
}

}  // namespace kiln::test
