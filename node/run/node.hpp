// SPDX-License-Identifier: BSD-3-Clause
// A running node: pollers on their lcores, and the admin loop with the control socket on the
// calling thread. This is the one place where independent parts are connected.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lib/base/arena.hpp"
#include "lib/base/clock.hpp"
#include "lib/base/result.hpp"
#include "lib/lnet/node/lnet_control.hpp"
#include "lib/runtime/admin/metrics.hpp"
#include "lib/runtime/admin/system_clock.hpp"
#include "lib/runtime/config/schema.hpp"
#include "lib/runtime/config/settings.hpp"
#include "lib/runtime/control/socket.hpp"
#include "lib/runtime/control/verb_table.hpp"
#include "lib/runtime/files/nic_names.hpp"
#include "lib/runtime/host/cpu_claims.hpp"
#include "lib/runtime/host/memory.hpp"
#include "lib/runtime/poll/tsc_clock.hpp"

namespace plnet::runtime {
class ControlServer;
class EventLoop;
class Exchange;
class Log;
class MetricsHttp;
class OnceLog;
class Poller;
}  // namespace plnet::runtime

namespace plnet::node {

class Captures;
class DrainLog;
class FamilyHost;
class LnetAdmin;
class LnetHost;
class Machine;
class OpenFamilies;
class RecentActivity;
class RecentLines;
class Residents;
class StatusPage;

struct NodeOptions {
  std::string instance = "control";
  runtime::SocketOptions socket;
  std::optional<gid_t> admin_group{};
  std::string lock_directory = runtime::usual_claim_directory();
  Residents* residents = nullptr;  // outlives the node
  // For a router that SIGTERM ends; nullopt: no drain.
  std::optional<lnet::DrainOrder> drain{};
  runtime::NicNames nic_names{};  // written after log lines that have their NIDs
  // The settings of the files as they are now, for SIGHUP; empty: there are none.
  std::function<Outcome<runtime::Settings>()> reread{};
};

class Node {
 public:
  // All that can fail at a start fails here; a failure leaves nothing behind.
  [[nodiscard]] static Outcome<std::unique_ptr<Node>> start(const runtime::Settings& settings,
                                                            const NodeOptions& options);
  ~Node();
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  // Returns after SIGTERM, SIGINT or stop(), when every poller has ended. After SIGTERM a router
  // drains first; another signal ends it at once. SIGHUP reads the files again; without files, or
  // with a terminal, which may be lost, it ends the node.
  void run();
  // Any thread.
  void stop();

  // The rest is for the admin thread, where verbs run.

  // The present settings, including all changes of LNet's part.
  [[nodiscard]] runtime::Settings settings() const;
  // Applies `wanted` without LNet's part, all or nothing. Fails if a change, even one of LNet's,
  // needs a restart, or if a resource is missing. The log names the caller.
  [[nodiscard]] Outcome<void> apply(const runtime::Settings& wanted, const runtime::Caller& caller);
  // Logs a change of LNet's part from `before` to the present configuration.
  void log_lnet_changed(const lnet::NodeConfig& before, const runtime::Caller& caller);
  // On all shards, or on none (kAgain).
  [[nodiscard]] Outcome<void> reset_counters();

  // Checks the limits of this process, and raises them where it may; start() calls it.
  [[nodiscard]] static Outcome<void> check_limits();

  // The schema of documents that this node reads and writes.
  [[nodiscard]] const runtime::Schema& schema() const { return schema_; }
  [[nodiscard]] const NodeOptions& options() const { return options_; }
  [[nodiscard]] const Machine& machine() const { return *machine_; }
  [[nodiscard]] const runtime::TscClock& clock() const { return clock_; }
  [[nodiscard]] std::vector<runtime::Poller*> pollers() const;
  [[nodiscard]] const runtime::Exchange& exchange() const { return *exchange_; }
  [[nodiscard]] const runtime::Metrics& metrics() const { return metrics_; }
  [[nodiscard]] const runtime::MetricsHttp& metrics_http() const { return *metrics_http_; }
  [[nodiscard]] const StatusPage& status_page() const { return *status_page_; }
  [[nodiscard]] const runtime::Log& log() const { return *log_; }
  [[nodiscard]] const LnetAdmin& lnet() const { return *lnet_; }
  [[nodiscard]] LnetAdmin& lnet() { return *lnet_; }
  [[nodiscard]] runtime::EventLoop& loop() { return *loop_; }
  // The reason why NIs do not follow the link state of their interfaces; empty if they do.
  [[nodiscard]] const std::string& links_unwatched() const;
  [[nodiscard]] Instant started_at() const { return started_at_; }
  // True: clients and watchers are gone, and what answers them with them.
  [[nodiscard]] bool is_ending() const { return metrics_http_ == nullptr; }
  // Rates and duty cycles of the last seconds.
  [[nodiscard]] const RecentActivity& activity() const { return *activity_; }

 private:
  Node(const runtime::Settings& settings, const NodeOptions& options);
  [[nodiscard]] Outcome<void> open_admin();
  [[nodiscard]] Outcome<void> take_machine();
  [[nodiscard]] Outcome<void> build_pollers();
  [[nodiscard]] Outcome<void> connect_pollers();
  [[nodiscard]] Outcome<void> house_residents();
  [[nodiscard]] Outcome<std::map<unsigned, std::span<std::byte>>> token_regions();
  [[nodiscard]] Outcome<void> open_control();
  [[nodiscard]] Outcome<void> launch();
  void on_signal(int number);
  void drain(const lnet::DrainOrder& order);
  void reload();
  void end_lnet();
  void end_exchange();
  void end_pollers();
  void log_start() const;
  void sample_activity();
  void for_each_family(const std::function<void(FamilyHost&)>& what) const;
  void log_changed(const runtime::Settings& before, const runtime::Settings& after,
                   const runtime::Caller& caller);

  const runtime::Schema schema_;
  runtime::Settings settings_;
  const NodeOptions options_;
  const bool has_terminal_;
  runtime::SystemClock system_clock_;
  runtime::SystemWallClock wall_clock_;
  runtime::TscClock clock_;
  Instant started_at_{};
  std::unique_ptr<RecentLines> recent_lines_;  // before the log, which writes to it
  std::unique_ptr<runtime::Log> log_;
  std::unique_ptr<runtime::OnceLog> bad_input_;
  std::unique_ptr<runtime::OnceLog> refused_peers_;
  std::unique_ptr<runtime::EventLoop> loop_;
  std::unique_ptr<RecentActivity> activity_;
  const std::atomic<std::uint64_t> one_{1};  // of the metric plnet_build_info
  runtime::Metrics metrics_;
  std::unique_ptr<runtime::MetricsHttp> metrics_http_;
  std::unique_ptr<LnetAdmin> lnet_;
  std::unique_ptr<StatusPage> status_page_;
  runtime::VerbTable verbs_;
  // Before the machine, whose destructor frees CPUs and lcores: the pollers must have ended then.
  std::vector<std::unique_ptr<runtime::Poller>> pollers_;
  runtime::ArenaMemory token_memory_;
  ArenaTable tokens_;
  std::unique_ptr<runtime::Exchange> exchange_;
  std::unique_ptr<Machine> machine_;
  std::unique_ptr<OpenFamilies> families_;  // before the host, whose LNDs use their devices
  std::unique_ptr<LnetHost> lnet_host_;
  std::unique_ptr<Captures> captures_;  // ends before the shards whose messages it reads
  std::unique_ptr<runtime::ControlServer> control_;
  std::atomic<bool> stopping_{false};
  bool launched_ = false;
  std::unique_ptr<DrainLog> draining_;
};

}  // namespace plnet::node
