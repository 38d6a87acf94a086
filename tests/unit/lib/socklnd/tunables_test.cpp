// SPDX-License-Identifier: BSD-3-Clause
#include "lib/socklnd/tunables.hpp"

#include <gtest/gtest.h>

namespace plnet::socklnd {
namespace {

using std::chrono::seconds;

TEST(SocklndTunables, NamesAndDefaultsAreThoseOfTheKernel) {
  const Tunables fresh;
  EXPECT_EQ(tunable_table().size(), 35U);
  for (const TunableInfo& info : tunable_table())
    EXPECT_EQ(fresh.*info.field, info.initial) << info.name;
  EXPECT_EQ(fresh.sock_timeout, 50);
  EXPECT_EQ(fresh.min_bulk, 1024);
  EXPECT_EQ(fresh.tos, -1);
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
