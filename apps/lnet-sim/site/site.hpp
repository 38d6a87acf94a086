// SPDX-License-Identifier: BSD-3-Clause
// A whole site on one event loop, from its begin to the check that everything has come home.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "apps/lnet-sim/host/host.hpp"
#include "apps/lnet-sim/net/cuts.hpp"
#include "apps/lnet-sim/plan/layout.hpp"
#include "apps/lnet-sim/watch/mishap_watch.hpp"
#include "apps/lnet-sim/watch/route_watch.hpp"

namespace plnet::sim {

struct DrainTally {
  std::uint64_t begun = 0;
  std::uint64_t in_time = 0;     // ended before their bound, and nothing was cut off
  std::uint64_t restarts = 0;    // drained, then off and on again
  std::uint64_t undrained = 0;   // drained, then it went on
  std::uint64_t called_off = 0;  // before it was drained
};

// Which of the ways across shards were taken, and what was lost by which cause.
struct SiteReport {
  std::string violation;  // empty: none
  std::uint64_t trace = 0;
  std::uint64_t events = 0;
  Duration time{};  // simulated
  LedgerTally operations;
  std::uint64_t failed_after = 0;  // operations that did not succeed at once when all was healed
  WireTally wire;
  std::uint64_t crossed_home = 0;   // the sender's shard was not the peer's home
  std::uint64_t crossed_match = 0;  // what arrived was matched on another shard
  std::uint64_t other_nid = 0;      // an entry named another NID of the sender
  std::uint64_t connections_lost = 0;
  std::uint64_t bytes_handed_on = 0;  // from stream to stream, past a router's memory
  std::uint64_t wire_faults = 0;
  std::uint64_t kills = 0;
  std::uint64_t flaps = 0;
  DrainTally drains;
  MishapTally mishaps;
  std::uint64_t routes_changed = 0;
  std::array<Duration, kRouteTruths> routes_wrong{};  // for how long at most, by what was true
  // What was true for longer than a route may be wrong, by what it was: so often it was held to it.
  // Of kUp, only after it had been otherwise.
  std::array<std::uint64_t, kRouteTruths> routes_outlasted{};
  std::uint64_t peers_deleted = 0;
  std::uint64_t moves = 0;
  std::uint64_t nack_storms = 0;
  NetCounts net_counts;
  std::vector<std::pair<std::string_view, std::uint64_t>> causes;  // that are not 0
};

class Site final : drivers::EventSink {
 public:
  explicit Site(const SiteConfig& config);
  ~Site();
  Site(const Site&) = delete;
  Site& operator=(const Site&) = delete;

  // Starts the nodes, has the traffic and the faults happen, heals, waits until all is over, and
  // checks. The first violation ends it.
  [[nodiscard]] SiteReport run();

  // The same in steps, for benchmarks and tests.
  void start();
  void begin_faults();
  void run_for(Duration span);
  // No more traffic, no more faults: waits until all is over and home, and checks that it is.
  void quiesce();
  [[nodiscard]] World& world() { return *world_; }
  [[nodiscard]] SiteReport report() const;

 private:
  enum class Fault : std::uint8_t {
    kKill,  // of the power
    kRestart,
    kDestroy,
    kDrain,
    kDrainStep,
    kPart,  // of what lies between nodes, or of one of their interfaces
    kMeet,
    kCut,
    kJoin,
    kSlow,
    kFast,
    kLinkDown,
    kLinkUp,
    kMove,  // of a cable, its interface's number behind the other node's
    kPutBack,
    kStorm,
    kStormOver,
    kDeletePeer,
    kLook,
  };

  enum class DrainEnd : std::uint8_t { kRestart, kUndrain, kCalledOff };
  static constexpr std::uint64_t kDrainEnds = 3;

  void on_event(std::uint64_t word) override;
  void schedule(Instant when, Fault fault, std::uint32_t a, std::uint32_t b);
  void schedule_faults();
  void schedule_pairs(unsigned count, Fault begin, Fault end);
  [[nodiscard]] Instant sometime();
  [[nodiscard]] Instant end_of_outage(Instant begin);
  void power(Fault fault, std::uint32_t number, std::uint32_t b);
  void destroy(Host& host);
  void schedule_drains(std::span<const std::uint32_t> routers);
  void schedule_drain(std::uint32_t router, Instant when, std::span<const Mishap> beside);
  [[nodiscard]] bool has_second_way(const Host& router) const;
  void begin_drain(Host& router, std::uint32_t b);
  void step_drain(Host& router, std::uint32_t b);
  void hear_promise(Host& router);
  [[nodiscard]] std::uint32_t leisure(DrainEnd how);
  void end_drain(Host& router);
  [[nodiscard]] Instant soon();
  void make_trouble(const Host& router);
  void schedule_episodes(std::span<const std::uint32_t> routers);
  void befall(Mishap what, std::uint32_t router, Instant when);
  void befall_pair(std::uint32_t router, Instant when, Fault begin, Fault end);
  void befall_link(std::uint32_t router, Instant when);
  void befall_peers(std::uint32_t router, Instant when);
  void delete_peer(Host& host, std::uint32_t other);
  void note_mishap(Fault fault, std::uint32_t a, std::uint32_t b);
  void disturb(Fault fault, Host& host, std::uint32_t b);
  void set_link(Host& host, std::uint32_t which, bool up);
  void schedule_cables();
  void note_trouble(std::uint32_t node, bool begins);
  void disturb_cable(Fault fault, Host& host, std::uint32_t b);
  void move_cable(Host& host, std::uint32_t interface, std::uint32_t other);
  void begin_looking();
  void look_at_routes();
  void look();
  [[nodiscard]] bool run_until(const std::function<bool()>& done, Duration limit);
  void heal();
  void await_routers();
  void await_traffic();
  void await_health();
  void await_routes();
  void check_balance();
  [[nodiscard]] std::string what_breaks_the_protocol(const SiteReport& now) const;

  const SiteConfig config_;
  const Layout layout_;
  drivers::SimShape shape_;
  std::unique_ptr<drivers::LazyMemory> lazy_;
  drivers::EventLoop loop_;
  drivers::SimNetwork network_;
  drivers::SimStreamFabric streams_;
  drivers::SimVerbsFabric verbs_;
  Ledger ledger_;
  Random random_;
  Cuts cuts_;
  std::unique_ptr<World> world_;
  std::optional<RouteWatch> routes_;  // of a world
  std::optional<MishapWatch> mishaps_;
  std::uint64_t kills_ = 0;
  std::uint64_t flaps_ = 0;
  std::uint64_t moves_ = 0;
  std::uint64_t storms_ = 0;
  DrainTally drains_;
  std::optional<LedgerTally> traffic_;  // before what is begun when all is healed
  std::vector<unsigned> troubled_;      // by node: of its cables and NICs, just now
  Instant faults_end_{};                // none begins later
  Instant outages_end_{};               // what has begun so far
  std::uint64_t peers_deleted_ = 0;
  bool looking_ = false;
  bool watching_routes_ = true;
};

[[nodiscard]] SiteReport run_site(const SiteConfig& config);

}  // namespace plnet::sim
