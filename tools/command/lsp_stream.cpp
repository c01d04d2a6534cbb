#include "tools/command/lsp_stream.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>

#include "harness/host/write_all.hpp"
#include "ptx/diag/error.hpp"

namespace kiln::command {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view length_name = "Content-Length:", end_of_header = "\r\n\r\n";
constexpr std::size_t longest = std::size_t{1} << 30;

std::size_t length_in(std::string_view header) {
  const std::size_t at = header.find(length_name);
  if (at == header.npos) throw diag::InputError("a message without Content-Length");
  std::string_view digits = header.substr(at + length_name.size());
  while (digits.starts_with(' ')) digits.remove_prefix(1);
  std::size_t length = 0;
  const auto [end, failed] = std::from_chars(digits.data(), digits.data() + digits.size(), length);
  if (failed != std::errc{} || length > longest) throw diag::InputError("Content-Length is no length");
  return length;
}

}  // namespace

bool LspStream::fill() {
  std::array<char, 1 << 16> chunk;
  ssize_t n = 0;
  while ((n = ::read(from_, chunk.data(), chunk.size())) < 0 && errno == EINTR) {
  }
  if (n > 0) buffer_.append(chunk.data(), std::size_t(n));
  return n > 0;
}

std::optional<Json> LspStream::read() {
  std::size_t header = 0;
  while ((header = buffer_.find(end_of_header)) == buffer_.npos)
    if (!fill()) return std::nullopt;
  const std::size_t begin = header + end_of_header.size();
  const std::size_t length = length_in(std::string_view(buffer_).substr(0, header));
  while (buffer_.size() < begin + length)
    if (!fill()) return std::nullopt;
  const std::string text = buffer_.substr(begin, length);
  buffer_.erase(0, begin + length);
  Json message = Json::parse(text, nullptr, false);
  if (message.is_discarded() || !message.is_object()) throw diag::InputError("a message is no JSON object");
  return message;
}

void LspStream::write(const Json& message) const {
  const std::string text = message.dump(-1, ' ', false, Json::error_handler_t::replace);
  const std::string all = fmt::format("Content-Length: {}\r\n\r\n{}", text.size(), text);
  if (!harness::write_all(to_, all)) throw diag::InputError("the client does not read");
}

bool LspStream::has_more(int milliseconds) const {
  if (!buffer_.empty()) return true;
  pollfd wait{from_, POLLIN, 0};
  return ::poll(&wait, 1, milliseconds) > 0;
}

}  // namespace kiln::command
