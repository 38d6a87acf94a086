// SPDX-License-Identifier: BSD-3-Clause
// Requests of this node. Each attaches memory for its reply and for its bulk data, if any, then
// puts the request; it ends when all of these have had their last event. Nothing is sent twice. One
// object for each shard that sends requests; everything is on that shard. Behaviour checked against
// lustre-release v2_17_0 lnet/selftest/rpc.c: srpc_send_rpc(), srpc_client_rpc_done(),
// srpc_lnet_ev_handler().
#pragma once

#include <cstdint>
#include <span>

#include "lib/base/intrusive_list.hpp"
#include "lib/base/pool.hpp"
#include "lib/base/timer_wheel.hpp"
#include "lib/lnet/api/data_operations.hpp"
#include "lib/selftest/rpc_counters.hpp"
#include "lib/selftest/rpc_part.hpp"
#include "lib/selftest/srpc_codec.hpp"
#include "lib/selftest/work_memory.hpp"

namespace plnet::selftest {

class ClientRpc;
class Requester;

// True if the target names one process: requests to others fail with kInvalid.
[[nodiscard]] constexpr bool can_be_asked(const lnet::ProcessId& target) {
  return !target.nid.is_any() && target.pid != lnet::kPidAny;
}

class RpcUser {
 public:
  virtual ~RpcUser() = default;
  // The RPC has ended; called from within Requester::poll(). Its reply is readable until it is
  // restarted or released, both of which this call may do. kMalformed: not a reply to this request;
  // kTimedOut; kNetworkDown: an NI on its path failed after it was sent; kCancelled, or the error
  // given to abort(); else the error of the network.
  virtual void rpc_done(ClientRpc& rpc, Result<void> outcome) = 0;
};

enum class BulkUse : std::uint8_t {
  kNone,
  kSink,    // the server puts into it
  kSource,  // the server gets it
};

// The target and parameters of a request.
struct RpcSpec {
  lnet::ProcessId target;
  lnet::Nid from = lnet::Nid::any();
  Service service = Service::kPing;
  std::uint32_t features = kFeaturesKnown;
  Duration timeout = kRpcTimeout;  // 0: never
  BulkUse bulk = BulkUse::kNone;
  Fragment bulk_memory;  // belongs to the caller until rpc_done()
};

class ClientRpc : public ListNode<> {
 public:
  RpcUser* user = nullptr;
  void* context = nullptr;  // of the user

  // Valid in rpc_done() without an error.
  [[nodiscard]] const ReceivedHeader& reply_header() const { return reply_header_; }
  template <class Reply>
  [[nodiscard]] Reply reply() const {
    return decode_body<Reply>(reply_slot_.span(), reply_header_);
  }
  [[nodiscard]] bool busy() const { return busy_; }

 private:
  friend class Requester;
  // The user data of an MD's events.
  struct Leg : RpcPart {
    ClientRpc* rpc = nullptr;
  };
  // The two NIDs of the request's path.
  struct Way {
    lnet::Nid ours = lnet::Nid::any();
    lnet::Nid theirs = lnet::Nid::any();
  };

  void on_timeout(Timer& timer, Instant now);
  [[nodiscard]] bool over() const { return !request_.posted && !reply_.posted && !bulk_.posted; }

  Requester* requester_ = nullptr;
  RpcSpec spec_;
  Leg request_;
  Leg reply_;
  Leg bulk_;
  Way way_;
  MessageSlot request_slot_;
  MessageSlot reply_slot_;
  ReceivedHeader reply_header_;
  Result<void> outcome_;
  bool busy_ = false;  // from start() until just before rpc_done()
  bool reply_read_ = false;
  bool bulk_excused_ = false;  // the server refused: no bulk data will come
  unsigned down_looks_ = 0;    // consecutive checks that found an NI of its path down
  Timer timer_ = Timer::calling<&ClientRpc::on_timeout>(*this);
};

class Requester final : public lnet::EventHandler {
 public:
  // Each RPC takes up to three MDs and two MEs of the shard. Everything is allocated here.
  Requester(lnet::DataOperations& operations, TimerWheel& timers, RpcIds& ids,
            RpcStatistics& statistics, std::size_t rpcs, WorkMemory& memory);
  // RPCs under way get no callback; the shard has been destroyed or makes no more turns.
  ~Requester() override;
  [[nodiscard]] static constexpr std::size_t memory_bytes(std::size_t rpcs) {
    return rpcs * 2 * kMessageSlotBytes;
  }

  // Null: all are in use.
  [[nodiscard]] ClientRpc* take(RpcUser& user, void* context);
  // The RPC is not under way.
  void give(ClientRpc& rpc);

  // rpc_done() is called in every case, but not within this call. `request` gets its ids.
  template <class Request>
  void start(ClientRpc& rpc, const RpcSpec& spec, Request request, Instant now) {
    PLNET_CHECK(request_of(spec.service) == Request::kType, "a request for another service");
    const Ids ids = prepare(rpc, spec);
    request.reply_id = ids.reply;
    if constexpr (requires { request.bulk_id; }) request.bulk_id = ids.bulk;
    encode(spec.features, request, rpc.request_slot_.span());
    send(rpc, ids, now);
  }
  // The RPC ends with this error, unless it has already ended.
  void abort(ClientRpc& rpc, Errc why);

  // Calls rpc_done() for ended RPCs. Returns their number.
  unsigned poll();
  [[nodiscard]] bool has_work() const { return !done_.empty(); }
  // All RPCs are released.
  [[nodiscard]] bool idle() const { return rpcs_.free_count() == rpcs_.capacity(); }
  [[nodiscard]] std::size_t free_count() const { return rpcs_.free_count(); }

  void on_event(const lnet::Event& event) override;

 private:
  friend class ClientRpc;
  struct Ids {
    std::uint64_t reply = 0;
    std::uint64_t bulk = 0;
  };

  [[nodiscard]] Ids prepare(ClientRpc& rpc, const RpcSpec& spec);
  void send(ClientRpc& rpc, const Ids& ids, Instant now);
  [[nodiscard]] Result<void> post(ClientRpc& rpc, const Ids& ids);
  [[nodiscard]] Result<void> attach_leg(ClientRpc::Leg& leg, std::uint64_t id,
                                        std::uint32_t options);
  void examine(ClientRpc& rpc);
  void follow(ClientRpc& rpc);
  [[nodiscard]] Result<void> read_reply(ClientRpc& rpc);
  void give_up(ClientRpc& rpc, Errc why);
  void expire(ClientRpc& rpc);
  void look_at_ways(Timer& timer, Instant now);
  [[nodiscard]] bool is_in_doubt(ClientRpc& rpc) const;

  lnet::DataOperations& operations_;
  TimerWheel& timers_;
  RpcIds& ids_;
  RpcStatistics& statistics_;
  Pool<ClientRpc> rpcs_;
  IntrusiveList<ClientRpc> done_;
  std::size_t busy_ = 0;
  Timer look_timer_ = Timer::calling<&Requester::look_at_ways>(*this);
};

}  // namespace plnet::selftest
