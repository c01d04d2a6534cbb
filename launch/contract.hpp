// A launch contract: everything that a kernel is started with, as data. The simulator and the GPU driver take the same one.
// Reading it from JSON and filling buffers is the harness's business.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "launch/tensor_map.hpp"
#include "ptx/isa/types.hpp"

namespace kiln::launch {

/// Extents of a grid, a CTA (in threads) or a cluster (in CTAs).
struct Dim3 {
  std::uint32_t x = 1, y = 1, z = 1;
  constexpr bool operator==(const Dim3&) const = default;
  constexpr std::uint64_t volume() const { return std::uint64_t(x) * y * z; }
};

/// How a buffer is filled before the launch.
struct Init {
  enum class Kind : std::uint8_t { zeros, poison, normal, uniform, integers, npy, hex };
  Kind kind = Kind::poison;
  double low = 0, high = 1;  // uniform, integers (inclusive); normal: `high` is the standard deviation
  std::uint64_t seed = 1;
  std::string text{};        // npy: path; hex: digits
};

/// A global-memory buffer. `bytes` holds its content: the harness fills it before the launch, the engine overwrites it.
struct Buffer {
  std::string name{};
  isa::ScalarType dtype = isa::ScalarType::u8;  // sub-byte elements: two e2m1 to a byte, the even index in the low nibble
  std::vector<std::uint64_t> shape{};           // slowest first; elements
  Init init{};
  std::string out{};                            // path of a .npy to write after the run; empty: none
  std::vector<std::uint8_t> bytes{};

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
  std::uint64_t offset = 0;  // bytes
};
struct TensorMapParam {
  std::string tensor_map{};
};
struct BytesParam {
  std::vector<std::uint8_t> bytes{};
};

/// One kernel parameter, in order.
struct Param {
  std::variant<ScalarParam, PointerParam, TensorMapParam, BytesParam, StructParam> value;
};

/// A field of a struct parameter. A pair would have to be complete before Param can be.
struct StructField {
  std::uint32_t at = 0;  // bytes
  Param value{};
};

/// What the grid before a programmatic dependent launch touches, which is over only behind griddepcontrol.wait: all that
/// the launch before it does, and these buffers.
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
};

/// What an output buffer must hold afterwards.
struct Expectation {
  enum class Kind : std::uint8_t { gemm, copy };
  Kind kind = Kind::gemm;
  std::string output{};      // gemm: D[M,N] = A[M,K] * B[N,K]^T
  std::string a{}, b{};      // copy: output equals a, byte for byte
  std::uint64_t zeros_before = 0;  // copy: elements of zero that each row of the output has before a's row
  double rtol = 0;           // 0: the harness derives the tolerance from K and the types
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

  Buffer* find(const std::string& buffer);
  const Buffer* find(const std::string& buffer) const;
};

}  // namespace kiln::launch
