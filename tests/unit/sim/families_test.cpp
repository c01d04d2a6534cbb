// tests/data/ptx/families_sm_100a.ptx has a line for each form of instruction that ordinary kernels are made of. The
// simulator must have a handler for each, or the line must be named here with why not.
#include <doctest/doctest.h>

#include <algorithm>
#include <set>

#include "ptx/isa/opcode_list.hpp"
#include "ptx/ops/operations.hpp"
#include "sim/layout.hpp"
#include "sim/ops/binder.hpp"
#include "tests/unit/sim/data_file.hpp"

namespace sim_families {

using namespace kiln;

namespace {

struct Lowered {
  diag::Sink sink{};
  ir::Module module{};
  std::set<isa::Opcode> opcodes{};
  std::vector<std::string> gaps{};

  explicit Lowered(const std::string& name) {
    module = parse::parse(std::make_shared<const diag::Source>(name, test::data_file(name)), sink);
    for (const ir::Item& item : module.items) {
      const auto* f = std::get_if<ir::Function>(&item);
      if (!f || !f->entry) continue;
      const sim::Linked linked = sim::link(module, *f, sink);
      for (const ir::Operation& op : linked.code.operations) opcodes.insert(op.opcode);
      sim::GlobalMemory memory;
      const sim::Program program = sim::Binder(linked, sim::make_layout(linked.code, launch::Launch{}, memory)).run();
      gaps.insert(gaps.end(), program.gaps.begin(), program.gaps.end());
    }
  }
};

// Forms that are named when a program executes them, and why they have no model.
struct Named {
  std::string start, why;
};
const std::vector<Named> named{
    {"cvt.rs.satfinite.e", "the ISA shows only in pictures which random bits go to which of four elements"},
    {"cvt.rs.relu.satfinite.e", "the same"},
};

// What came after PTX 9.0, which the ptxas that assembles the file knows: none of it has a model.
bool is_newer_than_ptxas(isa::Opcode op) {
  using ops::Family;
  constexpr Family families[] = {Family::fabric,          Family::multimem_async,     Family::carryless,
                                 Family::mbarrier_layout, Family::sparse_compression, Family::bulk_priority};
  return std::find(std::begin(families), std::end(families), ops::family(op)) != std::end(families);
}

// Instructions that the file leaves out: other families with tests of their own, and what ptxas no longer assembles.
bool elsewhere(isa::Opcode op) {
  using isa::Opcode;
  using isa::Unit;
  const Unit unit = isa::unit(op);
  if (unit == Unit::matrix || unit == Unit::tcgen05 || unit == Unit::texture) return true;
  return op == Opcode::ldmatrix || op == Opcode::stmatrix || op == Opcode::movmatrix || op == Opcode::istypep ||
         op == Opcode::membar_proxy || op == Opcode::multimem_cp_async_bulk ||
         op == Opcode::multimem_cp_reduce_async_bulk || is_newer_than_ptxas(op);
}

}  // namespace

TEST_CASE("every form of instruction that ordinary kernels are made of has a model") {
  const Lowered lowered("families_sm_100a.ptx");
  REQUIRE_MESSAGE(!lowered.sink.has_errors(), diag::render_text(lowered.sink));
  std::set<std::string> met;
  for (const std::string& gap : lowered.gaps) {
    const auto found =
        std::find_if(named.begin(), named.end(), [&](const Named& n) { return gap.starts_with("`" + n.start); });
    CHECK_MESSAGE(found != named.end(), gap);
    if (found != named.end()) met.insert(found->start);
  }
  for (const Named& n : named) CHECK_MESSAGE(met.contains(n.start), n.start << " has a model by now");
}

TEST_CASE("the file of forms has every instruction of the table") {
  const Lowered lowered("families_sm_100a.ptx");
  for (const isa::Opcode op : isa::all_opcodes)
    CHECK_MESSAGE((elsewhere(op) || lowered.opcodes.contains(op)), isa::spelling(op));
}

}  // namespace sim_families
