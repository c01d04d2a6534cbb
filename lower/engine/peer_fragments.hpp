// The fragments of the half of B that the peer's shared memory holds. ldmatrix reads a CTA's own shared memory, and
// loads of a word each are slow between two CTAs: here a lane loads 16 bytes, a whole row of one of four 8 x 8
// matrices, and the four lanes of a row of fragments exchange words.
#pragma once

#include <cstdint>

#include "lower/engine/form_code.hpp"

namespace kiln::lower {

/// Four matrices of 8 columns by 16 bytes of K: two of a tile of 8 columns in a step, and of the next tile in the same
/// step, or of the same tile in the next step, or the same two again.
struct PeerMatrices {
  enum class Others : std::uint8_t { next_tile, next_step, none };
  int tile = 0;  // of the warp's in the peer's half
  int step = 0;
  Others others = Others::next_tile;
};

/// Code for B of a form of a pair: four fragments for each load.
class PeerFragments {
 public:
  /// Makes so many registers for fragments, and those of the exchanges that are under way at a time.
  PeerFragments(const FormCode&, int fragments, int under_way);

  /// What stays the same for all steps of a command.
  void begin() const;
  /// Loads the rows of four matrices into four registers. ptxas moves a weak load down to where its words are used; one
  /// that is to be issued here is relaxed.
  enum class When : std::uint8_t { here, any };
  void load(const PeerMatrices&, int first, When) const;
  /// Makes fragments of what was loaded: register 2 * m + k is of tile or step m, and of half k of the step. Lanes next
  /// to each other exchange words, then pairs of them; in parts, since an exchange takes its time. `place` is that of
  /// four matrices among those whose parts are under way.
  static constexpr int parts = 3;
  void exchange(int first, int part, int place) const;

  Term fragments(int first, int count) const { return vec(fragments_, first, count); }
  const Registers& registers() const { return fragments_; }

 private:
  bool is_k_major() const { return form_.b.major == isa::Major::K; }
  bool is_plain() const { return *form_.b.swizzle == isa::Swizzle::none; }
  Register fragment(int i) const { return fragments_[std::size_t(i)]; }
  std::int64_t next_step(const PeerMatrices&) const;
  void find_line(const PeerMatrices&) const;
  void find_column(const PeerMatrices&) const;
  void send(int distance, int x, int y, int word) const;
  void receive(int distance, int x, int y, int word) const;

  Builder& b_;
  const FormCode& code_;
  const Form& form_;
  Registers fragments_, words_;      // words_: on their way between lanes
  Register start_, matrix_;          // of this lane's row in the first step; which pair of matrices this lane loads
  Register column_, address_, key_;  // the warp's first column; scratch
  Register is_odd_, is_second_;      // bits 0 and 1 of the lane
};

}  // namespace kiln::lower
