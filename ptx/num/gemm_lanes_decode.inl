// Decoding operands into panels. Part of gemm_lanes.inl.

// Values (unscaled), encoded exponents and the special flag of a strip, from its raw words.
struct Decoded {
  Floats value;
  Ints exponent, special;
};

KILN_INLINE Decoded decode_f32_like(Ints word) {
  const Ints magnitude = word & 0x7FFFFFFF;
  const Ints exponent = larger(magnitude >> 23, Ints{} + 1) - 127;
  return {floats(word), choose(magnitude == 0, Ints{} + no_exponent, exponent), magnitude >= 0x7F800000};
}

KILN_INLINE Decoded decode_f16(Ints word) {
  const Ints magnitude = word & 0x7FFF;
  const Ints field = magnitude >> 10;
  const Ints normal = (magnitude << 13) + (112 << 23);
  const Ints subnormal = bits(to_floats(magnitude) * 0x1p-24f);
  const Ints special = magnitude >= 0x7C00;
  const Ints value =
      choose(special, normal + (112 << 23), choose(field == 0, subnormal, normal)) | ((word & 0x8000) << 16);
  const Ints exponent = larger(field, Ints{} + 1) - 15;
  return {floats(value), choose(magnitude == 0, Ints{} + no_exponent, exponent), special};
}

KILN_INLINE Decoded decode_small(ScalarType type, Ints word) {
  const SmallFormat& table = small_format(type);
  Decoded d;
  for (int lane = 0; lane < lanes; ++lane) {
    const auto code = static_cast<std::size_t>(word[lane] & 0xFF);
    d.value[lane] = table.value[code];
    d.exponent[lane] = table.exponent[code];
    d.special[lane] = table.special[code] ? -1 : 0;
  }
  return d;
}

KILN_INLINE Decoded decode_words(ScalarType type, Ints word) {
  switch (type) {
    case ScalarType::bf16: return decode_f32_like(word << 16);
    case ScalarType::tf32: return decode_f32_like(word & ~0x1FFF);
    case ScalarType::f16: return decode_f16(word);
    default: return decode_small(type, word);
  }
}

KILN_INLINE int highest_lane(Ints x) {
  int best = x[0];
  for (int lane = 1; lane < lanes; ++lane) best = x[lane] > best ? x[lane] : best;
  return best;
}

// Exponent of the lowest set bit of each value; one too low for f32 subnormals, which errs to the safe side.
KILN_INLINE Ints lowest_bit(Floats value) {
  const Ints word = bits(value);
  const Ints mantissa = (word & 0x7FFFFF) | 0x800000;
  const Ints position = (bits(to_floats(mantissa & -mantissa)) >> 23) - 127;
  return ((word & 0x7FFFFFFF) >> 23) - (127 + 23) + position;
}

// One block and step of an operand while it is decoded: raw words, then exponents, with k outside and rows inside, so
// that every reduction over k is between whole vectors.
struct Scratch {
  alignas(64) std::int32_t words[64][panel_block];
  alignas(64) std::int32_t scale[panel_block];  // exponent of each row's ue8m0 scale; NaN is special_top
};

// Four words of each of `lanes` rows, turned around: lane l of out[w] is word w of row l.
KILN_INLINE void transpose(const std::uint8_t* from, std::size_t row_bytes, Ints (&out)[4]) {
  Ints row[4];
#pragma GCC unroll 16
  for (int r = 0; r < 4; ++r) row[r] = every_fourth_row(from + static_cast<std::size_t>(r) * row_bytes, 4 * row_bytes);
  const Ints low01 = interleave<1, 0>(row[0], row[1]), high01 = interleave<1, 2>(row[0], row[1]);
  const Ints low23 = interleave<1, 0>(row[2], row[3]), high23 = interleave<1, 2>(row[2], row[3]);
  out[0] = interleave<2, 0>(low01, low23), out[1] = interleave<2, 2>(low01, low23);
  out[2] = interleave<2, 0>(high01, high23), out[3] = interleave<2, 2>(high01, high23);
}

// The container of an element: an instruction stores 32 bytes of a row of A.
template <int Stored>
using Word =
    std::conditional_t<Stored == 8, std::uint32_t, std::conditional_t<Stored == 16, std::uint16_t, std::uint8_t>>;

// K elements of `lanes` rows, whole registers at a time: four words of every row, each of one element or more.
template <class T, int K>
KILN_INLINE void gather_lanes(const T* from, std::size_t stride, int row, Scratch& s) {
  constexpr int bits = 8 * sizeof(T), per_word = 32 / bits;
  for (int k = 0; k < K; k += 4 * per_word) {
    Ints words[4];
    transpose(reinterpret_cast<const std::uint8_t*>(from + k), stride * sizeof(T), words);
#pragma GCC unroll 16
    for (int e = 0; e < 4 * per_word; ++e) {
      const Sums word = reinterpret_cast<Sums>(words[e / per_word]) << (32 - bits - e % per_word * bits) >> (32 - bits);
      *reinterpret_cast<AliasInts*>(&s.words[k + e][row]) = reinterpret_cast<Ints>(word);
    }
  }
}

template <class T, int K>
void gather_words(const GemmOperand& operand, int first_row, int rows, int first_k, Scratch& s) {
  const T* from = static_cast<const T*>(operand.elements) + static_cast<std::size_t>(first_row) * operand.stride +
                  static_cast<std::size_t>(first_k);
  int row = 0;
  for (; row + lanes <= rows; row += lanes)
    gather_lanes<T, K>(from + static_cast<std::size_t>(row) * operand.stride, operand.stride, row, s);
  for (; row < rows; ++row)
    for (int k = 0; k < K; ++k)
      s.words[k][row] = static_cast<std::int32_t>(from[static_cast<std::size_t>(row) * operand.stride + k]);
  for (; row < panel_block; ++row)
    for (int k = 0; k < K; ++k) s.words[k][row] = 0;
}

// Where each stored element of a sparse row belongs, as `sparse_column` says: one of two, or two of four.
template <int K>
KILN_INLINE void place_slots(const std::uint32_t* metadata, std::uint8_t (&places)[K / 2]) {
  constexpr int kept = K == 16 ? 1 : 2;
#pragma GCC unroll 16
  for (int slot = 0; slot < K / 2; ++slot) {
    const int chunk = slot / kept;
    const std::uint32_t nibble = metadata[chunk / 8] >> 4 * (chunk % 8) & 15;
    const std::uint32_t place = kept == 1 ? nibble >> 3 : slot % 2 == 0 ? nibble & 3 : nibble >> 2;
    places[slot] = static_cast<std::uint8_t>(2 * kept * chunk + static_cast<int>(place));
  }
}

// Stored elements of a sparse A where they belong among the others, which are zeros.
template <class T, int K>
void expand_words(const GemmTask& task, int first_row, int rows, int step, Scratch& s) {
  constexpr int stored = K / 2;
  __builtin_memset(s.words, 0, sizeof s.words);
  for (int row = 0; row < rows; ++row) {
    const T* from = static_cast<const T*>(task.a.elements) +
                    static_cast<std::size_t>(first_row + row) * task.a.stride + static_cast<std::size_t>(step * stored);
    std::uint8_t places[stored];
    place_slots<K>(metadata_of(task, first_row + row, step).data(), places);
    for (int slot = 0; slot < stored; ++slot) s.words[places[slot]][row] = static_cast<std::int32_t>(from[slot]);
  }
}

// `scales` points at the first row's scale byte of this step, or is null.
KILN_INLINE void gather_scales(const std::uint8_t* scales, std::size_t stride, int rows, Scratch& s) {
  for (int row = 0; row < panel_block; ++row) {
    const int byte = scales && row < rows ? scales[static_cast<std::size_t>(row) * stride] : 127;
    s.scale[row] = byte == 0xFF ? special_top : byte - 127;
  }
}

// What a column of strips gathers over k.
struct Gathered {
  Ints top, special, nan, unit, max_abs;
};

template <int K>
KILN_INLINE Gathered decode_column(ScalarType type, bool negate, int row, Scratch& s, float* values) {
  Gathered g{Ints{} + no_exponent, Ints{}, Ints{}, Ints{} + 1000, Ints{}};
  const Ints sign = Ints{} + (negate ? static_cast<std::int32_t>(0x80000000u) : 0);
  for (int k = 0; k < K; ++k) {
    const Decoded d = decode_words(type, load(&s.words[k][row]));
    store(values + k * panel_block + row, floats(bits(d.value) ^ sign));
    *reinterpret_cast<AliasInts*>(&s.words[k][row]) = d.exponent;
    const Ints magnitude = bits(d.value) & 0x7FFFFFFF;
    g.top = larger(g.top, d.exponent);
    g.special |= d.special;
    g.nan |= magnitude > 0x7F800000;
    g.max_abs = larger(g.max_abs, magnitude);
    g.unit = smaller(g.unit, choose(magnitude == 0, Ints{} + 1000, lowest_bit(d.value)));
  }
  return g;
}

// Exponents become codes. Special strips get codes that send every result to `dot`.
template <int K>
KILN_INLINE void encode_column(int row, Ints top, Ints special, Scratch& s) {
  for (int k = 0; k < K; ++k) {
    const Ints exponent = load(&s.words[k][row]);
    const Ints live = larger(exponent - top, Ints{} + lowest_live_code);
    const Ints code = choose(exponent == no_exponent, Ints{} + dead_code, live);
    *reinterpret_cast<AliasInts*>(&s.words[k][row]) = choose(special, Ints{} + special_code, code);
  }
}

// Fast arithmetic takes scales into the values; 2^127 at most, so in two steps.
template <int K>
KILN_INLINE void scale_column(int row, Ints scale, float* values) {
  const Ints nan = scale == special_top, half = ~nan & scale >> 1;
  const Floats first = power(half), second = power((~nan & scale) - half);
  for (int k = 0; k < K; ++k) {
    float* at = values + k * panel_block + row;
    store(at, floats(bits(load(at) * first * second) | (nan & 0x7FFFFFFF)));
  }
}

template <int K>
KILN_INLINE void write_codes(Panel& panel, std::size_t element, const Scratch& s) {
  for (int k = 0; k < K; ++k)
    for (int row = 0; row < panel_block; row += lanes) {
      const Ints code = load(&s.words[k][row]);
      const std::size_t at = element + static_cast<std::size_t>(k * panel_block + row);
      if (panel.wide_codes.empty()) {
        *reinterpret_cast<AliasLaneCodes*>(panel.codes.data() + at) = __builtin_convertvector(code, LaneCodes);
      } else {
        const Ints pair = (code & 0xFF) | (code << 8 & 0xFF00);
        *reinterpret_cast<AliasInts*>(panel.wide_codes.data() + at) = pair | pair << 16;
      }
    }
}

// What fast arithmetic needs of a block: values with their scales, and of a sparse product's B whether all are finite.
template <int K, bool sparse>
void decode_values(ScalarType type, bool negate, Panel& panel, std::size_t index, const Scratch& s) {
  float* values = panel.values() + index * static_cast<std::size_t>(panel_block * K);
  const Ints sign = Ints{} + (negate ? static_cast<std::int32_t>(0x80000000u) : 0);
  Ints special = {};
  for (int row = 0; row < panel_block; row += lanes) {
    for (int k = 0; k < K; ++k) {
      const Decoded d = decode_words(type, load(&s.words[k][row]));
      store(values + k * panel_block + row, floats(bits(d.value) ^ sign));
      if constexpr (sparse) special |= d.special;
    }
    const Ints scale = load(&s.scale[row]);
    if (lane_mask(scale != 0)) scale_column<K>(row, scale, values);
  }
  if constexpr (sparse) panel.summaries[index].plain = lane_mask(special) == 0;
}

// Decodes the words in `s` into block `index` of the panel.
template <int K>
void decode_block(ScalarType type, bool negate, Panel& panel, std::size_t index, Scratch& s) {
  float* values = panel.values() + index * static_cast<std::size_t>(panel_block * K);
  Ints top = Ints{} + no_exponent, unit = Ints{} + 1000, rough = {}, max_abs = {};
  for (int row = 0; row < panel_block; row += lanes) {
    const Gathered g = decode_column<K>(type, negate, row, s, values);
    const Ints scale = load(&s.scale[row]);
    const Ints special = g.special | (scale == special_top);
    encode_column<K>(row, g.top, special, s);
    const std::size_t strip = index * panel_block + static_cast<std::size_t>(row);
    *reinterpret_cast<AliasInts*>(panel.tops.data() + strip) = choose(special, Ints{} + special_top, g.top + scale);
    *reinterpret_cast<AliasInts*>(panel.scales.data() + strip) = ~special & scale;
    for (int lane = 0; lane < lanes; ++lane)
      panel.specials[strip + static_cast<std::size_t>(lane)] = !special[lane] ? StripSpecial::none
                                                               : g.nan[lane] || s.scale[row + lane] == special_top
                                                                   ? StripSpecial::nan
                                                                   : StripSpecial::infinite;
    top = larger(top, g.top);
    unit = smaller(unit, g.unit);
    max_abs = larger(max_abs, g.max_abs);
    rough |= special | (scale != 0);
  }
  write_codes<K>(panel, index * static_cast<std::size_t>(panel_block * K), s);
  panel.summaries[index] = {__builtin_bit_cast(float, highest_lane(max_abs)), -highest_lane(-unit), highest_lane(top),
                            lane_mask(rough) == 0};
}

template <int K, bool sparse>
void decode_panel(const GemmOperand& operand, ScalarType type, bool negate, int rows, const GemmTask& task,
                  Panel& panel) {
  using T = Word<sparse ? K / 2 : K>;
  Scratch s;
  const bool fast = task.arithmetic == Arithmetic::fast;
  for (int block = 0; block < panel.blocks; ++block)
    for (int step = 0; step < panel.steps; ++step) {
      const int first = block * panel_block, here = rows - first < panel_block ? rows - first : panel_block;
      if constexpr (sparse) {
        if (&operand == &task.a)
          expand_words<T, K>(task, first, here, step, s);
        else
          gather_words<T, K>(operand, first, here, step * K, s);
      } else {
        gather_words<T, K>(operand, first, here, step * K, s);
      }
      const std::size_t scale = static_cast<std::size_t>(first) * operand.scale_stride + static_cast<std::size_t>(step);
      gather_scales(task.spec.scale_vector ? operand.scales + scale : nullptr, operand.scale_stride, here, s);
      if (fast)
        decode_values<K, sparse>(type, negate, panel, panel.index(first, step), s);
      else
        decode_block<K>(type, negate, panel, panel.index(first, step), s);
    }
}

template <int K, bool sparse>
void decode_panels(GemmJob& job) {
  const GemmTask& task = *job.task;
  decode_panel<K, sparse>(task.a, task.spec.a, task.spec.negate_a, task.m, task, job.a);
  decode_panel<K, sparse>(task.b, task.spec.b, task.spec.negate_b, task.n, task, job.b);
}
