#include "tools/command/lsp_hover.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "ptx/diag/error.hpp"
#include "ptx/ops/operations.hpp"
#include "ptx/parse/parse.hpp"
#include "tools/command/decoded.hpp"
#include "tools/command/explain.hpp"
#include "verifier/facts.hpp"

namespace kiln::command {
namespace {

using Json = nlohmann::ordered_json;

// The bits of a matrix descriptor that say where its tile lies: they are of registers, and the others of constants.
constexpr std::uint64_t address_bits = 0x3fff;

// The operation at a byte, with its function; nulls where there is none.
struct Found {
  const ir::Function* function = nullptr;
  diag::Place place{};
};

Found find_instruction(const ir::Module& module, std::uint32_t offset) {
  diag::Sink said;
  for (const ir::Item& item : module.items) {
    const auto* f = std::get_if<ir::Function>(&item);
    if (!f || !f->body) continue;
    const ir::Code code = ir::decode(module, *f, said);
    for (const ir::Operation& op : code.operations) {
      const diag::Place place = code.where(op).place;
      if (place.begin <= offset && offset < place.end) return {f, place};
    }
  }
  return {};
}

std::string fields_text(const Json& fields) {
  std::string out;
  for (const auto& [name, value] : fields.items())
    out += fmt::format("{}{} {}", out.empty() ? "" : ", ", name,
                       value.is_string() ? value.get<std::string>() : value.dump());
  return out;
}

std::string explained(const std::string& statement) {
  const Json e = Json::parse(explain_instruction(statement, true));
  std::string out = fmt::format("**{}**", e["opcode"].get<std::string>());
  if (const std::string does = e["does"].get<std::string>(); !does.empty()) out += "  \n" + does;
  out += "\n";
  for (const Json& o : e["operands"]) {
    out += fmt::format("\n- `{}` {}", o["text"].get<std::string>(), o["role"].get<std::string>());
    if (o.contains("fields")) out += ": " + fields_text(o["fields"]);
  }
  return out + "\n";
}

std::string descriptor_text(const char* name, const flow::Bits& bits, const OperandContext& context) {
  if (!bits.knows(~address_bits)) return {};
  Decoded d = decode_shared_descriptor(bits.one, context);
  if (!bits.knows(address_bits))
    for (const char* varies : {"word", "text", "address", "start_address"}) d.fields.erase(varies);
  return fmt::format("\n- {}: {}", name, fields_text(d.fields));
}

// What the verifier knows of the descriptors of an MMA.
std::string known_words(const verifier::Facts& facts, const ir::Operation& op) {
  const auto mma = ops::as<ops::Mma>(op);
  if (!mma) return {};
  std::string out;
  if (const auto word = facts.known.constant(mma->idesc, 32); mma->idesc && word) {
    const Decoded d = decode_instruction_descriptor(std::uint32_t(*word), {mma->form, facts.target});
    out += "\n- instruction descriptor: " + fields_text(d.fields);
    for (const diag::Diagnostic& wrong : d.findings) out += "\n- " + line(wrong);
  }
  const OperandContext context{mma->form.kind, {}};
  if (mma->a && !mma->form.a_in_tmem) out += descriptor_text("A's descriptor", facts.known.of(mma->a, 64), context);
  if (mma->b) out += descriptor_text("B's descriptor", facts.known.of(mma->b, 64), context);
  return out.empty() ? out : "\nKnown here:\n" + out + "\n";
}

std::string known_at(const ir::Module& module, const Found& found) {
  diag::Sink said;
  const verifier::Facts facts(module, *found.function, said);
  for (const ir::Operation& op : facts.code.operations)
    if (facts.code.where(op).place.begin == found.place.begin) return known_words(facts, op);
  return {};
}

}  // namespace

Hover hover_at(const diag::SourcePtr& source, std::uint32_t offset) {
  diag::Sink said;
  const ir::Module module = parse::parse(source, said);
  const Found found = find_instruction(module, offset);
  if (!found.function) return {};
  try {
    return {found.place, explained(std::string(source->text(found.place))) + known_at(module, found)};
  } catch (const diag::InputError&) {  // an instruction that has no words
    return {};
  }
}

}  // namespace kiln::command
