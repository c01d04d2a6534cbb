#include "ptx/flow/known_bits.hpp"

#include "ptx/ops/operations.hpp"

#include <deque>

namespace kiln::flow {
namespace {

using Kind = ir::Argument::Kind;
using ir::Special;

int width_of(const ir::RegisterInfo& r) { return std::min(isa::bits(r.type), 64); }

// A launch directive's extents, written or one; nothing without the directive.
std::optional<std::uint64_t> extent(const ir::Function& f, std::string_view directive, std::size_t dimension) {
  const ir::Performance* p = f.find(directive);
  if (!p || p->values.empty()) return std::nullopt;
  return dimension < p->values.size() ? std::uint64_t(p->values[dimension]) : 1;
}

Bits thread_index(const ir::Function& f, std::size_t dimension) {
  auto n = extent(f, "reqntid", dimension);
  if (!n) n = extent(f, "maxntid", dimension);
  const std::uint64_t most = dimension == 2 ? 64 : 1024;
  return at_most((n && *n > 0 && *n < most ? *n : most) - 1);
}

Bits special_bits(const ir::Function& f, Special s) {
  switch (s) {
    case Special::tid_x:
    case Special::tid_y:
    case Special::tid_z: return thread_index(f, std::size_t(s) - std::size_t(Special::tid_x));
    case Special::ntid_x:
    case Special::ntid_y:
    case Special::ntid_z:
      if (const auto n = extent(f, "reqntid", std::size_t(s) - std::size_t(Special::ntid_x))) return Bits::constant(*n);
      return at_most(1024);
    case Special::laneid: return at_most(31);
    case Special::warpid: return at_most(63);
    case Special::warp_size: return Bits::constant(32);
    case Special::cluster_ctarank: return at_most(15);
    case Special::cluster_nctarank: return at_most(16);
    case Special::is_explicit_cluster: return at_most(1);
    case Special::clock64:
    case Special::globaltimer:
    case Special::current_graph_exec: return Bits::unknown();
    default: return Bits::unknown(32);
  }
}

}  // namespace

KnownBits::KnownBits(const ir::Code& code, const Definitions& definitions) : KnownBits(code, definitions, {}) {}

KnownBits::KnownBits(const ir::Code& code, const Definitions& definitions, ParameterBytes given)
    : code_(code), definitions_(definitions), given_(std::move(given)), bits_(code.registers.size(), Bits::nothing()) {
  const bool is_whole = !code.function->unread && !code.module->unread;
  for (ir::RegisterId r = 0; r < bits_.size(); ++r)
    if (!is_whole || definitions.writers(r).empty()) bits_[r] = Bits::unknown(width_of(code.registers[r]));
  if (is_whole) solve();
}

Bits KnownBits::address_of(const ir::Argument& a) const {
  const ir::Symbol& s = code_.symbols[a.id];
  Bits base = Bits::unknown();
  const std::uint64_t alignment = s.variable->alignment();
  if (std::has_single_bit(alignment)) base.zero |= alignment - 1;
  // Shared memory is smaller than 2^18 bytes; above bit 24 the address may name a CTA of the cluster.
  if (isa::is_shared(s.variable->space))
    base.zero |= (shared_window_mask & ~low_mask(18)) | ~low_mask(shared_address_bits);
  return add(base, Bits::constant(std::uint64_t(a.value)));
}

Bits KnownBits::of(const ir::Argument& a, int width) const {
  Bits out = Bits::unknown();
  switch (a.kind) {
    case Kind::reg:
      out = a.value ? add(bits_[a.id], Bits::constant(std::uint64_t(a.value))) : bits_[a.id];
      if (a.negated) out = truncate(~out, 1);
      break;
    case Kind::immediate: out = Bits::constant(std::uint64_t(a.value)); break;
    case Kind::symbol: out = address_of(a); break;
    case Kind::special: out = special_bits(*code_.function, Special(a.id)); break;
    default: break;
  }
  return out.is_nothing() ? out : truncate(out, width);
}

bool KnownBits::update(ir::RegisterId r, Bits value) {
  const Bits joined = join(bits_[r], value.is_nothing() ? value : truncate(value, width_of(code_.registers[r])));
  if (joined == bits_[r]) return false;
  bits_[r] = joined;
  return true;
}

// Nothing where the parameter is not given.
std::vector<Bits> KnownBits::loaded_parameter(const ir::Operation& op) const {
  const auto access = ops::roles<ops::MemoryAccess>(op);
  const ir::Argument &at = access.address, &value = access.value;
  if (at.kind != Kind::address) return {};
  const ir::Argument& base = code_.components(at)[0];
  if (base.kind != Kind::symbol || !code_.symbols[base.id].is_parameter) return {};
  const int number = code_.symbols[base.id].parameter_index, bytes = isa::bits(op.modifiers.type()) / 8;
  if (number < 0 || std::size_t(number) >= given_.size() || bytes < 1 || bytes > 8) return {};
  std::vector<Bits> out;
  std::int64_t offset = base.value;
  for (const ir::Argument& to : value.kind == Kind::vector ? code_.components(value) : std::span(&value, 1)) {
    Bits word = Bits::constant(0);
    for (int k = 0; k < bytes; ++k, ++offset) {
      const auto byte = given_[std::size_t(number)].find(std::uint32_t(offset));
      const bool is_given = offset >= 0 && byte != given_[std::size_t(number)].end();
      word = word | shift_left(is_given ? Bits::constant(byte->second) : Bits::unknown(8), 8 * k);
    }
    if (to.kind == Kind::reg) out.push_back(isa::is_signed(op.modifiers.type()) ? sign_extend(word, 8 * bytes) : word);
  }
  return out;
}

std::vector<Bits> KnownBits::results(const ir::Operation& op) const {
  if (!given_.empty() && op.opcode == isa::Opcode::ld)
    if (std::vector<Bits> loaded = loaded_parameter(op); !loaded.empty()) return loaded;
  return transfer(code_, op, *this);
}

void KnownBits::solve() {
  const auto n = std::uint32_t(code_.operations.size());
  std::deque<std::uint32_t> work;
  std::vector<bool> waiting(n, true);
  for (std::uint32_t i = 0; i < n; ++i) work.push_back(i);
  while (!work.empty()) {
    const std::uint32_t i = work.front();
    work.pop_front();
    waiting[i] = false;
    const auto written = definitions_.written(i);
    if (written.empty()) continue;
    const std::vector<Bits> results = this->results(code_.operations[i]);
    for (std::size_t k = 0; k < written.size(); ++k) {
      const int width = width_of(code_.registers[written[k]]);
      if (!update(written[k], k < results.size() ? results[k] : Bits::unknown(width))) continue;
      for (std::uint32_t reader : definitions_.readers(written[k]))
        if (!waiting[reader]) {
          waiting[reader] = true;
          work.push_back(reader);
        }
    }
  }
}

}  // namespace kiln::flow
