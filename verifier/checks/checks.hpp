// The checks: each asks one kind of question of one function, of values that do not depend on a run.
#pragma once

#include "launch/contract.hpp"
#include "verifier/facts.hpp"

namespace kiln::verifier {

// Targets

/// Checks that the `.version` knows the `.target`.
bool check_module_target(const ir::Module&, diag::Sink&);

/// Checks the variables of the module: their spaces and what they begin with.
void check_declarations(const ir::Module&, diag::Sink&);

/// Checks that the target has what the function's instructions ask for, and that those of
/// tcgen05 use one cta_group.
void check_targets(const Facts&);

/// Checks the bytes of a kernel's parameters.
void check_parameters(const Facts&);
/// Checks those of the shared variables that a function names.
void check_shared_bytes(const Facts&);

// Descriptors

/// Checks instruction and matrix descriptors. A rule is not asked unless all its bits are known.
void check_descriptors(const Facts&);

// Collectors

/// Reports collector uses that some path reaches without a live fill of the same operand. A guarded fill counts as one,
/// and a guarded end as none: a kernel that fills in the first step and uses in the others says so with predicates.
void check_collectors(const Facts&);

// Allocation of tensor memory

/// Checks constant column counts.
void check_columns(const Facts&);

/// Checks column counts everywhere. In kernels whose sites belong to the same warps it also walks those warps' paths:
/// what is wrong on every path is an error, their own use of tensor memory without an allocation included. Sites of
/// different warps are compared by their sizes and numbers alone, because nothing is known of their order. A use of a
/// fixed column is an error where no instruction allocates.
void check_allocation(const Facts&);

// Tensor memory

/// Checks the columns of tcgen05.ld, st, cp, shift and mma against the allocation that their address comes from, the
/// lanes of ld and st against their shape and the warps that execute them, and D against what the same MMA reads.
/// Addresses whose base is not followed are passed over.
void check_tensor_memory(const Facts&);

/// Checks that registers of a tcgen05.ld are not read before tcgen05.wait::ld on any path; one finding a load.
void check_load_waits(const Facts&);

/// Checks that something may tell a thread that reads an accumulator with tcgen05.ld that the MMA which wrote it is
/// done: a tcgen05.commit after the MMA, and between the MMA and the load a wait or a barrier.
void check_mma_order(const Facts&);

/// Checks for tcgen05.fence::after_thread_sync between a wait for a commit and tcgen05.ld; one finding a wait.
void check_load_fences(const Facts&);

// Grids

/// Notes global memory that is accessed before any thread can have executed griddepcontrol.wait, which is wrong where the
/// grid before writes it; one note a pointer among the parameters. The function must be a kernel.
void check_prior_grid(const Facts&, diag::Sink&);

/// The same for a launch, as errors: for buffers of which its contract says that the grid before touches them. What the
/// launch before in the contract touches is for a run to say.
void check_prior_grid(const Facts&, const launch::Contract&, const launch::Launch&, diag::Sink&);

/// Notes tcgen05.alloc after griddepcontrol.launch_dependents, and a kernel whose dependents have nothing to run beside.
/// The function must be a kernel.
void lint_grids(const Facts&);

// wgmma

/// Checks that registers of a wgmma.mma_async are not touched before a wgmma.wait_group that covers it on any path, one
/// finding a wgmma, and that a wgmma.fence comes after what else has touched them.
void check_wgmma_registers(const Facts&);

// Barriers

/// Checks constant arrival and transaction counts.
void check_mbarrier_numbers(const Facts&);

/// The same, and that every mbarrier whose address is known is initialised
/// somewhere in the kernel and, if it is waited on, arrived on. Addresses that are not followed are not
/// judged, and no mbarrier is when some init has such an address. Returns whether some wait never ends.
bool check_mbarriers(const Facts&);

/// Checks that mbarriers lie in shared memory and at multiples of 8, as far as their addresses are followed.
void check_barrier_addresses(const Facts&);

/// Checks, for mbarriers that are followed through the whole kernel, the bytes that they expect against those that
/// copies of constant size bring, and the parity that is asked of one that completes a single phase. Kernels that may
/// signal across CTAs are passed over.
void check_phases(const Facts&);

/// Checks bulk and tensor copies: coordinates against dimensions, shared alignment, size.
void check_copies(const Facts&);

// Execution

/// Checks that .aligned instructions are executed by whole warps and tcgen05.mma by one thread, where conditions on the
/// thread index or elect.sync decide which threads get there. Nothing is assumed of other conditions, except
/// that .aligned instructions must not depend on words that each thread of a warp has loaded from its own address.
void check_issuers(const Facts&);

/// Checks the cluster that cta_group::2 and multicast need against the kernel's launch directives.
void check_clusters(const Facts&);

/// Checks that what generic stores wrote to a shared variable is not read by tcgen05.mma, tcgen05.cp or a bulk copy in
/// a kernel without any proxy fence. Nothing is reported if the places are not followed, or if copies write there too.
void check_proxies(const Facts&);

// Tileiras

/// Asks the rules of profile `tileiras` that `isa` does not have.
void check_tileiras(const Facts&);

}  // namespace kiln::verifier
