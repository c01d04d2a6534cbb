// Epilogues of the dense GEMMs: what is added to the sums, and a function of each element.
#pragma once

#include <numbers>

#include "kernels/epilogue.hpp"

namespace kiln::kernels {

/// x / (1 + e^-y).
inline dsl::F32 weighted(const dsl::F32& x, const dsl::F32& y) {
  return x * rcp_approx_ftz(1.0f + ex2_approx_ftz(y * -std::numbers::log2e_v<float>));
}

/// The function of an element. gelu_tanh needs no tanh: (1 + tanh(y / 2)) / 2 is 1 / (1 + e^-y), and more exact so than
/// with tanh.approx, which has 11 bits.
template <launch::Activation activation>
dsl::F32 activated(const dsl::F32& x) {
  using launch::Activation;
  if constexpr (activation == Activation::relu)
    return max(x, 0.0f);
  else if constexpr (activation == Activation::silu)
    return weighted(x, x);
  else if constexpr (activation == Activation::gelu_tanh) {
    constexpr float slope = 1.5957691216f, cubic = slope * 0.044715f;  // sqrt(8 / pi)
    return weighted(x, x * fma(x * x, cubic, slope));
  } else
    return x;
}

/// D = activation(A * B^T + bias), with an f32 for each column.
template <launch::Activation activation>
struct Bias {
  static constexpr auto parameter_list() {
    using namespace dsl;
    return parameters("bias"_arg.is<Pointer<f32>>());
  }
  template <class Given>
  static auto device(const Given& given) {
    using namespace dsl;
    return [bias = given["bias"_arg]](Warpgroup&) {
      return [bias](const RowPlace& row) {
        return [from = bias.at(widen(row.col)), left = row.left](Warpgroup& g, const auto& sums, int column) {
          const auto added = g.load_global<f32, 8>(from, left, column);
          return make_registers<8>(g.recorder(), [&](int i) { return activated<activation>(sums[i] + added[i]); });
        };
      };
    };
  }
  static void describe(launch::Contract& c, const GemmSizes& s) { add_bias(c, s, activation); }
  template <class Launch>
  static void arguments(Launch launch) {
    using namespace dsl;
    launch("bias"_arg = "bias");
  }
};

/// D = alpha * A * B^T + beta * C. C is read whatever beta is.
struct AlphaBeta {
  static constexpr auto parameter_list() {
    using namespace dsl;
    return parameters("alpha"_arg.is<Pointer<f32>>(), "beta"_arg.is<Pointer<f32>>(), "C"_arg.is<Pointer<bf16>>());
  }
  template <class Given>
  static auto device(const Given& given) {
    using namespace dsl;
    return [alpha_at = given["alpha"_arg], beta_at = given["beta"_arg], c = given["C"_arg]](Warpgroup& g) {
      return [alpha = g.ld_global_f32(alpha_at.address()), beta = g.ld_global_f32(beta_at.address()),
              c](const RowPlace& row) {
        return [alpha, beta, from = c.at(row.index), left = row.left](Warpgroup& g, const auto& sums, int column) {
          const auto addend = widen(g.load_global<bf16, 8>(from, left, column));
          return make_registers<8>(g.recorder(), [&](int i) { return fma(beta, addend[i], alpha * sums[i]); });
        };
      };
    };
  }
  static void describe(launch::Contract& c, const GemmSizes& s) { add_alpha_beta(c, s, isa::ScalarType::bf16); }
  template <class Launch>
  static void arguments(Launch launch) {
    using namespace dsl;
    launch("alpha"_arg = "alpha", "beta"_arg = "beta", "C"_arg = "C");
  }
};

/// D = A * B^T, and S[M, ceil(N / 32)], the greatest magnitude of the sums in each 32 columns of a row: what a
/// block-scaled format of D is scaled by. The load finds it on its way (tcgen05.ld.red).
struct BlockMaxima {
  static constexpr int block = 32;
  /// What store_rows takes in place of a function of sums.
  struct Finish {
    dsl::Pointer<dsl::f32> maxima;
  };

  static constexpr auto parameter_list() {
    using namespace dsl;
    return parameters("S"_arg.is<Pointer<f32>>());
  }
  template <class Given>
  static auto device(const Given& given) {
    using namespace dsl;
    return [s = given["S"_arg]](Warpgroup&) { return Finish{s}; };
  }
  static void describe(launch::Contract& c, const GemmSizes& s) { add_maxima(c, s, block); }
  template <class Launch>
  static void arguments(Launch launch) {
    using namespace dsl;
    launch("S"_arg = "S");
  }
};

/// Stores sums, and of each 32 columns of a row the greatest magnitude. Columns outside the matrix are zero.
template <class To, int N>
void store_rows(dsl::Warpgroup& g, const dsl::Tmem<dsl::f32, 128, N>& sums, const Result<To>& d, const dsl::U32& row,
                const dsl::U32& col, const BlockMaxima::Finish& out) {
  constexpr int block = BlockMaxima::block;
  const dsl::U32 my_row = row + g.row();
  const dsl::U64 address = d.elements.at(multiply_wide(my_row, d.n) + widen(col));
  const dsl::U32 left = left_in_row(d, my_row, col);
  const dsl::U64 maxima = out.maxima.at(multiply_wide(my_row, (d.n + (block - 1)) / block) + widen(col / block));
  for (int c = 0; c < N; c += block) {
    const auto row_block =
        g.wait(g.load_reduced<dsl::RedOp::max, dsl::Comparison::abs>(sums.template columns<block>(c)));
    g.store_global(address, converted<To>(row_block.values), left, c);
    g.store_global(maxima, row_block.reduced, left > c, c / block);
  }
}

}  // namespace kiln::kernels
