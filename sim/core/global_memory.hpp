// Global memory: the contract's buffers and the module's variables at synthetic addresses with gaps between them, so
// that running over an end never hits a neighbour.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "launch/contract.hpp"
#include "ptx/ir/module.hpp"
#include "sim/core/storage.hpp"

namespace kiln::sim {

/// One object in global memory.
struct Region {
  std::string name{};
  std::uint64_t base = 0;
  std::uint64_t bytes = 0;
  std::uint8_t* data = nullptr;
  std::uint8_t* written = nullptr;  // null: all of it counts as written
};

/// All regions of a run. Contract buffers are used in place: what the kernel stores is in them afterwards.
class GlobalMemory {
 public:
  /// Places a buffer; a poison buffer is tracked byte by byte. Its content must have its full size already.
  std::uint64_t add(launch::Buffer& buffer);
  /// Places a module variable of .global or .const space with its initialiser, and those whose addresses that names.
  /// InputError for initialisers beyond numbers and addresses.
  std::uint64_t add(const ir::Variable& variable, const ir::Module& module);
  /// Places fresh memory that holds nothing; takes it away again (false: it is none of those).
  std::uint64_t allocate(std::uint64_t bytes);
  bool release(std::uint64_t address);

  /// Makes an address that stands for several buffers, which are there already. InputError unless they have one size.
  std::uint64_t add(const std::string& multimem, const std::vector<std::string>& buffers);
  /// What a multimem address stands for, in each memory; faults for other addresses and for bytes beyond the end.
  std::vector<std::uint64_t> memories(std::uint64_t address, std::uint64_t bytes) const;

  /// The address of a buffer or multimem object by name; InputError when there is none.
  std::uint64_t address(const std::string& buffer) const;
  /// The address of a module variable; nothing when it was not added.
  const std::uint64_t* find(const ir::Variable& variable) const;

  /// `bytes` bytes at an address; faults with the nearest region's name when they are not all inside one.
  View at(std::uint64_t address, std::uint64_t bytes) const;
  /// The same if it is the region of the last access, else false: the common case, without a call.
  bool again(std::uint64_t address, std::uint64_t bytes, View& view) const {
    if (last_ >= regions_.size()) return false;
    const Region& r = regions_[last_];
    const std::uint64_t offset = address - r.base;
    if (offset >= r.bytes || r.bytes - offset < bytes) return false;
    view = {r.data + offset, r.written ? r.written + offset : nullptr};
    return true;
  }
  /// The content of all regions, to be restored later; restoring removes regions that were placed in between.
  struct Contents {
    std::vector<Region> regions{};
    std::vector<std::vector<std::uint8_t>> bytes{}, written{};  // of each
    std::set<std::uint64_t> allocated{};
    std::uint64_t end = 0;
  };
  Contents contents() const;
  void restore(const Contents&);

  /// The region that holds the address; null for a gap.
  const Region* region(std::uint64_t address) const;

 private:
  struct Owned {
    std::vector<std::uint8_t> bytes, written;
  };
  struct Multimem {
    std::string name;
    std::uint64_t base = 0, bytes = 0;
    std::vector<std::uint64_t> memories;
  };
  const Multimem* multimem(std::uint64_t address) const;
  std::uint64_t fresh(std::uint64_t bytes, std::uint64_t alignment);
  std::uint64_t place(Region region, std::uint64_t alignment);
  [[noreturn]] void out_of_bounds(std::uint64_t address, std::uint64_t bytes) const;

  std::vector<Region> regions_;  // by address
  std::map<std::string, std::uint64_t> buffers_;
  std::vector<Multimem> multimems_;
  std::map<const ir::Variable*, std::uint64_t> variables_;
  std::vector<std::unique_ptr<Owned>> owned_;
  std::set<std::uint64_t> allocated_;
  mutable std::size_t last_ = 0;  // the region of the last access: neighbours in time are neighbours in space
  std::uint64_t end_ = 0;
};

/// Bytes that an initialiser gives a variable (zero where it says nothing). `address_of` knows the names in it.
std::vector<std::uint8_t> initial_bytes(const ir::Variable& variable,
                                        const std::function<std::uint64_t(const std::string&)>& address_of);

}  // namespace kiln::sim
