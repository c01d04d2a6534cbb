// Short ways to parse a piece of PTX in a test.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "ptx/diag/diagnostic.hpp"
#include "ptx/parse/parse.hpp"

namespace kiln::test {

inline const std::string header = ".version 9.0\n.target sm_100a\n.address_size 64\n";

/// A module, what was said about it, and the text that places point into.
struct Parsed {
  diag::Sink sink{};
  ir::Module module{};

  std::string_view text(diag::Place p) const { return module.source->text(p); }
  /// "3:5: message" of each finding.
  std::vector<std::string> findings() const {
    std::vector<std::string> out;
    for (const auto& d : sink.all()) {
      const auto at = module.source->position(d.where.place.begin);
      out.push_back(std::to_string(at.line) + ":" + std::to_string(at.column) + ": " + d.message);
    }
    return out;
  }
  std::string finding() const { return sink.all().empty() ? "" : findings().front(); }
};

inline Parsed parse_module(std::string text) {
  Parsed p;
  p.module = parse::parse(std::make_shared<const diag::Source>("test.ptx", std::move(text)), p.sink);
  return p;
}

/// The statements of the only function of a module, on line 4 and after.
inline Parsed parse_body(const std::string& statements) {
  return parse_module(header + ".entry k() {\n" + statements + "\n}\n");
}

inline const ir::Block& body(const Parsed& p) { return *std::get<ir::Function>(p.module.items.back()).body; }

template <class Node>
const Node& statement(const Parsed& p, std::size_t i = 0) {
  return std::get<Node>(body(p).statements.at(i).node);
}

inline const ir::Operand& operand(const Parsed& p, std::size_t i, std::size_t of = 0) {
  return statement<ir::Instruction>(p, of).operands.at(i);
}

template <class Item>
const Item& item(const Parsed& p, std::size_t i = 0) {
  return std::get<Item>(p.module.items.at(i));
}

}  // namespace kiln::test
