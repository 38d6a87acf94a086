// SPDX-License-Identifier: BSD-3-Clause
// Splits the bytes of an LNet TCP connection into the items of one side: its request, its HELLO,
// NOOPs and messages. And compares our items with a kernel's, by field.
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
  // The handle in it: in a PUT or GET that of its creator, in an ACK or REPLY that of the answered
  // message.
  [[nodiscard]] lnet::WireHandle handle() const;
  void set_handle(const lnet::WireHandle& handle);
  // Interprets the bytes by their kind.
  void parse();
  // The same kind of item, with any details.
  [[nodiscard]] bool resembles(const WireItem& other) const;
  [[nodiscard]] std::string text() const;
};

// Splits a stream piece by piece. V3 only, as in the captures.
class WireSplitter {
 public:
  // A side that has dialled begins with a request.
  explicit WireSplitter(bool dialled) : next_(dialled ? Next::kRequest : Next::kHello) {}

  void take(std::span<const std::byte> bytes);
  [[nodiscard]] std::deque<WireItem>& items() { return items_; }
  // Bytes of an incomplete item.
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

// The correspondence of the kernel's handles to ours: both name objects freely, but consistently.
using HandleNames = std::map<std::uint64_t, std::uint64_t>;

// Every field in which two items differ.
[[nodiscard]] std::set<std::string> differences(const WireItem& kernel, const WireItem& ours,
                                                HandleNames& names);

}  // namespace plnet::sim
