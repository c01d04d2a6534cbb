#include "lower/text.hpp"

#include <memory>

#include "ptx/diag/error.hpp"
#include "ptx/parse/parse.hpp"

namespace kiln::lower {
namespace {

ir::Module parsed(const std::string& body) {
  const auto source =
      std::make_shared<const diag::Source>("lowered.ptx", ".version 9.0\n.target sm_90a\n.address_size 64\n" + body);
  diag::Sink sink;
  ir::Module module = parse::parse(source, sink);
  if (!sink.all().empty()) {
    const diag::Diagnostic& first = sink.all().front();
    const int line = source->position(first.where.place.begin).line;
    throw diag::InternalError(fmt::format("{} in `{}`", first.message, source->line(line)));
  }
  return module;
}

}  // namespace

std::vector<ir::Statement> statements(const Text& text) {
  ir::Module module = parsed(".entry lw()\n{\n" + text.str() + "}\n");
  return std::move(std::get<ir::Function>(module.items.at(0)).body->statements);
}

std::vector<ir::Item> items(const Text& text) { return std::move(parsed(text.str()).items); }

ir::Statement block(const Text& text) { return {ir::Block{statements(text), {}}}; }

std::string text(const ir::Operand& o) { return o.is_integer() ? fmt::format("{}", o.value) : o.text; }

void move_to(Text& out, const std::string& to, const ir::Operand& operand) {
  const ir::Operand& o = operand.kind == ir::Operand::Kind::address ? operand.items.at(0) : operand;
  out.line("mov.b32 {}, {};", to, text(o));
  if (o.is_name() && o.value != 0) out.line("add.s32 {0}, {0}, {1};", to, o.value);
}

}  // namespace kiln::lower
