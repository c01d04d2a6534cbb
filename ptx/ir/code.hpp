// A function, decoded: one flat list of operations whose names are resolved. Blocks, local registers, parameterised
// declarations and labels are gone; every analysis, the simulator included, starts here, so decoding happens once.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "ptx/diag/diagnostic.hpp"
#include "ptx/ir/module.hpp"
#include "ptx/isa/modifiers.hpp"

namespace kiln::ir {

/// Read-only registers that the hardware provides. PTX ISA "Special Registers".
enum class Special : std::uint8_t {
  none,
  tid_x, tid_y, tid_z, ntid_x, ntid_y, ntid_z, laneid, warpid, nwarpid,
  ctaid_x, ctaid_y, ctaid_z, nctaid_x, nctaid_y, nctaid_z, smid, nsmid, gridid,
  is_explicit_cluster, clusterid_x, clusterid_y, clusterid_z, nclusterid_x, nclusterid_y, nclusterid_z,
  cluster_ctaid_x, cluster_ctaid_y, cluster_ctaid_z, cluster_nctaid_x, cluster_nctaid_y, cluster_nctaid_z,
  cluster_ctarank, cluster_nctarank,
  lanemask_eq, lanemask_le, lanemask_lt, lanemask_ge, lanemask_gt,
  clock, clock_hi, clock64, globaltimer, globaltimer_lo, globaltimer_hi,
  total_smem_size, aggr_smem_size, dynamic_smem_size, current_graph_exec, envreg, pm, reserved_smem,
  fourth,  // of a vector (%tid.w): unused, always zero
  warp_size
};
/// The special register that `name` ("%tid.x", "WARP_SZ") is; none for other names.
Special special_register(std::string_view name);
std::string_view spelling(Special);
/// Whether each read of it may give another time.
constexpr bool tells_time(Special s) { return s >= Special::clock && s <= Special::globaltimer_hi; }

/// Index into Code::registers.
using RegisterId = std::uint32_t;

/// An argument of an operation. A register of a video instruction may be a part of one ("%r1.h0"): which part only the
/// operand's text says. Aggregates (vector, list, pair, address) own a range of Code::arguments.
struct Argument {
  enum class Kind : std::uint8_t {
    none, reg, immediate, real, symbol, label, special, function, vector, list, pair, address, sink, table, raw
  };
  Kind kind = Kind::none;
  bool negated = false;
  std::uint32_t id = 0;      // register, symbol (Code::symbols), label (operation index), special; first of the range
  std::uint32_t count = 0;   // of a range
  std::int64_t value = 0;    // immediate; offset added to a register or symbol; bits of a real; n of %envreg<n>
  bool is_single = false;    // a real whose value is the bits of a float (0f...)
  const Operand* operand = nullptr;  // null only for kind none
};

/// A resolved register. Two registers of one name in different scopes are two of these; a vector register is as many as
/// it has components ("%v.x", "%v.y"), and naming it whole gives an argument of kind vector. Members of a parameterised
/// set are here when the code names them.
struct RegisterInfo {
  std::string name;
  isa::ScalarType type = isa::ScalarType::b32;
  int vector = 1;  // always 1
};

/// A variable with storage that the function names: local, shared, global, constant, or a parameter.
struct Symbol {
  const Variable* variable = nullptr;
  bool is_module_scope = false;
  bool is_parameter = false;  // of this function, results included
  int parameter_index = -1;   // -1 for results
};

/// One instruction, decoded.
struct Operation {
  isa::Opcode opcode = isa::Opcode::unknown;
  isa::Modifiers modifiers{};
  std::vector<Argument> arguments{};  // one per operand
  std::optional<RegisterId> guard{};
  bool guard_negated = false;
  const Instruction* instruction = nullptr;
  const Loc* loc = nullptr;           // the .loc in force, if any

  const Argument& arg(std::size_t i) const;
};

/// A decoded function. Keeps pointers into the module it was made from: the module must outlive it.
class Code {
 public:
  const Module* module = nullptr;
  const Function* function = nullptr;
  std::vector<Operation> operations{};
  std::vector<RegisterInfo> registers{};
  std::vector<Symbol> symbols{};
  std::vector<Argument> arguments{};                       // components of aggregates
  std::vector<std::pair<std::uint32_t, std::string>> labels{};  // position (up to operations.size()) and name
  std::vector<std::vector<std::uint32_t>> tables{};        // .branchtargets: label positions

  std::span<const Argument> components(const Argument& aggregate) const;
  /// Registers that the operation writes, and that it reads (guard and address bases included), in operand order.
  std::vector<RegisterId> written(const Operation&) const;
  std::vector<RegisterId> read(const Operation&) const;
  /// Where one of `operations` stands in them.
  std::uint32_t index(const Operation& op) const { return std::uint32_t(&op - operations.data()); }
  /// The nearest label at or before a position whose name starts with `prefix`; empty when there is none.
  std::string_view label_before(std::uint32_t position, std::string_view prefix) const;
  diag::Where where(const Operation&) const;
  diag::Where where(const Operation&, const Operand&) const;
};

/// Decodes a function that has a body. Unresolved names and unknown opcodes become findings: an undeclared name is an
/// error [undeclared-name], a duplicate one an error [duplicate-name]; unknown opcodes stay in the code with
/// Opcode::unknown and are no finding here (a consumer that needs their meaning says incomplete). An operand that could
/// not be resolved has kind raw; the prototype of an indirect call is a table without targets.
Code decode(const Module&, const Function&, diag::Sink&);

/// The file of a .loc number, from the module's .file directives; empty when there is none.
std::string file_name(const Module&, int number);

}  // namespace kiln::ir
