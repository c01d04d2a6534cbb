#include "sim/async/tma.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "ptx/num/format.hpp"
#include "ptx/rules/tma.hpp"
#include "sim/core/atomics.hpp"
#include "sim/core/memory_access.hpp"

namespace kiln::sim {
namespace {

constexpr std::uint32_t chunk = 16;  // a swizzle moves 16-byte pieces whole
constexpr std::string_view by_tensor_copy = "what a tensor copy writes to global memory";

// A row of the box: its first byte inside the tensor, in the row and in global memory, and how many there are.
struct Row {
  std::uint32_t first = 0;
  std::uint32_t bytes = 0;
  std::uint64_t address = 0;
};

using Coordinates = std::array<std::int64_t, isa::tma_max_rank>;

// The pixel that is `index` steps from the box's first. Steps go along dimension 1 first, return to the lower corner at
// the upper one, and go on to the next image of the batch. The filter tap is added after that. Measured on an H200. A
// walk along rows has corners in dimension 1 alone. PTX ISA "im2col::w and im2col::w::128 modes".
Coordinates pixel(const Box& box, std::uint32_t index) {
  const TensorMapImage& m = box.map;
  const std::size_t batch = m.rank - 1u, end = box.walks_rows() ? 2 : batch;
  Coordinates x{};
  std::copy(box.at.begin(), box.at.end(), x.begin());
  for (; index > 0; --index) {
    std::size_t d = 1;
    for (; d < end; ++d) {
      x[d] += std::max<int>(1, m.element_strides[d]);
      if (x[d] <= std::int64_t(m.dims[d]) - 1 + m.upper[d - 1]) break;
      x[d] = m.lower[d - 1];
    }
    if (d == end) ++x[batch];
  }
  if (box.walks_rows())
    x[1] += box.offsets[1];
  else
    for (std::size_t d = 1; d < batch; ++d) x[d] += box.offsets[d - 1];
  return x;
}

// Where a row of the box begins, dimension 0 as the copy says it.
Coordinates start_of(const Box& box, std::uint32_t index) {
  if (box.map.pixels) return pixel(box, index);
  Coordinates x{};
  x[0] = box.at[0];
  for (int d = 1; d < box.map.rank; ++d) {
    const std::uint32_t extent = box.extent(d);
    const auto k = std::size_t(d);
    x[k] = box.picks_rows() ? box.at[1 + index] : box.at[k] + std::int64_t(index % extent) * box.map.element_strides[k];
    index /= extent;
  }
  return x;
}

Row row_at(const Box& box, const Coordinates& start) {
  const TensorMapImage& m = box.map;
  Row row;
  std::uint64_t address = m.address;
  for (int d = 1; d < m.rank; ++d) {
    const std::int64_t x = start[std::size_t(d)];
    if (x < 0 || x >= std::int64_t(m.dims[std::size_t(d)])) return row;
    address += std::uint64_t(x) * m.strides[std::size_t(d - 1)];
  }
  const std::int64_t low = std::max<std::int64_t>(0, -box.at[0]);
  const std::int64_t high = std::min<std::int64_t>(m.box[0], std::int64_t(m.dims[0]) - box.at[0]);
  if (high <= low) return row;
  const int bits = box.element_bits();
  row.first = std::uint32_t(low * bits / 8);
  row.bytes = std::uint32_t((high - low) * bits / 8);
  row.address = address + std::uint64_t((box.at[0] + low) * bits / 8);
  return row;
}

// Calls f(index, Row) for every row of the box. Rows that follow each other along dimension 1 differ in that alone.
template <class F>
void for_rows(const Box& box, F f) {
  const TensorMapImage& m = box.map;
  const bool runs = !m.pixels && !box.picks_rows() && m.rank > 1;
  const std::uint32_t rows = box.rows(), run = runs ? box.extent(1) : 1;
  for (std::uint32_t first = 0; first < rows; first += run) {
    Coordinates start = start_of(box, first);
    if (!runs) {
      f(first, row_at(box, start));
      continue;
    }
    std::int64_t x = std::exchange(start[1], 0);
    const Row line = row_at(box, start);
    for (std::uint32_t k = 0; k < run; ++k, x += m.element_strides[1]) {
      Row row;
      if (line.bytes && x >= 0 && x < std::int64_t(m.dims[1]))
        row = line, row.address += std::uint64_t(x) * m.strides[0];
      f(first + k, row);
    }
  }
}

// What fills a row outside the tensor.
void fill(const Box& box, std::uint8_t* row) {
  const auto type = isa::ScalarType(box.map.dtype);
  if (launch::OutOfBounds(box.map.oob) == launch::OutOfBounds::zero || !isa::is_floating(type)) {
    std::memset(row, 0, box.row_bytes());
    return;
  }
  for (std::size_t at = 0; at + 2 <= box.row_bytes(); at += 2) std::memcpy(row + at, &isa::oob_nan, 2);
}

// Elements of a .tf32 map are rounded on their way in, not out. Measured on an H200.
void round_loaded(std::uint8_t* data, std::uint32_t bytes) {
  for (std::uint32_t at = 0; at + 4 <= bytes; at += 4) {
    std::uint32_t word;
    std::memcpy(&word, data + at, 4);
    word = num::f32_to_tf32(word, num::Rounding::rn, false);
    std::memcpy(data + at, &word, 4);
  }
}

// Where the rows of a box lie in shared memory; worked out once for all of them.
struct SharedRows {
  std::uint32_t address, pitch, bytes, step;
  isa::Swizzle swizzle;

  SharedRows(const Box& box, std::uint32_t shared_address)
      : address(shared_address),
        pitch(box.row_pitch()),
        bytes(box.row_bytes()),
        step(box.map.padded ? chunk * std::uint32_t(box.element_bits()) / 8 : chunk),
        swizzle(box.swizzle()) {}

  // Calls f(shared offset, offset in row, bytes) for each piece of a row. Padded elements leave the end of each 16
  // bytes alone.
  template <class F>
  void for_chunks(std::uint32_t row, F f) const {
    const std::uint32_t base = address + row * pitch;
    if (step == chunk && swizzle == isa::Swizzle::b128) return for_chunks_of<isa::Swizzle::b128>(base, f);
    for (std::uint32_t at = 0, to = base; at < bytes; at += step, to += chunk)
      f(isa::swizzled(swizzle, to), at, std::min(step, bytes - at));
  }

 private:
  // With a swizzle that the compiler sees.
  template <isa::Swizzle known, class F>
  void for_chunks_of(std::uint32_t base, F f) const {
    for (std::uint32_t at = 0; at < bytes; at += chunk)
      f(isa::swizzled(known, base + at), at, std::min(chunk, bytes - at));
  }
};

}  // namespace

std::uint32_t Box::extent(int dimension) const {
  const auto d = std::size_t(dimension);
  if (dimension == 0) return map.box[0];
  const std::uint32_t step = std::max<std::uint32_t>(1, map.element_strides[d]);
  return (map.box[d] + step - 1) / step;
}

std::uint32_t Box::rows() const {
  if (picks_rows()) return 4;
  if (map.pixels) return map.pixels + halo();
  std::uint32_t n = 1;
  for (int d = 1; d < map.rank; ++d) n *= extent(d);
  return n;
}

std::uint32_t Box::row_pitch() const {
  const auto span = std::uint32_t(isa::span_bytes(swizzle()));
  return swizzle() != isa::Swizzle::none && shared_row_bytes() < span ? span : shared_row_bytes();
}

std::optional<isa::Im2colWalk> Box::walk() const {
  using isa::TensorMode;
  switch (mode) {
    case TensorMode::im2col:
    case TensorMode::im2col_no_offs: return isa::Im2colWalk::window;
    case TensorMode::im2col_w: return isa::Im2colWalk::row;
    case TensorMode::im2col_w_128: return isa::Im2colWalk::row_128;
    default: return std::nullopt;
  }
}

// The manual draws the halo of im2col::w where its row goes on, and says nothing of a row that ends before it; where
// the halos of im2col::w::128 lie is only in its picture.
void check_halo(const Box& box) {
  const TensorMapImage& m = box.map;
  if (!box.halo()) return;
  if (*box.walk() == isa::Im2colWalk::row_128) unmodelled("the halo of im2col::w::128");
  if (pixel(box, m.pixels - 1u)[m.rank - 1u] != pixel(box, box.rows() - 1)[m.rank - 1u])
    unmodelled("a halo of im2col::w after the end of its row");
}

void check_coordinates(const Box& box) {
  const auto walk = box.walk();
  if (walk.has_value() != (box.map.pixels != 0) || (walk && *walk != isa::Im2colWalk(box.map.walk)))
    fault(rules::Rule::tma_map, "a map of another mode: tiled, im2col, im2col::w or im2col::w::128");
  check_halo(box);
  if (box.map.edited) require(judge(box.map));
  require(rules::tma_coordinate(box.at[0], box.element_bits()));
}

void check_box(const Box& box, std::uint32_t shared_address) {
  check_coordinates(box);
  require(rules::tma_alignment(shared_address));
}

void check_store(const Box& box) {
  const int coordinates = box.picks_rows() ? isa::tma_max_rank : box.map.rank;
  for (int d = 0; d < coordinates; ++d) require(rules::tma_store_coordinate(box.at[std::size_t(d)]));
}

std::vector<std::pair<std::uint64_t, std::uint32_t>> global_rows(const Box& box) {
  std::vector<std::pair<std::uint64_t, std::uint32_t>> out;
  for_rows(box, [&](std::uint32_t, const Row& row) {
    if (row.bytes) out.emplace_back(row.address, row.bytes);
  });
  return out;
}

void load_box(Grid& grid, const ir::Operation* operation, const Box& box, Cta& cta, std::uint32_t shared_address) {
  const SharedRows shared(box, shared_address);
  std::vector<std::uint8_t> bytes(shared.bytes), written;
  const bool rounds = isa::ScalarType(box.map.dtype) == isa::ScalarType::tf32;
  for_rows(box, [&](std::uint32_t r, const Row& row) {
    const std::uint8_t* source = bytes.data();
    PoisonSource poison = 0;
    if (row.bytes < shared.bytes) fill(box, bytes.data());
    if (row.bytes) {
      const View from = grid.memory.at(row.address, row.bytes);
      if (!from.all_written(row.bytes)) {
        poison = poison_source(grid, operation, {from, isa::Space::global, nullptr, row.address}, row.bytes);
        written.assign(shared.bytes, 1);
        std::memcpy(written.data() + row.first, from.written, row.bytes);
      }
      if (rounds || row.bytes < shared.bytes) {
        std::memcpy(bytes.data() + row.first, from.data, row.bytes);
        if (rounds) round_loaded(bytes.data() + row.first, row.bytes);
      } else {
        source = from.data;
      }
    }
    shared.for_chunks(r, [&](std::uint32_t to, std::uint32_t at, std::uint32_t n) {
      if (n < chunk) return cta.shared.write(to, source + at, n);
      const View v = cta.shared.view(to);  // of a size that the compiler sees: most of what the copy costs
      std::memcpy(v.data, source + at, chunk);
      v.mark(chunk);
    });
    if (!poison) return;
    shared.for_chunks(r, [&](std::uint32_t to, std::uint32_t at, std::uint32_t n) {
      const View v = cta.shared.view(to);
      std::memcpy(v.written, written.data() + at, n);
      grid.poison.store(v.data, poison);
    });
  });
}

std::vector<std::uint8_t> gather_box(Grid& grid, const ir::Operation* operation, const Box& box, Cta& cta,
                                     std::uint32_t shared_address) {
  const SharedRows shared(box, shared_address);
  std::vector<std::uint8_t> bytes(box.bytes());
  for_rows(box, [&](std::uint32_t r, const Row& row) {
    std::uint8_t* const out = bytes.data() + r * shared.bytes;
    shared.for_chunks(r, [&](std::uint32_t from, std::uint32_t at, std::uint32_t n) {
      const View v = cta.shared.view(from);
      // What is not stored may be poison.
      const bool stored = at < row.first + row.bytes && at + n > row.first;
      if (const std::uint32_t read = std::min(n, row.first + row.bytes - at); stored && !v.all_written(read))
        check_written(grid, operation, {v, isa::Space::shared_cta, &cta, from}, read, by_tensor_copy);
      if (n == chunk)
        std::memcpy(out + at, v.data, chunk);
      else
        std::memcpy(out + at, v.data, n);
    });
  });
  return bytes;
}

void store_box(Grid& grid, const ir::Operation* operation, const Box& box, const std::vector<std::uint8_t>& bytes,
               isa::Combine how) {
  const std::uint32_t row_bytes = box.row_bytes();
  for_rows(box, [&](std::uint32_t r, const Row& row) {
    if (!row.bytes) return;
    const View to = grid.memory.at(row.address, row.bytes);
    const std::uint8_t* from = bytes.data() + r * row_bytes + row.first;
    if (how != isa::Combine::none)
      check_written(grid, operation, {to, isa::Space::global, nullptr, row.address}, row.bytes, by_tensor_copy);
    if (how == isa::Combine::none)
      std::memcpy(to.data, from, row.bytes);
    else
      combine_bytes(how, isa::ScalarType(box.map.dtype), to.data, from, row.bytes);
    to.mark(row.bytes);
  });
}

}  // namespace kiln::sim
