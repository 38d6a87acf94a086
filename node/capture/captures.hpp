// SPDX-License-Identifier: BSD-3-Clause
// The captures of a node: made for a reader in another process, ended when either side goes. The
// admin thread's; shards see only taps that are replaced as a whole.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <sys/types.h>

#include "lib/base/clock.hpp"
#include "lib/base/result.hpp"
#include "lib/lnet/move/message_tap.hpp"
#include "lib/runtime/admin/descriptor.hpp"
#include "lib/runtime/admin/event_loop.hpp"
#include "lib/runtime/admin/log.hpp"
#include "lib/runtime/admin/system_clock.hpp"
#include "lib/trace/filter/record_filter.hpp"
#include "lib/trace/record/ring.hpp"

namespace plnet::node {

class LnetDesk;
class LnetHost;

inline constexpr std::size_t kCapturesMax = 8;
// Limit of memory for all captures together.
inline constexpr std::size_t kCaptureBytesMax = std::size_t{1} << 30U;

struct CaptureOrder {
  std::string filter_text;                      // for reports
  std::unique_ptr<trace::RecordFilter> filter;  // null: all messages
  std::uint32_t snap_bytes = 0;
  std::size_t ring_bytes = 0;  // for each shard
  trace::Keep keep = trace::Keep::kNewest;
  bool states = false;  // also record the waits of messages
  uid_t uid = 0;
  pid_t pid = 0;
};

struct CaptureReport {
  std::uint64_t number = 0;
  std::string filter_text;
  std::uint32_t snap_bytes = 0;
  std::size_t ring_bytes = 0;
  trace::Keep keep = trace::Keep::kNewest;
  bool states = false;
  uid_t uid = 0;
  pid_t pid = 0;
  std::uint64_t offered = 0;  // records that met the filter
  std::uint64_t dropped = 0;  // of these: no room
};

struct StartedCapture {
  std::uint64_t number = 0;
  std::vector<runtime::Descriptor> descriptors;  // as CaptureDescriptor names them
};

class Captures {
 public:
  struct Parts {
    LnetHost& host;
    LnetDesk& desk;
    runtime::EventLoop& loop;
    const Clock& clock;  // the pollers'
    const runtime::WallClock& wall_clock;
    runtime::Log& log;
  };
  // All parts outlive this; no poller turns any more when it goes.
  explicit Captures(const Parts& parts);
  ~Captures();
  Captures(const Captures&) = delete;
  Captures& operator=(const Captures&) = delete;

  [[nodiscard]] Outcome<StartedCapture> start(CaptureOrder order);
  [[nodiscard]] std::vector<CaptureReport> list() const;
  [[nodiscard]] unsigned shards() const;

 private:
  struct Capture;
  struct Retired;

  [[nodiscard]] Outcome<std::unique_ptr<Capture>> make(CaptureOrder order) const;
  [[nodiscard]] std::size_t bytes_taken() const;
  void publish(std::unique_ptr<Capture> ended);
  void end(std::uint64_t number);
  void set_wall_offset();

  const Parts parts_;
  std::atomic<std::int64_t> wall_offset_ns_{0};
  runtime::EventLoop::TimerId offset_timer_ = runtime::EventLoop::TimerId::kNone;
  std::uint64_t last_number_ = 0;
  std::vector<std::unique_ptr<Capture>> captures_;
  std::vector<std::unique_ptr<lnet::MessageTap>> taps_;  // by shard; null: nobody captures
  // Ended captures that shards may still use, because a tour of the shards failed.
  std::shared_ptr<std::vector<std::shared_ptr<Retired>>> unpassed_;
};

}  // namespace plnet::node
