// Each block of elements that share a scale is multiplied alone, and the result is added to the sums times the product
// of the two scales, in f32. Scales are powers of two or have four bits, so that this product is exact.
#include "lower/engine/multiply.hpp"

#include <algorithm>
#include <bit>

#include "lower/engine/operand.hpp"
#include "lower/engine/queue.hpp"
#include "lower/engine/scale_cells.hpp"
#include "ptx/isa/scales.hpp"

namespace kiln::lower {
namespace {

// Scales as f32, of the rows of A or of the columns of B: a thread has two for each tile. Each lane makes f32 of those
// whose cells it holds, for all.
class ScaleCode {
 public:
  ScaleCode(const FormCode& c, const Image& image, bool is_of_a)
      : b_(c.b),
        code_(c),
        cells_(c, image, is_of_a, ScaledBy::sums),
        values_(c.b.regs(ScalarType::b32, cells_.held())),
        bytes_(c.b.regs(ScalarType::b16, 2)) {}

  const ScaleCells& cells() const { return cells_; }

  // The scale number `scale` of all that this lane holds.
  void convert(std::size_t step, int scale) const {
    const int byte = cells_.first_byte(step) + scale;
    for (int i = 0; i < cells_.held(); ++i)
      if (code_.form.scale_type == isa::ScalarType::ue8m0)
        convert_exponent(cells_.cell(i), byte, values_[std::size_t(i)]);
      else
        convert_number(cells_.cell(i), byte, values_[std::size_t(i)]);
  }

  // The scales of a tile, from register `first` of `to` on. Rows l / 4 and 8 further on are held by one of four lanes,
  // columns 2 (l % 4) and the next by one of the eight that have the same ones.
  void fetch(int tile, const Registers& to, int first, Register quad) const {
    const int set = tile / cells_.tiles_at_once(), place = tile % cells_.tiles_at_once();
    const Register lane = b_.reg(ScalarType::b32);
    if (!cells_.is_of_a()) b_.op("or.b32", lane, quad, 4 * place);
    for (int i = 0; i < 2; ++i)
      b_.op("shfl.sync.idx.b32", to[std::size_t(first + i)], values_[std::size_t(2 * set + i)],
            cells_.is_of_a() ? Term(place) : Term(lane), cells_.is_of_a() ? bits(0x1c1f) : Term(31), all_lanes());
  }

 private:
  // ue8m0 is the exponent of f32, but for the lowest, which is subnormal there, and the highest, which is a NaN.
  void convert_exponent(Register cell, int byte, Register to) const {
    b_.op(byte == 3 ? "shr.b32" : "shl.b32", to, cell, byte == 3 ? 1 : 23 - 8 * byte);
    b_.op("and.b32", to, to, bits(0x7f800000));
    const Register quiet = b_.b32("add.u32", to, bits(0x00800000));  // the sign of the highest alone
    b_.op("shr.u32", quiet, quiet, 9);
    b_.op("and.b32", quiet, quiet, bits(0x00400000));
    b_.op("or.b32", to, to, quiet);
    b_.op("max.u32", to, to, bits(0x00400000));
  }

  // ue4m3 is e4m3 without a sign.
  void convert_number(Register cell, int byte, Register to) const {
    b_.op("bfe.u32", to, cell, 8 * byte, 8);
    b_.op("mov.b32", vec(bytes_, 0, 2), to);
    b_.op("cvt.rn.f16x2.e4m3x2", to, bytes_[0]);
    b_.op("mov.b32", vec(bytes_, 0, 2), to);
    b_.op("cvt.f32.f16", to, bytes_[0]);
  }

  Builder& b_;
  const FormCode& code_;
  ScaleCells cells_;
  Registers values_, bytes_;
};

// Elements of 4 bits, eight to a register, as f16. In which order they follow each other along K is free as long as it
// is the same for A and B, and each block stays together: where a block has 16 elements, two of four threads have all
// of them, and exchange halves with the other two.
class Unpacking {
 public:
  explicit Unpacking(const FormCode& c) : b_(c.b), exchanges_(c.form.scales == 4) {}

  void begin(Register lane) {
    if (!exchanges_) return;
    const Register second = b_.b32("and.b32", lane, 2);
    selector_ = b_.b32("selp.b32", bits(0x5410), bits(0x3276), b_.pred("setp.eq.u32", second, 0));
  }

  // Of the eight elements of `from`, those that the block has, four at a time into two registers that are `apart`
  // places from each other.
  void write(Register from, int block, const Registers& to, int first, int apart, int next) const {
    const Register four = b_.reg(ScalarType::b32);
    if (exchanges_) {
      const Register other = b_.b32("shfl.sync.bfly.b32", from, 2, 31, all_lanes());
      b_.op("prmt.b32", four, from, other, selector_);
    } else {
      b_.op("mov.b32", four, from);
    }
    if (!exchanges_ || block % 2 == 0) write_four(four, to, first, first + apart);
    b_.op("shr.u32", four, four, 16);
    if (!exchanges_ || block % 2 == 1) write_four(four, to, first + next, first + next + apart);
  }

 private:
  // The tables have the upper bytes of f16 for 0, 0.5, 1, 1.5, 2, 3, 4 and 6, and for a sign.
  void write_four(Register four, const Registers& to, int low, int high) const {
    const Register values = b_.b32("and.b32", four, bits(0x7777));
    b_.op("prmt.b32", values, bits(0x3e3c3800), bits(0x46444240), values);
    const Register signs = b_.b32("shr.u32", four, 3);
    b_.op("and.b32", signs, signs, bits(0x1111));
    b_.op("prmt.b32", signs, bits(0x8000), 0, signs);
    b_.op("or.b32", values, values, signs);
    b_.op("prmt.b32", to[std::size_t(low)], values, 0, bits(0x1404));
    b_.op("prmt.b32", to[std::size_t(high)], values, 0, bits(0x3424));
  }

  Builder& b_;
  bool exchanges_;
  Register selector_{};
};

class ScaledMultiplication {
 public:
  explicit ScaledMultiplication(const FormCode& c)
      : b_(c.b),
        code_(c),
        f_(c.form),
        image_(c.b, c.plan),
        of_a_(c, image_, Side::a, 4 * f_.share.row_tiles()),
        of_b_(c, image_, Side::b, 4),
        sfa_(c, image_, true),
        sfb_(c, image_, false),
        unpacking_(c),
        products_(b_.regs(ScalarType::b32, 4)),
        row_scales_(b_.regs(ScalarType::b32, 2 * f_.share.row_tiles())),
        column_scales_(b_.regs(ScalarType::b32, 2)),
        zero_(b_.reg(ScalarType::b32)),
        quad_(b_.reg(ScalarType::b32)) {
    if (!f_.is_packed()) return;
    unpacked_a_ = b_.regs(ScalarType::b32, 4 * parts() * f_.share.row_tiles());
    unpacked_b_ = b_.regs(ScalarType::b32, 2 * parts());
  }

  void write() {
    if (!is_rolled(f_)) image_.find();
    b_.op("mov.b32", zero_, 0);
    of_a_.begin();
    of_b_.begin();
    sfa_.cells().begin();
    sfb_.cells().begin();
    b_.op("and.b32", quad_, code_.engine.lane, 3);
    if (f_.is_packed()) unpacking_.begin(code_.engine.lane);
    if (is_rolled(f_)) return write_loop();
    for (std::size_t s = 0; s < f_.steps.size(); ++s) {
      begin_step(s);
      if (s + 1 == f_.steps.size())
        last_pair(code_.when_read);
      else
        last_pair([] {});
    }
  }

 private:
  static constexpr int lane_shift = std::countr_zero(unsigned(image_lane_bytes));

  // Of the two times 16 bytes that a row of an MMA has, those with a block of packed elements.
  int chunk(int block) const { return 2 * block / f_.scales; }
  // mma.sync that a block of packed elements takes.
  int parts() const { return f_.scales == 4 ? 1 : 2; }
  int pairs() const { return (f_.share.column_tiles() + 1) / 2; }

  // Elements that are unpacked at once are not kept as they were.
  int first_of_a(int tile) const { return f_.is_packed() ? 4 * (tile % 2) : 4 * tile; }

  // ptxas cannot mix the steps of a loop with each other. places_: where the scales of A and of B are, each in
  // image_lane_bytes, and above that the steps that are left. After the last step, there may be no such columns.
  void write_loop() {
    constexpr int width = ScaleCells::place_bits;
    const Step &x = f_.steps[0], &y = f_.steps[1];
    const std::int64_t further = (y.sfa - x.sfa) * isa::scale_column_rows +
                                 ((y.sfb - x.sfb) * isa::scale_column_rows << width) - (std::int64_t(1) << 2 * width);
    park();
    places_ = b_.b32("shr.u32", sfa_.cells().place(), lane_shift);
    const Register of_b = b_.b32("shl.b32", sfb_.cells().place(), width - lane_shift);
    b_.op("or.b32", places_, places_, of_b);
    b_.op("or.b32", places_, places_, bits(std::uint32_t(f_.steps.size()) << 2 * width));
    b_.loop(
        [&] {
          begin_step(0);
          last_pair([] {});
          b_.op("add.s32", of_a_.start(), of_a_.start(), y.a - x.a);
          b_.op("add.s32", of_b_.start(), of_b_.start(), y.b - x.b);
          const Register more = b_.pred("setp.ge.u32", places_, bits(2u << 2 * width));
          b_.op("add.s32", places_, places_, further);
          return more;
        },
        "step");
    unpark();
    code_.when_read();
  }

  void find_places() {
    constexpr int width = ScaleCells::place_bits;
    image_.find();
    for (const auto& [place, from] : {std::pair(sfa_.cells().place(), 0), std::pair(sfb_.cells().place(), width)}) {
      b_.op("bfe.u32", place, places_, from, width);
      b_.op("shl.b32", place, place, lane_shift);
    }
    meet_in_warp(b_);  // ptxas moves none of this to an earlier step
  }

  // What the engine keeps from one command to the next is in shared memory meanwhile. A warp's lanes all have the same.
  Registers parked() const {
    const EngineRegisters& e = code_.engine;
    return {e.ticket, e.slot, e.held, e.image_written, e.image_read, e.signal};
  }
  Register parking_place() const {
    const Register out = b_.b32("shr.u32", code_.engine.thread, 5), start = b_.b32("mov.b32", variable::parked);
    b_.op("mad.lo.u32", out, out, parked_bytes_of_warp, start);
    return out;
  }
  void park() const {
    const Register place = parking_place();
    const Registers all = parked();
    for (int i = 0; i < 3; ++i)
      b_.op_if(code_.engine.is_first_lane, "st.shared.v2.b32", at(place, 8 * i), vec(all, 2 * i, 2));
    meet_in_warp(b_);
  }
  void unpark() const {
    const Register place = parking_place();
    const Registers all = parked();
    for (int i = 0; i < 3; ++i) b_.op("ld.shared.v2.b32", vec(all, 2 * i, 2), at(place, 8 * i));
  }

  // A step but for the last columns of its last block.
  void begin_step(std::size_t s) {
    if (is_rolled(f_)) find_places();
    sfa_.cells().load(s);
    sfb_.cells().load(s);
    of_a_.find_step(s);
    of_b_.find_step(s);
    for (int block = 0; block < f_.scales; ++block) {
      begin_block(s, block);
      for (int j = 0; j < pairs() - (block + 1 == f_.scales); ++j) columns(block, j, [] {});
    }
  }
  void last_pair(const std::function<void()>& when_read) const { columns(f_.scales - 1, pairs() - 1, when_read); }

  // Sixteen columns of a block.
  void columns(int block, int j, const std::function<void()>& when_read) const {
    meet_in_warp(b_);  // else ptxas loads ahead until registers spill
    of_b_.load(j, 0, 2 * j + 1 >= f_.share.column_tiles());
    when_read();
    for (int tile = 2 * j; tile < std::min(2 * j + 2, f_.share.column_tiles()); ++tile) column(block, tile);
  }

  // The rows' side of a block: elements and scales.
  void begin_block(std::size_t step, int block) const {
    sfa_.convert(step, block);
    sfb_.convert(step, block);
    if (is_rolled(f_)) meet_in_warp(b_);  // as before each load of B
    for (int i = 0; i < f_.share.row_tiles(); ++i) {
      of_a_.load(i, first_of_a(i));
      for (int row = 0; f_.is_packed() && row < 2; ++row)
        unpacking_.write(of_a_.fragment(first_of_a(i) + 2 * chunk(block) + row), block, unpacked_a_,
                         4 * parts() * i + row, 2, 4 * (parts() - 1));
      sfa_.fetch(i, row_scales_, 2 * i, quad_);
    }
  }

  // Eight columns of a block against all rows of the warp.
  void column(int block, int tile) const {
    const int first = 2 * (tile % 2);
    if (f_.is_packed())
      unpacking_.write(of_b_.fragment(first + chunk(block)), block, unpacked_b_, 0, 1, 2 * (parts() - 1));
    sfb_.fetch(tile, column_scales_, 0, quad_);
    for (int i = 0; i < f_.share.row_tiles(); ++i) {
      if (f_.is_packed())
        multiply_packed(i);
      else
        multiply(k32_, of_a_.fragments(4 * i, 4), of_b_.fragments(first, 2), true);
      add(i, tile);
    }
  }

  std::string k32() const {
    return dotted({"mma.sync.aligned.m16n8k32.row.col.f32", isa::spelling(multiplied_as(f_.a_type)),
                   isa::spelling(multiplied_as(f_.b_type)), "f32"});
  }

  void multiply_packed(int i) const {
    for (int part = 0; part < parts(); ++part)
      multiply("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", vec(unpacked_a_, 4 * (parts() * i + part), 4),
               vec(unpacked_b_, 2 * part, 2), part == 0);
  }

  void multiply(std::string_view name, Term a, Term b, bool is_first) const {
    const Term sums = vec(products_, 0, 4);
    b_.op(name, sums, a, b, is_first ? Term(vec(zero_, zero_, zero_, zero_)) : sums);
  }

  void add(int i, int tile) const {
    const int first = 4 * (i * f_.share.column_tiles() + tile);
    const Register scale = b_.reg(ScalarType::b32);
    for (int r = 0; r < 4; ++r) {
      const Register sum = code_.engine.sums[std::size_t(first + r)];
      b_.op("mul.rn.f32", scale, row_scales_[std::size_t(2 * i + r / 2)], column_scales_[std::size_t(r % 2)]);
      b_.op("fma.rn.f32", sum, products_[std::size_t(r)], scale, sum);
    }
  }

  Builder& b_;
  const FormCode& code_;
  const Form& f_;
  Image image_;
  OperandCode of_a_, of_b_;
  ScaleCode sfa_, sfb_;
  Unpacking unpacking_;
  Registers products_, row_scales_, column_scales_, unpacked_a_{}, unpacked_b_{};
  Register zero_, quad_;  // the lane's number in its group of four
  Register places_{};
  std::string k32_ = k32();
};

}  // namespace

void write_scaled_multiplication(const FormCode& c) { ScaledMultiplication(c).write(); }

}  // namespace kiln::lower
