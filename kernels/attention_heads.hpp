// Whose rows and keys a CTA of attention has: those of a head, where all heads have one length, or those of a sequence,
// where sequences of any lengths follow one another in the rows of each head. Then a CTA makes tensor maps of its own
// sequence, to which what lies before and after is not there. With the problems of both. For kernels/*.cpp alone.
#pragma once

#include <array>
#include <numbers>
#include <type_traits>
#include <vector>

#include "kernels/attention_problem.hpp"

namespace kiln::kernels::heads {

using namespace kiln::dsl;

constexpr int head = attention_head, span = attention_span, keys = 128;  // keys: of a block

using KTile = SharedTile<bf16, keys, head, K_major, swizzle_128B>;
using VTile = SharedTile<bf16, head, keys, MN_major, swizzle_128B>;  // as memory has it: a row for each key

/// What the roles of a CTA share: a tile of Q and blocks of keys and values.
template <int rows, int stages>
struct Inputs {
  using QTile = SharedTile<bf16, rows, head, K_major, swizzle_128B>;
  Shared<QTile> q;
  Mbarrier q_full;
  Ring<stages, KTile> k;
  Ring<stages, VTile> v;

  explicit Inputs(KernelBuilder& b)
      : q(b.shared<QTile>()),
        q_full(b.mbarrier("q_full")),
        k(b.ring<stages, KTile>("k")),
        v(b.ring<stages, VTile>("v")) {}
};

/// Rows and keys of a head, and the CTA's first row.
struct Extents {
  U32 m, n, row;

  /// How many keys a row of the tile sees, where none sees a key after its own: the rows are the last of n positions.
  U32 end(const OperandOf<U32>& in_tile) const { return min(n - m + row + in_tile + 1, n); }
};

/// Of the keys up to a row's own the last ones, as many as the window has.
struct KeysOfWindow {
  static constexpr auto parameter_list = parameters("window"_arg.is<u32>());
  Extents of;
  U32 window;

  U32 count(const OperandOf<U32>& in_tile) const { return min(window, of.end(in_tile)); }
  U32 begin(const OperandOf<U32>& in_tile) const { return of.end(in_tile) - count(in_tile); }
};

/// How many rows of Q a CTA has, and how O leaves it: by copies of so many rows, or, 0, by stores of its threads. Boxes
/// of Q, K and V have as many rows as a block has keys.
template <int rows_, int store_rows_ = 0>
struct CtaOf {
  static constexpr int rows = rows_, store_rows = store_rows_, box_rows = keys;
  static constexpr bool copies_o = store_rows != 0;
  using O = std::conditional_t<copies_o, HeadMap, Pointer<bf16>>;
};

/// An operand, as one that has a tensor map.
inline constexpr std::uint32_t of_q = 0, of_k = 1, of_v = 2, of_o = 3;

/// Heads of one length, mapped by the launch.
template <class Cta>
class Heads {
 public:
  static constexpr bool is_ragged = false, has_log_sums = false;
  static constexpr auto parameter_list =
      parameters("Q"_arg.is<HeadMap>(), "K"_arg.is<HeadMap>(), "V"_arg.is<HeadMap>(), "O"_arg.is<typename Cta::O>(),
                 "m"_arg.is<u32>(), "n"_arg.is<u32>(), "sharing"_arg.is<u32>());

  explicit Heads(KernelBuilder& b) : given_(declare(b, parameter_list)) {}
  Extents extents(const U32& row) const { return {given_["m"_arg], given_["n"_arg], row}; }
  U32 head_of_k(const U32& head_of_q) const { return head_of_q / given_["sharing"_arg]; }
  HeadMap map(Thread&, std::uint32_t which) const {
    if constexpr (Cta::copies_o)
      if (which == of_o) return given_["O"_arg];
    return which == of_q ? given_["Q"_arg] : which == of_k ? given_["K"_arg] : given_["V"_arg];
  }
  /// Where a row of O begins, if threads store it.
  template <class S>
  U64 row_of_o(S&, const U32& head, const U32& row) const {
    return given_["O"_arg].at(multiply_wide(head * given_["m"_arg] + row, attention_head));
  }

 private:
  decltype(declare(std::declval<KernelBuilder&>(), parameter_list)) given_;
};

/// The same, and of each row the logarithm of the sum of what its keys weigh, for the backward pass.
template <class Cta>
class HeadsWithLogSums : public Heads<Cta> {
 public:
  static constexpr bool has_log_sums = true;
  static constexpr auto own_list = parameters("log_sums"_arg.is<Pointer<f32>>());
  static constexpr auto parameter_list = joined(Heads<Cta>::parameter_list, own_list);

  explicit HeadsWithLogSums(KernelBuilder& b) : Heads<Cta>(b), log_sums_(declare(b, own_list)["log_sums"_arg]) {}
  /// Leaves that of a row where the predicate holds; `log2` is the logarithm to the base of two.
  void leave_log_sum(Warpgroup& g, const Extents& of, const U32& head, const U32& row, const F32& log2,
                     const Pred& there) const {
    g.st_global(log_sums_.at(widen(head * of.m + row)), log2 * std::numbers::ln2_v<float>, there);
  }

 private:
  Pointer<f32> log_sums_;
};

/// Sequences one after the other in the rows of each head. Where they begin, and where the last one ends, memory says.
template <class Cta>
class Sequences {
 public:
  static constexpr bool is_ragged = true, has_log_sums = false;
  static constexpr auto parameter_list = parameters(
      "Q"_arg.is<Pointer<bf16>>(), "K"_arg.is<Pointer<bf16>>(), "V"_arg.is<Pointer<bf16>>(),
      "O"_arg.is<Pointer<bf16>>(), "row_offsets"_arg.is<Pointer<u32>>(), "key_offsets"_arg.is<Pointer<u32>>(),
      "m"_arg.is<u32>(), "n"_arg.is<u32>(), "sharing"_arg.is<u32>(), "maps"_arg.is<Pointer<u8>>());
  /// Operands that have a map, and bytes of `maps` that a CTA has.
  static constexpr int operands = Cta::copies_o ? of_o + 1 : of_o;
  static constexpr std::uint64_t map_bytes = operands * isa::tensor_map_bytes;

  explicit Sequences(KernelBuilder& b)
      : given_(declare(b, parameter_list)),
        sequence_(b.ctaid.z),
        heads_(b.nctaid.y),
        ctas_of_head_(b.nctaid.x),
        head_(b.ctaid.y),
        cta_of_head_(b.ctaid.x),
        made_(b.shared<Images>()),
        ready_(b.mbarrier<operands>("maps_ready")) {}

  /// Of this CTA's sequence.
  template <class S>
  Extents extents(S& s, const U32& row) const {
    return {length(s, given_["row_offsets"_arg]), length(s, given_["key_offsets"_arg]), row};
  }
  U32 head_of_k(const U32& head_of_q) const { return head_of_q / given_["sharing"_arg]; }
  /// A warp makes one of the maps of this CTA and publishes it in global memory, in a place of the CTA's own, which is
  /// written once.
  void make_map(Warp& w, const U32& which, const Extents& of) const {
    const U32 image = made_.address + which * isa::tensor_map_bytes;
    const Pred has_rows = which == of_q || which == of_o;
    const U32 first = select(has_rows, begin(w, given_["row_offsets"_arg]), begin(w, given_["key_offsets"_arg]));
    const U64 of_rows = select(which == of_q, start("Q"_arg), start("O"_arg));
    const U64 of_keys = select(which == of_k, start("K"_arg), start("V"_arg));
    const U64 base = select(has_rows, of_rows, of_keys);
    w.elect([&](Thread t) {
      using Field = TensorMapField;
      const U32 zero{t.recorder(), ir::Operand::number(0)};
      for (int at = 0; at < isa::tensor_map_bytes; at += 16) t.st_shared_v4(image + at, {zero, zero, zero, zero});
      t.tensormap_replace<Field::global_address>(image, base + multiply_wide(first, attention_row_bytes));
      t.tensormap_replace<Field::rank>(image, HeadMap::rank - 1);
      t.tensormap_replace<Field::box_dim, 0>(image, attention_span);
      if constexpr (Cta::copies_o) {
        t.tensormap_replace<Field::box_dim, 1>(image, select(which == of_o, Cta::store_rows, Cta::box_rows));
        t.tensormap_replace<Field::box_dim, 2>(image, select(which == of_o, 1, spans));
      } else {
        t.tensormap_replace<Field::box_dim, 1>(image, Cta::box_rows);
        t.tensormap_replace<Field::box_dim, 2>(image, spans);
      }
      t.tensormap_replace<Field::box_dim, 3>(image, 1);
      t.tensormap_replace<Field::global_dim, 0>(image, attention_span);
      t.tensormap_replace<Field::global_dim, 1>(image, select(has_rows, of.m, of.n));
      t.tensormap_replace<Field::global_dim, 2>(image, spans);
      t.tensormap_replace<Field::global_dim, 3>(image, heads_);
      t.tensormap_replace<Field::global_stride, 0>(image, attention_row_bytes);
      t.tensormap_replace<Field::global_stride, 1>(image, attention_span * bf16::bits / 8);
      const U32 all_rows = select(has_rows, given_["m"_arg], given_["n"_arg]);
      t.tensormap_replace<Field::global_stride, 2>(image, multiply_wide(all_rows, attention_row_bytes));
      t.tensormap_replace<Field::element_stride, 0>(image, 1);
      t.tensormap_replace<Field::element_stride, 1>(image, 1);
      t.tensormap_replace<Field::element_stride, 2>(image, 1);
      t.tensormap_replace<Field::element_stride, 3>(image, 1);
      t.tensormap_replace<Field::elemtype, map_code(bf16::scalar)>(image);
      t.tensormap_replace<Field::interleave_layout, 0>(image);
      t.tensormap_replace<Field::swizzle_mode, int(isa::Swizzle::b128)>(image);
      t.tensormap_replace<Field::fill_mode, 0>(image);
    });
    w.tensormap_cp_fenceproxy(place(which), image, release_gpu);
    w.elect([&](Thread t) { t.arrive(ready_); });
  }
  HeadMap map(Thread& t, std::uint32_t which) const {
    const U64 own = place({t.recorder(), ir::Operand::number(which)});
    t.wait(ready_, Phase{0});
    t.fence_proxy_tensormap_generic(acquire_gpu, own);
    return HeadMap(own);
  }
  template <class S>
  U64 row_of_o(S& s, const U32& head, const U32& row) const {
    const U32 of_head = begin(s, given_["row_offsets"_arg]) + row;
    return given_["O"_arg].at(multiply_wide(head * given_["m"_arg] + of_head, attention_head));
  }

 private:
  static constexpr int spans = head / span;
  using Images = SharedTile<u8, 8 * operands, 16, K_major, packed>;
  static_assert(Images::bytes == operands * isa::tensor_map_bytes);

  template <class S>
  U32 begin(S& s, const Pointer<u32>& offsets) const {
    return s.ld_global(offsets.at(widen(sequence_)));
  }
  template <class S>
  U32 length(S& s, const Pointer<u32>& offsets) const {
    const U32 from = begin(s, offsets);
    return s.ld_global(offsets.at(widen(sequence_ + 1))) - from;
  }
  template <class ArgumentName>
  U64 start(const ArgumentName& operand) const {
    return given_[operand].at(0);
  }
  // What each role computes for itself is not in registers of the others.
  U64 place(const U32& which) const {
    const U32 cta = (sequence_ * heads_ + head_) * ctas_of_head_ + cta_of_head_;
    return given_["maps"_arg].at(multiply_wide(cta * operands + which, isa::tensor_map_bytes));
  }

  decltype(declare(std::declval<KernelBuilder&>(), parameter_list)) given_;
  U32 sequence_, heads_, ctas_of_head_, head_, cta_of_head_;
  Shared<Images> made_;
  Mbarrier ready_;
};

/// What a role asks for the keys that the CTA's rows see. All roles know the extents of heads of one length; those of a
/// sequence each role reads, and ends where the CTA has no rows or the sequence no keys. `batch` must outlive it.
template <class Visible, class Batch, class See>
auto visible_to_roles(const Batch& batch, const See& see, const U32& row) {
  if constexpr (Batch::is_ragged)
    return [&batch, see, row](auto& scope) -> Visible {
      const Extents of = batch.extents(scope, row);
      scope.exit_when(of.row >= of.m || of.n == 0);
      return see(of);
    };
  else
    return [all = see(batch.extents(row))](auto&) -> Visible { return all; };
}

/// The options of heads of one length, of which --heads is so many where it is not said; with a window; of sequences.
constexpr std::array<SizeOption, 5> log_sums_options(std::uint64_t heads) {
  const auto o = head_options(heads);
  return {o[0], o[1], o[2], o[3], SizeOption{"log-sums", 0, "1: leaves what the backward pass needs of each row"}};
}
constexpr std::array<SizeOption, 5> window_options(std::uint64_t heads) {
  const auto o = head_options(heads);
  return {o[0], o[1], o[2], o[3], SizeOption{"window", 128, "keys that a row sees, its own and those before it"}};
}
inline constexpr std::array sequences_options{
    SizeOption{"m", 512, "rows of Q and O of the longest sequence"},
    SizeOption{"n", 512, "rows of K and V of the sequence with the most keys"},
    SizeOption{"batch", 3, "sequences, each shorter than the one before it"},
    SizeOption{"heads", 2, "heads of Q and O"},
    SizeOption{"sharing", 1, "heads of Q that share one of K and V"},
    SizeOption{"causal", 1, "1: a row sees the keys up to its own; 0: all of its sequence"},
    SizeOption{"window", 0, "of these the last ones, so many at most; 0: all"}};

/// Whether --log-sums says so; a kernel without that option leaves none.
inline bool leaves_log_sums(const Sizes& sizes) { return sizes.contains("log-sums") && is_set(sizes, "log-sums"); }
/// Whether --causal says so. Throws diag::InputError for a window of rows that see all keys.
bool sequences_are_causal(const Sizes&);
/// Buffers of --batch sequences of which each is shorter than the one before it; where there are fewer rows than
/// sequences, some are empty. With their lists of offsets, and the grid of CTAs of so many rows.
struct SequencesProblem {
  launch::Contract contract;
  std::uint64_t rows = 0, keys = 0;  // of all sequences together
  launch::Dim3 grid{};
};
SequencesProblem sequences_buffers(const Sizes&, int cta_rows, std::uint64_t map_bytes);

template <class Batch, class Cta, class Visible, class... More>
void add_heads_launch(launch::Contract& c, const Kernel& kernel, const Sizes& sizes, const More&... more) {
  const std::uint64_t m = sizes.at("m"), n = sizes.at("n");
  const HeadSizes heads = head_sizes(sizes);
  const launch::Dim3 grid{std::uint32_t(pieces(m, std::uint64_t(Cta::rows))), std::uint32_t(heads.q), 1};
  const auto add = [&](const auto& o) {
    launch_kernel(c, kernel, joined(Batch::parameter_list, Visible::parameter_list), grid,
                  "Q"_arg = head_map("Q", m, heads.q, Cta::box_rows),
                  "K"_arg = head_map("K", n, heads.k, Cta::box_rows),
                  "V"_arg = head_map("V", n, heads.k, Cta::box_rows), "O"_arg = o, "m"_arg = m, "n"_arg = n,
                  "sharing"_arg = std::uint64_t(sizes.at("sharing")), more...);
  };
  if constexpr (Cta::copies_o)
    add(head_map("O", m, heads.q, Cta::store_rows, 1));
  else
    add("O");
}
/// The problem of heads of one length.
template <class Cta, class Visible, class... More>
launch::Contract heads_problem(const Kernel& kernel, const Sizes& sizes, const More&... more) {
  const std::uint64_t m = sizes.at("m");
  const HeadSizes heads = head_sizes(sizes);
  launch::Contract c = attention_buffers(m, sizes.at("n"), heads);
  if (!leaves_log_sums(sizes)) {
    add_heads_launch<Heads<Cta>, Cta, Visible>(c, kernel, sizes, more...);
    return c;
  }
  add_workspace(c, "log_sums", isa::ScalarType::f32, heads.q * m).shape = {heads.q, m};
  launch::Expectation log_sums = c.expectations.front();
  log_sums.output = "log_sums", log_sums.result = launch::AttentionResult::log_sums;
  c.expectations.push_back(log_sums);
  add_heads_launch<HeadsWithLogSums<Cta>, Cta, Visible>(c, kernel, sizes, "log_sums"_arg = "log_sums", more...);
  return c;
}
/// The same where a row sees the last keys up to its own.
template <class Cta, class Visible>
launch::Contract window_problem(const Kernel& kernel, const Sizes& sizes) {
  const std::uint64_t window = sizes.at("window");
  check_extent("window", window);
  const auto make = [](const Kernel& k, const Sizes& of) {
    return heads_problem<Cta, Visible>(k, of, "window"_arg = std::uint64_t(of.at("window")));
  };
  launch::Contract c = causal_problem(make, kernel, sizes);
  c.expectations.front().window = window;
  return c;
}
template <class Cta, class Visible, class... More>
launch::Contract sequences_problem(const Kernel& kernel, const Sizes& sizes, const More&... more) {
  SequencesProblem p = sequences_buffers(sizes, Cta::rows, Sequences<Cta>::map_bytes);
  launch_kernel(p.contract, kernel, joined(Sequences<Cta>::parameter_list, Visible::parameter_list), p.grid,
                "Q"_arg = "Q", "K"_arg = "K", "V"_arg = "V", "O"_arg = "O", "row_offsets"_arg = "row_offsets",
                "key_offsets"_arg = "key_offsets", "m"_arg = p.rows, "n"_arg = p.keys,
                "sharing"_arg = std::uint64_t(sizes.at("sharing")), "maps"_arg = "maps", more...);
  return std::move(p.contract);
}
/// The problem of sequences, of all keys or of the last ones, as the options say.
template <class Cta, class All, class Last>
launch::Contract varlen_problem(const Kernel& kernel, const Sizes& sizes) {
  if (!sequences_are_causal(sizes)) return sequences_problem<Cta, All>(kernel, sizes);
  const auto make = [](const Kernel& k, const Sizes& of) {
    constexpr std::uint64_t most_keys = std::uint64_t{1} << 31;
    const std::uint64_t given = of.at("window");
    return sequences_problem<Cta, Last>(k, of, "window"_arg = given == 0 ? most_keys : given);
  };
  launch::Contract c = causal_problem(make, kernel, sizes);
  c.expectations.front().window = std::uint64_t(sizes.at("window"));
  return c;
}

}  // namespace kiln::kernels::heads
