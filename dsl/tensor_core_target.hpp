// The tensor core of a target as the DSL sees it: what an MMA, a commit and a load of sums become, where sums live, and
// which bytes of an operand each CTA of a pair holds. The builder chooses one for the kernel's target (Tcgen05, Wgmma);
// the rest of the DSL asks it and never asks which one it is.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "dsl/extras.hpp"
#include "dsl/mma.hpp"
#include "dsl/ring_state.hpp"

namespace kiln::dsl {

struct KernelContext;
struct Mbarrier;
struct RoleContext;
class Copies;
class Storage;
class TensorCore;
class Warpgroup;
class WholeWarps;

class TensorCoreTarget {
 public:
  virtual ~TensorCoreTarget() = default;

  // What a kernel needs -----------------------------------------------------------------------------------------------
  /// Room for an accumulator of `rows` by `columns`.
  virtual SumsPlace place_sums(Storage&, int rows, int columns, const std::string& name, Here at) = 0;
  /// A ring of accumulators, with its barriers.
  virtual RingState& place_accumulators(Storage&, int stages, int columns, const std::string& name, Here at) = 0;
  /// Gives a ring its slots, which hold these parts, and its barriers.
  virtual void place_slots(Storage&, RingState&, const std::vector<SlotPart>& parts) = 0;
  /// Before a role is recorded, and before the kernel is built: all else has its place.
  virtual void place_rest(Storage&) {}
  /// Warps of a CTA, where the kernel's roles have so many.
  virtual int warps(int of_roles) const { return of_roles; }
  /// How many CTAs ptxas is to leave room for on an SM; 0: the kernel decides.
  virtual int ctas_per_sm() const { return 0; }
  /// Kernel::sum_width, of the MMAs that were issued.
  virtual int sum_width() const { return 0; }
  /// Whether the CTAs of a pair must end together although they share no tensor memory.
  virtual bool pairs_end_together() const { return false; }
  /// The role that needs other warps than it was recorded for, and its code around what was recorded; null: none.
  virtual const RoleContext* moved_role() const { return nullptr; }
  virtual std::vector<ir::Statement> moved_role_code(Recorder&, std::vector<ir::Statement> recorded) {
    return recorded;
  }

  // What the role that multiplies issues ------------------------------------------------------------------------------
  /// The constant bits of a matrix descriptor.
  virtual std::uint64_t descriptor_word(isa::SharedDescriptor) const = 0;
  /// The descriptor of the rows of A that the issuer multiplies, from that of all rows of a slice.
  virtual ir::Operand a_descriptor(TensorCore&, const ir::Operand& all_rows, const TileShape&, Here at) = 0;
  /// An MMA whose legality as tcgen05.mma has been asked. `b`: the tile of B, where the operand is no raw descriptor.
  virtual void mma(TensorCore&, const MmaCall&, MmaOperands, const TileShape* b, Here at) = 0;
  /// Arrives on a barrier once earlier MMAs have completed: in this CTA, in those whose bits are set, in all that share
  /// the MMAs.
  virtual void commit(TensorCore&, const Mbarrier&, Here at) = 0;
  virtual void commit(TensorCore&, const Mbarrier&, const U32& ctas, Here at) = 0;
  virtual void commit(TensorCore&, const Mbarrier&, const WideMulticast& ctas, Here at) = 0;
  virtual void commit_to_all(TensorCore&, const Mbarrier&, Here at) = 0;

  // What a warpgroup reads --------------------------------------------------------------------------------------------
  /// This thread's row of sums: `registers` of 32 bits. `packed`: two 16-bit sums share one.
  virtual std::vector<ir::Operand> load_sums(Warpgroup&, const SumsPlace&, int registers, bool packed, Here at) = 0;
  /// Until loads have filled their registers.
  virtual void wait_for_sums(WholeWarps&, Here at) = 0;

  // What copies bring -------------------------------------------------------------------------------------------------
  /// Where a CTA's copy of a part of a slot goes, and what the copy says besides `extras`, from the place where the
  /// part begins.
  struct Destination {
    U32 address;
    ExtraList extras;
  };
  virtual Destination destination(const Copies&, const SlotPart&, const U32& part, const ExtraList& extras,
                                  Here at) = 0;
};

/// The tensor core of the context's target, for a kernel whose roles have so many warps.
std::unique_ptr<TensorCoreTarget> tensor_core_of(const KernelContext&, int warps);

}  // namespace kiln::dsl
