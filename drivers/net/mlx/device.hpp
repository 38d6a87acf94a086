// SPDX-License-Identifier: BSD-3-Clause
// Queue pairs of one shard on an RDMA device: one completion queue that is polled; events of the
// connection manager come from the node's desk. Work requests never make a system call;
// the set-up of a connection makes some, a few tenths of a millisecond each on the shard.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

#include "drivers/net/mlx/adapter.hpp"
#include "drivers/net/mlx/connection.hpp"
#include "drivers/net/mlx/event_desk.hpp"
#include "drivers/net/mlx/registrations.hpp"
#include "drivers/net/mlx/rx.hpp"
#include "drivers/net/mlx/stats.hpp"
#include "drivers/net/mlx/tx.hpp"
#include "lib/base/map_cache.hpp"
#include "lib/base/pollable.hpp"
#include "lib/o2iblnd/queue_pair.hpp"

namespace plnet::mlx {

struct DeviceConfig {
  std::size_t connections_max = 4096;
  int backlog = 256;  // requests that may wait at a listener
};

class Device final : public o2iblnd::VerbsDriver, public Pollable {
 public:
  using Ipv4Endpoint = o2iblnd::Ipv4Endpoint;

  static constexpr std::size_t kBurst = 32;  // completions of one poll
  // Interval between two checks of the adapter's state.
  static constexpr Duration kLookInterval = std::chrono::microseconds(200);
  // Flushes come within microseconds. A device that owes some for longer has gone.
  static constexpr Duration kDrainMax = std::chrono::seconds(5);
  // A port that is down for longer loses its connections; a device that has gone, at once.
  static constexpr Duration kPortGrace = std::chrono::seconds(2);
  static constexpr int kResolveTimeoutMs = 5000;  // the kernel's, of an address and of a route

  // The adapter and `events` outlive the device.
  [[nodiscard]] static Outcome<std::unique_ptr<Device>> open(Adapter& adapter,
                                                             const DeviceConfig& config,
                                                             o2iblnd::VerbsEvents& events);
  ~Device() override;
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  [[nodiscard]] bool post_chain(QueuePairId queue_pair,
                                std::span<const o2iblnd::WorkRequest> chain) override;
  std::size_t post_receives(QueuePairId queue_pair,
                            std::span<const o2iblnd::ReceiveRequest> burst) override;
  [[nodiscard]] Result<o2iblnd::RemoteKey> remote_key(const Fragment& fragment) override;
  void release(std::uint32_t mapping) override { maps_.give(mapping, MapCache::Use::kOpen); }
  void set_mapping(const MapRules& rules) override {
    if (rules != maps_.rules()) maps_.set_rules(rules);
  }
  [[nodiscard]] CounterView mapping_counters() const override { return maps_.counters(); }
  // With a port in `local` privileged ports are tried, from that one downwards.
  [[nodiscard]] Result<QueuePairId> connect(const Ipv4Endpoint& local, const Ipv4Endpoint& remote,
                                            const o2iblnd::QueuePairSize& size,
                                            const o2iblnd::ConnectParameters& parameters,
                                            std::span<const std::byte> data) override;
  [[nodiscard]] Result<void> listen(const Ipv4Endpoint& local) override;
  void stop_listening(const Ipv4Endpoint& local) override;
  [[nodiscard]] Result<void> prepare(QueuePairId request,
                                     const o2iblnd::QueuePairSize& size) override;
  [[nodiscard]] Result<void> accept(QueuePairId request,
                                    const o2iblnd::ConnectParameters& parameters,
                                    std::span<const std::byte> data) override;
  void reject(QueuePairId request, std::span<const std::byte> data) override;
  void to_error(QueuePairId queue_pair) override;
  [[nodiscard]] const o2iblnd::DeviceLimits& limits() const override { return adapter_.limits(); }
  [[nodiscard]] CounterView counters() const override { return stats_.view(); }

  [[nodiscard]] std::optional<o2iblnd::HandedRequest> give_away(QueuePairId request) override;
  [[nodiscard]] Result<QueuePairId> take_over(const o2iblnd::HandedRequest& request) override;
  void turn_down(const o2iblnd::HandedRequest& request) override;

  // Cold. Takes a request that was reported and not answered away from this device, for adopt() of
  // another one on its own shard. Nothing: it is gone.
  [[nodiscard]] std::optional<HandedRequest> hand_over(QueuePairId request);
  // Cold. Reports the request by on_connect_request() inside the call, as if this device had
  // received it; rejects it if all connections are in use.
  void adopt(const HandedRequest& request);
  // Cold, any shard: rejects the request.
  static void discard(const HandedRequest& request);

  unsigned poll(Instant now) override;
  [[nodiscard]] std::string_view name() const override { return "mlx"; }
  [[nodiscard]] Instant next_deadline() const override { return look_at_; }

 private:
  struct Listener {
    Ipv4Endpoint local;
    rdma_cm_id* id = nullptr;
  };
  // An end that the next poll reports: no call makes an event.
  struct Ended {
    QueuePairId name;
    Errc cause = Errc::kAborted;
  };

  Device(Adapter& adapter, const DeviceConfig& config, o2iblnd::VerbsEvents& events);
  unsigned tell_ended();
  void let_removed_go();
  void close();

  // completions.cpp: hot, and the way out of a queue pair.
  unsigned poll_completions();
  void on_completion(const ibv_wc& completion);
  void fail(Connection& connection);
  [[nodiscard]] static bool holds(Connection& connection);
  // The oldest chain has ended, and with it the use of its payload.
  PostedChain pop_chain(Connection& connection);
  void end_failed();
  void fail_part(const Connection& connection, std::uint32_t number, Result<void> status);
  void complete_chains(Connection& connection, std::uint32_t number, Result<void> status);
  void report(const o2iblnd::WorkCompletion& completion);
  void tell_reported();
  [[nodiscard]] bool has_drained(const Connection& connection, Instant now) const;
  unsigned finish_drained(Instant now);
  void finish(Connection& connection);

  // events.cpp: cold, news of the connection manager and the device.
  unsigned read_events();
  void on_cm_event(const CmEvent& event);
  void on_request(const HandedRequest& request);
  // Null: all connections are in use, and the request is rejected.
  [[nodiscard]] Connection* keep(const HandedRequest& request);
  void on_connection_event(Connection& connection, const CmEvent& event);
  void resolve_route(Connection& connection);
  void send_request(Connection& connection);
  void on_established(Connection& connection, const CmEvent& event);
  void on_rejected(Connection& connection, const CmEvent& event);
  void on_disconnected(Connection& connection);
  void end(Connection& connection, Errc cause);
  void look_at_adapter();
  void end_all();
  void end_from_here(Connection& connection, Errc cause);

  // setup.cpp: cold.
  [[nodiscard]] Connection* find_or_count(QueuePairId name);
  [[nodiscard]] Result<void> bind(rdma_cm_id* id, const Ipv4Endpoint& local);
  [[nodiscard]] Result<void> create_pair(Connection& connection,
                                         const o2iblnd::QueuePairSize& size);
  [[nodiscard]] Result<void> make_completion_room(unsigned more);
  void start_drain(Connection& connection);
  static void destroy(Connection& connection);
  void release(Connection& connection);

  struct Leave {
    void operator()(Adapter* adapter) const { adapter->leave(); }
  };

  Adapter& adapter_;
  std::unique_ptr<Adapter, Leave> entered_;  // destroyed after all that uses the adapter
  const DeviceConfig config_;
  o2iblnd::VerbsEvents& events_;
  MlxStats stats_;
  std::uint32_t inbox_ = 0;        // number of its inbox at the desk; 0: none
  ibv_cq* completions_ = nullptr;  // null: closed, since the device was removed
  unsigned completion_entries_ = 0;
  unsigned completions_promised_ = 0;  // to the queue pairs that exist
  Registrations registrations_;
  MapCache maps_;
  Connections connections_;
  Tx tx_;
  Rx rx_;
  std::vector<Listener> listeners_;
  std::vector<Ended> ended_;
  std::vector<QueuePairId> failed_;
  IntrusiveList<Connection> draining_;
  std::array<o2iblnd::WorkCompletion, kBurst> reported_{};
  std::size_t reported_count_ = 0;
  std::uint32_t changes_seen_ = 0;
  bool usable_seen_ = true;
  Instant grace_end_ = Instant::max();  // of a port that is down
  Instant now_{};
  Instant look_at_{};
};

}  // namespace plnet::mlx
