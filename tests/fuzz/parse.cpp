// Any bytes may come in. What parses without errors must survive being printed and parsed again, unless it has words of
// a newer PTX, of which a module keeps only what Kiln understands; what does not parse must be reported, with places
// inside the text.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

#include "emit/emit.hpp"
#include "ptx/diag/render.hpp"
#include "ptx/parse/parse.hpp"

namespace {

using namespace kiln;

void require(bool holds, const char* what, const std::string& text) {
  if (holds) return;
  std::fprintf(stderr, "%s:\n%s\n", what, text.c_str());
  std::abort();
}

void check_places(const diag::Sink& sink, const diag::Source& source) {
  for (const diag::Diagnostic& d : sink.all()) {
    require(d.where.place.begin <= d.where.place.end, "a place runs backwards", d.message);
    require(d.where.place.end <= source.text().size(), "a place is outside of the text", d.message);
    require(!d.message.empty(), "a message is empty", "");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto source = std::make_shared<const diag::Source>("fuzz.ptx", std::string(data, data + size));
  diag::Sink sink;
  const ir::Module module = parse::parse(source, sink);
  check_places(sink, *source);
  diag::render_text(sink);
  const auto printed = std::make_shared<const diag::Source>("printed.ptx", emit::emit_unverified(module));
  if (sink.has_errors() || !module.unknown.empty()) return 0;
  diag::Sink again;
  const ir::Module second = parse::parse(printed, again);
  const std::string text(printed->text());
  require(!again.has_errors(), "the printed module does not parse", text + diag::render_text(again));
  require(second == module, "the printed module is another one", text);
  require(emit::emit_unverified(second) == text, "printing twice gives two texts", text);
  return 0;
}
