#include "ptx/parse/fragment.hpp"

#include <memory>

#include "ptx/diag/error.hpp"
#include "ptx/parse/parse.hpp"

namespace kiln::parse {
namespace {

ir::Module module_of(const std::string& items) {
  const auto source =
      std::make_shared<const diag::Source>("own.ptx", ".version 9.0\n.target sm_90a\n.address_size 64\n" + items);
  diag::Sink sink;
  ir::Module module = parse(source, sink);
  if (!sink.all().empty()) {
    const diag::Diagnostic& first = sink.all().front();
    const int line = source->position(first.where.place.begin).line;
    throw diag::InternalError(first.message + " in `" + std::string(source->line(line)) + '`');
  }
  return module;
}

}  // namespace

std::vector<ir::Statement> own_statements(const std::string& text) {
  ir::Module module = module_of(".entry own()\n{\n" + text + "\n}\n");
  return std::move(std::get<ir::Function>(module.items.at(0)).body->statements);
}

std::vector<ir::Item> own_items(const std::string& text) { return std::move(module_of(text).items); }

}  // namespace kiln::parse
