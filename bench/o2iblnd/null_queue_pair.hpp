// SPDX-License-Identifier: BSD-3-Clause
// Two queue pairs that cost next to nothing: what is sent is copied into the other's receive in the
// call, remote writes move nothing unless told to, and both are told by the next poll(). Allocates
// at start only; one thread has both ends.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>

#include "lib/base/check.hpp"
#include "lib/o2iblnd/queue_pair.hpp"

namespace plnet::bench {

// First in, first out, of a fixed number of places.
template <class T>
class NullRing {
 public:
  explicit NullRing(std::size_t capacity)
      : mask_(std::bit_ceil(capacity) - 1), places_(std::make_unique<T[]>(mask_ + 1)) {}
  [[nodiscard]] bool full() const { return tail_ - head_ > mask_; }
  [[nodiscard]] bool empty() const { return tail_ == head_; }
  [[nodiscard]] const T& front() const { return places_[head_ & mask_]; }
  void push(const T& one) {
    PLNET_CHECK(!full(), "a ring has room for all that may be under way");
    places_[tail_++ & mask_] = one;
  }
  void drop(std::size_t count = 1) { head_ += count; }
  // The elements that lie in one piece from the first on.
  [[nodiscard]] std::span<const T> run(std::size_t most) const {
    const std::size_t at = head_ & mask_;
    return {&places_[at], std::min({mask_ + 1 - at, tail_ - head_, most})};
  }

 private:
  const std::size_t mask_;
  const std::unique_ptr<T[]> places_;
  std::size_t head_ = 0;
  std::size_t tail_ = 0;
};

class NullVerbs final : public o2iblnd::VerbsDriver {
 public:
  using QueuePairId = o2iblnd::QueuePairId;

  NullVerbs(const ArenaTable& arenas, o2iblnd::VerbsEvents& events)
      : arenas_(arenas), events_(events) {}
  void join(NullVerbs& other) { other_ = &other; }
  // Chains are turned away this often, then taken again.
  void refuse(unsigned times) { refusals_ = times; }
  void move_bytes(bool moves) { moves_ = moves; }

  unsigned poll() {
    if (ready_) {
      ready_ = false;
      events_.on_established(kId, std::span(data_).first(data_bytes_));
      return 1;
    }
    const auto burst = completions_.run(kBurst);
    if (burst.empty()) return 0;
    events_.on_completions(burst);
    completions_.drop(burst.size());
    return static_cast<unsigned>(burst.size());
  }

  [[nodiscard]] bool post_chain(QueuePairId, std::span<const o2iblnd::WorkRequest> chain) override {
    if (refusals_ > 0) {
      --refusals_;
      return false;
    }
    if (moves_) {
      for (const o2iblnd::WorkRequest& write : chain.first(chain.size() - 1))
        place(write);
    }
    other_->take(chain.back(), arenas_);
    completions_.push({.queue_pair = kId, .cookie = chain.back().cookie});
    return true;
  }
  std::size_t post_receives(QueuePairId, std::span<const o2iblnd::ReceiveRequest> burst) override {
    for (const o2iblnd::ReceiveRequest& request : burst)
      receives_.push(request);
    return burst.size();
  }
  [[nodiscard]] Result<o2iblnd::RemoteKey> remote_key(const Fragment& fragment) override {
    const auto address = reinterpret_cast<std::uintptr_t>(arenas_.bytes(fragment).data());
    return o2iblnd::RemoteKey{.key = 1, .address = address};
  }
  [[nodiscard]] Result<QueuePairId> connect(const o2iblnd::Ipv4Endpoint& local,
                                            const o2iblnd::Ipv4Endpoint& remote,
                                            const o2iblnd::QueuePairSize&,
                                            const o2iblnd::ConnectParameters&,
                                            std::span<const std::byte> data) override {
    other_->events_.on_connect_request(kId, local, remote, data);
    return kId;
  }
  [[nodiscard]] Result<void> listen(const o2iblnd::Ipv4Endpoint&) override { return {}; }
  void stop_listening(const o2iblnd::Ipv4Endpoint&) override {}
  [[nodiscard]] Result<void> prepare(QueuePairId, const o2iblnd::QueuePairSize&) override {
    return {};
  }
  [[nodiscard]] Result<void> accept(QueuePairId, const o2iblnd::ConnectParameters&,
                                    std::span<const std::byte> data) override {
    other_->data_bytes_ = data.size();
    std::ranges::copy(data, other_->data_.begin());
    ready_ = other_->ready_ = true;
    return {};
  }
  void reject(QueuePairId, std::span<const std::byte>) override {
    PLNET_CHECK(false, "nobody is rejected here");
  }
  void to_error(QueuePairId) override { PLNET_CHECK(false, "no connection ends here"); }
  [[nodiscard]] const o2iblnd::DeviceLimits& limits() const override { return limits_; }
  [[nodiscard]] CounterView counters() const override { return {}; }

 private:
  static constexpr QueuePairId kId{0, 1};
  static constexpr std::size_t kBurst = 32;

  void take(const o2iblnd::WorkRequest& send, const ArenaTable& from) {
    PLNET_CHECK(!receives_.empty(), "credits see to it that there is a receive");
    const o2iblnd::ReceiveRequest receive = receives_.front();
    receives_.drop();
    std::byte* to = arenas_.bytes(receive.buffer).data();
    std::uint32_t length = 0;
    for (std::size_t i = 0; i < send.piece_count; ++i) {
      std::memcpy(to + length, from.bytes(send.pieces[i]).data(), send.pieces[i].length);
      length += send.pieces[i].length;
    }
    completions_.push({.queue_pair = kId,
                       .event = o2iblnd::WorkEvent::kReceived,
                       .length = length,
                       .cookie = receive.cookie});
  }
  void place(const o2iblnd::WorkRequest& write) {
    auto* to = reinterpret_cast<std::byte*>(write.remote_address);
    for (std::size_t i = 0; i < write.piece_count; ++i) {
      std::memcpy(to, arenas_.bytes(write.pieces[i]).data(), write.pieces[i].length);
      to += write.pieces[i].length;
    }
  }

  const ArenaTable& arenas_;
  o2iblnd::VerbsEvents& events_;
  NullVerbs* other_ = nullptr;
  NullRing<o2iblnd::WorkCompletion> completions_{4096};
  NullRing<o2iblnd::ReceiveRequest> receives_{1024};
  std::array<std::byte, o2iblnd::kAcceptDataBytesMax> data_{};
  std::size_t data_bytes_ = 0;
  bool ready_ = false;
  bool moves_ = false;
  unsigned refusals_ = 0;
  o2iblnd::DeviceLimits limits_{.work_requests_max = 65536, .gather_max = o2iblnd::kGatherMax};
};

}  // namespace plnet::bench
