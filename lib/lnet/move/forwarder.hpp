// SPDX-License-Identifier: BSD-3-Clause
// The middle of a forwarded message's way, between the header that arrived and the message that
// leaves: a credit of the peer that sent it, a path, a router buffer. Whatever is not to be had is
// waited for, the payload unread. Then Receiver and Sender do for it what they do for our own.
// Order and outcomes: lustre-release lnet/lnet/lib-move.c: lnet_post_routed_recv_locked().
//
// Other than in the kernel the path is chosen first, so that a next hop can be held to a share of
// the buffers: it may take another one of a class while it holds fewer than are free there. One
// that takes nothing gets half of them, ten such get a tenth each and leave a tenth, and what is
// for them waits in queues of their own. Hops with something to wait for are served in turn.
//
// The same holds for the records that messages are made of, of which there may be fewer than
// buffers: with its buffer a message is promised the record with which it leaves, so that no
// message that was received ever waits for one behind those that a dead hop holds.
//
// A hop to which nothing moves for kHopStall while somebody waits on its account is stalled:
// clients get back the credits that their messages to it hold, at once when more come, so that they
// are heard again; and what would have to wait is dropped. What has its place within the hop's
// share has it as before, for as long as the hop's LND does not give up. The first message that
// ends there, however it ends, gives it another try.
#pragma once

#include <cstddef>
#include <cstdint>

#include "lib/base/clock.hpp"
#include "lib/lnet/api/lnd.hpp"
#include "lib/lnet/flow/forward_share.hpp"
#include "lib/lnet/move/statistics.hpp"

namespace plnet::lnet {

struct Forwarding;
struct OnlyHop;
struct PeerNi;
struct Receive;
struct ShardCore;

// Longer than a transport takes to repeat lost bytes, well below the timeout of any LND.
inline constexpr Duration kHopStall = std::chrono::seconds(5);

class Forwarder {
 public:
  // Hops of a class that are looked at in a turn when a buffer is free.
  static constexpr std::uint32_t kHopsAtOnce = 32;
  // Clients together borrow one in so many of the buffers that they leave free.
  static constexpr std::uint32_t kBorrowedPart = 2;

  explicit Forwarder(ShardCore& core) : core_(core) {}

  // Hot. Its header has come and nothing has been done about it.
  void begin(Receive& receive);
  // Messages that have begun and have not ended, whatever they have or wait for.
  [[nodiscard]] std::uint32_t under_way() const { return under_way_; }

  // Hot. Of a sender that is known. kPark: it comes again as ParcelStep::kWaitOver, or its decision
  // is among those of the shard. `header` as in Receiver: what was offered, or the record's own.
  [[nodiscard]] RxDecision admit(Receive& receive, const MessageHeader& header);
  // Hot. It has ended, one way or another: all that it has goes home.
  void give_back(Receive& receive);

  // Hot. Nothing of its payload is kept elsewhere any more.
  static void bring(Receive& receive);

  // Hot. Its path can still be taken.
  [[nodiscard]] bool has_way(const Receive& receive) const;
  // Its next hop is not there.
  [[nodiscard]] static bool is_down(const Receive& receive);
  // It is down: there may be another gateway, another interface of its or of the destination's.
  [[nodiscard]] bool may_avoid(const PeerNi& hop, bool is_router,
                               const MessageHeader& header) const;
  // It cannot; false: there is no other.
  [[nodiscard]] bool find_other_way(Receive& receive, PeerNi& destination);

  // Messages that nobody else may take: they are for what has a buffer and has not left it yet.
  [[nodiscard]] std::size_t promised() const { return promised_; }
  // Hot. It is whole and gets its message; what comes now is its next hop's time.
  void let_go(Receive& receive);
  // Hot. A message or receive record is free again, whoever had it.
  void record_came_home() {
    if (wants_records_) [[unlikely]]
      look_for_records();
  }

  // Its connection has gone. True: it waited here, and is the caller's.
  [[nodiscard]] bool leave(Receive& receive);
  // Its sender's link goes. True: it waited for a credit there, and is the caller's.
  [[nodiscard]] bool leave_client(Receive& receive);
  // The port goes; what was received of it, or was to go to it, may stay for longer.
  void forget(PeerPort& peer);

  // Gives out what has come home. Once a turn; returns how many were served.
  unsigned step();
  [[nodiscard]] bool has_work() const;
  // There are more buffers than before.
  void look_again() { to_look_at_ = hops_waiting_; }
  // Some next hop went down: what waits for a buffer to go there goes another way, or ends.
  void end_down();
  // Routing is off: what waits ends. What has a buffer goes on.
  void end_waiting();
  // Looks for hops that have stalled. Now and then, while something waits.
  void sweep();

 private:
  using Decision = RxDecision;

  [[nodiscard]] bool take_credit(Receive& receive);
  void give_credit(Receive& receive);
  void give_all(Receive& receive);
  void hand(HopShare& hop) const;
  [[nodiscard]] bool leads_on(const Forwarding& way) const;
  void lose_hop(Receive& receive);
  [[nodiscard]] bool is_forbidden_elsewhere(const Receive& receive) const;
  [[nodiscard]] bool may_run(const ClientCredits& client, BufferClass of) const;
  void start_clients(ClientCredits& client);
  [[nodiscard]] bool leads_anywhere(NetId net) const;
  [[nodiscard]] bool choose_way(Receive& receive, PeerNi& destination, const OnlyHop& ahead);
  [[nodiscard]] bool compare_ways(Receive& receive, PeerNi& destination, bool any_nid);
  [[nodiscard]] bool may_take_any_nid(const MessageHeader& header) const;
  [[nodiscard]] bool is_forbidden(Receive& receive, PeerNi& destination);
  Decision find_way(Receive& receive, const MessageHeader& header);
  Decision take_buffer(Receive& receive, std::uint32_t length);
  [[nodiscard]] bool is_watched() const;
  [[nodiscard]] bool something_waits() const;
  Decision hold(Receive& receive, HopQueue& queue, std::uint32_t length);
  Decision wait_for_buffer(Receive& receive, HopQueue& queue);
  Decision refuse_down(Receive& receive);
  [[nodiscard]] bool may_hold(const HopQueue& queue);
  [[nodiscard]] bool has_records(const HopShare& hop) const;
  void look_for_records();
  [[nodiscard]] bool leaves_from_here(const Forwarding& way, std::uint32_t length);
  void give_buffer(Receive& receive);
  void charge(Receive& receive, PeerPort& hop);
  void discharge(Receive& receive);
  void leave_queue(Receive& receive);
  unsigned serve(BufferClass of);
  void start(Receive& receive);
  void stall(PeerPort& hop);
  template <class Visit>
  void for_each_without_ni_credit(Visit&& visit);
  void decide(Receive& receive, const Decision& decision);
  void ask_again(Receive& receive);

  ShardCore& core_;
  ByBufferClass<IntrusiveList<HopQueue>> in_turn_;  // where something waits
  BufferCounts hops_waiting_;
  BufferCounts to_look_at_;    // of those, since something came home
  std::uint32_t clients_ = 0;  // that have something under way or waiting
  std::uint32_t under_way_ = 0;
  std::size_t promised_ = 0;
  bool wants_records_ = false;  // some hop waits because they are short
};

}  // namespace plnet::lnet
