// SPDX-License-Identifier: BSD-3-Clause
// libcxi's functions for counting events and for the counters of a device. The numbers of the
// counters are those of shs-cassini-headers (cassini_cntr_defs.h); those that the software NIC has
// no equivalent of are 0.
#include <algorithm>
#include <array>
#include <cerrno>

#include "drivers/net/cassini/soft/libcxi_functions.hpp"
#include "drivers/net/cassini/soft/libcxi_objects.hpp"
#include "drivers/net/cassini/soft/process_memory.hpp"

namespace plnet::cassini::libcxi {
namespace {

using soft::behind;
using soft::Gate;
using Count = soft::NicStats::Id;

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

constexpr unsigned kCommandsOfTransmitQueues = 480;  // CQ_SUCCESS_TX_CNTR
constexpr unsigned kMessagesRefused = 993;           // LPE_FAIL_CNTR

struct Counted {
  unsigned number;
  Count count;
};
constexpr auto kCounted = std::to_array<Counted>({
    {393, Count::kPageRequests},     // ATU_ODP_REQUESTS_0
    {481, Count::kTargetCommands},   // CQ_SUCCESS_TGT_CNTR
    {482, Count::kCommandFailures},  // CQ_FAIL_TX_CNTR
    {536, Count::kLowLatency},       // CQ_NUM_LL_CMDS_0
    {800, Count::kEvents},           // EE_EVENTS_ENQUEUED_CNTR_0
    {812, Count::kEventsDropped},    // EE_EVENTS_DROPPED_ORDINARY_CNTR_0
    {992, Count::kDelivered},        // LPE_SUCCESS_CNTR
    {1047, Count::kRestricted},      // LPE_PLEC_HITS: no list is searched for them
    {1128, Count::kTruncated},       // LPE_NUM_TRUNCATED_0
    {1178, Count::kRestricted},      // IXE_RX_PTL_RESTRICTED_PKT
    {1305, Count::kFlushes},         // IXE_DMAWR_FLUSH_REQS
    {1582, Count::kHrpSent},         // HNI_HRP_ACK
});

bool is_known(unsigned number) {
  return std::ranges::any_of(kNumbers, [number](const Numbers& some) {
    return number >= some.first && number <= some.last;
  });
}

std::uint64_t value_of(const soft::Nic& nic, unsigned number) {
  const soft::NicStats& stats = nic.tables().stats;
  if (number == kCommandsOfTransmitQueues)
    return stats.get(Count::kCommands) - stats.get(Count::kTargetCommands);
  if (number == kMessagesRefused) return stats.get(Count::kNoMatch) + stats.get(Count::kRefused);
  const auto found = std::ranges::find(kCounted, number, &Counted::number);
  return found == kCounted.end() ? 0 : stats.get(found->count);
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
    values[i] = value_of(object.nic, numbers[i]);
  }
  tell_time(object, time);
  return 0;
}

int cxil_read_all_cntrs(Device* device, std::uint64_t* values, timespec* time) {
  if (device == nullptr || values == nullptr) return -EINVAL;
  auto& object = behind<soft::DeviceObject>(device);
  for (unsigned number = 0; number < kCounterIds; ++number)
    values[number] = is_known(number) ? value_of(object.nic, number) : 0;
  tell_time(object, time);
  return 0;
}

}  // namespace plnet::cassini::libcxi
