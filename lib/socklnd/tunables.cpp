// SPDX-License-Identifier: BSD-3-Clause
#include "lib/socklnd/tunables.hpp"

#include <algorithm>
#include <bit>

namespace plnet::socklnd {

namespace {

constexpr auto kTable = std::to_array<TunableInfo>({
#define PLNET_X(name, initial, least, most, help) \
  {#name, initial, least, most, help, &Tunables::name},
    PLNET_SOCKLND_TUNABLES(PLNET_X)
#undef PLNET_X
});
static_assert(std::ranges::all_of(kTable, [](const TunableInfo& info) {
  return info.least <= info.initial && info.initial <= info.most;
}));

constexpr Duration whole_seconds(std::int64_t milliseconds) {
  return std::chrono::seconds(milliseconds / 1000);
}

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

bool changes_live(std::string_view name) {
  static constexpr auto kLive = std::to_array<std::string_view>(
      {"sock_timeout",    "min_reconnectms", "max_reconnectms",    "eager_ack",
       "min_bulk",        "tx_buffer_size",  "rx_buffer_size",     "nagle",
       "round_robin",     "keepalive",       "keepalive_idle",     "keepalive_intvl",
       "keepalive_count", "enable_csum",     "inject_csum_error",  "nonblk_zcack",
       "zc_min_payload",  "zc_recv",         "zc_recv_min_nfrags", "conns_per_peer"});
  return std::ranges::find(kLive, name) != kLive.end();
}

std::optional<AcceptPolicy> parse_accept_policy(std::string_view text) {
  if (text == "none") return AcceptPolicy::kNone;
  if (text == "secure") return AcceptPolicy::kSecure;
  if (text == "all") return AcceptPolicy::kAll;
  return std::nullopt;
}

Duration lnd_timeout(const Tunables& tunables, Duration lnet_lnd_timeout) {
  if (tunables.sock_timeout == 0) return lnet_lnd_timeout;
  return std::chrono::seconds(tunables.sock_timeout);
}

unsigned connections_per_peer(const Tunables& tunables, std::uint32_t link_mbps) {
  if (tunables.conns_per_peer > 0) return static_cast<unsigned>(tunables.conns_per_peer);
  const std::uint32_t gbps = std::max(link_mbps, 1000U) / 1000U;
  return (static_cast<unsigned>(std::bit_width(gbps)) - 1U) / 2U + 1U;
}

Duration reconnect_least(const Tunables& tunables) {
  // Less than a second would be no pause: the kernel takes at least one second, too.
  return std::max<Duration>(std::chrono::seconds(1), whole_seconds(tunables.min_reconnectms));
}

Duration reconnect_after(const Tunables& tunables, Duration previous) {
  const Duration least = reconnect_least(tunables);
  const Duration most = std::max(least, whole_seconds(tunables.max_reconnectms));
  return std::clamp(previous * 2, least, most);
}

unsigned listen_backlog(const Tunables& tunables, std::size_t strangers_max) {
  if (tunables.accept_backlog == Tunables{}.accept_backlog)
    return static_cast<unsigned>(strangers_max);
  return static_cast<unsigned>(tunables.accept_backlog);
}

StreamOptions stream_options(const Tunables& tunables) {
  StreamOptions options;
  options.no_delay = tunables.nagle == 0;
  options.send_buffer_bytes = static_cast<int>(tunables.tx_buffer_size);
  options.receive_buffer_bytes = static_cast<int>(tunables.rx_buffer_size);
  // The kernel sets it only together with keepalives, by an oversight.
  options.type_of_service = static_cast<int>(tunables.tos);
  const bool keepalive =
      tunables.keepalive_idle > 0 && tunables.keepalive_intvl > 0 && tunables.keepalive_count > 0;
  if (keepalive) {
    options.keepalive_idle_s = static_cast<int>(tunables.keepalive_idle);
    options.keepalive_interval_s = static_cast<int>(tunables.keepalive_intvl);
    options.keepalive_count = static_cast<int>(tunables.keepalive_count);
  }
  return options;
}

}  // namespace plnet::socklnd
