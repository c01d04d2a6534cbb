// How the registers of a CTA are shared out. An engine with 128 sums in a thread needs more than an equal share. The
// other threads need as many as they have live values at a time. A role that only one whole warpgroup has may need more
// than the rest of the kernel; then setmaxnreg stands at its beginning too.
#include "lower/plan/passes.hpp"

#include <algorithm>

#include "ptx/flow/liveness.hpp"
#include "ptx/isa/launch_limits.hpp"

namespace kiln::lower {
namespace {

constexpr std::uint32_t warpgroup = 128;  // threads
constexpr std::uint32_t step = isa::setmaxnreg_step, most = 240;
// What the code that replaces tcgen05 needs, and what ptxas needs beyond live values; chosen by what ptxas spills.
constexpr std::uint32_t least = 48, margin = 12;
// What the engine gets beyond its need, before the others get more: ptxas then loads operands earlier. An engine that
// also loads scales or metadata gets no more, since ptxas would use it for them until it spills.
constexpr std::uint32_t ease_of_operands = 24, ease_of_more = 0;

constexpr std::uint32_t rounded_up(std::uint32_t n) { return (n + step - 1) / step * step; }

class Sharing {
 public:
  Sharing(const Facts& f, Plan& p) : f_(f), p_(p) {
    for (const Form& form : p.forms)
      if (form.scales || form.expands) ease_ = ease_of_more;
  }

  void run(std::uint32_t engine_needs) {
    measure();
    const std::uint32_t need = std::min(rounded_up(engine_needs), most);
    if (share_alike(need)) return;
    p_.engine_registers = need;
    raise_roles();
    if (taken() > all()) return squeeze(need);
    while (more(p_.engine_registers, need + ease_, engine_threads())) {
    }
    for (auto& [at, registers] : p_.raises)
      while (more(registers, most, warpgroup)) {
      }
  }

 private:
  std::uint32_t all() const { return p_.first_registers() * p_.cta_threads(); }
  std::uint32_t engine_threads() const { return p_.engine_warps * 32; }
  std::uint32_t rest(std::uint32_t engine) const {
    return std::min(isa::registers_for_the_rest(p_.cta_threads(), engine_threads(), engine), most);
  }

  // Gives all other threads the same number, if that is enough for each role.
  bool share_alike(std::uint32_t need) {
    std::uint32_t wants = wanted(elsewhere_);
    for (const std::uint32_t alive : in_role_) wants = std::max(wants, wanted(alive));
    const std::uint32_t eased = std::min(need + ease_, most);
    if (eased * engine_threads() >= all() || rest(eased) < wants) return false;
    p_.engine_registers = eased;
    p_.other_registers = rest(eased);
    return true;
  }

  void raise_roles() {
    p_.other_registers = wanted(elsewhere_);
    for (std::uint32_t g = 0; g < in_role_.size(); ++g)
      if (start_[g] && wanted(in_role_[g]) > p_.other_registers)
        p_.raises[f_.cfg.blocks[*start_[g]].first] = wanted(in_role_[g]);
  }

  // The engine gets what it needs, and all others the same share of the rest, unless that is less than `bare`.
  void squeeze(std::uint32_t need) {
    constexpr std::uint32_t bare = 40;  // for threads that only store what they load
    p_.raises.clear();
    p_.engine_registers = need;
    p_.other_registers = need * engine_threads() < all() ? rest(need) : 0;
    if (p_.other_registers >= bare) return;
    p_.other_registers = bare;
    p_.engine_registers = std::min(isa::registers_for_the_rest(p_.cta_threads(), p_.first_engine_thread, bare), most);
  }

  std::uint32_t taken() const {
    std::uint32_t out = p_.engine_registers * engine_threads() + p_.other_registers * p_.first_engine_thread;
    for (const auto& [at, registers] : p_.raises) out += warpgroup * (registers - p_.other_registers);
    return out;
  }

  // Gives this many threads one step more, if there is one left.
  bool more(std::uint32_t& registers, std::uint32_t limit, std::uint32_t threads) const {
    if (registers + step > std::min(limit, most) || taken() + step * threads > all()) return false;
    registers += step;
    return true;
  }

  // Finds the most live words in each warpgroup's role, and in the rest of the kernel.
  void measure() {
    const flow::Liveness live(f_.code, f_.cfg, f_.definitions);
    in_role_.resize(p_.first_engine_thread / warpgroup);
    for (std::uint32_t g = 0; g < in_role_.size(); ++g) start_.push_back(start_of_role(g));
    for (std::uint32_t i = 0; i < f_.code.operations.size(); ++i) {
      const auto role = role_of(i);
      std::uint32_t& alive = role ? in_role_[*role] : elsewhere_;
      alive = std::max(alive, live.words_at(i));
    }
  }

  static std::uint32_t wanted(std::uint32_t alive) { return std::clamp(rounded_up(alive + margin), least, most); }

  // The first block that all threads of this warpgroup, and no others, execute, and that they execute once.
  std::optional<flow::BlockId> start_of_role(std::uint32_t group) const {
    flow::ThreadSet own;
    for (std::uint32_t t = 0; t < warpgroup; ++t) own.set(group * warpgroup + t);
    for (const flow::BlockId b : f_.cfg.reverse_post_order) {
      const flow::BasicBlock& block = f_.cfg.blocks[b];
      if (block.first == block.last || f_.code.operations[block.first].guard) continue;
      if (f_.uniformity.threads_at(block.first) == own && f_.uniformity.is_exact(block.first) && !f_.cfg.repeats(b))
        return b;
    }
    return std::nullopt;
  }

  std::optional<std::uint32_t> role_of(std::uint32_t operation) const {
    const flow::BlockId b = f_.cfg.block_of(operation);
    for (std::uint32_t g = 0; g < start_.size(); ++g)
      if (start_[g] && f_.cfg.reachable(b) && f_.cfg.dominates(*start_[g], b)) return g;
    return std::nullopt;
  }

  const Facts& f_;
  Plan& p_;
  std::vector<std::optional<flow::BlockId>> start_{};  // of roles, by warpgroup
  std::vector<std::uint32_t> in_role_{};
  std::uint32_t elsewhere_ = 0;
  std::uint32_t ease_ = ease_of_operands;
};

}  // namespace

void share_registers(const Facts& facts, Plan& plan, std::uint32_t engine_needs) {
  Sharing(facts, plan).run(engine_needs);
}

}  // namespace kiln::lower
