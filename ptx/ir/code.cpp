#include "ptx/ir/code.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <unordered_map>

namespace kiln::ir {
namespace {

using Kind = Argument::Kind;

void collect(const Code& code, const Argument& a, std::vector<RegisterId>& out) {
  if (a.kind == Kind::reg)
    out.push_back(a.id);
  else
    for (const Argument& c : code.components(a)) collect(code, c, out);
}

bool has_results(const Operation& op) { return op.arguments[0].kind != Kind::address; }

// How many leading arguments hold results.
std::size_t results(const Operation& op) {
  const std::size_t n = op.arguments.size();
  // call (results), f, (arguments): the first list is results only when the callee follows it.
  if (op.opcode == isa::Opcode::call) return n > 1 && op.arguments[0].kind == Kind::list ? 1 : 0;
  switch (isa::writes(op.opcode)) {
    case isa::Writes::maybe: return n > 0 && has_results(op) ? 1 : 0;
    default: return std::min(isa::results(isa::writes(op.opcode)), n);
  }
}

// wgmma accumulates in place: D is an operand too.
bool reads_results(isa::Opcode op) {
  return op == isa::Opcode::wgmma_mma_async || op == isa::Opcode::wgmma_mma_async_sp;
}

// In the order of the enumerators. Families (%envreg<32>, %pm<8>, %reserved_smem_...) stand under their common prefix.
constexpr std::array<std::string_view, std::size_t(Special::warp_size) + 1> names{
    "",
    "%tid.x", "%tid.y", "%tid.z", "%ntid.x", "%ntid.y", "%ntid.z", "%laneid", "%warpid", "%nwarpid",
    "%ctaid.x", "%ctaid.y", "%ctaid.z", "%nctaid.x", "%nctaid.y", "%nctaid.z", "%smid", "%nsmid", "%gridid",
    "%is_explicit_cluster", "%clusterid.x", "%clusterid.y", "%clusterid.z", "%nclusterid.x", "%nclusterid.y",
    "%nclusterid.z",
    "%cluster_ctaid.x", "%cluster_ctaid.y", "%cluster_ctaid.z", "%cluster_nctaid.x", "%cluster_nctaid.y",
    "%cluster_nctaid.z",
    "%cluster_ctarank", "%cluster_nctarank",
    "%lanemask_eq", "%lanemask_le", "%lanemask_lt", "%lanemask_ge", "%lanemask_gt",
    "%clock", "%clock_hi", "%clock64", "%globaltimer", "%globaltimer_lo", "%globaltimer_hi",
    "%total_smem_size", "%aggr_smem_size", "%dynamic_smem_size", "%current_graph_exec", "%envreg", "%pm",
    "%reserved_smem_offset", "%tid.w", "WARP_SZ"};

const std::unordered_map<std::string_view, Special>& by_name() {
  static const auto map = [] {
    std::unordered_map<std::string_view, Special> m;
    for (std::size_t i = 1; i < names.size(); ++i)
      if (Special(i) != Special::envreg && Special(i) != Special::pm && Special(i) != Special::reserved_smem)
        m.emplace(names[i], Special(i));
    return m;
  }();
  return map;
}

// A number below `count`, as PTX writes it.
bool is_number_below(std::string_view text, int count) {
  int n = -1;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), n);
  return failed == std::errc{} && end == text.data() + text.size() && n < count && (text.size() == 1 || text[0] != '0');
}

// What follows the name of a family: %envreg0 to 31, %pm0 to 7 and %pm0_64 to 7_64, %reserved_smem_offset_begin, _end,
// _cap, _0 and _1.
bool is_member(Special family, std::string_view rest) {
  if (family == Special::envreg) return is_number_below(rest, 32);
  if (family == Special::pm) return is_number_below(rest.ends_with("_64") ? rest.substr(0, rest.size() - 3) : rest, 8);
  for (const std::string_view member : {"_begin", "_end", "_cap", "_0", "_1"})
    if (rest == member) return true;
  return false;
}

}  // namespace

Special special_register(std::string_view name) {
  if (!name.starts_with('%') && name != spelling(Special::warp_size)) return Special::none;
  if (const auto found = by_name().find(name); found != by_name().end()) return found->second;
  for (Special family : {Special::envreg, Special::pm, Special::reserved_smem})
    if (name.starts_with(spelling(family)) && is_member(family, name.substr(spelling(family).size()))) return family;
  if (name.ends_with(".w")) {
    std::string first(name);
    first.back() = 'x';
    if (by_name().contains(first)) return Special::fourth;
  }
  return Special::none;
}

std::string_view spelling(Special s) { return names[std::size_t(s)]; }

const Argument& Operation::arg(std::size_t i) const {
  static const Argument nothing;
  return i < arguments.size() ? arguments[i] : nothing;
}

std::span<const Argument> Code::components(const Argument& a) const {
  switch (a.kind) {
    case Kind::vector:
    case Kind::list:
    case Kind::pair:
    case Kind::address: return std::span(arguments).subspan(a.id, a.count);
    default: return {};
  }
}

std::vector<RegisterId> Code::written(const Operation& op) const {
  std::vector<RegisterId> out;
  for (std::size_t i = 0; i < results(op); ++i) collect(*this, op.arguments[i], out);
  return out;
}

std::vector<RegisterId> Code::read(const Operation& op) const {
  std::vector<RegisterId> out;
  if (op.guard) out.push_back(*op.guard);
  for (std::size_t i = reads_results(op.opcode) ? 0 : results(op); i < op.arguments.size(); ++i)
    collect(*this, op.arguments[i], out);
  return out;
}

std::string_view Code::label_before(std::uint32_t position, std::string_view prefix) const {
  auto at = std::upper_bound(labels.begin(), labels.end(), position,
                             [](std::uint32_t p, const auto& label) { return p < label.first; });
  while (at != labels.begin())
    if (--at; at->second.starts_with(prefix)) return at->second;
  return {};
}

diag::Where Code::where(const Operation& op) const {
  diag::Where w = diag::Where::at(module->source, op.instruction->mnemonic);
  if (w.place.empty()) w.place = op.instruction->at;
  if (op.loc) {
    w.file = file_name(*module, op.loc->file);
    w.line = unsigned(op.loc->line);
  }
  return w;
}

diag::Where Code::where(const Operation& op, const Operand& operand) const {
  diag::Where w = where(op);
  if (!operand.at.empty()) w.place = operand.at;
  return w;
}

std::string file_name(const Module& module, int number) {
  for (const Item& item : module.items) {
    const auto* directive = std::get_if<Directive>(&item);
    if (!directive || !directive->text.starts_with(".file")) continue;
    const std::string& text = directive->text;
    const std::size_t digits = text.find_first_of("0123456789"), quote = text.find('"');
    if (digits == text.npos || quote == text.npos || quote < digits) continue;
    int n = 0;
    std::from_chars(text.data() + digits, text.data() + quote, n);
    if (n == number) return text.substr(quote + 1, text.find('"', quote + 1) - quote - 1);
  }
  return {};
}

}  // namespace kiln::ir
