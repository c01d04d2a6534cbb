// Attention on Hopper: O = softmax(Q * K^T / sqrt(head)) * V for many heads at once. A CTA has 128 rows of Q; two
// warpgroups have 64 of them each (attention_wgmma.hpp), a third one loads the blocks of keys that some row sees.
// Blocks go from the last key to the first, so that those with keys that a row does not see come first. Heads have one
// length, or sequences of any lengths follow one another in them: then a CTA makes tensor maps of its own sequence, to
// which what lies before and after is not there.
#include "kernels/attention_wgmma_rows.hpp"

#include <array>
#include <optional>

#include "kernels/by_hand.hpp"

namespace kiln::kernels {

using namespace kiln::dsl;
using namespace by_wgmma;

namespace {

constexpr int stages = 2;
constexpr int row_bytes = attention_row_bytes;

using In = Inputs<rows, stages>;
using QTile = In::QTile;
using Map = HeadMap;
constexpr std::uint32_t of_q = 0, of_k = 1, of_v = 2, of_o = 3;

// The last ones before a row's end: `count` from `begin` on.
struct KeysBetween {
  std::vector<U32> begins{}, counts{};

  auto in(const U32& block) const {
    std::vector<U32> after;  // what lies before the begin is a large number
    for (const U32& begin : begins) after.push_back(block * keys - begin);
    return [after, of = counts](int r, int column) { return after[std::size_t(r)] + column < of[std::size_t(r)]; };
  }
};

// Of these the last ones, as many as the window has.
struct LastKeys {
  using Seen = KeysBetween;
  static constexpr auto parameter_list = parameters("window"_arg.is<u32>());
  Extents of;
  U32 window;

  static auto maker(KernelBuilder& b) {
    return [window = declare(b, parameter_list)["window"_arg]](const Extents& of) { return LastKeys{of, window}; };
  }
  U32 count(const OperandOf<U32>& in_tile) const { return min(window, of.end(in_tile)); }
  U32 begin(const OperandOf<U32>& in_tile) const { return of.end(in_tile) - count(in_tile); }
  U32 last() const { return (of.end(rows - 1) - 1) / keys; }
  U32 first() const { return begin(0) / keys; }
  template <class S, class Step>
  void others(S& scope, Step step) const {
    const U32 block = last(), common_end = of.end(0), common_begin = begin(rows - 1);
    scope.loop(block - first(), [&](U32 i) {
      const U32 at = block - 1 - i, from = at * keys;
      step(from < common_begin || from + keys > common_end, at);
    });
  }
  Seen seen(const U32& row, const U32& column) const {
    Seen seen;
    for (int r = 0; r < rows_of_lane; ++r) {
      seen.begins.push_back(begin(row + 8 * r) - column);
      seen.counts.push_back(count(row + 8 * r));
    }
    return seen;
  }
};

// Heads of one length, mapped by the launch.
class Heads {
 public:
  static constexpr bool is_ragged = false;
  static constexpr auto parameter_list =
      parameters("Q"_arg.is<Map>(), "K"_arg.is<Map>(), "V"_arg.is<Map>(), "O"_arg.is<Map>(), "m"_arg.is<u32>(),
                 "n"_arg.is<u32>(), "sharing"_arg.is<u32>());

  explicit Heads(KernelBuilder& b) : given_(declare(b, parameter_list)) {}
  Extents extents(const U32& row) const { return {given_["m"_arg], given_["n"_arg], row}; }
  U32 head_of_k(const U32& head_of_q) const { return head_of_q / given_["sharing"_arg]; }
  void make_maps(Warpgroup&, const Extents&) const {}
  template <class Mine>
  void leave_log_sums(Warpgroup&, const Mine&, const std::vector<F32>&, const Extents&, const U32&) const {}
  Map map(Thread&, std::uint32_t which) const {
    return which == of_q   ? given_["Q"_arg]
           : which == of_k ? given_["K"_arg]
           : which == of_v ? given_["V"_arg]
                           : given_["O"_arg];
  }

 private:
  decltype(declare(std::declval<KernelBuilder&>(), parameter_list)) given_;
};

// The same, and of each row the logarithm of the sum of what its keys weigh, for the backward pass.
class HeadsWithLogSums : public Heads {
 public:
  static constexpr auto own_list = parameters("log_sums"_arg.is<Pointer<f32>>());
  static constexpr auto parameter_list = joined(Heads::parameter_list, own_list);

  explicit HeadsWithLogSums(KernelBuilder& b) : Heads(b), log_sums_(declare(b, own_list)["log_sums"_arg]) {}
  template <class Mine>
  void leave_log_sums(Warpgroup& g, const Mine& mine, const std::vector<F32>& totals, const Extents& of,
                      const U32& head_of_q) const {
    for (int r = 0; r < rows_of_lane; ++r) {
      const F32 log2 = fma(mine.greatest(r), exponent_scale, lg2_approx_ftz(totals[std::size_t(r)]));
      const U32 row = of.row + mine.row() + 8 * r;
      g.st_global(log_sums_.at(widen(head_of_q * of.m + row)), log2 * std::numbers::ln2_v<float>,
                  row < of.m && (g.lane() & 3) == 0);
    }
  }

 private:
  Pointer<f32> log_sums_;
};

// Sequences one after the other in the rows of each head. Where they begin, and where the last one ends, memory says.
class Sequences {
 public:
  static constexpr bool is_ragged = true;
  static constexpr auto parameter_list = parameters(
      "Q"_arg.is<Pointer<bf16>>(), "K"_arg.is<Pointer<bf16>>(), "V"_arg.is<Pointer<bf16>>(),
      "O"_arg.is<Pointer<bf16>>(), "row_offsets"_arg.is<Pointer<u32>>(), "key_offsets"_arg.is<Pointer<u32>>(),
      "m"_arg.is<u32>(), "n"_arg.is<u32>(), "sharing"_arg.is<u32>(), "maps"_arg.is<Pointer<u8>>());

  explicit Sequences(KernelBuilder& b)
      : given_(declare(b, parameter_list)),
        sequence_(b.ctaid.z),
        cta_((b.ctaid.z * b.nctaid.y + b.ctaid.y) * b.nctaid.x + b.ctaid.x),
        heads_(b.nctaid.y),
        made_(b.shared<Images>()),
        ready_(b.mbarrier<operands>("maps_ready")) {}
  static constexpr std::uint64_t map_bytes = 4 * isa::tensor_map_bytes;  // that a CTA has in `maps`

  // Of this CTA's sequence.
  template <class S>
  Extents extents(S& s, const U32& row) const {
    return {length(s, given_["row_offsets"_arg]), length(s, given_["key_offsets"_arg]), row};
  }
  U32 head_of_k(const U32& head_of_q) const { return head_of_q / given_["sharing"_arg]; }
  // Each warp makes one of the maps of this CTA and publishes it in global memory, in a place of the CTA's own, which
  // is written once.
  void make_maps(Warpgroup& g, const Extents& of) const {
    g.each_warp([&](Warp w) {
      const U32 which = w.warp_index() % operands, image = made_.address + which * isa::tensor_map_bytes;
      const Pred has_rows = which == of_q || which == of_o;
      const U32 first = select(has_rows, begin(w, given_["row_offsets"_arg]), begin(w, given_["key_offsets"_arg]));
      const U64 of_rows = select(which == of_q, start("Q"_arg), start("O"_arg));
      const U64 of_keys = select(which == of_k, start("K"_arg), start("V"_arg));
      const U64 base = select(has_rows, of_rows, of_keys);
      w.elect([&](Thread t) {
        using Field = TensorMapField;
        const U32 zero{t.recorder(), ir::Operand::number(0)};
        for (int at = 0; at < isa::tensor_map_bytes; at += 16) t.st_shared_v4(image + at, {zero, zero, zero, zero});
        t.tensormap_replace<Field::global_address>(image, base + multiply_wide(first, row_bytes));
        t.tensormap_replace<Field::rank>(image, Map::rank - 1);
        t.tensormap_replace<Field::box_dim, 0>(image, span);
        t.tensormap_replace<Field::box_dim, 1>(image, select(which == of_o, store_rows, keys));
        t.tensormap_replace<Field::box_dim, 2>(image, select(which == of_o, 1, head / span));
        t.tensormap_replace<Field::box_dim, 3>(image, 1);
        t.tensormap_replace<Field::global_dim, 0>(image, span);
        t.tensormap_replace<Field::global_dim, 1>(image, select(has_rows, of.m, of.n));
        t.tensormap_replace<Field::global_dim, 2>(image, head / span);
        t.tensormap_replace<Field::global_dim, 3>(image, heads_);
        t.tensormap_replace<Field::global_stride, 0>(image, row_bytes);
        t.tensormap_replace<Field::global_stride, 1>(image, span * bf16::bits / 8);
        const U32 all_rows = select(has_rows, given_["m"_arg], given_["n"_arg]);
        t.tensormap_replace<Field::global_stride, 2>(image, multiply_wide(all_rows, row_bytes));
        t.tensormap_replace<Field::element_stride, 0>(image, 1);
        t.tensormap_replace<Field::element_stride, 1>(image, 1);
        t.tensormap_replace<Field::element_stride, 2>(image, 1);
        t.tensormap_replace<Field::element_stride, 3>(image, 1);
        t.tensormap_replace<Field::elemtype, map_code(bf16::scalar)>(image);
        t.tensormap_replace<Field::interleave_layout, 0>(image);
        t.tensormap_replace<Field::swizzle_mode, int(QTile::swizzle)>(image);
        t.tensormap_replace<Field::fill_mode, 0>(image);
      });
      w.tensormap_cp_fenceproxy(place(which), image, release_gpu);
      w.elect([&](Thread t) { t.arrive(ready_); });
    });
  }
  template <class Mine>
  void leave_log_sums(Warpgroup&, const Mine&, const std::vector<F32>&, const Extents&, const U32&) const {}
  Map map(Thread& t, std::uint32_t which) const {
    const U64 own = place({t.recorder(), ir::Operand::number(which)});
    t.wait(ready_, Phase{0});
    t.fence_proxy_tensormap_generic(acquire_gpu, own);
    return Map(own);
  }

 private:
  static constexpr int operands = of_o + 1;
  using Images = SharedTile<u8, 8 * operands, 16, K_major, packed>;
  static_assert(Images::bytes == operands * isa::tensor_map_bytes && rows == keys);

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
  U64 place(const U32& which) const {
    return given_["maps"_arg].at(multiply_wide(cta_ * operands + which, isa::tensor_map_bytes));
  }

  decltype(declare(std::declval<KernelBuilder&>(), parameter_list)) given_;
  U32 sequence_, cta_, heads_;
  Shared<Images> made_;
  Mbarrier ready_;
};

template <class Batch, class Visible>
Kernel build(const std::string& name, Target target) {
  KernelBuilder attention(name, target, warps<4 * (groups + 1)>);
  attention.minnctapersm(1);
  const Batch batch(attention);
  const auto see = Visible::maker(attention);
  In in(attention);

  // Causal rows with the most keys begin first.
  const U32 row = (attention.nctaid.x - attention.ctaid.x - 1) * rows, head_of_q = attention.ctaid.y;
  std::optional<Visible> of_all;  // where all roles know the extents
  if constexpr (!Batch::is_ragged) of_all.emplace(see(batch.extents(row)));
  const auto visible_to = [&](auto& scope) -> Visible {
    if constexpr (Batch::is_ragged) {
      const Extents of = batch.extents(scope, row);
      scope.exit_when(of.row >= of.m || of.n == 0);
      return see(of);
    } else {
      return *of_all;
    }
  };

  attention.role("softmax", warpgroups<0, groups>, [&](Warpgroups<groups>& g) {
    take_registers<240>(g);
    const Visible visible = visible_to(g);
    Rows<groups, stages, typename Visible::Seen> mine(
        g, in, [&](const U32& of_tile, const U32& column) { return visible.seen(of_tile, column); });
    mine.begin(visible.last());
    visible.others(g, [&](const auto& cut, const U32& block) { mine.step(cut, block); });
    mine.end();
    std::vector<F32> totals, inverse;
    for (int r = 0; r < rows_of_lane; ++r) {
      totals.push_back(mine.total(r));
      inverse.push_back(rcp_approx_ftz(totals.back()));
    }
    batch.leave_log_sums(g, mine, totals, visible.of, head_of_q);
    // After the last block no warp reads Q, so O leaves through its rows.
    stage(g, in.q, mine.first(), [&](int i) { return mine.value(i) * inverse[std::size_t(row_of(i))]; });
    store_staged(
        g, in.q, mine.first(), [&](Thread& t) { return batch.map(t, of_o); }, row, head_of_q);
  });
  attention.role("load", warpgroup<groups>, [&](Warpgroup& g) {
    g.setmaxnreg_dec<24>();
    const Visible visible = visible_to(g);
    batch.make_maps(g, visible.of);
    g.elect([&](Thread t) {
      const U32 head_of_k = batch.head_of_k(head_of_q);
      const Map Q = batch.map(t, of_q), K = batch.map(t, of_k), V = batch.map(t, of_v);
      t.expect_tx(in.q_full, QTile::transaction_bytes);
      t.tma_load(in.q, Q.at(0, row, 0, head_of_q), in.q_full);
      const auto load_k = [&](const U32& block) {
        auto k = in.k.acquire(t);
        t.tma_load(k.get<KTile>(), K.at(0, block * keys, 0, head_of_k), k.full);
      };
      const auto load_v = [&](const U32& block) {
        auto v = in.v.acquire(t);
        t.tma_load(v.get<VTile>(), V.at(0, block * keys, 0, head_of_k), v.full);
      };
      load_k(visible.last());
      visible.others(t, [&](const auto&, const U32& block) {
        load_k(block);
        load_v(block + 1);
      });
      load_v(visible.first());
    });
  });
  return attention.build();
}

constexpr auto shared_options = head_options(2);
constexpr std::array options{shared_options[0], shared_options[1], shared_options[2], shared_options[3],
                             SizeOption{"log-sums", 0, "1: leaves what the backward pass needs of each row"}};
constexpr std::array window_options{options[0], options[1], options[2], options[3],
                                    SizeOption{"window", 128, "keys that a row sees, its own and those before it"}};
constexpr std::array sequences_options{
    SizeOption{"m", 512, "rows of Q and O of the longest sequence"},
    SizeOption{"n", 512, "rows of K and V of the sequence with the most keys"},
    SizeOption{"batch", 3, "sequences, each shorter than the one before it"},
    SizeOption{"heads", 2, "heads of Q and O"},
    options[3],
    SizeOption{"causal", 1, "1: a row sees the keys so far, as in attention_wgmma_causal; 0: all of its sequence"},
    SizeOption{"window", 0, "of these the last ones, so many at most; 0: all"}};

bool leaves_log_sums(const Sizes& sizes) {
  if (!sizes.contains("log-sums")) return false;  // there is no backward pass of windows
  return is_set(sizes, "log-sums");
}

template <class Visible>
Kernel build_heads(const std::string& name, Target target, const Sizes& sizes) {
  return leaves_log_sums(sizes) ? build<HeadsWithLogSums, Visible>(name, target) : build<Heads, Visible>(name, target);
}

template <class Batch, class Visible, class... More>
void add_launch(launch::Contract& c, const Kernel& kernel, const Sizes& sizes, const More&... more) {
  const std::uint64_t m = sizes.at("m"), n = sizes.at("n");
  const HeadSizes heads = head_sizes(sizes);
  launch_kernel(c, kernel, joined(Batch::parameter_list, Visible::parameter_list),
                {std::uint32_t(pieces(m, rows)), std::uint32_t(heads.q), 1}, "Q"_arg = head_map("Q", m, heads.q, rows),
                "K"_arg = head_map("K", n, heads.k, keys), "V"_arg = head_map("V", n, heads.k, keys),
                "O"_arg = head_map("O", m, heads.q, store_rows, 1), "m"_arg = m, "n"_arg = n,
                "sharing"_arg = std::uint64_t(sizes.at("sharing")), more...);
}
template <class Visible, class... More>
launch::Contract problem(const Kernel& kernel, const Sizes& sizes, const More&... more) {
  const std::uint64_t m = sizes.at("m");
  const HeadSizes heads = head_sizes(sizes);
  launch::Contract c = attention_buffers(m, sizes.at("n"), heads);
  if (!leaves_log_sums(sizes)) {
    add_launch<Heads, Visible>(c, kernel, sizes, more...);
    return c;
  }
  add_workspace(c, "log_sums", isa::ScalarType::f32, heads.q * m).shape = {heads.q, m};
  launch::Expectation log_sums = c.expectations.front();
  log_sums.output = "log_sums", log_sums.result = launch::AttentionResult::log_sums;
  c.expectations.push_back(log_sums);
  add_launch<HeadsWithLogSums, Visible>(c, kernel, sizes, "log_sums"_arg = "log_sums", more...);
  return c;
}

// Where pieces of these lengths begin, and where the last one ends.
std::vector<double> offsets_of(const std::vector<std::uint64_t>& lengths) {
  std::vector<double> offsets{0};
  for (const std::uint64_t length : lengths) offsets.push_back(offsets.back() + double(length));
  return offsets;
}

// Sequences of which each is shorter than the one before it; where there are fewer rows than sequences, some are empty.
template <class Visible, class... More>
launch::Contract sequences_problem(const Kernel& kernel, const Sizes& sizes, const More&... more) {
  const std::uint64_t m = sizes.at("m"), n = sizes.at("n"), batch = sizes.at("batch");
  const HeadSizes heads = head_sizes(sizes);
  if (batch < 1 || batch > 65535)
    throw diag::InputError("--batch " + std::to_string(batch) + ": must be in [1, 65535]");
  const bool offset = sizes.at("causal") != 0;  // rows are the last of as many positions
  std::vector<std::uint64_t> row_lengths, key_lengths;
  for (std::uint64_t left = batch; left > 0; --left) {
    row_lengths.push_back(m * left / batch);
    key_lengths.push_back(offset ? row_lengths.back() + pieces((n - m) * left, batch) : pieces(n * left, batch));
  }
  const std::vector<double> row_offsets = offsets_of(row_lengths), key_offsets = offsets_of(key_lengths);
  const auto all_rows = std::uint64_t(row_offsets.back()), all_keys = std::uint64_t(key_offsets.back());
  launch::Contract c = attention_buffers(all_rows, all_keys, heads);
  const launch::Dim3 grid{std::uint32_t(pieces(m, rows)), std::uint32_t(heads.q), std::uint32_t(batch)};
  const auto add = [&](const char* name, const std::vector<double>& values) {
    add_workspace(c, name, isa::ScalarType::u32, values.size(), launch::Init::Kind::values).init.values = values;
  };
  add("row_offsets", row_offsets), add("key_offsets", key_offsets);
  add_workspace(c, "maps", isa::ScalarType::u8, Sequences::map_bytes * grid.x * grid.y * grid.z);
  launch::Expectation& attention = c.expectations.front();
  attention.row_offsets = "row_offsets", attention.key_offsets = "key_offsets";
  launch_kernel(c, kernel, joined(Sequences::parameter_list, Visible::parameter_list), grid, "Q"_arg = "Q",
                "K"_arg = "K", "V"_arg = "V", "O"_arg = "O", "row_offsets"_arg = "row_offsets",
                "key_offsets"_arg = "key_offsets", "m"_arg = all_rows, "n"_arg = all_keys,
                "sharing"_arg = std::uint64_t(sizes.at("sharing")), "maps"_arg = "maps", more...);
  return c;
}

constexpr std::uint64_t most_keys = std::uint64_t{1} << 31;

bool is_causal(const Sizes& sizes) {
  const bool causal = is_set(sizes, "causal");
  const std::uint64_t window = sizes.at("window");
  if (!causal && window != 0)
    throw diag::InputError("--window " + std::to_string(window) + ": must be 0 with --causal 0");
  return causal;
}

}  // namespace

std::span<const SizeOption> attention_wgmma_options() { return options; }
std::span<const SizeOption> attention_wgmma_window_options() { return window_options; }
std::span<const SizeOption> attention_wgmma_varlen_options() { return sequences_options; }

Kernel attention_wgmma(Target target, const Sizes& sizes) {
  return build_heads<AllKeys>("attention_wgmma", target, sizes);
}
launch::Contract attention_wgmma_problem(const Kernel& kernel, const Sizes& sizes) {
  return problem<AllKeys>(kernel, sizes);
}

Kernel attention_wgmma_causal(Target target, const Sizes& sizes) {
  return build_heads<KeysSoFar>("attention_wgmma_causal", target, sizes);
}
launch::Contract attention_wgmma_causal_problem(const Kernel& kernel, const Sizes& sizes) {
  return causal_problem(problem<KeysSoFar>, kernel, sizes);
}

Kernel attention_wgmma_window(Target target, const Sizes&) {
  return build<Heads, LastKeys>("attention_wgmma_window", target);
}
launch::Contract attention_wgmma_window_problem(const Kernel& kernel, const Sizes& sizes) {
  const std::uint64_t window = sizes.at("window");
  check_extent("window", window);
  const auto make = [](const Kernel& k, const Sizes& of) {
    return problem<LastKeys>(k, of, "window"_arg = std::uint64_t(of.at("window")));
  };
  launch::Contract c = causal_problem(make, kernel, sizes);
  c.expectations.front().window = window;
  return c;
}

Kernel attention_wgmma_varlen(Target target, const Sizes& sizes) {
  if (is_causal(sizes)) return build<Sequences, LastKeys>("attention_wgmma_varlen", target);
  return build<Sequences, AllKeys>("attention_wgmma_varlen", target);
}
launch::Contract attention_wgmma_varlen_problem(const Kernel& kernel, const Sizes& sizes) {
  if (!is_causal(sizes)) return sequences_problem<AllKeys>(kernel, sizes);
  const std::uint64_t window = sizes.at("window");
  const auto make = [](const Kernel& k, const Sizes& of) {
    const std::uint64_t given = of.at("window");
    return sequences_problem<LastKeys>(k, of, "window"_arg = given == 0 ? most_keys : given);
  };
  launch::Contract c = causal_problem(make, kernel, sizes);
  c.expectations.front().window = window;
  return c;
}

}  // namespace kiln::kernels
