// SPDX-License-Identifier: BSD-3-Clause
// What a TCP connection of LNet carries, cut into the things that one side said: its request, its
// HELLO, NOOPs and messages. And how what we said differs from what a kernel said, by name.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "lib/lnet/wire/header.hpp"
#include "lib/socklnd/wire.hpp"

namespace plnet::sim {

struct WireItem {
  enum class Kind : std::uint8_t { kRequest, kHello, kNoop, kMessage };

  Kind kind = Kind::kRequest;
  std::size_t begin = 0;  // in the stream
  std::vector<std::byte> bytes;
  socklnd::Hello hello;
  socklnd::Frame frame;
  lnet::MessageHeader header;

  [[nodiscard]] std::size_t end() const { return begin + bytes.size(); }
  [[nodiscard]] std::span<const std::byte> payload() const;
  // The handle in it: of a PUT or GET its maker's, of an ACK or REPLY that of the message answered.
  [[nodiscard]] lnet::WireHandle handle() const;
  void set_handle(const lnet::WireHandle& handle);
  // What the bytes mean, in one of this kind.
  void parse();
  // The same thing said, whatever its details.
  [[nodiscard]] bool resembles(const WireItem& other) const;
  [[nodiscard]] std::string text() const;
};

// Takes a stream piece by piece. V3 only: that is what the captures have.
class WireSplitter {
 public:
  // A side that has dialled begins with a request.
  explicit WireSplitter(bool dialled) : next_(dialled ? Next::kRequest : Next::kHello) {}

  void take(std::span<const std::byte> bytes);
  [[nodiscard]] std::deque<WireItem>& items() { return items_; }
  // Bytes of something that is not there in full.
  [[nodiscard]] std::size_t rest() const { return buffer_.size(); }

 private:
  enum class Next : std::uint8_t { kRequest, kHello, kMessages };

  [[nodiscard]] bool cut();
  [[nodiscard]] std::size_t length_of_next(WireItem& item) const;

  Next next_;
  std::size_t begin_ = 0;
  std::vector<std::byte> buffer_;
  std::deque<WireItem> items_;
};

// What handles of the kernel stand for which of ours: both name objects as they like, but the same
// object always the same way.
using HandleNames = std::map<std::uint64_t, std::uint64_t>;

// Every field in which two items differ.
[[nodiscard]] std::set<std::string> differences(const WireItem& kernel, const WireItem& ours,
                                                HandleNames& names);

}  // namespace plnet::sim
