#include "timing/buffers.hpp"

namespace kiln::timing {
namespace {

constexpr std::uint64_t own_bytes = 512;  // of a block of which it is known that this cluster wrote to it

}  // namespace

std::optional<double> Buffers::read(Place p, std::uint64_t address, double bytes) {
  if (!p) return std::nullopt;
  BufferUse& use = read_[p->name];
  use.size = double(p->bytes), use.moved += bytes;
  if (around_.hits_l2 || around_.held.contains(p->name)) return std::nullopt;
  const auto spilled = around_.spilled.find(p->name);
  if (spilled == around_.spilled.end()) return around_.from_hbm;
  if (own_.contains(address / own_bytes)) return std::nullopt;
  return spilled->second;
}

std::optional<double> Buffers::write(Place p, double bytes) {
  if (!p) return std::nullopt;
  BufferUse& use = written_[p->name];
  use.size = double(p->bytes), use.moved += bytes;
  return around_.dirty > 0 ? std::optional(bytes * around_.dirty / hbm_rate_) : std::nullopt;
}

void Buffers::own(std::uint64_t address) { own_.insert(address / own_bytes); }

bool Buffers::is_handed(Place p) const { return p && around_.handed.contains(p->name); }

std::optional<PartGiven> Buffers::given_by_l2(Place p) const {
  if (!p) return std::nullopt;
  const auto found = around_.given.find(p->name);
  return found == around_.given.end() ? std::nullopt : std::optional(found->second);
}

double Buffers::part_outside(Place p) const {
  if (!p) return 0;
  const auto found = around_.outside.find(p->name);
  return found == around_.outside.end() ? 0 : found->second;
}

}  // namespace kiln::timing
