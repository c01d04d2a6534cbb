// The fragments of the half of B that the peer's shared memory holds. ldmatrix reads a CTA's own, and loads of a word
// each are slow on the way between two CTAs: here a lane loads 16 bytes, a whole row of one of four 8 x 8 matrices, and
// the four lanes of a row of fragments exchange words.
#pragma once

#include <cstdint>

#include "lower/form.hpp"
#include "lower/text.hpp"

namespace kiln::lower {

/// Four matrices of 8 columns by 16 bytes of K: two of a tile of 8 columns in a step, and of the next tile in the same
/// step, or of the same tile in the next step, or the same two again.
struct PeerMatrices {
  enum class Others : std::uint8_t { next_tile, next_step, none };
  int tile = 0;  // of the warp's in the peer's half
  int step = 0;
  Others others = Others::next_tile;
};

/// Code for B of a form of a pair. Fragments go to %lw_fp, four registers for each load.
class PeerCode {
 public:
  PeerCode(Text&, const Form&);

  void declare(int fragments, int under_way) const;
  /// What stays the same for all steps of a command.
  void begin() const;
  /// The rows of four matrices to four registers. A weak load, ptxas moves down to where its words are used; one that
  /// is to be on its way by then is relaxed.
  enum class When : std::uint8_t { here, any };
  void load(const PeerMatrices&, int first, When) const;
  /// What was loaded becomes fragments: register 2 * m + k is of tile or step m, and of half k of the step. Lanes next
  /// to each other exchange words, then pairs of them; in parts, since an exchange takes its time. `place` is that of
  /// four matrices among those whose parts are under way.
  static constexpr int parts = 3;
  void settle(int first, int part, int place) const;

 private:
  bool is_k_major() const { return form_.b.major == isa::Major::K; }
  bool is_plain() const { return *form_.b.swizzle == isa::Swizzle::none; }
  std::int64_t next_step(const PeerMatrices&) const;
  void find_line(const PeerMatrices&) const;
  void find_column(const PeerMatrices&) const;
  void send(int distance, int x, int y, int word) const;
  void receive(int distance, int x, int y, int word) const;

  Text& out_;
  const Form& form_;
};

}  // namespace kiln::lower
