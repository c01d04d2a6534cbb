// A JSON value that knows where it stands, so that every complaint can say so.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "ptx/diag/refuse.hpp"

namespace kiln::harness {

using Json = nlohmann::ordered_json;

/// How a place in a document is written: a JSON pointer (/vectors/3/a), or as a program would (vectors[3].a).
enum class JsonPath : std::uint8_t { pointer, subscript };

/// A value, where it stands, and the document's name. The document must outlive it.
class JsonNode {
 public:
  JsonNode(const Json& json, const std::string& document, JsonPath notation = JsonPath::pointer)
      : JsonNode(json, document, notation, "") {}

  const Json& json() const { return *json_; }
  const std::string& path() const { return path_; }

  /// Throws InputError with the place and why it is wrong.
  template <class... Args>
  [[noreturn]] void fail(fmt::format_string<Args...> why, Args&&... args) const {
    const std::string place = path_.empty() && notation_ == JsonPath::pointer ? "/" : path_;
    diag::refuse("{}{}{}: {}", *document_, place.empty() ? "" : ": ", place,
                 fmt::format(why, std::forward<Args>(args)...));
  }

  bool has(const char* key) const { return json_->contains(key); }

  /// The member `key`, which must be there.
  JsonNode at(const char* key) const {
    const auto found = json_->find(key);
    if (found != json_->end()) return child(key, *found);
    if (notation_ == JsonPath::subscript) child(key, *json_).fail("is missing");
    fail("\"{}\" is missing", key);
  }

  /// Calls `with` with the member `key` if it is there.
  template <class With>
  void when(const char* key, With with) const {
    if (const auto found = json_->find(key); found != json_->end()) with(child(key, *found));
  }

  /// Complains unless this is an object with these keys and no others.
  void expect_object(std::initializer_list<std::string_view> keys) const { expect_object(std::vector(keys)); }
  void expect_object(const std::vector<std::string_view>& keys) const {
    expect_object();
    for (const auto& item : json_->items()) {
      if (std::find(keys.begin(), keys.end(), item.key()) == keys.end())
        child(item.key(), item.value()).fail("unknown key; known are {}", fmt::join(keys, ", "));
    }
  }
  void expect_object() const {
    if (!json_->is_object()) fail("must be an object; got {}", shown());
  }

  template <class Each>
  void each_member(Each each) const {
    expect_object();
    for (const auto& item : json_->items()) each(item.key(), child(item.key(), item.value()));
  }

  /// Calls `each(index, node)` for the elements of an array of `least` to `most` elements.
  template <class Each>
  std::size_t each_element(std::size_t least, std::size_t most, Each each) const {
    if (!json_->is_array()) fail("must be an array; got {}", shown());
    const std::size_t n = json_->size();
    if (n < least || n > most)
      least == most ? fail("must have {} elements; got {}", least, n)
                    : fail("must have {} to {} elements; got {}", least, most, n);
    for (std::size_t i = 0; i < n; ++i) each(i, element(i));
    return n;
  }

  std::uint64_t whole(std::uint64_t least = 0, std::uint64_t most = std::numeric_limits<std::uint64_t>::max()) const {
    const bool natural = json_->is_number_unsigned() || (json_->is_number_integer() && json_->get<std::int64_t>() >= 0);
    const std::uint64_t value = natural ? json_->get<std::uint64_t>() : 0;
    if (!natural || value < least || value > most)
      most == std::numeric_limits<std::uint64_t>::max()
          ? fail("must be a whole number of at least {}; got {}", least, shown())
          : fail("must be a whole number from {} to {}; got {}", least, most, shown());
    return value;
  }

  std::int64_t integer(std::int64_t least, std::int64_t most) const {
    const bool large = json_->is_number_unsigned() && json_->get<std::uint64_t>() > std::uint64_t(most);
    const std::int64_t value = json_->is_number_integer() && !large ? json_->get<std::int64_t>() : 0;
    if (!json_->is_number_integer() || large || value < least || value > most)
      fail("must be an integer from {} to {}; got {}", least, most, shown());
    return value;
  }

  double number() const {
    if (!json_->is_number()) fail("must be a number; got {}", shown());
    return json_->get<double>();
  }

  bool truth() const {
    if (!json_->is_boolean()) fail("must be true or false; got {}", shown());
    return json_->get<bool>();
  }

  const std::string& text() const {
    if (!json_->is_string()) fail("must be a string; got {}", shown());
    return json_->get_ref<const std::string&>();
  }

  /// The value as JSON, shortened for a message.
  std::string shown() const {
    std::string s = json_->dump(-1, ' ', false, Json::error_handler_t::replace);
    return s.size() <= 60 ? s : s.substr(0, 57) + "...";
  }

 private:
  JsonNode(const Json& json, const std::string& document, JsonPath notation, std::string path)
      : json_(&json), document_(&document), notation_(notation), path_(std::move(path)) {}

  JsonNode child(std::string_view key, const Json& json) const {
    if (notation_ == JsonPath::subscript)
      return {json, *document_, notation_, path_ + (path_.empty() ? "" : ".") + std::string(key)};
    std::string escaped;
    for (char c : key) c == '~' ? escaped += "~0" : c == '/' ? escaped += "~1" : escaped += c;
    return {json, *document_, notation_, path_ + "/" + escaped};
  }
  JsonNode element(std::size_t i) const {
    const bool pointer = notation_ == JsonPath::pointer;
    return {(*json_)[i], *document_, notation_,
            path_ + (pointer ? "/" : "[") + std::to_string(i) + (pointer ? "" : "]")};
  }

  const Json* json_;
  const std::string* document_;
  JsonPath notation_;
  std::string path_;
};

/// Parses a document. Throws InputError with line and column for bad JSON, and for duplicate keys.
Json parse_json(std::string_view text, const std::string& name);

}  // namespace kiln::harness
