#include "ptx/isa/opcodes.hpp"

#include <array>
#include <unordered_map>

namespace kiln::isa {
namespace {

struct Row {
  std::string_view spelling;
  Writes writes;
  Unit unit;
};

constexpr std::array rows{
    Row{"", Writes::none, Unit::unknown},
#define OPCODE(id, text, results, where, family) Row{text, Writes::results, Unit::where},
#include "ptx/isa/opcodes.def"
#undef OPCODE
};

const std::unordered_map<std::string_view, Opcode>& by_name() {
  static const auto map = [] {
    std::unordered_map<std::string_view, Opcode> m;
    for (std::size_t i = 1; i < rows.size(); ++i) m.emplace(rows[i].spelling, Opcode(i));
    return m;
  }();
  return map;
}

}  // namespace

std::string_view spelling(Opcode op) { return rows[std::size_t(op)].spelling; }
Writes writes(Opcode op) { return rows[std::size_t(op)].writes; }
Unit unit(Opcode op) { return rows[std::size_t(op)].unit; }

OpcodeMatch match_opcode(std::string_view mnemonic) {
  std::size_t end = mnemonic.size();
  while (true) {
    const auto found = by_name().find(mnemonic.substr(0, end));
    if (found != by_name().end()) return {found->second, end};
    const std::size_t dot = mnemonic.substr(0, end).rfind('.');
    if (dot == std::string_view::npos) return {Opcode::unknown, end};
    end = dot;
  }
}

}  // namespace kiln::isa
