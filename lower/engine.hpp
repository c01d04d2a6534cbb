// The warps that do what tensor cores did by themselves: they take commands out of a queue in shared memory, in order,
// and multiply by mma.sync. Written as the PTX of a kernel's end, and of its beginning, where the queue is made.
#pragma once

#include <functional>
#include <string>

#include "lower/plan.hpp"
#include "lower/text.hpp"

namespace kiln::lower {

/// How code reaches the image of tensor memory: "shared" or "global", by addresses of 32 or 64 bits.
struct ImageAccess {
  explicit ImageAccess(const Plan& p) : plan(p), is_global(p.image == Place::global) {}
  const Plan& plan;
  bool is_global;
  const char* space() const { return is_global ? "global" : "shared"; }
  const char* reg() const { return is_global ? "b64" : "b32"; }
  /// Declares %lw_image and finds it: kept for longer, it would take registers where there are few.
  void find(Text&) const;
  /// `to` = the image's start + the 32-bit register `offset`.
  void add(Text&, const char* to, const char* offset) const;
};

/// Where a cell lies in the image: eight columns of all lanes together, and in them the lanes one after the other. What
/// a warp holds of an accumulator tile of 8 x 8 is then 256 bytes in a row.
inline constexpr int image_lane_bytes = 32, image_group_bytes = 4096;

/// %lw_held: the bits of D's column, and where the number of a share begins; D's lane is above that.
inline constexpr unsigned held_column = 0x3ff, held_share = 10;

/// %lw_w and %lw_l, the warp's number in the engine and the lane, out of %lw_id.
void find_self(Text&);

/// `to` = where the image has the column of register `column`, in the lane that begins `lane` bytes into each group;
/// `scratch` is overwritten.
void write_cell_address(Text&, const ImageAccess&, const char* to, const char* column, const char* lane,
                        const char* scratch);

/// Variables of the module that lowered kernels share.
void declare_image(Text&, const Plan&);
/// The engine's warps ask for so many registers, or the others do; 0: as they come.
void set_registers(Text&, const Plan&, std::uint32_t count);
/// The code of the engine's warps.
void write_engine(Text&, const Plan&);
/// Declarations and the first instructions of the kernel: the queue is made, the image found, the engine sent off.
Text prologue(const Plan&);
/// The end: where the original threads leave, and the engine.
Text epilogue(const Plan&);

/// The chains of mma.sync of one form, for one command. `when_read` writes what is to be done when all operands are
/// read and some of the mma.sync are yet to come.
void write_multiplication(Text&, const Plan&, const Form&, const std::function<void()>& when_read);
/// The same for a form with block scaling.
void write_scaled_multiplication(Text&, const Plan&, const Form&, const std::function<void()>& when_read);
/// The same where mma.sync scales the blocks itself.
void write_block_scaled_multiplication(Text&, const Plan&, const Form&, const std::function<void()>& when_read);
/// A copy of the plan, into the image: what this thread does of it.
void write_copy(Text&, const Plan&, std::size_t number);
/// The same of a pair's form, in one CTA of the pair.
void write_pair_multiplication(Text&, const Plan&, const Form&, const std::function<void()>& when_read);
/// "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32".
std::string mma_sync(const Form&);
/// "{%lw_fa0, %lw_fa1}".
std::string fragment(const char* letter, int first, int count);
/// scale-input-d: what is added to counts 2 to the minus so many.
void scale_sums(Text&, const Form&);
/// Sums between registers and the image; `way` is ld or st.
void write_transfer(Text&, const Plan&, const Share&, const char* way);

}  // namespace kiln::lower
