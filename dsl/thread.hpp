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
    requires(std::is_invocable_v<Body&, TilePlace>)
  void loop(const LaunchControlTiles& tiles, Body body, Here at = {}) {
    loop_answered(*this, tiles, body, at);
  }
  /// Asks for one more tile after another until there is none; in the leader where CTAs are paired.
  void hand_out(const LaunchControlTiles& tiles, Here at = {});

  // Here only to say which scope executes them.
#define KILN_OF_LOADS(Result, name)                                                                                   \
  template <auto..., class X, class... Args>                                                                          \
    requires(true)                                                                                                    \
  KILN_REFUSED(ld_issuer, "a warpgroup loads and stores: a role of warpgroup<i> [tcgen05-ld-issuer]")                 \
  Result name(const X&, const Args&...);
#define KILN_OF_WARP(Result, name)                                                                                    \
  template <auto..., class X, class... Args>                                                                          \
    requires(true)                                                                                                    \
  KILN_REFUSED(warp_issuer, "a whole warp executes this: a role of warp<i> or warpgroup<i> [dsl-warp-issuer]")        \
  Result name(const X&, const Args&...);
  KILN_OF_LOADS(X, load)
  KILN_OF_LOADS(void, store)
  KILN_OF_LOADS(U32, tcgen05_ld)
  KILN_OF_LOADS(void, tcgen05_st)
  template <class Body>
    requires(true)
  KILN_REFUSED(warp_issuer, "this is one thread already: write what is in the body [dsl-warp-issuer]")
  void elect(Body, Here = {}) {}
  KILN_OTHERWISE(scope, "one thread waits for no others; sync() is of warps and warpgroups [dsl-scope]")
  void sync(KILN_WHATEVER);
  KILN_OTHERWISE(scope, "rows are those of a warpgroup's threads: row() in a role of warpgroup<i> [dsl-scope]")
  U32 row(KILN_WHATEVER) const;
  KILN_OTHERWISE(scope, "which lane elect() takes is not said; lane() is of warps and warpgroups [dsl-scope]")
  U32 lane(KILN_WHATEVER) const;
  KILN_OF_WARP(X, shfl_sync_bfly)
  KILN_OF_WARP(X, shfl_sync_idx)
  KILN_OF_WARP(X, shfl_sync_up)
  KILN_OF_WARP(X, shfl_sync_down)
  KILN_OF_WARP(X, vote_sync_all)
  KILN_OF_WARP(X, vote_sync_any)
  KILN_OF_WARP(X, vote_sync_uni)
  KILN_OF_WARP(U32, vote_sync_ballot)
  KILN_OF_WARP(X, redux_sync)
  KILN_OF_WARP(X, warp_reduce)
  KILN_OF_WARP(void, tcgen05_alloc)
  KILN_OF_WARP(void, tcgen05_dealloc)
  KILN_OF_WARP(void, tcgen05_alloc_exclusive)
  KILN_OF_WARP(void, tcgen05_dealloc_exclusive)
#undef KILN_OF_WARP
#undef KILN_OF_LOADS
  template <class F, class... Args>
    requires(true)
  KILN_REFUSED(warp_issuer, "a whole warp executes this: a role of warp<i> or warpgroup<i> [dsl-warp-issuer]")
  Registers<typename F::element, F::elements> ldmatrix(const Args&...);
  template <class F, class... Args>
    requires(true)
  KILN_REFUSED(warp_issuer, "a whole warp executes this: a role of warp<i> or warpgroup<i> [dsl-warp-issuer]")
  void stmatrix(const Args&...);
  template <int n>
    requires(n >= 0)
  KILN_REFUSED(warp_issuer, "whole warps change their registers: a role of warp<i> or warpgroup<i> [dsl-warp-issuer]")
  void setmaxnreg_inc();
  template <int n>
    requires(n >= 0)
  KILN_REFUSED(warp_issuer, "whole warps change their registers: a role of warp<i> or warpgroup<i> [dsl-warp-issuer]")
  void setmaxnreg_dec();
};

}  // namespace kiln::dsl
