// SPDX-License-Identifier: BSD-3-Clause
// Pings of users (`lnetctl ping`) and of recovery: a GET of the ping buffer with a time limit of
// its own. Checked against lustre-release lnet/lnet/api-ni.c: lnet_ping().
#pragma once

#include <cstdint>
#include <span>

#include "lib/base/clock.hpp"
#include "lib/base/intrusive_list.hpp"
#include "lib/lnet/api/data_operations.hpp"
#include "lib/lnet/control/ping_exchanges.hpp"
#include "lib/lnet/peers/peer_directory.hpp"

namespace plnet::lnet {

// Belongs to the caller until done() is called, from within a step or an event.
class PingRequest : public ListNode<> {
 public:
  virtual ~PingRequest() = default;
  // The buffer is valid during the call. kTimedOut; kProtocol, kOutOfRange: not a ping buffer;
  // kTooBig: it lists more interfaces than the request has room for.
  virtual void done(Result<void> outcome, const PingView* buffer) = 0;

  ProcessId target;
  Nid from = Nid::any();
  Duration timeout = std::chrono::seconds(1);
  std::uint32_t interfaces = 16;  // room for this many
  bool recovery = false;          // to exactly this NID
  bool repeated = false;          // the connection that it was written to has ended
  Instant deadline{};
  PingExchange* exchange = nullptr;
};

class NodePing final : public EventHandler {
 public:
  NodePing(DataOperations& operations, PingExchanges& exchanges, const PeerDirectory& directory)
      : operations_(operations), exchanges_(exchanges), directory_(directory) {}

  // done() is always called, but not inside this call.
  void start(PingRequest& request, Instant now, std::uint32_t interfaces_max);
  // Ends pings whose time is over.
  void step(Instant now);
  void shut_down();
  [[nodiscard]] Instant next_deadline();
  // A message of an earlier ping of this request is still under way, though that ping has ended.
  [[nodiscard]] bool has_left(const PingRequest& request) { return exchanges_.has_left(&request); }
  // Descriptors in use, those of earlier pings included.
  [[nodiscard]] std::uint32_t out() const { return out_; }
  // Pings and pushes of all users that can be under way at a time.
  [[nodiscard]] std::size_t slots() const { return exchanges_.capacity(); }
  // No descriptor of a ping is in use.
  [[nodiscard]] bool quiet() const { return out_ == 0; }

  void on_event(const Event& event) override;

 private:
  // The interval of the search for lost connections while pings wait.
  static constexpr Duration kLookInterval = std::chrono::milliseconds(100);

  void send(PingRequest& request, std::uint32_t bytes);
  [[nodiscard]] PingExchange* leave(PingRequest& request);
  void let_go(PingExchange* exchange);
  void end(PingRequest& request, Result<void> outcome, const PingView* buffer);
  [[nodiscard]] std::uint32_t losses_of(const PingRequest& request) const;
  void repeat_lost();

  DataOperations& operations_;
  PingExchanges& exchanges_;
  const PeerDirectory& directory_;
  Instant next_look_ = Instant::min();
  IntrusiveList<PingRequest> waiting_;
  IntrusiveList<PingRequest> refused_;
  std::uint32_t out_ = 0;
};

}  // namespace plnet::lnet
