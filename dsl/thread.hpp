// One thread: the issuer of TMA, tcgen05.mma and tcgen05.commit.
#pragma once

#include "dsl/tensor_core.hpp"

namespace kiln::dsl {

/// One elected thread.
class Thread : public TensorCore {
 public:
  Thread(Recorder& r, RoleContext& role) : TensorCore(r, role, false) {}

  using TensorCore::loop;
  /// Once for the own tile and for every one that this CTA or pair is given, in the same order in every role.
  template <class Body>
  void loop(const LaunchControlTiles& tiles, Body body, Here at = {}) {
    loop_answered(*this, tiles, body, at);
  }
  /// Asks for one more tile after another until there is none; in the leader where CTAs are paired.
  void hand_out(const LaunchControlTiles& tiles, Here at = {});

  // Here only to say which scope executes them.
  template <class... Args> void load(Args&&...) { refuse<rules::Rule::ld_issuer, Args...>(); }
  template <auto..., class... Args> void tcgen05_ld(Args&&...) { refuse<rules::Rule::ld_issuer, Args...>(); }
  template <auto..., class... Args> void tcgen05_st(Args&&...) { refuse<rules::Rule::ld_issuer, Args...>(); }
  template <class... Args> void elect(Args&&...) { refuse<rules::Rule::warp_issuer, Args...>(); }
  template <auto..., class X, class... Args> X shfl_sync_bfly(const X& x, Args&&...) { return refused(x); }
  template <auto..., class X, class... Args> X shfl_sync_idx(const X& x, Args&&...) { return refused(x); }
  template <auto..., class X, class... Args> X shfl_sync_up(const X& x, Args&&...) { return refused(x); }
  template <auto..., class X, class... Args> X shfl_sync_down(const X& x, Args&&...) { return refused(x); }
  template <class X> X vote_sync_all(const X& x) { return refused(x); }
  template <class X> X vote_sync_any(const X& x) { return refused(x); }
  template <class X> X vote_sync_uni(const X& x) { return refused(x); }
  template <class X> U32 vote_sync_ballot(const X& x) { return refused(x), thread_index(); }
  template <auto..., class X> X redux_sync(const X& x) { return refused(x); }
  template <auto..., class X> X warp_reduce(const X& x) { return refused(x); }
  template <auto..., class... Args> void tcgen05_alloc(Args&&...) { refuse<rules::Rule::warp_issuer, Args...>(); }
  template <auto..., class... Args> void tcgen05_dealloc(Args&&...) { refuse<rules::Rule::warp_issuer, Args...>(); }
  template <int n, class... Args>
  void setmaxnreg_inc(Args&&...) {
    refuse<rules::Rule::warp_issuer, rules::given<n>>();
  }
  template <int n, class... Args>
  void setmaxnreg_dec(Args&&...) {
    refuse<rules::Rule::warp_issuer, rules::given<n>>();
  }

 private:
  template <class X>
  static const X& refused(const X& x) {
    refuse<rules::Rule::warp_issuer, X>();
    return x;
  }
};

}  // namespace kiln::dsl
