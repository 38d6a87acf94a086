// SPDX-License-Identifier: BSD-3-Clause
// TCP's place on a poller: the shard's sockets, the LNDs that share them, the mailbox through which
// connections that others have accepted come home, and what other shards of the CPT have to say
// about lanes. Always in the poller's list; without a TCP network it makes no system call.
#pragma once

#include <memory>
#include <vector>

#include "apps/assembly/tcp_complaints.hpp"
#include "drivers/net/tcp/device.hpp"
#include "lib/base/counters.hpp"
#include "lib/base/doorbell.hpp"
#include "lib/base/pollable.hpp"
#include "lib/base/ring.hpp"
#include "lib/socklnd/acceptor.hpp"
#include "lib/socklnd/lane_exchange.hpp"
#include "lib/socklnd/lnd.hpp"
#include "lib/socklnd/peer_homes.hpp"
#include "lib/socklnd/stream_switch.hpp"

namespace plnet::apps {

class TcpPlace;

// The LND of one NI on one shard, which its shard's mailbox knows.
class TcpLnd final : public socklnd::SockLnd {
 public:
  TcpLnd(const socklnd::SockLndConfig& config, lnet::LndUpcalls& core, TcpPlace& place);
  ~TcpLnd() override;

  [[nodiscard]] const lnet::Nid& nid() const { return nid_; }

 private:
  const lnet::Nid nid_;
  TcpPlace& place_;
};

#define PLNET_TCP_PLACE_COUNTERS(X)                                                      \
  X(kArrived, "arrived", "connections", kCount, "accepted ones that came home here")     \
  X(kHomeless, "homeless", "connections", kCount, "closed: their NI has gone meanwhile") \
  X(kNoRoom, "no_room", "connections", kCount, "closed: the shard has as many as it can have")

PLNET_COUNTERS(TcpPlaceTable, PLNET_TCP_PLACE_COUNTERS);

class TcpPlace final : public Pollable {
 public:
  // Connections on their way home. The acceptor turns others away meanwhile, and they come again.
  static constexpr std::size_t kArrivalsMax = 256;
  // Taken in one turn: each costs a few system calls.
  static constexpr unsigned kTakenPerTurn = 16;

  [[nodiscard]] static Outcome<std::unique_ptr<TcpPlace>> open(const drivers::TcpConfig& config);
  ~TcpPlace() override;
  TcpPlace(const TcpPlace&) = delete;
  TcpPlace& operator=(const TcpPlace&) = delete;

  // Before anybody polls.
  void set_doorbell(Doorbell& doorbell) { doorbell_ = &doorbell; }
  void set_acceptor(socklnd::Acceptor& acceptor) { acceptor_ = &acceptor; }
  void set_lanes(socklnd::LaneEnd* lanes) { lanes_ = lanes; }

  // The shard of the acceptor.
  [[nodiscard]] bool has_room() const { return arrivals_.size() < kArrivalsMax; }
  void bring(const socklnd::Arrival& arrival);

  // The rest is the shard's own.
  [[nodiscard]] socklnd::StreamSwitch& streams() { return streams_; }
  [[nodiscard]] drivers::TcpDevice& device() { return *device_; }
  [[nodiscard]] socklnd::LaneEnd* lanes() { return lanes_; }
  void enroll(TcpLnd& lnd) { lnds_.push_back(&lnd); }
  void strike(TcpLnd& lnd);
  // Null: no such NI here.
  [[nodiscard]] TcpLnd* lnd(const lnet::Nid& nid) const;
  // Somebody listens on this device, or no longer.
  void set_listening(bool listening) { listening_ = listening; }

  [[nodiscard]] CounterView counters() const { return counters_.view(); }
  [[nodiscard]] TcpComplaints& complaints() { return complaints_; }

  unsigned poll(Instant now) override;
  [[nodiscard]] std::string_view name() const override { return "tcp"; }
  [[nodiscard]] int wake_descriptor() const override { return device_->wake_descriptor(); }
  [[nodiscard]] Instant next_deadline() const override;

 private:
  using Id = TcpPlaceTable::Id;

  explicit TcpPlace(const drivers::TcpConfig& config);
  [[nodiscard]] std::uint64_t open_streams() const;
  [[nodiscard]] bool quiet() const;
  unsigned take_arrivals();
  void take(const socklnd::Arrival& arrival);
  unsigned hear_of_lanes();

  const std::size_t streams_max_;
  socklnd::StreamSwitch streams_;
  std::unique_ptr<drivers::TcpDevice> device_;
  SpscRing<socklnd::Arrival> arrivals_{kArrivalsMax};
  Doorbell* doorbell_ = nullptr;
  socklnd::Acceptor* acceptor_ = nullptr;  // where there is one
  socklnd::LaneEnd* lanes_ = nullptr;      // if there are other shards in the CPT
  std::vector<TcpLnd*> lnds_;              // a handful
  bool listening_ = false;
  Counters<TcpPlaceTable> counters_;
  TcpComplaints complaints_;
};

}  // namespace plnet::apps
