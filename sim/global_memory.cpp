#include "sim/global_memory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "ptx/diag/error.hpp"
#include "sim/address_map.hpp"
#include "sim/fault.hpp"

namespace kiln::sim {
namespace {

constexpr std::uint64_t guard_bytes = 1 << 20;
constexpr std::uint64_t placement = 4096;

std::uint64_t round_up(std::uint64_t n, std::uint64_t step) { return (n + step - 1) / step * step; }

void put(const ir::Variable& v, const ir::Operand& o, std::uint64_t width, std::size_t& at,
         std::vector<std::uint8_t>& out) {
  if (o.kind == ir::Operand::Kind::vector) {
    for (const ir::Operand& item : o.items) put(v, item, width, at, out);
    return;
  }
  std::uint64_t bits = std::uint64_t(o.value);
  if (o.kind == ir::Operand::Kind::real) {
    const bool single = o.text.size() > 1 && (o.text[1] == 'f' || o.text[1] == 'F');
    if (v.type == isa::ScalarType::f32 && !single)
      bits = std::bit_cast<std::uint32_t>(float(std::bit_cast<double>(bits)));
  } else if (o.kind != ir::Operand::Kind::integer) {
    throw diag::InputError("the simulator cannot initialise `" + v.name + "` with `" + o.text + "`");
  }
  if (at + width > out.size()) throw diag::InputError("too many initial values for `" + v.name + "`");
  std::memcpy(out.data() + at, &bits, width);
  at += width;
}

}  // namespace

std::vector<std::uint8_t> initial_bytes(const ir::Variable& v) {
  std::vector<std::uint8_t> out(v.bytes(), 0);
  std::size_t at = 0;
  if (v.initializer) put(v, *v.initializer, std::uint64_t(isa::bits(v.type)) / 8, at, out);
  return out;
}

std::uint64_t GlobalMemory::place(Region region, std::uint64_t alignment) {
  region.base = round_up((end_ ? end_ : global_base) + guard_bytes, std::max(placement, alignment));
  end_ = region.base + region.bytes;
  regions_.push_back(region);
  return region.base;
}

std::uint64_t GlobalMemory::add(launch::Buffer& buffer) {
  if (buffer.bytes.size() != buffer.size())
    throw diag::InputError(fmt::format("buffer `{}` holds {} bytes; its shape asks for {}", buffer.name,
                                       buffer.bytes.size(), buffer.size()));
  Region r{buffer.name, 0, buffer.bytes.size(), buffer.bytes.data(), nullptr};
  if (buffer.init.kind == launch::Init::Kind::poison) {
    owned_.push_back(std::make_unique<Owned>());
    owned_.back()->written.assign(buffer.bytes.size(), 0);
    r.written = owned_.back()->written.data();
    std::fill(buffer.bytes.begin(), buffer.bytes.end(), poison_byte);
  }
  return buffers_[buffer.name] = place(r, 1);
}

std::uint64_t GlobalMemory::add(const ir::Variable& variable) {
  owned_.push_back(std::make_unique<Owned>());
  owned_.back()->bytes = initial_bytes(variable);
  Region r{variable.name, 0, variable.bytes(), owned_.back()->bytes.data(), nullptr};
  return variables_[&variable] = place(r, variable.alignment());
}

std::uint64_t GlobalMemory::address(const std::string& buffer) const {
  const auto found = buffers_.find(buffer);
  if (found == buffers_.end()) throw diag::InputError("the launch has no buffer `" + buffer + "`");
  return found->second;
}

const std::uint64_t* GlobalMemory::find(const ir::Variable& variable) const {
  const auto found = variables_.find(&variable);
  return found == variables_.end() ? nullptr : &found->second;
}

const Region* GlobalMemory::region(std::uint64_t address) const {
  if (last_ < regions_.size() && address - regions_[last_].base < regions_[last_].bytes) return &regions_[last_];
  auto next = std::upper_bound(regions_.begin(), regions_.end(), address,
                               [](std::uint64_t a, const Region& r) { return a < r.base; });
  if (next == regions_.begin()) return nullptr;
  --next;
  if (address - next->base >= next->bytes) return nullptr;
  last_ = std::size_t(next - regions_.begin());
  return &*next;
}

View GlobalMemory::at(std::uint64_t address, std::uint64_t bytes) const {
  const Region* r = region(address);
  if (!r || address - r->base + bytes > r->bytes) out_of_bounds(address, bytes);
  const std::uint64_t offset = address - r->base;
  return {r->data + offset, r->written ? r->written + offset : nullptr};
}

void GlobalMemory::out_of_bounds(std::uint64_t address, std::uint64_t bytes) const {
  const Region* nearest = nullptr;
  std::uint64_t best = ~std::uint64_t{0};
  for (const Region& r : regions_) {
    const std::uint64_t gap = address < r.base              ? r.base - address
                              : address >= r.base + r.bytes ? address - r.base - r.bytes
                                                            : 0;
    if (gap < best) best = gap, nearest = &r;
  }
  if (!nearest || best > guard_bytes)
    fault(rules::Rule::memory_bounds,
          fmt::format("{} bytes at global address {:#x}, which is in no buffer", bytes, address));
  if (address < nearest->base)
    fault(rules::Rule::memory_bounds, fmt::format("{} bytes at global address {:#x}, which is {} bytes before `{}`",
                                                  bytes, address, nearest->base - address, nearest->name));
  fault(rules::Rule::memory_bounds, fmt::format("{} bytes at offset {} of `{}`, which has {}", bytes,
                                                address - nearest->base, nearest->name, nearest->bytes));
}

}  // namespace kiln::sim
