// Each site costs about ten instructions. The writer is the lowest lane that is there, whether a whole warp comes by or
// an elected thread; all lanes that are there count, so that the place of the next record is the same in all of them.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "harness/entry/entry.hpp"
#include "harness/profile/kernel_facts.hpp"
#include "harness/profile/profile.hpp"
#include "ptx/diag/refuse.hpp"
#include "ptx/parse/parse.hpp"

namespace kiln::harness {
namespace {

using isa::Opcode;
using Statements = std::vector<ir::Statement>;

constexpr const char* parameter = "kiln_profile_buffer";
constexpr std::uint64_t most_bytes = 256 << 20;
constexpr std::uint32_t least_records = 32;

// Registers live across the kernel: %kprd0 where the warp's bytes begin, %kprd1 its records, %kpr0 how many there are.
Statements begin(std::uint64_t warp_bytes) {
  return parse::own_statements(fmt::format(R"(
  .reg .pred %kpp<2>; .reg .b32 %kpr<8>; .reg .b64 %kprd<6>;
  ld.param.u64 %kprd0, [{}];
  cvta.to.global.u64 %kprd0, %kprd0;
  mov.u32 %kpr1, %ctaid.z; mov.u32 %kpr2, %nctaid.y; mov.u32 %kpr3, %ctaid.y;
  mad.lo.u32 %kpr1, %kpr1, %kpr2, %kpr3;
  mov.u32 %kpr2, %nctaid.x; mov.u32 %kpr3, %ctaid.x;
  mad.lo.u32 %kpr1, %kpr1, %kpr2, %kpr3;
  mov.u32 %kpr2, %ntid.x; mov.u32 %kpr3, %ntid.y; mov.u32 %kpr4, %ntid.z;
  mul.lo.u32 %kpr4, %kpr4, %kpr3; mul.lo.u32 %kpr4, %kpr4, %kpr2;
  add.u32 %kpr4, %kpr4, 31; shr.u32 %kpr4, %kpr4, 5;
  mov.u32 %kpr5, %tid.z; mov.u32 %kpr6, %tid.y;
  mad.lo.u32 %kpr5, %kpr5, %kpr3, %kpr6;
  mov.u32 %kpr6, %tid.x;
  mad.lo.u32 %kpr5, %kpr5, %kpr2, %kpr6;
  shr.u32 %kpr5, %kpr5, 5;
  mad.lo.u32 %kpr1, %kpr1, %kpr4, %kpr5;
  mul.wide.u32 %kprd1, %kpr1, {};
  add.s64 %kprd0, %kprd0, %kprd1;
  add.s64 %kprd1, %kprd0, {};
  mov.u32 %kpr0, 0;
  mov.u32 %kpr2, %smid;
  activemask.b32 %kpr3; mov.u32 %kpr4, %lanemask_lt; and.b32 %kpr3, %kpr3, %kpr4; setp.eq.u32 %kpp0, %kpr3, 0;
  mov.u64 %kprd2, %globaltimer;
  mov.u64 %kprd3, %clock64;
  cvt.u64.u32 %kprd4, %kpr2;
  @%kpp0 st.global.v2.b64 [%kprd0], {{%kprd4, %kprd2}};
  @%kpp0 st.global.b64 [%kprd0+16], %kprd3;)",
                                           parameter, warp_bytes, ProfilePlan::header_bytes));
}

// From here on: that phase. `barrier` leaves in %kpr5 which of a variable's mbarriers is waited for.
Statements record(std::size_t site, std::uint32_t records, const std::string& barrier) {
  return parse::own_statements(fmt::format(
      R"({}
  activemask.b32 %kpr3; mov.u32 %kpr4, %lanemask_lt; and.b32 %kpr3, %kpr3, %kpr4; setp.eq.u32 %kpp0, %kpr3, 0;
  setp.lt.and.u32 %kpp0, %kpr0, {}, %kpp0;
  mad.wide.u32 %kprd2, %kpr0, {}, %kprd1;
  add.u32 %kpr0, %kpr0, 1;
  mov.b64 %kprd4, {{%kpr6, %kpr5}};
  mov.u64 %kprd3, %clock64;
  @%kpp0 st.global.v2.b64 [%kprd2], {{%kprd4, %kprd3}};)",
      fmt::format("{}\n  mov.u32 %kpr6, {};", barrier.empty() ? std::string("  mov.u32 %kpr5, 0;") : barrier, site),
      records, ProfilePlan::record_bytes));
}

Statements finish() {
  return parse::own_statements(R"(
  activemask.b32 %kpr3; mov.u32 %kpr4, %lanemask_lt; and.b32 %kpr3, %kpr3, %kpr4; setp.eq.u32 %kpp0, %kpr3, 0;
  mov.u64 %kprd2, %globaltimer;
  mov.u64 %kprd3, %clock64;
  cvt.u64.u32 %kprd4, %kpr0;
  @%kpp0 st.global.v2.b64 [%kprd0+32], {%kprd4, %kprd2};
  @%kpp0 st.global.b64 [%kprd0+48], %kprd3;)");
}

std::string barrier_index(const ir::Instruction& wait, const std::string& variable) {
  if (variable.empty()) return {};
  for (const ir::Operand& o : wait.operands)
    if (o.kind == ir::Operand::Kind::address && !o.items.empty() && o.items[0].is_name())
      return fmt::format(
          "  mov.u32 %kpr6, {}; mov.u32 %kpr5, {}; add.u32 %kpr5, %kpr5, {};\n"
          "  sub.u32 %kpr5, %kpr5, %kpr6; shr.u32 %kpr5, %kpr5, 3;",
          variable, o.items[0].text, o.items[0].value);
  return {};
}

/// Rewrites one function.
class Instrumenter {
 public:
  Instrumenter(const ir::Function& f, ProfilePlan& plan) : facts_(f), plan_(plan) {}

  void rewrite(ir::Function& f) {
    f.parameters.push_back({.space = isa::Space::param, .type = isa::ScalarType::u64, .name = parameter});
    Statements out = begin(plan_.warp_bytes());
    enter(Phase::setup, out);
    Statements body = std::move(f.body->statements);
    walk(body, out);
    append(out, finish());  // where control falls off the end
    f.body->statements = std::move(out);
  }

 private:
  static void append(Statements& to, Statements more) { std::move(more.begin(), more.end(), std::back_inserter(to)); }

  std::size_t site(const ProfileSite& s) {
    const auto found = std::find(plan_.sites.begin(), plan_.sites.end(), s);
    if (found != plan_.sites.end()) return std::size_t(found - plan_.sites.begin());
    plan_.sites.push_back(s);
    return plan_.sites.size() - 1;
  }

  void enter(Phase phase, Statements& out) {
    if (current_ == phase || plan_.records == 0) return;
    current_ = phase;
    append(out, record(site({phase, role_, {}}), plan_.records, {}));
  }

  void label(const std::string& name, Statements& out, ir::Statement& statement) {
    if (name.starts_with(ir::role_prefix)) role_ = name.substr(ir::role_prefix.size());
    out.push_back(std::move(statement));
    current_.reset();
    if (role_ == "cleanup" && name == std::string(ir::role_prefix) + role_) enter(Phase::cleanup, out);
  }

  // A wait with the label that it retries from and the branch back: the record goes before all of it.
  std::size_t wait(Statements& body, std::size_t i, Statements& out) {
    const auto& instruction = std::get<ir::Instruction>(body[i].node);
    const WaitFacts what = facts_.wait(instruction, role_);
    const WaitExtent extent = KernelFacts::extent(out, body, i);
    Statements held;  // what of the loop is out already
    for (std::size_t n = extent.before; n > 0; --n) {
      held.insert(held.begin(), std::move(out.back()));
      out.pop_back();
    }
    append(out,
           record(site({what.phase, role_, what.barrier}), plan_.records, barrier_index(instruction, what.barrier)));
    append(out, std::move(held));
    for (std::size_t n = i; n <= extent.last; ++n) out.push_back(std::move(body[n]));
    current_ = what.phase;
    enter(facts_.phase_behind(body, extent.last + 1, role_), out);
    return extent.last;
  }

  void walk(Statements& body, Statements& out) {
    for (std::size_t i = 0; i < body.size(); ++i) {
      if (auto* l = std::get_if<ir::Label>(&body[i].node)) {
        label(std::string(l->name), out, body[i]);
      } else if (auto* block = std::get_if<ir::Block>(&body[i].node)) {
        Statements inside;
        walk(block->statements, inside);
        block->statements = std::move(inside);
        out.push_back(std::move(body[i]));
      } else if (auto* instruction = std::get_if<ir::Instruction>(&body[i].node)) {
        if (is_wait(*instruction) && plan_.records > 0) {
          i = wait(body, i, out);
          continue;
        }
        if (const auto phase = phase_of(*instruction)) enter(*phase, out);
        if (instruction->opcode == Opcode::ret || instruction->opcode == Opcode::exit) append(out, finish());
        out.push_back(std::move(body[i]));
      } else {
        out.push_back(std::move(body[i]));
      }
    }
  }

  const KernelFacts facts_;
  ProfilePlan& plan_;
  std::string role_{};
  std::optional<Phase> current_{};
};

void add_buffer(launch::Contract& contract, ProfilePlan& plan, std::uint32_t records) {
  if (contract.find(ProfilePlan::buffer))
    diag::refuse("/buffers/{}: the profiler's own buffer has this name", ProfilePlan::buffer);
  std::uint64_t warps = 0;
  for (const launch::Launch& l : contract.launches) {
    plan.first_warps.push_back(warps);
    warps += l.grid.volume() * ((l.block.volume() + 31) / 32);
  }
  const std::uint64_t room = most_bytes / std::max<std::uint64_t>(warps, 1);
  const std::uint64_t fitting = room > ProfilePlan::header_bytes ? (room - ProfilePlan::header_bytes) / 16 : 0;
  plan.records = std::uint32_t(std::min<std::uint64_t>(records, fitting));
  if (plan.records < std::min(records, least_records))
    diag::refuse(
        "{} warps are too many to profile: {} records each would be all; take a "
        "smaller problem",
        warps, plan.records);
  contract.buffers.push_back({ProfilePlan::buffer, isa::ScalarType::u64, {warps, plan.warp_bytes() / 8}});
  for (std::size_t i = 0; i < contract.launches.size(); ++i)
    contract.launches[i].params.push_back(
        {launch::PointerParam{ProfilePlan::buffer, plan.first_warps[i] * plan.warp_bytes()}});
}

}  // namespace

ProfilePlan instrument_ends(ir::Module& module, launch::Contract& contract) { return instrument(module, contract, 0); }

ProfilePlan instrument(ir::Module& module, launch::Contract& contract, std::uint32_t records) {
  ProfilePlan plan;
  std::set<std::string> entries;
  for (const launch::Launch& l : contract.launches) entries.insert(find_entry(module, l.entry).name);
  add_buffer(contract, plan, records);
  for (ir::Item& item : module.items)
    if (auto* f = std::get_if<ir::Function>(&item); f && f->entry && f->body && entries.count(f->name))
      Instrumenter(*f, plan).rewrite(*f);
  return plan;
}

}  // namespace kiln::harness
