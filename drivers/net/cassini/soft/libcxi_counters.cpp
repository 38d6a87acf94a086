// SPDX-License-Identifier: BSD-3-Clause
// libcxi's functions for counting events and for the counters of a device. The numbers of the
// counters are those of shs-cassini-headers (cassini_cntr_defs.h); those that the software NIC has
// no equivalent of are 0.
#include <algorithm>
#include <array>
#include <cerrno>

#include "drivers/net/cassini/soft/driver_counters.hpp"
#include "drivers/net/cassini/soft/libcxi_functions.hpp"
#include "drivers/net/cassini/soft/libcxi_objects.hpp"
#include "drivers/net/cassini/soft/process_memory.hpp"

namespace plnet::cassini::libcxi {
namespace {

using soft::behind;
using soft::Gate;

struct Numbers {
  unsigned first, last;
};
// Numbers between these are not used.
constexpr auto kNumbers = std::to_array<Numbers>(
    {{96, 157},    {224, 273},   {288, 337},   {343, 415},   {480, 488},   {492, 579},
     {592, 609},   {612, 618},   {626, 651},   {672, 733},   {736, 783},   {800, 925},
     {932, 946},   {992, 995},   {997, 1001},  {1007, 1027}, {1033, 1033}, {1035, 1035},
     {1037, 1135}, {1152, 1153}, {1156, 1165}, {1168, 1194}, {1216, 1291}, {1296, 1315},
     {1320, 1328}, {1336, 1373}, {1384, 1395}, {1400, 1407}, {1416, 1416}, {1504, 1506},
     {1508, 1508}, {1512, 1626}, {1628, 1723}, {1725, 1802}, {1806, 1970}});

bool is_known(unsigned number) {
  return std::ranges::any_of(kNumbers, [number](const Numbers& some) {
    return number >= some.first && number <= some.last;
  });
}

// The NIC's own clock, which stands still while the NIC does.
void tell_time(soft::DeviceObject& device, timespec* time) {
  if (time == nullptr) return;
  constexpr std::uint64_t kNsPerSecond = 1'000'000'000;
  const Gate::Held held(device.gate());
  const std::uint64_t now_ns = device.nic.tables().now_ns;
  time->tv_sec = static_cast<std::time_t>(now_ns / kNsPerSecond);
  time->tv_nsec = static_cast<long>(now_ns % kNsPerSecond);
}

// The NIC writes both values at any time from now on.
bool can_write_back(const void* writeback) {
  constexpr std::size_t kBytes = 8;
  return writeback == nullptr || soft::look_at_memory(writeback, kBytes).writable;
}

}  // namespace

int cxil_alloc_ct(Lni* lni, void* writeback, CountingEvent** counter) {
  if (lni == nullptr || counter == nullptr) return -EINVAL;
  auto& owner = behind<soft::LniObject>(lni);
  if (!can_write_back(writeback)) return -EFAULT;
  const Gate::Held held(owner.gate());
  const auto number = owner.nic.make_counter(owner.key, writeback);
  if (!number) return -number.error();
  auto& made = owner.add<soft::CounterObject>(*number);
  made.doorbell = &owner.nic.counter_doorbell(*number)->success.value;
  made.number = *number;
  made.writeback = writeback;
  *counter = &made;
  return 0;
}

int cxil_ct_wb_update(CountingEvent* counter, void* writeback) {
  if (counter == nullptr || writeback == nullptr) return -EINVAL;
  auto& object = behind<soft::CounterObject>(counter);
  if (!can_write_back(writeback)) return -EFAULT;
  const Gate::Held held(object.gate());
  const auto done = object.nic.set_writeback(object.key, writeback);
  if (done) counter->writeback = writeback;
  return soft::result_of(done);
}

int cxil_destroy_ct(CountingEvent* counter) {
  return soft::destroy<soft::CounterObject>(counter);
}

int cxil_read_cntr(Device* device, unsigned number, std::uint64_t* value, timespec* time) {
  return cxil_read_n_cntrs(device, 1, &number, value, time);
}

int cxil_read_n_cntrs(Device* device, unsigned count, const unsigned* numbers,
                      std::uint64_t* values, timespec* time) {
  if (device == nullptr || numbers == nullptr || values == nullptr || count == 0 ||
      count > kCountersRead)
    return -EINVAL;
  auto& object = behind<soft::DeviceObject>(device);
  for (unsigned i = 0; i < count; ++i) {
    if (!is_known(numbers[i])) return -EINVAL;
    values[i] = soft::driver_counter(object.nic, numbers[i]);
  }
  tell_time(object, time);
  return 0;
}

int cxil_read_all_cntrs(Device* device, std::uint64_t* values, timespec* time) {
  if (device == nullptr || values == nullptr) return -EINVAL;
  auto& object = behind<soft::DeviceObject>(device);
  for (unsigned number = 0; number < kCounterIds; ++number)
    values[number] = is_known(number) ? soft::driver_counter(object.nic, number) : 0;
  tell_time(object, time);
  return 0;
}

}  // namespace plnet::cassini::libcxi
