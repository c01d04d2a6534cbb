#include "harness/problem/quantisation.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "harness/host/files.hpp"
#include "harness/problem/element.hpp"
#include "harness/problem/gemm_problem.hpp"
#include "harness/problem/npy.hpp"
#include "harness/problem/random.hpp"
#include "launch/operands.hpp"
#include "ptx/diag/refuse.hpp"
#include "ptx/num/format.hpp"

namespace kiln::harness {
namespace {

using isa::MmaKind;
using isa::ScalarType;
using launch::Buffer;
using launch::Contract;
using launch::Quantisation;
using Kind = launch::Init::Kind;

template <class... Args>
[[noreturn]] void fail(const Buffer& b, fmt::format_string<Args...> text, Args&&... args) {
  diag::refuse("buffer {}: {}", b.name, fmt::format(text, std::forward<Args>(args)...));
}

MmaKind kind_of(const Buffer& b) {
  return launch::mma_kind(b.dtype, b.dtype, b.init.quantised->block, b.init.quantised->mma_k);
}

std::uint64_t row_count(const Buffer& b) { return b.shape.empty() ? 1 : b.elements() / b.shape.back(); }
std::uint64_t stored_columns(const Buffer& b) { return b.shape.empty() ? 1 : b.shape.back(); }

// Extents of the numbers that are quantised.
std::vector<std::uint64_t> source_shape(const Buffer& b) {
  std::vector<std::uint64_t> shape = b.shape;
  if (!b.init.quantised->metadata.empty()) shape.back() *= 2;
  return shape;
}

std::vector<std::string> targets(const Quantisation& q) {
  std::vector<std::string> names;
  for (const std::string* name : {&q.scales, &q.global, &q.metadata})
    if (!name->empty()) names.push_back(*name);
  return names;
}

// A buffer that a quantisation names is filled by that and by nothing else.
void check_targets(const Contract& contract, const Buffer& b) {
  for (const std::string& name : targets(*b.init.quantised)) {
    const Buffer* target = contract.find(name);
    if (!target) fail(b, "there is no buffer {}", name);
    if (target->init.kind != Kind::poison && target->init.kind != Kind::quantised)
      fail(b, "its quantisation fills buffer {}, which has an init of its own", name);
    std::size_t users = 0;
    for (const Buffer& other : contract.buffers) {
      if (!other.init.quantised) continue;
      const std::vector<std::string> all = targets(*other.init.quantised);
      users += std::size_t(std::count(all.begin(), all.end(), name));
    }
    if (users != 1) fail(b, "buffer {} is filled by more than one quantisation", name);
  }
}

// Whether an MMA has blocks of so many elements of a buffer's type, with ue4m3 scales where asked.
bool takes(const Buffer& b, std::uint32_t block, bool ue4m3) {
  const std::uint32_t k = b.init.quantised->mma_k;
  const MmaKind kind = launch::mma_kind(b.dtype, b.dtype, block, k);
  const auto scaling = isa::block_scaling(kind, int(block), k == std::uint32_t(isa::mma_k(kind, false, true)));
  return scaling && (k == 0 || int(k) == scaling->k) && (!ue4m3 || scaling->ue4m3);
}

void check_scaling(const Contract& contract, const Buffer& b) {
  const Quantisation& q = *b.init.quantised;
  if (q.scales.empty() != (q.block == 0)) fail(b, "scales need a block of 16 or 32, and a block needs scales");
  if (q.scales.empty()) {
    if (!q.global.empty()) fail(b, "a global scale goes with ue4m3 scales");
    return;
  }
  const Buffer& scales = *contract.find(q.scales);
  const bool fine = scales.dtype == ScalarType::ue4m3;
  // The B of a sparse MMA has twice the block.
  const bool dense = takes(b, q.block, fine), of_sparse = q.metadata.empty() && takes(b, q.block / 2, fine);
  if (!dense && !of_sparse)
    fail(b, "no MMA has {} scales for blocks of {} of {}{}", isa::spelling(scales.dtype), q.block,
         isa::spelling(b.dtype), q.mma_k ? fmt::format(" with K = {}", q.mma_k) : "");
  if (b.shape[1] % q.block != 0) fail(b, "a block of {} does not divide its {} columns", q.block, b.shape[1]);
  check_scales(scales, b.shape[0], b.shape[1] / q.block);
  if (q.global.empty()) return;
  if (!fine) fail(b, "a global scale goes with ue4m3 scales");
  check_factor(*contract.find(q.global));
}

std::vector<double> read_numbers(const std::string& path, const Buffer& b) {
  const NpyArray array = read_npy(path);
  const ScalarType type = array.dtype == "f2"   ? ScalarType::f16
                          : array.dtype == "f4" ? ScalarType::f32
                          : array.dtype == "f8" ? ScalarType::f64
                                                : ScalarType::none;
  const std::vector<std::uint64_t> shape = source_shape(b);
  if (type == ScalarType::none || array.shape != shape)
    diag::refuse("{}: buffer {} is quantised from f2, f4 or f8 [{}], the file has {} [{}]", path, b.name,
                 fmt::join(shape, ", "), array.dtype, fmt::join(array.shape, ", "));
  const std::uint64_t columns = shape.empty() ? 1 : shape.back();
  std::vector<double> numbers(array.bytes.size() * 8 / std::size_t(isa::bits(type)));
  for (std::uint64_t i = 0; i < numbers.size(); ++i) {
    numbers[i] = element_value(type, load_element(array.bytes, type, i));
    if (!std::isfinite(numbers[i]))
      diag::refuse("{}: [{}, {}] is {}; buffer {} is quantised from finite numbers", path, i / columns, i % columns,
                   numbers[i], b.name);
  }
  return numbers;
}

std::vector<double> source_numbers(const Buffer& b, const std::string& folder) {
  if (b.init.kind == Kind::npy) return read_numbers(path_from(folder, b.init.text), b);
  std::vector<double> numbers(b.elements() * (b.init.quantised->metadata.empty() ? 1 : 2));
  const RandomStream random(b.init.seed, b.name);
  for (std::uint64_t i = 0; i < numbers.size(); ++i) numbers[i] = drawn_number(b.init, random, i);
  return numbers;
}

double largest(const std::vector<double>& numbers) {
  double most = 0;
  for (double x : numbers) most = std::max(most, std::abs(x));
  return most;
}

double greatest_value(ScalarType type) { return element_value(type, num::format_of(type).max_finite()); }

// Half of a sparse A, chosen by magnitude, and the metadata that says which half. PTX ISA "Sparse matrices".

// What is kept or dropped as one: an element, or a pair of them where four bits of metadata are about eight elements.
struct Units {
  std::uint32_t width, count;
  explicit Units(MmaKind kind) {
    const auto chunk = std::uint32_t(isa::metadata_chunk(kind));
    count = std::min(4u, chunk);
    width = chunk / count;
  }
};

// The half of the units with the largest magnitudes, in order.
std::vector<std::uint32_t> largest_half(const double* numbers, const Units& units) {
  double sizes[4] = {};
  for (std::uint32_t i = 0; i < units.count * units.width; ++i) sizes[i / units.width] += std::abs(numbers[i]);
  std::vector<std::uint32_t> order(units.count);
  for (std::uint32_t u = 0; u < units.count; ++u) order[u] = u;
  std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) { return sizes[a] > sizes[b]; });
  order.resize(units.count / 2);
  std::sort(order.begin(), order.end());
  return order;
}

// The nibble of metadata for these units. That of tf32 names both 16-bit halves of the one element.
std::uint32_t selector(const std::vector<std::uint32_t>& kept) {
  const std::uint32_t low = kept.size() == 1 ? 2 * kept[0] : kept[0], high = kept.size() == 1 ? low + 1 : kept[1];
  return low | high << 2;
}

// Makes a row of `k` numbers sparse: keeps one of each two (tf32), two of each four, or two of each four pairs (the
// packed fp4 kinds), the largest magnitudes (of a pair: their sum), the earlier of equals; the others become 0.
// Returns the columns that are kept, in order, and writes the row's metadata.
std::vector<std::uint32_t> prune_row(MmaKind kind, double* numbers, std::uint64_t k, std::uint64_t row,
                                     Buffer& metadata) {
  const Units units(kind);
  const std::uint32_t chunk = units.count * units.width;
  std::vector<std::uint32_t> columns;
  columns.reserve(k / 2);
  for (std::uint32_t first = 0; first < k; first += chunk) {
    const std::vector<std::uint32_t> kept = largest_half(numbers + first, units);
    std::vector<bool> stays(chunk);
    for (const std::uint32_t unit : kept)
      for (std::uint32_t i = 0; i < units.width; ++i) {
        columns.push_back(first + unit * units.width + i);
        stays[unit * units.width + i] = true;
      }
    for (std::uint32_t i = 0; i < chunk; ++i)
      if (!stays[i]) numbers[first + i] = 0;
    const isa::MetadataNibble at = isa::metadata_nibble(kind, row, first / chunk, metadata.shape[1]);
    const std::uint64_t word = load_element(metadata.bytes, metadata.dtype, at.word);
    const std::uint64_t rest = word & ~(std::uint64_t{0xF} << at.bit);
    store_element(metadata.bytes, metadata.dtype, at.word, rest | std::uint64_t{selector(kept)} << at.bit);
  }
  return columns;
}

// Metadata in which every nibble means something: the first elements of each chunk.
void clear_metadata(Buffer& metadata) {
  constexpr std::uint8_t two_selectors_0x4 = 0x44;
  metadata.bytes.assign(metadata.size(), two_selectors_0x4);
}

/// Where the quantised words of one buffer go.
class Quantiser {
 public:
  Quantiser(Contract& contract, Buffer& b) : b_(b), scales_(target(contract, b.init.quantised->scales)) {
    if (scales_) scales_->bytes.assign(scales_->size(), std::uint8_t(quantise(scales_->dtype, 1)));
  }

  // The factor that brings all scales into the range of their type: the largest element then is the largest of both.
  void set_global(Buffer& global, double most) {
    const double full = greatest_value(b_.dtype) * greatest_value(scales_->dtype);
    const std::uint64_t word = num::encode(ScalarType::f32, most / full);
    global.bytes.assign(global.size(), 0);
    global_ = word == 0 ? 1 : element_value(ScalarType::f32, word);
    store_element(global.bytes, ScalarType::f32, 0, num::encode(ScalarType::f32, global_));
  }

  void row(std::uint64_t row, const std::vector<double>& numbers) {
    const std::uint64_t block = scales_ ? b_.init.quantised->block : numbers.size();
    for (std::uint64_t first = 0; first < numbers.size(); first += block) {
      const double scale = scales_ ? block_scale(row, first / block, &numbers[first], block) : 1;
      for (std::uint64_t i = first; i < first + block; ++i)
        store_element(b_.bytes, b_.dtype, row * numbers.size() + i,
                      quantise(b_.dtype, scale == 0 ? 0 : numbers[i] / scale));
    }
  }

 private:
  static Buffer* target(Contract& contract, const std::string& name) {
    return name.empty() ? nullptr : contract.find(name);
  }

  // Writes a block's scale and returns what its elements are to be divided by.
  double block_scale(std::uint64_t row, std::uint64_t index, const double* numbers, std::uint64_t count) {
    const double most = largest({numbers, numbers + count});
    const std::uint64_t word = scale_word(scales_->dtype, b_.dtype, most / global_);
    store_element(scales_->bytes, scales_->dtype, isa::scale_index(row, index, scales_->shape[1]), word);
    return element_value(scales_->dtype, word) * global_;
  }

  Buffer& b_;
  Buffer* scales_;
  double global_ = 1;
};

}  // namespace

// ue8m0: OCP Microscaling Formats 1.0, section 6.3. Zeros have a scale of 1, which they may share with anything.
std::uint64_t scale_word(ScalarType scale, ScalarType element, double most) {
  if (scale == ScalarType::ue4m3) return num::encode(scale, most / greatest_value(element), num::Rounding::rn, true);
  const num::Format f = num::format_of(scale);
  const int exponent = most == 0 ? 0 : std::ilogb(most) - num::format_of(element).emax();
  return num::encode(scale, std::ldexp(1, std::clamp(exponent, f.emin(), f.emax())), num::Rounding::rz, true);
}

void check_quantisation(const Contract& contract, const Buffer& b) {
  const Quantisation& q = *b.init.quantised;
  const auto kind = isa::type_class(b.dtype);
  if (!is_addressable(b.dtype) || (kind != isa::TypeClass::floating && !isa::is_integer(b.dtype)) ||
      isa::scale_format_code(b.dtype))
    fail(b, "{} is no type to quantise to", isa::spelling(b.dtype));
  if (b.init.kind != Kind::normal && b.init.kind != Kind::uniform && b.init.kind != Kind::integers &&
      b.init.kind != Kind::npy)
    fail(b, "is quantised from normal, uniform, integers or npy");
  check_targets(contract, b);
  if ((!q.scales.empty() || !q.metadata.empty()) && b.shape.size() != 2)
    fail(b, "scales and metadata belong to matrices; it has {} extents", b.shape.size());
  check_scaling(contract, b);
  if (!q.metadata.empty()) check_metadata(*contract.find(q.metadata), kind_of(b), b.shape[0], 2 * b.shape[1]);
}

void mark_quantised(Contract& contract, const Buffer& b) {
  for (const std::string& name : targets(*b.init.quantised)) contract.at(name).init.kind = Kind::quantised;
}

void fill_quantised(Contract& contract, Buffer& b, const std::string& folder) {
  check_quantisation(contract, b);
  const Quantisation& q = *b.init.quantised;
  mark_quantised(contract, b);
  b.exact = source_numbers(b, folder);
  b.bytes.assign(b.size(), 0);
  Buffer* metadata = q.metadata.empty() ? nullptr : contract.find(q.metadata);
  if (metadata) clear_metadata(*metadata);
  Quantiser quantiser(contract, b);
  if (!q.global.empty()) quantiser.set_global(*contract.find(q.global), largest(b.exact));
  const std::uint64_t stored = stored_columns(b), k = stored * (metadata ? 2 : 1);
  for (std::uint64_t row = 0; row < row_count(b); ++row) {
    double* from = &b.exact[row * k];
    std::vector<double> numbers(from, from + stored);
    if (metadata) {
      const std::vector<std::uint32_t> kept = prune_row(kind_of(b), from, k, row, *metadata);
      std::transform(kept.begin(), kept.end(), numbers.begin(), [from](std::uint32_t column) { return from[column]; });
    }
    quantiser.row(row, numbers);
  }
}

}  // namespace kiln::harness
