#include "tools/command/version_options.hpp"

#include <fmt/format.h>

#include "ptx/isa/ptx_versions.hpp"
#include "ptx/isa/ptxas_version.hpp"

namespace kiln::command {

void add_ptx_version(CLI::App& sub, std::string& to, const std::string& help) {
  const auto why_not = [](const std::string& text) {
    if (isa::parse_ptx_version(text)) return std::string();
    return fmt::format("{} is no version of PTX that Kiln knows; those are {} to {}", text,
                       isa::spelling(isa::oldest_version), isa::spelling(isa::newest_version));
  };
  sub.add_option("--ptx-version", to, help)->check(CLI::Validator(why_not, ""))->type_name("N.N");
}

void pin_ptx_version(ir::Module& module, const std::string& to) {
  module.version = isa::parse_ptx_version(to).value_or(module.version);
}

void add_ptxas_version(CLI::App& sub, std::string& to, const std::string& help) {
  const auto why_not = [](const std::string& text) {
    if (isa::parse_ptxas_version(text)) return std::string();
    return fmt::format("{} is no version of ptxas that Kiln knows; those are {} to {}", text,
                       isa::spelling(isa::oldest_ptxas), isa::spelling(isa::newest_ptxas));
  };
  sub.add_option("--ptxas", to, help)->check(CLI::Validator(why_not, ""))->type_name("13.N");
}

}  // namespace kiln::command
