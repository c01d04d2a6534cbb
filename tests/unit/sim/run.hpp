// Runs PTX written in a test.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "ptx/diag/render.hpp"
#include "ptx/parse/parse.hpp"
#include "sim/simulate.hpp"

namespace kiln::test {

/// The result of a run.
struct Run {
  sim::Result result{};
  launch::Contract contract{};
  diag::Sink sink{};

  std::string findings() const { return diag::render_text(sink); }
  bool has(const std::string& text) const { return findings().find(text) != std::string::npos; }
  /// It came to its end without an error; portability findings are allowed.
  bool clean() const {
    return result.outcome == sim::Outcome::finished && !sink.has_errors() && !sink.incomplete();
  }
  template <class T>
  std::vector<T> read(const std::string& buffer) const {
    const auto& bytes = contract.find(buffer)->bytes;
    std::vector<T> out(bytes.size() / sizeof(T));
    std::memcpy(out.data(), bytes.data(), bytes.size());
    return out;
  }
};

inline launch::Buffer buffer(std::string name, std::size_t bytes, launch::Init::Kind init = launch::Init::Kind::zeros) {
  launch::Buffer b;
  b.name = std::move(name);
  b.shape = {bytes};
  b.init.kind = init;
  b.bytes.assign(bytes, 0);
  return b;
}

template <class T>
launch::Buffer filled(std::string name, const std::vector<T>& values) {
  launch::Buffer b = buffer(std::move(name), values.size() * sizeof(T));
  if (!values.empty()) std::memcpy(b.bytes.data(), values.data(), b.bytes.size());
  return b;
}

inline launch::Param scalar(isa::ScalarType type, std::uint64_t bits) { return {launch::ScalarParam{type, bits}}; }
inline launch::Param pointer(std::string name) { return {launch::PointerParam{std::move(name), 0}}; }
inline launch::Param map(std::string name) { return {launch::TensorMapParam{std::move(name)}}; }

inline const std::string head = ".version 8.8\n.target sm_100a\n.address_size 64\n";

inline Run run(const std::string& ptx, launch::Contract contract, sim::Options options = {},
               sim::Observer* observer = nullptr) {
  Run r;
  r.contract = std::move(contract);
  const auto source = std::make_shared<const diag::Source>("test.ptx", ptx);
  const ir::Module module = parse::parse(source, r.sink);
  if (!r.sink.has_errors())
    r.result = sim::simulate(module, r.contract, options, r.sink, observer);
  else
    r.result.outcome = sim::Outcome::fault;
  return r;
}

/// A kernel `k` with one pointer parameter `out`, held in %out; `declarations` stand before it.
inline std::string kernel(const std::string& body, const std::string& declarations = "") {
  return head + declarations +
         ".visible .entry k(.param .u64 out) {\n"
         ".reg .pred %p<20>; .reg .b16 %h<20>; .reg .b32 %r<200>; .reg .b64 %rd<50>; .reg .f32 %f<50>; .reg .f64 "
         "%fd<20>;\n"
         ".reg .b64 %out;\n"
         "ld.param.u64 %out, [out];\n" +
         body + "\nret;\n}\n";
}

/// Runs kernel(body) on `threads` threads with an output buffer of `words` 32-bit words.
inline Run run_kernel(const std::string& text, std::uint32_t threads = 1, std::size_t words = 64,
                      sim::Options options = {}, sim::Observer* observer = nullptr) {
  launch::Contract c;
  c.buffers.push_back(buffer("out", words * 4));
  launch::Launch l;
  l.block = {threads, 1, 1};
  l.params = {pointer("out")};
  c.launches.push_back(l);
  return run(text, c, options, observer);
}

}  // namespace kiln::test
