// What the driver's management library tells about a GPU that is at work. It is loaded at run time and may be missing.
#pragma once

#include <string>

#include "harness/measure/cuda_result.hpp"

namespace kiln::harness {

/// Of the GPU on that PCI bus.
DeviceState device_state(const std::string& pci_bus);

}  // namespace kiln::harness
