#include "tests/unit/num/vectors.hpp"

#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

#ifndef KILN_TEST_DATA
#define KILN_TEST_DATA "tests/data"
#endif

namespace kiln::num::test {
namespace {

using nlohmann::json;

MmaKind kind_of(const std::string& name) {
  const std::pair<const char*, MmaKind> names[] = {
      {"tf32", MmaKind::tf32},         {"f16", MmaKind::f16},   {"f8f6f4", MmaKind::f8f6f4},    {"i8", MmaKind::i8},
      {"mxf8f6f4", MmaKind::mxf8f6f4}, {"mxf4", MmaKind::mxf4}, {"mxf4nvf4", MmaKind::mxf4nvf4}};
  for (const auto& [text, kind] : names)
    if (name == text) return kind;
  throw std::runtime_error("unknown kind " + name);
}

template <class T>
std::vector<T> list(const json& j, const char* key) {
  return j.contains(key) ? j.at(key).get<std::vector<T>>() : std::vector<T>{};
}

// The file gives A at its full logical length; the instruction sees only what the metadata keeps.
std::vector<std::uint32_t> compress(const Vector& v) {
  std::vector<std::uint32_t> stored(v.a.size() / 2);
  for (std::size_t slot = 0; slot < stored.size(); ++slot)
    stored[slot] = v.a[static_cast<std::size_t>(sparse_column(v.spec.kind, static_cast<int>(slot), v.metadata))];
  return stored;
}

Vector read(const json& j) {
  Vector v;
  v.id = j.at("id");
  v.spec.kind = kind_of(j.at("kind"));
  v.spec.a = isa::parse_type(j.at("a_fmt").get<std::string>()).value();
  v.spec.b = isa::parse_type(j.at("b_fmt").get<std::string>()).value();
  v.spec.d = isa::parse_type(j.at("d_fmt").get<std::string>()).value();
  if (j.contains("scale_fmt")) v.spec.scale = isa::parse_type(j.at("scale_fmt").get<std::string>()).value();
  v.spec.scale_vector = j.value("scale_vec", 0);
  v.spec.saturate = j.value("sat", false);
  v.a = list<std::uint32_t>(j, "a");
  v.b = list<std::uint32_t>(j, "b");
  v.metadata = list<std::uint32_t>(j, "meta");
  v.scale_a = list<std::uint8_t>(j, "sa");
  v.scale_b = list<std::uint8_t>(j, "sb");
  v.c = j.at("c");
  v.expect = j.at("expect");
  v.spec.sparse = !v.metadata.empty();
  if (v.spec.sparse) v.a = compress(v);
  return v;
}

std::vector<Vector> load() {
  std::ifstream file(KILN_TEST_DATA "/num/b200_vectors.json");
  std::vector<Vector> all;
  const json document = json::parse(file);
  for (const json& j : document.at("vectors")) all.push_back(read(j));
  return all;
}

}  // namespace

const std::vector<Vector>& vectors() {
  static const std::vector<Vector> all = load();
  return all;
}

std::uint32_t run(const Vector& v, const DotSpec& spec) {
  return dot(spec, v.a, v.b, v.c, {v.scale_a, v.scale_b, v.metadata});
}

}  // namespace kiln::num::test
