// SPDX-License-Identifier: BSD-3-Clause
// Requests: sent in order of each connection, kept until answered, sent again as the retry handler
// says.
#include <algorithm>
#include <cstring>

#include "drivers/net/cassini/soft/packet_port.hpp"

namespace plnet::cassini::soft {
namespace {

constexpr unsigned kWireBursts = 4;

std::uint64_t key_of(const Message& message) {
  const std::uint64_t to =
      std::uint64_t{message.destination} << 20 | std::uint64_t{message.pid} << 8 | message.index;
  return to << 20 | std::uint64_t{message.vni} << 4 | message.traffic_class;
}

}  // namespace

PacketPort::PacketPort(Nic& nic, Wire& wire, const PortOptions& options, RetryLog* log)
    : nic_(nic),
      wire_(wire),
      options_(options),
      payload_max_(std::min(
          {options.payload_max, kPayloadMax, wire.packet_bytes_max() - kPacketHeaderBytes})),
      retry_(options.retry, Random(options.seed).fork("retry"), log),
      next_epoch_(options.incarnation << 16),
      messages_(options.messages_max),
      connections_(options.source_connections),
      slabs_(std::make_unique_for_overwrite<std::byte[]>(options.remembered_responses *
                                                         payload_max_)) {
  for (unsigned i = options.messages_max; i-- > 0;)
    free_messages_.push_back(static_cast<std::uint16_t>(i));
  for (unsigned i = options.remembered_responses; i-- > 0;)
    free_slabs_.push_back(static_cast<std::uint16_t>(i));
  active_.reserve(options.source_connections);
  nic_.attach(this, this);
}

PacketPort::~PacketPort() {
  nic_.attach(nullptr, nullptr);
}

unsigned PacketPort::step(std::uint64_t now_ns) {
  if (!gate_.try_lock()) return 0;
  const Gate::Held held(gate_, Gate::Held::Already{});
  now_ns_ = now_ns;
  unsigned done = nic_.step(now_ns);
  for (unsigned burst = 0; burst < kWireBursts; ++burst) {
    const unsigned came = wire_.poll(now_ns, *this);
    done += came;
    if (came == 0) break;
  }
  for (std::size_t i = 0; i < active_.size();) {
    const std::uint16_t number = active_[i];
    Connection& connection = *connections_[number];
    check_timer(number);
    if (pump(number)) ++done;
    if (connection.count == 0 && connection.head == kNone) {
      send_clear(number);
      connection.active = false;
      connection.idle_since_ns = now_ns;
      active_[i] = active_.back();
      active_.pop_back();
    } else {
      ++i;
    }
  }
  if (now_ns >= expiry_ns_) expire_targets(now_ns);
  return done;
}

void PacketPort::on_link(bool up, NicAddress own) {
  nic_.tables().link_up = up;
  nic_.set_address(own);
}

bool PacketPort::ready(NicAddress /*from*/) {
  return !free_messages_.empty();
}

std::uint16_t PacketPort::connection_for(const Message& message) {
  const auto [at, is_new] = by_destination_.try_emplace(key_of(message), kNone);
  if (!is_new) return at->second;
  const auto free =
      std::ranges::find_if(connections_, [](const auto& one) { return one == nullptr; });
  if (free == connections_.end()) {
    by_destination_.erase(at);
    return kNone;
  }
  *free = std::make_unique<Connection>();
  (*free)->to = message;
  (*free)->epoch = ++next_epoch_;
  at->second = static_cast<std::uint16_t>(free - connections_.begin());
  return at->second;
}

void PacketPort::start(NicAddress /*from*/, const Message& message, const LocalBuffer& local,
                       const Completion& completion) {
  if (local.immediate.empty()) {
    const Translated here = nic_.local_memory(local, message.operation, 0, message.length);
    if (here.code != ReturnCode::kOk) {
      nic_.completed(message, completion, {.code = here.code});
      return;
    }
  }
  const std::uint16_t number =
      retry_.parked(message.destination, now_ns_) ? kNone : connection_for(message);
  if (number == kNone) {
    nic_.completed(message, completion, {.code = ReturnCode::kUndeliverable});
    return;
  }
  const std::uint16_t slot = free_messages_.back();
  free_messages_.pop_back();
  Outgoing& out = messages_[slot];
  out = Outgoing{};
  out.message = message;
  out.completion = completion;
  out.local = local;
  if (!local.immediate.empty()) {
    std::ranges::copy(local.immediate, out.bytes.begin());
    out.local.immediate = {out.bytes.data(), local.immediate.size()};
  }
  Connection& connection = *connections_[number];
  (connection.tail == kNone ? connection.head : messages_[connection.tail].next) = slot;
  connection.tail = slot;
  if (!connection.active) {
    // Long idle: the target may forget it at any moment. With nothing unanswered it is safe to
    // begin anew.
    if (connection.established &&
        now_ns_ - connection.idle_since_ns > retry_.target_timeout_ns() / 4)
      renew(connection);
    connection.active = true;
    active_.push_back(number);
  }
}

// The next packet of the oldest message that has some left. False: nothing to send.
bool PacketPort::prepare(Connection& connection) {
  if (connection.count == kPacketWindow) return false;
  std::uint16_t number = connection.head;
  while (number != kNone && messages_[number].all_sent)
    number = messages_[number].next;
  if (number == kNone) return false;
  Outgoing& out = messages_[number];
  Sent& sent = connection.at(connection.count);
  sent = Sent{};
  sent.message = number;
  sent.sequence = connection.next_sequence;
  sent.first = !out.started;
  sent.offset = out.sent;
  sent.length = static_cast<std::uint32_t>(
      std::min<std::size_t>(payload_max_, out.message.length - out.sent));
  out.started = true;
  out.sent += sent.length;
  out.all_sent = out.sent == out.message.length;
  sent.eom = out.all_sent;
  ++out.waiting;
  ++connection.count;
  connection.next_sequence = static_cast<std::uint16_t>(sequence_after(connection.next_sequence));
  return true;
}

bool PacketPort::pump(std::uint16_t number) {
  Connection& connection = *connections_[number];
  if (now_ns_ < connection.hold_until_ns) return false;
  bool sent_any = false;
  for (unsigned i = 0; i < connection.batch; ++i) {
    if (connection.to_send == connection.count && !prepare(connection)) break;
    Sent& sent = connection.at(connection.to_send);
    if (!sent.done && !send(number, sent)) break;
    ++connection.to_send;
    sent_any = true;
  }
  return sent_any;
}

bool PacketPort::send(std::uint16_t number, Sent& sent) {
  const Connection& connection = *connections_[number];
  const Outgoing& out = messages_[sent.message];
  Packet packet;
  packet.type = sent.first ? PacketType::kFirst : PacketType::kContinuation;
  packet.syn = !connection.established;
  packet.eom = sent.eom;
  packet.attempt = sent.tries;
  packet.connection = number;
  packet.sequence = sent.sequence;
  packet.cleared = connection.cleared;
  packet.epoch = connection.epoch;
  packet.message_id = sent.message;
  packet.length = sent.length;
  packet.offset = sent.offset;
  packet.message = out.message;
  packet.message.source = nic_.address();
  std::span<const std::byte> payload;
  if (out.message.operation == Operation::kPut && sent.length > 0) {
    if (!out.local.immediate.empty()) {
      payload = out.local.immediate.subspan(sent.offset, sent.length);
    } else {
      const Translated here =
          nic_.local_memory(out.local, Operation::kPut, sent.offset, sent.length);
      // Unmapped under way: the target must hear of it or it would wait for the rest.
      if (here.code != ReturnCode::kOk) packet.code = ReturnCode::kUncor;
      if (here.memory != nullptr) payload = {here.memory, sent.length};
    }
  }
  const PacketHeader header = encode(packet);
  if (!wire_.send(out.message.destination, header, payload)) {
    stats_.add(PortCounters::Id::kWireFull);
    return false;
  }
  stats_.add(sent.tries == 0 ? PortCounters::Id::kSent : PortCounters::Id::kResent);
  if (sent.tries < UINT8_MAX) ++sent.tries;
  sent.sent_ns = now_ns_;
  return true;
}

void PacketPort::check_timer(std::uint16_t number) {
  Connection& connection = *connections_[number];
  if (connection.count == 0 || connection.to_send == 0 || now_ns_ < connection.hold_until_ns)
    return;
  Sent& oldest = connection.at(0);
  if (now_ns_ < oldest.sent_ns + retry_.packet_timeout_ns()) return;
  const PacketName name{.sct = number, .spt = oldest.sequence, .nid = connection.to.destination};
  retry(number, 0, retry_.timed_out(name, oldest.history, now_ns_));
}

void PacketPort::retry(std::uint16_t number, unsigned at, const RetryHandler::Decision& decision) {
  Connection& connection = *connections_[number];
  if (!decision.again) {
    give_up(number, decision.code);
    return;
  }
  connection.to_send = std::min(connection.to_send, at);
  connection.hold_until_ns = now_ns_ + decision.after_ns;
  connection.batch = decision.small_batch ? retry_.batch() : kPacketWindow;
}

PacketPort::Sent* PacketPort::find_sent(const Packet& packet, unsigned& at) {
  if (packet.connection >= connections_.size() || !connections_[packet.connection]) return nullptr;
  Connection& connection = *connections_[packet.connection];
  if (packet.epoch != connection.epoch || connection.count == 0) return nullptr;
  const int distance = sequence_distance(connection.at(0).sequence, packet.sequence);
  if (distance < 0 || distance >= static_cast<int>(connection.count)) return nullptr;
  at = static_cast<unsigned>(distance);
  Sent& sent = connection.at(at);
  return sent.done || sent.tries == 0 ? nullptr : &sent;
}

void PacketPort::answered(const Packet& packet, std::span<const std::byte> payload) {
  unsigned at = 0;
  Sent* const sent = find_sent(packet, at);
  if (sent == nullptr) return;  // late, or of an earlier life
  Connection& connection = *connections_[packet.connection];
  connection.established = true;
  connection.batch = kPacketWindow;
  Outgoing& out = messages_[sent->message];
  if (sent->first) {
    out.outcome.mlength = packet.mlength;
    out.outcome.list = packet.list;
  }
  if (packet.code != ReturnCode::kOk && (out.outcome.code == ReturnCode::kOk || sent->first)) {
    out.outcome = {.code = packet.code, .list = packet.list, .target_error = true};
    out.all_sent = true;  // the rest has nowhere to go
  }
  if (sent->tries > 1) out.outcome.retried = true;
  if (out.message.operation == Operation::kGet && out.outcome.code == ReturnCode::kOk) {
    const auto length = std::min<std::size_t>(payload.size(), sent->length);
    const Translated here = nic_.local_memory(out.local, Operation::kGet, sent->offset, length);
    if (here.code != ReturnCode::kOk) {
      out.outcome.code = here.code;
    } else if (length > 0) {
      std::memcpy(here.memory, payload.data(), length);
    }
  }
  sent->done = true;
  settle(connection);
}

// What has been answered, oldest first, leaves the window; messages end.
void PacketPort::settle(Connection& connection) {
  while (connection.count > 0 && connection.at(0).done) {
    const Sent& sent = connection.at(0);
    connection.cleared = sent.sequence;
    const std::uint16_t number = sent.message;
    Outgoing& out = messages_[number];
    --out.waiting;
    connection.first = (connection.first + 1) % kPacketWindow;
    --connection.count;
    if (connection.to_send > 0) --connection.to_send;
    if (out.all_sent && out.waiting == 0) end_message(connection, number, out.outcome);
  }
}

void PacketPort::end_message(Connection& connection, std::uint16_t number, const Outcome& outcome) {
  const Outgoing& out = messages_[number];
  // Messages of a connection end in their order: it is the first one.
  PLNET_CHECK(connection.head == number, "messages of a connection end in order");
  connection.head = out.next;
  if (connection.head == kNone) connection.tail = kNone;
  nic_.completed(out.message, out.completion, outcome);
  free_messages_.push_back(number);
}

// Whatever was sent and not answered may or may not have been done: none of it is sent again. What
// was never sent goes on a new connection of the same name.
void PacketPort::give_up(std::uint16_t number, ReturnCode code) {
  Connection& connection = *connections_[number];
  const bool parked = retry_.parked(connection.to.destination, now_ns_);
  while (connection.head != kNone && (messages_[connection.head].started || parked)) {
    Outcome outcome = messages_[connection.head].outcome;
    if (outcome.code == ReturnCode::kOk) outcome = {.code = code};
    end_message(connection, connection.head, outcome);
  }
  renew(connection);
}

void PacketPort::renew(Connection& connection) {
  connection.count = 0;
  connection.to_send = 0;
  connection.first = 0;
  connection.next_sequence = 1;
  connection.cleared = 0;
  connection.hold_until_ns = 0;
  connection.batch = kPacketWindow;
  connection.established = false;
  connection.epoch = ++next_epoch_;
}

void PacketPort::refused(const Packet& packet) {
  unsigned at = 0;
  Sent* const sent = find_sent(packet, at);
  if (sent == nullptr) return;
  Connection& connection = *connections_[packet.connection];
  if (packet.code == ReturnCode::kSequenceError) {
    // Everything from the missing one on goes again, once for all the refusals of one gap.
    if (packet.attempt + 1 != sent->tries || connection.to_send <= at) return;
    const int behind = sequence_distance(connection.at(0).sequence, packet.expected);
    if (behind < 0 || behind > static_cast<int>(at)) return;
    at = static_cast<unsigned>(behind);
  }
  const PacketName name{
      .sct = packet.connection, .spt = packet.sequence, .nid = connection.to.destination};
  retry(packet.connection, at,
        retry_.refused(name, connection.at(at).history, packet.code, connection.established));
}

// The target need not remember its answers any longer. Lost: it forgets by itself, later.
void PacketPort::send_clear(std::uint16_t number) {
  const Connection& connection = *connections_[number];
  if (connection.cleared == 0) return;
  Packet packet;
  packet.type = PacketType::kClear;
  packet.connection = number;
  packet.cleared = connection.cleared;
  packet.epoch = connection.epoch;
  packet.message = connection.to;
  packet.message.source = nic_.address();
  (void)wire_.send(connection.to.destination, encode(packet), {});
}

}  // namespace plnet::cassini::soft
