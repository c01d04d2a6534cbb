// Masks of tcgen05.mma: columns of B that are taken as zeros.
#pragma once

#include "lower/engine.hpp"

namespace kiln::lower {

/// Code for the zero-column mask of a .ws: which of a thread's columns of B are zeros, found once for a command.
class ColumnMask {
 public:
  ColumnMask(Text& out, const Form& form) : out_(out), form_(form) {}

  /// Reads the mask from the command's slot. %lw_zs is by how many columns B is shifted.
  void begin() const;
  /// Clears fragments of tile number `tile`, of 8 columns.
  void apply(int tile, const std::vector<std::string>& fragments) const;

 private:
  void find_place() const;

  Text& out_;
  const Form& form_;
};

}  // namespace kiln::lower
