#include "harness/gpu/cuda_timing.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <memory>

#include "harness/gpu/cublas.hpp"
#include "ptx/diag/error.hpp"

namespace kiln::harness {
namespace {

using launch::Contract;

constexpr std::size_t most_ahead = 16;  // repetitions in the stream: a full queue would block the one that waits
constexpr unsigned tries = 3;           // of each of cuBLAS's algorithms

/// Buffers of their own, and what runs over them.
struct Copy {
  Copy(const Gpu& gpu, const TimedWork& work, std::uint64_t d_bytes)
      : buffers(gpu, work.before), d(gpu, d_bytes, "cuBLAS's result") {
    const ParameterContext context{
        [this](const std::string& name) { return buffers.address(name); },
        [&](const std::string& name) { return encode(gpu, buffers, name, work.before.tensor_maps.at(name)); }};
    for (std::size_t i = 0; i < work.before.launches.size(); ++i)
      launches.push_back(
          std::make_unique<DeviceLaunch>(gpu, work.module, work.entries.at(i), work.before.launches[i], context));
  }

  DeviceBuffers buffers;
  DeviceMemory d;
  std::vector<std::unique_ptr<DeviceLaunch>> launches{};
};

/// A timed run of a contract.
class Session {
 public:
  Session(Gpu& gpu, const TimedWork& work, Timing& timing) : gpu_(gpu), work_(work), timing_(timing) {
    open_cublas();
    for (const launch::Buffer& b : work.before.buffers) timing.copy_bytes += b.bytes.size();
    const std::uint64_t d_bytes = cublas_ ? gemm_->d_bytes() : 0;
    const std::uint64_t touched = cublas_ ? std::min(timing.copy_bytes, gemm_->bytes()) : timing.copy_bytes;
    timing.l2_bytes = gpu.attribute(cuda::attribute_l2_bytes);
    const std::uint64_t fitting = gpu.free_bytes() / 10 * 8 / std::max<std::uint64_t>(timing.copy_bytes + d_bytes, 1);
    if (timing.options.l2 == L2State::cold)
      timing.rotation = plan_rotation(touched, timing.l2_bytes, fitting * touched);
    for (std::uint64_t i = 0; i < timing.rotation.copies; ++i)
      copies_.push_back(std::make_unique<Copy>(gpu, work, d_bytes));
    filler_ = std::make_unique<DeviceMemory>(gpu, timing.rotation.filler_bytes, "what is written between repetitions");
    keep_originals();
  }

  std::optional<TimingFailure> run() {
    std::optional<TimingFailure> failure = choose_algorithm();
    if (failure) return failure;
    Times unused;
    if (failure = repeat(timing_.options.warm_up, unused, unused); failure) return failure;
    if (cublas_)
      timing_.cublas = CublasTiming{cublas_->library(), gemm_->shown, cublas_->algorithms(), {}, result_buffer()};
    failure = repeat(timing_.options.repetitions, timing_.times, timing_.cublas ? timing_.cublas->times : unused);
    if (!failure && cublas_) download();
    if (!failure && !work_.kept.empty()) read_back();
    return failure;
  }

 private:
  using Action = std::function<void(const Copy&)>;

  void open_cublas() {
    if (timing_.options.beside == Beside::nothing) {
      timing_.no_cublas = "not asked for";
      return;
    }
    const CublasChoice choice = choose_cublas(work_.before);
    gemm_ = choice.gemm;
    timing_.no_cublas = choice.reason;
    if (!gemm_) return;
    try {
      cublas_ = std::make_unique<Cublas>(gpu_, *gemm_);
    } catch (const diag::InputError& error) {
      timing_.no_cublas = error.what();
    }
  }

  void keep_originals() {
    timing_.restored = buffers_to_restore(work_.before, work_.after);
    for (const std::string& name : timing_.restored) {
      const auto& bytes = work_.before.at(name).bytes;
      originals_.push_back(std::make_unique<DeviceMemory>(gpu_, bytes.size(), "a copy of buffer " + name));
      gpu_.api().check(gpu_.api().cuMemcpyHtoD_v2(originals_.back()->address(), bytes.data(), bytes.size()),
                       "a buffer cannot be copied");
    }
  }

  // What comes before each measurement: the buffers as they must be, the L2 full of something else.
  void prepare(const Copy& copy) const {
    const cuda::Api& api = gpu_.api();
    for (std::size_t i = 0; i < originals_.size(); ++i)
      api.check(api.cuMemcpyDtoDAsync_v2(copy.buffers.address(timing_.restored[i]), originals_[i]->address(),
                                         work_.before.at(timing_.restored[i]).bytes.size(), nullptr),
                "a buffer cannot be restored");
    if (timing_.rotation.filler_bytes)
      api.check(api.cuMemsetD8Async(filler_->address(), 0, timing_.rotation.filler_bytes, nullptr),
                "the L2 cannot be filled");
  }

  void put(Stopwatch& watch, const Action& action) {
    const Copy& copy = *copies_[next_++ % copies_.size()];
    prepare(copy);
    watch.start();
    action(copy);
    watch.stop();
  }

  std::optional<TimingFailure> take(const Stopwatch& watch, const std::string& what, Times& times) const {
    const cuda::Status status = watch.wait(work_.timeout);
    if (status == cuda::not_ready) gpu_.abandoned = true;  // before anything is freed
    if (status != cuda::success) return TimingFailure{status, what};
    times.milliseconds.push_back(watch.milliseconds());
    return std::nullopt;
  }

  void start_launches(const Copy& copy) const {
    for (const auto& l : copy.launches) l->start();
  }
  void start_cublas(std::size_t algorithm, const Copy& copy) const {
    cublas_->start(algorithm, copy.buffers.address(gemm_->a.buffer), copy.buffers.address(gemm_->b.buffer),
                   copy.d.address());
  }

  // Ours and cuBLAS's by turns, a few ahead of the one that is waited for.
  std::optional<TimingFailure> repeat(unsigned count, Times& ours, Times& cublas) {
    std::vector<std::unique_ptr<Stopwatch>> watches, others;
    const auto finish = [&](std::size_t i) -> std::optional<TimingFailure> {
      if (i == count / 2 && count > 1) timing_.state = device_state(gpu_.pci_bus());
      if (auto failure = take(*watches[i], fmt::format("repetition {} of {}", i + 1, count), ours)) return failure;
      return cublas_ ? take(*others[i], "cuBLAS", cublas) : std::nullopt;
    };
    for (std::size_t i = 0; i < count; ++i) {
      if (i >= most_ahead)
        if (auto failure = finish(i - most_ahead)) return failure;
      put(*watches.emplace_back(std::make_unique<Stopwatch>(gpu_)), [this](const Copy& c) { start_launches(c); });
      if (cublas_)
        put(*others.emplace_back(std::make_unique<Stopwatch>(gpu_)),
            [this](const Copy& c) { start_cublas(algorithm_, c); });
    }
    for (std::size_t i = count - std::min<std::size_t>(count, most_ahead); i < count; ++i)
      if (auto failure = finish(i)) return failure;
    return std::nullopt;
  }

  // The fastest of those that the heuristic proposes; one that cannot run is left out.
  std::optional<TimingFailure> choose_algorithm() {
    double best = 0;
    for (std::size_t i = 0; cublas_ && i < cublas_->algorithms(); ++i) {
      Times times;
      for (unsigned t = 0; t <= tries; ++t) {
        Stopwatch watch(gpu_);
        put(watch, [&](const Copy& c) { start_cublas(i, c); });
        if (auto failure = take(watch, "cuBLAS", times)) return failure;
      }
      times.milliseconds.erase(times.milliseconds.begin());
      if (i == 0 || times.median() < best) best = times.median(), algorithm_ = i;
    }
    return std::nullopt;
  }

  launch::Buffer result_buffer() const {
    const launch::Buffer& d = work_.before.at(work_.before.expectations[0].output);
    return {d.name, gemm_->d, d.shape};
  }

  void download() {
    launch::Buffer& d = timing_.cublas->d;
    d.bytes.resize(d.size());
    const Copy& last = *copies_[(next_ - 1) % copies_.size()];
    gpu_.api().check(gpu_.api().cuMemcpyDtoH_v2(d.bytes.data(), last.d.address(), d.bytes.size()),
                     "cuBLAS's result cannot be copied back");
  }

  void read_back() {
    for (const auto& copy : copies_) {
      auto& bytes = timing_.kept.emplace_back(work_.before.at(work_.kept).bytes.size());
      gpu_.api().check(gpu_.api().cuMemcpyDtoH_v2(bytes.data(), copy->buffers.address(work_.kept), bytes.size()),
                       "a buffer cannot be copied back");
    }
  }

  Gpu& gpu_;
  const TimedWork& work_;
  Timing& timing_;
  std::optional<CublasGemm> gemm_{};
  std::unique_ptr<Cublas> cublas_{};
  std::size_t algorithm_ = 0, next_ = 0;
  std::vector<std::unique_ptr<Copy>> copies_{};
  std::vector<std::unique_ptr<DeviceMemory>> originals_{};
  std::unique_ptr<DeviceMemory> filler_{};
};

}  // namespace

std::vector<std::string> buffers_to_restore(const Contract& before, const Contract& after) {
  std::vector<std::string> out;
  for (const launch::Buffer& b : before.buffers)
    if (b.init.kind != launch::Init::Kind::poison && b.bytes != after.at(b.name).bytes) out.push_back(b.name);
  return out;
}

std::optional<TimingFailure> time_launches(Gpu& gpu, const TimedWork& work, const TimingOptions& options,
                                           Timing& timing) {
  timing = {};
  timing.options = options;
  return Session(gpu, work, timing).run();
}

}  // namespace kiln::harness
