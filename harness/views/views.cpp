#include "harness/views/views.hpp"

#include <optional>

#include "harness/host/files.hpp"
#include "harness/views/pictures.hpp"
#include "harness/views/trace_json.hpp"
#include "ptx/diag/error.hpp"
#include "sim/core/fanout.hpp"
#include "sim/views/memory_map.hpp"
#include "sim/views/tracer.hpp"

namespace kiln::harness {
void check_views(const ViewOptions& o) {
  if (!o.trace.empty()) check_writable(o.trace);
  if (!o.maps.empty()) make_folder(o.maps);
}

struct Views::State {
  sim::Tracer tracer{};
  sim::MemoryMapper mapper{};
  std::optional<sim::Fanout> all{};
};

Views::Views(const ViewOptions& options) : options_(options), state_(std::make_unique<State>()) {
  std::vector<sim::Observer*> wanted;
  if (!options.trace.empty()) wanted.push_back(&state_->tracer);
  if (!options.maps.empty()) wanted.push_back(&state_->mapper);
  if (!wanted.empty()) state_->all.emplace(std::move(wanted));
}

Views::~Views() = default;

sim::Observer* Views::observer() { return state_->all ? &*state_->all : nullptr; }

std::vector<std::string> Views::write(const std::string& kernel) {
  std::vector<std::string> written;
  if (!options_.trace.empty()) {
    write_file(options_.trace, trace_json(state_->tracer.take(), kernel));
    written.push_back(options_.trace);
  }
  if (options_.maps.empty()) return written;
  for (const sim::MemoryMap& map : state_->mapper.take()) {
    const std::string cta = ".cta" + std::to_string(map.rank) + ".svg";
    const auto put = [&](const char* name, const std::string& picture) {
      written.push_back(options_.maps + "/" + name + cta);
      write_file(written.back(), picture);
    };
    put("tensor-memory", tensor_memory_picture(map));
    put("shared-memory", shared_memory_picture(map));
  }
  return written;
}

}  // namespace kiln::harness
