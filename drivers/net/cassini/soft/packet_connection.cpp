// SPDX-License-Identifier: BSD-3-Clause
// Connections: made when there is something to send, closed in three steps when idle. The target
// forgets its responses, then the connection; then the number is free. A silent target is asked
// again and finally abandoned: the epoch of anything that it remembers is old.
#include <algorithm>

#include "drivers/net/cassini/soft/packet_port.hpp"

namespace plnet::cassini::soft {
namespace {

constexpr unsigned kWireBursts = 4;
constexpr unsigned kLooksPerStep = 8;  // connections checked for idleness

std::uint64_t key_of(const Message& message, unsigned lane) {
  static_assert(kSharesMax <= 1U << (12 - kPidBits), "share and PID have 12 bits");
  const unsigned process = share_of(message.destination) << kPidBits | message.pid;
  const std::uint64_t to = std::uint64_t{nic_of(message.destination)} << 20 |
                           std::uint64_t{process} << 8 | message.index;
  return std::uint64_t{lane} << 60 | to << 20 | std::uint64_t{message.vni} << 4 |
         message.traffic_class;
}

// Numbers from 0 on, the lowest first.
std::vector<std::uint16_t> numbers(unsigned count) {
  std::vector<std::uint16_t> all;
  for (unsigned i = count; i-- > 0;)
    all.push_back(static_cast<std::uint16_t>(i));
  return all;
}

std::size_t without_header(std::size_t packet_bytes) {
  return packet_bytes - std::min(packet_bytes, kPacketHeaderBytes);
}

}  // namespace

PacketPort::PacketPort(Nic& nic, Wire& wire, const PortOptions& options, RetryLog* log, Gate* gate)
    : nic_(nic),
      wire_(wire),
      options_(options),
      payload_max_(
          std::min({options.payload_max, kPayloadMax, without_header(wire.packet_bytes_max())})),
      gate_(gate == nullptr ? own_gate_ : *gate),
      retry_(options.retry, Random(options.seed).fork("retry"), log),
      random_(Random(options.seed).fork("lanes")),
      next_epoch_(options.incarnation << 16),
      messages_(options.messages_max),
      free_messages_(numbers(options.messages_max)),
      connections_(options.source_connections),
      free_connections_(numbers(options.source_connections)),
      by_destination_(options.source_connections),
      targets_(options.target_connections),
      free_targets_(numbers(options.target_connections)),
      by_source_(options.target_connections),
      sources_(options.target_connections),
      free_sources_(numbers(options.target_connections)),
      by_nic_(options.target_connections),
      responses_max_(options.remembered_responses),
      slabs_(
          std::make_unique_for_overwrite<std::byte[]>(options.remembered_responses * payload_max_)),
      free_slabs_(numbers(options.remembered_responses)) {
  PLNET_CHECK(payload_max_ > 0, "a packet carries something");
  PLNET_CHECK(std::max({options.messages_max, options.source_connections,
                        options.target_connections, options.remembered_responses}) < kNone,
              "records have numbers of 16 bits");
  active_.reserve(options.source_connections);
  used_connections_.reserve(options.source_connections);
  used_targets_.reserve(options.target_connections);
  owing_.reserve(options.target_connections);
  nic_.tables().retry_handler = retry_.running();
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
  if (!owing_.empty()) pay_all();
  for (std::size_t i = 0; i < active_.size();) {
    const std::uint16_t number = active_[i];
    Connection& connection = connections_[number];
    check_timer(number);
    if (pump(number)) ++done;
    if (connection.count == 0 && connection.head == kNone) {
      connection.active = false;
      connection.idle_since_ns = now_ns;
      active_[i] = active_.back();
      active_.pop_back();
    } else {
      ++i;
    }
  }
  close_idle();
  if (now_ns >= expiry_ns_) expire_targets(now_ns);
  return done;
}

void PacketPort::on_link(bool up, NicAddress own) {
  nic_.tables().link_up = up;
  if (own == nic_.address()) return;
  nic_.set_address(own);
  leave_address();
}

// Targets of messages under the old address cannot answer any more, and operations that they have
// done must not be repeated under the new one. Sources of messages to the old address will hear
// nothing either.
void PacketPort::leave_address() {
  for (const std::uint16_t number : used_connections_) {
    Connection& connection = connections_[number];
    if (connection.count == 0) {
      renew(connection);
      continue;
    }
    const PacketName name{
        .sct = number, .spt = connection.at(0).sequence, .nid = connection.to.destination};
    give_up(number, retry_.undeliverable(name).code);
  }
  while (!used_targets_.empty())
    free_target(used_targets_.back());
}

// Read each time: MTUs change at run time, and peers restart behind other ports.
std::size_t PacketPort::payload_room(NicAddress peer) const {
  return std::clamp<std::size_t>(without_header(wire_.packet_bytes_max_to(peer)), 1, payload_max_);
}

bool PacketPort::ready(NicAddress /*from*/) {
  return !free_messages_.empty();
}

// Restricted messages are unordered: any of some connections of their own may carry them. NICs that
// are not strict keep their order nevertheless, which programs have come to rely on (libfabric's
// tests of collective operations).
std::uint16_t PacketPort::connection_for(const Message& message) {
  const unsigned lanes = nic_.tables().strict ? kLanes : 1;
  const unsigned lane = message.restricted ? 1 + static_cast<unsigned>(random_.below(lanes)) : 0;
  const std::uint64_t key = key_of(message, lane);
  if (const std::uint16_t known = by_destination_.find(key); known != kNone) return known;
  if (free_connections_.empty()) return kNone;
  const std::uint16_t number = free_connections_.back();
  free_connections_.pop_back();
  Connection& connection = connections_[number];
  connection.to = message;
  connection.lane = lane;
  connection.in_use = static_cast<std::uint16_t>(used_connections_.size());
  used_connections_.push_back(number);
  by_destination_.add(key, number);
  renew(connection);
  return number;
}

void PacketPort::free_connection(std::uint16_t number) {
  Connection& connection = connections_[number];
  PLNET_CHECK(!connection.active && connection.head == kNone, "closed with something to send");
  by_destination_.remove(key_of(connection.to, connection.lane));
  const std::uint16_t last = used_connections_.back();
  used_connections_[connection.in_use] = last;
  connections_[last].in_use = connection.in_use;
  used_connections_.pop_back();
  connection.state = State::kFree;
  connection.epoch = ++next_epoch_;  // late responses find no connection
  free_connections_.push_back(number);
}

std::uint64_t PacketPort::due_of(const Connection& connection) const {
  if (!connection.active) {
    return connection.idle_since_ns + idle_wait_of(connection);
  }
  if (connection.hold_until_ns > now_ns_) return connection.hold_until_ns;
  const bool more = connection.to_send < connection.count ||
                    (connection.count < kPacketWindow && first_unsent(connection) != kNone);
  if (more || connection.count == 0) return now_ns_;
  return connection.at(0).sent_ns + retry_.packet_timeout_ns();
}

std::uint64_t PacketPort::next_due() const {
  std::uint64_t due = owing_.empty() ? UINT64_MAX : now_ns_;
  for (const std::uint16_t number : used_connections_)
    due = std::min(due, due_of(connections_[number]));
  return used_targets_.empty() ? due : std::min(due, expiry_ns_);
}

// The wait until an idle connection proceeds with closing.
std::uint64_t PacketPort::idle_wait_of(const Connection& connection) const {
  const bool first = connection.state == State::kNormal || connection.close_tries == 0;
  return first ? retry_.idle_ns() : retry_.packet_timeout_ns();
}

// A few of them in each step, in rotation.
void PacketPort::close_idle() {
  for (unsigned i = 0; i < kLooksPerStep && i < used_connections_.size(); ++i) {
    if (close_at_ >= used_connections_.size()) close_at_ = 0;
    const std::uint16_t number = used_connections_[close_at_++];
    const Connection& connection = connections_[number];
    if (connection.active) continue;
    if (now_ns_ - connection.idle_since_ns >= idle_wait_of(connection)) close_further(number);
  }
}

void PacketPort::close_further(std::uint16_t number) {
  Connection& connection = connections_[number];
  if (connection.state == State::kNormal) {
    connection.state = State::kClearPending;
    // No response ever came on it: as far as known, the other end has nothing to close.
    if (!connection.established) return free_connection(number);
  }
  if (connection.close_tries >= retry_.close_tries_max()) {
    stats_.add(PortCounters::Id::kForced);
    return free_connection(number);
  }
  const PacketType type =
      connection.state == State::kClearPending ? PacketType::kClear : PacketType::kClose;
  connection.idle_since_ns = now_ns_;
  if (say(type, number)) ++connection.close_tries;
}

bool PacketPort::say(PacketType type, std::uint16_t number) {
  const Connection& connection = connections_[number];
  Packet packet;
  packet.type = type;
  packet.connection = number;
  packet.cleared = connection.cleared;
  packet.epoch = connection.epoch;
  packet.message = connection.to;
  packet.message.source = nic_.address();
  return wire_.send(connection.to.destination, encode(packet), {});
}

// At the target. An unknown connection is already closed.
void PacketPort::closing(NicAddress from, const Packet& packet) {
  const std::uint16_t number = by_source_.find(std::uint64_t{from} << 16 | packet.connection);
  const bool known = number != kNone && targets_[number].epoch == packet.epoch;
  if (known) targets_[number].seen_ns = now_ns_;
  if (known && packet.cleared != 0) clear(targets_[number], packet.cleared);
  Packet answer = packet;
  answer.type =
      packet.type == PacketType::kClear && known ? PacketType::kCleared : PacketType::kClosed;
  if (known && packet.type == PacketType::kClose) free_target(number);
  // A lost close request, or one without room, is repeated by the source.
  (void)wire_.send(from, encode(answer), {});
}

// At the source. Unsolicited answers are ignored.
void PacketPort::closing_answered(NicAddress from, const Packet& packet) {
  Connection* const connection = connection_of(from, packet);
  if (connection == nullptr || connection->active || connection->state == State::kNormal)
    return stats_.add(PortCounters::Id::kLate);
  if (packet.type == PacketType::kClosed) {
    stats_.add(PortCounters::Id::kClosed);
    free_connection(packet.connection);
  } else if (connection->state == State::kClearPending) {
    connection->state = State::kClosePending;
    connection->close_tries = 0;
    close_further(packet.connection);
  }
}

std::uint16_t PacketPort::target_for(NicAddress from, const Packet& packet) {
  const std::uint64_t key = std::uint64_t{from} << 16 | packet.connection;
  std::uint16_t number = by_source_.find(key);
  if (number != kNone) {
    if (targets_[number].epoch == packet.epoch) return number;
    const auto newer = static_cast<std::int32_t>(packet.epoch - targets_[number].epoch) > 0;
    if (!newer) {  // of an earlier incarnation
      stats_.add(PortCounters::Id::kLate);
      return kNone;
    }
    if (!packet.syn) {
      nack(from, packet, ReturnCode::kNoMatchingConn, 0);
      return kNone;
    }
    free_target(number);
  }
  const Former& before = former(key);
  if (packet.syn && before.key == key && now_ns_ - before.seen_ns < retry_.target_timeout_ns() &&
      static_cast<std::int32_t>(packet.epoch - before.epoch) <= 0) {
    stats_.add(PortCounters::Id::kDuplicates);
    return kNone;
  }
  if (!packet.syn) {
    nack(from, packet, ReturnCode::kNoMatchingConn, 0);
    return kNone;
  }
  const std::uint16_t source = source_for(from);
  if (source == kNone) {
    nack(from, packet, ReturnCode::kNoTargetConn, 0);
    return kNone;
  }
  number = free_targets_.back();
  free_targets_.pop_back();
  by_source_.add(key, number);
  TargetConnection& target = targets_[number];
  target.key = key;
  target.from = from;
  target.source = source;
  ++sources_[source].connections;
  target.connection = packet.connection;
  target.epoch = packet.epoch;
  target.expected = 1;
  target.cleared = 0;
  target.in_use = static_cast<std::uint16_t>(used_targets_.size());
  used_targets_.push_back(number);
  return number;
}

// The record of a NIC, if it may have a further connection.
std::uint16_t PacketPort::source_for(NicAddress from) {
  std::uint16_t number = by_nic_.find(from);
  const unsigned taken = number == kNone ? 0 : sources_[number].connections;
  if (!has_share(taken, free_targets_.size())) return kNone;
  if (number != kNone) return number;
  number = free_sources_.back();  // each source has a connection
  free_sources_.pop_back();
  sources_[number] = {.from = from};
  by_nic_.add(from, number);
  return number;
}

void PacketPort::leave_source(std::uint16_t number) {
  Source& source = sources_[number];
  if (--source.connections > 0) return;
  PLNET_CHECK(source.remembered == 0 && source.partial_messages == 0,
              "a NIC without connections holds nothing");
  by_nic_.remove(source.from);
  free_sources_.push_back(number);
}

void PacketPort::free_target(std::uint16_t number) {
  TargetConnection& target = targets_[number];
  former(target.key) = {.key = target.key, .epoch = target.epoch, .seen_ns = target.seen_ns};
  abandon(target);
  clear(target, sequence_after(target.expected, kSequences - 1));
  leave_source(target.source);
  by_source_.remove(target.key);
  if (target.owing) std::erase(owing_, number);
  target.owing = false;
  const std::uint16_t last = used_targets_.back();
  used_targets_[target.in_use] = last;
  targets_[last].in_use = target.in_use;
  used_targets_.pop_back();
  free_targets_.push_back(number);
}

void PacketPort::expire_targets(std::uint64_t now_ns) {
  const std::uint64_t timeout = retry_.target_timeout_ns();
  expiry_ns_ = now_ns + timeout / 4;
  for (std::size_t i = 0; i < used_targets_.size();) {
    const std::uint16_t number = used_targets_[i];
    if (targets_[number].seen_ns + timeout > now_ns) {
      ++i;
    } else {
      free_target(number);  // the last one takes its place in the list
    }
  }
}

}  // namespace plnet::cassini::soft
