// The classes of synchronisation bugs that mutants stand for, by number, and how severe a report must be to kill one.
#pragma once

#include <string_view>

namespace kiln::mutation {

/// Whether a wrong result kills a mutant of a class: it is the best witness that there can be.
enum class Values : unsigned char { no, best };

struct BugClass {
  int number = 0;
  std::string_view about;
  Values values = Values::no;
};

/// How bad a report a mutant must earn: an error, or at least a portability finding.
enum class Profile : char { error = 'E', portability = 'P' };

inline constexpr BugClass taxonomy[] = {
    {1, "wrong parity"},
    {2, "arrivals and count differ"},
    {3, "expected bytes differ from delivered"},
    {4, "bytes expected on the wrong mbarrier, or of no phase"},
    {5, "mbarrier not initialised, or twice"},
    {6, "mbarrier.init not published"},
    {8, "elected lane speaks before its warp"},
    {9, "wrong stage or barrier"},
    {10, "remote arrival: wrong CTA or scope"},
    {13, "refilled while the consumer reads"},
    {14, "read before full"},
    {15, "source of a store reused"},
    {16, ".read where completion is needed"},
    {17, "issued by more than one thread"},
    {18, "shared alignment or bounds of a copy"},
    {20, "multicast mask"},
    {21, "coordinates, fill outside the tensor", Values::best},
    {22, "generic write, asynchronous read, no proxy fence"},
    {23, "generic read, asynchronous write, no proxy fence"},
    {24, "proxy fence too late, too early, of the wrong space"},
    {25, "cp.async data without a wait or a proxy fence"},
    {26, "commit before mma, or missing"},
    {27, "mma to ld without commit and wait"},
    {28, "signal without wait::st"},
    {29, "no wait::ld"},
    {30, "no tcgen05.fence"},
    {33, "accumulator reused before it was drained"},
    {34, "accumulate flag", Values::best},
    {35, "commit mask"},
    {36, "address of the allocation not published"},
    {37, "no allocation, or too small"},
    {38, "dealloc while in use"},
    {39, "leak, wrong dealloc"},
    {40, "allocation permit"},
    {42, "lanes of another warp"},
    {43, "overlapping columns"},
    {44, "instruction descriptor: shape and types"},
    {45, "columns outside the allocation"},
    {46, "descriptor strides"},
    {47, "swizzle of copy and descriptor differ"},
    {48, "descriptor address"},
    {49, "scale factors", Values::best},
    {50, "major-ness and signs", Values::best},
    {53, ".aligned under divergence"},
    {54, "named barrier: number, count"},
    {55, "exit while a peer still needs the CTA"},
    {56, "remote access before the peer started"},
    {59, "dependent launch: read before griddepcontrol.wait"},
    {60, "flags: too narrow scope, missing order"},
};

constexpr const BugClass* find_class(int number) {
  for (const BugClass& c : taxonomy)
    if (c.number == number) return &c;
  return nullptr;
}

}  // namespace kiln::mutation
