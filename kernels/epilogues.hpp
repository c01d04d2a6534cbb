// Epilogues of GEMMs: what is added to the sums, and a function of each element.
#pragma once

#include "kernels/epilogue.hpp"

namespace kiln::kernels {

/// D = activation(A * B^T + bias), with an f32 for each column.
class Bias final : public Epilogue {
 public:
  constexpr explicit Bias(launch::Activation activation) : activation_(activation) {}
  RoleStep device(dsl::KernelBuilder&, int width) const override;
  void describe(launch::Contract& c, const GemmSizes& s) const override { add_bias(c, s, activation_); }
  std::vector<dsl::NamedArgument> arguments() const override { return {{"bias", std::string("bias")}}; }

 private:
  launch::Activation activation_;
};

/// D = alpha * A * B^T + beta * C, C in bf16. C is read whatever beta is.
class AlphaBeta final : public Epilogue {
 public:
  RoleStep device(dsl::KernelBuilder&, int width) const override;
  void describe(launch::Contract& c, const GemmSizes& s) const override { add_alpha_beta(c, s, isa::ScalarType::bf16); }
  std::vector<dsl::NamedArgument> arguments() const override {
    return {{"alpha", std::string("alpha")}, {"beta", std::string("beta")}, {"C", std::string("C")}};
  }
};

/// D = A * B^T, and S[M, ceil(N / 32)], the greatest magnitude of the sums in each 32 columns of a row: what a
/// block-scaled format of D is scaled by. The load finds it on its way (tcgen05.ld.red).
class BlockMaxima final : public Epilogue {
 public:
  constexpr int width() const override { return block; }
  constexpr bool is_fixed() const override { return true; }
  RoleStep device(dsl::KernelBuilder&, int width) const override;
  void describe(launch::Contract& c, const GemmSizes& s) const override { add_maxima(c, s, block); }
  std::vector<dsl::NamedArgument> arguments() const override { return {{"S", std::string("S")}}; }

 private:
  static constexpr int block = 32;
};

/// D = silu(A * Gate^T) * (A * Up^T). The accumulator has the sums of both products side by side, first Gate's.
class Gated final : public Epilogue {
 public:
  constexpr int width() const override { return 32; }
  RoleStep device(dsl::KernelBuilder&, int width) const override;
  void describe(launch::Contract&, const GemmSizes&) const override;
};

/// D = A * B^T, quantised to be an operand of the next product: elements of D's type, and SFD, a scale for each block of
/// a row, in the chunks that its scale loads take (isa::scale_index), all of which are written. Scales are what a
/// contract's quantised operands have: ue8m0 for blocks of 32, or ue4m3 for blocks of 16, with a factor alpha before
/// them. Elements are the sums times the reciprocal of their scale, each rounded to nearest even: f32, then D's type.
class Quantised final : public Epilogue {
 public:
  constexpr explicit Quantised(isa::ScalarType scale) : scale_(scale) {}
  /// Four scales of a row, which are a word of their chunk.
  constexpr int width() const override { return scales_per_word * block(); }
  constexpr bool is_fixed() const override { return true; }
  RoleStep device(dsl::KernelBuilder&, int width) const override;
  void describe(launch::Contract& c, const GemmSizes& s) const override;
  std::vector<dsl::NamedArgument> arguments() const override;

 private:
  static constexpr int scales_per_word = isa::scales_per_cell;
  constexpr bool is_fine() const { return scale_ == isa::ScalarType::ue4m3; }
  constexpr int block() const { return is_fine() ? 16 : 32; }
  isa::ScalarType scale_;
};

inline constexpr Bias bias_relu{launch::Activation::relu}, bias_silu{launch::Activation::silu},
    bias_gelu_tanh{launch::Activation::gelu_tanh};
inline constexpr AlphaBeta alpha_beta{};
inline constexpr BlockMaxima block_maxima{};
inline constexpr Gated gated{};
inline constexpr Quantised to_mxf8{isa::ScalarType::ue8m0}, to_nvf4{isa::ScalarType::ue4m3};

}  // namespace kiln::kernels
