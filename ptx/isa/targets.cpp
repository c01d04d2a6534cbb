#include "ptx/isa/targets.hpp"

#include <charconv>

namespace kiln::isa {

std::string spelling(Target t) {
  std::string out = "sm_" + std::to_string(t.sm);
  if (t.suffix != TargetSuffix::none) out += char(t.suffix);
  return out;
}

std::optional<Target> parse_target(std::string_view text) {
  if (!text.starts_with("sm_")) return std::nullopt;
  text.remove_prefix(3);
  Target t;
  const auto [rest, failed] = std::from_chars(text.data(), text.data() + text.size(), t.sm);
  if (failed != std::errc{} || t.sm < 10 || t.sm > 999) return std::nullopt;
  const std::string_view suffix = text.substr(std::size_t(rest - text.data()));
  if (suffix == "a") t.suffix = TargetSuffix::a;
  else if (suffix == "f") t.suffix = TargetSuffix::f;
  else if (!suffix.empty()) return std::nullopt;
  return t;
}

}  // namespace kiln::isa
