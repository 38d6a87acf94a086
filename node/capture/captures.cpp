// SPDX-License-Identifier: BSD-3-Clause
#include "node/capture/captures.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <utility>

#include <fmt/format.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "lib/lnet/node/node.hpp"
#include "lib/runtime/verbs/capture_rows.hpp"
#include "lib/trace/tap/shard_tap.hpp"
#include "node/capture/capture_memory.hpp"
#include "node/host/lnet_desk.hpp"
#include "node/host/lnet_host.hpp"
#include "node/host/shard_tour.hpp"

namespace plnet::node {

namespace {

using runtime::Descriptor;
using runtime::LogLevel;
using runtime::LogSite;

constexpr LogSite kStarted{
    LogLevel::kInfo, "capture_started", {"capture", "uid", "pid", "filter", "snap"}};
constexpr LogSite kEnded{
    LogLevel::kInfo, "capture_ended", {"capture", "pid", "messages", "no_room"}};

// The clocks of pollers drift by some parts per million.
constexpr Duration kOffsetPeriod = std::chrono::seconds(1);

static_assert(kCapturesMax <= trace::ShardTap::kCapturesMax);

}  // namespace

struct Captures::Capture {
  Capture(std::uint64_t of_number, CaptureOrder wanted, CaptureMemory shared, Descriptor node_end)
      : number(of_number),
        order(std::move(wanted)),
        memory(std::move(shared)),
        life(std::move(node_end)) {}

  [[nodiscard]] const trace::RingControl& control(unsigned shard) const {
    return *reinterpret_cast<const trace::RingControl*>(memory.ring(shard).data());
  }

  std::uint64_t number;
  CaptureOrder order;
  CaptureMemory memory;
  Descriptor life;
  Descriptor reader_life;  // until it is handed over
  std::vector<std::unique_ptr<trace::ShardCapture>> shards;
};

// Freed when every shard has ended the turn in which it may have looked at them.
struct Captures::Retired {
  std::vector<std::unique_ptr<lnet::MessageTap>> taps;
  std::unique_ptr<Capture> capture;
  std::vector<std::shared_ptr<Retired>> older;
};

Captures::Captures(const Parts& parts)
    : parts_(parts),
      taps_(parts.host.shards()),
      unpassed_(std::make_shared<std::vector<std::shared_ptr<Retired>>>()) {
  set_wall_offset();
  offset_timer_ =
      parts_.loop.add_timer(kOffsetPeriod, kOffsetPeriod, [this] { set_wall_offset(); });
}

Captures::~Captures() {
  parts_.loop.cancel_timer(offset_timer_);
  for (const auto& capture : captures_)
    parts_.loop.remove(capture->life.get());
  for (lnet::TapSlot& slot : parts_.host.taps())
    slot.tap.store(nullptr, std::memory_order_release);
}

unsigned Captures::shards() const {
  return parts_.host.shards();
}

void Captures::set_wall_offset() {
  const auto wall = std::chrono::duration_cast<std::chrono::nanoseconds>(
      parts_.wall_clock.now().time_since_epoch());
  wall_offset_ns_.store((wall - parts_.clock.now().time_since_epoch()).count(),
                        std::memory_order_relaxed);
}

std::size_t Captures::bytes_taken() const {
  std::size_t bytes = 0;
  for (const auto& capture : captures_)
    bytes += capture->memory.rings().bytes().size();
  return bytes;
}

Outcome<std::unique_ptr<Captures::Capture>> Captures::make(CaptureOrder order) const {
  if (captures_.size() >= kCapturesMax) {
    return failure(Errc::kBusy, fmt::format("the node has {} captures already, the most that it "
                                            "can have; `lnetctl capture show` lists them",
                                            captures_.size()));
  }
  const std::size_t wanted = shards() * trace::ring_memory_bytes(order.ring_bytes);
  if (wanted > kCaptureBytesMax - bytes_taken()) {
    return failure(Errc::kNoMemory,
                   fmt::format("the capture needs {} MiB for the rings of {} shards, and all "
                               "captures have {} MiB; use a smaller --ring",
                               wanted >> 20U, shards(), kCaptureBytesMax >> 20U));
  }
  auto memory = CaptureMemory::create(shards(), order.ring_bytes);
  if (!memory) return std::unexpected(std::move(memory.error()));
  int ends[2] = {-1, -1};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) != 0) {
    return failure(errc_of_errno(errno), "the node has no file descriptors for a capture");
  }
  auto made = std::make_unique<Capture>(last_number_ + 1, std::move(order), std::move(*memory),
                                        Descriptor(ends[0]));
  made->reader_life = Descriptor(ends[1]);
  for (unsigned shard = 0; shard < shards(); ++shard) {
    auto ring = trace::RingWriter::create(
        made->memory.ring(shard),
        {.keep = made->order.keep, .shard = shard, .reader_cursor = made->memory.cursor(shard)});
    if (!ring) return failure(ring.error(), "a ring has a power of two of bytes, 64 KiB to 1 GiB");
    made->shards.push_back(std::make_unique<trace::ShardCapture>(
        *ring, made->order.filter.get(), made->order.snap_bytes, made->order.states));
  }
  return made;
}

Outcome<StartedCapture> Captures::start(CaptureOrder order) {
  auto made = make(std::move(order));
  if (!made) return std::unexpected(std::move(made.error()));
  Capture& capture = **made;
  StartedCapture started{.number = capture.number, .descriptors = {}};
  for (const SharedFile* const file : {&capture.memory.rings(), &capture.memory.cursors()}) {
    auto descriptor = file->descriptor();
    if (!descriptor) return std::unexpected(std::move(descriptor.error()));
    started.descriptors.push_back(std::move(*descriptor));
  }
  started.descriptors.push_back(std::move(capture.reader_life));
  // A reader has nothing to say: whatever comes ends the capture.
  auto watched = parts_.loop.add(capture.life.get(), EPOLLIN | EPOLLRDHUP,
                                 [this, number = capture.number](std::uint32_t) { end(number); });
  if (!watched) return std::unexpected(std::move(watched.error()));
  last_number_ = capture.number;
  parts_.log.write(kStarted, {std::to_string(capture.number), std::to_string(capture.order.uid),
                              std::to_string(capture.order.pid), capture.order.filter_text,
                              std::to_string(capture.order.snap_bytes)});
  captures_.push_back(std::move(*made));
  set_wall_offset();
  publish(nullptr);
  return started;
}

void Captures::end(std::uint64_t number) {
  const auto found =
      std::ranges::find(captures_, number, [](const auto& each) { return each->number; });
  if (found == captures_.end()) return;
  std::unique_ptr<Capture> capture = std::move(*found);
  captures_.erase(found);
  parts_.loop.remove(capture->life.get());
  std::uint64_t offered = 0;
  std::uint64_t dropped = 0;
  for (unsigned shard = 0; shard < shards(); ++shard) {
    offered += capture->control(shard).offered.load(std::memory_order_relaxed);
    dropped += capture->control(shard).dropped.load(std::memory_order_relaxed);
  }
  parts_.log.write(kEnded, {std::to_string(number), std::to_string(capture->order.pid),
                            std::to_string(offered), std::to_string(dropped)});
  capture->life.reset();
  publish(std::move(capture));
}

// Each shard gets a tap for the captures of now. What it had is freed when no turn can use it.
void Captures::publish(std::unique_ptr<Capture> ended) {
  auto retired = std::make_shared<Retired>();
  retired->capture = std::move(ended);
  retired->older = std::exchange(*unpassed_, {});
  const auto slots = parts_.host.taps();
  for (unsigned shard = 0; shard < shards(); ++shard) {
    std::vector<trace::ShardCapture*> wanted;
    wanted.reserve(captures_.size());
    for (const auto& capture : captures_)
      wanted.push_back(capture->shards[shard].get());
    std::unique_ptr<lnet::MessageTap> tap;
    if (!wanted.empty()) {
      tap = std::make_unique<trace::ShardTap>(parts_.host.arenas(), wall_offset_ns_, wanted);
    }
    slots[shard].tap.store(tap.get(), std::memory_order_release);
    retired->taps.push_back(std::exchange(taps_[shard], std::move(tap)));
  }
  tour_shards(
      parts_.desk, [](lnet::Node&, unsigned) { return LnetDesk::Progress::kDone; },
      [retired, unpassed = unpassed_](Outcome<void>&& passed) {
        if (!passed) unpassed->push_back(retired);
      });
}

std::vector<CaptureReport> Captures::list() const {
  std::vector<CaptureReport> reports;
  for (const auto& capture : captures_) {
    const CaptureOrder& order = capture->order;
    CaptureReport report{.number = capture->number,
                         .filter_text = order.filter_text,
                         .snap_bytes = order.snap_bytes,
                         .ring_bytes = order.ring_bytes,
                         .keep = order.keep,
                         .states = order.states,
                         .uid = order.uid,
                         .pid = order.pid};
    for (unsigned shard = 0; shard < shards(); ++shard) {
      report.offered += capture->control(shard).offered.load(std::memory_order_relaxed);
      report.dropped += capture->control(shard).dropped.load(std::memory_order_relaxed);
    }
    reports.push_back(std::move(report));
  }
  return reports;
}

}  // namespace plnet::node
