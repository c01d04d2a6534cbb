// The simulator against a GPU, byte for byte: the same PTX text and launch contract on both, and every buffer compared.
//
//   gpu_compare [--keep FOLDER | --recorded FOLDER] [--note FILE] CASE.json...
//   gpu_compare --noted FILE CASE.json...
//
// CASE.json is a launch contract beside CASE.ptx. --keep writes what the GPU left in the buffers; --recorded compares
// with that and needs no GPU. --note adds a digest of each buffer to a file; --noted compares with those, and needs
// nothing else. A buffer `approx ...` holds f32 results of functions that no standard defines to the last
// bit: their distance is reported, and is no difference.
#include <fmt/format.h>
#include <unistd.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "harness/contract/contract_json.hpp"
#include "harness/entry/entry.hpp"
#include "harness/gpu/cuda_driver.hpp"
#include "harness/host/files.hpp"
#include "harness/problem/element.hpp"
#include "harness/problem/fill.hpp"
#include "harness/ptxas/ptxas.hpp"
#include "ptx/diag/error.hpp"
#include "ptx/diag/render.hpp"
#include "ptx/parse/parse.hpp"
#include "sim/simulate.hpp"
#include "tests/skip.hpp"

namespace {

using namespace kiln;
using Bytes = std::vector<std::uint8_t>;
constexpr int skipped = 77;
constexpr std::uint64_t shown_per_buffer = 3;

struct Options {
  std::string keep{}, recorded{}, note{}, noted{};
  std::vector<std::string> cases{};
};

struct Tally {
  std::uint64_t bytes = 0, differences = 0;  // differences in elements
};

/// A case as both engines take it.
struct Case {
  std::string name{};
  diag::SourcePtr source{};
  ir::Module module{};
  launch::Contract contract{};
};

[[noreturn]] void give_up(const std::string& what, const diag::Sink& sink) {
  throw diag::InputError(what + "\n" + diag::render_text(sink));
}

Case read_case(const std::string& json) {
  const std::filesystem::path path(json);
  Case c;
  c.name = path.stem().string();
  const std::string ptx = std::filesystem::path(path).replace_extension(".ptx");
  const Bytes text = harness::read_file(ptx);
  c.source = std::make_shared<const diag::Source>(ptx, std::string(text.begin(), text.end()));
  c.contract = harness::read_contract_file(json);
  diag::Sink sink;
  c.module = parse::parse(c.source, sink);
  if (!sink.has_errors()) harness::check_contract(c.contract, json, sink);
  if (sink.has_errors()) give_up(c.name + ": cannot be used", sink);
  harness::check_fits(c.module, c.contract);
  harness::fill(c.contract, path.parent_path());
  return c;
}

std::string record_of(const std::string& folder, const Case& c) { return folder + "/" + c.name + ".words"; }

// Buffers that the GPU left as they were are not written: they are the contract's.
void keep(const std::string& folder, const Case& c, const launch::Contract& result) {
  Bytes out;
  for (std::size_t i = 0; i < result.buffers.size(); ++i) {
    const Bytes& bytes = result.buffers[i].bytes;
    const bool changed = bytes != c.contract.buffers[i].bytes;
    out.push_back(changed);
    if (changed) out.insert(out.end(), bytes.begin(), bytes.end());
  }
  harness::write_file(record_of(folder, c), out);
}

void recall(const std::string& folder, const Case& c, launch::Contract& contract) {
  const Bytes in = harness::read_file(record_of(folder, c));
  std::size_t at = 0;
  for (launch::Buffer& b : contract.buffers) {
    const std::size_t size = at < in.size() && in[at] != 0 ? b.bytes.size() : 0;
    if (at + 1 + size > in.size()) throw diag::InputError(c.name + ": the record was made of another contract");
    if (size != 0) std::memcpy(b.bytes.data(), in.data() + at + 1, size);
    at += 1 + size;
  }
}

void run_on_gpu(const Case& c, launch::Contract& contract) {
  const harness::Ptxas ptxas = harness::find_ptxas();
  if (!ptxas.found()) throw diag::InputError(ptxas.missing);
  const isa::Target target = c.module.target().value();
  diag::Sink sink;
  const harness::Assembly assembly = harness::assemble(ptxas, c.source, target, sink);
  if (assembly.status != harness::Assembly::Status::assembled)
    give_up(fmt::format("{}: ptxas: {}", c.name, assembly.reason), sink);
  const harness::CudaJob job{assembly.cubin, target, harness::entry_names(c.module, contract)};
  const harness::CudaResult result = harness::cuda_run(job, contract);
  if (result.outcome == harness::CudaResult::Outcome::finished) return;
  fmt::print("FAIL {}: {}\n", c.name, result.reason);
  std::fflush(stdout);
  std::_Exit(1);  // after a hang nothing can be torn down, after a fault nothing else runs
}

// One run is enough for races; what a case is about is its bytes.
void run_on_simulator(const Case& c, launch::Contract& contract) {
  diag::Sink sink;
  sim::Options options;
  options.detect_races = contract.launches.size() < 2;
  const sim::Result result = sim::simulate(c.module, contract, options, sink);
  if (result.outcome != sim::Outcome::finished || sink.has_errors() || sink.incomplete())
    give_up(fmt::format("{}: the simulator: {}", c.name, sim::spelling(result.outcome)), sink);
}

bool is_approximate(const launch::Buffer& b) { return b.name.starts_with("approx"); }

// FNV-1a.
std::uint64_t digest(const Bytes& bytes) {
  std::uint64_t hash = 0xCBF29CE484222325;
  for (const std::uint8_t b : bytes) hash = (hash ^ b) * 0x100000001B3;
  return hash;
}

// What a launch changed, a line for each buffer: digest, case, buffer.
std::string noted_line(const Case& c, const launch::Buffer& b) {
  return fmt::format("{:016x} {} {}\n", digest(b.bytes), c.name, b.name);
}

void note(const std::string& path, const Case& c, const launch::Contract& result) {
  std::string text;
  if (std::filesystem::exists(path)) {
    const Bytes before = harness::read_file(path);
    text.assign(before.begin(), before.end());
  }
  for (std::size_t i = 0; i < result.buffers.size(); ++i) {
    const launch::Buffer& b = result.buffers[i];
    if (!is_approximate(b) && b.bytes != c.contract.buffers[i].bytes) text += noted_line(c, b);
  }
  harness::write_file(path, text);
}

// The simulator against digests. A buffer without one must be as it was.
Tally compare_noted(const Case& c, const std::string& path) {
  launch::Contract simulated = c.contract;
  run_on_simulator(c, simulated);
  const Bytes file = harness::read_file(path);
  const std::string text(file.begin(), file.end());
  Tally tally;
  for (std::size_t i = 0; i < simulated.buffers.size(); ++i) {
    const launch::Buffer& b = simulated.buffers[i];
    if (is_approximate(b)) continue;
    const bool untouched = b.bytes == c.contract.buffers[i].bytes;
    const bool known = text.find(fmt::format(" {} {}\n", c.name, b.name)) != std::string::npos;
    tally.bytes += known ? b.bytes.size() : 0;
    if (known ? text.find(noted_line(c, b)) != std::string::npos : untouched) continue;
    fmt::print("  {} [{}]: not what the GPU left\n", c.name, b.name);
    ++tally.differences;
  }
  return tally;
}

// f32 words that lie so many representable numbers apart.
std::uint64_t distance(std::uint64_t a, std::uint64_t b) {
  const auto place = [](std::uint64_t w) { return w >> 31 & 1 ? -std::int64_t(w & 0x7FFFFFFF) : std::int64_t(w); };
  const auto is_nan = [](std::uint64_t w) { return (w & 0x7FFFFFFF) > 0x7F800000; };
  if (is_nan(a) && is_nan(b)) return 0;
  if (is_nan(a) || is_nan(b)) return ~std::uint64_t{0};
  return std::uint64_t(std::abs(place(a) - place(b)));
}

// The words that buffers of the same extent and named as operands hold at an element.
std::string operands_at(const launch::Contract& contract, const launch::Buffer& of, std::uint64_t index) {
  std::string out;
  for (const launch::Buffer& b : contract.buffers)
    if (b.name.size() == 1 && b.elements() == of.elements())
      out += fmt::format(", {} {:x}", b.name, harness::load_element(b.bytes, b.dtype, index));
  return out;
}

void compare_buffer(const Case& c, const launch::Contract& simulated, const launch::Buffer& mine,
                    const launch::Buffer& gpu, Tally& tally) {
  const bool approximate = is_approximate(mine);
  std::uint64_t wrong = 0, furthest = 0, furthest_at = 0;
  if (mine.bytes != gpu.bytes || approximate)
    for (std::uint64_t i = 0; i < mine.elements(); ++i) {
      const std::uint64_t a = harness::load_element(mine.bytes, mine.dtype, i);
      const std::uint64_t b = harness::load_element(gpu.bytes, gpu.dtype, i);
      if (a == b) continue;
      if (approximate && distance(a, b) > furthest) furthest = distance(a, b), furthest_at = i;
      if (!approximate && wrong++ < shown_per_buffer)
        fmt::print("  {} [{}] at byte {}: simulator {:x}, GPU {:x}{}\n", c.name, mine.name,
                   i * std::uint64_t(isa::bits(mine.dtype)) / 8, a, b, operands_at(simulated, mine, i));
    }
  if (wrong != 0) fmt::print("  {} [{}]: {} of {} elements differ\n", c.name, mine.name, wrong, mine.elements());
  if (approximate)
    fmt::print("  {} [{}]: at most {} ulp apart, at element {}{}\n", c.name, mine.name, furthest, furthest_at,
               operands_at(simulated, mine, furthest_at));
  if (!approximate) tally.bytes += mine.bytes.size();
  tally.differences += wrong;
}

void print_outcome(const Case& c, const Tally& tally) {
  fmt::print("{} {}: {} launches, {} bytes compared, {} differences\n", tally.differences == 0 ? "ok  " : "FAIL",
             c.name, c.contract.launches.size(), tally.bytes, tally.differences);
}

Tally compare_case(const std::string& json, const Options& options) {
  const Case c = read_case(json);
  if (!options.noted.empty()) {
    const Tally tally = compare_noted(c, options.noted);
    print_outcome(c, tally);
    return tally;
  }
  launch::Contract gpu = c.contract, simulated = c.contract;
  if (options.recorded.empty())
    run_on_gpu(c, gpu);
  else
    recall(options.recorded, c, gpu);
  if (!options.keep.empty()) keep(options.keep, c, gpu);
  if (!options.note.empty()) note(options.note, c, gpu);
  run_on_simulator(c, simulated);
  Tally tally;
  for (std::size_t i = 0; i < gpu.buffers.size(); ++i)
    if (gpu.buffers[i].bytes != c.contract.buffers[i].bytes || simulated.buffers[i].bytes != gpu.buffers[i].bytes)
      compare_buffer(c, simulated, simulated.buffers[i], gpu.buffers[i], tally);
  print_outcome(c, tally);
  return tally;
}

Options read_arguments(int count, char** words) {
  Options o;
  const std::map<std::string, std::string*> with_value = {
      {"--keep", &o.keep}, {"--recorded", &o.recorded}, {"--note", &o.note}, {"--noted", &o.noted}};
  for (int i = 1; i < count; ++i) {
    const auto option = with_value.find(words[i]);
    if (option != with_value.end() && i + 1 < count)
      *option->second = words[++i];
    else
      o.cases.push_back(words[i]);
  }
  return o;
}

}  // namespace

int main(int count, char** words) {
  const Options options = read_arguments(count, words);
  if (options.cases.empty()) {
    fmt::print(stderr,
               "usage: gpu_compare [--keep FOLDER | --recorded FOLDER | --noted FILE] [--note FILE] CASE.json...\n");
    return 2;
  }
  if (options.recorded.empty() && options.noted.empty() && ::access("/dev/nvidiactl", F_OK) != 0 &&
      ::access("/dev/nvidia0", F_OK) != 0) {
    test::skip("gpu: there is no /dev/nvidia0 here");
    return skipped;
  }
  int failures = 0;
  for (const std::string& json : options.cases) try {
      failures += compare_case(json, options).differences != 0;
      std::fflush(stdout);
    } catch (const std::exception& e) {
      fmt::print("FAIL {}: {}\n", json, e.what());
      ++failures;
    }
  return failures != 0;
}
