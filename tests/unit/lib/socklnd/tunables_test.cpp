// SPDX-License-Identifier: BSD-3-Clause
#include "lib/socklnd/tunables.hpp"

#include <set>
#include <tuple>

#include <gtest/gtest.h>

namespace plnet::socklnd {
namespace {

using std::chrono::seconds;

// The layer that each tunable affects. A test in this folder or in the named file shows the effect.
enum class Acts : std::uint8_t {
  kLnd,       // lnd_tunables_test.cpp
  kSocket,    // SocketOptionsFollow, below
  kPeers,     // the tests of connections and pauses, below
  kAcceptor,  // acceptor_test.cpp, tcp_host.cpp
  kNi,        // tcp_driver.cpp: an NI's own value, unless set for it
  kNowhere,   // accepted in configurations; its help begins with "ignored"
};
struct Row {
  std::string_view name;
  std::int64_t initial;
  std::int64_t least;
  std::int64_t most;
  Acts acts;
};
constexpr std::int64_t kInt = 2147483647;
constexpr std::int64_t kSeconds = 2147483;  // the most that fits into an int in milliseconds
// lustre-release v2_17_0 socklnd_modparams.c, acceptor.c: names and defaults.
constexpr Row kKernel[] = {
    {"accept_port", 988, 1, 65535, Acts::kLnd},
    {"accept_port_bulk", 988, 1, 65535, Acts::kLnd},
    {"accept_backlog", 127, 1, 65535, Acts::kAcceptor},
    {"accept_timeout", 5, 1, 3600, Acts::kAcceptor},
    {"sock_timeout", 50, 0, kSeconds, Acts::kLnd},
    {"credits", 256, 1, 1048576, Acts::kNi},
    {"peer_credits", 8, 1, 32767, Acts::kNi},
    {"peer_buffer_credits", 0, 0, 32767, Acts::kNi},
    {"peer_timeout", 180, -1, kSeconds, Acts::kNi},
    {"nscheds", 0, 0, 1024, Acts::kNowhere},
    {"nconnds", 4, 1, 1024, Acts::kNowhere},
    {"nconnds_max", 64, 1, 1024, Acts::kNowhere},
    {"min_reconnectms", 1000, 1, kInt, Acts::kPeers},
    {"max_reconnectms", 60000, 1, kInt, Acts::kPeers},
    {"eager_ack", 0, 0, 7, Acts::kLnd},
    {"typed_conns", 1, 0, 1, Acts::kNowhere},
    {"min_bulk", 1024, 0, kInt, Acts::kLnd},
    {"tx_buffer_size", 0, 0, kInt, Acts::kSocket},
    {"rx_buffer_size", 0, 0, kInt, Acts::kSocket},
    {"nagle", 0, 0, 1, Acts::kSocket},
    {"round_robin", 1, 0, 1, Acts::kLnd},
    {"keepalive", 30, 0, kSeconds, Acts::kLnd},
    {"keepalive_idle", 30, 0, 32767, Acts::kSocket},
    {"keepalive_intvl", 5, 0, 32767, Acts::kSocket},
    {"keepalive_count", 5, 0, 127, Acts::kSocket},
    {"enable_csum", 0, 0, 1, Acts::kLnd},
    {"inject_csum_error", 0, 0, 1, Acts::kLnd},
    {"enable_irq_affinity", 0, 0, 1, Acts::kNowhere},
    {"nonblk_zcack", 1, 0, 1, Acts::kLnd},
    {"zc_min_payload", 16384, 2048, kInt, Acts::kNowhere},
    {"zc_recv", 0, 0, 1, Acts::kNowhere},
    {"zc_recv_min_nfrags", 16, 0, 256, Acts::kNowhere},
    {"conns_per_peer", 0, 0, 255, Acts::kPeers},
    {"skip_mr_route_setup", 0, 0, 1, Acts::kNowhere},
    {"tos", -1, -1, 255, Acts::kSocket},
};

TEST(SocklndTunables, NamesDefaultsAndRangesAreThoseOfTheKernel) {
  const Tunables fresh;
  ASSERT_EQ(tunable_table().size(), std::size(kKernel));
  for (std::size_t i = 0; i < std::size(kKernel); ++i) {
    const TunableInfo& info = tunable_table()[i];
    EXPECT_EQ(info.name, kKernel[i].name);
    EXPECT_EQ(info.initial, kKernel[i].initial) << info.name;
    EXPECT_EQ(fresh.*info.field, kKernel[i].initial) << info.name;
    EXPECT_EQ(info.least, kKernel[i].least) << info.name;
    EXPECT_EQ(info.most, kKernel[i].most) << info.name;
    EXPECT_EQ(info.ignored(), kKernel[i].acts == Acts::kNowhere) << info.name;
  }
}

TEST(SocklndTunables, OnlySocketTunablesChangeSocketOptions) {
  const auto options_with = [](const TunableInfo& info) {
    Tunables tunables;
    tunables.*info.field = info.initial == info.most ? info.least : info.initial + 1;
    const StreamOptions o = stream_options(tunables);
    return std::tuple(o.no_delay, o.close_discards_unsent, o.send_buffer_bytes,
                      o.receive_buffer_bytes, o.keepalive_idle_s, o.keepalive_interval_s,
                      o.keepalive_count, o.type_of_service);
  };
  const TunableInfo none{.field = &Tunables::nscheds};
  std::set<decltype(options_with(none))> seen{options_with(none)};
  for (std::size_t i = 0; i < std::size(kKernel); ++i) {
    const bool changed = seen.insert(options_with(tunable_table()[i])).second;
    EXPECT_EQ(changed, kKernel[i].acts == Acts::kSocket) << kKernel[i].name;
  }
}

TEST(SocklndTunables, EachIsSetByItsNameWithinItsRange) {
  Tunables tunables;
  for (const TunableInfo& info : tunable_table()) {
    for (const std::int64_t value : {info.least, info.most}) {
      EXPECT_TRUE(set_tunable(tunables, info.name, value).has_value()) << info.name;
      EXPECT_EQ(tunables.*info.field, value) << info.name;
    }
    EXPECT_EQ(set_tunable(tunables, info.name, info.least - 1).error(), Errc::kOutOfRange);
    EXPECT_EQ(set_tunable(tunables, info.name, info.most + 1).error(), Errc::kOutOfRange);
    EXPECT_EQ(tunables.*info.field, info.most) << "and stays";
  }
  EXPECT_EQ(set_tunable(tunables, "no_such_thing", 1).error(), Errc::kNotFound);
}

TEST(SocklndTunables, TheTimeoutIsOursUnlessItIsZero) {
  Tunables tunables;
  EXPECT_EQ(lnd_timeout(tunables, seconds(49)), seconds(50));
  tunables.sock_timeout = 0;
  EXPECT_EQ(lnd_timeout(tunables, seconds(49)), seconds(49));
}

TEST(SocklndTunables, ConnectionsFollowTheSpeedOfTheLink) {
  Tunables tunables;
  EXPECT_EQ(connections_per_peer(tunables, 0), 1U) << "unknown";
  EXPECT_EQ(connections_per_peer(tunables, 100), 1U);
  EXPECT_EQ(connections_per_peer(tunables, 1000), 1U);
  EXPECT_EQ(connections_per_peer(tunables, 10'000), 2U);
  EXPECT_EQ(connections_per_peer(tunables, 25'000), 3U);
  EXPECT_EQ(connections_per_peer(tunables, 100'000), 4U);
  EXPECT_EQ(connections_per_peer(tunables, 400'000), 5U);
  tunables.conns_per_peer = 7;
  EXPECT_EQ(connections_per_peer(tunables, 400'000), 7U);
}

TEST(SocklndTunables, TheWaitBetweenAttemptsDoublesWithinItsBounds) {
  const Tunables tunables;
  Duration wait{};
  std::vector<std::int64_t> seen;
  for (unsigned i = 0; i < 9; ++i) {
    wait = reconnect_after(tunables, wait);
    seen.push_back(std::chrono::duration_cast<seconds>(wait).count());
  }
  EXPECT_EQ(seen, (std::vector<std::int64_t>{1, 2, 4, 8, 16, 32, 60, 60, 60}));
  Tunables odd;
  odd.min_reconnectms = 5500;
  odd.max_reconnectms = 100;
  EXPECT_EQ(reconnect_after(odd, {}), seconds(5)) << "the least wins";
  odd.min_reconnectms = odd.max_reconnectms = 10;
  EXPECT_EQ(reconnect_after(odd, {}), seconds(1)) << "never without a pause";
  EXPECT_EQ(reconnect_least(odd), seconds(1));
}

TEST(SocklndTunables, TheDefaultBacklogHoldsAllConcurrentHellos) {
  EXPECT_EQ(listen_backlog({}), kStrangersMax);
  EXPECT_EQ(listen_backlog({}, 5000), 5000U) << "as many as the acceptor serves at once";
  EXPECT_EQ(listen_backlog({.accept_backlog = 126}, 5000), 126U);
  EXPECT_EQ(listen_backlog({.accept_backlog = 126}), 126U);
  EXPECT_EQ(listen_backlog({.accept_backlog = 4096}), 4096U);
}

TEST(SocklndTunables, SocketOptionsFollow) {
  Tunables tunables;
  StreamOptions options = stream_options(tunables);
  EXPECT_TRUE(options.no_delay);
  EXPECT_TRUE(options.close_discards_unsent);
  EXPECT_EQ(options.keepalive_idle_s, 30);
  EXPECT_EQ(options.keepalive_interval_s, 5);
  EXPECT_EQ(options.keepalive_count, 5);
  EXPECT_EQ(options.type_of_service, -1);
  tunables.nagle = 1;
  tunables.keepalive_intvl = 0;
  tunables.rx_buffer_size = 65536;
  options = stream_options(tunables);
  EXPECT_FALSE(options.no_delay);
  EXPECT_EQ(options.keepalive_idle_s, 0) << "all three or none";
  EXPECT_EQ(options.receive_buffer_bytes, 65536);
}

TEST(SocklndTunables, AnAcceptPolicyIsOneOfThreeWords) {
  EXPECT_EQ(parse_accept_policy("secure"), AcceptPolicy::kSecure);
  EXPECT_EQ(parse_accept_policy("all"), AcceptPolicy::kAll);
  EXPECT_EQ(parse_accept_policy("none"), AcceptPolicy::kNone);
  EXPECT_FALSE(parse_accept_policy("Secure").has_value());
  EXPECT_FALSE(parse_accept_policy("").has_value());
}

}  // namespace
}  // namespace plnet::socklnd
