// SPDX-License-Identifier: BSD-3-Clause
// TCP's place on a poller: the shard's sockets, and the inbox of the LNDs that share them. Always
// in the poller's list; without a TCP network it makes no system call.
#pragma once

#include <memory>

#include "drivers/net/tcp/device.hpp"
#include "lib/base/pollable.hpp"
#include "lib/socklnd/acceptor.hpp"
#include "lib/socklnd/shard_inbox.hpp"
#include "lib/socklnd/stream_switch.hpp"
#include "node/net/tcp/complaints.hpp"

namespace plnet::node {

class TcpPlace final : public Pollable {
 public:
  // Accepted connections on their way to this shard.
  static constexpr std::size_t kArrivalsMax = 256;
  // Connections taken over in one turn: each costs a few system calls.
  static constexpr unsigned kTakenPerTurn = 16;

  [[nodiscard]] static Outcome<std::unique_ptr<TcpPlace>> open(const drivers::TcpConfig& config);
  ~TcpPlace() override;
  TcpPlace(const TcpPlace&) = delete;
  TcpPlace& operator=(const TcpPlace&) = delete;

  // Before the first poll.
  void set_acceptor(socklnd::Acceptor& acceptor) { acceptor_ = &acceptor; }

  [[nodiscard]] socklnd::ShardInbox& inbox() { return inbox_; }
  // Only on the shard, from here on.
  [[nodiscard]] socklnd::StreamSwitch& streams() { return streams_; }
  [[nodiscard]] drivers::TcpDevice& device() { return *device_; }
  // Whether any NI listens on this device.
  void set_listening(bool listening) { listening_ = listening; }

  [[nodiscard]] TcpComplaints& complaints() { return complaints_; }

  unsigned poll(Instant now) override;
  [[nodiscard]] std::string_view name() const override { return "tcp"; }
  [[nodiscard]] int wake_descriptor() const override { return device_->wake_descriptor(); }
  [[nodiscard]] Instant next_deadline() const override;

 private:
  explicit TcpPlace(const drivers::TcpConfig& config);
  [[nodiscard]] std::uint64_t open_streams() const;
  [[nodiscard]] bool quiet() const;

  const std::size_t streams_max_;
  socklnd::StreamSwitch streams_;
  std::unique_ptr<drivers::TcpDevice> device_;
  socklnd::ShardInbox inbox_{streams_, kArrivalsMax};
  socklnd::Acceptor* acceptor_ = nullptr;  // shard 0 only
  bool listening_ = false;
  TcpComplaints complaints_;
};

}  // namespace plnet::node
