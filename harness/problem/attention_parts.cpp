#include "harness/problem/attention_parts.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "harness/problem/element.hpp"
#include "ptx/diag/refuse.hpp"

namespace kiln::harness {
namespace {

using diag::refuse;
using isa::ScalarType;
using launch::Buffer;
using launch::Contract;
using launch::Expectation;

bool is_half(ScalarType t) { return t == ScalarType::f16 || t == ScalarType::bf16; }

// Buffers of two extents, or of three of which the first counts heads. Pages: Q and O are [sequences, heads, K], K and
// V [pages, keys, heads, K].
struct Inputs {
  const Buffer &q, &k, &v, &o;
  bool is_paged;

  bool has_heads() const { return q.shape.size() == 3; }
  std::uint64_t heads() const { return !has_heads() ? 1 : q.shape[is_paged ? 1 : 0]; }
  // Of K and V: each serves as many heads of Q that follow one another.
  std::uint64_t shared_heads() const { return is_paged ? k.shape[2] : has_heads() ? k.shape[0] : 1; }
  std::uint64_t shared(std::uint64_t head) const { return head / (heads() / shared_heads()); }
};
Inputs inputs(const Contract& c, const Expectation& e) {
  return {c.at(e.a), c.at(e.b), c.at(e.c), c.at(e.output), !e.pages.empty()};
}

std::uint64_t rows_of(const Buffer& b) { return b.shape[b.shape.size() - 2]; }
std::uint64_t columns_of(const Buffer& b) { return b.shape.back(); }

// Rows that lie together, with `first` before them.
Buffer rows_from(const Buffer& all, std::uint64_t first, std::uint64_t rows) {
  Buffer one;
  one.name = all.name, one.dtype = all.dtype;
  one.shape = {rows, columns_of(all)};
  const auto row = std::ptrdiff_t(columns_of(all) * std::uint64_t(isa::bits(all.dtype)) / 8);
  const auto begin = all.bytes.begin() + std::ptrdiff_t(first) * row;
  one.bytes.assign(begin, begin + std::ptrdiff_t(rows) * row);
  return one;
}

std::uint64_t number(const Buffer& b, std::uint64_t index) { return load_element(b.bytes, b.dtype, index); }

void check_numbers(const Buffer& b, const std::vector<std::uint64_t>& shape, std::string_view what) {
  if (b.dtype != ScalarType::u32 || b.shape != shape)
    refuse("buffer {}: {} are u32, [{}]; it is [{}] of {}", b.name, what, fmt::join(shape, ", "),
           fmt::join(b.shape, ", "), isa::spelling(b.dtype));
}

void check_types(const Inputs& x) {
  const auto [q, k, v, o, is_paged] = x;
  if (!is_half(q.dtype) || q.dtype != k.dtype || !is_half(v.dtype))
    refuse("attention is of f16 or bf16, the same in {} and {}; got {}, {} and {}", q.name, k.name,
           isa::spelling(q.dtype), isa::spelling(k.dtype), isa::spelling(v.dtype));
  if (!isa::is_floating(o.dtype)) refuse("buffer {}: attention gives floats, not {}", o.name, isa::spelling(o.dtype));
  if (columns_of(q) != columns_of(k))
    refuse("{} has rows of {}, {} has rows of {}", q.name, columns_of(q), k.name, columns_of(k));
}

void check_heads(const Inputs& x) {
  const auto [q, k, v, o, is_paged] = x;
  const std::uint64_t of_v = is_paged ? v.shape[2] : v.shape[0];
  if (x.shared_heads() != of_v || x.shared_heads() == 0 || x.heads() % x.shared_heads() != 0)
    refuse("{} has {} heads, {} has {} and {} {}; as many heads of {} must share each of {} and {}", q.name, x.heads(),
           k.name, x.shared_heads(), v.name, of_v, q.name, k.name, v.name);
}

void check_pages(const Contract& contract, const Expectation& e, const Inputs& x) {
  const auto [q, k, v, o, is_paged] = x;
  if (q.shape.size() != 3 || o.shape.size() != 3 || k.shape.size() != 4 || v.shape.size() != 4)
    refuse("attention of pages has {} and {} of three extents, {} and {} of four", q.name, o.name, k.name, v.name);
  check_types(x);
  if (k.shape[0] != v.shape[0] || k.shape[1] != v.shape[1] || k.elements() == 0)
    refuse("{} and {} must have as many pages of as many keys, one at least", k.name, v.name);
  check_heads(x);
  if (o.shape[0] != q.shape[0] || o.shape[1] != q.shape[1] || columns_of(o) != columns_of(v))
    refuse("{} must be {} x {} x {}", o.name, q.shape[0], q.shape[1], columns_of(v));
  const Buffer& pages = contract.at(e.pages);
  check_numbers(pages, {q.shape[0], pages.shape.back()}, "pages of sequences");
  check_numbers(contract.at(e.lengths), {q.shape[0]}, "lengths");
  if (e.causal || e.window != 0 || !e.row_offsets.empty())
    refuse("attention of pages has one row a sequence, which sees all keys: no causal, window or offsets");
}

// Results other than O: of whole heads, from buffers of the extents that these have.
void check_result(const Contract& contract, const Expectation& e, const Inputs& x) {
  using enum launch::AttentionResult;
  if (x.is_paged || !e.row_offsets.empty() || e.window != 0)
    refuse("{} is a result of whole heads: no pages, offsets or window", spelling(e.result));
  using Shape = std::vector<std::uint64_t>;
  const auto of_rows = [&](const Shape& last) {
    Shape shape = x.q.shape;
    shape.pop_back();
    shape.insert(shape.end(), last.begin(), last.end());
    return shape;
  };
  const auto check = [](const Buffer& b, ScalarType type, const Shape& shape) {
    if (b.dtype != type || b.shape != shape)
      refuse("buffer {}: must be [{}] of {}; it is [{}] of {}", b.name, fmt::join(shape, ", "), isa::spelling(type),
             fmt::join(b.shape, ", "), isa::spelling(b.dtype));
  };
  const Shape of_o = of_rows({columns_of(x.v)}), of_sums = of_rows({});
  const auto check_terms = [&](const Buffer& b) {
    Shape shape = of_rows({2});
    const std::size_t rows = shape.size() - 2;
    if (b.shape.size() == shape.size()) shape[rows] = std::max(shape[rows], b.shape[rows]);
    check(b, ScalarType::f32, shape);
  };
  const bool is_forward = e.result == log_sums, is_second = e.result == dk || e.result == dv;
  const auto given = [&](std::string_view what, const std::string& name, bool is_wanted) {
    if (name.empty() == is_wanted)
      refuse("{} {} {}", spelling(e.result), is_wanted ? "needs" : "is computed without", what);
    return is_wanted;
  };
  if (given("do", e.d_o, !is_forward)) check(contract.at(e.d_o), x.v.dtype, of_o);
  if (given("o", e.o, !is_forward && !is_second)) check(contract.at(e.o), x.v.dtype, of_o);
  if (given("log_sums", e.log_sums, !is_forward && !is_second))
    check(contract.at(e.log_sums), ScalarType::f32, of_sums);
  if (given("row_terms", e.row_terms, is_second)) check_terms(contract.at(e.row_terms));
  switch (e.result) {
    case o: break;
    case log_sums: return check(x.o, ScalarType::f32, of_sums);
    case row_terms: return check_terms(x.o);
    case dq: return check(x.o, x.o.dtype, x.q.shape);
    case dk: return check(x.o, x.o.dtype, x.k.shape);
    case dv: return check(x.o, x.o.dtype, x.v.shape);
  }
}

}  // namespace

std::string_view spelling(launch::AttentionResult r) {
  using enum launch::AttentionResult;
  switch (r) {
    case o: return "o";
    case log_sums: return "log_sums";
    case row_terms: return "row_terms";
    case dq: return "dq";
    case dk: return "dk";
    case dv: return "dv";
  }
  return "";
}

void check_attention(const Contract& contract, const Expectation& e) {
  if (e.pages.empty() != e.lengths.empty()) refuse("pages and lengths are given together");
  if (e.row_offsets.empty() != e.key_offsets.empty()) refuse("row_offsets and key_offsets are given together");
  if (e.window != 0 && !e.causal) refuse("a window is one of causal attention");
  const Inputs x = inputs(contract, e);
  const auto [q, k, v, o, is_paged] = x;
  if (is_paged) return check_pages(contract, e, x);
  if (q.shape.size() != 2 && q.shape.size() != 3)
    refuse("buffer {}: attention is of matrices, or of heads of them; it has {} extents", q.name, q.shape.size());
  const bool is_o = e.result == launch::AttentionResult::o;
  for (const Buffer* b : {&k, &v, is_o ? &o : &v})
    if (b->shape.size() != q.shape.size())
      refuse("{} has {} extents, {} has {}", q.name, q.shape.size(), b->name, b->shape.size());
  check_types(x);
  if (rows_of(k) != rows_of(v) || rows_of(k) == 0)
    refuse("{} has {} keys, {} has {}; there must be as many, and one at least", k.name, rows_of(k), v.name,
           rows_of(v));
  if (x.has_heads()) check_heads(x);
  if (e.causal && e.row_offsets.empty() && rows_of(q) > rows_of(k))
    refuse("causal attention has no more rows than keys; {} has {}, {} has {}", q.name, rows_of(q), k.name, rows_of(k));
  if (!is_o) return check_result(contract, e, x);
  if (!e.o.empty() || !e.d_o.empty() || !e.log_sums.empty() || !e.row_terms.empty())
    refuse("o is computed without o, do, log_sums and row_terms");
  if (rows_of(o) != rows_of(q) || columns_of(o) != columns_of(v) || (x.has_heads() && o.shape[0] != q.shape[0]))
    refuse("{} must be {}{} x {}; it is {}{} x {}", o.name, x.has_heads() ? fmt::format("{} x ", q.shape[0]) : "",
           rows_of(q), columns_of(v), x.has_heads() ? fmt::format("{} x ", o.shape[0]) : "", rows_of(o), columns_of(o));
  if (e.row_offsets.empty()) return;
  const std::uint64_t count = contract.at(e.row_offsets).elements();
  if (count < 2) refuse("buffer {}: there is one offset more than sequences", e.row_offsets);
  check_numbers(contract.at(e.row_offsets), {count}, "offsets");
  check_numbers(contract.at(e.key_offsets), {count}, "offsets");
}

namespace {

// Rows and keys of a sequence.
struct Sequence {
  std::uint64_t first_row = 0, rows = 0, first_key = 0, keys = 0;
};

// From one offset to the next.
std::pair<std::uint64_t, std::uint64_t> piece(const Buffer& offsets, std::uint64_t i, std::uint64_t all) {
  const std::uint64_t begin = number(offsets, i), end = number(offsets, i + 1), last = offsets.shape[0] - 1;
  if (end < begin || (i == 0 && begin != 0) || (i + 1 == last && end != all))
    refuse("buffer {}: offsets go from 0 to {} and never down; those of sequence {} are {} and {}", offsets.name, all,
           i, begin, end);
  return {begin, end - begin};
}

std::vector<Sequence> sequences(const Contract& contract, const Expectation& e, const Inputs& x) {
  if (e.row_offsets.empty()) return {{0, rows_of(x.q), 0, rows_of(x.k)}};
  const Buffer &rows = contract.at(e.row_offsets), &keys = contract.at(e.key_offsets);
  std::vector<Sequence> out;
  for (std::uint64_t i = 0; i + 1 < rows.shape[0]; ++i) {
    const auto [first_row, m] = piece(rows, i, rows_of(x.q));
    const auto [first_key, n] = piece(keys, i, rows_of(x.k));
    if (m > 0 && (n == 0 || (e.causal && m > n)))
      refuse("sequence {} has {} rows and {} keys: each row must see one", i, m, n);
    out.push_back({first_row, m, first_key, n});
  }
  return out;
}

// The keys of a sequence, out of its pages.
Buffer keys_of_pages(const Buffer& all, const Buffer& pages, std::uint64_t sequence, std::uint64_t head,
                     std::uint64_t keys) {
  const std::uint64_t page = all.shape[1], heads = all.shape[2];
  Buffer out;
  out.name = all.name, out.dtype = all.dtype, out.shape = {keys, columns_of(all)};
  for (std::uint64_t i = 0; i < keys; ++i) {
    const std::uint64_t place = number(pages, sequence * pages.shape[1] + i / page);
    if (place >= all.shape[0])
      refuse("buffer {}: sequence {} has page {}; {} has {}", pages.name, sequence, place, all.name, all.shape[0]);
    const Buffer row = rows_from(all, (place * page + i % page) * heads + head, 1);
    out.bytes.insert(out.bytes.end(), row.bytes.begin(), row.bytes.end());
  }
  return out;
}

std::uint64_t length(const Contract& contract, const Expectation& e, std::uint64_t sequence) {
  const std::uint64_t keys = number(contract.at(e.lengths), sequence);
  const std::uint64_t most = contract.at(e.pages).shape[1] * contract.at(e.b).shape[1];
  if (keys == 0 || keys > most)
    refuse("buffer {}: sequence {} has {} keys; must be in [1, {}]", e.lengths, sequence, keys, most);
  return keys;
}

}  // namespace

void each_attention_part(const Contract& contract, const Expectation& e,
                         const std::function<void(const AttentionPart&)>& take) {
  check_attention(contract, e);
  const Inputs x = inputs(contract, e);
  if (x.is_paged) {
    const Buffer& pages = contract.at(e.pages);
    for (std::uint64_t s = 0; s < x.q.shape[0]; ++s)
      for (std::uint64_t h = 0; h < x.heads(); ++h) {
        const std::uint64_t keys = length(contract, e, s);
        take({rows_from(x.q, s * x.heads() + h, 1), keys_of_pages(x.k, pages, s, x.shared(h), keys),
              keys_of_pages(x.v, pages, s, x.shared(h), keys)});
      }
    return;
  }
  const std::vector<Sequence> all = sequences(contract, e, x);
  for (std::uint64_t h = 0; h < x.heads(); ++h)
    for (const Sequence& s : all) {
      const std::uint64_t first_key = x.shared(h) * rows_of(x.k) + s.first_key;
      take({rows_from(x.q, h * rows_of(x.q) + s.first_row, s.rows), rows_from(x.k, first_key, s.keys),
            rows_from(x.v, first_key, s.keys)});
    }
}

AttentionWork attention_work(const Contract& contract, const Expectation& e) {
  check_attention(contract, e);
  const Inputs x = inputs(contract, e);
  const double of_k = double(columns_of(x.q)), of_v = double(columns_of(x.v));
  const double bytes = (of_k * double(isa::bits(x.k.dtype)) + of_v * double(isa::bits(x.v.dtype))) / 8;
  const auto depth = [&] {
    using enum launch::AttentionResult;
    switch (e.result) {
      case o: return of_k + of_v;
      case dq: return 2 * of_k + of_v;
      case dk:
      case dv: return of_k + of_v;  // of the scores, the products with dO, and both sums
      case log_sums:
      case row_terms: break;
    }
    return 0.0;
  }();
  AttentionWork work;
  const auto add = [&](std::uint64_t rows, std::uint64_t keys) {
    const std::uint64_t seen = e.window == 0 ? keys : std::min(e.window, keys);
    work.flops += double(x.heads()) * 2 * double(rows) * double(seen) * depth;
    work.bytes += double(x.shared_heads()) * double(keys) * bytes;
  };
  if (x.is_paged)
    for (std::uint64_t s = 0; s < x.q.shape[0]; ++s) add(1, length(contract, e, s));
  else
    for (const Sequence& s : sequences(contract, e, x)) add(s.rows, s.keys);
  return work;
}

}  // namespace kiln::harness
