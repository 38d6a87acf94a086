// SPDX-License-Identifier: BSD-3-Clause
// Requests of others. Each service keeps buffers of one message posted; what comes is copied into
// an RPC, the buffer is posted again at once (the client may send its next request as soon as it
// has the reply), and the service's handler says what becomes of the RPC: a reply, bulk data first,
// or nothing. When all RPCs are in use, full buffers wait; when all buffers are full, requests wait
// in the portal, which must be lazy: whoever puts the node together sees to that
// (Node::set_lazy()). What its client has given up by now ends as well: many clients share what a
// server has, and each has its share of the RPCs. One object for each shard that serves; all is on
// that shard, handlers are called in poll(). Behaviour checked against lustre-release v2_17_0
// lnet/selftest/rpc.c: srpc_handle_rpc(), srpc_server_rpc_done(), srpc_lnet_ev_handler().
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
  // To be answered by one of reply(), pull(), push() or drop(), now or later; until then it may be
  // in a list of the handler's, from which it vanishes if it is aborted.
  virtual void on_request(ServerRpc& rpc) = 0;
  // What pull() or push() moved is there: reply() or drop(). Not told if it failed.
  virtual void on_bulk(ServerRpc& rpc) = 0;
  // It is over, whether on_request() has been called or not: nothing may hold on to it.
  virtual void on_end(ServerRpc& rpc) = 0;
};

struct ServedService {
  Service service = Service::kPing;
  RequestHandler* handler = nullptr;
  std::size_t buffers = 0;
};

struct ByAge {};  // the list of RPCs as they came

class ServerRpc : public ListNode<>, public ListNode<ByAge> {
 public:
  void* context = nullptr;  // the handler's; null when a request comes

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
    kFresh,    // for poll() to look at
    kHandled,  // the handler has it
    kBulk,
    kReply,
    kOver,  // as soon as nothing is posted any more
  };
  struct Leg : RpcPart {
    ServerRpc* rpc = nullptr;
  };
  [[nodiscard]] bool posted() const { return bulk_.posted || reply_.posted; }

  RequestHandler* handler_ = nullptr;
  Service service_{};
  lnet::ProcessId peer_;
  lnet::Nid self_;  // the NID of ours that was asked
  State state_ = State::kOver;
  Instant deadline_;
  Instant since_;  // time of its handover, or of the begin of its bulk data
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
  // No request is taken any more, those under way end without a reply.
  void close();
  // Nothing of it is laid open to the network any more.
  [[nodiscard]] bool closed() const;

  // --- For handlers ---

  template <class Reply>
  void reply(ServerRpc& rpc, std::uint32_t features, const Reply& body) {
    PLNET_CHECK(Reply::kType == reply_to(request_of(rpc.service_)), "a reply to another request");
    encode(features, body, rpc.reply_slot_.span());
    send_reply(rpc);
  }
  // Bulk data from or to the client. The memory is the caller's until on_end().
  void pull(ServerRpc& rpc, std::uint64_t bulk_id, const Fragment& into);
  void push(ServerRpc& rpc, std::uint64_t bulk_id, const Fragment& from);
  // No reply.
  void drop(ServerRpc& rpc);

  // Ends all of this service that have not been answered yet, as drop() does.
  void abort_all(Service service);

  // Ends the oldest RPC of this peer if it has not moved for kStallPatience.
  void end_stalled(const lnet::Nid& peer, bool in_bulk_only);

  // Calls handlers. Returns how many.
  unsigned poll(Instant now);
  [[nodiscard]] bool has_work() const { return !turn_.empty() || !unposted_.empty(); }
  // When poll() next has something to do, if nothing comes before.
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
  // Told of RPCs apart from buffers.
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
  IntrusiveList<ServerRpc> turn_;  // for poll() to look at
  // Handed over. All have as long, so that the oldest is the next whose time runs out.
  IntrusiveList<ServerRpc, ByAge> by_age_;
  PeerShares<Buffer> shares_;       // shares of the RPCs; full buffers wait for one
  IntrusiveList<Buffer> unposted_;  // wait for a descriptor
  Instant look_at_;                 // from then on a peer may lose an RPC to waiting peers
  std::size_t posted_ = 0;
  bool open_ = false;
};

}  // namespace plnet::selftest
