// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/net/cassini/soft/driver_counters.hpp"

namespace plnet::cassini::soft {
namespace {

using Count = NicStats::Id;

}  // namespace

std::uint64_t driver_counter(const Nic& nic, unsigned number) {
  const auto get = [&nic](Count id) {
    const std::uint64_t own = nic.tables().stats.get(id);
    return nic.sharing() == nullptr
               ? own
               : own + nic.sharing()->counted_by_others(static_cast<unsigned>(id));
  };
  switch (number) {
    case 393: return get(Count::kPageRequests);
    case 480: return get(Count::kCommands) - get(Count::kTargetCommands);
    case 481: return get(Count::kTargetCommands);
    case 482: return get(Count::kCommandFailures);
    case 536: return get(Count::kLowLatency);
    case 800: return get(Count::kEvents);
    case 812: return get(Count::kEventsDropped);
    case 992: return get(Count::kDelivered);
    case 993: return get(Count::kNoMatch) + get(Count::kRefused);
    case 1047: return get(Count::kRestricted);  // no list is searched for them
    case 1128: return get(Count::kTruncated);
    case 1178: return get(Count::kRestricted);
    case 1302: return get(Count::kAtomicsDone) - get(Count::kCpuAtomics);
    case 1303: return get(Count::kCpuAtomics);
    case 1304: return get(Count::kCpuFetchingAtomics);
    case 1305: return get(Count::kFlushes);
    case 1582: return get(Count::kHrpSent);
    default: return 0;
  }
}

}  // namespace plnet::cassini::soft
