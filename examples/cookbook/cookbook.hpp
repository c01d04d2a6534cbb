// The kernels of the cookbook, and what their problems share.
#pragma once

#include "dsl/dsl.hpp"

namespace cookbook {

kiln::dsl::Kernel residual(kiln::isa::Target, const kiln::dsl::Sizes&);
kiln::launch::Contract residual_problem(const kiln::dsl::Kernel&, const kiln::dsl::Sizes&);
std::span<const kiln::dsl::SizeOption> residual_options();

kiln::dsl::Kernel block_scaled(kiln::isa::Target, const kiln::dsl::Sizes&);
kiln::launch::Contract block_scaled_problem(const kiln::dsl::Kernel&, const kiln::dsl::Sizes&);
std::span<const kiln::dsl::SizeOption> block_scaled_options();

kiln::dsl::Kernel paged_decode(kiln::isa::Target, const kiln::dsl::Sizes&);
kiln::launch::Contract paged_decode_problem(const kiln::dsl::Kernel&, const kiln::dsl::Sizes&);
std::span<const kiln::dsl::SizeOption> paged_decode_options();

kiln::dsl::Kernel bias_gelu(kiln::isa::Target, const kiln::dsl::Sizes&);
kiln::launch::Contract bias_gelu_problem(const kiln::dsl::Kernel&, const kiln::dsl::Sizes&);
std::span<const kiln::dsl::SizeOption> bias_gelu_options();

kiln::dsl::Kernel pair(kiln::isa::Target, const kiln::dsl::Sizes&);
kiln::launch::Contract pair_problem(const kiln::dsl::Kernel&, const kiln::dsl::Sizes&);
std::span<const kiln::dsl::SizeOption> pair_options();

kiln::dsl::Kernel mxfp8(kiln::isa::Target, const kiln::dsl::Sizes&);
kiln::launch::Contract mxfp8_problem(const kiln::dsl::Kernel&, const kiln::dsl::Sizes&);
std::span<const kiln::dsl::SizeOption> mxfp8_options();

kiln::dsl::Kernel rms_norm(kiln::isa::Target, const kiln::dsl::Sizes&);
kiln::launch::Contract rms_norm_problem(const kiln::dsl::Kernel&, const kiln::dsl::Sizes&);
std::span<const kiln::dsl::SizeOption> rms_norm_options();

kiln::dsl::Kernel softmax(kiln::isa::Target, const kiln::dsl::Sizes&);
kiln::launch::Contract softmax_problem(const kiln::dsl::Kernel&, const kiln::dsl::Sizes&);
std::span<const kiln::dsl::SizeOption> softmax_options();

kiln::dsl::Kernel argmax(kiln::isa::Target, const kiln::dsl::Sizes&);
kiln::launch::Contract argmax_problem(const kiln::dsl::Kernel&, const kiln::dsl::Sizes&);
std::span<const kiln::dsl::SizeOption> argmax_options();

kiln::dsl::Kernel gather(kiln::isa::Target, const kiln::dsl::Sizes&);
kiln::launch::Contract gather_problem(const kiln::dsl::Kernel&, const kiln::dsl::Sizes&);
std::span<const kiln::dsl::SizeOption> gather_options();

/// A buffer of a problem; without a fill it holds nothing yet.
inline kiln::launch::Buffer buffer(const char* name, kiln::isa::ScalarType type, std::vector<std::uint64_t> shape,
                                   kiln::launch::Init fill = {}) {
  kiln::launch::Buffer b;
  b.name = name;
  b.dtype = type;
  b.shape = std::move(shape);
  b.init = std::move(fill);
  return b;
}
/// Numbers around 0, all numbers between two, zeros, and given ones.
inline kiln::launch::Init normal(std::uint64_t seed) {
  kiln::launch::Init i;
  i.kind = kiln::launch::Init::Kind::normal;
  i.high = 1;
  i.seed = seed;
  return i;
}
inline kiln::launch::Init uniform(std::uint64_t seed, double low, double high) {
  kiln::launch::Init i;
  i.kind = kiln::launch::Init::Kind::uniform;
  i.low = low;
  i.high = high;
  i.seed = seed;
  return i;
}
inline kiln::launch::Init zeros() {
  kiln::launch::Init i;
  i.kind = kiln::launch::Init::Kind::zeros;
  return i;
}
inline kiln::launch::Init values(std::vector<double> numbers) {
  kiln::launch::Init i;
  i.kind = kiln::launch::Init::Kind::values;
  i.values = std::move(numbers);
  return i;
}

}  // namespace cookbook
