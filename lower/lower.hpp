// A module with tcgen05 into one that multiplies by mma.sync: for GPUs that have tensor cores and no tensor memory.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "launch/contract.hpp"
#include "lower/options.hpp"
#include "ptx/diag/diagnostic.hpp"
#include "ptx/ir/module.hpp"

namespace kiln::lower {

/// What became of one kernel.
struct Report {
  std::string entry{};
  std::uint32_t threads = 0, engine_warps = 0, cta_threads = 0;  // threads: the original ones
  std::uint32_t columns = 0;                                     // of tensor memory
  Place image = Place::global, home = Place::shared;             // home: of the engine's queue
  std::string why{};                                             // the image is there
  std::uint32_t slots = 0;                                       // CTAs that have an image in global memory at a time
  std::uint64_t static_shared = 0, dynamic_shared = 0;      // bytes, of the lowered kernel; dynamic: of the launches
  std::uint32_t engine_registers = 0, other_registers = 0;  // that setmaxnreg asks for; 0: it is not needed
  std::size_t commands = 0;  // places that give the engine an MMA, of how many instructions
  std::size_t multiplications = 0;
  std::size_t assuming = 0;  // of those, how many trap unless parameters are what the contract's launches have
  std::size_t checking = 0;  // MMAs and copies that trap where a sum changes the layout in a matrix descriptor
  std::size_t commits = 0, flushes = 0;  // flushes: commits that write the sums to the image
};

/// "gemm: 192 threads and 8 warps of the engine ...": for people, a line or two a kernel.
std::string sentence(const Report&);

struct Lowered {
  ir::Module module{};
  launch::Contract contract{};  // when one was given: with the CTAs and the shared memory that the module needs
  std::vector<Report> reports{};
  std::vector<std::string> left_out{};  // kernels that no launch of the contract is of, with CTAs of unknown size
};

/// Lowers every kernel of a module that uses tcgen05. Nothing, and errors in the sink, when one of them cannot be: each
/// names the place and the reason (rules::Limit, "lower-...").
std::optional<Lowered> lower(const ir::Module&, const Options&, diag::Sink&);

}  // namespace kiln::lower
