#include "tools/command/assume.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>

#include "ptx/diag/error.hpp"
#include "ptx/isa/launch_limits.hpp"
#include "ptx/isa/targets.hpp"

namespace kiln::command {
namespace {

constexpr std::uint32_t most_parameters = 4096;  // more than PTX allows bytes of them

template <class T>
std::optional<T> read_number(std::string_view text) {
  T number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} && end == text.data() + text.size() ? std::optional(number) : std::nullopt;
}

// "8", "16x8" or "4x2x2"; nothing where their product is more than `most`.
std::optional<std::array<std::uint32_t, 3>> read_extents(std::string_view text, std::uint64_t most) {
  std::array<std::uint32_t, 3> out{1, 1, 1};
  std::uint64_t volume = 1;
  for (std::uint32_t& extent : out) {
    const std::size_t end = std::min(text.find('x'), text.size());
    const auto number = read_number<std::uint32_t>(text.substr(0, end));
    if (!number || *number == 0 || (volume *= *number) > most) return std::nullopt;
    extent = *number;
    if (end == text.size()) return out;
    text.remove_prefix(end + 1);
  }
  return std::nullopt;
}

// A number as a parameter holds it: negative ones by their two's complement.
std::optional<std::uint64_t> read_word(std::string_view text) {
  if (const auto word = read_number<std::uint64_t>(text)) return word;
  const auto number = read_number<std::int64_t>(text);
  return number ? std::optional(std::uint64_t(*number)) : std::nullopt;
}

// False for what is no fact.
bool read_fact(std::string_view name, std::string_view value, verifier::LaunchFacts& out) {
  const auto extents = [&](std::array<std::uint32_t, 3>& to, std::uint64_t most) {
    const auto read = read_extents(value, most);
    if (read) to = *read;
    return read.has_value();
  };
  if (name == "block") return extents(out.block, isa::max_threads_per_cta);
  if (name == "cluster") return extents(out.cluster, isa::max_cluster);
  if (name == "grid") return extents(out.grid, ~std::uint32_t{0} >> 1);
  if (name == "smem") {
    out.dynamic_shared = read_number<std::uint32_t>(value);
    return out.dynamic_shared && std::int64_t(*out.dynamic_shared) <= isa::max_shared_bytes({});
  }
  if (!name.starts_with("param")) return false;
  const auto index = read_number<std::uint32_t>(name.substr(5));
  const auto word = read_word(value);
  if (!index || *index > most_parameters || !word) return false;
  out.parameters[*index] = *word;
  return true;
}

}  // namespace

const char* const assume_words =
    "block=N (threads), cluster=N or grid=N (CTAs), where N may be 16x8; smem=BYTES of dynamic shared memory; "
    "paramI=NUMBER, "
    "where param0 is the first parameter";

verifier::LaunchFacts read_facts(const std::vector<std::string>& assumed) {
  verifier::LaunchFacts out;
  for (const std::string_view fact : assumed) {
    const std::size_t equals = fact.find('=');
    if (equals == fact.npos || !read_fact(fact.substr(0, equals), fact.substr(equals + 1), out))
      throw diag::InputError(fmt::format("--assume {}: {}; up to {} threads, {} CTAs to a cluster, {} bytes", fact,
                                         assume_words, isa::max_threads_per_cta, isa::max_cluster,
                                         isa::max_shared_bytes({})));
  }
  return out;
}

}  // namespace kiln::command
