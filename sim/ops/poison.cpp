#include "sim/ops/poison.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <map>
#include <memory>
#include <vector>

#include "ptx/flow/cfg.hpp"
#include "sim/ops/alu.hpp"
#include "sim/ops/poison_flow.hpp"

namespace kiln::sim {

// What is executed or not as a branch decides, up to where its ways meet. Compilers branch around a single reciprocal.
struct BranchRegion {
  bool only_registers = false;  // nothing else is written on either way, and none leads back
  u32 join = 0;                 // instruction
  std::vector<Slot> written{};
};

struct PoisonFlows {
  std::vector<std::unique_ptr<PoisonFlow>> of{};  // by instruction
  std::unique_ptr<flow::Cfg> graph{};
  std::map<u32, BranchRegion> regions{};  // by branch
};

namespace {

// One bit for each bit of a value that is poison.
using Bits = u64;

u64 low_ones(int bits) { return bits >= 64 ? ~u64{0} : (u64{1} << bits) - 1; }

// Spreads one instruction's poison through the registers of some lanes.
class Spreading {
 public:
  Spreading(Context& c, const PoisonFlow& flow, Mask lanes)
      : c_(c), poison_(*c.warp->poison), flow_(flow), lanes_(lanes) {
    for (const PoisonInput& in : flow.inputs) {
      if (!in.is_register) continue;
      const Mask m = poison_.any(in.slot) & lanes;
      if (m && !source_) source_ = poison_.source(in.slot.offset);
      some_ |= m;
    }
    if (flow.reads_carry) {
      if (poison_.carry & lanes && !source_) source_ = poison_.carry_source;
      some_ |= poison_.carry & lanes;
    }
  }

  void run() {
    if (flow_.how != PoisonSpread::none && (!some_ || flow_.results.empty())) return clean();
    switch (flow_.how) {
      case PoisonSpread::none: return;
      case PoisonSpread::clean: return clean();
      case PoisonSpread::all: fill(some_); break;
      case PoisonSpread::bytes: bytes(); break;
      case PoisonSpread::pack: pack(); break;
      case PoisonSpread::unpack: unpack(); break;
      case PoisonSpread::vectors: vectors(); break;
      case PoisonSpread::elements: elements(); break;
      case PoisonSpread::join: join(); break;
      case PoisonSpread::select: select(); break;
      case PoisonSpread::predicates: predicates(); break;
      case PoisonSpread::product: product(); break;
      default: each_value([&](int l) { return by_bits(l); });
    }
    for (const Slot& r : flow_.results)
      if (r.offset != ~0u) poison_.source(r.offset) = source_;
  }

 private:
  void clean() { fill(0); }
  void fill(Mask m) {
    for (const Slot& r : flow_.results)
      if (r.offset != ~0u) poison_.set(r, lanes_, m);
    if (flow_.writes_carry) {
      poison_.carry = (poison_.carry & ~lanes_) | m;
      if (m) poison_.carry_source = source_;
    }
  }
  const Mask* marks(std::size_t k) const {
    return flow_.inputs[k].is_register ? poison_.bytes(flow_.inputs[k].slot.offset) : nullptr;
  }
  Mask any(std::size_t k) const {
    return k < flow_.inputs.size() && flow_.inputs[k].is_register ? poison_.any(flow_.inputs[k].slot) & lanes_ : 0;
  }
  u64 value(std::size_t k, int lane) const {
    if (k >= flow_.inputs.size()) return 0;
    const PoisonInput& in = flow_.inputs[k];
    return in.is_register ? c_.read(in.slot, lane) : in.value;
  }
  Bits bits(std::size_t k, int lane) const {
    if (k >= flow_.inputs.size() || !flow_.inputs[k].is_register) return 0;
    const u32 n = std::min<u32>(RegisterPoison::masks(flow_.inputs[k].slot), 8);
    Bits out = 0;
    for (u32 b = 0; b < n; ++b)
      if (marks(k)[b] >> lane & 1) out |= Bits{0xFF} << 8 * b;
    return out;
  }
  void put(const Slot& r, u32 byte, Mask m) {
    Mask& at = poison_.bytes(r.offset)[byte];
    at = (at & ~lanes_) | (m & lanes_);
  }

  // Results are written after all sources were read: they may be the same registers.
  void bytes() {
    const Slot r = flow_.results.front(), from = flow_.inputs.front().slot;
    for (u32 b = 0; b < RegisterPoison::masks(r); ++b) put(r, b, b < RegisterPoison::masks(from) ? marks(0)[b] : 0);
  }
  void pack() {
    const Slot r = flow_.results.front();
    std::array<Mask, 16> out{};
    for (u32 b = 0; b < r.bytes; ++b) {
      const u32 element = b * 8 / u32(flow_.bits), at = b - element * u32(flow_.bits) / 8;
      if (element < flow_.inputs.size() && marks(element)) out[b] = marks(element)[at];
    }
    for (u32 b = 0; b < r.bytes; ++b) put(r, b, out[b]);
  }
  void unpack() {
    std::array<Mask, 16> from{};
    std::copy_n(marks(0), flow_.inputs.front().slot.bytes, from.begin());
    for (std::size_t k = 0; k < flow_.results.size(); ++k) {
      const Slot r = flow_.results[k];
      if (r.offset == ~0u) continue;
      for (u32 b = 0; b < r.bytes; ++b) put(r, b, int(8 * b) < flow_.bits ? from[k * u32(flow_.bits) / 8 + b] : 0);
    }
  }
  void vectors() {
    std::array<std::array<Mask, 8>, 4> from{};
    for (std::size_t k = 0; k < flow_.inputs.size(); ++k)
      if (marks(k)) std::copy_n(marks(k), RegisterPoison::masks(flow_.inputs[k].slot), from[k].begin());
    for (std::size_t k = 0; k < flow_.results.size(); ++k) {
      const Slot r = flow_.results[k];
      if (r.offset == ~0u) continue;
      for (u32 b = 0; b < RegisterPoison::masks(r); ++b) put(r, b, from[k][b]);
    }
  }
  void elements() {
    const Slot r = flow_.results.front();
    const u32 size = u32(flow_.bits) / 8;
    std::array<Mask, 16> out{};
    for (u32 b = 0; b < r.bytes; ++b)
      for (std::size_t k = 0; k < flow_.inputs.size(); ++k) {
        if (!marks(k)) continue;
        const u32 n = RegisterPoison::masks(flow_.inputs[k].slot);
        if (n != r.bytes)
          out[b] |= any(k);  // a factor of another width
        else
          for (u32 e = b / size * size; e < b / size * size + size; ++e) out[b] |= marks(k)[e];
      }
    for (u32 b = 0; b < r.bytes; ++b) put(r, b, out[b]);
  }
  void join() {
    const Mask high = any(0), low = any(1);
    for (u32 b = 0; b < 4; ++b) put(flow_.results.front(), b, b < 2 ? low : high);
  }
  void select() {
    const Slot r = flow_.results.front();
    const Slot by = flow_.inputs[2].slot;
    const Mask unknown = any(2);
    const Mask first = flow_.inputs[2].is_register ? chosen(by) : flow_.inputs[2].value ? all_lanes : 0;
    std::array<Mask, 16> out{};
    for (u32 b = 0; b < RegisterPoison::masks(r); ++b)
      out[b] = unknown | (first & (marks(0) ? marks(0)[b] : 0)) | (~first & (marks(1) ? marks(1)[b] : 0));
    for (u32 b = 0; b < RegisterPoison::masks(r); ++b) put(r, b, out[b]);
    if (unknown) source_ = poison_.source(by.offset);
  }
  Mask chosen(Slot by) const {
    if (by.bytes == 0) return c_.read_mask(by);
    return lanes_where(lanes_, [&](int l) {
      const auto word = u32(c_.read(by, l));
      return flow_.by_float ? std::bit_cast<float>(word) >= 0 : std::int32_t(word) >= 0;
    });
  }
  // Logic of lanes: what is sure of a result decides it.
  void predicates() {
    std::array<Mask, 3> values{}, unknown{};
    for (std::size_t k = 0; k < flow_.inputs.size() && k < 3; ++k) {
      const PoisonInput& in = flow_.inputs[k];
      values[k] = in.is_register ? c_.read_mask(in.slot) : in.value ? all_lanes : 0;
      unknown[k] = any(k);
    }
    put(flow_.results.front(), 0, Mask(unsure(values[0], values[1], values[2], unknown[0], unknown[1], unknown[2])));
  }
  // Bits of a function of three, given by its table, that depend on bits that are not known.
  u64 unsure(u64 a, u64 b, u64 e, u64 ua, u64 ub, u64 ue) const {
    u64 ones = 0, zeros = 0;
    for (unsigned k = 0; k < 8; ++k) {
      const u64 possible = (ua | (k & 4 ? a : ~a)) & (ub | (k & 2 ? b : ~b)) & (ue | (k & 1 ? e : ~e));
      (flow_.table >> k & 1 ? ones : zeros) |= possible;
    }
    return ones & zeros;
  }
  // A factor that is zero, and no poison, makes a product of integers zero.
  void product() {
    const Mask a = any(0), b = any(1);
    const Mask m = lanes_where(lanes_ & (a | b), [&](int l) {
      const bool pa = a >> l & 1, pb = b >> l & 1;
      return !((!pa && value(0, l) == 0) || (!pb && value(1, l) == 0));
    });
    fill(m | any(2));
  }

  // Calls f(lane), which gives the poison bits of the result, where some source has poison.
  template <class F>
  void each_value(F f) {
    const Slot r = flow_.results.front();
    std::array<Mask, 8> out{};
    for (const int l : each_lane(some_)) {
      const Bits p = f(l);
      for (u32 b = 0; b < 8; ++b)
        if (p >> 8 * b & 0xFF) out[b] |= 1u << l;
    }
    for (u32 b = 0; b < std::min<u32>(RegisterPoison::masks(r), 8); ++b) put(r, b, out[b]);
    for (std::size_t k = 1; k < flow_.results.size(); ++k) poison_.set(flow_.results[k], lanes_, some_);
  }

  Bits by_bits(int l) const {
    const Bits everything = ~Bits{0};
    const Bits a = bits(0, l), b = bits(1, l), e = bits(2, l);
    const auto amount = [&](std::size_t k) { return std::min<u64>(value(k, l), 0xFFFF); };
    const u64 ones = low_ones(flow_.bits);
    switch (flow_.how) {
      case PoisonSpread::logic: return unsure(value(0, l), value(1, l), value(2, l), a, b, e);
      case PoisonSpread::shift_left: return b ? everything : amount(1) >= 64 ? 0 : a << amount(1) & ones;
      case PoisonSpread::shift_right: {
        if (b) return everything;
        const u64 n = std::min<u64>(amount(1), u64(flow_.bits) - 1);
        const bool sign = flow_.is_signed && a >> (flow_.bits - 1) & 1;
        if (amount(1) >= u64(flow_.bits) && !sign) return 0;
        return (a & ones) >> n | (sign ? ~(ones >> n) : 0);
      }
      case PoisonSpread::funnel: {
        if (e) return everything;
        const u64 n = flow_.wraps ? value(2, l) & 31 : std::min<u64>(value(2, l), 32);
        const u64 both = (b & 0xFFFFFFFF) << 32 | (a & 0xFFFFFFFF);
        return flow_.to_left ? (both << n) >> 32 : both >> n & 0xFFFFFFFF;
      }
      case PoisonSpread::permute: return e ? everything : permuted(a, b, u32(value(2, l)));
      case PoisonSpread::extract: return b || e ? everything : extracted(a, value(1, l) & 0xFF, value(2, l) & 0xFF);
      default: return inserted(l);
    }
  }
  Bits permuted(Bits a, Bits b, u32 control) const {
    const u64 both = b << 32 | (a & 0xFFFFFFFF);
    const u32 selectors = prmt_selector(flow_.permutation, control);
    Bits out = 0;
    for (int k = 0; k < 4; ++k) out |= (both >> 8 * (selectors >> 4 * k & 7) & 0xFF) << 8 * k;
    return out;
  }
  Bits extracted(Bits a, u64 at, u64 length) const {
    if (at >= 64 || length == 0) return 0;
    const int n = int(std::min<u64>(length, 64));
    const Bits field = a >> at & low_ones(n);
    const bool sign = flow_.is_signed && (field >> (n - 1) & 1 || a >> (flow_.bits - 1) & 1);
    return field | (sign ? ~low_ones(n) : 0);
  }
  Bits inserted(int l) const {
    if (any(2) >> l & 1 || any(3) >> l & 1) return ~Bits{0};
    const u64 at = value(2, l) & 0xFF, length = value(3, l) & 0xFF;
    const u64 mask = at >= 64 ? 0 : low_ones(int(std::min<u64>(length, 64))) << at;
    return (bits(1, l) & ~mask) | (at >= 64 ? 0 : bits(0, l) << at & mask);
  }

  Context& c_;
  RegisterPoison& poison_;
  const PoisonFlow& flow_;
  Mask lanes_, some_ = 0;
  PoisonSource source_ = 0;
};

const PoisonFlow& flow_of(Grid& grid, const Inst& i) {
  if (!grid.poison_flows) {
    grid.poison_flows = std::make_shared<PoisonFlows>();
    grid.poison_flows->of.resize(grid.program.insts.size());
  }
  std::unique_ptr<PoisonFlow>& flow = grid.poison_flows->of[std::size_t(&i - grid.program.insts.data())];
  if (!flow) flow = std::make_unique<PoisonFlow>(poison_flow(grid.program, *i.operation));
  return *flow;
}

// Adds what a block writes; false if it does more than write registers.
bool add_block(Grid& grid, const flow::BasicBlock& block, std::vector<Slot>& written) {
  for (u32 at = block.first; at < block.last; ++at) {
    const Inst& i = grid.program.insts[at];
    const PoisonFlow& flow = flow_of(grid, i);
    if (!flow.only_registers && !flow.is_hint && i.operation->opcode != Opcode::bra) return false;
    written.insert(written.end(), flow.results.begin(), flow.results.end());
  }
  return true;
}

BranchRegion region_of(Grid& grid, const flow::Cfg& graph, u32 branch) {
  BranchRegion out;
  const flow::BlockId from = graph.block_of(branch), join = graph.post_dominator(from);
  if (!graph.reachable(from) || join == flow::no_block) return out;
  const std::vector<bool> reached = graph.reached_from(from, [&](u32 e) { return graph.edges[e].from != join; });
  if (reached[from]) return out;
  for (flow::BlockId b = 0; b < graph.blocks.size(); ++b)
    if (reached[b] && b != join && !add_block(grid, graph.blocks[b], out.written)) return out;
  std::erase_if(out.written, [](const Slot& s) { return s.offset == ~0u; });
  out.only_registers = true;
  out.join = graph.blocks[join].first;
  return out;
}

const BranchRegion& region_of(Grid& grid, const Inst& i) {
  PoisonFlows& flows = *grid.poison_flows;
  if (!flows.graph) flows.graph = std::make_unique<flow::Cfg>(*grid.program.code);
  const auto at = u32(&i - grid.program.insts.data());
  const auto [found, fresh] = flows.regions.try_emplace(at);
  if (fresh) found->second = region_of(grid, *flows.graph, at);
  return found->second;
}

// An instruction other than one that writes registers has a condition that is poison.
void judge_condition(Context& c, const Inst& i, Mask unsure) {
  RegisterPoison& poison = *c.warp->poison;
  const PoisonSource source = poison.source(i.guard);
  if (i.operation->opcode != Opcode::bra)
    return c.grid->report_poison(i.operation, source, "the condition under which this is executed");
  const BranchRegion& region = region_of(*c.grid, i);
  if (!region.only_registers) return c.grid->report_poison(i.operation, source, "the condition of a branch");
  poison.joins.push_back({region.join, unsure, &region.written, source});
}

void join_ways(RegisterPoison& poison, u32 pc, Mask present) {
  for (PoisonJoin& join : poison.joins) {
    const Mask lanes = join.pc == pc ? join.lanes & present : 0;
    if (!lanes) continue;
    join.lanes &= ~lanes;
    for (const Slot& s : *join.written) {
      poison.set(s, lanes, lanes);
      poison.source(s.offset) = join.source;
    }
  }
  std::erase_if(poison.joins, [](const PoisonJoin& join) { return join.lanes == 0; });
}

}  // namespace

void spread_poison(Context& c, const Inst& i, Mask present, Mask lanes) {
  if (!i.operation) return;
  RegisterPoison& poison = *c.warp->poison;
  if (!poison.joins.empty()) join_ways(poison, u32(&i - c.grid->program.insts.data()), present);
  const PoisonFlow& flow = flow_of(*c.grid, i);
  const Mask unsure = *poison.bytes(i.guard) & present;
  if (unsure && !flow.only_registers && !flow.is_hint) judge_condition(c, i, unsure);
  if (lanes == 0 && !unsure) return;
  for (const DecidingRegister& d : flow.deciding)
    if (poison.any(d.slot) & lanes & d.lanes) c.grid->report_poison(i.operation, poison.source(d.slot.offset), d.as);
  if (flow.how != PoisonSpread::none) Spreading(c, flow, lanes).run();
  if (!unsure || !flow.only_registers) return;
  for (const Slot& r : flow.results)
    if (r.offset != ~0u) {
      poison.set(r, unsure, unsure);
      poison.source(r.offset) = poison.source(i.guard);
    }
}

}  // namespace kiln::sim
