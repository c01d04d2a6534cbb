// How strict: the ISA as ptxas reads it, or that plus what one vendor compiler demands of itself.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace kiln::rules {

/// `isa`: agrees with ptxas and the PTX ISA. `tileiras` adds contracts that the Tileiras compiler keeps and the ISA
/// does not have.
enum class Profile : std::uint8_t { isa, tileiras };

constexpr std::string_view spelling(Profile p) { return p == Profile::isa ? "isa" : "tileiras"; }

constexpr std::optional<Profile> parse_profile(std::string_view text) {
  for (Profile p : {Profile::isa, Profile::tileiras})
    if (text == spelling(p)) return p;
  return std::nullopt;
}

}  // namespace kiln::rules
