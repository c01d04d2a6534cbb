// Boxes of tensor maps: what a tensor copy writes, as far as a launch says it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "launch/tensor_map.hpp"
#include "ptx/isa/modifiers.hpp"
#include "ptx/tile/copied.hpp"
#include "verifier/facts.hpp"

namespace kiln::verifier::explore {

/// Tensor maps by parameter and the byte within it.
using GivenMaps = std::vector<std::map<std::uint32_t, launch::TensorMap>>;

/// A byte of a parameter, by the parameter's number.
struct ParameterPlace {
  std::uint32_t parameter = 0, offset = 0;
};

/// The box of a tensor copy.
struct Box {
  tile::Tile layout{};             // as if it were copied to address 0
  std::uint32_t bytes = 0;         // that an mbarrier counts
  std::uint32_t shared_bytes = 0;  // from the first byte in shared memory to the last
};

/// The box of a map for copies of a mode and rank; nothing if the copy itself determines part of it (halos) or the two
/// do not fit.
std::optional<Box> box_of(const launch::TensorMap&, isa::TensorMode, int rank);

/// Whether a tensor copy's map may be one that the kernel has made: those in parameters are the host's.
bool may_be_made(const Facts&, const ir::Argument& tensor);

/// What all tensor maps that a kernel makes with tensormap.replace have in common; nothing unless all that a box
/// depends on is replaced, by the same numbers everywhere.
std::optional<launch::TensorMap> made_map(const ir::Code&);

/// The box of a tensor copy or reduction whose map is the operand `tensor`; nothing if that is neither a parameter that
/// the launch gives nor a map that the kernel makes (`made`).
std::optional<Box> box_of(const Facts&, const GivenMaps&, const std::optional<launch::TensorMap>& made,
                          const ir::Operation&, const ir::Argument& tensor);
/// The same of a map that lies there.
std::optional<Box> box_of(const GivenMaps&, const ParameterPlace&, const ir::Operation&);

/// The address of a tensor copy's map, where it lies in a parameter at an offset that the kernel computes: it chooses
/// among the maps of a launch. Else null.
const ir::Argument* chosen_map(const Facts&, const ir::Operation&);

}  // namespace kiln::verifier::explore
