#include "dsl/builder.hpp"

#include <algorithm>

#include "dsl/dead_code.hpp"
#include "dsl/operands.hpp"
#include "dsl/ring_check.hpp"
#include "dsl/tcgen05.hpp"
#include "dsl/wgmma.hpp"
#include "ptx/diag/error.hpp"
#include "ptx/isa/launch_limits.hpp"
#include "ptx/ops/features.hpp"
#include "ptx/rules/execution.hpp"

namespace kiln::dsl {

namespace {

constexpr const char* tmem_slot = "kiln_tmem";

ir::Variable shared_variable(std::string name, ScalarType type, int count, int align) {
  ir::Variable v;
  v.space = isa::Space::shared;
  v.type = type;
  v.align = align;
  v.name = std::move(name);
  if (count > 1) v.dims.push_back(std::uint64_t(count));
  return v;
}

}  // namespace

std::unique_ptr<TensorCoreTarget> tensor_core_of(const KernelContext& kernel, int warps) {
  if (isa::has(isa::Feature::wgmma, kernel.target)) return std::make_unique<Wgmma>(warps, kernel);
  return std::make_unique<Tcgen05>();
}

Recording::Recording(KernelContext context) : context_(context), storage_(rec_, context_) {}

Recording::~Recording() = default;

KernelBuilder::~KernelBuilder() = default;

KernelBuilder::KernelBuilder(std::string name, Target target, WarpCount warps, CtaGroup group, int pairs)
    : Recording({target, group, pairs, {}}),
      ctaid{special("%ctaid.x"), special("%ctaid.y"), special("%ctaid.z")},
      nctaid{special("%nctaid.x"), special("%nctaid.y"), special("%nctaid.z")},
      name_(std::move(name)),
      warps_(warps.count),
      tensor_core_(tensor_core_of(context_, warps_)) {
  context_.tensor_core = tensor_core_.get();
  thread_ = special("%tid.x").operand();
  const Operand index = rec_.pure(ScalarType::b32, "shr.u32", {thread_, Operand::number(5)}, nowhere);
  // A shuffle tells ptxas, and every reader, that the index is the same in all lanes.
  warp_ = rec_.fresh(ScalarType::b32);
  rec_.emit("shfl.sync.idx.b32", {warp_, index, Operand::number(0), Operand::number(31), whole_warp()}, nowhere);
}

// Parameters ----------------------------------------------------------------------------------------------------------

AnyTensorMap KernelBuilder::param(const std::string& name, const TileShape& tile) {
  return {rec_, tensor_map_parameter(name, tile, 2), tile};
}

Operand KernelBuilder::tensor_map_parameter(const std::string& name, const TileShape& tile, int rank) {
  ParameterInfo p;
  p.name = name;
  p.type = tile.element.scalar;
  p.k_inner = tile.order == Major::K;
  p.spans = rank == 3 ? tile.blocks() : 0;
  p.map.padded = tile.element.packed_bits == 4 && tile.element.bits == 8;
  p.map.rank = rank;
  p.map.box = {std::uint32_t(tile.box_inner()), std::uint32_t(tile.box_outer()), 1, 1, 1};
  if (p.spans > 0) p.map.box[2] = std::uint32_t(p.spans);
  p.map.swizzle = tile.swizzle();
  return map_parameter(std::move(p));
}

U64 KernelBuilder::bare_map(const std::string& name, ScalarType type, int rank) {
  return {rec_, bare_map_parameter(name, type, rank)};
}

Operand KernelBuilder::bare_map_parameter(const std::string& name, ScalarType type, int rank) {
  ParameterInfo p;
  p.name = name;
  p.type = type;
  p.is_bare_map = true;
  p.map.rank = rank;
  p.map.box = {1, 1, 1, 1, 1};
  return map_parameter(std::move(p));
}

Operand KernelBuilder::map_parameter(ParameterInfo p) {
  p.is_tensor_map = true;
  p.map.dtype = p.type;
  const Operand symbol = Operand::named(parameter_symbol(p.name));
  parameters_.push_back(std::move(p));
  const Operand address = rec_.pure(ScalarType::b64, "mov.b64", {symbol}, nowhere);
  return rec_.pure(ScalarType::b64, "cvta.param.u64", {address}, nowhere);
}

Operand KernelBuilder::scalar_parameter(ParameterInfo p) {
  const bool pointer = p.is_pointer;
  const ScalarType type = pointer ? ScalarType::u64 : p.type;
  const Operand symbol = Operand::address(Operand::named(parameter_symbol(p.name)));
  parameters_.push_back(std::move(p));
  const Operand value = rec_.pure(type, "ld.param." + std::string(isa::spelling(type)), {symbol}, nowhere);
  return pointer ? rec_.pure(ScalarType::b64, "cvta.to.global.u64", {value}, nowhere) : value;
}

ParameterTable KernelBuilder::table(const std::string& name, int rows, int row_bytes) {
  constexpr int most = ParameterTable::most_bytes;
  if (rows < 1 || row_bytes < 1 || row_bytes % isa::tensor_map_alignment != 0 || rows > most / row_bytes)
    throw diag::InputError("table '" + name + "' has " + std::to_string(rows) + " rows of " +
                           std::to_string(row_bytes) + " bytes: a row is a multiple of " +
                           std::to_string(isa::tensor_map_alignment) + ", and parameters have " + std::to_string(most) +
                           " bytes at most");
  ParameterInfo p;
  p.name = name;
  p.type = ScalarType::b8;
  p.table_bytes = std::uint32_t(rows * row_bytes);
  parameters_.push_back(std::move(p));
  return {rec_, parameter_symbol(name), row_bytes};
}

AnyPointer KernelBuilder::pointer(const std::string& name, ElementType element) {
  ParameterInfo p;
  p.name = name;
  p.type = element.scalar;
  p.is_pointer = true;
  return {element, U64(rec_, scalar_parameter(std::move(p)))};
}

// Roles ---------------------------------------------------------------------------------------------------------------

void KernelBuilder::add_role(const std::string& name, int first_warp, int warps, bool elected,
                             const std::function<void(RoleContext&)>& record, Here at) {
  rec_.require(rules::role_warps(first_warp + warps - 1, warps_), at,
               "role '" + name + "' wants warp " + std::to_string(first_warp + warps - 1) + " of " +
                   std::to_string(warps_));
  tensor_core_->place_rest(storage_);
  Role& role = roles_.emplace_back();
  role.first_warp = first_warp;
  role.warps = warps;
  role.elected = elected;
  role.context.kernel = &context_;
  role.context.name = name;
  role.context.warp = warp_;
  role.context.thread = thread_;
  role.context.threads = elected ? 1 : warps * isa::threads_per_warp;
  role.context.first_warp = first_warp;
  role.context.named_barrier = 1 + first_warp / 4;
  rec_.enter(role.body, role.entry);
  rec_.open_scope();
  record(role.context);
  if (!role.context.exit.empty()) {
    // A thread that comes here early has none of the results that the body computed on its way.
    rec_.close_scope();
    rec_.open_scope();
    rec_.label(role.context.exit);
    if (!elected) rec_.emit("bar.warp.sync", {whole_warp()}, nowhere);
    role.context.waited = true;
  }
  for (const auto& last_words : role.context.at_exit) last_words();
  if (role.context.used_tcgen05) own_fence_before_sync(rec_, nowhere);
  rec_.close_scope();
  rec_.leave();
}

Statements KernelBuilder::recorded(Role& role) {
  Statements out = std::move(role.entry);
  std::move(role.body.begin(), role.body.end(), std::back_inserter(out));
  return out;
}

Statements KernelBuilder::role_code(Role& role) {
  Statements out;
  rec_.enter(out, out);
  const std::string end = "end_" + role.context.name, join = "join_" + role.context.name;
  rec_.label("role_" + role.context.name);
  const Operand other = rec_.fresh(ScalarType::pred);
  if (role.warps == 1) {
    rec_.emit("setp.ne.u32", {other, warp_, Operand::number(role.first_warp)}, nowhere);
  } else if (role.warps == isa::warps_per_warpgroup) {
    const Operand group = rec_.fresh(ScalarType::b32);
    rec_.emit("shr.u32", {group, warp_, Operand::number(2)}, nowhere);
    rec_.emit("setp.ne.u32", {other, group, Operand::number(role.first_warp / 4)}, nowhere);
  } else {  // warps below the first are far above the last one as unsigned numbers
    const Operand place = rec_.fresh(ScalarType::b32);
    rec_.emit("sub.u32", {place, warp_, Operand::number(role.first_warp)}, nowhere);
    rec_.emit("setp.ge.u32", {other, place, Operand::number(role.warps)}, nowhere);
  }
  rec_.emit_if(other, false, "bra", {Operand::named(end)}, nowhere);
  if (role.leader_only) rec_.emit_if(storage_.leader_predicate(), true, "bra", {Operand::named(end)}, nowhere);
  if (role.elected) {
    rec_.emit_if(elect_leader(rec_, nowhere), true, "bra", {Operand::named(join)}, nowhere);
  }
  Statements code = recorded(role);
  std::move(code.begin(), code.end(), std::back_inserter(out));
  if (role.elected) {
    rec_.label(join);
    rec_.emit("bar.warp.sync", {whole_warp()}, nowhere);
  }
  rec_.label(end);
  rec_.leave();
  return out;
}

// Set-up and clean-up -------------------------------------------------------------------------------------------------

void KernelBuilder::initialise_barriers() {
  const Operand other = rec_.fresh(ScalarType::pred);
  rec_.emit("setp.ne.u32", {other, warp_, Operand::number(0)}, nowhere);
  rec_.emit_if(other, false, "bra", {Operand::named("setup_barriers_end")}, nowhere);
  rec_.emit_if(elect_leader(rec_, nowhere), true, "bra", {Operand::named("setup_barriers_join")}, nowhere);
  for (const Barriers& b : storage_.all_barriers())
    for (int i = 0; i < b.count; ++i)
      rec_.emit("mbarrier.init.shared::cta.b64",
                {Operand::address(b.address, i * isa::mbarrier_bytes), Operand::number(b.arrivals)}, nowhere);
  rec_.emit("fence.mbarrier_init.release.cluster", {}, nowhere);
  rec_.label("setup_barriers_join");
  rec_.emit("bar.warp.sync", {whole_warp()}, nowhere);
  rec_.label("setup_barriers_end");
}

// All threads of the CTA, or of the cluster's: an access to the peer's memory needs the peer to have started and
// not to have ended.
void KernelBuilder::synchronise_ctas() {
  if (!in_pairs()) return rec_.emit("bar.sync", {Operand::number(0)}, nowhere);
  rec_.emit("barrier.cluster.arrive.release.aligned", {}, nowhere);
  rec_.emit("barrier.cluster.wait.acquire.aligned", {}, nowhere);
}

Statements KernelBuilder::setup() {
  Statements out;
  rec_.enter(out, out);
  const bool tensor_memory = storage_.columns() > 0, barriers = !storage_.all_barriers().empty();
  if (barriers) initialise_barriers();
  // The peer must have started before its memory is accessed; for an allocation PTX requires it ("tcgen05.alloc").
  if (in_pairs()) synchronise_ctas();
  if (tensor_memory) {
    // The allocating warp is not the one that initialises barriers, where there are two.
    is_allocator_ = rec_.fresh(ScalarType::pred);
    rec_.emit("setp.eq.u32", {is_allocator_, warp_, Operand::number(warps_ > 1 ? 1 : 0)}, nowhere);
    rec_.emit_if(is_allocator_, true, "bra", {Operand::named("setup_tmem_end")}, nowhere);
    rec_.emit(cta_mnemonic("tcgen05.alloc", context_.group) + ".sync.aligned.shared::cta.b32",
              {Operand::address(Operand::named(tmem_slot)), storage_.allocation()}, storage_.allocated_at());
    rec_.emit(cta_mnemonic("tcgen05.relinquish_alloc_permit", context_.group) + ".sync.aligned", {}, nowhere);
    rec_.label("setup_tmem_end");
    own_fence_before_sync(rec_, nowhere);
  }
  if (tensor_memory || (barriers && !in_pairs())) rec_.emit("bar.sync", {Operand::number(0)}, nowhere);
  if (tensor_memory) {
    own_fence_after_sync(rec_, nowhere);
    rec_.emit("ld.shared.b32", {storage_.tmem_base(), Operand::address(Operand::named(tmem_slot))}, nowhere);
  }
  rec_.leave();
  return out;
}

Statements KernelBuilder::cleanup() {
  Statements out;
  rec_.enter(out, out);
  rec_.label("role_cleanup");
  if (storage_.columns() > 0) {
    synchronise_ctas();
    own_fence_after_sync(rec_, nowhere);
    rec_.emit_if(is_allocator_, true, "bra", {Operand::named("cleanup_end")}, nowhere);
    rec_.emit(cta_mnemonic("tcgen05.dealloc", context_.group) + ".sync.aligned.b32",
              {storage_.tmem_base(), storage_.allocation()}, storage_.allocated_at());
    rec_.label("cleanup_end");
  } else if (tensor_core_->pairs_end_together() && in_pairs()) {
    synchronise_ctas();
  }
  rec_.emit("ret", {}, nowhere);
  rec_.leave();
  return out;
}

// The whole -----------------------------------------------------------------------------------------------------------

void KernelBuilder::check() {
  std::vector<std::pair<const void*, std::string>> names;
  for (const Role& role : roles_) names.emplace_back(&role.entry, role.context.name);
  for (const RingState& ring : storage_.rings()) check_roles(rec_, ring, leader_roles(), names);
  for (const RingState& ring : storage_.answers())
    rec_.require(rules::ring_shares(ring.producers.size() == 1), ring.made_at,
                 std::to_string(ring.producers.size()) + " roles hand out the tiles of launch control");
  check_registers();
  if (!rec_.findings().all().empty())
    throw diag::Rejected("kernel '" + name_ + "' breaks a rule", rec_.findings());
}

// Where ptxas knows how many registers a CTA has at entry: no more can be given out.
void KernelBuilder::check_registers() {
  const int ctas = ctas_per_sm();
  if (ctas == 0) return;
  const auto threads = std::uint64_t(warps() * isa::threads_per_warp);
  rules::RegisterBudget budget(warps(), isa::registers_to_share(std::uint64_t(ctas), threads));
  const Role* most = nullptr;
  for (const Role& role : roles_) {
    const int asked = role.context.registers;
    budget.give(role.warps, asked);
    if (asked > 0 && (!most || asked > most->context.registers)) most = &role;
  }
  if (most) rec_.require(budget.verdict(), most->context.registers_at);
}

int KernelBuilder::ctas_per_sm() const {
  return tensor_core_->ctas_per_sm() > 0 ? tensor_core_->ctas_per_sm() : ctas_per_sm_;
}

ir::Function KernelBuilder::function() {
  ir::Function f;
  f.linkage = ir::Linkage::visible;
  f.entry = true;
  f.name = name_;
  for (const ParameterInfo& p : parameters_) {
    ir::Variable v;
    v.space = isa::Space::param;
    v.name = parameter_symbol(p.name);
    v.type = p.is_tensor_map ? ScalarType::b8 : p.is_pointer ? ScalarType::u64 : p.type;
    if (p.is_tensor_map) {
      v.align = isa::tensor_map_alignment;
      v.dims.push_back(std::uint64_t(isa::tensor_map_bytes));
    }
    if (p.table_bytes > 0) {
      v.align = isa::tensor_map_alignment;
      v.dims.push_back(p.table_bytes);
    }
    f.parameters.push_back(std::move(v));
  }
  ir::Performance threads;
  threads.name = "reqntid";
  threads.values = {warps() * isa::threads_per_warp, 1, 1};
  f.performance.push_back(std::move(threads));
  if (ctas_per_sm() > 0) f.performance.push_back({.name = "minnctapersm", .values = {ctas_per_sm()}});
  if (in_pairs()) f.performance.push_back({.name = "reqnctapercluster", .values = {context_.ctas(), 1, 1}});

  Statements code = std::move(rec_.prologue());
  code.insert(code.begin(), {ir::Label{"role_setup", {}}});
  const auto append = [&code](Statements more) { std::move(more.begin(), more.end(), std::back_inserter(code)); };
  append(setup());
  const auto is_moved = [&](const Role& role) { return &role.context == tensor_core_->moved_role(); };
  for (Role& role : roles_)
    if (is_moved(role)) append(tensor_core_->moved_role_code(rec_, recorded(role)));
  for (Role& role : roles_)
    if (!is_moved(role)) append(role_code(role));
  append(cleanup());
  drop_unused_results(code);

  ir::Block body;
  body.statements = rec_.declarations();
  for (const Barriers& b : storage_.all_barriers())
    body.statements.push_back({shared_variable(b.name, ScalarType::b64, b.count, isa::mbarrier_bytes)});
  for (const RingState& ring : storage_.answers())
    body.statements.push_back(
        {shared_variable(answers_symbol, ScalarType::b8, ring.stages * ring.slot_bytes, answer_bytes)});
  if (storage_.columns() > 0) body.statements.push_back({shared_variable(tmem_slot, ScalarType::b32, 1, 4)});
  if (auto arguments = print_arguments(rec_)) body.statements.push_back({std::move(*arguments)});
  std::move(code.begin(), code.end(), std::back_inserter(body.statements));
  f.body = std::move(body);
  return f;
}

Kernel KernelBuilder::build() {
  tensor_core_->place_rest(storage_);
  check();
  count_arrivals();
  Kernel k;
  k.name = name_;
  k.target = context_.target;
  k.block = {std::uint32_t(warps() * isa::threads_per_warp), 1, 1};
  if (in_pairs()) k.cluster = {std::uint32_t(context_.ctas()), 1, 1};
  k.dynamic_smem = std::uint32_t(storage_.bytes());
  k.module.targets = {isa::spelling(context_.target)};
  if (storage_.bytes() > 0) {
    ir::Variable v = shared_variable(Storage::dynamic_symbol, ScalarType::b8, 1, tile_placement);
    v.linkage = ir::Linkage::external;
    v.dims.push_back(std::nullopt);
    k.module.items.push_back(std::move(v));
  }
  ir::Function f = function();
  for (std::size_t i = 0; i < rec_.files().size(); ++i)
    k.module.items.push_back(ir::Directive{".file " + std::to_string(i + 1) + " \"" + rec_.files()[i] + "\"", {}});
  append_prints(rec_, k.module);
  k.module.items.push_back(std::move(f));
  k.module.version = std::max(context_.version, ops::lowest_version(k.module));
  k.parameters = parameters_;
  k.sum_width = tensor_core_->sum_width();
  k.fences = rec_.fences();
  return k;
}

}  // namespace kiln::dsl
