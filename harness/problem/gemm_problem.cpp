#include "harness/problem/gemm_problem.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "harness/problem/element.hpp"
#include "launch/operands.hpp"
#include "ptx/diag/refuse.hpp"

namespace kiln::harness {
namespace {

using diag::refuse;
using isa::MmaKind;
using isa::ScalarType;
using launch::Buffer;
using launch::Contract;
using launch::Expectation;

const Buffer* find_or_none(const Contract& contract, const std::string& name) {
  return name.empty() ? nullptr : &contract.at(name);
}

void check_matrix(const Buffer& b) {
  if (b.shape.size() != 2) refuse("A, B and D of a gemm must have two extents each; {} has {}", b.name, b.shape.size());
  if (!is_addressable(b.dtype) || isa::type_class(b.dtype) == isa::TypeClass::untyped)
    refuse("buffer {}: {} is no type of numbers", b.name, isa::spelling(b.dtype));
}

// Both layouts are a row of blocks for each so many rows: [row blocks, K blocks, what is in a block].
void check_blocks(const Buffer& b, std::uint64_t rows, std::uint64_t columns, std::uint64_t inside,
                  const std::string& what) {
  std::uint64_t rest = 1;
  for (std::size_t i = 2; i < b.shape.size(); ++i) rest *= b.shape[i];
  if (b.shape.size() < 3 || rest != inside || b.shape[0] < rows || b.shape[1] < columns)
    refuse("buffer {} [{}] must be at least [{}, {}, {}] for {}", b.name, fmt::join(b.shape, ", "), rows, columns,
           inside, what);
}

void check_extents(const GemmProblem& p) {
  const Buffer& d = *p.d;
  const std::uint64_t k = p.products() * (p.sparse() ? 2 : 1);
  if (k != p.k()) refuse("A has K = {}{}, B has K = {}", k, p.sparse() ? " (sparse)" : "", p.k());
  if (d.shape[0] != p.rows() || d.shape[1] != p.columns())
    refuse("D must be {} x {}; it is {} x {}", p.rows(), p.columns(), d.shape[0], d.shape[1]);
}

// Scales and metadata belong to elements that follow one another along K, and so does what a quantisation makes.
void check_transposed(const GemmProblem& p) {
  for (const GemmOperandBuffers* o : {&p.a, &p.b})
    if (o->transposed && (p.block != 0 || p.sparse() || o->elements->init.quantised))
      refuse("buffer {} is transposed, which goes with no scales, metadata or quantisation", o->elements->name);
}

// A has a scale for each row and 128 elements of it, B for 128 rows and as many elements.
void check_promotion(const GemmProblem& p) {
  const ScalarType a = p.a.elements->dtype, b = p.b.elements->dtype;
  const std::uint64_t count = (p.k() + promoted_block - 1) / promoted_block;
  if (isa::bits(a) != 8 || isa::bits(b) != 8 || p.kind != MmaKind::f8f6f4 || p.sparse())
    refuse("f32 scales go with 8-bit floats; got {} times {}", isa::spelling(a), isa::spelling(b));
  if (p.block != promoted_block) refuse("f32 scales go with blocks of {}; got {}", promoted_block, p.block);
  check_promoted_scales(*p.a.scales, p.rows(), count);
  check_promoted_scales(*p.b.scales, (p.columns() + promoted_block - 1) / promoted_block, count);
}

std::string_view kind_name(MmaKind kind) { return kind == MmaKind::none ? "no MMA" : isa::spelling(kind); }

void check_scaling(const GemmProblem& p) {
  const Buffer &a = *p.a.elements, &b = *p.b.elements;
  if ((p.a.scales == nullptr) != (p.b.scales == nullptr)) refuse("sfa and sfb come together");
  if ((p.a.scales == nullptr) != (p.block == 0))
    refuse("scales need a block of 16 or 32, and a block needs sfa and sfb");
  if (p.block == 0) return;
  if (p.promoted) return check_promotion(p);
  const auto scaling = isa::block_scaling(p.kind, int(p.block), p.mma_k == isa::mma_k(p.kind, false, true));
  const bool sparse_k96 = p.sparse() && p.mma_k != isa::mma_k(p.kind);
  if (!scaling || scaling->k != p.mma_k || sparse_k96)
    refuse("{} times {} has no block of {} in MMAs of K = {}", isa::spelling(a.dtype), isa::spelling(b.dtype), p.block,
           p.mma_k);
  if (a.shape[1] % p.block != 0)
    refuse("a block of {} does not divide the {} columns that A stores", p.block, a.shape[1]);
  check_scales(*p.a.scales, p.rows(), a.shape[1] / p.block);
  check_scales(*p.b.scales, p.columns(), a.shape[1] / p.block);
  const ScalarType type = p.a.scales->dtype;
  if (type != p.b.scales->dtype)
    refuse("{} has {}, {} has {}: one MMA has scales of one type", p.a.scales->name, isa::spelling(type),
           p.b.scales->name, isa::spelling(p.b.scales->dtype));
  // Blocks of 32 are mxf4's and mxf4nvf4's alike, and neither takes ue4m3 with them.
  if (type == ScalarType::ue4m3 && !scaling->ue4m3)
    refuse("buffer {}: ue4m3 scales go with blocks of 16 of e2m1 alone", p.a.scales->name);
}

// Blocks of D are such that an MMA may take them.
void check_output(const GemmProblem& p) {
  if (p.norm > 0 && (p.a.transposed || p.a.scales || p.sparse() || !isa::is_floating(p.a.elements->dtype)))
    refuse("rows of {} are normed where they are plain floats, contiguous along K", p.a.elements->name);
  if (!p.d_scales) return;
  const ScalarType type = p.d->dtype;
  const std::uint64_t block = p.d_block();
  check_scales(*p.d_scales, p.rows(), p.columns() / block);
  const bool fine = p.d_scales->dtype == ScalarType::ue4m3, narrow = isa::is_floating(type) && isa::bits(type) <= 8;
  if (!narrow || isa::scale_format_code(type) || (fine && type != ScalarType::e2m1))
    refuse("buffer {}: {} is not quantised with {} scales", p.d->name, isa::spelling(type),
           isa::spelling(p.d_scales->dtype));
  if (p.columns() % block != 0) refuse("a block of {} does not divide the {} columns of D", block, p.columns());
}

void check_sums(const GemmProblem& p) {
  const ScalarType a = p.a.elements->dtype, b = p.b.elements->dtype;
  if (p.accumulate != ScalarType::f32) {
    const bool halves = p.kind == MmaKind::f16 && a == ScalarType::f16 && b == ScalarType::f16;
    if (p.accumulate != ScalarType::f16 || (!halves && p.kind != MmaKind::f8f6f4))
      refuse("{} times {} ({}) has no {} accumulator", isa::spelling(a), isa::spelling(b), kind_name(p.kind),
             isa::spelling(p.accumulate));
  }
  if (p.saturate && p.kind != MmaKind::i8) refuse("only MMAs of 8-bit integers saturate");
}

// What a quantisation writes must be what the gemm reads.
void check_origin(const GemmProblem& p, const Buffer& operand, const Buffer* scales, const Buffer* metadata) {
  const std::uint64_t block = p.block * (p.sparse() && !metadata ? 2 : 1);  // of this operand's own elements
  if (!operand.init.quantised) return;
  const launch::Quantisation& q = *operand.init.quantised;
  const auto name = [](const Buffer* b) { return b ? b->name : std::string(); };
  if (q.scales != name(scales) || q.block != block)
    refuse("buffer {} is quantised with scales \"{}\" in blocks of {}, the gemm has \"{}\" in blocks of {}",
           operand.name, q.scales, q.block, name(scales), block);
  if (q.metadata != name(metadata))
    refuse("buffer {} is quantised with metadata \"{}\", the gemm has \"{}\"", operand.name, q.metadata,
           name(metadata));
  if (metadata && isa::metadata_chunk(launch::mma_kind(operand.dtype, operand.dtype, q.block, q.mma_k)) !=
                      isa::metadata_chunk(p.kind))
    refuse("buffer {} is not pruned for {}; its quantisation needs mma_k {}", operand.name, kind_name(p.kind), p.mma_k);
  const auto has = [&](const Buffer* f) { return f->name == q.global; };
  if (!q.global.empty() && std::none_of(p.factors.begin(), p.factors.end(), has))
    refuse("buffer {} is quantised with the global scale {}, which is no factor of the gemm", operand.name, q.global);
}

}  // namespace

void check_scales(const Buffer& scales, std::uint64_t rows, std::uint64_t count) {
  // Of ue5m3 scales it is not published how they are summed.
  if (!isa::scale_format_code(scales.dtype) || scales.dtype == ScalarType::ue5m3)
    refuse("buffer {}: scales are ue8m0 or ue4m3; got {}", scales.name, isa::spelling(scales.dtype));
  check_blocks(scales, isa::scale_row_chunks(rows), isa::scale_k_chunks(count), std::uint64_t(isa::scale_chunk_bytes),
               fmt::format("{} scales in each of {} rows", count, rows));
}

void check_promoted_scales(const Buffer& scales, std::uint64_t rows, std::uint64_t count) {
  const bool fits = scales.shape.size() == 2 && scales.shape[0] >= rows && scales.shape[1] >= count;
  if (scales.dtype != ScalarType::f32 || !fits)
    refuse("buffer {}: must be f32 [{} or more, {} or more], a scale for each block of {}; it is {} [{}]", scales.name, rows, count,
           promoted_block, isa::spelling(scales.dtype), fmt::join(scales.shape, ", "));
}

void check_metadata(const Buffer& metadata, MmaKind kind, std::uint64_t rows, std::uint64_t k) {
  if (kind == MmaKind::none) refuse("no MMA multiplies a sparse A of this type");
  if (metadata.dtype != ScalarType::u32 && metadata.dtype != ScalarType::b32)
    refuse("buffer {}: metadata is u32; got {}", metadata.name, isa::spelling(metadata.dtype));
  const auto chunk = std::uint64_t(isa::metadata_chunk(kind));
  if (k % chunk != 0)
    refuse("K = {} must be a multiple of {}, the elements that a nibble of metadata is about", k, chunk);
  check_blocks(metadata, isa::metadata_row_images(rows), isa::metadata_k_images(kind, k),
               std::uint64_t(isa::metadata_image_words), fmt::format("the metadata of {} x {}", rows, k));
}

void check_factor(const Buffer& factor) {
  if (factor.dtype != ScalarType::f32 || factor.elements() != 1)
    refuse("buffer {}: a factor is one f32; got {} [{}]", factor.name, isa::spelling(factor.dtype),
           fmt::join(factor.shape, ", "));
}

std::uint64_t GemmProblem::d_block() const { return d_scales->dtype == ScalarType::ue4m3 ? 16 : 32; }

GemmArithmetic GemmProblem::arithmetic() const {
  return {kind,
          has_steps() ? ScalarType::f32 : d->dtype,
          products(),
          mma_k,
          accumulate,
          int(factors.size()),
          !isa::is_floating(a.elements->dtype) && !isa::is_floating(b.elements->dtype),
          width,
          promoted ? block : 0};
}

GemmProblem gemm_problem(const Contract& contract, const Expectation& e) {
  GemmProblem p;
  p.a = {&contract.at(e.a), find_or_none(contract, e.sfa), find_or_none(contract, e.metadata), e.a_transposed};
  p.b = {&contract.at(e.b), find_or_none(contract, e.sfb), nullptr, e.b_transposed};
  p.d = &contract.at(e.output);
  for (const std::string& name : e.factors) p.factors.push_back(&contract.at(name));
  for (const Buffer* matrix : {p.a.elements, p.b.elements, p.d}) check_matrix(*matrix);
  p.block = e.block;
  p.promoted = p.a.scales && p.a.scales->dtype == ScalarType::f32;
  p.kind = launch::mma_kind(p.a.elements->dtype, p.b.elements->dtype, p.promoted ? 0 : e.block, e.mma_k);
  if (e.mma_k != 0 && p.kind == MmaKind::none)
    refuse("{} times {} is no MMA's, so there is no mma_k", isa::spelling(p.a.elements->dtype),
           isa::spelling(p.b.elements->dtype));
  p.mma_k = e.mma_k ? int(e.mma_k) : isa::mma_k(p.kind);
  p.accumulate = e.accumulate;
  p.saturate = e.saturate;
  p.width = e.width;
  p.d_scales = find_or_none(contract, e.sfd);
  p.norm = e.norm;
  check_transposed(p);
  check_extents(p);
  check_scaling(p);
  if (p.sparse()) check_metadata(*p.a.metadata, p.kind, p.rows(), p.k());
  check_sums(p);
  check_output(p);
  p.epilogue = {find_or_none(contract, e.c), find_or_none(contract, e.beta), find_or_none(contract, e.bias),
                e.activation};
  check_epilogue(p.epilogue, p.rows(), p.columns());
  for (const Buffer* factor : p.factors) check_factor(*factor);
  check_origin(p, *p.a.elements, p.a.scales, p.a.metadata);
  check_origin(p, *p.b.elements, p.b.scales, nullptr);
  return p;
}

}  // namespace kiln::harness
