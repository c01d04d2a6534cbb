#include "sim/core/memory_access.hpp"

#include <fmt/format.h>

#include "ptx/isa/spaces.hpp"
#include "ptx/rules/execution.hpp"
#include "ptx/rules/memory.hpp"

namespace kiln::sim {
namespace {

using isa::Space;

Place locate_in_cluster(Context& c, Space space, std::uint32_t address, std::uint32_t bytes) {
  const std::uint32_t rank = address >> cluster_rank_shift, offset = address & shared_offset_mask;
  const std::size_t ctas = c.cluster->ctas.size();
  require(rules::cluster_rank(rank, std::int64_t(ctas)), "shared address {:#x}, which names CTA {} of a cluster of {}",
          address, rank, ctas);
  if (space != Space::shared_cluster && space != Space::generic)
    require(rules::shared_remote(rank, c.cta->rank), "shared address {:#x}, which is in CTA {} of the cluster", address,
            rank);
  Cta& owner = c.cluster->ctas[rank];
  const std::uint32_t least = std::min<std::uint32_t>(reserved_shared_bytes, std::uint32_t(owner.shared.size()));
  require(rules::memory_bounds(offset, bytes, least, owner.shared.size()),
          "{} bytes at shared address {:#x}; the CTA's shared memory is {:#x} to {:#x}", bytes, offset, least,
          owner.shared.size());
  return {owner.shared.view(offset), Space::shared_cta, &owner, offset};
}

Place locate_local(Context& c, std::uint64_t offset, std::uint32_t bytes, int lane) {
  const std::uint64_t size = c.grid->program.layout.local_bytes;
  require(rules::memory_bounds(offset, bytes, 0, size),
          "{} bytes at offset {} of the thread's {} bytes of local memory", bytes, offset, size);
  return {c.cta->local.view(c.thread(lane) * size + offset), Space::local, c.cta, offset};
}

Place locate_parameter(Context& c, std::uint64_t address, std::uint32_t bytes) {
  std::vector<std::uint8_t>& block = c.grid->parameters;
  const std::uint64_t offset = address - first_parameter;
  require(rules::memory_bounds(offset, bytes, 0, block.size()),
          "{} bytes at offset {} of {} bytes of kernel parameters", bytes, offset, block.size());
  return {{block.data() + offset, nullptr}, Space::param, nullptr, offset};
}

}  // namespace

Place locate(Context& c, Space space, std::uint64_t address, std::uint32_t bytes, std::uint32_t alignment, int lane) {
  require(rules::memory_alignment(address, alignment), "address {:#x}, not a multiple of {}", address, alignment);
  if (isa::is_shared(space)) return locate_in_cluster(c, space, std::uint32_t(address), bytes);
  // These spaces have 32-bit addresses too: what a register of that width kept of one.
  if (space == Space::local && address < window_bytes) return locate_local(c, address, bytes, lane);
  if (isa::is_parameter(space) && address < window_bytes) return locate_parameter(c, address, bytes);
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
    fault(rules::Rule::memory_bounds, fmt::format("address {:#x}, which is not in shared memory", address));
  return locate(c, space, address, bytes, alignment, lane);
}

namespace {

std::string describe_bytes(const Grid& grid, const Place& place, std::uint32_t bytes) {
  std::string where = fmt::format(
      "{} address {:#x}", isa::spelling(place.space == Space::shared_cta ? Space::shared : place.space), place.address);
  if (const Region* r = place.space == Space::global ? grid.memory.region(place.address) : nullptr)
    where = fmt::format("offset {} of `{}`", place.address - r->base, r->name);
  for (const auto& s : grid.program.layout.shared)
    if (place.space == Space::shared_cta && place.address - s.offset < s.bytes)
      where = fmt::format("offset {} of `{}`", place.address - s.offset, s.name);
  return fmt::format("{} bytes at {}", bytes, where);
}

}  // namespace

PoisonSource poison_source(Grid& grid, const ir::Operation* operation, const Place& place, std::uint32_t bytes) {
  const auto* first = static_cast<const std::uint8_t*>(std::memchr(place.view.written, 0, bytes));
  if (const PoisonSource s = grid.poison.stored(place.view.data + (first - place.view.written))) return s;
  return grid.poison.read(operation, [&] { return describe_bytes(grid, place, bytes); });
}

void check_written(Grid& grid, const ir::Operation* operation, const Place& place, std::uint32_t bytes,
                   std::string_view as) {
  if (!place.view.all_written(bytes)) grid.report_poison(operation, poison_source(grid, operation, place, bytes), as);
}

RegisterPoison& poison_of(Context& c) {
  if (!c.warp->poison) c.warp->poison = std::make_unique<RegisterPoison>(c.grid->program.file_bytes);
  return *c.warp->poison;
}

void load_poison(Context& c, const Inst& i, int lane, const Place& from, std::uint32_t at, std::uint32_t width, Slot to,
                 bool is_signed) {
  if (from.view.from(at).all_written(width)) return;
  RegisterPoison& poison = poison_of(c);
  const std::uint8_t* written = from.view.written + at;
  Mask* const bytes = poison.bytes(to.offset);
  for (u32 k = 0; k < to.bytes; ++k)
    if (k < width ? !written[k] : is_signed && !written[width - 1]) bytes[k] |= 1u << lane;
  Place element = from;
  element.view = from.view.from(at);
  element.address += at;
  poison.source(to.offset) = poison_source(*c.grid, i.operation, element, width);
}

void store_poison(Context& c, const Inst& i, int lane, const Place& to, std::uint32_t at, std::uint32_t width,
                  Slot from) {
  RegisterPoison& poison = *c.warp->poison;
  const Mask* const bytes = poison.bytes(from.offset);
  for (u32 k = 0; k < std::min<u32>(width, from.bytes); ++k) {
    if (!(bytes[k] >> lane & 1)) continue;
    const PoisonSource source = poison.source(from.offset);
    if (to.space == Space::global) return c.grid->report_poison(i.operation, source, "what is stored in global memory");
    to.view.written[at + k] = 0;
    c.grid->poison.store(to.view.data + at + k, source);
  }
}

void leave_poison(Grid& grid, const ir::Operation* operation, const Place& to, std::uint32_t bytes, PoisonSource source,
                  std::string_view as) {
  to.view.mark(bytes);
  if (!source) return;
  if (to.space == Space::global) return grid.report_poison(operation, source, as);
  std::memset(to.view.written, 0, bytes);
  for (u32 k = 0; k < bytes; ++k) grid.poison.store(to.view.data + k, source);
}

void copy_poison(Grid& grid, const ir::Operation* operation, const Place& from, const View& to, std::uint32_t bytes) {
  if (from.view.all_written(bytes)) return to.mark(bytes);
  const PoisonSource source = poison_source(grid, operation, from, bytes);
  for (u32 k = 0; k < bytes; ++k) {
    to.written[k] = from.view.written[k];
    if (!to.written[k]) grid.poison.store(to.data + k, source);
  }
}

void tell_access(Context& c, const Inst& i, int lane, const Place& place, std::uint32_t bytes, AccessKind kind) {
  if (place.space == Space::param || place.space == Space::local) return;
  const Range range{place.space, place.owner ? place.owner->index : 0, place.address, bytes, 1};
  c.grid->observer->access(c.agent(1u << lane), *i.operation, range, kind, Proxy::generic, 0);
}

}  // namespace kiln::sim
