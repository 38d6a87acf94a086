// SPDX-License-Identifier: BSD-3-Clause
// libcxi's functions that reach into the hardware. The software NIC has no registers, no SBus and
// no SerDes: an administrator gets -EOPNOTSUPP, everybody else -EPERM as on hardware.
#include <cerrno>

#include "drivers/net/cassini/soft/libcxi_caller.hpp"
#include "drivers/net/cassini/soft/libcxi_functions.hpp"
#include "drivers/net/cassini/soft/libcxi_objects.hpp"

namespace plnet::cassini::libcxi {
namespace {

int refuse(const Device* device) {
  if (device == nullptr) return -EINVAL;
  return soft::is_administrator() ? -EOPNOTSUPP : -EPERM;
}

}  // namespace

int cxil_map_csr(Device* device) {
  return refuse(device);
}

// Registers that were not mapped cannot be read or written: what libcxi answers then.
int cxil_read_csr(Device* /*device*/, unsigned /*address*/, void* /*value*/,
                  std::size_t /*length*/) {
  return -EINVAL;
}

int cxil_write_csr(Device* /*device*/, unsigned /*address*/, const void* /*value*/,
                   std::size_t /*length*/) {
  return -EINVAL;
}

int cxil_write8_csr(Device* /*device*/, unsigned /*address*/, unsigned /*offset*/,
                    const void* /*value*/, std::size_t /*length*/) {
  return -EINVAL;
}

int cxil_sbus_op(Device* device, const SbusRequest* request, std::uint32_t* /*data*/,
                 std::uint8_t* /*result*/, std::uint8_t* /*overrun*/) {
  return request == nullptr ? -EINVAL : refuse(device);
}

int cxil_sbus_op_compat(Device* device, int /*ring*/, std::uint32_t /*data*/,
                        std::uint8_t /*data_address*/, std::uint8_t /*receiver*/,
                        std::uint8_t /*command*/, std::uint32_t* /*answer*/,
                        std::uint8_t* /*result*/, std::uint8_t* /*overrun*/, int /*timeout*/,
                        unsigned flags) {
  // One of seven delays and one of four intervals (libcxi_priv.h: SBL_FLAG_DELAY_3US and others).
  constexpr unsigned kDelays = 0x7f, kIntervals = 0x780;
  if ((flags & kDelays) == 0 || (flags & kIntervals) == 0) return -EINVAL;
  return refuse(device);
}

int cxil_sbus_op_reset(Device* device) {
  return refuse(device);
}

int cxil_sbus_op_reset_compat(Device* device, int /*ring*/) {
  return refuse(device);
}

int cxil_serdes_op(Device* device, int /*port*/, std::uint64_t /*which*/,
                   std::uint64_t /*operation*/, std::uint64_t /*data*/, std::uint16_t* /*result*/,
                   int /*timeout*/, unsigned /*flags*/) {
  return refuse(device);
}

// Nothing waits between a software NIC and memory.
int cxil_inbound_wait(Device* device) {
  return device == nullptr ? -EINVAL : 0;
}

int cxil_get_amo_remap_to_pcie_fadd(Device* device, int* operation) {
  if (device == nullptr || operation == nullptr) return -EINVAL;
  auto& object = soft::behind<soft::DeviceObject>(device);
  const soft::Gate::Held held(object.gate());
  *operation = object.nic.read_atomic_remap();
  return 0;
}

// The driver knows these no more (cxi-abi.h: "obsoleted").
#define PLNET_OBSOLETE(name) \
  int cxil_##name() {        \
    return -EOPNOTSUPP;      \
  }
PLNET_OBSOLETE(read_n_cntrs_with_hdr)
PLNET_OBSOLETE(get_telemetry)
PLNET_OBSOLETE(reserve_cntr_pool_id)
PLNET_OBSOLETE(release_cntr_pool_id)
PLNET_OBSOLETE(get_telemetry_refresh_interval)
PLNET_OBSOLETE(set_telemetry_refresh_interval)
#undef PLNET_OBSOLETE

}  // namespace plnet::cassini::libcxi
