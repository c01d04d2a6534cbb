#include "ptx/isa/modifiers.hpp"

#include <unordered_map>

namespace kiln::isa {

#define FIELD(Type, member)              \
  std::string_view spelling(Type value) { \
    using E = Type;                      \
    switch (value) {                     \
      case E::none: return "";
#define VALUE(id, text) \
  case E::id: return text;
#define END()  \
  }            \
  return "";   \
  }
#include "ptx/isa/modifiers.def"

namespace {

// Sets one member; false when it was set before (".sync" may be repeated, as ptxas lets it be).
using Setter = bool (*)(Modifiers&);

template <auto member, auto value>
bool set_field(Modifiers& m) {
  if (m.*member != decltype(value)::none) return false;
  m.*member = value;
  return true;
}

template <auto member>
bool set_flag(Modifiers& m) {
  const bool first = !(m.*member);
  m.*member = true;
  return first || member == &Modifiers::sync;
}

const std::unordered_map<std::string_view, Setter>& setters() {
  static const std::unordered_map<std::string_view, Setter> map = [] {
    std::unordered_map<std::string_view, Setter> m;
#define FIELD(Type, member)                      \
  {                                              \
    using E = Type;                              \
    constexpr auto where = &Modifiers::member;
#define VALUE(id, text) m.emplace(text, &set_field<where, E::id>);
#define END() }
#define FLAG(member, text) m.emplace(text, &set_flag<&Modifiers::member>);
#include "ptx/isa/modifiers.def"
    return m;
  }();
  return map;
}

bool take_type(Modifiers& m, std::string_view text) {
  const auto type = parse_type(text);
  if (!type || m.types.count == m.types.at.size()) return false;
  m.types.at[m.types.count++] = *type;
  return true;
}

bool take_space(Modifiers& m, std::string_view text) {
  const auto space = parse_space(text);
  if (!space || m.spaces.count == m.spaces.at.size()) return false;
  m.spaces.at[m.spaces.count++] = *space;
  return true;
}

}  // namespace

Modifiers decode_modifiers(std::span<const std::string> written) {
  Modifiers m;
  for (const std::string& text : written) {
    if (take_type(m, text) || take_space(m, text)) continue;
    const auto setter = setters().find(text);
    if (setter == setters().end()) m.others.push_back(text);
    else if (!setter->second(m)) m.repeated.push_back(text);
  }
  return m;
}

}  // namespace kiln::isa
