// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/net/sim/endpoint_driver.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "drivers/net/sim/dice.hpp"
#include "lib/base/check.hpp"

namespace plnet::drivers {

using Id = SimEndpointCounters::Id;
using kfilnd::FabricCompletion;
using kfilnd::FabricEvent;
using kfilnd::PeerAddress;
using OpKind = EndpointOperation::Kind;

std::uint32_t copy_payload(const ArenaWindow& to, const ArenaWindow& from, std::uint32_t limit,
                           LazyMemory* lazy) {
  lnet::Payload sink = to.payload;
  std::uint32_t moved = 0;
  // Goes through the pieces of the source, and through those of the sink that they fill.
  lnet::Payload source = from.payload;
  source.length = std::min({source.length, sink.length, limit});
  lnet::for_each_piece(source, [&](const Fragment& piece) {
    std::span<const std::byte> bytes = from.arenas.bytes(piece);
    sink.length = static_cast<std::uint32_t>(bytes.size());
    lnet::for_each_piece(sink, [&](const Fragment& room) {
      copy_memory(lazy, to.arenas.bytes(room).data(), bytes.first(room.length));
      bytes = bytes.subspan(room.length);
      moved += room.length;
    });
    sink.offset += sink.length;
  });
  return moved;
}

SimEndpointDriver::SimEndpointDriver(SimEndpointFabric& fabric, const SimEndpointConfig& config,
                                     const ArenaTable& arenas, kfilnd::EndpointEvents& events,
                                     Doorbell& doorbell)
    : fabric_(fabric),
      config_(config),
      arenas_(arenas),
      events_(events),
      doorbell_(doorbell),
      index_(fabric.add(*this)) {}

SimEndpointDriver::~SimEndpointDriver() {
  fabric_.remove(*this);
  buffers_.clear(fabric_.network().pool());
  completions_.clear(fabric_.network().pool());
}

Result<EndpointProcess> SimEndpointDriver::process_of(PeerAddress address) const {
  const auto index = static_cast<std::uint32_t>(address);
  if (index >= addresses_.size() || !addresses_[index].in_use ||
      addresses_[index].generation != address >> 32U)
    return std::unexpected(Errc::kInvalid);
  return addresses_[index].process;
}

Result<PeerAddress> SimEndpointDriver::resolve(std::uint64_t nic_address, unsigned service) {
  auto free = std::ranges::find(addresses_, false, &Address::in_use);
  if (free == addresses_.end()) {
    if (addresses_.size() == kAddressesMax) return std::unexpected(Errc::kNoMemory);
    free = addresses_.emplace(addresses_.end());
  }
  free->process = {nic_address, service};
  free->in_use = true;
  return static_cast<PeerAddress>(free->generation) << 32U |
         static_cast<PeerAddress>(free - addresses_.begin());
}

void SimEndpointDriver::forget(PeerAddress address) {
  if (!process_of(address)) return;
  Address& forgotten = addresses_[static_cast<std::uint32_t>(address)];
  forgotten.in_use = false;
  ++forgotten.generation;
}

Result<void> SimEndpointDriver::may_post() {
  if (shut_down_) return std::unexpected(Errc::kShutdown);
  // A refusal without need is allowed only while a completion is due that makes the LND retry.
  if (in_flight_ >= config_.limits.operations_max ||
      (in_flight_ > 0 && happens(fabric_.random(), fabric_.shape().post_refused))) {
    counters_.add(Id::kRefused);
    return std::unexpected(Errc::kAgain);
  }
  return {};
}

Result<void> SimEndpointDriver::send(const Target& to, std::span<const std::byte> header,
                                     const lnet::Payload& payload, std::uint64_t cookie) {
  const auto process = process_of(to.address);
  if (!process) return std::unexpected(process.error());
  if (header.size() + payload.length > config_.limits.message_bytes_max)
    return std::unexpected(Errc::kTooBig);
  if (const auto room = may_post(); !room) return room;
  EndpointOperation& operation = fabric_.start(OpKind::kSend, *this);
  operation.to = *process;
  operation.receive_context = to.receive_context;
  operation.cookie = cookie;
  fabric_.make_message(operation, header.size() + payload.length);
  PLNET_CHECK(operation.message.size() == header.size() + payload.length,
              "a message has its bytes");
  std::byte* at = std::ranges::copy(header, operation.message.data()).out;
  lnet::for_each_piece(payload, [&](const Fragment& piece) {
    copy_memory(fabric_.network().lazy_memory(), at, arenas_.bytes(piece));
    at += piece.length;
  });
  ++in_flight_;
  counters_.add(Id::kSends);
  fabric_.depart(operation);
  return {};
}

Result<void> SimEndpointDriver::post_remote(OpKind kind, const Target& peer, Tag tag,
                                            const lnet::Payload& local, std::uint64_t data,
                                            std::uint64_t cookie) {
  const auto process = process_of(peer.address);
  if (!process) return std::unexpected(process.error());
  if (const auto room = may_post(); !room) return room;
  EndpointOperation& operation = fabric_.start(kind, *this);
  operation.to = *process;
  operation.receive_context = peer.receive_context;
  operation.tag = tag;
  operation.local = local;
  operation.data = data;
  operation.cookie = cookie;
  ++in_flight_;
  counters_.add(Id::kRemoteOperations);
  fabric_.depart(operation);
  return {};
}

Result<void> SimEndpointDriver::read_tagged(const Target& peer, Tag tag, const lnet::Payload& into,
                                            std::uint64_t cookie) {
  return post_remote(OpKind::kRead, peer, tag, into, 0, cookie);
}

Result<void> SimEndpointDriver::write_tagged(const Target& peer, Tag tag, const lnet::Payload& from,
                                             std::uint64_t cookie) {
  return post_remote(OpKind::kWrite, peer, tag, from, 0, cookie);
}

Result<void> SimEndpointDriver::answer_tagged(const Target& peer, Tag tag, std::uint64_t data,
                                              std::uint64_t cookie) {
  return post_remote(OpKind::kAnswer, peer, tag, {}, data, cookie);
}

Result<void> SimEndpointDriver::post_tagged(const Target& from, Tag tag, bool peer_reads,
                                            const lnet::Payload& buffer, std::uint64_t cookie) {
  const auto process = process_of(from.address);
  if (!process) return std::unexpected(process.error());
  if (shut_down_) return std::unexpected(Errc::kShutdown);
  if (tags_.size() >= config_.limits.operations_max) return std::unexpected(Errc::kAgain);
  const Tagged tagged{
      .from = *process, .buffer = buffer, .cookie = cookie, .peer_reads = peer_reads};
  if (tags_.contains(tag)) return std::unexpected(Errc::kExists);
  if (spare_tags_.empty()) {
    tags_.emplace(tag, tagged);
  } else {
    auto node = std::move(spare_tags_.back());
    PLNET_CHECK(!node.empty(), "a spare node has a place");
    spare_tags_.pop_back();
    node.key() = tag;
    node.mapped() = tagged;
    tags_.insert(std::move(node));
  }
  counters_.add(Id::kTaggedPosted);
  return {};
}

Result<void> SimEndpointDriver::cancel_tagged(Tag tag) {
  const auto found = tags_.find(tag);
  if (found == tags_.end() || found->second.taken) return std::unexpected(Errc::kNotFound);
  if (found->second.cancelling) return {};
  found->second.cancelling = true;
  if (happens(fabric_.random(), fabric_.shape().cancel_is_late)) {
    fabric_.cancel_later(index_, tag);
  } else {
    cancel_now(tag);
  }
  return {};
}

void SimEndpointDriver::cancel_now(Tag tag) {
  const auto found = tags_.find(tag);
  if (found == tags_.end() || !found->second.cancelling) return;
  if (found->second.taken) {
    counters_.add(Id::kLateCancels);
    return;
  }
  counters_.add(Id::kTaggedCancelled);
  push({.event = FabricEvent::kTaggedCancelled, .cookie = found->second.cookie});
  erase(found);
}

SimEndpointDriver::Tagged* SimEndpointDriver::match(Tag tag, const EndpointProcess& from) {
  const auto found = tags_.find(tag);
  if (found == tags_.end() || found->second.taken || !(found->second.from == from)) {
    counters_.add(Id::kNoMatch);
    return nullptr;
  }
  return &found->second;
}

SimEndpointDriver::Tagged* SimEndpointDriver::taken(Tag tag) {
  const auto found = tags_.find(tag);
  return found == tags_.end() || !found->second.taken ? nullptr : &found->second;
}

void SimEndpointDriver::end_tagged(Tag tag, FabricEvent event, Result<void> status,
                                   std::uint32_t length, std::uint64_t data) {
  const auto found = tags_.find(tag);
  PLNET_CHECK(found != tags_.end() && found->second.taken, "a tagged buffer ends that nobody took");
  counters_.add(status ? Id::kTaggedTaken : Id::kFailures);
  push({.event = event,
        .status = status,
        .cookie = found->second.cookie,
        .length = length,
        .data = data});
  erase(found);
}

Result<void> SimEndpointDriver::post_multi_receive(const Fragment& buffer, std::uint64_t cookie) {
  if (shut_down_) return std::unexpected(Errc::kShutdown);
  if (buffer.length < config_.limits.message_bytes_max) return std::unexpected(Errc::kInvalid);
  if (buffers_.size() == kBuffersMax) return std::unexpected(Errc::kAgain);
  buffers_.push(fabric_.network().pool(), {.memory = buffer, .cookie = cookie});
  return {};
}

bool SimEndpointDriver::take_message(std::span<const std::byte> message) {
  PLNET_DEBUG_CHECK(buffers_.empty() || buffers_.front().used <= buffers_.front().memory.length,
                    "messages end within their buffer");
  if (buffers_.empty() || message.size() > buffers_.front().memory.length - buffers_.front().used) {
    counters_.add(Id::kNoBuffer);
    return false;
  }
  Buffer& buffer = buffers_.front();
  copy_memory(fabric_.network().lazy_memory(), arenas_.bytes(buffer.memory).data() + buffer.used,
              message);
  FabricCompletion completion{.event = FabricEvent::kMessage,
                              .cookie = buffer.cookie,
                              .length = static_cast<std::uint32_t>(message.size()),
                              .offset = buffer.used};
  buffer.used += completion.length;
  counters_.add(Id::kMessages);
  const bool full = buffer.memory.length - buffer.used < config_.limits.message_bytes_max;
  const bool apart = full && happens(fabric_.random(), fabric_.shape().unlink_apart);
  completion.buffer_unlinked = full && !apart;
  push(completion);
  if (apart) push({.event = FabricEvent::kBufferUnlinked, .cookie = completion.cookie});
  if (full) buffers_.pop(fabric_.network().pool());
  return true;
}

void SimEndpointDriver::operation_done(const EndpointOperation& operation) {
  const bool is_send = operation.kind == OpKind::kSend;
  if (!operation.outcome) counters_.add(Id::kFailures);
  push({.event = is_send ? FabricEvent::kSent : FabricEvent::kRemoteDone,
        .status = operation.outcome,
        .cookie = operation.cookie,
        .length = operation.outcome ? operation.local.length : 0});
}

void SimEndpointDriver::note_link(bool usable, std::uint64_t nic_address) {
  config_.process.nic_address = nic_address;
  link_usable_ = usable;
  link_changed_ = true;
  doorbell_.ring();
}

void SimEndpointDriver::push(const FabricCompletion& completion) {
  completions_.push(fabric_.network().pool(),
                    {.cookie = completion.cookie,
                     .data = completion.data,
                     .length = completion.length,
                     .offset = completion.offset,
                     .event = completion.event,
                     .buffer_unlinked = completion.buffer_unlinked,
                     .failed = !completion.status,
                     .cause = completion.status ? Errc::kIo : completion.status.error()});
  doorbell_.ring();
}

FabricCompletion SimEndpointDriver::take_completion() {
  const Note& note = completions_.front();
  FabricCompletion completion{.event = note.event,
                              .cookie = note.cookie,
                              .length = note.length,
                              .offset = note.offset,
                              .buffer_unlinked = note.buffer_unlinked,
                              .data = note.data};
  if (note.failed) completion.status = std::unexpected(note.cause);
  completions_.pop(fabric_.network().pool());
  return completion;
}

void SimEndpointDriver::erase(std::unordered_map<Tag, Tagged>::iterator tagged) {
  spare_tags_.push_back(tags_.extract(tagged));
}

unsigned SimEndpointDriver::poll(Instant /*now*/) {
  unsigned work = 0;
  if (link_changed_) {
    link_changed_ = false;
    events_.on_link(link_usable_, config_.process.nic_address);
    ++work;
  }
  std::array<FabricCompletion, kBurst> burst;
  std::size_t count = 0;
  while (count < kBurst && !completions_.empty()) {
    const FabricCompletion& next = burst[count++] = take_completion();
    if (next.event == FabricEvent::kSent || next.event == FabricEvent::kRemoteDone) {
      PLNET_CHECK(in_flight_ > 0, "each operation completes once");
      --in_flight_;
    }
  }
  if (count > 0) events_.on_completions({burst.data(), count});
  return work + static_cast<unsigned>(count);
}

void SimEndpointDriver::shut_down() {
  PLNET_CHECK(!shut_down_, "an endpoint is shut down once");
  shut_down_ = true;
  std::vector<Tag> tags;
  for (auto& [tag, tagged] : tags_) {
    if (!tagged.taken) tags.push_back(tag);
  }
  std::ranges::sort(tags);
  for (const Tag tag : tags) {
    tags_[tag].cancelling = true;
    cancel_now(tag);
  }
  for (std::size_t i = 0; i < buffers_.size(); ++i) {
    push({.event = FabricEvent::kBufferUnlinked,
          .status = std::unexpected(Errc::kCancelled),
          .cookie = buffers_.at(i).cookie});
  }
  buffers_.clear(fabric_.network().pool());
}

bool SimEndpointDriver::quiet() const {
  return shut_down_ && in_flight_ == 0 && tags_.empty() && buffers_.empty() && completions_.empty();
}

}  // namespace plnet::drivers
