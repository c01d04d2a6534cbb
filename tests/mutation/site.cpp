#include "tests/mutation/site.hpp"

#include <algorithm>

#include "ptx/isa/tensor_copy.hpp"

namespace kiln::mutation {
namespace {

using isa::Opcode;

bool names_shared(const ir::Instruction& i) {
  return std::any_of(i.modifiers.begin(), i.modifiers.end(),
                     [](const std::string& m) { return m.starts_with("shared"); });
}

Effect memory_effect(const ir::Instruction& i) {
  switch (i.opcode) {
    case Opcode::ld: return has(i, "param") ? Effect::none : names_shared(i) ? Effect::load : Effect::global;
    case Opcode::st:
    case Opcode::st_bulk: return names_shared(i) ? Effect::store : Effect::global;
    case Opcode::st_async: return Effect::copy_in;
    case Opcode::red:
    case Opcode::atom: return names_shared(i) ? Effect::store : Effect::global;
    case Opcode::cp_async: return Effect::cp_async;
    default: return Effect::none;
  }
}

Effect effect_of(const ir::Instruction& i) {
  if (isa::is_bulk_copy(i.opcode)) return is_copy_in(i) ? Effect::copy_in : Effect::copy_out;
  if (const Effect e = memory_effect(i); e != Effect::none) return e;
  switch (i.opcode) {
    case Opcode::tcgen05_mma:
    case Opcode::tcgen05_mma_ws:
    case Opcode::tcgen05_cp: return Effect::mma;
    case Opcode::tcgen05_ld: return Effect::tmem_load;
    case Opcode::tcgen05_st: return Effect::tmem_store;
    case Opcode::tcgen05_alloc: return Effect::alloc;
    case Opcode::tcgen05_dealloc: return Effect::dealloc;
    case Opcode::mbarrier_init: return Effect::init;
    case Opcode::ret:
    case Opcode::exit: return Effect::leave;
    case Opcode::fence:
    case Opcode::fence_proxy:
    case Opcode::fence_mbarrier_init:
    case Opcode::bar_warp_sync:
    case Opcode::cp_async_bulk_commit_group:
    case Opcode::cp_async_bulk_wait_group:
    case Opcode::cp_async_commit_group:
    case Opcode::cp_async_wait_group:
    case Opcode::cp_async_mbarrier_arrive:
    case Opcode::tcgen05_commit:
    case Opcode::tcgen05_wait_ld:
    case Opcode::tcgen05_wait_st:
    case Opcode::tcgen05_fence_after:
    case Opcode::tcgen05_fence_before: return Effect::sync;
    default: break;
  }
  const isa::Unit unit = isa::unit(i.opcode);
  return unit == isa::Unit::mbarrier || unit == isa::Unit::barrier ? Effect::sync : Effect::none;
}

bool is_data(const Site& s) {
  return s.effect != Effect::none && s.effect != Effect::sync && s.effect != Effect::leave;
}

}  // namespace

bool has(const ir::Instruction& i, std::string_view modifier) {
  return std::find(i.modifiers.begin(), i.modifiers.end(), modifier) != i.modifiers.end();
}

bool is_copy_in(const ir::Instruction& i) {
  if (!isa::is_bulk_copy(i.opcode)) return false;
  const auto shared = std::find_if(i.modifiers.begin(), i.modifiers.end(),
                                   [](const std::string& m) { return m.starts_with("shared"); });
  return shared < std::find(i.modifiers.begin(), i.modifiers.end(), "global") || !has(i, "global");
}

Sites::Sites(const ir::Module& module) : text_(module.source->text()) {
  for (const ir::Item& item : module.items)
    if (const auto* f = std::get_if<ir::Function>(&item); f && f->body) walk(f->body->statements);
}

void Sites::walk(const std::vector<ir::Statement>& statements) {
  ++blocks_;
  for (const ir::Statement& s : statements) {
    if (const auto* i = std::get_if<ir::Instruction>(&s.node)) {
      all_.push_back({i, effect_of(*i), blocks_});
      if (isa::unit(i->opcode) == isa::Unit::control && i->opcode != isa::Opcode::griddepcontrol) ++blocks_;
    } else if (std::holds_alternative<ir::Label>(s.node)) {
      ++blocks_;
    } else if (const auto* b = std::get_if<ir::Block>(&s.node)) {
      walk(b->statements);
      ++blocks_;
    }
  }
}

const Site* Sites::before(const Site& s, const std::function<bool(const Site&)>& test) const {
  for (const Site* p = &s; p-- != all_.data();)
    if (test(*p)) return p;
  return nullptr;
}

const Site* Sites::after(const Site& s, const std::function<bool(const Site&)>& test) const {
  for (const Site* p = &s + 1; p != all_.data() + all_.size(); ++p)
    if (test(*p)) return p;
  return nullptr;
}

Effect Sites::data_before(const Site& s) const {
  const Site* found = before(s, is_data);
  return found ? found->effect : Effect::none;
}

Effect Sites::data_behind(const Site& s) const {
  const Site* found = after(s, is_data);
  return found ? found->effect : Effect::leave;
}

}  // namespace kiln::mutation
