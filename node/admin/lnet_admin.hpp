// SPDX-License-Identifier: BSD-3-Clause
// LNet as lnetctl sees it: keeps the configuration, has shards carry changes out, and gathers
// reports from them. Belongs to the admin thread and never blocks it.
#pragma once

#include <atomic>
#include <deque>
#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lib/lnet/node/lnet_control.hpp"
#include "lib/runtime/admin/log.hpp"
#include "lib/runtime/host/link_watch.hpp"
#include "node/admin/lnet_changes.hpp"
#include "node/admin/lnet_pings.hpp"
#include "node/admin/lnet_wanted.hpp"
#include "node/admin/ni_moves.hpp"
#include "node/host/lnet_desk.hpp"
#include "node/host/network_family.hpp"
#include "node/watch/lnd_metrics.hpp"
#include "node/watch/load_metrics.hpp"
#include "node/watch/node_states.hpp"
#include "node/watch/reach_watch.hpp"
#include "node/watch/recent_activity.hpp"
#include "node/watch/recovery_log.hpp"
#include "node/watch/refusal_watch.hpp"
#include "node/watch/refused_peers.hpp"
#include "node/watch/scarce_watch.hpp"
#include "node/watch/silence_watch.hpp"
#include "node/watch/starving_board.hpp"
#include "node/watch/state_metrics.hpp"

namespace plnet::runtime {
class OnceLog;
}

namespace plnet::node {

class LnetHost;

// Calls `look` now and on each later change of links and addresses. A change during a call leads to
// another call. A failure means that only the first call takes place.
[[nodiscard]] Outcome<void> follow_links(runtime::LinkWatch& watch, runtime::EventLoop& loop,
                                         const std::function<void()>& look);

class LnetAdmin final : public lnet::LnetControl, public FamilyAccess {
 public:
  // Limit of changes in the queue.
  static constexpr std::size_t kChangesWaiting = 256;
  // A change takes some turns of the pollers; after this long something is stuck.
  static constexpr Duration kChangeMax = std::chrono::seconds(5);
  // The bound of undoing a change, which must not end half way: a NIC takes some 30 seconds to
  // release a dead peer, and router buffers wait for the timeout of a slow one.
  static constexpr Duration kGoBackMax = std::chrono::seconds(90);

  // Peers whose trouble is explained in one report.
  static constexpr std::size_t kExplainedMax = 64;

  // `log` outlives this object.
  explicit LnetAdmin(runtime::Log& log);
  ~LnetAdmin() override;

  // start() comes before the pollers turn, set_running() after. start() brings LNet up with the
  // configuration `wanted`. Host and loop outlive this object.
  [[nodiscard]] Outcome<void> start(LnetHost& host, runtime::EventLoop& loop,
                                    const lnet::NodeConfig& wanted);
  [[nodiscard]] Outcome<void> set_running(std::vector<runtime::Poller*> pollers);
  // Before the process ends: drains a router, and calls `told` with its progress. Calls `done` at
  // the order's bound at the latest, with the messages that were left.
  using Told = std::function<void(const lnet::StandingReport& report)>;
  void leave(const lnet::DrainOrder& order, Told told, Told done);
  // Logs what changed of NIs, routing and router buffers since the last call, a line for each.
  void say_standing();
  // Refusals of what neighbours sent or claimed, a line for each neighbour and cause.
  void say_complaints(runtime::OnceLog& log);
  // Peers that access rules refuse, a line for each.
  void say_refused_peers(runtime::OnceLog& log);
  // The resources that messages wait for now.
  [[nodiscard]] std::vector<lnet::StarvingReport> starving() const { return starving_.list(); }
  // Entries of the list of warnings: peers that cannot be connected or are refused, and messages
  // that the configuration has dropped. `drops`: their counts.
  [[nodiscard]] runtime::Json path_warnings(std::span<const GrowingCause> drops) const;
  // Absent: LNet is down, or peers were not counted yet.
  [[nodiscard]] const std::optional<PeerStates>& peer_states() const { return peer_states_; }
  // Peer NIs that cannot be connected now.
  [[nodiscard]] std::uint64_t unreachable_peers() const { return reach_.counters().value(0); }
  // Peers beyond gateways that do not answer.
  [[nodiscard]] std::vector<SilentPeer> silent_peers() const { return silence_.list(loop_->now()); }
  // Peers that access rules refused lately.
  [[nodiscard]] std::size_t refused_peers() const { return refused_peers_.count(loop_->now()); }
  // Adds LNet's counters, which any thread may read. Without LNet nothing is added.
  void sample_activity(ActivitySample& sample) const;
  // Takes LNet down as unconfigure() does, in bounded time; the loop turns meanwhile. Changes in
  // the queue are refused.
  void shut_down(lnet::Reply<void> done);
  // For other parts of the node with objects on the shards. After start().
  [[nodiscard]] LnetDesk& desk() override { return *desk_; }
  [[nodiscard]] FamilyHost* host_of(std::string_view family) override;
  // Once the pollers have stopped.
  void close();
  // The reason why NIs do not follow the link state of their interfaces; empty if they do.
  [[nodiscard]] const std::string& links_unwatched() const { return links_unwatched_; }
  // Called periodically: logs changes of routes.
  void tell_of_routes(runtime::Log& log);
  // Called periodically: gives an NI another NID when the address of its NIC has changed.
  void look_at_nics();
  // The configuration that a change to `wanted` would lead to, or the reason of a refusal. After
  // start().
  [[nodiscard]] std::expected<Judged, Misfit> judge_change(lnet::NodeConfig wanted) const;

  // LnetControl.
  void configure(const lnet::ConfigureRequest& request, lnet::Reply<void> done) override;
  void unconfigure(lnet::Reply<void> done) override;
  [[nodiscard]] const lnet::NodeConfig& config() const override { return config_; }
  void edit(lnet::ConfigEdit edit, lnet::Reply<void> done) override;
  void add_net(lnet::NetConfig net, lnet::Reply<void> done) override;
  void del_net(lnet::NetSelection selection, lnet::Reply<void> done) override;
  void set_ni(lnet::NiChange change, lnet::Reply<void> done) override;
  void add_peer(lnet::PeerConfig peer, lnet::Reply<void> done) override;
  void del_peer(lnet::PeerSelection selection, lnet::Reply<void> done) override;
  void set_peer_ni(lnet::PeerNiChange change, lnet::Reply<void> done) override;
  void add_route(lnet::RouteConfig route, lnet::Reply<void> done) override;
  void del_route(lnet::NetId net, lnet::Nid gateway, lnet::Reply<void> done) override;
  void set_routing(bool enabled, lnet::Reply<void> done) override;
  [[nodiscard]] lnet::ParameterValues parameters() const override { return config_.parameters; }
  void drain_routing(lnet::DrainOrder order, lnet::Reply<void> done) override;
  void undrain_routing(lnet::Reply<void> done) override;
  void add_fault(lnet::FaultSpec fault, lnet::Reply<void> done) override;
  void del_faults(lnet::FaultKind kind, lnet::Nid source, lnet::Nid destination,
                  lnet::Reply<std::size_t> done) override;
  void reset_faults(lnet::FaultKind kind, lnet::Reply<void> done) override;
  void faults(lnet::FaultKind kind, lnet::Reply<std::vector<lnet::FaultReport>> reply) override;
  void add_access(lnet::AccessRule rule, std::optional<std::size_t> at,
                  lnet::Reply<void> done) override;
  void del_access(std::optional<std::size_t> at, lnet::Reply<void> done) override;
  void access(lnet::Reply<std::vector<lnet::AccessReport>> reply) override;
  void nets(std::optional<lnet::NetId> only, int level,
            lnet::Reply<std::vector<lnet::NetReport>> reply) override;
  void peers(std::optional<lnet::Nid> only, int level,
             lnet::Reply<std::vector<lnet::PeerReport>> reply) override;
  void routes(lnet::Reply<std::vector<lnet::RouteReport>> reply) override;
  void gateways(lnet::Reply<std::vector<lnet::GatewayReport>> reply) override;
  void routing(lnet::Reply<lnet::RoutingReport> reply) override;
  void recovery(lnet::Reply<lnet::RecoveryReport> reply) override;
  void messages(lnet::Reply<lnet::MessagesReport> reply) override;
  void cpts_of(std::vector<lnet::Nid> nids,
               lnet::Reply<std::vector<std::optional<std::uint16_t>>> reply) override;
  void explain(lnet::PathQuestion question, lnet::Reply<lnet::PathReport> reply) override;
  void load(lnet::Reply<lnet::LoadSnapshot> reply) override;
  void statistics(lnet::Reply<lnet::StatisticsReport> reply) override;
  void reset_statistics(lnet::Reply<void> done) override;
  void connections(lnet::ConnectionQuery query,
                   lnet::Reply<std::vector<lnet::ConnectionReport>> reply) override;
  void connection_peers(lnet::ConnectionQuery query,
                        lnet::Reply<std::vector<lnet::ConnectionPeerReport>> reply) override;
  void ping(lnet::PingOrder request, lnet::Reply<std::vector<lnet::PingReport>> reply) override;
  void discover(lnet::DiscoverOrder request,
                lnet::Reply<std::vector<lnet::PingReport>> reply) override;

 private:
  enum class State : std::uint8_t {
    kDown,
    kUp,
    kGoing,  // on the way down; stays so if a shutdown step timed out
  };
  // One change at a time. A change reads the configuration when it begins.
  using Change = std::move_only_function<void(lnet::Reply<void> done)>;

  void enqueue(Change change, lnet::Reply<void> done);
  void next_change();
  void note_connections(LnetDesk::After after);
  [[nodiscard]] Outcome<void> check_up() const;
  // Refuses a router's return to service once leave() has begun.
  [[nodiscard]] Outcome<void> check_stays() const;

  // Within a change. go_up_with() brings LNet up with `wanted`, or leaves it down.
  void go_up(lnet::Reply<void> done);
  void go_up_with(lnet::NodeConfig wanted, lnet::Reply<void> done);
  void go_down(lnet::Reply<void> done);
  void end_idle(lnet::Reply<void> done);
  // Changes the node to `wanted` and keeps that; LNet comes up first if there are networks.
  void bring_about(lnet::NodeConfig wanted, lnet::Reply<void> done);
  void change_to(lnet::NodeConfig wanted, lnet::Reply<void> done);
  void take_options(const lnet::NodeConfig& config);
  void tune_to(lnet::NodeConfig wanted, lnet::Reply<void> done);
  void set_health(lnet::NiChange change, lnet::Reply<void> done);
  void look_at_links();
  [[nodiscard]] std::vector<lnet::Nid> nids_of(const FamilyHost& family) const;
  [[nodiscard]] std::vector<MovedNi> moved_nis_now() const;
  void take_out_moved(const MovedNi& moved, lnet::Reply<void> done);
  void bring_back_moved(const lnet::Nid& was, lnet::Reply<void> done);
  [[nodiscard]] bool forget_moved(const lnet::NetSelection& selection);
  void wait_for_gateways();
  void stop_waiting_for_gateways();
  void renew_load_metrics();
  void renew_states();
  void show_down();
  void say_recovery();
  void look_for_scarce();
  void add_causes(std::vector<lnet::NetReport>& nets) const;
  void add_troubles(std::vector<lnet::PeerReport>& peers) const;
  void say_paths();
  void note_refusal(const lnet::RefusedMessage& refused, Instant now);
  [[nodiscard]] ReachWatch::Explain explained() const;
  [[nodiscard]] std::string explain_trouble(const lnet::Nid& peer, Errc trouble) const;
  struct Leave;
  void keep_leaving(const std::shared_ptr<Leave>& leave, bool first);
  void add_parameters(std::vector<lnet::NetReport>& nets) const;
  void run_steps(std::vector<LnetStep> steps, lnet::NodeConfig after, lnet::Reply<void> done);

  LnetHost* host_ = nullptr;
  runtime::EventLoop* loop_ = nullptr;
  runtime::LinkWatch link_watch_;
  std::string links_unwatched_;
  runtime::EventLoop::TimerId link_timer_ = runtime::EventLoop::TimerId::kNone;
  runtime::Log& log_;
  std::unique_ptr<LnetDesk> desk_;
  std::unique_ptr<LnetPings> pings_;
  std::unique_ptr<LndMetrics> lnd_metrics_;
  std::unique_ptr<LoadMetrics> load_metrics_;
  NiMoves moves_;
  std::shared_ptr<std::atomic<bool>> awaits_gateways_;  // the coordinator's shard looks at it
  runtime::EventLoop::TimerId load_timer_ = runtime::EventLoop::TimerId::kNone;
  bool asking_for_load_ = false;
  std::unique_ptr<StateMetrics> state_metrics_;
  std::optional<PeerStates> peer_states_;
  runtime::EventLoop::TimerId state_timer_ = runtime::EventLoop::TimerId::kNone;
  bool asking_for_states_ = false;
  RecoveryLog recovery_log_;
  runtime::EventLoop::TimerId recovery_timer_ = runtime::EventLoop::TimerId::kNone;
  bool asking_for_recovery_ = false;
  std::vector<ScarceWatch> scarce_;  // by shard
  StarvingBoard starving_;
  ReachWatch reach_;
  RefusalWatch refusals_;
  RefusedPeers refused_peers_;
  SilenceWatch silence_;
  lnet::NodeConfig config_;
  lnet::NodeConfig boot_;  // of the start: `lnet configure --all`
  State state_ = State::kDown;
  bool running_ = false;
  bool leaving_ = false;
  bool asking_for_news_ = false;
  std::deque<std::pair<Change, lnet::Reply<void>>> changes_;
  bool changing_ = false;
};

}  // namespace plnet::node
