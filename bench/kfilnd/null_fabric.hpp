// SPDX-License-Identifier: BSD-3-Clause
// A fabric of two endpoints at almost no cost: a sent message is copied into the other's receive
// buffer in the call, bulk is moved in the call, and the next poll() reports to both. Allocates at
// start only; one thread has both ends.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

#include "lib/base/check.hpp"
#include "lib/kfilnd/fabric_endpoint.hpp"
#include "lib/kfilnd/wire.hpp"

namespace plnet::bench {

// FIFO with a fixed number of places.
template <class T>
class NullQueue {
 public:
  explicit NullQueue(std::size_t capacity)
      : mask_(std::bit_ceil(capacity) - 1), places_(std::make_unique<T[]>(mask_ + 1)) {}
  [[nodiscard]] bool full() const { return tail_ - head_ > mask_; }
  [[nodiscard]] bool empty() const { return tail_ == head_; }
  [[nodiscard]] T& front() { return places_[head_ & mask_]; }
  void push(const T& one) {
    PLNET_CHECK(!full(), "who pushes has looked for room");
    places_[tail_++ & mask_] = one;
  }
  void drop(std::size_t count = 1) { head_ += count; }
  // The contiguous elements from the first on.
  [[nodiscard]] std::span<const T> run(std::size_t most) const {
    const std::size_t at = head_ & mask_;
    const std::size_t here = std::min(mask_ + 1 - at, tail_ - head_);
    return {&places_[at], std::min(here, most)};
  }

 private:
  const std::size_t mask_;
  const std::unique_ptr<T[]> places_;
  std::size_t head_ = 0;
  std::size_t tail_ = 0;
};

class NullEndpoint final : public kfilnd::EndpointDriver {
 public:
  using Tag = kfilnd::Tag;
  using Target = kfilnd::Target;

  NullEndpoint(const ArenaTable& arenas, kfilnd::EndpointEvents& events)
      : arenas_(arenas), events_(events), tagged_(kTags) {}
  void connect(NullEndpoint& other) { other_ = &other; }
  // Posts are refused this often, then accepted again.
  void refuse(unsigned times) { refusals_ = times; }

  unsigned poll() {
    const auto burst = completions_.run(kBurst);
    if (burst.empty()) return 0;
    events_.on_completions(burst);
    completions_.drop(burst.size());
    return static_cast<unsigned>(burst.size());
  }

  [[nodiscard]] Result<void> send(const Target& /*to*/, std::span<const std::byte> header,
                                  const lnet::Payload& payload, std::uint64_t cookie) override {
    if (refuses() || completions_.full() || !other_->take(header, payload, arenas_))
      return std::unexpected(Errc::kAgain);
    completions_.push({.event = kfilnd::FabricEvent::kSent, .cookie = cookie});
    return {};
  }
  [[nodiscard]] Result<void> post_tagged(const Target& /*from*/, Tag tag, bool /*peer_reads*/,
                                         const lnet::Payload& buffer,
                                         std::uint64_t cookie) override {
    if (refuses()) return std::unexpected(Errc::kAgain);
    place_of(tag) = {buffer, cookie, true};
    return {};
  }
  [[nodiscard]] Result<void> cancel_tagged(Tag tag) override {
    Tagged& one = place_of(tag);
    if (!one.open) return std::unexpected(Errc::kNotFound);
    one.open = false;
    completions_.push({.event = kfilnd::FabricEvent::kTaggedCancelled, .cookie = one.cookie});
    return {};
  }
  [[nodiscard]] Result<void> read_tagged(const Target& /*peer*/, Tag tag, const lnet::Payload& into,
                                         std::uint64_t cookie) override {
    if (refuses()) return std::unexpected(Errc::kAgain);
    move(other_->place_of(tag).buffer, other_->arenas_, into, arenas_);
    return end(tag, kfilnd::FabricEvent::kTaggedRead, into.length, 0, cookie);
  }
  [[nodiscard]] Result<void> write_tagged(const Target& /*peer*/, Tag tag,
                                          const lnet::Payload& from,
                                          std::uint64_t cookie) override {
    if (refuses()) return std::unexpected(Errc::kAgain);
    move(from, arenas_, other_->place_of(tag).buffer, other_->arenas_);
    return end(tag, kfilnd::FabricEvent::kTaggedWritten, from.length, 0, cookie);
  }
  [[nodiscard]] Result<void> answer_tagged(const Target& /*peer*/, Tag tag, std::uint64_t data,
                                           std::uint64_t cookie) override {
    if (refuses()) return std::unexpected(Errc::kAgain);
    return end(tag, kfilnd::FabricEvent::kTaggedMessage, 0, data, cookie);
  }
  [[nodiscard]] Result<void> post_multi_receive(const Fragment& buffer,
                                                std::uint64_t cookie) override {
    buffers_.push({arenas_.bytes(buffer), cookie, 0});
    return {};
  }
  [[nodiscard]] Result<kfilnd::PeerAddress> resolve(std::uint64_t nic_address, unsigned) override {
    return nic_address;
  }
  void forget(kfilnd::PeerAddress /*address*/) override {}
  void shut_down() override {}
  [[nodiscard]] bool quiet() const override { return true; }
  [[nodiscard]] const kfilnd::EndpointLimits& limits() const override { return limits_; }
  [[nodiscard]] CounterView counters() const override { return {}; }

 private:
  static constexpr std::size_t kBurst = 32;
  static constexpr std::size_t kCompletions = 8192;  // more than a test has under way
  static constexpr std::size_t kTags = 65536;        // indexed by key

  struct Tagged {
    lnet::Payload buffer;
    std::uint64_t cookie = 0;
    bool open = false;
  };
  struct Buffer {
    std::span<std::byte> bytes;
    std::uint64_t cookie = 0;
    std::uint32_t used = 0;
  };

  bool refuses() {
    if (refusals_ == 0) return false;
    --refusals_;
    return true;
  }
  Tagged& place_of(Tag tag) { return tagged_[tag % kTags]; }

  bool take(std::span<const std::byte> header, const lnet::Payload& payload,
            const ArenaTable& from) {
    if (buffers_.empty() || completions_.full()) return false;
    Buffer& buffer = buffers_.front();
    const std::uint32_t offset = buffer.used;
    std::byte* at = buffer.bytes.data() + offset;
    std::memcpy(at, header.data(), header.size());
    at += header.size();
    lnet::for_each_piece(payload, [&](const Fragment& piece) {
      std::memcpy(at, from.bytes(piece).data(), piece.length);
      at += piece.length;
    });
    buffer.used = static_cast<std::uint32_t>(at - buffer.bytes.data());
    const bool full = buffer.bytes.size() - buffer.used < kfilnd::kMessageBytesMax;
    completions_.push({.event = kfilnd::FabricEvent::kMessage,
                       .cookie = buffer.cookie,
                       .length = buffer.used - offset,
                       .offset = offset,
                       .buffer_unlinked = full});
    if (full) buffers_.drop();
    return true;
  }

  // Both payloads are contiguous.
  static void move(const lnet::Payload& from, const ArenaTable& from_arenas,
                   const lnet::Payload& to, const ArenaTable& to_arenas) {
    PLNET_CHECK(from.fragments.size() == 1 && to.fragments.size() == 1, "bulk of one piece");
    const std::uint32_t length = std::min(from.length, to.length);
    std::memcpy(to_arenas.bytes(to.fragments[0]).data() + to.offset,
                from_arenas.bytes(from.fragments[0]).data() + from.offset, length);
  }

  [[nodiscard]] Result<void> end(Tag tag, kfilnd::FabricEvent event, std::uint32_t length,
                                 std::uint64_t data, std::uint64_t cookie) {
    Tagged& one = other_->place_of(tag);
    PLNET_CHECK(one.open, "a tag that the other has laid open");
    one.open = false;
    other_->completions_.push(
        {.event = event, .cookie = one.cookie, .length = length, .data = data});
    completions_.push({.event = kfilnd::FabricEvent::kRemoteDone, .cookie = cookie});
    return {};
  }

  const ArenaTable& arenas_;
  kfilnd::EndpointEvents& events_;
  NullEndpoint* other_ = nullptr;
  NullQueue<kfilnd::FabricCompletion> completions_{kCompletions};
  NullQueue<Buffer> buffers_{64};
  std::vector<Tagged> tagged_;
  kfilnd::EndpointLimits limits_{.operations_max = kCompletions};
  unsigned refusals_ = 0;
};

}  // namespace plnet::bench
