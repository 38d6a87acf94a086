// SPDX-License-Identifier: BSD-3-Clause
// Finds requests, their replies and their bulk transfers in a sequence of messages: Lustre RPCs by
// client and xid, selftest RPCs by client and reply id, PUT and ACK or GET and REPLY by wire
// handle. On a router, or where both ends are captured, each message is seen twice: both sightings
// belong to the same exchange, and their times give the duration of each part of the path.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <unordered_map>

#include "lib/base/hash.hpp"
#include "lib/trace/decode/message.hpp"

namespace plnet::trace {

enum class ExchangeKind : std::uint8_t { kRpc, kSelftest, kLnet };
enum class Role : std::uint8_t { kNone, kRequest, kReply, kEarlyReply, kBulk };

// Sightings of one message.
struct Sightings {
  std::uint64_t first_ns = 0;
  std::uint64_t last_ns = 0;
  std::uint32_t count = 0;

  void add(std::uint64_t time_ns);
};

struct Exchange {
  std::uint64_t number = 0;  // in the order of requests
  ExchangeKind kind = ExchangeKind::kRpc;
  lnet::Nid client;
  lnet::Nid server;
  std::uint32_t portal = 0;
  std::uint32_t operation = 0;  // opcode; type of the selftest message; LNet message type
  Sightings request;
  Sightings reply;
  Sightings bulk;
  std::uint64_t request_bytes = 0;
  std::uint64_t bulk_bytes = 0;
  std::uint32_t resends = 0;
  std::uint32_t early_replies = 0;
  std::optional<std::int64_t> status;

  [[nodiscard]] bool is_answered() const { return reply.count > 0; }
  // From the first sighting of the request to the last of the reply; 0 if clocks disagree.
  [[nodiscard]] std::uint64_t latency_ns() const;
  // The part behind this node: from the last sighting of the request to the first of the reply.
  [[nodiscard]] std::uint64_t beyond_ns() const;
};

class ExchangeSink {
 public:
  virtual ~ExchangeSink() = default;
  // An exchange that is complete or given up, in the order of requests.
  virtual void on_exchange(const Exchange& exchange) = 0;
};

struct Paired {
  Role role = Role::kNone;
  const Exchange* exchange = nullptr;       // until the next call
  std::optional<std::uint64_t> latency_ns;  // of a reply
};

class PairUp {
 public:
  // An exchange is dropped when this many younger ones have begun.
  static constexpr std::size_t kExchangesMax = 65536;

  explicit PairUp(ExchangeSink* sink = nullptr, std::size_t exchanges_max = kExchangesMax)
      : sink_(sink), exchanges_max_(exchanges_max > 0 ? exchanges_max : 1) {}

  [[nodiscard]] Paired add(const Message& message);
  // Delivers all remaining exchanges to the sink.
  void finish();

 private:
  struct Key {
    lnet::Nid client;
    std::uint32_t kind = 0;
    std::uint64_t first = 0;
    std::uint64_t second = 0;
    friend bool operator==(const Key&, const Key&) = default;
  };
  static_assert(sizeof(Key) == 40);
  // Keys of an RPC that was sent again: its xid, and the bulk of each attempt.
  static constexpr std::size_t kKeysMax = 4;
  struct Entry {
    Exchange exchange;
    std::array<Key, kKeysMax> keys{};
    std::size_t key_count = 0;
    std::uint64_t parent = 0;  // number of the RPC whose bulk a GET fetches; 0: none
    Direction direction{};     // first sighting
    lnet::Nid hop;
  };

  [[nodiscard]] static Key key(ExchangeKind kind, const lnet::Nid& client, std::uint64_t first,
                               std::uint64_t second = 0);
  [[nodiscard]] Entry* find(const Key& key);
  [[nodiscard]] Entry* numbered(std::uint64_t number);
  void name(Entry& entry, const Key& key);
  [[nodiscard]] Entry& begin(const Message& message, ExchangeKind kind, const Key& key,
                             std::uint32_t operation);
  [[nodiscard]] Paired on_rpc(const Message& message, const Rpc& rpc);
  [[nodiscard]] Paired on_selftest(const Message& message, const SelftestMessage& selftest);
  [[nodiscard]] Paired on_reply(const Message& message, Entry* entry);
  [[nodiscard]] Paired on_bulk(const Message& message);
  [[nodiscard]] Paired on_lnet(const Message& message);
  void forget_oldest();

  ExchangeSink* const sink_;
  const std::size_t exchanges_max_;
  std::deque<Entry> entries_;  // by number, from oldest_ on
  std::uint64_t oldest_ = 1;
  std::unordered_map<Key, std::uint64_t, KeyHash<Key>> numbers_;
};

}  // namespace plnet::trace
