#include "dsl/async_stores.hpp"

#include "dsl/operands.hpp"

namespace kiln::dsl {

void AsyncStores::store_async(std::string_view type, const ClusterAddress& to, Operand value,
                              const RemoteMbarrier& full, Here at) {
  require_feature(isa::Feature::async_store, at);
  rec_->emit(dotted({"st.async.shared::cluster.mbarrier::complete_tx::bytes", type}),
             {address_of(*rec_, to.value, at), std::move(value), address_of(*rec_, full.address.value, at)}, at);
}

void AsyncStores::store_async(ScalarType type, const ClusterAddress& to, const Input& value, const RemoteMbarrier& full,
                              Here at) {
  store_async(isa::bits(type) == 64 ? "b64" : "b32", to, use(*rec_, value), full, at);
}

void AsyncStores::st_async_v2(const ClusterAddress& to, const std::array<U32, 2>& values, const RemoteMbarrier& full,
                              Here at) {
  store_async("v2.b32", to,
              Operand::vector({in_register(*rec_, use(*rec_, values[0], at), at), use(*rec_, values[1], at)}), full,
              at);
}

void AsyncStores::st_async_v4(const ClusterAddress& to, const std::array<U32, 4>& values, const RemoteMbarrier& full,
                              Here at) {
  std::vector<Operand> words;
  for (const U32& v : values) words.push_back(in_register(*rec_, use(*rec_, v, at), at));
  store_async("v4.b32", to, Operand::vector(std::move(words)), full, at);
}

void AsyncStores::st_async_b128(const ClusterAddress& to, const std::array<U64, 2>& halves, const RemoteMbarrier& full,
                                Here at) {
  require_feature(isa::Feature::async_store_128, at);
  const Operand both = rec_->fresh(ScalarType::b128);
  rec_->emit("mov.b128", {both, Operand::vector({use(*rec_, halves[0], at), use(*rec_, halves[1], at)})}, at);
  store_async("b128", to, both, full, at);
}

void AsyncStores::replicate(std::string_view opcode, isa::Scope scope, std::string_view operation, ScalarType type,
                            const U64& to, const Input& value, Here at) {
  require_feature(isa::Feature::multimem_async, at);
  rec_->emit(dotted({opcode, spelling(scope), "global", operation, spelling(type)}),
             {address_of(*rec_, to, at), use(*rec_, value)}, at);
}

}  // namespace kiln::dsl
