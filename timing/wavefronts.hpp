// What one load or store of a warp asks of memory: shared memory has 32 banks of four bytes, each of which gives one
// word at a time, and global memory comes in lines of 128 bytes and sectors of 32.
#pragma once

#include <cstdint>
#include <vector>

namespace kiln::timing {

inline constexpr std::uint32_t line_bytes = 128, sector_bytes = 32, sectors_of_line = line_bytes / sector_bytes;

/// Bytes that a lane accesses, or a row of a matrix.
struct Touch {
  std::uint64_t address = 0;
  std::uint32_t bytes = 0;
};

/// Turns of shared memory that the lanes' accesses take: 128 bytes' worth of lanes go together, and lanes that want the
/// same word get it in one turn.
std::uint32_t wavefronts(const std::vector<Touch>&);
/// Different lines of global memory.
std::uint32_t lines(const std::vector<Touch>&);
/// Different sectors of global memory.
std::uint32_t sectors(const std::vector<Touch>&);

}  // namespace kiln::timing
