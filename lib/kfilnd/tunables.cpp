// SPDX-License-Identifier: BSD-3-Clause
#include "lib/kfilnd/tunables.hpp"

#include <algorithm>
#include <array>
#include <bit>

#include "lib/kfilnd/wire.hpp"

namespace plnet::kfilnd {

namespace {

constexpr auto kTable = std::to_array<TunableInfo>({
#define PLNET_X(name, initial, least, most, help) \
  {#name, initial, least, most, help, &Tunables::name},
    PLNET_KFILND_TUNABLES(PLNET_X)
#undef PLNET_X
});
static_assert(std::ranges::all_of(kTable, [](const TunableInfo& info) {
  return info.least <= info.initial && info.initial <= info.most;
}));

struct NamedClass {
  std::string_view name;
  TrafficClass value;
};
constexpr auto kClasses = std::to_array<NamedClass>({
    {"best_effort", TrafficClass::kBestEffort},
    {"low_latency", TrafficClass::kLowLatency},
    {"dedicated_access", TrafficClass::kDedicatedAccess},
    {"bulk_data", TrafficClass::kBulkData},
    {"scavenger", TrafficClass::kScavenger},
    {"network_ctrl", TrafficClass::kNetworkCtrl},
});

constexpr std::uint32_t kPageBytes = 4096;

}  // namespace

std::span<const TunableInfo> tunable_table() {
  return kTable;
}

Result<void> set_tunable(Tunables& tunables, std::string_view name, std::int64_t value) {
  const auto found = std::ranges::find(kTable, name, &TunableInfo::name);
  if (found == kTable.end()) return std::unexpected(Errc::kNotFound);
  if (value < found->least || value > found->most) return std::unexpected(Errc::kOutOfRange);
  tunables.*found->field = value;
  return {};
}

Result<void> check(const Tunables& tunables) {
  if (tunables.peer_credits > tunables.credits) return std::unexpected(Errc::kOutOfRange);
  return {};
}

std::optional<TrafficClass> parse_traffic_class(std::string_view name) {
  const auto found = std::ranges::find(kClasses, name, &NamedClass::name);
  if (found == kClasses.end()) return std::nullopt;
  return found->value;
}

std::string_view name_of(TrafficClass value) {
  const auto found = std::ranges::find(kClasses, value, &NamedClass::value);
  return found == kClasses.end() ? "unknown" : found->name;
}

Duration lnd_timeout(const Tunables& tunables, Duration lnet_lnd_timeout) {
  if (tunables.kfi_timeout == 0) return lnet_lnd_timeout;
  return std::chrono::seconds(tunables.kfi_timeout);
}

std::uint32_t receive_buffer_bytes(const Tunables& tunables) {
  const auto wanted = static_cast<std::uint32_t>(tunables.credits) * kMessageBytesMax;
  return std::bit_ceil(std::max(wanted, kPageBytes));
}

unsigned operations_max(const Tunables& tunables) {
  return static_cast<unsigned>(tunables.credits * tunables.tx_scale_factor);
}

}  // namespace plnet::kfilnd
