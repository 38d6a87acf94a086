// SPDX-License-Identifier: BSD-3-Clause
// The captures of a shard: each message that the core shows becomes a record in the ring of every
// capture whose filter matches. Allocates nothing while messages flow.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "lib/base/arena.hpp"
#include "lib/lnet/move/message_tap.hpp"
#include "lib/trace/filter/record_filter.hpp"
#include "lib/trace/record/ring.hpp"

namespace plnet::trace {

// One capture on one shard.
class ShardCapture {
 public:
  // `filter`: null for all messages; outlives the capture. `snap_bytes`: of each payload, 0 for
  // none. `states`: waits become records, too.
  ShardCapture(RingWriter ring, const RecordFilter* filter, std::uint32_t snap_bytes,
               bool states = false)
      : ring_(ring), filter_(filter), snap_bytes_(snap_bytes), states_(states) {}

  [[nodiscard]] const RecordFilter* filter() const { return filter_; }
  [[nodiscard]] std::uint32_t snap_bytes() const { return snap_bytes_; }
  [[nodiscard]] bool wants_states() const { return states_; }
  // `waited`: null while the message waits.
  void write_wait_owner(const RecordHeader& header, const WaitedNs* waited);
  void write_owner(const RecordHeader& header, const lnet::Nid& interface,
                   std::span<const std::byte> payload);
  // Makes the written records visible to readers.
  void publish_owner() { ring_.publish(); }

 private:
  RingWriter ring_;
  const RecordFilter* const filter_;
  const std::uint32_t snap_bytes_;
  const bool states_;
  lnet::Nid known_interface_{};  // the initial value is the NID of no message
  std::uint8_t known_number_ = 0;
};

class ShardTap final : public lnet::MessageTap {
 public:
  // Bytes of a payload that filters decode.
  static constexpr std::uint32_t kContentBytes = 1024;
  static constexpr std::size_t kCapturesMax = 8;

  // All arguments outlive the tap. At most kCapturesMax captures. `wall_offset_ns`: from the
  // shard's clock to time since the epoch.
  ShardTap(const ArenaTable& arenas, const std::atomic<std::int64_t>& wall_offset_ns,
           const std::vector<ShardCapture*>& captures);

  void on_message(const lnet::TappedMessage& message) override;
  void on_wait(const lnet::TappedWait& wait) override;
  void end_turn() override;
  [[nodiscard]] bool wants_payload() const override { return payload_bytes_ > 0; }

 private:
  // All data for a message that no capture wants: lookups are far apart in time, and each followed
  // pointer may miss the near cache.
  struct Entry {
    RecordFilter::MachineCode code = nullptr;
    const RecordFilter* filter = nullptr;
    ShardCapture* capture = nullptr;

    [[nodiscard]] bool wants(FilterInput& input) const {
      if (code != nullptr) return code(&input) != 0;
      return filter == nullptr || filter->matches(input);
    }
  };

  [[nodiscard]] std::span<const Entry> entries() const { return std::span(entries_).first(count_); }
  [[nodiscard]] std::span<const std::byte> read(const lnet::Payload& payload);
  void fill(const lnet::TappedMessage& message, std::span<const std::byte> payload);
  [[nodiscard]] std::uint64_t wall_ns(Instant when) const;

  const ArenaTable& arenas_;
  const std::atomic<std::int64_t>& wall_offset_ns_;
  std::array<Entry, kCapturesMax> entries_{};
  std::size_t count_ = 0;
  std::uint32_t payload_bytes_ = 0;  // the maximum that a capture keeps or decodes
  bool has_filter_ = false;
  bool wants_states_ = false;
  bool brief_will_do_ = true;  // no filter reads the other words of a record
  bool decodes_ = false;
  FilterInput input_;
  std::array<std::byte, kRingSnapMax> gathered_{};
};

}  // namespace plnet::trace
