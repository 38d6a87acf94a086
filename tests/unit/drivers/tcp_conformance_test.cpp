// SPDX-License-Identifier: BSD-3-Clause
// The stream contract of the simulator's streams, checked over real sockets.
#include <array>
#include <csignal>
#include <cstddef>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <sys/socket.h>

#include "drivers/net/tcp/socket.hpp"
#include "tests/conformance/relay_conformance.hpp"
#include "tests/mocks/seeds.hpp"
#include "tests/unit/drivers/tcp_rig.hpp"

namespace plnet::drivers {
namespace {

using socklnd::SocketAddress;

const std::uint64_t kSeeds = mocks::seeds_of(20);

bool has_ipv6() {
  auto socket = open_socket(own_loopback_v6());
  if (!socket) return false;
  const SystemAddress at(own_loopback_v6());
  return ::bind(socket->get(), at.get(), at.size) == 0;
}

TEST(TcpConformance, Transfer) {
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    // A small staging buffer makes every case occur within few bytes.
    TcpBench bench({.connections_max = 8, .staging_bytes = seed % 2 == 0 ? 512U : 16'384U});
    conformance::check_transfer(bench, seed, 40'000 + seed * 1000, seed % 3 == 0 ? 0 : 25'000);
    if (HasFailure()) return;
  }
}

TEST(TcpConformance, TransferOfMoreThanTheBuffersHold) {
  TcpBench bench;
  conformance::check_transfer(bench, 7, 12'000'000, 9'000'000);
  EXPECT_GT(count_of(*bench.devices[0], TcpTable::Id::kShortWrites), 0U);
  EXPECT_GT(count_of(*bench.devices[1], TcpTable::Id::kRemainders), 0U);
}

TEST(TcpConformance, TransferOverIpv6) {
  if (!has_ipv6()) GTEST_SKIP() << "no IPv6 on this machine";
  TcpBench bench({.connections_max = 8}, true);
  conformance::check_transfer(bench, 5, 50'000, 50'000);
}

// Unlike send(), splice() into a broken socket raises SIGPIPE unconditionally.
TEST(TcpConformance, Relay) {
  const auto before = std::signal(SIGPIPE, SIG_IGN);
  conformance::RelayTally all;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    TcpBench bench({.connections_max = 8});
    const auto tally = conformance::check_relay(bench, seed, 20, 400'000);
    all.awaited += tally.awaited;
    all.relayed_whole += tally.relayed_whole;
    if (HasFailure()) break;
  }
  EXPECT_GT(all.awaited, 0U);
  EXPECT_GT(all.relayed_whole, 0U);
  (void)std::signal(SIGPIPE, before);
}

TEST(TcpConformance, Refused) {
  TcpBench bench;
  conformance::check_refused(bench, 1);
}

TEST(TcpConformance, CloseByListener) {
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    TcpBench bench;
    conformance::check_close_by_listener(bench, seed);
    if (HasFailure()) return;
  }
}

TEST(TcpConformance, Move) {
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    TcpBench bench;
    conformance::check_move(bench, seed);
    if (HasFailure()) return;
  }
}

// Relays bytes between the two sides and resets both at some byte.
class BreakingBench final : public TcpBench {
 public:
  BreakingBench(std::uint64_t seed, std::size_t bytes_until_reset)
      : random_(seed), left_(bytes_until_reset) {
    auto socket = open_socket(own_loopback(9));
    const SystemAddress at(own_loopback(9));
    EXPECT_EQ(::bind(socket->get(), at.get(), at.size), 0);
    EXPECT_EQ(::listen(socket->get(), 1), 0);
    listener_ = std::move(*socket);
  }
  SocketAddress target() override { return own_loopback(9); }
  [[nodiscard]] bool has_broken() const { return broken_; }

  void turn_once() override {
    TcpBench::turn_once();
    if (broken_) return;
    if (!ends_[0].valid()) {
      ends_[0] = TcpSocket(::accept4(listener_.get(), nullptr, nullptr, SOCK_NONBLOCK));
      if (!ends_[0].valid()) return;
      ends_[1] = std::move(*open_socket(address(1)));
      const SystemAddress to(address(1));
      (void)::connect(ends_[1].get(), to.get(), to.size);
    }
    for (unsigned from = 0; from < 2 && !broken_; ++from)
      pass(from);
  }

 private:
  void pass(unsigned from) {
    std::array<std::byte, 4096> bytes;
    const std::size_t want = std::min(left_, 1 + random_.below(bytes.size()));
    const ssize_t got = ::recv(ends_[from].get(), bytes.data(), want, MSG_PEEK);
    if (got < 0) return;
    const auto there = static_cast<std::size_t>(got);
    const ssize_t sent = ::send(ends_[1 - from].get(), bytes.data(), there, MSG_NOSIGNAL);
    if (sent > 0) left_ -= static_cast<std::size_t>(sent);
    if (sent > 0)
      (void)::recv(ends_[from].get(), bytes.data(), static_cast<std::size_t>(sent), MSG_TRUNC);
    if (left_ > 0) return;
    const linger at_once{.l_onoff = 1, .l_linger = 0};
    for (TcpSocket& end : ends_) {
      (void)::setsockopt(end.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
      end.reset();
    }
    broken_ = true;
  }

  Random random_;
  std::size_t left_;
  TcpSocket listener_;
  std::array<TcpSocket, 2> ends_;
  bool broken_ = false;
};

TEST(TcpConformance, BrokenTransfer) {
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    BreakingBench bench(seed, seed * 5'000);
    conformance::check_broken_transfer(bench, seed, 60'000);
    EXPECT_TRUE(bench.has_broken());
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace plnet::drivers
