// A chip as data: what its resources are and how long they take. Every number has a unit, a source and a trust, so that
// a prediction can say how sure it is.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ptx/isa/mma_form.hpp"

namespace kiln::timing {

/// `a`: raw data or code seen, and consistent with a second source. `b`: one careful measurement. `c`: a single claim,
/// an inference, or the same number of another chip.
enum class Trust : std::uint8_t { a, b, c };
std::string_view spelling(Trust);

/// How far a number of that trust may be off, as a fraction of it.
constexpr double tolerance(Trust t) { return t == Trust::a ? 0.02 : t == Trust::b ? 0.10 : 0.30; }

enum class FactKind : std::uint8_t { size, cycles, microseconds, rate };
/// The chips that a fact is about.
enum class TensorCore : std::uint8_t { all, tcgen05, wgmma };
std::string_view spelling(TensorCore);

enum class FactId : std::uint8_t {
#define FACT(name, kind, unit, chips, what) name,
#include "timing/facts.def"
};

/// A row of facts.def.
struct FactInfo {
  std::string_view name{}, unit{}, what{};
  FactKind kind = FactKind::size;
  TensorCore chips = TensorCore::all;
};
inline constexpr FactInfo facts[] = {
#define FACT(name, kind, unit, chips, what) {#name, #unit, what, FactKind::kind, TensorCore::chips},
#include "timing/facts.def"
};
inline constexpr std::size_t fact_count = std::size(facts);

struct Fact {
  double value = 0;
  Trust trust = Trust::c;
  std::string source{};  // a key of Chip::sources
  double spread = 0;     // half of the range that the middle half of a measurement's samples lies in; 0: not known
  std::string note{};    // may be empty
};

/// A number that was measured, and that no fact holds.
struct Observation {
  std::string what{}, unit{};
  double value = 0, spread = 0;
};

/// Where facts come from.
struct Source {
  std::string key{}, title{}, licence{};
};

/// What was measured of one form of tcgen05.mma, by N: cycles between two starts, from the issue of one to the
/// instruction after the wait for it, and once where a second one follows before the pipe is empty.
struct MmaTimes {
  std::vector<isa::MmaKind> kinds{};
  bool a_in_tmem = false;
  int members = 1;  // CTAs
  int m = 0;        // of all of them
  std::vector<double> n{}, interval{}, latency{}, refill{};
  Trust trust = Trust::c;
  std::string source{};
};

/// The same of wgmma, a warpgroup's m64: cycles between two starts, by N.
struct WgmmaTimes {
  std::vector<double> n{}, interval{};
  Trust trust = Trust::c;
  std::string source{};
};

struct Correction;

struct Chip {
  std::string name{}, title{};
  TensorCore core = TensorCore::tcgen05;
  std::vector<Source> sources{};
  std::array<Fact, fact_count> values{};
  std::vector<MmaTimes> mma{};
  WgmmaTimes wgmma{};
  std::vector<Observation> observed{};
  std::shared_ptr<const Correction> gemms{};  // of what `estimate` says of GEMMs, where such chips were measured

  double operator[](FactId id) const { return values[std::size_t(id)].value; }
  const Fact& fact(FactId id) const { return values[std::size_t(id)]; }
};

/// The chip with every time (and rate) as far from its value as its trust allows: `slower` or faster.
Chip bent(Chip, bool slower);

/// The same for one fact, the others as they are.
Chip bent(Chip, FactId, bool slower);
/// The same for the times of the tensor core's instructions.
Chip bent_tensor_core(Chip, bool slower);

/// The SM clock in GHz while the tensor cores are busy for a fraction of the time, and what the trust of the chip's law
/// leaves of it.
struct Clock {
  double value = 0, least = 0, most = 0;
};
Clock clock_under(const Chip&, double tensor_use);

/// What a launch keeps busy: parts of its cycles, of all SMs.
struct Activity {
  double cycles = 0;
  double tensor = 0, copies = 0;  // the tensor cores, and the copy engines
};
/// The SM clock of such a launch. On a chip with wgmma it follows the launch's power after a while: what multiplies and
/// what brings operands take power together, so their sum counts squared.
Clock clock_of(const Chip&, const Activity&);

/// Clusters of so many CTAs that are resident at once, one CTA to an SM; one at least.
std::uint64_t resident_clusters(const Chip&, std::size_t ctas);

/// What each of the SMs at work has of what all of them share.
struct Share {
  double ingest_rate = 0;   // bytes a cycle from L2
  double own_rate = 0;      // the same of what no other SM reads
  double split_rate = 0;    // and of rows that lie in two lines
  double hbm_rate = 0;      // bytes a cycle from HBM
  double store_line = 0;    // cycles of a stored line, at least
  double store_sector = 0;  // and of each of its sectors
  double store_rate = 0;    // bytes a cycle of bulk stores
};
Share share_of(const Chip&, double busy_sms);

/// What one MMA takes.
struct MmaTime {
  double interval = 0, latency = 0, refill = 0;
  bool exact = false;  // the form was measured; else it is timed as the nearest one that was
};
/// `m`, `n`: of the whole MMA.
MmaTime mma_time(const Chip&, isa::MmaKind kind, bool a_in_tmem, int members, int m, int n);
/// Cycles that a wgmma of a warpgroup occupies the tensor core.
double wgmma_interval(const Chip&, int n);

}  // namespace kiln::timing
