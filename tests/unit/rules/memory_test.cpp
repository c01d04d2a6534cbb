#include "tests/unit/rules/switch.hpp"

#include <initializer_list>
#include <tuple>
#include <utility>

#include "ptx/rules/memory.hpp"

using namespace kiln::rules;
using kiln::test::is_broken;

TEST_CASE("memory-bounds: all bytes, from the first to the last") {
  CHECK(memory_bounds(1024, 16, 1024, 1040).ok());
  CHECK(memory_bounds(1040, 0, 1024, 1040).ok());
  for (auto [at, bytes] : {std::pair{1023u, 16u}, {1025u, 16u}, {1041u, 0u}, {0u, 4u}})
    CHECK(is_broken(memory_bounds(at, bytes, 1024, 1040), Rule::memory_bounds));
  CHECK(is_broken(memory_bounds(~std::uint64_t{0}, 2, 0, 64), Rule::memory_bounds));  // the sum would wrap
}

TEST_CASE("memory-alignment: a power of two") {
  for (std::uint64_t n : {1, 2, 4, 8, 16, 64}) CHECK(memory_alignment(0x40, n).ok());
  CHECK(memory_alignment(7, 1).ok());
  CHECK(is_broken(memory_alignment(0x42, 4), Rule::memory_alignment, 0x44));
}

TEST_CASE("memory-uninitialised, param-read-only: written before read; parameters are never written") {
  CHECK(memory_uninitialised(true).ok());
  CHECK(is_broken(memory_uninitialised(false), Rule::memory_uninitialised));
  CHECK(param_read_only(false).ok());
  CHECK(is_broken(param_read_only(true), Rule::param_read_only));
}

TEST_CASE("shared-remote: .shared::cta is the CTA's own") {
  CHECK(shared_remote(3, 3).ok());
  CHECK(is_broken(shared_remote(1, 0), Rule::shared_remote, 0));
}

TEST_CASE("memory-order: which instruction has which order and scope") {
  using kiln::isa::Scope, kiln::isa::Semantics;
  for (Scope s : {Scope::cta, Scope::cluster}) {
    for (Semantics order : {Semantics::release, Semantics::relaxed}) CHECK(memory_order(Ordered::arrival, order, s).ok());
    for (Semantics order : {Semantics::acquire, Semantics::relaxed}) CHECK(memory_order(Ordered::wait, order, s).ok());
    CHECK(memory_order(Ordered::transaction, Semantics::relaxed, s).ok());
  }
  CHECK(memory_order(Ordered::cluster_arrival, Semantics::release, Scope::none).ok());
  CHECK(memory_order(Ordered::cluster_wait, Semantics::acquire, Scope::none).ok());
  for (Semantics order : {Semantics::sc, Semantics::acq_rel, Semantics::acquire, Semantics::release})
    CHECK(memory_order(Ordered::fence, order, Scope::gpu).ok());
  for (Semantics order : {Semantics::relaxed, Semantics::acquire, Semantics::release, Semantics::acq_rel})
    CHECK(memory_order(Ordered::atomic, order, Scope::gpu).ok());
  for (Semantics order : {Semantics::relaxed, Semantics::acquire})
    CHECK(memory_order(Ordered::load, order, Scope::sys).ok());
  for (Semantics order : {Semantics::relaxed, Semantics::release})
    CHECK(memory_order(Ordered::store, order, Scope::cluster).ok());
  const std::tuple<Ordered, Semantics, Scope> wrong[] = {
      {Ordered::arrival, Semantics::acquire, Scope::cta},         {Ordered::arrival, Semantics::release, Scope::gpu},
      {Ordered::wait, Semantics::release, Scope::cta},            {Ordered::wait, Semantics::acquire, Scope::sys},
      {Ordered::transaction, Semantics::release, Scope::cta},     {Ordered::cluster_arrival, Semantics::acquire, Scope::none},
      {Ordered::cluster_wait, Semantics::acquire, Scope::cluster}, {Ordered::cluster_wait, Semantics::release, Scope::none},
      {Ordered::fence, Semantics::relaxed, Scope::cta},           {Ordered::fence, Semantics::release, Scope::none},
      {Ordered::atomic, Semantics::sc, Scope::gpu},               {Ordered::atomic, Semantics::relaxed, Scope::none},
      {Ordered::load, Semantics::release, Scope::gpu},            {Ordered::load, Semantics::acquire, Scope::none},
      {Ordered::store, Semantics::acquire, Scope::gpu},           {Ordered::store, Semantics::release, Scope::none}};
  for (auto [what, order, scope] : wrong) CHECK(is_broken(memory_order(what, order, scope), Rule::memory_order));
}

TEST_CASE("proxy-fence: stores, the fence, the asynchronous read") {
  CHECK(proxy_fence(true).ok());
  CHECK(is_broken(proxy_fence(false), Rule::proxy_fence));
}
