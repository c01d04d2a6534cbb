#include "sim/ops/binder.hpp"

#include <bit>
#include <utility>

#include "ptx/ops/meaning.hpp"
#include "sim/core/convergence.hpp"
#include "sim/core/machine.hpp"

namespace kiln::sim {
namespace {

using Kind = ir::Argument::Kind;

Status lacks(Context& c, const Inst& i, Mask) { unmodelled(c.grid->program.gaps[i.more]); }

u64 real_bits(const ir::Argument& a, ScalarType type) {
  const bool wants_double = type == ScalarType::f64 || isa::bits(type) == 64;
  const auto bits = u64(a.value);
  if (a.is_single == !wants_double) return bits;
  if (a.is_single) return std::bit_cast<u64>(double(std::bit_cast<float>(u32(bits))));
  return std::bit_cast<u32>(float(std::bit_cast<double>(bits)));
}

u64 narrow(u64 value, ScalarType type) {
  const int bits = isa::bits(type);
  return bits >= 64 || bits == 0 ? value : value & ((u64{1} << bits) - 1);
}

// Instructions with words that no table of modifiers has.
bool reads_others(Opcode op) {
  if (isa::unit(op) == isa::Unit::matrix || isa::unit(op) == isa::Unit::video) return true;
  switch (op) {
    case Opcode::clusterlaunchcontrol_query_cancel:
    case Opcode::createpolicy:
    case Opcode::cvt_pack:
    case Opcode::multimem_ld_reduce:
    case Opcode::pmevent:
    case Opcode::prefetch:
    case Opcode::tensormap_replace: return true;
    default: return false;
  }
}

// Where the memory of the system begins and ends.
u64 reserved_offset(const std::string& name) {
  if (name.ends_with("_begin")) return 0;
  if (name.ends_with("_end") || name.ends_with("_cap")) return reserved_shared_bytes;
  throw Gap{"`" + name + "`"};
}

using Bind = void (*)(Binder&, const ir::Operation&, Inst&);

template <typename Operands, void (*bind)(Binder&, const ir::Operation&, const Operands&, Inst&)>
void read_and_bind(Binder& binder, const ir::Operation& op, Inst& inst) {
  const auto operands = ops::as<Operands>(op);
  if (!operands) throw Gap{"these operands"};
  bind(binder, op, *operands, inst);
}

// By ops::Family.
constexpr Bind binders[] = {
#define FAMILY(id, Type) read_and_bind<ops::Type, bind_##id>,
#define ROLE(member)
#define ROLE_IF(member, condition)
#define ROLES()
#define END()
#include "ptx/ops/families.def"
#undef FAMILY
#undef ROLE
#undef ROLE_IF
#undef ROLES
#undef END
};

}  // namespace

// Families without a model.
void bind_unknown(Binder&, const ir::Operation&, const ops::Unread&, Inst&) {}
void bind_texture(Binder&, const ir::Operation&, const ops::Unread&, Inst&) {}
void bind_sparse_compression(Binder&, const ir::Operation&, const ops::Unread&, Inst&) {}
void bind_fabric(Binder&, const ir::Operation&, const ops::Unread&, Inst&) {}
void bind_tmem_load_compressed(Binder&, const ir::Operation&, const ops::TmemAccess&, Inst&) {}

bool is_clock(ir::Special s) {
  using ir::Special;
  return s == Special::clock || s == Special::clock_hi || s == Special::clock64 || s == Special::globaltimer ||
         s == Special::globaltimer_lo || s == Special::globaltimer_hi;
}

u8 register_bytes(ScalarType type) {
  const int bits = isa::bits(type);
  return type == ScalarType::pred ? 0 : bits <= 32 ? 4 : bits <= 64 ? 8 : 16;
}

Binder::Binder(const Linked& linked, Layout layout) : linked_(linked), code_(linked.code) {
  program_.code = &code_;
  program_.layout = std::move(layout);
  for (const ir::RegisterInfo& r : code_.registers) program_.registers.push_back(grow(register_bytes(r.type)));
  if (program_.layout.stack_bytes) program_.stack = scratch(4);
  add_callables();
}

void Binder::add_callables() {
  if (!linked_.functions.empty()) program_.kernel_end = linked_.functions.front().first;
  for (const LinkedFunction& f : linked_.functions) {
    Callable c;
    c.name = f.function->name;
    c.item = u32(function_item(*code_.module, c.name));
    c.entry = f.first;
    c.end = f.end;
    c.back = scratch(4);
    c.idle = scratch(0);  // registers start as all ones: every lane is outside
    if (program_.layout.stack_bytes) c.frame = scratch(4);
    for (const Formal& r : f.results) c.results.push_back(passed(r));
    for (const Formal& p : f.parameters) c.parameters.push_back(passed(p));
    program_.callables.push_back(std::move(c));
  }
}

Passed Binder::passed(const Formal& f) const {
  if (f.is_register) return {false, reg(f.id), 0, f.bytes};
  return {true, {}, u32(program_.layout.addresses[f.id] - local_base), f.bytes};
}

Passed Binder::passed(const ir::Argument& a) {
  if (a.kind == Kind::symbol) {
    const ir::Variable& v = *code_.symbols[a.id].variable;
    if (v.space != Space::param || code_.symbols[a.id].is_parameter) throw Gap{"a call that passes this operand"};
    return {true, {}, u32(program_.layout.addresses[a.id] - local_base), u32(v.bytes())};
  }
  const Slot s = any_width(a, ScalarType::b64);
  if (s.bytes > 8) throw Gap{"a call that passes a 128-bit register"};
  return {false, s, 0, s.bytes};
}

std::optional<u32> Binder::callable(const ir::Argument& a) const {
  for (u32 k = 0; k < program_.callables.size(); ++k)
    if (program_.callables[k].item == a.id) return k;
  return std::nullopt;
}

u32 Binder::add(CallSite site) {
  program_.calls.push_back(std::move(site));
  return u32(program_.calls.size() - 1);
}

u32 Binder::grow(u8 bytes) {
  const u32 at = program_.file_bytes;
  program_.file_bytes += bytes == 0 ? 8u : u32(bytes) * warp_lanes;
  return at;
}

Slot Binder::scratch(u8 bytes) { return {grow(bytes), bytes, false}; }

u32 Binder::add(const WarpMma& mma) {
  program_.mmas.push_back(mma);
  return u32(program_.mmas.size() - 1);
}

u32 Binder::add(const isa::MmaForm& form) {
  program_.forms.push_back(form);
  return u32(program_.forms.size() - 1);
}

int Binder::sm() const {
  const auto target = code_.module->target();
  if (!target) throw Gap{"arithmetic that depends on a target, which the module does not name"};
  return target->sm;
}

Slot Binder::make_constant(u64 value, u8 bytes, Constant::Kind kind) {
  const auto [found, fresh] = constants_.try_emplace({value, bytes, kind}, 0);
  if (fresh) {
    found->second = grow(bytes);
    program_.constants.push_back({found->second, bytes, kind, value});
  }
  return {found->second, bytes, false};
}

Slot Binder::constant(u64 value, u8 bytes) {
  return make_constant(bytes == 4 ? value & 0xFFFFFFFFu : value, bytes, Constant::Kind::plain);
}

Slot Binder::special(ir::Special s) {
  if (is_clock(s)) throw Gap{"`" + std::string(ir::spelling(s)) + "` outside of mov"};
  const auto [found, fresh] = specials_.try_emplace(s, 0);
  if (fresh) {
    found->second = grow(4);
    program_.specials.push_back({found->second, s});
  }
  return {found->second, 4, false};
}

Slot Binder::symbol(const ir::Argument& a, u8 bytes) {
  const ir::Symbol& s = code_.symbols[a.id];
  const u64 value = program_.layout.addresses[a.id] + u64(a.value);
  const bool shared = isa::is_shared(s.variable->space);
  return make_constant(bytes == 4 ? value & 0xFFFFFFFFu : value, bytes,
                       shared ? Constant::Kind::shared_address : Constant::Kind::plain);
}

Slot Binder::reg(u32 id) const { return {program_.registers[id], register_bytes(code_.registers[id].type), false}; }

Slot Binder::any_width(const ir::Argument& a, ScalarType type) {
  const u8 bytes = register_bytes(type);
  switch (a.kind) {
    case Kind::reg: {
      Slot s = reg(a.id);
      s.negated = a.negated;
      return s;
    }
    case Kind::immediate: return constant(bytes == 0 ? a.value != 0 : narrow(u64(a.value), type), bytes);
    case Kind::real: return constant(real_bits(a, type), bytes);
    case Kind::special:
      if (ir::Special(a.id) == ir::Special::reserved_smem) return constant(reserved_offset(a.operand->text), 4);
      return special(ir::Special(a.id));
    case Kind::symbol: return symbol(a, bytes == 8 ? 8 : 4);
    case Kind::function: return constant(function_address(a.id), bytes);
    default: throw Gap{"an operand of this kind: `" + (a.operand ? a.operand->text : std::string()) + "`"};
  }
}

Slot Binder::source(const ir::Argument& a, ScalarType type) {
  const Slot s = any_width(a, type);
  if (s.bytes != register_bytes(type) && a.kind != Kind::special)
    throw Gap{"a register whose width is not that of ." + std::string(isa::spelling(type))};
  return s;
}

Slot Binder::any_result(const ir::Argument& a, ScalarType type) {
  if (a.kind == Kind::sink || a.kind == Kind::none) return scratch(register_bytes(type));
  if (a.kind != Kind::reg) throw Gap{"a result that is not a register"};
  return reg(a.id);
}

Slot Binder::result(const ir::Argument& a, ScalarType type) {
  const Slot s = any_result(a, type);
  if (s.bytes != register_bytes(type))
    throw Gap{"a result register whose width is not that of ." + std::string(isa::spelling(type))};
  return s;
}

Slot Binder::predicate(const ir::Argument& a) { return source(a, ScalarType::pred); }

std::pair<Slot, std::int64_t> Binder::address(const ir::Argument& a) {
  const auto items = code_.components(a);
  if (a.kind != Kind::address || items.empty()) throw Gap{"an address of this form"};
  const ir::Argument& base = items[0];
  if (base.kind == Kind::reg) return {reg(base.id), base.value};
  if (base.kind == Kind::symbol) {
    ir::Argument whole = base;
    whole.value = 0;
    return {symbol(whole, 8), base.value};
  }
  if (base.kind == Kind::immediate) return {constant(u64(base.value), 8), 0};
  throw Gap{"an address of this form"};
}

void Binder::address(Inst& inst, const ir::Argument& a) {
  const auto [slot, offset] = address(a);
  inst.a = slot.offset;
  inst.wide = slot.bytes == 8;
  inst.value = offset;
}

void Binder::access(Inst& inst, const ir::Operation& op, const ir::Argument& a) {
  address(inst, a);
  inst.space = u8(op.modifiers.space());
}

std::pair<Slot, std::int64_t> Binder::address_or_none(const ops::Operand& o) {
  return o ? address(o) : std::pair{constant(0, 8), std::int64_t{0}};
}

void Binder::append_address(Inst& inst, const ops::Operand& o) {
  const auto [slot, offset] = address_or_none(o);
  append(inst, slot);
  append(inst, constant(u64(offset), 8));
}

void Binder::append(Inst& inst, Slot s) {
  if (inst.more_count == 0) inst.more = u32(program_.slots.size());
  ++inst.more_count;
  program_.slots.push_back(s);
}

void Binder::append_all(Inst& inst, const ir::Argument& a, ScalarType type) {
  if (a.kind != Kind::vector) return append(inst, any_width(a, type));
  for (const ir::Argument& item : code_.components(a))
    append(inst, item.kind == Kind::sink ? scratch(register_bytes(type)) : any_width(item, type));
}

Inst Binder::bind(const ir::Operation& op) {
  Inst inst;
  inst.operation = &op;
  inst.guard = op.guard ? reg(*op.guard).offset : constant(1, 0).offset;
  inst.guard_flip = op.guard && op.guard_negated ? all_lanes : 0;
  const Inst bare = inst;
  std::string gap;
  try {
    if (!op.modifiers.others.empty() && !reads_others(op.opcode))
      throw Gap{"the modifier ." + op.modifiers.others.front()};
    if (std::string what = ops::without_model(op); !what.empty()) throw Gap{std::move(what)};
    binders[std::size_t(ops::family(op.opcode))](*this, op, inst);
    if (inst.run) return inst;
    gap = "this instruction";
  } catch (const Gap& g) {
    gap = g.what;
  }
  inst = bare;
  inst.run = lacks;
  inst.more = u32(program_.gaps.size());
  program_.gaps.push_back("`" + ir::mnemonic(*op.instruction) + "`" + (gap == "this instruction" ? "" : ": " + gap));
  return inst;
}

Program Binder::run() {
  auto next = program_.callables.begin();
  for (const ir::Operation& op : code_.operations) {
    const auto at = u32(program_.insts.size());
    if (next != program_.callables.end() && at == next->entry) function_ = &*next++;
    program_.insts.push_back(bind(op));
  }
  Inst end;
  end.run = leave;
  end.guard = constant(1, 0).offset;
  program_.insts.push_back(end);
  return std::move(program_);
}

}  // namespace kiln::sim
