// ptxas as a child process: the one authority on what assembles.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ptx/diag/diagnostic.hpp"
#include "ptx/isa/targets.hpp"

namespace kiln::harness {

/// A ptxas that is new enough, or why there is none.
struct Ptxas {
  std::string path{};     // empty: none
  std::string version{};  // "13.0.88"
  std::string missing{};  // one line: where it was looked for and what was wrong

  bool found() const { return !path.empty(); }
};

/// The oldest CUDA release whose ptxas Kiln talks to.
inline constexpr int ptxas_major = 13, ptxas_minor = 0;

/// The ptxas at `path`, or why it will not do.
Ptxas inspect_ptxas(const std::string& path);

/// Looks for ptxas of CUDA 13.0 or later: $KILN_PTXAS (and then nowhere else), $PATH, $CUDA_HOME/bin, the Python
/// packages of the environment that this program was installed into, /usr/local/cuda/bin, and the one that CMake found.
/// Never throws: no ptxas is an answer.
Ptxas find_ptxas();

/// What ptxas -v says about one entry function.
struct EntryResources {
  std::string name{};
  int registers = 0;
  std::uint64_t stack_bytes = 0, spill_store_bytes = 0, spill_load_bytes = 0, shared_bytes = 0;
  bool spills() const { return spill_store_bytes + spill_load_bytes != 0; }
};

/// Whether ptxas puts checks into the code around what reads and writes tensor memory, which trap (`ptxas
/// --g-tensor-memory-access-check`, for targets with tcgen05). Allocations it checks in any case.
enum class TensorMemoryChecks : std::uint8_t { off, on };

/// What became of a text.
struct Assembly {
  enum class Status : std::uint8_t { assembled, rejected, unavailable, failed };
  Status status = Status::unavailable;
  std::string reason{};  // unavailable, failed: one line
  std::string version{};
  std::vector<std::uint8_t> cubin{};
  std::vector<EntryResources> entries{};
  std::vector<std::string> tensor_memory_checks{};  // as ptxas names them: "unallocated_columns_access"
  double seconds = 0;
};

/// Assembles a PTX text for a target. What ptxas finds is reported to `sink`, located in `source`. No ptxas, one that is
/// older than the `.version` or the target, and a crash of ptxas are states of the result, not exceptions.
Assembly assemble(const Ptxas&, const diag::SourcePtr& source, isa::Target, diag::Sink& sink,
                  TensorMemoryChecks checks = TensorMemoryChecks::off,
                  std::chrono::milliseconds timeout = std::chrono::minutes(5));

/// Reads what ptxas -v prints: messages become findings located in `source`, the rest fills `entries`.
void read_ptxas_output(std::string_view text, const diag::SourcePtr& source, std::vector<EntryResources>& entries,
                       diag::Sink& sink);

}  // namespace kiln::harness
