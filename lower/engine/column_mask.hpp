// Masks of tcgen05.mma: columns of B that are taken as zeros.
#pragma once

#include "lower/engine/form_code.hpp"

namespace kiln::lower {

/// Code for the zero-column mask of a .ws: which of a thread's columns of B are zeros, found once for a command.
class ColumnMask {
 public:
  explicit ColumnMask(const FormCode& c) : b_(c.b), code_(c) {}

  /// Reads the mask from the command's slot.
  void begin();
  /// By how many columns B is shifted.
  Register shift() const { return shift_; }
  /// Clears the fragments of tile number `tile`, of 8 columns, where the mask says so.
  void clear(int tile, const Registers& fragments) const;

 private:
  struct Run {
    Register place, is_zeros;
  };
  Run find_run(Register starts, Register rest) const;

  Builder& b_;
  const FormCode& code_;
  Register zeros_{}, shift_{};  // a bit for each tile of 8 columns, in which this thread has one
};

}  // namespace kiln::lower
