// CBOR, as texts may hold bytes that are no UTF-8, which JSON does not carry.
#include "tools/command/packed_findings.hpp"

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>

namespace kiln::command {
namespace {

using Json = nlohmann::json;

constexpr int packed_version = 1, no_source = -1;

// The texts that findings point into; the first is the one that both sides have.
class Texts {
 public:
  explicit Texts(const diag::SourcePtr& known) : all_{known} {}

  int number(const diag::SourcePtr& source) {
    if (!source) return no_source;
    const auto found = std::find(all_.begin(), all_.end(), source);
    if (found != all_.end()) return int(found - all_.begin());
    all_.push_back(source);
    return int(all_.size()) - 1;
  }
  Json json() const {
    Json out = Json::array();
    for (std::size_t i = 1; i < all_.size(); ++i) out.push_back({all_[i]->name(), std::string(all_[i]->text())});
    return out;
  }
  void read(const Json& texts) {
    for (const Json& t : texts)
      all_.push_back(std::make_shared<const diag::Source>(t.at(0).get<std::string>(), t.at(1).get<std::string>()));
  }
  diag::SourcePtr at(int number) const { return number == no_source ? nullptr : all_.at(std::size_t(number)); }

 private:
  std::vector<diag::SourcePtr> all_;
};

Json pack_place(diag::Place p) { return {p.begin, p.end}; }
diag::Place unpack_place(const Json& j) { return {j.at(0).get<std::uint32_t>(), j.at(1).get<std::uint32_t>()}; }

Json pack_where(const diag::Where& w, Texts& texts) {
  return {texts.number(w.source), pack_place(w.place), w.file, w.line};
}

diag::Where unpack_where(const Json& j, const Texts& texts) {
  return {texts.at(j.at(0).get<int>()), unpack_place(j.at(1)), j.at(2).get<std::string>(), j.at(3).get<unsigned>()};
}

Json pack_finding(const diag::Diagnostic& d, Texts& texts) {
  Json fixits = Json::array(), notes = Json::array();
  for (const diag::FixIt& f : d.fixits) fixits.push_back({pack_place(f.place), f.text});
  for (const diag::Note& n : d.notes) notes.push_back({n.message, pack_where(n.where, texts)});
  return {int(d.severity), d.slug, d.message, pack_where(d.where, texts), fixits, notes, d.reference};
}

diag::Diagnostic unpack_finding(const Json& j, const Texts& texts) {
  diag::Diagnostic d;
  d.severity = diag::Severity(j.at(0).get<int>());
  d.slug = j.at(1).get<std::string>();
  d.message = j.at(2).get<std::string>();
  d.where = unpack_where(j.at(3), texts);
  for (const Json& f : j.at(4)) d.fixits.push_back({unpack_place(f.at(0)), f.at(1).get<std::string>()});
  for (const Json& n : j.at(5)) d.notes.push_back({n.at(0).get<std::string>(), unpack_where(n.at(1), texts)});
  d.reference = j.at(6).get<std::string>();
  return d;
}

}  // namespace

std::string pack(const Judgement& judgement, const diag::SourcePtr& known) {
  Texts texts(known);
  Json findings = Json::array();
  for (const diag::Diagnostic& d : judgement.found.all()) findings.push_back(pack_finding(d, texts));
  const Json all = {packed_version, int(judgement.global), texts.json(), std::move(findings)};
  std::string out;
  Json::to_cbor(all, out);
  return out;
}

Judgement unpack(const std::string& bytes, const diag::SourcePtr& known) {
  const Json all = Json::from_cbor(bytes);
  if (all.at(0) != packed_version) throw std::runtime_error("findings of another version");
  Texts texts(known);
  texts.read(all.at(2));
  Judgement out;
  out.global = GlobalMemory(all.at(1).get<int>());
  for (const Json& f : all.at(3)) out.found.report(unpack_finding(f, texts));
  return out;
}

}  // namespace kiln::command
