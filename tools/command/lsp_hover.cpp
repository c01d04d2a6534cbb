#include "tools/command/lsp_hover.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
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

// The statement at a byte, with its function; null where there is none.
struct Found {
  const ir::Function* function = nullptr;
  diag::Place place{};  // of the whole statement, its guard and its operands included
  RegisterTypes registers{};
};

RegisterTypes registers_of(const ir::Code& code, const ir::Operation& op) {
  RegisterTypes out;
  for (const auto& used : {code.read(op), code.written(op)})
    for (const ir::RegisterId r : used) out[code.registers[r].name] = code.registers[r].type;
  return out;
}

Found find_instruction(const ir::Module& module, std::uint32_t offset) {
  diag::Sink said;
  for (const ir::Item& item : module.items) {
    const auto* f = std::get_if<ir::Function>(&item);
    if (!f || !f->body) continue;
    const ir::Code code = ir::decode(module, *f, said);
    for (const ir::Operation& op : code.operations) {
      const diag::Place place = op.instruction->at;
      if (place.begin <= offset && offset < place.end) return {f, place, registers_of(code, op)};
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

// "sm_100a from 8.6, sm_90a from 8.0; not sm_120a (why)", targets of one answer together.
std::string targets_text(const Json& targets) {
  std::vector<std::pair<std::string, std::vector<std::string>>> refused;
  std::string legal;
  for (const Json& t : targets) {
    const auto name = t["target"].get<std::string>();
    if (!t["lowest_version"].is_null()) {
      legal += fmt::format("{}`{}` from {}", legal.empty() ? "" : ", ", name, t["lowest_version"].get<std::string>());
      continue;
    }
    const Json& first = t["findings"][0];
    const auto slug = first["slug"].get<std::string>();
    const auto same = std::find_if(refused.begin(), refused.end(), [&](const auto& r) { return r.first == slug; });
    if (same == refused.end())
      refused.push_back({slug, {name}});
    else
      same->second.push_back(name);
  }
  std::string out = legal.empty() ? "\nLegal on none of these targets" : "\nLegal on " + legal;
  for (const auto& [slug, names] : refused) out += fmt::format("; not on `{}` [{}]", fmt::join(names, "`, `"), slug);
  return out + "\n";
}

std::string explained(const std::string& statement, const RegisterTypes& registers) {
  const Json e = Json::parse(explain_instruction(statement, true, registers));
  std::string out = fmt::format("**{}**", e["opcode"].get<std::string>());
  if (const std::string does = e["does"].get<std::string>(); !does.empty()) out += "  \n" + does;
  out += "\n";
  for (const Json& o : e["operands"]) {
    const auto text = o["text"].get<std::string>(), role = o["role"].get<std::string>();
    out += fmt::format("\n- `{}`", text);
    if (const auto r = registers.find(text); r != registers.end()) out += fmt::format(" `.{}`", spelling(r->second));
    if (!role.empty()) out += " " + role;
    if (o.contains("fields")) out += ": " + fields_text(o["fields"]);
  }
  out += "\n";
  if (!e["modifiers"].empty()) out += "\nModifiers\n";
  for (const Json& m : e["modifiers"])
    out += fmt::format("\n- {}: {}", m["question"].get<std::string>(), m["answer"].get<std::string>());
  if (!e["modifiers"].empty()) out += "\n";
  return e["targets"].empty() ? out : out + targets_text(e["targets"]);
}

std::string descriptor_text(const char* name, const flow::Bits& bits, Decoded d) {
  if (!bits.knows(~address_bits)) return {};
  if (!bits.knows(address_bits))
    for (const char* varies : {"word", "text", "address", "start_address"}) d.fields.erase(varies);
  return fmt::format("\n- {}: {}", name, fields_text(d.fields));
}

// What the verifier knows of the descriptors of a wgmma.
std::string known_words(const verifier::Facts& facts, const ops::Wgmma& mma) {
  std::string out;
  for (const auto& [name, operand] : {std::pair{"A's descriptor", &mma.a}, std::pair{"B's descriptor", &mma.b}}) {
    if (!*operand || (*operand)->kind == ir::Argument::Kind::vector) continue;
    const flow::Bits bits = facts.known.of(*operand, 64);
    out += descriptor_text(name, bits, decode_wgmma_descriptor(bits.one));
  }
  return out.empty() ? out : "\nKnown here:\n" + out + "\n";
}

// What the verifier knows of the descriptors of an MMA.
std::string known_words(const verifier::Facts& facts, const ir::Operation& op) {
  if (const auto wgmma = ops::as<ops::Wgmma>(op)) return known_words(facts, *wgmma);
  const auto mma = ops::as<ops::Mma>(op);
  if (!mma) return {};
  std::string out;
  if (const auto word = facts.known.constant(mma->idesc, 32); mma->idesc && word) {
    const Decoded d = decode_instruction_descriptor(std::uint32_t(*word), {mma->form, facts.target});
    out += "\n- instruction descriptor: " + fields_text(d.fields);
    for (const diag::Diagnostic& wrong : d.findings) out += "\n- " + line(wrong);
  }
  const OperandContext context{mma->form.kind, {}};
  const auto descriptor = [&](const char* name, const ops::Operand& operand) {
    const flow::Bits bits = facts.known.of(operand, 64);
    out += descriptor_text(name, bits, decode_shared_descriptor(bits.one, context));
  };
  if (mma->a && !mma->form.a_in_tmem) descriptor("A's descriptor", mma->a);
  if (mma->b) descriptor("B's descriptor", mma->b);
  return out.empty() ? out : "\nKnown here:\n" + out + "\n";
}

std::string known_at(const ir::Module& module, const Found& found) {
  diag::Sink said;
  const verifier::Facts facts(module, *found.function, said);
  for (const ir::Operation& op : facts.code.operations)
    if (op.instruction->at.begin == found.place.begin) return known_words(facts, op);
  return {};
}

}  // namespace

Hover hover_at(const diag::SourcePtr& source, std::uint32_t offset) {
  diag::Sink said;
  const ir::Module module = parse::parse(source, said);
  const Found found = find_instruction(module, offset);
  if (!found.function) return {};
  try {
    return {found.place, explained(std::string(source->text(found.place)), found.registers) + known_at(module, found)};
  } catch (const diag::InputError&) {  // an instruction that has no words
    return {};
  }
}

}  // namespace kiln::command
