#include "harness/views/trace_json.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace kiln::harness {
namespace {

using Json = nlohmann::ordered_json;

std::string quoted(const std::string& text) { return Json(text).dump(-1, ' ', false, Json::error_handler_t::replace); }

std::string arguments(const sim::TraceArguments& list) {
  std::string out;
  for (const auto& [name, value] : list) {
    const auto* number = std::get_if<std::int64_t>(&value);
    out += fmt::format("{}{}:{}", out.empty() ? "" : ",", quoted(name),
                       number ? fmt::format("{}", *number) : quoted(std::get<std::string>(value)));
  }
  return "{" + out + "}";
}

// The format's unit, with three decimals where a tick is less than that.
std::string microseconds(sim::Tick ticks, std::uint32_t per_microsecond) {
  if (per_microsecond == 1) return fmt::format("{}", ticks);
  return fmt::format("{:.3f}", double(ticks) / per_microsecond);
}

/// The events one after the other; runs of millions of events are not worth a tree.
class Writer {
 public:
  explicit Writer(std::uint32_t per_microsecond) : per_microsecond_(per_microsecond) {}
  std::string time(sim::Tick ticks) const { return microseconds(ticks, per_microsecond_); }
  template <class... Values>
  void event(fmt::format_string<Values...> format, Values&&... values) {
    text_ += first_ ? "\n{" : ",\n{";
    first_ = false;
    fmt::format_to(std::back_inserter(text_), format, std::forward<Values>(values)...);
    text_ += "}";
  }
  std::string take() { return std::move(text_); }

 private:
  std::string text_;
  bool first_ = true;
  std::uint32_t per_microsecond_;
};

void names(Writer& w, const sim::Trace& trace) {
  for (const sim::TraceProcess& p : trace.processes)
    w.event(R"("ph":"M","name":"process_name","pid":{},"args":{{"name":{}}})", p.number, quoted(p.name));
  for (const sim::TraceTrack& t : trace.tracks) {
    w.event(R"("ph":"M","name":"thread_name","pid":{},"tid":{},"args":{{"name":{}}})", t.process, t.number,
            quoted(t.name));
    w.event(R"("ph":"M","name":"thread_sort_index","pid":{},"tid":{},"args":{{"sort_index":{}}})", t.process, t.number,
            t.number);
  }
}

void counter(Writer& w, const sim::TraceCounter& c) {
  std::string values;
  for (const auto& [name, value] : c.values)
    values += fmt::format(R"({}"{}":{})", values.empty() ? "" : ",", name, value);
  w.event(R"("ph":"C","pid":{},"ts":{},"name":{},"args":{{{}}})", c.process, w.time(c.at), quoted(c.name), values);
}

}  // namespace

std::string trace_json(const sim::Trace& trace, const std::string& name, const TraceClock& clock) {
  Writer w(clock.ticks_per_microsecond);
  names(w, trace);
  for (const sim::TraceSlice& s : trace.slices)
    w.event(R"("ph":"X","pid":{},"tid":{},"ts":{},"dur":{},"name":{},"args":{})", s.process, s.track, w.time(s.begin),
            w.time(s.end - s.begin), quoted(s.name), arguments(s.arguments));
  for (const sim::TraceSpan& s : trace.spans) {
    w.event(R"("ph":"b","cat":"{}","id":{},"pid":{},"tid":0,"ts":{},"name":{},"args":{})", s.category, s.id, s.process,
            w.time(s.begin), quoted(s.name), arguments(s.arguments));
    w.event(R"("ph":"e","cat":"{}","id":{},"pid":{},"tid":0,"ts":{},"name":{})", s.category, s.id, s.process,
            w.time(s.end), quoted(s.name));
  }
  for (const sim::TraceCounter& c : trace.counters) counter(w, c);
  const std::string clusters = clock.clusters.empty() ? std::string() : ",\"clusters\":" + quoted(clock.clusters);
  return fmt::format(
      "{{\"displayTimeUnit\":\"ms\",\n\"otherData\":{{\"kernel\":{},\"clock\":{}{}}},\n\"traceEvents\":[{}\n]}}\n",
      quoted(name), quoted(clock.note), clusters, w.take());
}

}  // namespace kiln::harness
