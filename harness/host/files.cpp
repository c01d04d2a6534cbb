#include "harness/host/files.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "ptx/diag/error.hpp"

namespace kiln::harness {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const std::string& path, const std::string& why) { throw diag::InputError(path + ": " + why); }

std::string reason() { return errno ? std::strerror(errno) : "input/output error"; }

void write_through(const std::string& path, std::span<const std::uint8_t> bytes, const std::string& shown) {
  errno = 0;
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  if (!out) fail(shown, "cannot be written: " + reason());
  out.write(reinterpret_cast<const char*>(bytes.data()), std::streamsize(bytes.size()));
  out.close();
  if (!out) fail(shown, "cannot be written: " + reason());
}

}  // namespace

std::vector<std::uint8_t> read_file(const std::string& path) {
  std::error_code status;
  if (fs::is_directory(path, status)) fail(path, "is a directory");
  errno = 0;
  std::ifstream in(path, std::ios::binary);
  if (!in) fail(path, reason());
  std::vector<std::uint8_t> bytes;
  std::vector<char> chunk(1 << 20);
  while (in.read(chunk.data(), std::streamsize(chunk.size())), in.gcount() > 0)
    bytes.insert(bytes.end(), chunk.data(), chunk.data() + in.gcount());
  if (in.bad()) fail(path, "cannot be read");
  return bytes;
}

void write_file(const std::string& path, std::span<const std::uint8_t> bytes) {
  std::error_code status;
  if (fs::is_directory(path, status)) fail(path, "is a directory");
  // A pipe or a device cannot be renamed over; a link must stay a link.
  if (fs::exists(path, status) && !fs::is_regular_file(path, status)) return write_through(path, bytes, path);
  const fs::path resolved = fs::weakly_canonical(path, status);
  const std::string target = status ? path : resolved.string();
  const std::string partial = target + ".partial." + std::to_string(::getpid());
  try {
    write_through(partial, bytes, path);
  } catch (...) {
    fs::remove(partial, status);
    throw;
  }
  if (const fs::file_status was = fs::status(target, status); fs::is_regular_file(was))
    fs::permissions(partial, was.permissions(), status);  // what the file was for stays
  fs::rename(partial, target, status);
  if (!status) return;
  const std::string why = status.message();
  fs::remove(partial, status);
  fail(path, "cannot be written: " + why);
}

void write_file(const std::string& path, std::string_view text) {
  write_file(path, std::span(reinterpret_cast<const std::uint8_t*>(text.data()), text.size()));
}

void check_writable(const std::string& path) {
  std::error_code status;
  if (fs::is_directory(path, status)) fail(path, "is a directory");
  const fs::path folder = fs::path(path).parent_path();
  errno = 0;
  if (::access(folder.empty() ? "." : folder.c_str(), W_OK) != 0) fail(path, "cannot be written: " + reason());
}

void make_folder(const std::string& path) {
  std::error_code status;
  fs::create_directories(path, status);
  if (fs::is_directory(path)) return;
  if (!status) status = std::make_error_code(std::errc::not_a_directory);
  fail(path, "cannot be made a folder: " + status.message());
}

std::string path_from(const std::string& folder, const std::string& path) {
  if (folder.empty() || fs::path(path).is_absolute()) return path;
  return (fs::path(folder) / path).lexically_normal().string();
}

TemporaryFolder::TemporaryFolder() {
  std::error_code status;
  const fs::path base = fs::temp_directory_path(status);
  std::string name = ((status ? fs::path("/tmp") : base) / "kiln.XXXXXX").string();
  if (!::mkdtemp(name.data())) fail(name, std::string("no temporary folder: ") + std::strerror(errno));
  path_ = name;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

}  // namespace kiln::harness
