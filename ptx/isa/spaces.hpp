// State spaces as instructions and declarations spell them. PTX ISA "State Spaces".
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace kiln::isa {

/// `generic` is what an address without a written space is in. `shared` is the spelling without a sub-space, which means
/// shared::cta wherever PTX lets one choose.
enum class Space : std::uint8_t {
  generic, reg, sreg, constant, global, local, param, param_entry, param_func, shared, shared_cta, shared_cluster, tex
};

constexpr std::string_view spelling(Space s) {
  switch (s) {
    case Space::generic: return "";
    case Space::reg: return "reg";
    case Space::sreg: return "sreg";
    case Space::constant: return "const";
    case Space::global: return "global";
    case Space::local: return "local";
    case Space::param: return "param";
    case Space::param_entry: return "param::entry";
    case Space::param_func: return "param::func";
    case Space::shared: return "shared";
    case Space::shared_cta: return "shared::cta";
    case Space::shared_cluster: return "shared::cluster";
    case Space::tex: return "tex";
  }
  return "";
}

/// The space that `text` (no dot) spells, if there is one.
constexpr std::optional<Space> parse_space(std::string_view text) {
  for (auto i = int(Space::reg); i <= int(Space::tex); ++i)
    if (text == spelling(Space(i))) return Space(i);
  return std::nullopt;
}

/// A shared::cluster address is rank << 24 | offset, also in a CTA's own window. Measured on an H200.
inline constexpr int cluster_rank_shift = 24;
inline constexpr std::uint32_t shared_offset_mask = (1u << cluster_rank_shift) - 1;

constexpr bool is_shared(Space s) {
  return s == Space::shared || s == Space::shared_cta || s == Space::shared_cluster;
}

/// `.param`, whose kind follows from the function that it stands in, or one of its kinds written out: param::entry for
/// parameters of kernels, param::func for those of device functions and of calls. PTX ISA "Parameter State Space".
constexpr bool is_parameter(Space s) { return s == Space::param || s == Space::param_entry || s == Space::param_func; }

}  // namespace kiln::isa
