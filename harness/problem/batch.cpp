#include "harness/problem/batch.hpp"

#include <fmt/format.h>

#include "ptx/diag/error.hpp"

namespace kiln::harness {
namespace {

using launch::Buffer;
using launch::Contract;
using launch::Expectation;

Buffer matrix_of(const Buffer& batch, std::uint64_t index) {
  Buffer one = batch;
  one.shape.erase(one.shape.begin());
  const std::uint64_t size = one.size();
  if (!batch.bytes.empty())
    one.bytes.assign(batch.bytes.begin() + long(index * size), batch.bytes.begin() + long((index + 1) * size));
  return one;
}

}  // namespace

std::optional<std::uint64_t> batch_size(const Contract& contract, const Expectation& e) {
  const Buffer &a = contract.at(e.a), &b = contract.at(e.b), &d = contract.at(e.output);
  if (d.shape.size() != 3) return std::nullopt;
  for (const Buffer* operand : {&a, &b}) {
    if (operand->shape.size() != 3 || operand->shape[0] != d.shape[0])
      throw diag::InputError(
          fmt::format("{} is a batch of {} matrices; {} must be one too", d.name, d.shape[0], operand->name));
    if (operand->init.quantised)
      throw diag::InputError(fmt::format("buffer {}: a batch is not quantised", operand->name));
  }
  for (const Buffer* x : {&a, &b, &d})
    if (x->shape[1] * x->shape[2] * std::uint64_t(isa::bits(x->dtype)) % 8 != 0)
      throw diag::InputError(fmt::format("buffer {}: a matrix of a batch must be whole bytes", x->name));
  if (!e.sfa.empty() || !e.sfb.empty() || !e.metadata.empty() || !e.c.empty() || !e.bias.empty())
    throw diag::InputError("a gemm of batches has no scales, metadata, addend or bias");
  return d.shape[0];
}

Contract matrix_of_batch(const Contract& contract, const Expectation& e, std::uint64_t index) {
  Contract one;
  for (const std::string& name : {e.a, e.b, e.output}) one.buffers.push_back(matrix_of(contract.at(name), index));
  for (const std::string& name : e.factors) one.buffers.push_back(contract.at(name));
  one.expectations = {e};
  return one;
}

}  // namespace kiln::harness
