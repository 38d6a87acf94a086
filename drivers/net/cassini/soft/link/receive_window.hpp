// SPDX-License-Identifier: BSD-3-Clause
// The packets from one peer: delivered once and in order. Early ones are kept until their turn, as
// long as the store has room.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "drivers/net/cassini/soft/link/options.hpp"
#include "drivers/net/cassini/soft/link/sequence.hpp"
#include "drivers/net/cassini/soft/link/slot_store.hpp"
#include "lib/base/check.hpp"

namespace plnet::cassini::soft::link {

class ReceiveWindow {
 public:
  enum class Verdict : std::uint8_t {
    kInTurn,     // the caller delivers it, then calls take_next() until there is none
    kKept,       // or only noted, if it is void
    kDuplicate,  // arrived before
    kNoRoom,     // not kept: will be sent again
    kOutside,    // beyond the window
  };

  // Start-up only.
  void set_up(const LinkOptions& options) {
    PLNET_CHECK(options.window > 1 && std::has_single_bit(options.window),
                "a window is a power of two");
    kept_.resize(options.window);
    mask_ = options.window - 1;
  }
  // Starts a session with this packet; releases the kept packets of the previous one.
  void begin_session(Sequence first, SlotStore& store) {
    for (auto& kept : kept_) {
      if (kept.slot != kNoSlot) store.give(kept.slot);
      kept = {};
    }
    next_ = first;
    ahead_ = 0;
  }

  [[nodiscard]] Verdict accept(Sequence sequence, bool is_void, std::span<const std::byte> packet,
                               SlotStore& store) {
    const std::int32_t offset = distance(next_, sequence);
    if (offset < 0) return Verdict::kDuplicate;
    if (offset > static_cast<std::int32_t>(mask_)) return Verdict::kOutside;
    if (offset == 0) {
      ++next_;
      return Verdict::kInTurn;
    }
    Kept& kept = kept_[sequence & mask_];
    if (kept.is_here) return Verdict::kDuplicate;
    if (!is_void) {
      const Slot slot = store.take();
      if (slot == kNoSlot) return Verdict::kNoRoom;
      if (packet.size() > store.at(slot).size()) {
        store.give(slot);
        return Verdict::kNoRoom;
      }
      if (!packet.empty()) std::memcpy(store.at(slot).data(), packet.data(), packet.size());
      kept.slot = slot;
    }
    kept.length = static_cast<std::uint32_t>(packet.size());
    kept.is_here = true;
    ++ahead_;
    PLNET_DEBUG_CHECK(ahead_ <= mask_, "the next packet is not among those kept");
    return Verdict::kKept;
  }

  // True if the next packet in order was kept.
  [[nodiscard]] bool has_next() const { return ahead_ > 0 && kept_[next_ & mask_].is_here; }
  struct Kept {
    Slot slot = kNoSlot;  // kNoSlot: void
    std::uint32_t length = 0;
    bool is_here = false;
  };
  // The caller releases the slot.
  [[nodiscard]] Kept take_next() {
    PLNET_CHECK(has_next(), "nothing kept is next");
    const Kept kept = kept_[next_ & mask_];
    kept_[next_ & mask_] = {};
    ++next_;
    --ahead_;
    return kept;
  }

  [[nodiscard]] Sequence next() const { return next_; }
  [[nodiscard]] bool has_gap() const { return ahead_ > 0; }

  static constexpr std::size_t kBitsMax = kWindowMax / 8;
  // Bit n stands for next() + 1 + n. Returns the number of bytes, in whole words.
  std::size_t write_bits(std::span<std::byte, kBitsMax> out) const {
    std::uint64_t words[kBitsMax / sizeof(std::uint64_t)] = {};
    std::size_t used = 0;
    unsigned left = ahead_;
    for (unsigned bit = 0; left > 0 && bit < mask_; ++bit) {
      if (!kept_[(next_ + 1 + bit) & mask_].is_here) continue;
      words[bit / 64] |= std::uint64_t{1} << (bit % 64);
      used = bit / 64 + 1;
      --left;
    }
    std::memcpy(out.data(), words, sizeof words);
    return used * sizeof(std::uint64_t);
  }

 private:
  std::vector<Kept> kept_;  // by sequence
  std::uint32_t mask_ = 0;
  Sequence next_ = 0;
  unsigned ahead_ = 0;  // kept
};

}  // namespace plnet::cassini::soft::link
