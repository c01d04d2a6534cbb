// Chips as JSON: those that Kiln brings along (chips/*.json), and files of the same form.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "timing/chip.hpp"
#include "timing/correction.hpp"

namespace kiln::harness {

/// A chip out of its JSON. Throws InputError naming the document, the place and what must stand there: every fact of
/// timing/facts.def for the chip's tensor core, in its unit, with a source that the document names and a trust.
timing::Chip read_chip(std::string_view text, const std::string& document);

/// A correction of estimates, which a chip file names by `gemms`. Throws InputError likewise: it must have been fitted
/// to the traits of timing/traits.def.
timing::Correction read_correction(std::string_view text, const std::string& document);

/// The other way: read_chip of it is the same chip.
std::string write_chip(const timing::Chip&);

/// The chip of a name (b200) or of a file (its path ends in .json). Throws InputError for names that are not known.
timing::Chip chip_of(const std::string& name_or_file);
/// The name of the chip of a GPU, "NVIDIA H100 80GB HBM3", if a file is for it.
std::optional<std::string> chip_of_device(std::string_view device);

/// The text of chips/NAME.json; empty when Kiln brings no such chip.
std::string_view chip_text(std::string_view name);

}  // namespace kiln::harness
