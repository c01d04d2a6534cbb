// Zero-column masks that are made in registers. PTX ISA "Zero-Column Mask Descriptor".
#pragma once

#include "dsl/mma.hpp"
#include "dsl/value.hpp"

namespace kiln::dsl {

/// Has column n of D see zeros in place of a column of B where `from` + n is a multiple of `period`, which is in
/// [2, 257].
template <class Mma>
ZeroColumnMask zeros_every(const U32& period, const U32& from) {
  constexpr int parts = isa::zero_mask_parts(Mma::M), width = Mma::N / parts;
  // Runs of one zero and of `use` columns in turn. A part begins with a zero, or some columns into the run after one.
  constexpr isa::ZeroMaskFields least{.generate = true, .skip = 1, .use = 1},
      longer{.generate = true, .skip = 1, .use = 2};
  const auto unit = [&](const isa::ZeroMaskFields& f) { return std::int64_t(isa::pack(f) - isa::pack(least)); };
  const auto from_part = [&](const auto& rest, int part) -> U64 {
    if (part == parts) return widen(period - 2) * unit(longer) + std::int64_t(isa::pack(least));
    isa::ZeroMaskFields starts = least, begins = least;
    starts.start[std::size_t(part)] = 1, begins.first[std::size_t(part)] = true;
    const U32 place = (from + part * width) % period;
    const U64 start = widen(select(place == 0, 0, place - 1)) * unit(starts),
              first = widen(select(place == 0, 1, 0)) * unit(begins);
    return rest(rest, part + 1) + start + first;
  };
  return zero_column_mask(from_part(from_part, 0));
}

}  // namespace kiln::dsl
