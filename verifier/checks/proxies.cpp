// Generic stores to shared memory, and reads of the same bytes through the async proxy.
#include <algorithm>

#include "ptx/isa/access_bytes.hpp"
#include "ptx/isa/shared_descriptor.hpp"
#include "ptx/isa/tensor_copy.hpp"
#include "ptx/ops/operations.hpp"
#include "ptx/rules/memory.hpp"
#include "verifier/barrier_object.hpp"
#include "verifier/checks/checks.hpp"
#include "verifier/finding.hpp"

namespace kiln::verifier {
namespace {

using flow::Bits;
using flow::Origin;
using isa::Opcode;
using Kind = ir::Argument::Kind;

constexpr int deepest_address = 32;  // operations between an address and the descriptor made of it

// Bytes of a shared variable: [first, end), or all of it from `first` on when there is no end.
struct Access {
  std::uint32_t operation = 0;
  const ir::Argument* operand = nullptr;
  Origin start{};
  std::optional<std::int64_t> bytes{};
};

bool is_proxy_fence(const ir::Operation& op) {
  return op.opcode == Opcode::fence_proxy || op.opcode == Opcode::membar_proxy ||
         op.opcode == Opcode::tensormap_cp_fenceproxy || op.opcode == Opcode::call;
}

bool is_shared_symbol(const Facts& facts, const Origin& o) {
  return o.is(Origin::Base::symbol) && isa::is_shared(facts.code.symbols[o.id].variable->space);
}

// The address in a matrix descriptor's lowest field, which holds bits 4 to 17 of it.
std::optional<Origin> described(const Facts& facts, const ir::Argument& a, int depth = 0) {
  if (a.kind == Kind::vector) return described(facts, facts.code.components(a)[0], depth + 1);
  const ir::Operation* op =
      a.kind == Kind::reg && depth < deepest_address ? facts.definitions.only_writer(a.id) : nullptr;
  if (!op) return std::nullopt;
  const ops::Alu alu = ops::roles<ops::Alu>(*op);
  constexpr std::uint64_t field = isa::descriptor_address_mask >> 4;
  switch (op->opcode) {
    case Opcode::mov:
    case Opcode::cvt: return described(facts, alu.a, depth + 1);
    case Opcode::shr:
    case Opcode::bfe:
      return facts.known.constant(alu.b, 32) == 4 ? std::optional(facts.origins.of(alu.a)) : std::nullopt;
    case Opcode::and_:
    case Opcode::or_:
    case Opcode::add: {
      const bool swapped = facts.known.constant(alu.a, 64).has_value();
      const auto number = facts.known.of(swapped ? alu.a : alu.b, 64);
      auto base = described(facts, swapped ? alu.b : alu.a, depth + 1);
      if (!base || !number.knows(field)) return std::nullopt;
      const std::uint64_t low = number.one & field;
      // A mask may leave out bits that are zero anyway, as compilers let it.
      const std::uint64_t dropped = field & ~low & ~facts.known.of(swapped ? alu.b : alu.a, 64).zero;
      if (op->opcode == Opcode::and_) return dropped == 0 ? base : std::nullopt;
      if (op->opcode == Opcode::or_ && low != 0) return std::nullopt;
      base->added = add(base->added, Bits::constant(low << 4));
      return base;
    }
    default: return std::nullopt;
  }
}

constexpr std::string_view proxy_fence_statement = "fence.proxy.async.shared::cta;";

// By this a thread may tell others that it has stored.
bool tells(const ir::Operation& op) {
  return isa::unit(op.opcode) == isa::Unit::barrier || arrives(op) || op.opcode == Opcode::bar_warp_sync ||
         op.opcode == Opcode::atom || op.opcode == Opcode::red ||
         (op.opcode == Opcode::st && op.modifiers.semantics != isa::Semantics::none &&
          op.modifiers.semantics != isa::Semantics::weak);
}

class Proxies {
 public:
  explicit Proxies(const Facts& facts) : facts_(facts), code_(facts.code) {}

  void check() {
    if (!facts_.function.entry || std::any_of(code_.operations.begin(), code_.operations.end(), is_proxy_fence)) return;
    for (std::uint32_t i = 0; i < code_.operations.size(); ++i)
      if (facts_.is_formed(code_.operations[i]) && !gather(i)) return;
    std::vector<std::uint32_t> reported;  // symbols
    for (const Access& read : reads_) {
      if (std::find(reported.begin(), reported.end(), read.start.id) != reported.end()) continue;
      if (const Access* write = unfenced_write(read)) {
        report(*write, read);
        reported.push_back(read.start.id);
      }
    }
  }

 private:
  // False when an asynchronous copy writes to a place that is not followed.
  bool gather(std::uint32_t i) {
    const ir::Operation& op = code_.operations[i];
    if (isa::is_bulk_copy(op.opcode)) return gather_copy(i);
    if (op.opcode == Opcode::st || op.opcode == Opcode::stmatrix) {
      const ops::Operand address = op.opcode == Opcode::st ? ops::roles<ops::MemoryAccess>(op).address
                                                           : ops::roles<ops::MatrixAccess>(op).address;
      const Origin to = facts_.origins.of(address);
      const int bits = op.opcode == Opcode::st ? isa::bits(op.modifiers.type()) : 128;
      if (is_shared_symbol(facts_, to))
        writes_.push_back({i, address.pointer(), to, bits / 8 * isa::vector_width(op.modifiers.vector)});
    } else if (const auto copy = ops::as<ops::TmemCopy>(op)) {
      add_described(i, copy->from, isa::copy_shape(op.modifiers.shape).rows);
    } else if (const auto mma = ops::as<ops::Mma>(op)) {
      gather_mma(i, *mma);
    }
    return true;
  }

  bool gather_copy(std::uint32_t i) {
    const ir::Operation& op = code_.operations[i];
    const auto tensor = ops::as<ops::TensorCopy>(op);
    const auto copy = ops::roles<ops::BulkCopy>(op);
    if (op.modifiers.space() != isa::Space::global) {
      const Origin to = facts_.origins.of(tensor ? tensor->shared : copy.to);
      if (to.is(Origin::Base::symbol)) copied_to_.push_back(to.id);
      return to.is(Origin::Base::symbol);
    }
    const ops::Operand source = tensor ? tensor->shared : copy.from;
    const Origin from = facts_.origins.of(source);
    const auto bytes = tensor ? std::nullopt : facts_.constant(copy.bytes, 32);
    if (is_shared_symbol(facts_, from) && (tensor || bytes)) reads_.push_back({i, source.pointer(), from, bytes});
    return true;
  }

  // K-major operands alone: eight rows in every stride.
  void gather_mma(std::uint32_t i, const ops::Mma& mma) {
    const ir::Operation& op = code_.operations[i];
    const Bits idesc = facts_.known.of(mma.idesc, 32);
    constexpr std::uint64_t shape_and_majors = 0x1F7F8000 & ~std::uint64_t{0x00800000};
    if (!idesc.knows(shape_and_majors)) return;
    const auto f = isa::unpack(std::uint32_t(idesc.one), op.modifiers.kind);
    const int ctas = op.modifiers.cta_group == isa::CtaGroup::two ? 2 : 1;
    if (!mma.form.a_in_tmem && f.a_major == isa::Major::K) add_described(i, mma.a, f.m / ctas);
    if (f.b_major == isa::Major::K) add_described(i, mma.b, f.n / ctas);
  }

  void add_described(std::uint32_t i, const ir::Argument& descriptor, int rows) {
    const Bits bits = facts_.known.of(descriptor, 64);
    const auto start = described(facts_, descriptor);
    if (!start || !is_shared_symbol(facts_, *start) || !bits.knows(std::uint64_t{0x3FFF} << 32)) return;
    reads_.push_back({i, &descriptor, *start, std::int64_t(rows) / 8 * isa::unpack_shared(bits.one).stride});
  }

  const Access* unfenced_write(const Access& read) const {
    if (std::find(copied_to_.begin(), copied_to_.end(), read.start.id) != copied_to_.end()) return nullptr;
    const auto found = std::find_if(writes_.begin(), writes_.end(), [&](const Access& write) {
      return write.start.id == read.start.id && is_before(write.operation, read.operation) && covers(read, write);
    });
    return found == writes_.end() ? nullptr : &*found;
  }

  bool is_before(std::uint32_t a, std::uint32_t b) const {
    const flow::BlockId from = facts_.cfg.block_of(a), to = facts_.cfg.block_of(b);
    return (from == to && a < b) || facts_.cfg.reached_from(from)[to];
  }

  // What is stored lies in what is read. Of a tensor store no more is known than where it begins.
  bool covers(const Access& read, const Access& write) const {
    const auto size = std::int64_t(code_.symbols[read.start.id].variable->bytes());
    if (size == 0) return false;
    if (read.bytes && *read.bytes >= size) return true;
    const auto first = std::int64_t(write.start.added.smallest()), last = std::int64_t(write.start.added.largest());
    if (!read.start.exact() || first < 0 || last < first || last + *write.bytes > size) return false;
    const std::int64_t start = read.start.offset();
    return read.bytes ? first >= start && last + *write.bytes <= start + *read.bytes : first == start;
  }

  void report(const Access& write, const Access& read) const {
    const ir::Operation& op = code_.operations[read.operation];
    const rules::Verdict v = rules::proxy_fence(false);
    if (!v.broken()) return;
    diag::Diagnostic& d = broken(facts_.sink, v, {code_, op, read.operand->operand, false},
                                 "a read of '" + code_.symbols[read.start.id].variable->name + "' without one");
    d.notes.insert(d.notes.begin(), {"stored here", code_.where(code_.operations[write.operation])});
    if (const auto at = place_of_fence(read))
      if (const auto repair = insertion_before(code_, code_.operations[*at], proxy_fence_statement))
        d.fixits.push_back(*repair);
  }

  // A thread fences its stores before it signals that they are done. With barriers on the way, the fence goes before
  // the first barrier that all storing threads pass and that is passed before the read; without, before the read.
  // Nothing when there are barriers and none is such.
  std::optional<std::uint32_t> place_of_fence(const Access& read) const {
    bool is_told = false;
    for (std::uint32_t i = 0; i < code_.operations.size(); ++i) {
      if (!tells(code_.operations[i]) || !is_before(i, read.operation)) continue;
      const auto follows = [&](const Access& w) {
        return w.start.id != read.start.id || surely_follows(i, w.operation);
      };
      if (std::all_of(writes_.begin(), writes_.end(), follows) && surely_precedes(i, read.operation)) return i;
      is_told = is_told || std::any_of(writes_.begin(), writes_.end(), [&](const Access& w) {
                  return w.start.id == read.start.id && is_before(w.operation, i);
                });
    }
    return is_told ? std::nullopt : std::optional(read.operation);
  }

  // Every thread that executes `first` executes `second` after it.
  bool surely_follows(std::uint32_t second, std::uint32_t first) const {
    const flow::BlockId a = facts_.cfg.block_of(first), b = facts_.cfg.block_of(second);
    return a == b ? first < second : facts_.cfg.post_dominates(b, a);
  }

  // Every thread that executes `second` has executed `first` before it.
  bool surely_precedes(std::uint32_t first, std::uint32_t second) const {
    const flow::BlockId a = facts_.cfg.block_of(first), b = facts_.cfg.block_of(second);
    return a == b ? first < second : facts_.cfg.dominates(a, b);
  }

  const Facts& facts_;
  const ir::Code& code_;
  std::vector<Access> writes_, reads_;
  std::vector<std::uint32_t> copied_to_;  // symbols
};

}  // namespace

void check_proxies(const Facts& facts) { Proxies(facts).check(); }

}  // namespace kiln::verifier
