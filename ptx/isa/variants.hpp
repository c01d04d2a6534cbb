// The ten variants in which the Tileiras documentation sorts tcgen05.mma, each beside what the PTX ISA has. Four of the
// ten are names for instructions that other rows have already, or for instructions that do not exist. PTX ISA
// "tcgen05.mma instructions"; ptxas 13.0 settles what assembles.
#pragma once

#include <boost/hana/for_each.hpp>
#include <boost/hana/set.hpp>
#include <boost/hana/type.hpp>
#include <optional>
#include <string_view>

#include "ptx/isa/mma_form.hpp"

namespace kiln::isa {

enum class Variant : std::uint8_t {
  dense, sparse, ws_dense, ws_sparse, scaled_dense, scaled_sparse,
  warp_specialized_dense, warp_specialized_sparse, warp_specialized_scaled, warp_specialized_scaled_sparse
};

/// Where an operand of a variant may live.
enum class Residency : std::uint8_t { none, shared_descriptor, tensor_memory, either };

constexpr std::string_view spelling(Residency r) {
  switch (r) {
    case Residency::none: return "-";
    case Residency::shared_descriptor: return "SMEM descriptor";
    case Residency::tensor_memory: return "TMEM";
    case Residency::either: return "SMEM descriptor or TMEM";
  }
  return "";
}

/// The operands of a variant. D is C, in tensor memory, in every one.
struct OperandContract {
  Residency a, b, metadata, scales;
  constexpr bool operator==(const OperandContract&) const = default;
};

/// What the PTX ISA makes of a row.
enum class Encoding : std::uint8_t {
  instruction,  // it is one
  alias,        // the same instruction as another row's
  nothing       // no instruction encodes it
};

/// One row: what the document says, and what the ISA has.
struct VariantInfo {
  Variant variant;
  std::string_view name;
  bool sparse, block_scale, ws;
  bool two_ctas;              // cta_group::2 is legal too
  OperandContract published;  // the document's contract
  std::string_view mnemonic;  // without cta_group and kind; empty where nothing encodes it
  Encoding encoding;
  OperandContract contract;   // the ISA's; what ptxas accepts
};

namespace detail {

using enum Residency;
inline constexpr OperandContract plain{either, shared_descriptor, none, none};
inline constexpr OperandContract with_metadata{either, shared_descriptor, tensor_memory, none};
inline constexpr OperandContract with_scales{either, shared_descriptor, none, tensor_memory};
inline constexpr OperandContract with_both{either, shared_descriptor, tensor_memory, tensor_memory};
// The document keeps A in tensor memory for everything but plain and scaled dense MMAs; the ISA does not.
constexpr OperandContract a_in_tmem(OperandContract c) { return c.a = tensor_memory, c; }

}  // namespace detail

/// A variant as a type: what a compile-time set holds, and what run-time values dispatch into.
template <Variant v>
struct VariantType {
  static constexpr Variant variant = v;
  static constexpr VariantInfo info = [] {
    using namespace detail;
    switch (v) {
      using enum Variant;
      using enum Encoding;
      case dense: return VariantInfo{v, "dense MMA", false, false, false, true, plain, "tcgen05.mma", instruction, plain};
      case sparse:
        return VariantInfo{v, "sparse MMA", true, false, false, true, a_in_tmem(with_metadata), "tcgen05.mma.sp", instruction, with_metadata};
      case ws_dense:
        return VariantInfo{v, "weight-stationary dense", false, false, true, false, a_in_tmem(plain), "tcgen05.mma.ws", instruction, plain};
      case ws_sparse:
        return VariantInfo{v, "weight-stationary sparse", true, false, true, false, a_in_tmem(with_metadata), "tcgen05.mma.ws.sp", instruction, with_metadata};
      case scaled_dense:
        return VariantInfo{v, "block-scaled dense", false, true, false, true, with_scales, "tcgen05.mma.block_scale", instruction, with_scales};
      case scaled_sparse:
        return VariantInfo{v, "block-scaled sparse", true, true, false, true, a_in_tmem(with_both), "tcgen05.mma.sp.block_scale", instruction, with_both};
      case warp_specialized_dense:
        return VariantInfo{v, "warp-specialized dense", false, false, true, false, a_in_tmem(plain), "tcgen05.mma.ws", alias, plain};
      case warp_specialized_sparse:
        return VariantInfo{v, "warp-specialized sparse", true, false, true, false, a_in_tmem(with_metadata), "tcgen05.mma.ws.sp", alias, with_metadata};
      case warp_specialized_scaled:
        return VariantInfo{v, "warp-specialized block-scaled", false, true, true, false, a_in_tmem(with_scales), "", nothing, {}};
      case warp_specialized_scaled_sparse:
        return VariantInfo{v, "warp-specialized sparse block-scaled", true, true, true, false, a_in_tmem(with_both), "", nothing, {}};
    }
  }();
};

/// All ten, as a set of types.
inline constexpr auto variants = boost::hana::make_set(
    boost::hana::type_c<VariantType<Variant::dense>>, boost::hana::type_c<VariantType<Variant::sparse>>,
    boost::hana::type_c<VariantType<Variant::ws_dense>>, boost::hana::type_c<VariantType<Variant::ws_sparse>>,
    boost::hana::type_c<VariantType<Variant::scaled_dense>>, boost::hana::type_c<VariantType<Variant::scaled_sparse>>,
    boost::hana::type_c<VariantType<Variant::warp_specialized_dense>>,
    boost::hana::type_c<VariantType<Variant::warp_specialized_sparse>>,
    boost::hana::type_c<VariantType<Variant::warp_specialized_scaled>>,
    boost::hana::type_c<VariantType<Variant::warp_specialized_scaled_sparse>>);

/// Calls `f` with the VariantType of a run-time value.
template <class F>
constexpr void dispatch(Variant v, F f) {
  boost::hana::for_each(variants, [&](auto t) {
    using Type = typename decltype(t)::type;
    if (Type::variant == v) f(Type{});
  });
}

constexpr VariantInfo info(Variant v) {
  VariantInfo found = VariantType<Variant::dense>::info;
  dispatch(v, [&](auto t) { found = decltype(t)::info; });
  return found;
}

/// The variant that a form belongs to. A weight-stationary block-scaled form, which nothing encodes, has its row all
/// the same; the warp-specialized names of rows that exist are never answered, since an instruction cannot tell.
constexpr Variant classify(const MmaForm& f) {
  if (f.block_scale && f.ws) return f.sparse ? Variant::warp_specialized_scaled_sparse : Variant::warp_specialized_scaled;
  if (f.block_scale) return f.sparse ? Variant::scaled_sparse : Variant::scaled_dense;
  if (f.ws) return f.sparse ? Variant::ws_sparse : Variant::ws_dense;
  return f.sparse ? Variant::sparse : Variant::dense;
}

/// What is known of a problem before an instruction is chosen for it.
struct ProblemTraits {
  bool structured_sparsity = false;   // A is 2:4 (4:8 for packed 4-bit types)
  bool microscaled = false;           // blocks of elements share a scale
  bool reuses_stationary_operand = false;  // the same operand serves many MMAs of an inner loop
  bool shared_across_experts = false; // mixture of experts, several adapters: the operand outlives a role's loop

  constexpr bool operator==(const ProblemTraits&) const = default;
};

/// A row of the document's table from source-language patterns to variants.
struct Idiom {
  std::string_view pattern;
  ProblemTraits traits;
  Variant variant;
};

inline constexpr std::array<Idiom, 6> idioms{{
    {"plain matmul main loop", {}, Variant::dense},
    {"structurally sparse weight matrix (2:4)", {.structured_sparsity = true}, Variant::sparse},
    {"inner loop that reuses one operand across many MMAs", {.reuses_stationary_operand = true}, Variant::ws_dense},
    {"FP8, FP6 or FP4 microscaled matmul", {.microscaled = true}, Variant::scaled_dense},
    {"mixture of experts or several adapters that share an operand", {.shared_across_experts = true}, Variant::warp_specialized_dense},
    {"microscaled matmul with structured sparsity", {.structured_sparsity = true, .microscaled = true}, Variant::scaled_sparse},
}};

/// The document's choice for a problem, by its idiom table; combinations that the table leaves out follow from its
/// rows: sparsity, scales and reuse each select their property. Scales win over reuse, since no weight-stationary
/// instruction takes scales.
constexpr Variant select_variant(const ProblemTraits& p) {
  for (const Idiom& i : idioms)
    if (i.traits == p) return i.variant;
  if (p.microscaled) return p.structured_sparsity ? Variant::scaled_sparse : Variant::scaled_dense;
  if (p.shared_across_experts)
    return p.structured_sparsity ? Variant::warp_specialized_sparse : Variant::warp_specialized_dense;
  return p.structured_sparsity ? Variant::ws_sparse : Variant::ws_dense;
}

/// The variant whose instruction encodes a variant: itself, or what an alias stands for. Nothing for rows that no
/// instruction encodes.
constexpr std::optional<Variant> encoded_variant(Variant v) {
  if (info(v).encoding == Encoding::nothing) return std::nullopt;
  if (v == Variant::warp_specialized_dense) return Variant::ws_dense;
  if (v == Variant::warp_specialized_sparse) return Variant::ws_sparse;
  return v;
}

}  // namespace kiln::isa
