// SPDX-License-Identifier: BSD-3-Clause
// Requests of other nodes. Each service keeps buffers of one message posted. A message is copied
// into an RPC and its buffer posted again at once, since the client may send its next request as
// soon as it has the reply. The handler of the service decides: a reply, bulk data first, or
// nothing. When all RPCs are in use, full buffers wait; when all buffers are full, requests wait in
// the portal, which must be lazy (Node::set_lazy(), called by the program). RPCs whose clients must
// have given up by now end as well. Clients share the RPCs of a server, each with a share of its
// own. One object for each shard that serves; everything is on that shard, and poll() calls the
// handlers. Behaviour checked against lustre-release v2_17_0 lnet/selftest/rpc.c:
// srpc_handle_rpc(), srpc_server_rpc_done(), srpc_lnet_ev_handler().
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "lib/base/intrusive_list.hpp"
#include "lib/base/pool.hpp"
#include "lib/lnet/api/data_operations.hpp"
#include "lib/selftest/peer_shares.hpp"
#include "lib/selftest/rpc_counters.hpp"
#include "lib/selftest/rpc_part.hpp"
#include "lib/selftest/srpc_codec.hpp"
#include "lib/selftest/work_memory.hpp"

namespace plnet::selftest {

class Responder;
class ServerRpc;

class RequestHandler {
 public:
  virtual ~RequestHandler() = default;
  // Answer by one of reply(), pull(), push() or drop(), now or later. Until then the RPC may be in
  // a list of the handler, and leaves it when it is aborted.
  virtual void on_request(ServerRpc& rpc) = 0;
  // The data of pull() or push() has arrived: call reply() or drop(). Not called after a failure.
  virtual void on_bulk(ServerRpc& rpc) = 0;
  // The RPC has ended, with or without a call of on_request(): drop all references to it.
  virtual void on_end(ServerRpc& rpc) = 0;
};

struct ServedService {
  Service service = Service::kPing;
  RequestHandler* handler = nullptr;
  std::size_t buffers = 0;
};

struct ByAge {};  // the list of RPCs by age

class ServerRpc : public ListNode<>, public ListNode<ByAge> {
 public:
  void* context = nullptr;  // of the handler; null for a new request

  using ListNode<>::linked;
  using ListNode<>::unlink;

  [[nodiscard]] Service service() const { return service_; }
  [[nodiscard]] const lnet::ProcessId& peer() const { return peer_; }
  [[nodiscard]] const ReceivedHeader& header() const { return header_; }
  template <class Request>
  [[nodiscard]] Request request() const {
    return decode_body<Request>(message_, header_);
  }
  [[nodiscard]] std::uint32_t bulk_moved() const { return bulk_.length; }

 private:
  friend class Responder;
  enum class State : std::uint8_t {
    kFresh,    // poll() will look at it
    kHandled,  // owned by the handler
    kBulk,
    kReply,
    kOver,  // ends as soon as no MD is posted
  };
  struct Leg : RpcPart {
    ServerRpc* rpc = nullptr;
  };
  [[nodiscard]] bool posted() const { return bulk_.posted || reply_.posted; }

  RequestHandler* handler_ = nullptr;
  Service service_{};
  lnet::ProcessId peer_;
  lnet::Nid self_;  // the local NID of the request
  State state_ = State::kOver;
  Instant deadline_;
  Instant since_;  // time of its handover, or of the start of its bulk data
  bool pulls_ = false;
  bool bad_ = false;  // the buffer did not hold a whole message
  ReceivedHeader header_;
  std::uint64_t reply_id_ = 0;
  std::array<std::byte, kMessageBytes> message_{};
  Leg bulk_;
  Leg reply_;
  MessageSlot reply_slot_;
};

class Responder final : public lnet::EventHandler {
 public:
  struct Setup {
    std::span<const ServedService> services;
    std::size_t rpcs = 0;
  };
  // Takes an ME and an MD of the shard for each buffer, and an MD for each RPC. Everything is
  // allocated here; buffers are posted by open().
  Responder(lnet::DataOperations& operations, RpcStatistics& statistics, const Setup& setup,
            WorkMemory& memory);
  ~Responder() override;
  [[nodiscard]] static std::size_t memory_bytes(const Setup& setup);

  void open();
  // Accepts no more requests; RPCs under way end without a reply.
  void close();
  // No memory of this object is attached to the network any more.
  [[nodiscard]] bool closed() const;

  // --- For handlers ---

  template <class Reply>
  void reply(ServerRpc& rpc, std::uint32_t features, const Reply& body) {
    PLNET_CHECK(Reply::kType == reply_to(request_of(rpc.service_)), "a reply to another request");
    encode(features, body, rpc.reply_slot_.span());
    send_reply(rpc);
  }
  // Transfers bulk data from or to the client. The memory belongs to the caller until on_end().
  void pull(ServerRpc& rpc, std::uint64_t bulk_id, const Fragment& into);
  void push(ServerRpc& rpc, std::uint64_t bulk_id, const Fragment& from);
  // Ends the RPC without a reply.
  void drop(ServerRpc& rpc);

  // Ends all unanswered RPCs of this service, as drop() does.
  void abort_all(Service service);

  // Ends the oldest RPC of this peer if it has not moved for kStallPatience.
  void end_stalled(const lnet::Nid& peer, bool in_bulk_only);

  // Calls handlers. Returns the number of calls.
  unsigned poll(Instant now);
  [[nodiscard]] bool has_work() const { return !turn_.empty() || !unposted_.empty(); }
  // The next time at which poll() has work without new events.
  [[nodiscard]] Instant next_deadline() const {
    if (has_work()) return Instant::min();
    const ServerRpc* const oldest = by_age_.front();
    const Instant looks = shares_.any_waits() ? look_at_ : Instant::max();
    return oldest == nullptr ? looks : std::min(looks, oldest->deadline_);
  }
  [[nodiscard]] bool idle() const { return rpcs_.free_count() == rpcs_.capacity(); }
  [[nodiscard]] std::size_t posted_buffers() const { return posted_; }

  void on_event(const lnet::Event& event) override;

 private:
  struct Buffer : ListNode<> {
    MessageSlot slot;
    const ServedService* service = nullptr;
    lnet::MdHandle md;
    bool posted = false;
    bool good = false;  // the buffer holds a request
    std::uint32_t length = 0;
    lnet::ProcessId peer;
    lnet::Nid self;
  };
  // The event handler of RPCs, apart from that of buffers.
  struct RpcEvents final : lnet::EventHandler {
    void on_event(const lnet::Event& event) override { responder->on_rpc_event(event); }
    Responder* responder = nullptr;
  };

  void post(Buffer& buffer);
  void filled(Buffer& buffer);
  void accept(Buffer& buffer, ServerRpc& rpc);
  void on_rpc_event(const lnet::Event& event);
  unsigned expire();
  void look_at(ServerRpc& rpc);
  void hand_over(ServerRpc& rpc);
  void move_bulk(ServerRpc& rpc, std::uint64_t bulk_id, const Fragment& memory, bool pulls);
  void send_reply(ServerRpc& rpc);
  void finish_bulk(ServerRpc& rpc);
  void end(ServerRpc& rpc, bool answered);
  void to_turn(ServerRpc& rpc);
  void release(ServerRpc& rpc);

  lnet::DataOperations& operations_;
  RpcStatistics& statistics_;
  const std::vector<ServedService> services_;
  Pool<ServerRpc> rpcs_;
  const std::size_t buffer_count_;
  const std::unique_ptr<Buffer[]> buffers_;
  RpcEvents rpc_events_;
  Instant now_;
  IntrusiveList<ServerRpc> turn_;  // poll() will look at these
  // RPCs that were handed over. All have the same time limit, so that the oldest expires first.
  IntrusiveList<ServerRpc, ByAge> by_age_;
  PeerShares<Buffer> shares_;       // shares of the RPCs; full buffers wait for one
  IntrusiveList<Buffer> unposted_;  // wait for a descriptor
  Instant look_at_;                 // from then on a peer may lose an RPC to waiting peers
  std::size_t posted_ = 0;
  bool open_ = false;
};

}  // namespace plnet::selftest
