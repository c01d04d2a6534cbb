#include "sim/core/global_memory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "ptx/diag/error.hpp"
#include "sim/core/address_map.hpp"
#include "sim/core/fault.hpp"
#include "sim/core/link.hpp"

namespace kiln::sim {
namespace {

constexpr std::uint64_t guard_bytes = 1 << 20;
constexpr std::uint64_t placement = 4096;

using AddressOf = std::function<std::uint64_t(const std::string&)>;

// The bits of one value of an initialiser.
std::uint64_t value_bits(const ir::Variable& v, const ir::Operand& o, const AddressOf& address_of) {
  const auto bits = std::uint64_t(o.value);
  switch (o.kind) {
    case ir::Operand::Kind::integer: return bits;
    case ir::Operand::Kind::name: return address_of(o.text) + bits;
    case ir::Operand::Kind::function:
      if (o.text == "generic" && !o.items.empty()) return value_bits(v, o.items[0], address_of) + bits;
      break;
    case ir::Operand::Kind::real: {
      const bool single = o.text.size() > 1 && (o.text[1] == 'f' || o.text[1] == 'F');
      return v.type == isa::ScalarType::f32 && !single
                 ? std::bit_cast<std::uint32_t>(float(std::bit_cast<double>(bits)))
                 : bits;
    }
    default: break;
  }
  throw diag::InputError("the simulator cannot initialise `" + v.name + "` with `" + o.text + "`");
}

void put(const ir::Variable& v, const ir::Operand& o, const AddressOf& address_of, std::uint64_t width, std::size_t& at,
         std::vector<std::uint8_t>& out) {
  if (o.kind == ir::Operand::Kind::vector) {
    for (const ir::Operand& item : o.items) put(v, item, address_of, width, at, out);
    return;
  }
  const std::uint64_t bits = value_bits(v, o, address_of);
  if (at + width > out.size()) throw diag::InputError("too many initial values for `" + v.name + "`");
  std::memcpy(out.data() + at, &bits, width);
  at += width;
}

}  // namespace

std::vector<std::uint8_t> initial_bytes(const ir::Variable& v, const AddressOf& address_of) {
  std::vector<std::uint8_t> out(v.bytes(), 0);
  std::size_t at = 0;
  if (v.initializer) put(v, *v.initializer, address_of, std::uint64_t(isa::bits(v.type)) / 8, at, out);
  return out;
}

std::uint64_t GlobalMemory::fresh(std::uint64_t bytes, std::uint64_t alignment) {
  const std::uint64_t base = round_up((end_ ? end_ : global_base) + guard_bytes, std::max(placement, alignment));
  end_ = base + bytes;
  return base;
}

std::uint64_t GlobalMemory::place(Region region, std::uint64_t alignment) {
  region.base = fresh(region.bytes, alignment);
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

std::uint64_t GlobalMemory::add(const ir::Variable& variable, const ir::Module& module) {
  owned_.push_back(std::make_unique<Owned>());
  Owned& owned = *owned_.back();
  owned.bytes.resize(variable.bytes());
  Region r{variable.name, 0, variable.bytes(), owned.bytes.data(), nullptr};
  const std::uint64_t base = variables_[&variable] = place(r, variable.alignment());
  const std::vector<std::uint8_t> content = initial_bytes(variable, [&](const std::string& name) {
    for (const ir::Item& item : module.items)
      if (const auto* v = std::get_if<ir::Variable>(&item); v && v->name == name) {
        const std::uint64_t* known = find(*v);
        return known ? *known : add(*v, module);
      }
    const std::size_t function = function_item(module, name);
    if (function < module.items.size()) return function_address(function);
    throw diag::InputError("the simulator cannot initialise `" + variable.name + "` with `" + name + "`");
  });
  std::copy(content.begin(), content.end(), owned.bytes.begin());
  return base;
}

std::uint64_t GlobalMemory::add(const std::string& name, const std::vector<std::string>& buffers) {
  Multimem m{name, 0, 0, {}};
  for (const std::string& buffer : buffers) m.memories.push_back(address(buffer));
  if (!m.memories.empty()) m.bytes = region(m.memories.front())->bytes;
  for (const std::uint64_t memory : m.memories)
    if (region(memory)->bytes != m.bytes)
      throw diag::InputError("the buffers of multimem `" + name + "` differ in size");
  m.base = buffers_[name] = fresh(m.bytes, 1);
  multimems_.push_back(std::move(m));
  return multimems_.back().base;
}

const GlobalMemory::Multimem* GlobalMemory::multimem(std::uint64_t address) const {
  const auto found =
      std::find_if(multimems_.begin(), multimems_.end(), [&](const Multimem& m) { return address - m.base < m.bytes; });
  return found == multimems_.end() ? nullptr : &*found;
}

std::vector<std::uint64_t> GlobalMemory::memories(std::uint64_t address, std::uint64_t bytes) const {
  const Multimem* m = multimem(address);
  if (!m)
    fault(rules::Rule::memory_bounds, fmt::format("a multimem instruction at {:#x}, which is in no multimem", address));
  const std::uint64_t offset = address - m->base;
  if (m->bytes - offset < bytes)
    fault(rules::Rule::memory_bounds,
          fmt::format("{} bytes at offset {} of multimem `{}`, which has {}", bytes, offset, m->name, m->bytes));
  std::vector<std::uint64_t> out;
  for (const std::uint64_t memory : m->memories) out.push_back(memory + offset);
  return out;
}

std::uint64_t GlobalMemory::allocate(std::uint64_t bytes) {
  owned_.push_back(std::make_unique<Owned>());
  Owned& owned = *owned_.back();
  owned.bytes.assign(bytes, poison_byte);
  owned.written.assign(bytes, 0);
  const std::uint64_t base = place({"malloc", 0, bytes, owned.bytes.data(), owned.written.data()}, 16);
  allocated_.insert(base);
  return base;
}

bool GlobalMemory::release(std::uint64_t address) {
  if (allocated_.erase(address) == 0) return false;
  std::erase_if(regions_, [&](const Region& r) { return r.base == address; });
  return true;
}

GlobalMemory::Contents GlobalMemory::contents() const {
  Contents c{regions_, {}, {}, allocated_, end_};
  for (const Region& r : regions_) {
    c.bytes.emplace_back(r.data, r.data + r.bytes);
    c.written.emplace_back(r.written, r.written ? r.written + r.bytes : nullptr);
  }
  return c;
}

void GlobalMemory::restore(const Contents& c) {
  regions_ = c.regions;
  allocated_ = c.allocated;
  end_ = c.end;
  for (std::size_t k = 0; k < regions_.size(); ++k) {
    std::copy(c.bytes[k].begin(), c.bytes[k].end(), regions_[k].data);
    std::copy(c.written[k].begin(), c.written[k].end(), regions_[k].written);
  }
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
  if (const Multimem* m = multimem(address))
    fault(rules::Rule::memory_bounds,
          fmt::format("{} bytes of multimem `{}`, which only multimem instructions may access", bytes, m->name));
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
