#include "kernels/epilogues.hpp"

#include <numbers>

namespace kiln::kernels {

using namespace kiln::dsl;

namespace {

// x / (1 + e^-y).
F32 weighted(const F32& x, const F32& y) {
  return x * rcp_approx_ftz(1.0f + ex2_approx_ftz(y * -std::numbers::log2e_v<float>));
}

// The function of an element. gelu_tanh needs no tanh: (1 + tanh(y / 2)) / 2 is 1 / (1 + e^-y), and more exact so than
// with tanh.approx, which has 11 bits.
F32 activated(launch::Activation activation, const F32& x) {
  constexpr float slope = 1.5957691216f, cubic = slope * 0.044715f;  // sqrt(8 / pi)
  switch (activation) {
    case launch::Activation::relu: return max(x, 0.0f);
    case launch::Activation::silu: return weighted(x, x);
    case launch::Activation::gelu_tanh: return weighted(x, x * fma(x * x, cubic, slope));
    default: return x;
  }
}

// Stores this thread's row as an epilogue's sums, of which `finish` makes what is stored.
template <class Finish>
StoreColumns store_finished(const RowPlace& row, int width, const Finish& finish) {
  return [row, width, finish](Warpgroup& g, const AnyTmem& sums, int column) {
    const AnyRegisters loaded = g.wait(g.load(sums.columns(column, width)));
    g.store_global(row.address, converted(finish(g, loaded, column), row.d.elements.element()), row.left, column);
  };
}

}  // namespace

RoleStep Bias::device(KernelBuilder& gemm, int width) const {
  const AnyPointer bias = gemm.pointer("bias", element_type<f32>);
  return [bias, width, activation = activation_](Warpgroup&) {
    return [=](const RowPlace& row) {
      const auto finish = [=, from = bias.at(widen(row.col)), left = row.left](Warpgroup& g, const AnyRegisters& sums,
                                                                               int column) {
        const AnyRegisters added = g.load_global(element_type<f32>, width, from, left, column);
        return make_registers(width, [&](int i) { return activated(activation, sums.f32(i) + added.f32(i)); });
      };
      return store_finished(row, width, finish);
    };
  };
}

RoleStep AlphaBeta::device(KernelBuilder& gemm, int width) const {
  const AnyPointer alpha_at = gemm.pointer("alpha", element_type<f32>),
                   beta_at = gemm.pointer("beta", element_type<f32>), c = gemm.pointer("C", element_type<bf16>);
  return [alpha_at, beta_at, c, width](Warpgroup& g) {
    const F32 alpha = g.ld_global_f32(alpha_at.address()), beta = g.ld_global_f32(beta_at.address());
    return [=](const RowPlace& row) {
      const auto finish = [=, from = c.at(row.index), left = row.left](Warpgroup& g, const AnyRegisters& sums,
                                                                       int column) {
        const AnyRegisters addend = widened(g.load_global(element_type<bf16>, width, from, left, column));
        return make_registers(width, [&](int i) { return fma(beta, addend.f32(i), alpha * sums.f32(i)); });
      };
      return store_finished(row, width, finish);
    };
  };
}

// Columns outside the matrix are zero, so no maximum is of them.
RoleStep BlockMaxima::device(KernelBuilder& gemm, int) const {
  const AnyPointer s = gemm.pointer("S", element_type<f32>);
  return [s](Warpgroup&) {
    return [s](const RowPlace& row) {
      const U64 maxima = s.at(multiply_wide(row.row, (row.d.n + (block - 1)) / block) + widen(row.col / block));
      return [row, maxima](Warpgroup& g, const AnyTmem& sums, int column) {
        const AnyReduced loaded = g.wait(g.load_reduced(RedOp::max, Comparison::abs, sums.columns(column, block)));
        g.store_global(row.address, converted(loaded.values, row.d.elements.element()), row.left, column);
        g.store_one(maxima, loaded.reduced, row.left > column, column / block);
      };
    };
  };
}

RoleStep Gated::device(KernelBuilder&, int width) const {
  return [width](Warpgroup&) {
    return [width](const RowPlace& row) {
      return [row, width](Warpgroup& g, const AnyTmem& sums, int column) {
        const AnyRegisters gate = g.wait(g.load(sums.columns(column, width))),
                           up = g.wait(g.load(sums.columns(sums.count / 2 + column, width)));
        const AnyRegisters joined =
            make_registers(width, [&](int i) { return activated(launch::Activation::silu, gate.f32(i)) * up.f32(i); });
        g.store_global(row.address, converted(joined, row.d.elements.element()), row.left, column);
      };
    };
  };
}

// What was B is Gate; Up is another matrix like it.
void Gated::describe(launch::Contract& c, const GemmSizes&) const {
  launch::Buffer up = c.at("B");
  up.name = "Up";
  up.init.seed = 3;
  c.at("B").name = "Gate";
  c.buffers.push_back(std::move(up));
  launch::Expectation& e = c.expectations.front();
  e.kind = launch::Expectation::Kind::swiglu;
  e.b = "Gate";
  e.c = "Up";
}

}  // namespace kiln::kernels
