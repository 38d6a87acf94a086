// SPDX-License-Identifier: BSD-3-Clause
// Two queue pairs at almost no cost: a sent message is copied into the other's receive in the call,
// remote writes move nothing unless requested, and the next poll() reports to both. Allocates at
// start only; one thread has both ends.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

#include <sys/mman.h>

#include "lib/base/check.hpp"
#include "lib/base/map_cache.hpp"
#include "lib/o2iblnd/queue_pair.hpp"

namespace plnet::bench {

// FIFO with a fixed number of places.
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
  // The contiguous elements from the first on.
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

// A device that registers memory at no cost, or at the system's cost: pages are pinned, which is
// most of the work of ibv_reg_mr().
class NullMapDevice final : public MapDevice {
 public:
  explicit NullMapDevice(const ArenaTable& arenas) : arenas_(arenas) {}
  void pin(bool pins) { pins_ = pins; }

  [[nodiscard]] Result<MapKeys> enter(std::uint32_t slot, const MapRegion& region) override {
    if (slot >= regions_.size()) regions_.resize(slot + std::size_t{1});
    regions_[slot] = region;
    if (pins_ && ::mlock(place(region), region.bytes) != 0)
      return std::unexpected(errc_of_errno(errno));
    return MapKeys{.local = 2, .remote = 2};
  }
  void leave(std::uint32_t slot) override {
    if (pins_) (void)::munlock(place(regions_[slot]), regions_[slot].bytes);
  }

 private:
  [[nodiscard]] const std::byte* place(const MapRegion& region) const {
    return arenas_.arena(region.arena).base + region.offset;
  }

  const ArenaTable& arenas_;
  std::vector<MapRegion> regions_;
  bool pins_ = false;
};

class NullVerbs final : public o2iblnd::VerbsDriver {
 public:
  using QueuePairId = o2iblnd::QueuePairId;

  NullVerbs(const ArenaTable& arenas, o2iblnd::VerbsEvents& events)
      : arenas_(arenas), events_(events) {}
  void join(NullVerbs& other) { other_ = &other; }
  // Chains are refused this often, then accepted again.
  void refuse(unsigned times) { refusals_ = times; }
  void move_bytes(bool moves) { moves_ = moves; }
  [[nodiscard]] NullMapDevice& map_device() { return map_device_; }

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
    if (maps_.rules().arenas && !map(chain)) return false;
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
    if (!maps_.maps(fragment.at.arena)) return o2iblnd::RemoteKey{.key = 1, .address = address};
    const auto mapped = maps_.take(fragment, MapCache::Use::kOpen);
    if (!mapped) return std::unexpected(mapped.error());
    return o2iblnd::RemoteKey{
        .key = mapped->keys.remote, .address = address, .mapping = mapped->slot};
  }
  void release(std::uint32_t mapping) override { maps_.give(mapping, MapCache::Use::kOpen); }
  void set_mapping(const MapRules& rules) override { maps_.set_rules(rules); }
  [[nodiscard]] CounterView mapping_counters() const override { return maps_.counters(); }
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

  // As in drivers/net/mlx, except for the time: a chain has completed when it is posted.
  [[nodiscard]] bool map(std::span<const o2iblnd::WorkRequest> chain) {
    std::uint32_t last = MapCache::kNone;
    for (const o2iblnd::WorkRequest& write : chain.first(chain.size() - 1)) {
      for (std::size_t i = 0; i < write.piece_count; ++i) {
        if (last != MapCache::kNone && maps_.region(last).covers(write.pieces[i])) continue;
        const auto mapped = maps_.take(write.pieces[i], MapCache::Use::kOwn);
        if (!mapped) return false;
        if (last != MapCache::kNone) maps_.give(last, MapCache::Use::kOwn);
        last = mapped->slot;
      }
    }
    if (last != MapCache::kNone) maps_.give(last, MapCache::Use::kOwn);
    return true;
  }
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
  NullMapDevice map_device_{arenas_};
  MapCache maps_{arenas_, map_device_};
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
