// SPDX-License-Identifier: BSD-3-Clause
#include "apps/lnetdump/analysis.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/task_group.h>

#include "lib/base/hash.hpp"
#include "lib/trace/file/link.hpp"
#include "lib/trace/filter/filter_input.hpp"

namespace plnet::lnetdump {

namespace {

// Equal for both directions.
template <class Address>
std::size_t part_of(const Address& one, const Address& other) {
  std::array<Address, 2> both{one, other};
  if (std::memcmp(&one, &other, sizeof one) > 0) std::swap(both[0], both[1]);
  return KeyHash<std::array<Address, 2>>{}(both) % Analysis::kParts;
}

std::size_t part_of(const trace::Packet& packet) {
  const trace::LinkContent content = trace::dissect(packet);
  if (const auto* const segment = std::get_if<trace::TcpSegment>(&content))
    return part_of(segment->flow.from, segment->flow.to);
  if (const auto* const datagram = std::get_if<trace::UdpDatagram>(&content))
    return part_of(datagram->flow.from, datagram->flow.to);
  return packet.time_ns % Analysis::kParts;  // of no connection: any part
}

}  // namespace

struct Analysis::Chunk {
  Chunk() {
    bytes.reserve(kChunkBytes);
    packets.reserve(kChunkPackets);
  }
  [[nodiscard]] bool has_room(std::size_t more) const {
    return packets.empty() ||
           (packets.size() < kChunkPackets && bytes.size() + more <= kChunkBytes);
  }
  // A packet larger than a chunk is alone in it, so that no reference becomes invalid when bytes
  // move.
  std::span<const std::byte> keep(std::span<const std::byte> more) {
    const std::size_t at = bytes.size();
    bytes.insert(bytes.end(), more.begin(), more.end());
    return std::span(bytes).subspan(at);
  }
  void clear() {
    bytes.clear();
    packets.clear();
  }

  std::vector<std::byte> bytes;
  std::vector<trace::Packet> packets;
  std::vector<std::uint8_t> parts;
};

// A part of the connections, with their records of the present chunk.
struct Analysis::Connections final : trace::RecordSink {
  struct Kept {
    std::size_t packet = 0;
    trace::RecordHeader header;
    std::size_t payload = 0;  // in `payloads`
  };

  explicit Connections(const AnalysisOptions& options)
      : source(*this, {.port = options.port, .snap_bytes = kSnapBytes}) {}

  void on_record(const trace::Record& record, const lnet::Nid& /*interface*/) override {
    const std::size_t part = part_of(record.header.source, record.header.destination);
    Kept kept{.packet = packet, .header = record.header, .payload = payloads.size()};
    const std::size_t length = std::min(record.payload.size(), kSnapBytes);
    kept.header.captured = static_cast<std::uint32_t>(length);
    payloads.insert(payloads.end(), record.payload.begin(),
                    record.payload.begin() + static_cast<std::ptrdiff_t>(length));
    records[part].push_back(kept);
  }
  void take(const Chunk& chunk, std::size_t own) {
    payloads.clear();
    for (auto& list : records)
      list.clear();
    for (packet = 0; packet < chunk.packets.size(); ++packet) {
      if (chunk.parts[packet] == own) source.add(chunk.packets[packet]);
    }
  }

  trace::CaptureSource source;
  std::size_t packet = 0;
  std::vector<std::byte> payloads;
  std::array<std::vector<Kept>, kParts> records;  // by pair of nodes
};

// A part of the pairs of nodes.
struct Analysis::Nodes {
  struct Entry {
    std::size_t packet = 0;
    std::size_t number = 0;  // within the records of one packet
    const Connections::Kept* kept = nullptr;
    const Connections* connections = nullptr;
  };

  void take(const std::vector<std::unique_ptr<Connections>>& all, std::size_t own,
            const trace::Expression& filter) {
    order.clear();
    for (const auto& connections : all) {
      for (const Connections::Kept& kept : connections->records[own])
        order.push_back({kept.packet, order.size(), &kept, connections.get()});
    }
    std::ranges::sort(order, {},
                      [](const Entry& entry) { return std::pair(entry.packet, entry.number); });
    for (const Entry& entry : order) {
      const Connections::Kept& kept = *entry.kept;
      const auto payload =
          std::span(entry.connections->payloads).subspan(kept.payload, kept.header.captured);
      add({kept.header, payload}, filter);
    }
  }
  void add(const trace::Record& record, const trace::Expression& filter) {
    const trace::Message message = trace::decode(record);
    (void)pairs.add(message);
    if (!filter.is_empty()) {
      fill_header(record, input);
      fill_content(message, input);
      if (!filter.matches(input)) return;
    }
    summary.add(message);
  }

  trace::Summary summary;
  trace::PairUp pairs{&summary, kExchangesMax};
  trace::FilterInput input;
  std::vector<Entry> order;
};

struct Analysis::Threads {
  explicit Threads(unsigned count)
      : limit(tbb::global_control::max_allowed_parallelism, std::max(count, cpu_count())),
        arena(count == 0 ? tbb::task_arena::automatic : static_cast<int>(count)) {}

  static unsigned cpu_count() {
    return static_cast<unsigned>(tbb::this_task_arena::max_concurrency());
  }

  tbb::global_control limit;  // allows more threads than CPUs on request
  tbb::task_arena arena;
  tbb::task_group group;
};

Analysis::Analysis(const AnalysisOptions& options)
    : options_(options),
      threads_(std::make_unique<Threads>(options.threads)),
      filling_(std::make_unique<Chunk>()),
      processing_(std::make_unique<Chunk>()) {
  for (std::size_t part = 0; part < kParts; ++part) {
    connections_.push_back(std::make_unique<Connections>(options_));
    nodes_.push_back(std::make_unique<Nodes>());
  }
}

Analysis::~Analysis() {
  threads_->arena.execute([this] { threads_->group.wait(); });
}

void Analysis::add(const trace::Packet& packet) {
  const std::size_t bytes = packet.bytes.size() + packet.comment.size();
  if (!filling_->has_room(bytes)) hand_over();
  if (filling_->packets.empty()) filling_->bytes.reserve(bytes);
  trace::Packet copy = packet;
  copy.bytes = filling_->keep(packet.bytes);
  const auto comment = filling_->keep(std::as_bytes(std::span(packet.comment)));
  copy.comment = {reinterpret_cast<const char*>(comment.data()), packet.comment.size()};
  copy.interface = {};  // summaries do not distinguish NIs
  filling_->packets.push_back(copy);
  ++packets_;
}

// The next chunk is filled while this one is processed.
void Analysis::hand_over() {
  threads_->arena.execute([this] { threads_->group.wait(); });
  std::swap(filling_, processing_);
  filling_->clear();
  threads_->arena.execute([this] { threads_->group.run([this] { process(*processing_); }); });
}

void Analysis::process(Chunk& chunk) {
  chunk.parts.resize(chunk.packets.size());
  tbb::parallel_for(std::size_t{0}, chunk.packets.size(), [&](std::size_t i) {
    chunk.parts[i] = static_cast<std::uint8_t>(part_of(chunk.packets[i]));
  });
  tbb::parallel_for(std::size_t{0}, kParts,
                    [&](std::size_t part) { connections_[part]->take(chunk, part); });
  tbb::parallel_for(std::size_t{0}, kParts, [&](std::size_t part) {
    nodes_[part]->take(connections_, part, options_.filter);
  });
}

// Connections of another file are different ones; the remaining ones of this file end here.
void Analysis::end_file() {
  hand_over();
  threads_->arena.execute([this] { threads_->group.wait(); });
  const Chunk none;
  for (std::size_t part = 0; part < kParts; ++part) {
    Connections& connections = *connections_[part];
    connections.take(none, part);
    connections.source.finish();
    losses_ += connections.source.losses();
  }
  for (std::size_t part = 0; part < kParts; ++part)
    nodes_[part]->take(connections_, part, options_.filter);
  for (auto& connections : connections_)
    connections = std::make_unique<Connections>(options_);
}

trace::Summary Analysis::finish() {
  trace::Summary all;
  for (const auto& nodes : nodes_) {
    nodes->pairs.finish();
    all.merge(nodes->summary);
  }
  return all;
}

}  // namespace plnet::lnetdump
