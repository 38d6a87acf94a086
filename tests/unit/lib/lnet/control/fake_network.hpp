// SPDX-License-Identifier: BSD-3-Clause
// DataOperations without LNet: nodes of one process whose GETs and PUTs on portal 0 reach each
// other by NID, late or never, depending on a seed. Only the test advances time.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "lib/base/clock.hpp"
#include "lib/base/random.hpp"
#include "lib/lnet/api/data_operations.hpp"

namespace plnet::lnet {

struct FakeMessage {
  MessageType type = MessageType::kGet;
  Nid source;
  Nid target;
  MdHandle origin;           // the initiator's, for REPLY and ACK
  std::uint32_t length = 0;  // GET: sink; PUT: payload; ACK: accepted bytes
  std::vector<std::byte> payload;
  std::uint64_t match_bits = 0;
  PortalId portal = 0;
  Nid sender = Nid::any();  // the last hop; any: the source
};

class FakeNode {
 public:
  virtual ~FakeNode() = default;
  virtual void on_message(const FakeMessage& message) = 0;
};

class FakeNetwork {
 public:
  explicit FakeNetwork(std::uint64_t seed = 1) : random_(seed) {}

  double loss = 0;          // probability for a message
  double send_failure = 0;  // probability for a send; its SEND event has the error
  // The time for which an LND holds a message that fails to send; NIDs without an owner cannot be
  // reached.
  Duration connect_time{};
  Duration delay_max{};  // the longest random delay of messages and events
  Duration response_timeout = std::chrono::seconds(150);

  void own(const Nid& nid, FakeNode* node) { owners_[key(nid)] = node; }
  void disown(const Nid& nid) { owners_.erase(key(nid)); }
  [[nodiscard]] bool is_owned(const Nid& nid) const { return owners_.contains(key(nid)); }
  void send(const FakeMessage& message);
  // Runs `call` after a random delay.
  void later(std::function<void()> call) { at(now_ + delay(), std::move(call)); }
  void at(Instant when, std::function<void()> call) { calls_.emplace(when, std::move(call)); }

  [[nodiscard]] Instant now() const { return now_; }
  [[nodiscard]] std::optional<Instant> next() const {
    return calls_.empty() ? std::nullopt : std::optional(calls_.begin()->first);
  }
  // Runs everything due until `when`.
  void run_to(Instant when);

  Random& random() { return random_; }
  std::vector<FakeMessage> log;  // every message sent, oldest first

 private:
  using Key = std::array<std::uint8_t, sizeof(Nid)>;
  static Key key(const Nid& nid) { return std::bit_cast<Key>(nid); }
  Duration delay();

  Random random_;
  Instant now_{std::chrono::hours(1)};
  std::multimap<Instant, std::function<void()>> calls_;
  std::map<Key, FakeNode*> owners_;
};

class FakeOperations final : public DataOperations, public FakeNode {
 public:
  FakeOperations(FakeNetwork& network, std::size_t memory_bytes)
      : memory(memory_bytes), network_(network) {}

  std::vector<std::byte> memory;  // arena 0
  std::vector<Nid> nids;          // our NIDs, in order
  std::uint32_t mds_max = 1000;
  std::uint32_t messages_left = ~0U;  // messages that may still be sent
  // Makes a peer of each sender, as the core does. False: the message is dropped.
  std::function<bool(const Nid&)> know_sender;

  [[nodiscard]] Result<Attached> attach(const MeSpec& me, const MdSpec& md) override;
  [[nodiscard]] Result<MdHandle> bind(const MdSpec& md) override;
  Result<void> unlink(MdHandle md) override;
  Result<void> unlink(MeHandle me) override;
  Result<void> put(MdHandle md, const PutSpec& put) override;
  Result<void> get(MdHandle md, const GetSpec& get) override;
  [[nodiscard]] ShardId shard() const override { return 0; }

  void on_message(const FakeMessage& message) override;
  [[nodiscard]] std::size_t mds() const { return mds_.size(); }
  [[nodiscard]] std::size_t delayed() const { return delayed_.size(); }

 private:
  struct Md {
    MdSpec spec;
    bool passive = false;
    bool aborted = false;
    std::int32_t threshold = 0;
    std::uint32_t offset = 0;
    std::uint32_t pending = 0;
    Nid from;
  };

  MdHandle make(const MdSpec& spec, bool passive);
  Md* find(MdHandle handle);
  [[nodiscard]] std::span<std::byte> bytes_of(const Md& md);
  [[nodiscard]] std::optional<Nid> source_for(const Nid& wanted, const Nid& target) const;
  Result<void> start(MdHandle handle, FakeMessage message, const Nid& from);
  void tell(std::uint32_t index, Event event);
  bool match(const FakeMessage& message);
  void answer(const FakeMessage& message);

  FakeNetwork& network_;
  std::map<std::uint32_t, Md> mds_;  // by index, the order of attachment
  std::uint32_t next_ = 1;
  std::deque<FakeMessage> delayed_;  // PUTs without a match on the lazy portal
};

}  // namespace plnet::lnet
