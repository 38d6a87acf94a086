// SPDX-License-Identifier: BSD-3-Clause
// A whole site on one event loop, from its start to the check that all objects have returned.
#pragma once

#include <array>
#include <cstdint>
#include <map>
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
  std::uint64_t in_time = 0;     // ended within their time limit, and no message was cut off
  std::uint64_t restarts = 0;    // drained, then restarted
  std::uint64_t undrained = 0;   // drained, then undrained
  std::uint64_t called_off = 0;  // cancelled before the end of draining
};

// The paths between shards that were used, and the losses by cause.
struct SiteReport {
  std::string violation;  // empty: none
  std::uint64_t trace = 0;
  std::uint64_t events = 0;
  Duration time{};  // simulated
  LedgerTally operations;
  std::uint64_t failed_after = 0;  // operations that did not succeed at once after the site was
                                   // healed
  WireTally wire;
  std::uint64_t crossed_home = 0;   // the sender's shard was not the peer's home
  std::uint64_t crossed_match = 0;  // the matching entry was on another shard
  std::uint64_t other_nid = 0;      // an entry named another NID of the sender
  std::uint64_t connections_lost = 0;
  std::uint64_t bytes_handed_on = 0;  // from stream to stream, without a router's memory
  std::uint64_t wire_faults = 0;
  std::uint64_t kills = 0;
  std::uint64_t flaps = 0;
  DrainTally drains;
  MishapTally mishaps;
  std::uint64_t routes_changed = 0;
  std::array<Duration, kRouteTruths> routes_wrong{};  // longest wrong state, by correct state
  // How often a correct state lasted longer than its bound, so that it was checked. For kUp, only
  // after another state.
  std::array<std::uint64_t, kRouteTruths> routes_outlasted{};
  std::uint64_t peers_deleted = 0;
  std::uint64_t moves = 0;
  std::uint64_t nack_storms = 0;
  NetCounts net_counts;
  std::vector<std::pair<std::string_view, std::uint64_t>> causes;  // only those above 0
};

class Site final : drivers::EventSink {
 public:
  explicit Site(const SiteConfig& config);
  ~Site();
  Site(const Site&) = delete;
  Site& operator=(const Site&) = delete;

  // Starts the nodes, runs traffic and faults, heals, waits for the end, and checks. The first
  // violation ends the run.
  [[nodiscard]] SiteReport run();

  // The same in steps, for benchmarks and tests.
  void start();
  void begin_faults();
  void run_for(Duration span);
  // Stops traffic and faults, waits until all has ended and returned, and checks it.
  void quiesce();
  // Routes may be wrong for longer than their bounds: for reports that say for how long.
  void leave_routes_unwatched() { watching_routes_ = false; }
  [[nodiscard]] World& world() { return *world_; }
  [[nodiscard]] const std::string& violation() const { return ledger_.violation(); }
  [[nodiscard]] SiteReport report() const;

 private:
  enum class Fault : std::uint8_t {
    kKill,  // of a node's power
    kRestart,
    kDestroy,
    kDrain,
    kDrainStep,
    kPart,  // of the paths between nodes, or of an interface
    kMeet,
    kCut,
    kJoin,
    kSlow,
    kFast,
    kLinkDown,
    kLinkUp,
    kMove,  // of a cable: the interface's number and the other node
    kPutBack,
    kStorm,
    kStormOver,
    kDeletePeer,
    kPlanned,  // an event of the plan: its number
    kLook,
  };

  enum class DrainEnd : std::uint8_t { kRestart, kUndrain, kCalledOff };
  static constexpr std::uint64_t kDrainEnds = 3;

  void on_event(std::uint64_t word) override;
  void schedule(Instant when, Fault fault, std::uint32_t a, std::uint32_t b);
  void schedule_faults();
  void schedule_pairs(unsigned count, Fault begin, Fault end);
  void schedule_events();
  [[nodiscard]] Instant end_of_planned(std::uint32_t node);
  [[nodiscard]] Instant sometime();
  [[nodiscard]] Instant end_of_outage(Instant begin);
  void power(Fault fault, std::uint32_t number, std::uint32_t b);
  void destroy(Host& host);
  void schedule_drains(std::span<const std::uint32_t> routers);
  void schedule_drain(std::uint32_t router, Instant when, std::span<const Mishap> beside);
  [[nodiscard]] bool has_second_way(const Host& router) const;
  void begin_drain(Host& router, std::uint32_t b);
  void step_drain(Host& router, std::uint32_t b);
  void record_drain_end(Host& router);
  [[nodiscard]] std::uint32_t leisure(const Host& router, DrainEnd how);
  void end_drain(Host& router);
  [[nodiscard]] Instant soon();
  void make_trouble(const Host& router);
  void schedule_episodes(std::span<const std::uint32_t> routers);
  void apply_mishap(Mishap what, std::uint32_t router, Instant when);
  void fail_pair(std::uint32_t router, Instant when, Fault begin, Fault end);
  void fail_link(std::uint32_t router, Instant when);
  void fail_peers(std::uint32_t router, Instant when);
  void delete_peer(Host& host, std::uint32_t other);
  void note_mishap(Fault fault, std::uint32_t a, std::uint32_t b);
  void disturb(Fault fault, Host& host, std::uint32_t b);
  void set_link(Host& host, std::uint32_t which, bool up);
  void schedule_cables();
  void begin_planned(const PlannedEvent& event);
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
  std::optional<RouteWatch> routes_;  // only for a running world
  std::optional<MishapWatch> mishaps_;
  std::uint64_t kills_ = 0;
  std::uint64_t flaps_ = 0;
  std::uint64_t moves_ = 0;
  std::uint64_t storms_ = 0;
  DrainTally drains_;
  std::optional<LedgerTally> traffic_;         // before the operations after the healing
  std::vector<unsigned> troubled_;             // indexed by node: its disturbed cables and NICs now
  Instant faults_end_{};                       // no fault begins later
  Instant outages_end_{};                      // end of the faults that have begun
  std::map<std::uint32_t, Duration> planned_;  // by node: the length of the outage that comes next
  std::uint64_t peers_deleted_ = 0;
  bool looking_ = false;
  bool watching_routes_ = true;
};

[[nodiscard]] SiteReport run_site(const SiteConfig& config);

}  // namespace plnet::sim
