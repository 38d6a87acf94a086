// SPDX-License-Identifier: BSD-3-Clause
// A simulated test node: the real LNet with one shard, the TCP LND over simulated streams, and the
// parts of `lnet-selftest node` with minimal limits; or a console instead. It can lose power and
// come back as another incarnation.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "apps/lnet-sim/net/tcp/streams.hpp"
#include "drivers/net/sim/shard.hpp"
#include "drivers/net/sim/stream_fabric.hpp"
#include "lib/lnet/node/node.hpp"
#include "lib/selftest/console/console.hpp"
#include "lib/selftest/node.hpp"

namespace plnet::sim {

// Limits of a node. All of its memory follows from them.
struct SelftestHostLimits {
  std::size_t peers = 8;       // nodes that it exchanges messages with
  std::size_t units = 16;      // requests of tests that it runs as a client
  std::size_t sink_bytes = 0;  // memory for their reads
  std::size_t requests = 16;   // of tests that it serves
  std::size_t sinks = 2;       // WRITEs; address space of 1 MiB each, touched as far as written
  std::uint32_t session_timeout_s = 100;
  std::size_t console_rpcs = 0;  // above 0: a console instead of a test node
  std::size_t transaction_timeout_s = 50;
  std::size_t lnd_timeout_s = 5;
};

// State shared by all nodes of a process, except the counts of ended sessions.
struct SelftestWorld {
  drivers::SimStreamFabric& streams;
  drivers::ShardShape lcore;
  std::uint64_t seed = 1;
  Arena source;  // the data that all nodes send
  const selftest::SourceData& source_data;
  selftest::TestLatency& latency;  // of all clients
  selftest::PaceStatistics& paced;
  std::uint64_t next_life = 1;  // number of the next incarnation of any node
};

class SelftestHost final : lnet::LndMaker, selftest::LnetCounterSource {
 public:
  enum class State : std::uint8_t { kOff, kUp, kDying };

  // `number` is unique. The world outlives the host.
  SelftestHost(SelftestWorld& world, std::uint32_t number, const lnet::Nid& nid,
               const SelftestHostLimits& limits);
  ~SelftestHost() override;
  SelftestHost(const SelftestHost&) = delete;
  SelftestHost& operator=(const SelftestHost&) = delete;

  void start();
  // Power off, or, if it keeps the network, the end of a program: its objects are ended, gone() is
  // true when all have ended, destroy() removes it.
  void kill();
  void shut_down();
  [[nodiscard]] bool gone() const;
  // The first object that has not returned. For a node that is gone().
  [[nodiscard]] std::string what_is_missing() const;
  void destroy();

  [[nodiscard]] State state() const { return state_; }
  [[nodiscard]] const lnet::Nid& nid() const { return nid_; }
  [[nodiscard]] drivers::HostId id() const { return id_; }
  [[nodiscard]] lnet::Node& node() { return *node_; }
  // Null: off, or of the other kind.
  [[nodiscard]] selftest::Console* console() { return console_ ? &*console_ : nullptr; }
  [[nodiscard]] const selftest::Framework* framework() const {
    return framework_ ? &*framework_ : nullptr;
  }
  // See Framework::set_pace().
  [[nodiscard]] bool set_pace(const selftest::Pace& pace);
  // A caller from outside the host's turns begins one, and rings afterwards.
  void begin_turn();
  void ring() { lcore_->ring(); }
  [[nodiscard]] const selftest::RpcStatistics& asked() const { return asked_; }
  [[nodiscard]] const selftest::RpcStatistics& served() const { return served_; }

 private:
  class Turn final : public Pollable {
   public:
    explicit Turn(SelftestHost& host) : host_(host) {}
    unsigned poll(Instant now) override { return host_.poll(now); }
    [[nodiscard]] std::string_view name() const override { return "test node"; }
    [[nodiscard]] Instant next_deadline() const override { return host_.next_deadline(); }

   private:
    SelftestHost& host_;
  };

  unsigned poll(Instant now);
  [[nodiscard]] Instant next_deadline() const;
  [[nodiscard]] std::unique_ptr<lnet::Lnd> make(lnet::NiPort& port, lnet::ShardId shard) override;
  [[nodiscard]] selftest::LnetCounters read() const override;
  [[nodiscard]] bool is_console() const { return limits_.console_rpcs > 0; }
  [[nodiscard]] selftest::FrameworkSetup framework_setup() const;
  [[nodiscard]] selftest::TestServerSetup server_setup() const;
  [[nodiscard]] selftest::ConsoleSetup console_setup() const;
  [[nodiscard]] std::size_t exchanges() const;
  [[nodiscard]] std::size_t descriptors() const;
  [[nodiscard]] std::size_t selftest_bytes() const;
  void make_node();
  void move_in();

  SelftestWorld& world_;
  const std::uint32_t number_;
  const lnet::Nid nid_;
  const SelftestHostLimits limits_;
  const drivers::HostId id_;
  std::vector<std::unique_ptr<drivers::SimShard>> lcores_;
  drivers::SimShard* lcore_ = nullptr;
  Turn turn_{*this};
  std::array<Doorbell*, 1> bells_{};
  std::unique_ptr<std::byte[]> memory_;
  ArenaTable arenas_;
  std::uint64_t own_bytes_ = 0;
  std::uint64_t ping_bytes_ = 0;

  State state_ = State::kOff;
  std::uint64_t life_ = 0;
  std::unique_ptr<lnet::Node> node_;
  std::unique_ptr<TcpStreams> tcp_;

  selftest::EndedSessions ended_;
  selftest::RpcStatistics asked_;
  selftest::RpcStatistics served_;
  std::array<const selftest::RpcStatistics*, 1> servers_{&served_};
  std::optional<TimerWheel> timers_;
  std::optional<selftest::RpcIds> ids_;
  std::optional<selftest::TestServer> server_;
  std::optional<selftest::Framework> framework_;
  std::optional<selftest::Console> console_;
};

}  // namespace plnet::sim
