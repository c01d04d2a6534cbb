// A launch contract: everything that a kernel is started with, as data. The simulator and the GPU driver take the same
// one. Reading it from JSON and filling buffers is the harness's business.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "launch/tensor_map.hpp"
#include "ptx/diag/here.hpp"
#include "ptx/isa/types.hpp"

namespace kiln::launch {

/// Extents of a grid, a CTA (in threads) or a cluster (in CTAs).
struct Dim3 {
  std::uint32_t x = 1, y = 1, z = 1;
  constexpr bool operator==(const Dim3&) const = default;
  constexpr std::uint64_t volume() const { return std::uint64_t(x) * y * z; }
};

/// How real numbers become a narrow operand. Names are those of buffers that receive what comes with the elements, made
/// by launch/operands.hpp; empty: none.
struct Quantisation {
  std::string scales{};     // one for each `block` elements of a row, in the chunks of isa::scale_index
  std::uint32_t block = 0;  // 16 or 32 elements of this buffer, twice that where it is the B of a sparse A
  std::string global{};     // ue4m3 scales: one f32, by which they and the elements are to be multiplied
  std::string metadata{};   // where the half of A that is kept stood, in the images of isa::metadata_nibble
  std::uint32_t mma_k = 0;  // as in Expectation
};

/// How a buffer is filled before the launch.
struct Init {
  /// `quantised`: it is one of those that another buffer's quantisation fills.
  enum class Kind : std::uint8_t { zeros, poison, normal, uniform, integers, npy, hex, values, quantised };
  Kind kind = Kind::poison;
  double low = 0, high = 1;  // uniform, integers (inclusive); normal: `high` is the standard deviation
  std::uint64_t seed = 1;
  std::string text{};                       // npy: path; hex: digits
  std::vector<double> values{};             // values: of all elements, in order
  std::optional<Quantisation> quantised{};  // normal, uniform, integers and npy are then real numbers, in f64
};

/// A global-memory buffer. `bytes` holds its content: the harness fills it before the launch, the engine overwrites it.
struct Buffer {
  std::string name{};
  isa::ScalarType dtype = isa::ScalarType::u8;  // elements of 4 and 6 bits are packed, the first in the lowest bits
  std::vector<std::uint64_t> shape{};           // slowest first; elements
  Init init{};
  std::string out{};  // path of a .npy to write after the run; empty: none
  std::vector<std::uint8_t> bytes{};
  std::vector<double> exact{};  // what was quantised: all K of each row, pruned but not rounded

  /// Bytes that shape and type ask for.
  std::uint64_t size() const;
  std::uint64_t elements() const;
};

struct StructField;

/// A by-value struct parameter: fields at byte offsets.
struct StructParam {
  std::uint32_t size = 0;
  std::vector<StructField> fields;
};

struct ScalarParam {
  isa::ScalarType type = isa::ScalarType::u32;
  std::uint64_t bits = 0;
};
struct PointerParam {
  std::string buffer{};
  std::uint64_t offset = 0;                // bytes
  std::optional<isa::ScalarType> dtype{};  // the elements that the kernel says it points to, if it says so
};
struct TensorMapParam {
  std::string tensor_map{};
};
struct BytesParam {
  std::vector<std::uint8_t> bytes{};
};

/// One kernel parameter, in order.
struct Param {
  using Value = std::variant<ScalarParam, PointerParam, TensorMapParam, BytesParam, StructParam>;
  Value value;

  // Out of line, here and in Contract: each file of kernels would else compile how they are copied and destroyed.
  Param();
  Param(Value);
  Param(const Param&);
  Param(Param&&) noexcept;
  Param& operator=(const Param&);
  Param& operator=(Param&&) noexcept;
  ~Param();
};

/// A field of a struct parameter. A pair would have to be complete before Param can be.
struct StructField {
  std::uint32_t at = 0;  // bytes
  Param value{};
};

/// The accesses of the grid before a programmatic dependent launch, which end only at griddepcontrol.wait: all accesses
/// of the previous launch, and these buffers.
struct PriorGrid {
  std::vector<std::string> writes{}, reads{};
};

/// One kernel launch.
struct Launch {
  std::string entry{};  // a unique substring of the entry's name; may be empty when the module has one entry
  Dim3 grid{}, block{}, cluster{};
  std::uint32_t dynamic_smem = 0;  // bytes
  std::uint32_t ctas_per_sm = 0;   // that share an SM's tensor memory; 0: as many as .minnctapersm asks for, or 1
  std::vector<Param> params{};
  std::optional<PriorGrid> pdl{};  // nothing: the launch begins when everything before it is over
  Here at = Here::nowhere();       // the line of C++ that asks for it
};

/// What a gemm applies to each element at the end. gelu_tanh is the form with a tanh, x / 2 * (1 + tanh(sqrt(2 / pi) *
/// (x + 0.044715 x^3))); silu is x / (1 + e^-x).
enum class Activation : std::uint8_t { none, relu, gelu_tanh, silu };

/// Which result of attention an output is; O and dO are [heads, M, L]. log_sums: f32, of each row the natural logarithm
/// of the sum of its keys' exp(scale * score). row_terms: f32 pairs of each row, its log_sum times log2(e) and the sum
/// of O * dO; what a head has room for after its last row is {no_row, 0}. Gradients are those of sum(O * dO).
enum class AttentionResult : std::uint8_t { o, log_sums, row_terms, dq, dk, dv };
/// A log_sum at which no key weighs anything.
inline constexpr double no_row = 0x1p100;

/// What an output buffer must hold afterwards.
struct Expectation {
  enum class Kind : std::uint8_t { gemm, copy, attention, swiglu, absmax, convolution, scales };
  Kind kind = Kind::gemm;
  std::string output{};            // gemm: D[M,N] = A[M,K] * B[N,K]^T
  std::string a{}, b{};            // copy: output equals a, byte for byte
  std::uint64_t zeros_before = 0;  // copy: elements of zero that each row of the output has before a's row
  double rtol = 0;                 // 0: the harness derives the tolerance from K and the types
  // What else a gemm has.
  bool a_transposed = false, b_transposed = false;  // the buffers hold A^T, [K, M], and B^T, [K, N]
  std::string sfa{}, sfb{};  // scales of A's and B's rows, in the chunks of isa::scale_index; both or neither
  std::uint32_t block = 0;   // stored elements that share a scale: 16 or 32
  // D is quantised by the scales in this buffer, which an expectation of its own describes: ue8m0 for 32 elements of
  // a row, ue4m3 for 16, in the chunks of isa::scale_index.
  std::string sfd{};
  double norm = 0;  // above 0: each row of the product is divided by sqrt(mean of the squares of A's row + norm)
  std::string metadata{};    // of a sparse A, which stores K / 2 columns, in the images of isa::metadata_nibble
  std::vector<std::string> factors{};                 // buffers of one f32 each, by which the sums are multiplied
  // What follows, in this order: D = activation(factors * A * B^T + beta * C + bias).
  std::string c{}, beta{};  // a matrix like D, and a buffer of one f32; without beta C is added as it is
  std::string bias{};       // a number for each column
  Activation activation = Activation::none;
  isa::ScalarType accumulate = isa::ScalarType::f32;  // what tcgen05.mma rounds each sum to; f16 is the other choice
  bool saturate = false;                              // integers: each MMA clamps its sum; else sums wrap
  std::uint32_t mma_k = 0;  // products of one MMA for each element of D; 0: those of launch::mma_kind
  int width = 0;            // an MMA's terms and sum are cut at 2^-width of the largest; 0: as tcgen05.mma does
  std::string groups{};     // u32s: where each group of rows of A and D ends. B is then [groups, N, K], a matrix for each
  // attention: softmax(scale * A[M,K] * B[N,K]^T) * C[N,L], the softmax over each row.
  // swiglu: silu(A[M,K] * B[N,K]^T) * (A * C[N,K]^T) element by element, where silu(x) is x / (1 + exp(-x)). With
  // scales, those of C's rows are `sfc`.
  // scales: what the gemm whose output is `a` has as its `sfd`.
  // absmax: [M, ceil(N / block)]: the greatest magnitude among each `block` columns of a row of A[M,K] * B[N,K]^T.
  // convolution: D[m, n], the sum over taps t of A[t, m] * B[n + t - taps / 2], where that is of n's sequence.
  std::string sfc{};
  double scale = 0;            // attention: 0: 1 / sqrt(K)
  bool causal = false;         // attention: row i sees the first N - M + i + 1 keys, and M is at most N
  std::uint64_t window = 0;    // causal attention: of these the last ones, so many at most; 0: all
  // attention, u32s: where the rows and the keys of each sequence begin, from 0 on, and where the last one's end. M and N
  // are those of a sequence. Both or neither.
  std::string row_offsets{}, key_offsets{};
  // attention, u32s: B and C are pages of keys, [pages, keys of a page, heads, K]; row i of this has the pages of sequence
  // i, one after the other. A[sequences, heads, K] is then a row for each of them, the last of its positions.
  std::string pages{};
  // u32s. attention of pages: how many keys each sequence has. gemm of a batch: how many rows of A and D each matrix has;
  // what follows them may be anything, before and after.
  std::string lengths{};
  // attention, other results than O. dO for all but log_sums; what the backward pass is given: O and log_sums for dq and
  // row_terms, row_terms for dk and dv.
  AttentionResult result = AttentionResult::o;
  std::string o{}, d_o{}, log_sums{}, row_terms{};
  std::uint64_t sequence = 0;  // convolution: positions of one
};

/// Buffers, tensor maps, launches in stream order, and what must come out.
struct Contract {
  std::vector<Buffer> buffers{};
  std::map<std::string, TensorMap> tensor_maps{};
  /// Multimem objects: buffers of one size, one for each memory that a multimem address stands for. A pointer parameter
  /// may name one in place of a buffer.
  std::map<std::string, std::vector<std::string>> multimems{};
  std::vector<Launch> launches{};
  std::vector<Expectation> expectations{};

  Contract();
  Contract(const Contract&);
  Contract(Contract&&) noexcept;
  Contract& operator=(const Contract&);
  Contract& operator=(Contract&&) noexcept;
  ~Contract();

  Buffer* find(const std::string& buffer);
  const Buffer* find(const std::string& buffer) const;
  /// Those that must be there. Throws diag::InputError.
  Buffer& at(const std::string& buffer);
  const Buffer& at(const std::string& buffer) const;
};

}  // namespace kiln::launch
