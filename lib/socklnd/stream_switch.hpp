// SPDX-License-Identifier: BSD-3-Clause
// Gives the events of each stream of a shard to its user. A driver knows one StreamEvents; a shard
// has an acceptor and an LND for each of its interfaces.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "lib/base/check.hpp"
#include "lib/socklnd/byte_stream.hpp"

namespace plnet::socklnd {

// StreamEvents for the user of a stream; `slot` is the user's name for the stream.
class StreamUser {
 public:
  virtual std::span<std::byte> destination(std::uint32_t slot) = 0;
  virtual std::size_t on_bytes(std::uint32_t slot, std::size_t direct,
                               std::span<const std::byte> staged) = 0;
  virtual void on_writable(std::uint32_t slot) = 0;
  virtual void on_awaited(std::uint32_t /*slot*/) {}
  virtual void on_connected(std::uint32_t slot, const StreamAddresses& addresses) = 0;
  virtual void on_closed(std::uint32_t slot, Errc cause, std::uint64_t unacknowledged_bytes) = 0;

 protected:
  ~StreamUser() = default;
};

class StreamAccepter {
 public:
  virtual void on_accepted(StreamId stream, const StreamAddresses& addresses) = 0;

 protected:
  ~StreamAccepter() = default;
};

class StreamSwitch final : public StreamEvents {
 public:
  // A driver's stream indexes are small numbers; streams from `streams_max` on are refused.
  explicit StreamSwitch(std::size_t streams_max) : entries_(streams_max) {}

  // Called once, at start-up.
  void set_driver(StreamDriver& driver) { driver_ = &driver; }
  void set_accepter(StreamAccepter& accepter) { accepter_ = &accepter; }
  [[nodiscard]] StreamDriver& driver() {
    PLNET_DEBUG_CHECK(driver_ != nullptr, "set_driver() has been called");
    return *driver_;
  }

  // False: no room. The stream has no user and should be closed.
  [[nodiscard]] bool give(StreamId stream, StreamUser& user, std::uint32_t slot) {
    if (stream.index >= entries_.size()) return false;
    PLNET_CHECK(entries_[stream.index].user == nullptr, "a stream belongs to one user");
    entries_[stream.index] = {&user, slot, stream.generation};
    return true;
  }
  // The id ends without on_closed(): the stream has been detached.
  void take_back(StreamId stream) {
    if (find(stream) != nullptr) entries_[stream.index] = {};
  }

  std::span<std::byte> destination(StreamId stream) override {
    const Entry* const entry = find(stream);
    return entry == nullptr ? std::span<std::byte>{} : entry->user->destination(entry->slot);
  }
  std::size_t on_bytes(StreamId stream, std::size_t direct,
                       std::span<const std::byte> staged) override {
    const Entry* const entry = find(stream);
    if (entry == nullptr) return staged.size();
    const std::size_t used = entry->user->on_bytes(entry->slot, direct, staged);
    PLNET_DEBUG_CHECK(used <= staged.size(), "no more bytes are used than were read");
    return used;
  }
  void on_writable(StreamId stream) override {
    const Entry* const entry = find(stream);
    if (entry != nullptr) entry->user->on_writable(entry->slot);
  }
  void on_awaited(StreamId stream) override {
    const Entry* const entry = find(stream);
    if (entry != nullptr) entry->user->on_awaited(entry->slot);
  }
  void on_connected(StreamId stream, const StreamAddresses& addresses) override {
    const Entry* const entry = find(stream);
    if (entry != nullptr) entry->user->on_connected(entry->slot, addresses);
  }
  void on_accepted(StreamId stream, const StreamAddresses& addresses) override {
    PLNET_CHECK(driver_ != nullptr, "streams come from a driver");
    if (accepter_ == nullptr) return driver_->close(stream, Errc::kNotSupported);
    accepter_->on_accepted(stream, addresses);
  }
  void on_closed(StreamId stream, Errc cause, std::uint64_t unacknowledged_bytes) override {
    const Entry* const entry = find(stream);
    if (entry == nullptr) return;
    const Entry last = *entry;
    entries_[stream.index] = {};
    last.user->on_closed(last.slot, cause, unacknowledged_bytes);
  }

 private:
  struct Entry {
    StreamUser* user = nullptr;
    std::uint32_t slot = 0;
    std::uint32_t generation = 0;
  };

  [[nodiscard]] const Entry* find(StreamId stream) const {
    if (stream.index >= entries_.size()) return nullptr;
    const Entry& entry = entries_[stream.index];
    return entry.user != nullptr && entry.generation == stream.generation ? &entry : nullptr;
  }

  std::vector<Entry> entries_;
  StreamDriver* driver_ = nullptr;
  StreamAccepter* accepter_ = nullptr;
};

}  // namespace plnet::socklnd
