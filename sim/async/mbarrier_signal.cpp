#include "sim/async/mbarrier_signal.hpp"

namespace kiln::sim {

void mirror_mbarrier(Cta& cta, std::uint32_t address) {
  const Mbarrier* b = cta.mbarriers.find(address);
  const std::uint64_t word = b ? b->word() : ~std::uint64_t{0};
  cta.shared.write(address, &word, sizeof word);
}

void publish_mbarrier(Cta& cta, std::uint32_t address, bool flipped) {
  mirror_mbarrier(cta, address);
  if (!flipped) {
    ++cta.cluster->stamp;
    return;
  }
  if (Observer* o = cta.cluster->grid.observer)
    o->sync({}, nullptr, {SyncKind::mbarrier_phase, cta.index, address, cta.mbarriers.at(address).phase, 0});
  cta.cluster->changed(WaitKind::mbarrier);
}

void signal_mbarrier(Cta& cta, std::uint32_t address, std::int64_t arrivals, std::int64_t bytes, AsyncId by,
                     const ir::Operation* operation) {
  if (Observer* o = cta.cluster->grid.observer; o && by)
    o->sync({}, operation,
            {arrivals ? SyncKind::mbarrier_arrive : SyncKind::mbarrier_complete, cta.index, address,
             arrivals ? cta.mbarriers.at(address).phase : std::uint64_t(bytes), by});
  if (const ir::Operation* by_event = cta.cluster->actor.operation) {
    Mbarrier& b = cta.mbarriers.at(address);
    b.arrived({by_event, b.phase, 0, 0, 0});
  }
  publish_mbarrier(cta, address, arrivals ? cta.mbarriers.arrive(address, arrivals) : cta.mbarriers.complete(address, bytes));
}

}  // namespace kiln::sim
