// What the driver's management library tells about a GPU that is at work; loaded at run time, and nobody's business
// when it is not there.
#pragma once

#include <string>

namespace kiln::harness {

/// Clocks and power at one moment; 0 and empty: not known.
struct DeviceState {
  std::string driver{};  // "580.159.04"
  unsigned sm_mhz = 0, sm_most_mhz = 0, memory_mhz = 0;
  double watts = 0, watts_allowed = 0;
};

/// Of the GPU on that PCI bus.
DeviceState device_state(const std::string& pci_bus);

}  // namespace kiln::harness
