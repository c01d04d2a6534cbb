// Where an address leads: windows, bounds, alignment, poison.
#include <fmt/format.h>

#include "sim/machine.hpp"

namespace kiln::sim {
namespace {

using isa::Space;

[[noreturn]] void misaligned(std::uint64_t address, std::uint32_t alignment) {
  fault("sim-misaligned", fmt::format("the address must be a multiple of {}; got {:#x}", alignment, address));
}

Place locate_in_cluster(Context& c, Space space, std::uint32_t address, std::uint32_t bytes) {
  const std::uint32_t rank = address >> cluster_rank_shift, offset = address & shared_offset_mask;
  if (rank >= c.cluster->ctas.size())
    fault("sim-out-of-bounds",
          fmt::format("shared address {:#x} names CTA {} of a cluster of {}", address, rank, c.cluster->ctas.size()));
  if (rank != c.cta->rank && space != Space::shared_cluster && space != Space::generic)
    fault("sim-remote-address",
          fmt::format("a .shared::cta access must stay in its own CTA; address {:#x} is in CTA {}", address, rank));
  Cta& owner = c.cluster->ctas[rank];
  const std::uint32_t least = std::min<std::uint32_t>(reserved_shared_bytes, std::uint32_t(owner.shared.size()));
  if (offset < least || offset + bytes > owner.shared.size())
    fault("sim-out-of-bounds",
          fmt::format("{} bytes at shared address {:#x} lie outside the CTA's shared memory, {:#x} to {:#x}", bytes,
                      offset, least, owner.shared.size()));
  return {owner.shared.view(offset), Space::shared_cta, &owner, offset};
}

Place locate_local(Context& c, std::uint64_t offset, std::uint32_t bytes, int lane) {
  const std::uint64_t size = c.grid->program.layout.local_bytes;
  if (offset + bytes > size)
    fault("sim-out-of-bounds",
          fmt::format("{} bytes at offset {} of the thread's {} bytes of local memory", bytes, offset, size));
  return {c.cta->local.view(c.thread(lane) * size + offset), Space::local, c.cta, offset};
}

Place locate_parameter(Context& c, std::uint64_t offset, std::uint32_t bytes) {
  std::vector<std::uint8_t>& block = c.grid->parameters;
  if (offset + bytes > block.size())
    fault("sim-out-of-bounds",
          fmt::format("{} bytes at offset {} of {} bytes of kernel parameters", bytes, offset, block.size()));
  return {{block.data() + offset, nullptr}, Space::param, nullptr, offset};
}

}  // namespace

Place locate(Context& c, Space space, std::uint64_t address, std::uint32_t bytes, std::uint32_t alignment, int lane) {
  if (address & (alignment - 1)) misaligned(address, alignment);  // always a power of two
  if (isa::is_shared(space)) return locate_in_cluster(c, space, std::uint32_t(address), bytes);
  if (address < global_base + (std::uint64_t{1} << 43))
    return {c.grid->memory.at(address, bytes), Space::global, nullptr, address};
  if (in_window(address, shared_base)) return locate_in_cluster(c, space, std::uint32_t(address), bytes);
  if (in_window(address, local_base)) return locate_local(c, address - local_base, bytes, lane);
  if (in_window(address, parameter_base)) return locate_parameter(c, address - parameter_base, bytes);
  return {c.grid->memory.at(address, bytes), Space::global, nullptr, address};
}

Place locate_shared(Context& c, Space space, std::uint64_t address, std::uint32_t bytes, std::uint32_t alignment,
                    int lane) {
  if (!isa::is_shared(space) && !in_window(address, shared_base))
    fault("sim-out-of-bounds", fmt::format("a generic address here must point into shared memory; got {:#x}", address));
  return locate(c, space, address, bytes, alignment, lane);
}

void check_written(Grid& grid, const ir::Operation* operation, const Place& place, std::uint32_t bytes) {
  if (place.view.all_written(bytes)) return;
  std::string where = fmt::format(
      "{} address {:#x}", isa::spelling(place.space == Space::shared_cta ? Space::shared : place.space), place.address);
  if (const Region* r = place.space == Space::global ? grid.memory.region(place.address) : nullptr)
    where = fmt::format("offset {} of `{}`", place.address - r->base, r->name);
  for (const auto& s : grid.program.layout.shared)
    if (place.space == Space::shared_cta && place.address - s.offset < s.bytes)
      where = fmt::format("offset {} of `{}`", place.address - s.offset, s.name);
  grid.report(operation, diag::Severity::error, "sim-uninitialised-read",
              fmt::format("memory must be written before it is read; got {} bytes at {}", bytes, where));
}

void tell_access(Context& c, const Inst& i, int lane, const Place& place, std::uint32_t bytes, AccessKind kind) {
  if (place.space == Space::param || place.space == Space::local) return;
  const Range range{place.space, place.owner ? place.owner->index : 0, place.address, bytes, 1};
  c.grid->observer->access(c.agent(1u << lane), *i.operation, range, kind, Proxy::generic, 0);
}

}  // namespace kiln::sim
