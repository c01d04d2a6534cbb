// What was found to be fast: for a product, its sizes, a target and a chip, the kernel and the options to build it
// with. `kiln tune` writes it; what builds `gemm` reads it.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

namespace kiln::harness {

/// What is asked: which product on which chip.
struct TuneKey {
  std::string type{};  // "bf16", as `gemm --type` takes it
  std::uint64_t m = 0, n = 0, k = 0;
  std::string target{}, chip{};  // "sm_100a", "b200"

  bool operator<(const TuneKey& o) const {
    return std::tie(type, target, chip, m, n, k) < std::tie(o.type, o.target, o.chip, o.m, o.n, o.k);
  }
  bool operator==(const TuneKey& o) const { return !(*this < o) && !(o < *this); }
};
/// "bf16 128x4096x4096 for sm_100a on b200".
std::string text(const TuneKey&);

/// What a GPU took.
struct TuneMeasurement {
  std::string device{};          // "NVIDIA H200"
  double us = 0, cublas_us = 0;  // medians; 0: cuBLAS was not measured
  std::uint64_t repetitions = 0;
  bool operator==(const TuneMeasurement&) const = default;
};

/// What was found.
struct TunedStrategy {
  std::string kernel{};                                        // a row of the kernel table
  std::vector<std::pair<std::string, std::string>> options{};  // in their order, as the command takes them
  std::string kiln{}, date{};                                  // the version that found it, and the day: "2026-11-28"
  double clock_ghz = 0;                                        // of the prediction
  double estimated_us = 0, predicted_us = 0, least_us = 0, most_us = 0;
  std::string binds{};                     // the resource or latency that decides, by the prediction
  std::uint64_t legal = 0, predicted = 0;  // strategies that there were, and that were predicted
  std::optional<TuneMeasurement> measured{};
  bool operator==(const TunedStrategy&) const = default;
};

/// An entry as it stands in the file of a cache.
nlohmann::ordered_json entry_json(const TuneKey&, const TunedStrategy&);

/// A cache. It is a file of JSON: docs/tune.md has the form.
class TuneCache {
 public:
  /// Throws InputError naming the document, the place and what must stand there.
  static TuneCache read(std::string_view json, const std::string& document);
  /// That of a file. Throws InputError for a file that is none or cannot be read.
  static TuneCache load(const std::string& path);

  std::string json() const;

  /// Null where nothing is known.
  const TunedStrategy* find(const TuneKey&) const;
  void set(const TuneKey& key, TunedStrategy found) { all_[key] = std::move(found); }
  /// Takes the other's entries over. Of two for one key that stays which was measured, or else is newer.
  void merge(const TuneCache&);
  const std::map<TuneKey, TunedStrategy>& all() const { return all_; }

 private:
  std::map<TuneKey, TunedStrategy> all_{};
};

/// Adds entries to the cache of a file, which need not be there, and replaces the file as a whole. Processes that do so
/// at the same time lose nothing.
void add_to_cache(const std::string& path, const std::map<TuneKey, TunedStrategy>&);

}  // namespace kiln::harness
