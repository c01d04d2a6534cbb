#include "ptx/rules/finding.hpp"

#include <cstdio>

#include "ptx/isa/modifiers.hpp"
#include "ptx/isa/swizzle.hpp"
#include "ptx/isa/types.hpp"

namespace kiln::rules {
namespace {

std::string hex(std::int64_t value) {
  char text[19];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(value));
  return text;
}

std::string type_name(std::int64_t value) {
  const std::string_view text = isa::spelling(isa::ScalarType(value));
  return text.empty() ? "a type code that the kind does not define" : std::string(text);
}

// The value that `{name}` of a row's words stands for. An unknown name stays, and fails a test of the catalogue.
std::string value(std::string_view name, const Verdict& v) {
  if (name.empty()) return std::to_string(v.given);
  if (name == "nearest") return std::to_string(v.nearest);
  if (name == "hex") return hex(v.given);
  if (name == "type") return type_name(v.given);
  if (name == "swizzle") return std::string(isa::spelling(isa::Swizzle(v.given)));
  if (name == "kind") return std::string(isa::spelling(isa::MmaKind(v.given)));
  if (name == "scale_vector") return std::string(isa::spelling(isa::ScaleVector(v.given)));
  if (name == "shape") return std::string(isa::spelling(isa::DataShape(v.given)));
  return '{' + std::string(name) + '}';
}

// The words of a row for this value: "for zero|for others", or the same for both.
std::string_view words(const Verdict& v) {
  const std::string_view all = info(v.rule).given;
  const std::size_t bar = all.find('|');
  if (bar == std::string_view::npos) return all;
  return v.given == 0 ? all.substr(0, bar) : all.substr(bar + 1);
}

}  // namespace

std::string found(const Verdict& v) {
  std::string out;
  std::string_view rest = words(v);
  for (std::size_t open; (open = rest.find('{')) != std::string_view::npos;) {
    const std::size_t close = rest.find('}', open);
    out += rest.substr(0, open);
    out += value(rest.substr(open + 1, close - open - 1), v);
    rest.remove_prefix(close + 1);
  }
  return out.append(rest);
}

std::string found_and_nearest(const Verdict& v) {
  const std::string got = found(v);
  const bool is_said = words(v).find("{nearest}") != std::string_view::npos;
  if (got.empty() || is_said || !v.has_nearest) return got;
  return got + ", the nearest legal value is " + std::to_string(v.nearest);
}

std::string sentence(std::string_view must, const std::string& got) {
  return got.empty() ? std::string(must) : std::string(must) + "; got " + got;
}

diag::Diagnostic finding(const Verdict& v, const std::string& got) {
  return finding(v.rule, got.empty() ? found(v) : got);
}

diag::Diagnostic finding(Rule r, const std::string& got) {
  const RuleInfo& rule = info(r);
  diag::Diagnostic d;
  d.severity = rule.severity;
  d.slug = rule.slug;
  d.message = sentence(rule.must, got);
  d.reference = rule.reference;
  return d;
}

diag::Diagnostic finding(Limit l, const std::string& got) {
  const LimitInfo& limit = info(l);
  diag::Diagnostic d;
  d.severity = limit.severity;
  d.slug = limit.slug;
  d.message = sentence(limit.says, got);
  return d;
}

}  // namespace kiln::rules
