#include "harness/entry/entry.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "harness/entry/parameters.hpp"
#include "harness/ptxas/ptxas.hpp"
#include "launch/limits.hpp"
#include "ptx/diag/refuse.hpp"
#include "ptx/isa/launch_limits.hpp"
#include "verifier/contract.hpp"

namespace kiln::harness {
namespace {

using launch::Dim3;

[[noreturn]] void fail(const std::string& pointer, const std::string& why) {
  throw diag::InputError(pointer + ": " + why);
}

std::vector<const ir::Function*> entries(const ir::Module& module) {
  std::vector<const ir::Function*> out;
  for (const ir::Item& item : module.items)
    if (const auto* f = std::get_if<ir::Function>(&item); f && f->entry && f->body) out.push_back(f);
  return out;
}

std::string names(const std::vector<const ir::Function*>& functions) {
  std::vector<std::string> list;
  for (const ir::Function* f : functions) list.push_back(f->name);
  return list.empty() ? "none" : fmt::format("{}", fmt::join(list, ", "));
}

Dim3 extents(const ir::Performance& directive) {
  const auto at = [&](std::size_t i) { return i < directive.values.size() ? std::uint32_t(directive.values[i]) : 1u; };
  return {at(0), at(1), at(2)};
}

std::string shown(const Dim3& d) { return fmt::format("[{}, {}, {}]", d.x, d.y, d.z); }

void check_shapes(const ir::Function& f, const launch::Launch& l, const std::string& at) {
  if (const auto* d = f.find("reqntid"); d && extents(*d) != l.block)
    fail(at + "/block", fmt::format("{} is launched with {} threads; its PTX requires {}", f.name, shown(l.block),
                                    shown(extents(*d))));
  if (const auto* d = f.find("maxntid"); d && extents(*d).volume() < l.block.volume())
    fail(at + "/block", fmt::format("{} is launched with {} threads; its PTX allows {}", f.name, l.block.volume(),
                                    extents(*d).volume()));
  // A cluster of one CTA is what a contract says that says nothing.
  if (const auto* d = f.find("reqnctapercluster"); d && l.cluster.volume() > 1 && extents(*d) != l.cluster)
    fail(at + "/cluster", fmt::format("{} is launched with clusters of {}; its PTX requires {}", f.name,
                                      shown(l.cluster), shown(extents(*d))));
}

// What the launch asks for whatever the kernel is, and what the kernel lets it ask for.
void check_limits(const ir::Function& f, const launch::Launch& l, const std::string& at) {
  const auto* required = f.find("reqnctapercluster");
  if (const auto wrong = launch::misfit(l, required ? extents(*required) : l.cluster))
    fail(at + "/" + wrong->key, wrong->why);
  if (const auto* d = f.find("maxclusterrank");
      d && !d->values.empty() && l.cluster.volume() > std::uint64_t(d->values[0]))
    fail(at + "/cluster", fmt::format("{} is launched with clusters of {} CTAs; its PTX allows {}", f.name,
                                      l.cluster.volume(), d->values[0]));
}

// ptxas keeps to what .reqntid, .maxntid and .maxnreg promise. Without them a large CTA may need more registers than it
// can have, and the launch fails.
bool may_lack_registers(const ir::Function& f, const launch::Launch& l) {
  const std::uint64_t threads = l.block.volume();
  for (const char* promise : {"reqntid", "maxntid"})
    if (const auto* d = f.find(promise); d && extents(*d).volume() >= threads) return false;
  const auto* most = f.find("maxnreg");
  const std::uint64_t registers = most && !most->values.empty() ? std::uint64_t(most->values[0]) : isa::max_registers;
  return isa::cta_registers(threads, registers) > isa::registers_per_cta;
}

// Asks ptxas, when there is one, how many registers a thread has.
void check_registers(const ir::Module& module, const ir::Function& f, const launch::Launch& l, const std::string& at) {
  const auto target = module.target();
  if (!target || !module.source || !may_lack_registers(f, l)) return;
  diag::Sink ignored;
  for (const EntryResources& entry : assemble(find_ptxas(), module.source, *target, ignored).entries)
    if (entry.name == f.name)
      if (const auto wrong = launch::misfit(l, {0, std::uint32_t(entry.registers)}, *target))
        fail(at + "/" + wrong->key, f.name + ": " + wrong->why + " (.maxntid tells ptxas)");
}

void check_parameters(const ir::Function& f, const launch::Launch& l, const std::string& at) {
  if (f.parameters.size() != l.params.size())
    fail(at + "/params", fmt::format("{} takes {} parameters; got {}", f.name, f.parameters.size(), l.params.size()));
  for (std::size_t i = 0; i < l.params.size(); ++i) {
    const std::uint64_t wanted = f.parameters[i].bytes(), given = parameter_bytes(l.params[i]);
    if (wanted != given)
      fail(fmt::format("{}/params/{}", at, i),
           fmt::format("{} has {} bytes; got {}", f.parameters[i].name, wanted, given));
  }
}

}  // namespace

const ir::Function& find_entry(const ir::Module& module, const std::string& part) {
  const std::vector<const ir::Function*> all = entries(module);
  std::vector<const ir::Function*> found;
  for (const ir::Function* f : all) {
    if (f->name == part) return *f;
    if (f->name.find(part) != std::string::npos) found.push_back(f);
  }
  if (found.size() == 1) return *found[0];
  if (all.empty()) throw diag::InputError("the module has no entry function");
  if (part.empty()) diag::refuse("the module has several entries, name one: {}", names(all));
  throw diag::InputError(found.empty() ? fmt::format("no entry's name contains \"{}\"; there are {}", part, names(all))
                                       : fmt::format("several entries' names contain \"{}\": {}", part, names(found)));
}

void check_fits(const ir::Module& module, const launch::Contract& contract) {
  for (std::size_t i = 0; i < contract.launches.size(); ++i) {
    const launch::Launch& l = contract.launches[i];
    const std::string at = contract.launches.size() == 1 ? "" : fmt::format("/launches/{}", i);
    try {
      find_entry(module, l.entry);
    } catch (const diag::InputError& error) {
      fail(at + "/entry", error.what());
    }
    const ir::Function& f = find_entry(module, l.entry);
    check_shapes(f, l, at);
    check_limits(f, l, at);
    check_parameters(f, l, at);
    check_registers(module, f, l, at);
  }
}

void check_contract(const launch::Contract& contract, const std::string& name, diag::Sink& sink) {
  diag::Sink found;
  verifier::check_contract(contract, found);
  for (diag::Diagnostic d : found.all()) {
    if (!d.where.source && d.where.file.empty()) d.where.file = name;
    sink.report(std::move(d));
  }
  sink.sort();
}

std::vector<std::string> entry_names(const ir::Module& module, const launch::Contract& contract) {
  std::vector<std::string> out;
  for (const launch::Launch& l : contract.launches) out.push_back(find_entry(module, l.entry).name);
  return out;
}

}  // namespace kiln::harness
