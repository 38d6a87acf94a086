// SPDX-License-Identifier: BSD-3-Clause
// Messages of a running node: rings that it shares, read in the order of time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lib/base/clock.hpp"
#include "lib/base/result.hpp"
#include "lib/runtime/admin/descriptor.hpp"
#include "lib/runtime/admin/system_clock.hpp"
#include "lib/trace/file/capture_source.hpp"
#include "lib/trace/record/ring.hpp"

namespace plnet::lnetdump {

struct LiveOptions {
  std::string socket;      // the node's control socket
  std::string filter;      // runs in the node
  std::string program;     // instead of a filter: instructions as text
  bool of_kernel = false;  // the kernel's LNet instead of a plnet node
  std::string lnet_btf;    // a file with the types of the kernel's LNet; empty: the kernel's own
  std::size_t snap_bytes = 512;
  std::size_t ring_kib = 4096;
  trace::Keep keep = trace::Keep::kNewest;
  bool states = false;  // also show the waits of messages
};

// Memory of another process, mapped.
class SharedMapping {
 public:
  [[nodiscard]] static Outcome<SharedMapping> map(int descriptor, std::size_t bytes, bool writable);
  ~SharedMapping();
  SharedMapping(SharedMapping&& other) noexcept;
  SharedMapping& operator=(SharedMapping&&) = delete;
  [[nodiscard]] std::span<std::byte> bytes() const { return bytes_; }

 private:
  explicit SharedMapping(std::span<std::byte> bytes) : bytes_(bytes) {}
  std::span<std::byte> bytes_;
};

class LiveSource {
 public:
  [[nodiscard]] static Outcome<LiveSource> open(const LiveOptions& options, const Clock& clock,
                                                const runtime::WallClock& wall_clock);

  // Delivers available messages, at most `records_max`, and returns their number. A message is held
  // back while an earlier one may still arrive from another shard.
  [[nodiscard]] Outcome<std::size_t> drain(trace::RecordSink& sink, std::size_t records_max);
  // Delivers all messages so far without holding any back.
  void end() { ending_ = true; }

  // Readable when the node has ended the capture.
  [[nodiscard]] int life() const { return life_.get(); }
  // Messages that matched the filter but were not read: overwritten, or dropped for lack of room.
  // At the end of a capture this includes unread ones.
  [[nodiscard]] std::uint64_t lost() const;

 private:
  struct Ring {
    trace::RingReader reader;
    trace::RingWord* cursor = nullptr;
    std::optional<trace::Record> head{};  // the next record, in the reader's memory
    std::uint64_t empty_at_ns = 0;        // time at which it was empty
    std::uint64_t read = 0;
  };
  LiveSource(SharedMapping rings, SharedMapping cursors, runtime::Descriptor life,
             const runtime::WallClock& wall_clock)
      : rings_memory_(std::move(rings)),
        cursors_memory_(std::move(cursors)),
        life_(std::move(life)),
        wall_clock_(&wall_clock) {}
  [[nodiscard]] Outcome<Ring*> next_ring();

  SharedMapping rings_memory_;
  SharedMapping cursors_memory_;
  runtime::Descriptor life_;
  const runtime::WallClock* wall_clock_;
  std::vector<Ring> rings_;
  bool ending_ = false;
};

}  // namespace plnet::lnetdump
