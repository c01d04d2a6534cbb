// Where instructions are written and which role issues them. The base of every execution scope.
#pragma once

#include <algorithm>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "dsl/value.hpp"
#include "ptx/isa/features.hpp"
#include "ptx/isa/modifiers.hpp"

namespace kiln::dsl {

class TensorCoreTarget;

/// What all roles of a kernel share while it is recorded. Owned by the builder.
struct KernelContext {
  isa::Target target{};
  isa::CtaGroup group = isa::CtaGroup::one;  // of every tcgen05 instruction
  int pairs = 1;                             // of CTAs, in a cluster
  isa::PtxVersion version{};                 // the lowest that knows the features that were asked for
  TensorCoreTarget* tensor_core = nullptr;   // what MMAs become

  /// Of a cluster; 1: there are none.
  int ctas() const { return group == isa::CtaGroup::two ? 2 * pairs : 1; }
  /// The target must have the feature; the module's version follows.
  void require(isa::Feature, Recorder&, Here at);
};

/// What a role knows of itself while it is recorded. Owned by the builder; scopes point to it.
struct RoleContext {
  KernelContext* kernel = nullptr;
  std::string name{};
  ir::Operand warp{};    // index of the warp in the CTA
  ir::Operand thread{};  // index of the thread in the CTA
  int first_warp = 0;
  int named_barrier = 0;  // of a warpgroup
  int threads = 1;
  int registers = 0;  // of a thread, that setmaxnreg gives it; 0: those at entry
  Here registers_at = nowhere;
  std::vector<std::function<void()>> at_exit{};
  std::string exit{};                   // the label of the role's end, if some thread goes there early
  std::optional<ir::Operand> chosen{};  // predicate of the warpgroup's elected thread
  bool waited = false;          // a wait happened after which no tcgen05 fence was written
  bool used_tcgen05 = false;

  /// The outermost scope with loads or stores of single lanes that no barrier has ordered since.
  ScopeId accesses = no_accesses;
  static constexpr ScopeId no_accesses = std::numeric_limits<ScopeId>::max();
  void accessed_memory(ScopeId scope) { accesses = std::min(accesses, scope); }
  /// A barrier in that scope; those in scopes around it may be executed without the barrier.
  void ordered_memory(ScopeId scope) {
    if (accesses >= scope) accesses = no_accesses;
  }

  int warps() const { return std::max(1, threads / isa::threads_per_warp); }
};

/// A place to write instructions to.
class Issuer {
 public:
  Issuer(Recorder& r, RoleContext& role) : rec_(&r), role_(&role) {}

  Recorder& recorder() const { return *rec_; }
  RoleContext& role() const { return *role_; }

 protected:
  /// Fails at `at` where the kernel's target does not have the feature.
  void require_feature(isa::Feature f, Here at) const { role_->kernel->require(f, *rec_, at); }
  isa::CtaGroup group() const { return role_->kernel->group; }
  /// A new value from an instruction that must not be merged with an equal one: `mnemonic result, operands`.
  ir::Operand result(ScalarType, std::string_view mnemonic, std::vector<ir::Operand> operands, Here at);
  /// What a special register holds; the same all along the kernel.
  U32 special(const std::string& name, Here at) const;
  /// What a member that exists only to explain does: fails with the rule's text.
  template <rules::Rule r, class... Args> static void refuse() { (void)rules::refuse<r, Args...>{}; }

  Recorder* rec_;
  RoleContext* role_;
};

}  // namespace kiln::dsl
