// SPDX-License-Identifier: BSD-3-Clause
#include "apps/lnetdump/live_source.hpp"

#include <cerrno>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sys/mman.h>

#include "lib/base/check.hpp"
#include "lib/runtime/control/client.hpp"
#include "lib/runtime/verbs/capture_rows.hpp"

namespace plnet::lnetdump {

namespace {

using runtime::CaptureDescriptor;
using runtime::Descriptor;

constexpr Duration kAnswerMax = std::chrono::seconds(10);
// A message has the time of the beginning of its shard's turn and is in the ring by the end of that
// turn.
constexpr std::uint64_t kTurnNs = 10'000'000;

Outcome<std::vector<Descriptor>> take_three(runtime::ControlClient& client) {
  auto descriptors = client.take_descriptors();
  if (descriptors.size() != runtime::kCaptureDescriptors) {
    return failure(Errc::kProtocol,
                   "the node hands over no shared memory; lnetdump and the node "
                   "may be of different releases");
  }
  return descriptors;
}

std::uint64_t now_ns(const runtime::WallClock& clock) {
  return static_cast<std::uint64_t>(
      std::chrono::nanoseconds(clock.now().time_since_epoch()).count());
}

}  // namespace

Outcome<SharedMapping> SharedMapping::map(int descriptor, std::size_t bytes, bool writable) {
  void* const at = ::mmap(nullptr, bytes, writable ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED,
                          descriptor, 0);
  if (at == MAP_FAILED) {
    return failure(errc_of_errno(errno),
                   "the node's memory cannot be mapped: " + std::generic_category().message(errno));
  }
  return SharedMapping({static_cast<std::byte*>(at), bytes});
}

SharedMapping::SharedMapping(SharedMapping&& other) noexcept
    : bytes_(std::exchange(other.bytes_, std::span<std::byte>())) {}

SharedMapping::~SharedMapping() {
  if (!bytes_.empty()) ::munmap(bytes_.data(), bytes_.size());
}

Outcome<LiveSource> LiveSource::open(const LiveOptions& options, const Clock& clock,
                                     const runtime::WallClock& wall_clock) {
  auto client = runtime::ControlClient::connect(options.socket, clock);
  if (!client) return std::unexpected(std::move(client.error()));
  nlohmann::json args{{"snap", options.snap_bytes},
                      {"ring_kib", options.ring_kib},
                      {"keep", options.keep == trace::Keep::kOldest ? "oldest" : "newest"}};
  if (!options.filter.empty()) args["filter"] = options.filter;
  if (!options.program.empty()) args["program"] = options.program;
  if (options.states) args["states"] = true;
  const auto reply = client->call("capture start", args, kAnswerMax);
  if (!reply) {
    const runtime::VerbFault& fault = reply.error().faults.front();
    return failure(fault.code, fault.what);
  }
  auto descriptors = take_three(*client);
  if (!descriptors) return std::unexpected(std::move(descriptors.error()));
  const auto of = [&](CaptureDescriptor which) {
    return (*descriptors)[static_cast<std::size_t>(which)].get();
  };
  const auto shards = reply->value("shards", std::size_t{0});
  const auto ring_bytes = reply->value("ring_bytes", std::size_t{0});
  if (shards == 0 || shards > 4096 || ring_bytes > trace::kRingBytesMax) {
    return failure(Errc::kProtocol,
                   "the node describes its shared memory in an unknown "
                   "format; lnetdump may be of another release");
  }
  const std::size_t memory = trace::ring_memory_bytes(ring_bytes);
  auto rings = SharedMapping::map(of(CaptureDescriptor::kRings), shards * memory, false);
  if (!rings) return std::unexpected(std::move(rings.error()));
  auto cursors = SharedMapping::map(of(CaptureDescriptor::kCursors),
                                    shards * runtime::kCaptureCursorBytes, true);
  if (!cursors) return std::unexpected(std::move(cursors.error()));
  LiveSource source(std::move(*rings), std::move(*cursors),
                    std::move((*descriptors)[static_cast<std::size_t>(CaptureDescriptor::kLife)]),
                    wall_clock);
  for (std::size_t shard = 0; shard < shards; ++shard) {
    auto reader =
        trace::RingReader::attach(source.rings_memory_.bytes().subspan(shard * memory, memory));
    if (!reader) return failure(reader.error(), "the node's rings have an unknown format");
    auto* const cursor = reinterpret_cast<trace::RingWord*>(
        &source.cursors_memory_.bytes()[shard * runtime::kCaptureCursorBytes]);
    source.rings_.push_back({std::move(*reader), cursor});
  }
  return source;
}

// The ring with the earliest message; null: none may be delivered yet.
Outcome<LiveSource::Ring*> LiveSource::next_ring() {
  Ring* first = nullptr;
  std::uint64_t first_ns = 0;         // the time of its record
  std::uint64_t complete_ns = ~0ULL;  // no earlier message can arrive any more
  for (Ring& ring : rings_) {
    if (!ring.head) {
      const std::uint64_t before = now_ns(*wall_clock_);
      auto next = ring.reader.next();
      if (!next) return failure(next.error(), "a ring of the node has invalid contents");
      ring.head = *next;
      if (!ring.head) ring.empty_at_ns = before;
    }
    const std::optional<trace::Record>& head = ring.head;
    if (!head) {
      complete_ns = std::min(complete_ns, ring.empty_at_ns - kTurnNs);
    } else if (first == nullptr || head->header.time_ns < first_ns) {
      first = &ring;
      first_ns = head->header.time_ns;
    }
  }
  if (first == nullptr || ending_ || first_ns <= complete_ns) return first;
  return nullptr;
}

Outcome<std::size_t> LiveSource::drain(trace::RecordSink& sink, std::size_t records_max) {
  std::size_t count = 0;
  for (; count < records_max; ++count) {
    const auto next = next_ring();
    if (!next) return std::unexpected(next.error());
    Ring* const ring = *next;
    if (ring == nullptr) break;
    const std::optional<trace::Record>& head = ring->head;
    PLNET_CHECK(head.has_value(), "the next ring has a record");
    sink.on_record(*head, ring->reader.interface(head->header.interface));
    ring->head.reset();
    ++ring->read;
    ring->cursor->store(ring->reader.position(), std::memory_order_release);
  }
  return count;
}

std::uint64_t LiveSource::lost() const {
  std::uint64_t lost = 0;
  for (const Ring& ring : rings_)
    lost += ring.reader.offered() - ring.read;
  return lost;
}

}  // namespace plnet::lnetdump
