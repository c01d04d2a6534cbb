// wgmma in its own words, for kernels of sm_90a that keep sums in registers and go on with them there: attention, or a
// GEMM whose sums are rescaled. A warpgroup multiplies 64 rows of A, from a tile or from its registers, by a tile of B.
// Such a kernel includes this beside dsl.hpp. PTX ISA "Asynchronous Warpgroup Level Matrix Instructions".
#pragma once

#include "ptx/rules/require.hpp"  // first: a broken rule is then two includes away from the user's file

#include <memory>
#include <vector>

#include "dsl/ring.hpp"
#include "dsl/warpgroups.hpp"
#include "ptx/isa/mma_shape.hpp"
#include "ptx/isa/wgmma.hpp"

namespace kiln::dsl {

namespace detail {

/// Whether wgmma has sums of so many columns.
constexpr bool wgmma_columns(int n) { return n >= 8 && n <= 256 && n % 8 == 0; }
/// Whether two tiles are operands of sums of `columns`: 16-bit floats of one type in a layout that a tensor core reads.
template <class Tile>
inline constexpr bool wgmma_tile = isa::wgmma_transposes(Tile::element::scalar) && Tile::form != Layout::packed;
template <int columns, class A, class B>
inline constexpr bool wgmma_tiles =
    wgmma_tile<A>&& wgmma_tile<B>&& std::is_same_v<typename A::element, typename B::element>&& A::rows ==
    isa::wgmma_m&& B::rows == columns&& A::cols == B::cols;
template <int columns, class T, int K, class B>
inline constexpr bool wgmma_weights =
    wgmma_tile<B>&& std::is_same_v<T, typename B::element>&& B::rows == columns&& B::cols == K;

// Commits so far, and how many of them were waited for, in the order in which instructions are written.
struct WgmmaGroups {
  int committed = 0, done = 0;
};
// Registers that an MMA of a warpgroup reads or writes. Those of a group that was not waited for are reported.
class WgmmaRegisters {
 public:
  WgmmaRegisters(Recorder& r, ScalarType type, int count, std::shared_ptr<const WgmmaGroups> groups);
  F32 read(RegisterIndex i) const;
  void write(int i, const OperandOf<F32>& value) const;
  void round(ScalarType type, const std::vector<ir::Operand>& from, Here at) const;
  const std::vector<ir::Operand>& all() const { return all_; }
  // The group that is being issued has them.
  void give() { group_ = groups_->committed + 1; }

 private:
  void require_done(Here at) const;
  Recorder* rec_;
  std::vector<ir::Operand> all_{};
  std::shared_ptr<const WgmmaGroups> groups_;
  int group_ = 0;  // the last that has them; 0: none
};

}  // namespace detail

class WarpgroupMma;

/// f32 sums of 64 rows by N columns in the registers of a warpgroup. Each warp has 16 rows, and a lane of it the
/// elements that Place says.
template <int N>
class WgmmaSums {
 public:
  static_assert(detail::wgmma_columns(N), "wgmma has 8, 16, ... 256 columns [dsl-tile-type]");
  /// Where an element lies in the warp's 16 rows: Place::at(lane, i), Place::row(g.lane(), i).
  using Place = SumsFragment<N>;
  static constexpr int columns = N, elements = Place::elements;

  /// Element `i` of this lane, as it is now.
  F32 operator[](RegisterIndex i) const { return registers_->read(i); }
  /// Element `i` of this lane becomes a value.
  void set(int i, OperandOf<F32> value) const { registers_->write(i, value); }
  /// All elements of this lane, as they are now.
  Registers<f32, elements> registers(Here at = {}) const {
    return make_registers<elements>([&](int i) { return (*this)[{i, at}]; }, at);
  }

 private:
  friend class WarpgroupMma;
  explicit WgmmaSums(std::shared_ptr<detail::WgmmaRegisters> registers) : registers_(std::move(registers)) {}
  std::shared_ptr<detail::WgmmaRegisters> registers_;
};

/// A of an MMA in the registers of a warpgroup: 64 rows by K elements of T, which has 16 bits. Rounded sums of K
/// columns lie as A does.
template <class T, int K>
class WgmmaA {
 public:
  static_assert(isa::wgmma_transposes(T::scalar) && K % 16 == 0,
                "A has f16 or bf16, 16, 32, ... along K [dsl-tile-type]");
  static constexpr int elements = K * isa::wgmma_warp_rows / isa::threads_per_warp;

  /// This lane's elements become these, rounded to nearest even.
  void set(const Registers<f32, elements>& values, Here at = {}) const {
    registers_->round(T::scalar, values.operands(at), at);
  }

 private:
  friend class WarpgroupMma;
  explicit WgmmaA(std::shared_ptr<detail::WgmmaRegisters> registers) : registers_(std::move(registers)) {}
  std::shared_ptr<detail::WgmmaRegisters> registers_;
};

/// The tensor core of a warpgroup, or of each of a role's, which has one of these: MMAs in groups that end with
/// commit(). Of a role's warpgroups each multiplies for itself. Registers of a group that was not waited for are
/// refused, as far as the order in which the kernel writes its instructions shows it; `kiln check` follows loops too.
class WarpgroupMma {
 public:
  explicit WarpgroupMma(Warpgroup& g) : g_(g), thread_(g.recorder(), g.role()) {}
  WarpgroupMma(const WarpgroupMma&) = delete;

  /// Sums, undefined before an MMA or set() writes them.
  template <int N>
  WgmmaSums<N> sums() {
    return WgmmaSums<N>(new_registers(ScalarType::f32, WgmmaSums<N>::elements));
  }
  /// A in registers, undefined before set().
  template <class T, int K>
  WgmmaA<T, K> a() {
    return WgmmaA<T, K>(new_registers(ScalarType::b32, WgmmaA<T, K>::elements / 2));
  }

  /// Orders accesses to registers before the MMAs that follow. PTX ISA "wgmma.fence".
  void fence(Here at = {});
  /// An MMA for each K slice of the tiles, D = A * B^T: `mma.multiply(sums, a, b, accumulate(i != 0))`. `a` has 64
  /// rows, `b` a row for each column of D. The first MMA adds to D where accumulate(p) says so, the others add to it.
  /// PTX ISA "wgmma.mma_async".
  template <int N, class A, class B>
  requires(detail::wgmma_tiles<N, A, B>) void multiply(const WgmmaSums<N>& d, const Shared<A>& a, const Shared<B>& b,
                                                       const EnableInputD& p) {
    for (int k = 0; k < B::cols; k += k_step)
      issue(shape(N, B::element::scalar, A::order, B::order), *d.registers_, descriptor(a, k, p.at),
            descriptor(b, k, p.at), k == 0 ? p : accumulate(true, p.at));
  }
  /// The same with A in registers.
  template <int N, class T, int K, class B>
  requires(detail::wgmma_weights<N, T, K, B>) void multiply(const WgmmaSums<N>& d, const WgmmaA<T, K>& a,
                                                            const Shared<B>& b, const EnableInputD& p) {
    a.registers_->give();
    for (int k = 0; k < K; k += k_step) {
      const auto first = a.registers_->all().begin() + k / 4;
      issue(shape(N, T::scalar, Major::K, B::order), *d.registers_, ir::Operand::vector({first, first + 4}),
            descriptor(b, k, p.at), k == 0 ? p : accumulate(true, p.at));
    }
  }
  // Here only to explain: tiles that do not fit the sums, or no tiles.
  template <int N, class A, class B>
  requires(!detail::wgmma_tiles<N, A, B>)
      KILN_REFUSED(tile_type,
                   "wgmma multiplies a swizzled tile with 64 rows of f16 or bf16 by one of the same type and K, "
                   "which has a row for each column of the sums; tile.rows<64>(first) is a part [dsl-tile-type]")
  void multiply(const WgmmaSums<N>& d, const Shared<A>& a, const Shared<B>& b, const EnableInputD& p);
  template <int N, class T, int K, class B>
  requires(!detail::wgmma_weights<N, T, K, B>)
      KILN_REFUSED(tile_type,
                   "the tile has the type and the K of A in registers, and a row for each column of the sums "
                   "[dsl-tile-type]")
  void multiply(const WgmmaSums<N>& d, const WgmmaA<T, K>& a, const Shared<B>& b, const EnableInputD& p);
  KILN_OTHERWISE(arguments,
                 "multiply(sums, a, b, accumulate(p)): sums<N>(), a tile or a<T, K>(), a tile (of a slot: "
                 "slot.get<Tile>()) [dsl-arguments]")
  void multiply(KILN_WHATEVER);

  /// The MMAs since the last commit are a group. PTX ISA "wgmma.commit_group".
  void commit(Here at = {});
  /// Waits until all groups but the last `groups` are done: their registers may be used again, what they read may be
  /// overwritten. PTX ISA "wgmma.wait_group".
  void wait(int groups, Here at = {});

  /// The MMAs that read a slot are done: it may be filled again when every warp of the role has said so.
  void release(const AnySlot& slot, Here at = {});

  /// This lane's value of a row combined with those of the other three lanes that have the row's elements.
  template <RedOp op>
  requires(op == RedOp::add || op == RedOp::max || op == RedOp::min) F32 row_reduce(const F32& value, Here at = {}) {
    return reduced(op, value, at);
  }

 private:
  static constexpr int k_step = isa::mma_k_bytes * 8 / 16;  // elements of 16 bits along K of an MMA
  Recorder& recorder() const { return thread_.recorder(); }
  template <class Tile>
  ir::Operand descriptor(const Shared<Tile>& tile, int k, Here at) {
    return use(recorder(), thread_.descriptor(tile.k_slice(k, at), at).word, at);
  }
  std::shared_ptr<detail::WgmmaRegisters> new_registers(ScalarType type, int count) const {
    return std::make_shared<detail::WgmmaRegisters>(recorder(), type, count, groups_);
  }
  static constexpr isa::MmaShape shape(int columns, ScalarType type, Major a, Major b) {
    return {.a = type, .b = type, .m = isa::wgmma_m, .n = columns, .a_major = a, .b_major = b};
  }
  // `a`: a descriptor or a vector of registers.
  void issue(const isa::MmaShape& shape, detail::WgmmaRegisters& d, const ir::Operand& a, const ir::Operand& b,
             const EnableInputD& p);
  F32 reduced(RedOp op, const F32& value, Here at);

  Warpgroup g_;
  Thread thread_;  // that makes descriptors
  std::shared_ptr<detail::WgmmaGroups> groups_ = std::make_shared<detail::WgmmaGroups>();
};

// What take_registers calls.
namespace detail {
void end_kernel_after(Warpgroup& g, Here at);
}  // namespace detail

/// As setmaxnreg_inc, `take_registers<240>(g)`, for a role that ends the kernel for its threads: ptxas gives so many
/// registers only to code that nothing else leads to, and the code of the roles after it leads to none of this role's.
/// Such a role comes first.
template <int registers>
void take_registers(Warpgroup& g, Here at = {}) {
  g.setmaxnreg_inc<registers>(at);
  detail::end_kernel_after(g, at);
}

}  // namespace kiln::dsl
