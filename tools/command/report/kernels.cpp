#include "tools/command/report/kernels.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <filesystem>

#include "dsl/module.hpp"
#include "ptx/diag/error.hpp"
#include "tools/command/report/version.hpp"

namespace kiln::command {
namespace {

std::vector<dsl::Entry>& kernels() {
  static std::vector<dsl::Entry> all(dsl::kernel_table().begin(), dsl::kernel_table().end());
  return all;
}

}  // namespace

void load_kernels(const std::string& path) {
  // With a slash in it the name means this file alone.
  const std::string file = std::filesystem::absolute(path).string();
  void* object = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!object) throw diag::InputError(fmt::format("{}: cannot be loaded: {}", path, ::dlerror()));
  const auto* module = static_cast<const dsl::KernelModule*>(::dlsym(object, dsl::module_symbol));
  if (!module)
    throw diag::InputError(fmt::format("{}: no kernels are in it; kiln_add_module (CMake) makes such a file", path));
  if (module->version != version())
    throw diag::InputError(
        fmt::format("{}: was compiled for Kiln {}, and this is {}", path, module->version, version()));
  if (module->sizes != dsl::module_sizes())
    throw diag::InputError(
        fmt::format("{}: was compiled with other headers, or by a compiler that lays out types in another way", path));
  const auto found = module->kernels();
  kernels().insert(kernels().begin(), found.begin(), found.end());
}

const std::vector<dsl::Entry>& offered_kernels() { return kernels(); }

}  // namespace kiln::command
