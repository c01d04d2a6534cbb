// A multiplication as a test sees it: small random numbers that every order of summation adds exactly, laid out by the
// formulas of the PTX ISA written down once more, and multiplied by a plain loop.
#pragma once

#include <array>
#include <random>

#include "ptx/isa/tcgen05.hpp"
#include "ptx/isa/tmem.hpp"
#include "ptx/num/format.hpp"
#include "tests/unit/sim/mma_machine.hpp"

namespace kiln::test {

/// What to multiply. Columns of the picture: D from 0, A from 64, metadata from 80, SFA from 96, SFB from 104.
struct MmaProblem {
  isa::MmaKind kind = isa::MmaKind::f16;
  isa::ScalarType a_type = isa::ScalarType::bf16, b_type = isa::ScalarType::bf16, d_type = isa::ScalarType::f32;
  int m = 128, n = 32, ctas = 1;
  bool ordered = false;  // no metadata that names the later element first
  bool sparse = false, ws = false, a_in_tmem = false, k96 = false;
  int scales = 0;                 // a row
  std::string scale_vector = "";  // as written
  isa::ScalarType scale_type = isa::ScalarType::none;
  int sfa_id = 0, sfb_id = 0, selector = 0, shift = 0, max_shift = 0, lane = 0;
  bool accumulate = false;
  std::string extra = "";  // after enable-input-d
  std::string modifiers = "";

  static constexpr int a_column = 64, metadata_column = 80, sfa_column = 96, sfb_column = 104;

  int k() const { return isa::mma_k(kind, sparse, k96); }
  int stored_k() const { return sparse ? k() / 2 : k(); }
  int container() const { return isa::container_bits(kind); }
  int chunk() const { return kind == isa::MmaKind::tf32 ? 2 : container() == 4 ? 8 : 4; }
  bool scaled() const { return scales != 0; }

  // The numbers: A by stored element, B by logical one, and where each stored element stands.
  std::vector<u32> a{}, b{};
  std::vector<int> place{};  // [row * stored_k + slot]: logical k
  std::vector<u32> nibbles{};
  std::vector<u8> sfa{}, sfb{};

  void draw(unsigned seed);
  MmaMachine machine() const;
  std::string instruction() const;
  u32 idesc() const;
  double value(int row, int column) const;
  isa::DataPath path() const {
    return isa::data_path(m, ctas == 2 ? isa::CtaGroup::two : isa::CtaGroup::one, sparse, ws);
  }

 private:
  void put(std::vector<u8>& image, u32 base, int row, int k, isa::ScalarType type, u32 word) const;
  void put_a(std::vector<TensorPicture>&) const;
  void put_metadata(std::vector<TensorPicture>&) const;
  void put_scales(std::vector<TensorPicture>&) const;
  int lane_of(int row) const;
};

inline u32 operand_word(isa::ScalarType type, double v) {
  if (type == isa::ScalarType::u8 || type == isa::ScalarType::s8) return u32(int(v)) & 0xFF;
  if (type == isa::ScalarType::tf32) return std::bit_cast<u32>(float(v));
  // Scales of a power of two are exact here, and know no rounding to nearest.
  const auto rounding = type == isa::ScalarType::ue8m0 ? num::Rounding::rz : num::Rounding::rn;
  return u32(num::encode(type, v, rounding));
}

inline double number_of(isa::ScalarType type, u32 word) {
  if (type == isa::ScalarType::u8) return double(word);
  if (type == isa::ScalarType::s8) return double(std::int8_t(word));
  return num::to_double(type, word);
}

inline void MmaProblem::draw(unsigned seed) {
  std::mt19937 random(seed);
  const auto number = [&](isa::ScalarType type) {
    const double v = std::array{-2.0, -1.0, 0.0, 1.0, 2.0}[random() % 5];
    return operand_word(type, type == isa::ScalarType::u8 && v < 0 ? -v + 1 : v);
  };
  a.resize(std::size_t(m * stored_k()));
  b.resize(std::size_t((n + 32) * k()));  // some more for a shift
  for (u32& w : a) w = number(a_type);
  for (u32& w : b) w = number(b_type);
  place.resize(a.size());
  nibbles.clear();
  const int kept = chunk() / 2;
  for (int row = 0; row < m; ++row)
    for (int c = 0; sparse && c < k() / chunk(); ++c) {
      // The seven that mean something; tf32 has two.
      const u32 nibble = kind == isa::MmaKind::tf32
                             ? std::array{4u, 14u}[random() % 2]
                             : std::array{4u, 8u, 12u, 9u, 13u, 14u, 6u}[random() % (ordered ? 6 : 7)];
      nibbles.push_back(nibble);
      for (int j = 0; j < kept; ++j) {
        const int which = int(j < (kept + 1) / 2 ? nibble & 3 : nibble >> 2);
        int& at = place[std::size_t(row * stored_k() + c * kept + j)];
        if (kind == isa::MmaKind::tf32)
          at = 2 * c + (nibble == 14);
        else
          at = c * chunk() + (kept == 4 ? 2 * which + j % 2 : which);
      }
    }
  for (std::size_t i = 0; !sparse && i < place.size(); ++i) place[i] = int(i) % stored_k();
  sfa.resize(std::size_t(m * scales));
  sfb.resize(std::size_t(n * scales));
  const auto scale = [&] {
    return u8(operand_word(scale_type,
                           std::array{0.5, 1.0, 2.0, scale_type == isa::ScalarType::ue4m3 ? 1.5 : 4.0}[random() % 4]));
  };
  for (u8& s : sfa) s = scale();
  for (u8& s : sfb) s = scale();
}

// Operands lie K-major in rows of 128 bytes with the 128-byte swizzle.
inline void MmaProblem::put(std::vector<u8>& image, u32 base, int row, int k_at, isa::ScalarType type, u32 word) const {
  const int bits = isa::bits(type);
  u32 byte = u32(k_at * container() / 8), bit = u32(k_at * container() % 8);
  if (bits < 8 && container() == 8) {  // sixteen packed at the front of sixteen bytes
    byte = u32(k_at / 16 * 16 + k_at % 16 * bits / 8), bit = u32(k_at % 16 * bits % 8);
  }
  for (int i = 0; i < std::max(bits, type == isa::ScalarType::tf32 ? 32 : 0); ++i) {
    const u32 at = u32(row) * 128 + byte + (bit + u32(i)) / 8, to = base + (at ^ (at >> 7 & 7) << 4);
    image[to] = u8(image[to] | (word >> i & 1) << (bit + u32(i)) % 8);
  }
}

inline int MmaProblem::lane_of(int row) const {
  const int rows = m / ctas, r = row % rows;
  const bool spread = !ws && rows == 64 && !(ctas == 2 && !sparse);
  return lane + (spread ? 32 * (r / 16) + r % 16 : r);
}

// How often rows of A (and metadata) stand in the lanes: each fold of N has its own.
inline int folds(isa::DataPath p) {
  return p == isa::DataPath::B || p == isa::DataPath::E ? 2 : p == isa::DataPath::G ? 4 : 1;
}

inline void MmaProblem::put_a(std::vector<TensorPicture>& p) const {
  const int rows = m / ctas, copies = folds(path());
  for (int row = 0; row < m; ++row)
    for (int slot = 0; slot < stored_k(); ++slot) {
      const u32 w = a[std::size_t(row * stored_k() + slot)];
      TensorPicture& cta = p[std::size_t(row / rows)];
      if (!a_in_tmem) {
        put(cta.shared, 0, row % rows, slot, a_type, w);
        continue;
      }
      const int bit = slot * container();
      const u32 stored = isa::bits(a_type) == 4 && container() == 8 ? w << 2 : w;
      for (int f = 0; f < copies; ++f)
        cta.cell(lane_of(row) + 128 / copies * f, a_column + bit / 32) |= stored << bit % 32;
    }
}

inline void MmaProblem::put_metadata(std::vector<TensorPicture>& p) const {
  const int rows = m / ctas, chunks = k() / chunk(), copies = folds(path());
  for (int row = 0; row < m; ++row)
    for (int c = 0; c < chunks; ++c) {
      const int r = row % rows, at = c * chunk();
      int where = r, column = metadata_column, bit = 0;
      if (kind == isa::MmaKind::f16) {
        where = 16 * (r / 16) + 8 * (at / 16) + r % 8, bit = 16 * (r / 8 % 2) + at % 16, column += selector;
      } else if (kind == isa::MmaKind::tf32) {
        where = 16 * (r / 16) + 8 * (at / 8) + r % 8, bit = 2 * (8 * (r / 8 % 2) + at % 8), column += selector;
      } else {
        bit = container() == 4 ? at / 2 : at;
        column += bit / 32, bit %= 32;
      }
      for (int f = 0; f < copies; ++f)
        p[std::size_t(row / rows)].cell(lane_of(where) + 128 / copies * f, column) |=
            nibbles[std::size_t(row * chunks + c)] << bit;
    }
}

inline void MmaProblem::put_scales(std::vector<TensorPicture>& p) const {
  const auto put_one = [&](TensorPicture& cta, int first_lane, int quarters, int base, int row, int group, int byte,
                           u8 v) {
    for (int q = 0; q < quarters; ++q)
      cta.cell(first_lane + row % 32 + 32 * q, base + row / 32 + byte / 4 * group) |= u32(v) << byte % 4 * 8;
  };
  const int rows = m / ctas;
  for (int row = 0; row < m; ++row)
    for (int s = 0; s < scales; ++s)
      put_one(p[std::size_t(row / rows)], 0, 4, sfa_column, row % rows, rows / 32, sfa_id + s,
              sfa[std::size_t(row * scales + s)]);
  const bool halves = ctas == 2 && m == 128;
  for (TensorPicture& cta : p)
    for (int column = 0; column < n; ++column)
      for (int s = 0; s < scales; ++s) {
        const int h = halves ? column / (n / 2) : 0, r = halves ? column % (n / 2) : column;
        put_one(cta, 64 * h, halves ? 2 : 4, sfb_column, r, 4, sfb_id + s, sfb[std::size_t(column * scales + s)]);
      }
}

inline MmaMachine MmaProblem::machine() const {
  MmaMachine out;
  out.ctas = ctas;
  if (k96) out.target = "sm_103a";
  out.before.assign(std::size_t(ctas), {});
  put_a(out.before);
  for (int column = 0; column < n + shift; ++column)
    for (int at = 0; at < k(); ++at)
      put(out.before[std::size_t(column / (n / ctas) % ctas)].shared, 16384, column % (shift ? 1024 : n / ctas), at,
          b_type, b[std::size_t(column * k() + at)]);
  if (sparse) put_metadata(out.before);
  if (scaled()) put_scales(out.before);
  return out;
}

inline u32 MmaProblem::idesc() const {
  isa::InstructionDescriptorFields f;
  f.selector = u8(selector);
  f.sparse = sparse;
  f.a_type = *isa::operand_type_code(kind, a_type);
  f.b_type = *isa::operand_type_code(kind, b_type);
  f.m = m, f.n = n;
  if (scaled()) {
    f.scale_format = scale_type == isa::ScalarType::ue8m0;
    f.sfa_id = u8(sfa_id), f.sfb_id = u8(sfb_id);
    f.k96 = k96;
  } else {
    f.d_type = *isa::d_type_code(d_type);
    f.max_shift = u8(max_shift);
  }
  return isa::pack(f, kind);
}

inline std::string MmaProblem::instruction() const {
  const std::string at_lane = std::to_string(lane << 16);
  std::string text = "add.u64 %rd10, %rd2, 0x4000404000010000; add.u64 %rd11, %rd10, 1024;\n";
  const auto address = [&](int reg, int column, bool scale = false) {
    text += "add.u32 %r" + std::to_string(reg) + ", %r2, " + std::to_string(column + (scale ? 0 : lane << 16)) + ";\n";
  };
  address(20, 0), address(21, a_column), address(22, metadata_column), address(23, sfa_column, true);
  text += "tcgen05.mma" + std::string(ws ? ".ws" : "") + (sparse ? ".sp" : "") + ".cta_group::" + std::to_string(ctas) +
          "." + std::string(isa::spelling(kind)) + (scaled() ? ".block_scale" : "") + scale_vector + modifiers +
          " [%r20], " + (a_in_tmem ? "[%r21]" : "%rd10") + ", %rd11, " + (sparse ? "[%r22], " : "") +
          std::to_string(idesc()) + ", " +
          // The address of B's scales is A's plus an offset.
          (scaled() ? "[%r23], [%r23+" + std::to_string(sfb_column - sfa_column) + "], " : "") +
          (accumulate ? "1" : "0") + extra + ";";
  return text;
}

inline double MmaProblem::value(int row, int column) const {
  double sum = 0;
  for (int slot = 0; slot < stored_k(); ++slot) {
    const int at = place[std::size_t(row * stored_k() + slot)];
    double product = number_of(a_type, a[std::size_t(row * stored_k() + slot)]) *
                     number_of(b_type, b[std::size_t((column + shift) * k() + at)]);
    if (scaled()) {
      const int block = at / (k() / scales);
      product *= number_of(scale_type, sfa[std::size_t(row * scales + block)]) *
                 number_of(scale_type, sfb[std::size_t(column * scales + block)]);
    }
    sum += product;
  }
  return sum;
}

/// D of a problem out of the pictures.
inline u32 d_word(const MmaProblem& p, const MmaMachine& machine, int row, int column) {
  const isa::AccumulatorCell at = isa::accumulator_cell(p.path(), row, column, p.n, p.lane);
  return machine.after[std::size_t(at.cta)].cell(at.lane, at.column);
}

/// The word that an element of D has: sums are exact, so any order of addition gives it.
inline u32 wanted_word(const MmaProblem& p, int row, int column) {
  const double v = p.value(row, column);
  if (p.d_type == isa::ScalarType::s32) return u32(std::int32_t(v));
  if (p.d_type == isa::ScalarType::f16) return u32(num::encode(isa::ScalarType::f16, v));
  return v == 0 ? 0 : std::bit_cast<u32>(float(v));
}

/// Runs the instruction of a problem that was drawn, and compares every element of D.
inline void check_product(const MmaProblem& p, MmaMachine machine, unsigned seed) {
  const Run r = machine.run(p.instruction(), seed);
  CAPTURE(p.instruction());
  REQUIRE_MESSAGE(r.clean(), r.findings());
  int wrong = 0;
  for (int row = 0; row < p.m; ++row)
    for (int column = 0; column < p.n; ++column)
      wrong += d_word(p, machine, row, column) != wanted_word(p, row, column);
  CHECK_MESSAGE(wrong == 0, wrong << " of " << p.m * p.n);
}

/// A kind and types that it has.
struct MmaTypes {
  isa::MmaKind kind;
  isa::ScalarType a, b, d;
};

inline MmaProblem problem_of(const MmaTypes& t) {
  MmaProblem p;
  p.kind = t.kind;
  p.a_type = t.a, p.b_type = t.b, p.d_type = t.d;
  return p;
}

/// Elements of the first rows of an f32 D that are not the problem's.
inline int wrong_elements(const MmaProblem& p, const MmaMachine& machine, int rows) {
  int wrong = 0;
  for (int row = 0; row < rows; ++row)
    for (int n = 0; n < p.n; ++n) wrong += std::bit_cast<float>(d_word(p, machine, row, n)) != float(p.value(row, n));
  return wrong;
}

}  // namespace kiln::test
