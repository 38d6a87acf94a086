// SPDX-License-Identifier: BSD-3-Clause
#include "lib/socklnd/acceptor.hpp"

#include <algorithm>

#include "lib/base/check.hpp"

namespace plnet::socklnd {

using lnet::Nid;

namespace {

bool is_ipv4(const SocketAddress& address) {
  return std::all_of(address.ip.begin(), address.ip.begin() + 10,
                     [](std::uint8_t byte) { return byte == 0; }) &&
         address.ip[10] == 0xff && address.ip[11] == 0xff;
}

bool is_address_of(const SocketAddress& address, const Nid& nid) {
  if (nid.is_large()) return address.ip == nid.address_be;
  return is_ipv4(address) &&
         std::equal(address.ip.begin() + 12, address.ip.end(), nid.address_be.begin());
}

std::uint32_t ipv4_of(const SocketAddress& address) {
  const auto& ip = address.ip;
  return static_cast<std::uint32_t>(ip[12]) << 24U | static_cast<std::uint32_t>(ip[13]) << 16U |
         static_cast<std::uint32_t>(ip[14]) << 8U | ip[15];
}

}  // namespace

Acceptor::Acceptor(const AcceptorConfig& config, StreamSwitch& streams, PeerHomes& homes)
    : config_(config),
      streams_(streams),
      homes_(homes),
      strangers_(config.strangers_max + kEvictedMax) {
  PLNET_CHECK(config.step_timeout > Duration{}, "each step has a time limit");
  streams.set_accepter(*this);
}

void Acceptor::on_accepted(StreamId stream, const StreamAddresses& addresses) {
  const auto turn_away = [&](Id why, Errc cause) {
    counters_.add(why);
    streams_.driver().close(stream, cause);
  };
  counters_.add(Id::kAccepted);
  if (config_.policy == AcceptPolicy::kNone) {
    return turn_away(Id::kRefusedPolicy, Errc::kNotPermitted);
  }
  if (config_.policy == AcceptPolicy::kSecure && !is_reserved(addresses.remote.port)) {
    complain(addresses.remote, Id::kRefusedPort);
    return turn_away(Id::kRefusedPort, Errc::kNotPermitted);
  }
  if (has_share(addresses.remote)) return turn_away(Id::kRefusedShare, Errc::kNoSpace);
  const bool full = places_taken() >= config_.strangers_max;
  Stranger* const stranger = full && !make_room(addresses.remote) ? nullptr : strangers_.take();
  if (stranger == nullptr) return turn_away(Id::kRefusedNoRoom, Errc::kNoSpace);
  if (!streams_.give(stream, *this, strangers_.index_of(stranger))) {
    strangers_.give(stranger);
    return turn_away(Id::kRefusedNoRoom, Errc::kNoSpace);
  }
  *stranger = Stranger{};
  stranger->stream = stream;
  stranger->addresses = addresses;
  counters_.add(Id::kStrangers);
  fresh_.push_back(*stranger);
}

std::size_t Acceptor::places_taken() const {
  PLNET_CHECK(strangers_.capacity() - strangers_.free_count() >= leaving_count_,
              "strangers that leave still have their place");
  return strangers_.capacity() - strangers_.free_count() - leaving_count_;
}

// With few strangers no address needs to be counted.
bool Acceptor::has_share(const SocketAddress& address) {
  const std::size_t share = std::max(config_.strangers_max / kAddressShare, kAddressPlacesLeast);
  if (places_taken() < share) return false;
  std::size_t places = 0;
  const auto count = [&](const Stranger& stranger) {
    places += stranger.addresses.remote.ip == address.ip ? 1U : 0U;
  };
  fresh_.for_each(count);
  waiting_.for_each(count);
  queued_.for_each(count);
  return places >= share;
}

// Evicts the stranger with the oldest step that is not from the newcomer's address. An honest peer
// needs one round trip for its HELLO.
bool Acceptor::make_room(const SocketAddress& newcomer) {
  Stranger* oldest = nullptr;
  const auto consider = [&](Stranger& stranger) {
    if (oldest != nullptr || stranger.state == State::kIntroduced) return;
    if (stranger.addresses.remote.ip != newcomer.ip) oldest = &stranger;
  };
  waiting_.for_each(consider);
  fresh_.for_each(consider);
  if (oldest == nullptr || leaving_count_ >= kEvictedMax) return false;
  refuse(*oldest, Id::kEvicted, Errc::kNoSpace);
  return true;
}

std::span<std::byte> Acceptor::destination(std::uint32_t /*slot*/) {
  return {};
}

std::size_t Acceptor::on_bytes(std::uint32_t slot, std::size_t /*direct*/,
                               std::span<const std::byte> staged) {
  PLNET_DEBUG_CHECK(strangers_.is_lent(slot), "events name strangers in use");
  Stranger& stranger = strangers_.at(slot);
  std::size_t used = 0;
  if (stranger.state == State::kRequest) {
    const auto before = stranger.request.state();
    used = stranger.request.take(staged);
    if (stranger.request.state() != before) touch(stranger);
    if (!stranger.request.reading()) on_request(stranger);
  }
  if (stranger.state == State::kHello && used < staged.size()) {
    const auto before = stranger.hello.state();
    used += stranger.hello.take(staged.subspan(used));
    if (stranger.hello.state() != before) touch(stranger);
    if (!stranger.hello.reading()) on_hello(stranger);
  }
  // A peer must wait for our HELLO before it sends more. Later bytes stay in the stream.
  const bool is_introduced =
      stranger.state == State::kIntroduced || stranger.state == State::kQueued;
  if (is_introduced && used < staged.size()) {
    refuse(stranger, Id::kRefusedEager);
  }
  return staged.size();
}

void Acceptor::on_request(Stranger& stranger) {
  PLNET_CHECK(stranger.state == State::kRequest, "a request is read once");
  using Request = RequestReader::State;
  switch (stranger.request.state()) {
    case Request::kNoRequest:
    case Request::kUnknownVersion: return answer_request(stranger);
    case Request::kLegacy: return refuse(stranger, Id::kRefusedLegacy);
    case Request::kUnknownMagic: return refuse(stranger, Id::kRefusedMagic);
    default: break;
  }
  const auto local = homes_.local(stranger.request.target());
  if (!local) return refuse(stranger, Id::kRefusedNid);
  stranger.local = *local;
  stranger.arrival.local = stranger.request.target();
  stranger.state = State::kHello;
}

void Acceptor::on_hello(Stranger& stranger) {
  PLNET_CHECK(stranger.state == State::kHello, "a HELLO is read once");
  using Reader = HelloReader::State;
  switch (stranger.hello.state()) {
    case Reader::kUnknownMagic:
    case Reader::kNotHello: return refuse(stranger, Id::kRefusedHelloMagic);
    case Reader::kUnknownVersion: return answer_version(stranger);
    case Reader::kTooManyAddresses:
    case Reader::kBadAddress: return refuse(stranger, Id::kRefusedAddresses);
    default: break;
  }
  const Protocol protocol = stranger.hello.hello().protocol;
  // The kernel still talks V1 to whoever begins with it; nothing since 2.12 does.
  if (protocol == Protocol::kV1) return answer_version(stranger);
  // Before V4 there is no room for our NID. (The kernel would send a piece of it.)
  if (stranger.arrival.local.is_large() && protocol != Protocol::kV4) {
    return answer_version(stranger);
  }
  introduce(stranger);
}

void Acceptor::introduce(Stranger& stranger) {
  PLNET_CHECK(stranger.state == State::kHello, "a stranger is introduced once");
  const Hello& hello = stranger.hello.hello();
  Arrival& arrival = stranger.arrival;
  if (hello.source.is_any() || !hello.source.is_well_formed() ||
      hello.source.net() != arrival.local.net()) {
    return refuse(stranger, Id::kRefusedSource);
  }
  if (const auto why = judge_origin(stranger)) return refuse(stranger, *why);
  const auto type = inverted(hello.type);
  if (!type) return refuse(stranger, Id::kRefusedType);
  arrival.hello = hello;
  arrival.swapped = stranger.hello.swapped();
  arrival.type = *type;
  if (!homes_.admits(arrival)) {
    return refuse(stranger, Id::kRefusedAccess, Errc::kNotPermitted);
  }
  stranger.state = State::kIntroduced;
  streams_.driver().pause_reading(stranger.stream);
}

// Determines the peer behind a connection; returns a reason if the HELLO's NID is refused. An
// address of the other family proves nothing: the kernel connects to a NID of that family from
// whatever address it has there (lustre-release lnet/lnet/lib-socket.c: lnet_sock_create()).
std::optional<Acceptor::Id> Acceptor::judge_origin(Stranger& stranger) {
  const Hello& hello = stranger.hello.hello();
  Arrival& arrival = stranger.arrival;
  arrival.peer = {hello.source, hello.source_pid};
  const SocketAddress& remote = stranger.addresses.remote;
  if (!is_reserved(remote.port)) {
    // Each connection is a process of its own; the NID in its HELLO is not trusted.
    if (!is_ipv4(remote)) return Id::kRefusedSource;
    arrival.peer = {Nid::of(arrival.local.type, arrival.local.number(), ipv4_of(remote)),
                    remote.port | lnet::kPidUserFlag};
    return std::nullopt;
  }
  if ((hello.source_pid & lnet::kPidUserFlag) != 0) return Id::kRefusedSource;
  if (config_.any_address) return std::nullopt;
  if (is_address_of(remote, hello.source)) {
    std::array<std::uint32_t, kHelloAddressesMax> room{};
    if (!hello.source.is_large()) listed_.learn(hello.source, stranger.hello.addresses(room));
    return std::nullopt;
  }
  const bool comparable = hello.source.is_large() != is_ipv4(remote);
  arrival.proven = comparable && is_ipv4(remote) && listed_.lists(hello.source, ipv4_of(remote));
  if (!arrival.proven && comparable) return Id::kRefusedForeign;
  return std::nullopt;
}

void Acceptor::complain(const SocketAddress& address, Id why) {
  if (config_.complaints == nullptr) return;
  const auto row = static_cast<std::size_t>(why);
  config_.complaints->tell({.address = address, .cause = AcceptorCounters::kInfo[row].name});
}

void Acceptor::refuse(Stranger& stranger, Id why, Errc cause) {
  if (stranger.state == State::kClosing) return;
  counters_.add(why);
  if (cause == Errc::kProtocol || cause == Errc::kTimedOut)
    complain(stranger.addresses.remote, why);
  leave(stranger, cause);
}

void Acceptor::leave(Stranger& stranger, Errc cause) {
  PLNET_CHECK(stranger.state != State::kClosing, "a stranger leaves once");
  stranger.state = State::kClosing;
  stranger.unlink();
  leaving_.push_back(stranger);
  ++leaving_count_;
  streams_.driver().close(stranger.stream, cause);
}

void Acceptor::answer_request(Stranger& stranger) {
  counters_.add(Id::kRefusedRequest);
  complain(stranger.addresses.remote, Id::kRefusedRequest);
  encode_acceptor_answer(std::span(stranger.answer).first<kAcceptorV1Bytes>());
  stranger.answer_bytes = kAcceptorV1Bytes;
  send_answer(stranger);
}

// A HELLO of our version, with the requested NID as source and destination, as the kernel sends it.
void Acceptor::answer_version(Stranger& stranger) {
  counters_.add(Id::kRefusedHelloVersion);
  complain(stranger.addresses.remote, Id::kRefusedHelloVersion);
  const Nid& local = stranger.arrival.local;
  Hello hello{.protocol = local.is_large() ? Protocol::kV4 : Protocol::kV3,
              .source = local,
              .destination = local,
              .source_pid = stranger.local.pid,
              .source_incarnation = stranger.local.incarnation};
  hello.type = static_cast<std::int32_t>(ConnectionType::kNone);
  stranger.answer_bytes = static_cast<std::uint8_t>(*encode_hello(hello, stranger.answer));
  send_answer(stranger);
}

void Acceptor::send_answer(Stranger& stranger) {
  PLNET_CHECK(stranger.answer_bytes > 0 && stranger.answer_sent < stranger.answer_bytes,
              "an answer has bytes left to send");
  stranger.state = State::kAnswering;
  const std::array<std::span<const std::byte>, 1> piece{
      std::span(stranger.answer).first(stranger.answer_bytes).subspan(stranger.answer_sent)};
  const std::size_t taken = streams_.driver().write(stranger.stream, piece);
  PLNET_CHECK(taken <= piece[0].size(), "TCP takes no more than it is given");
  stranger.answer_sent = static_cast<std::uint8_t>(stranger.answer_sent + taken);
  if (stranger.answer_sent < stranger.answer_bytes) return;
  leave(stranger, Errc::kVersion);
}

void Acceptor::on_writable(std::uint32_t slot) {
  PLNET_DEBUG_CHECK(strangers_.is_lent(slot), "events name strangers in use");
  Stranger& stranger = strangers_.at(slot);
  if (stranger.state == State::kAnswering) send_answer(stranger);
}

void Acceptor::on_connected(std::uint32_t /*slot*/, const StreamAddresses& /*addresses*/) {
  PLNET_CHECK(false, "an acceptor connects to nobody");
}

void Acceptor::on_closed(std::uint32_t slot, Errc /*cause*/, std::uint64_t /*unacknowledged*/) {
  PLNET_CHECK(strangers_.is_lent(slot), "events name strangers in use");
  Stranger& stranger = strangers_.at(slot);
  if (stranger.state != State::kClosing && stranger.state != State::kAnswering) {
    counters_.add(stranger.request.empty() ? Id::kLeftSilent : Id::kLeftEarly);
  }
  forget(stranger);
}

void Acceptor::forget(Stranger& stranger) {
  if (stranger.state == State::kClosing) {
    PLNET_CHECK(leaving_count_ > 0, "leaving strangers are counted");
    --leaving_count_;
  }
  stranger.unlink();
  strangers_.give(&stranger);
  counters_.subtract(Id::kStrangers);
}

void Acceptor::touch(Stranger& stranger) {
  if (stranger.state == State::kClosing) return;
  stranger.unlink();
  fresh_.push_back(stranger);
}

unsigned Acceptor::flush(Instant now) {
  unsigned work = 0;
  while (Stranger* const stranger = fresh_.pop_front()) {
    ++work;
    stranger->deadline = now + config_.step_timeout;
    waiting_.push_back(*stranger);
    if (stranger->state != State::kIntroduced) continue;
    // Connections that wait are served first.
    if (!queued_.empty() || !hand_over(*stranger)) queue(*stranger, now);
  }
  if (now >= next_turn_) work += serve_queue(now);
  while (Stranger* const stranger = waiting_.front()) {
    if (stranger->deadline > now) break;
    ++work;
    refuse(*stranger, Id::kTimedOut, Errc::kTimedOut);
  }
  return work;
}

void Acceptor::queue(Stranger& stranger, Instant now) {
  PLNET_CHECK(stranger.state == State::kIntroduced,
              "only an introduced stranger waits for its turn");
  counters_.add(Id::kWaited);
  stranger.state = State::kQueued;
  stranger.deadline = now + kTurnTimeout;
  stranger.unlink();
  if (queued_.empty()) next_turn_ = now + kTurnInterval;
  queued_.push_back(stranger);
}

// A stranger that has to wait longer goes to the end, since the others may not wait for the same
// thing.
unsigned Acceptor::serve_queue(Instant now) {
  unsigned work = 0;
  IntrusiveList<Stranger> later;
  for (std::size_t looks = 0; looks < kTurnsAtOnce && !queued_.empty(); ++looks) {
    Stranger& stranger = *queued_.front();
    PLNET_CHECK(stranger.state == State::kQueued, "strangers of the queue wait for their turn");
    if (!hand_over(stranger)) {
      stranger.unlink();
      later.push_back(stranger);
      if (stranger.deadline <= now) refuse(stranger, Id::kRefusedWait, Errc::kNoSpace);
      continue;
    }
    ++work;
  }
  queued_.splice_back(later);
  next_turn_ = queued_.empty() ? Instant::max() : now + kTurnInterval;
  return work;
}

// Called between two reads, when no bytes of the stream are staged.
bool Acceptor::hand_over(Stranger& stranger) {
  PLNET_CHECK(stranger.state == State::kIntroduced || stranger.state == State::kQueued,
              "only an introduced stranger has a home");
  const Room room = homes_.room_for(stranger.arrival);
  if (room == Room::kLater) return false;
  if (room == Room::kNone) {
    refuse(stranger, Id::kRefusedHome, Errc::kNoSpace);
    return true;
  }
  const auto detached = streams_.driver().detach(stranger.stream);
  if (!detached) {
    refuse(stranger, Id::kRefusedDetach, detached.error());
    return true;
  }
  streams_.take_back(stranger.stream);
  stranger.arrival.stream = *detached;
  counters_.add(Id::kHandedOver);
  homes_.hand_over(stranger.arrival);
  forget(stranger);
  return true;
}

Instant Acceptor::next_deadline() {
  return waiting_.empty() ? next_turn_ : std::min(next_turn_, waiting_.front()->deadline);
}

void Acceptor::shut_down() {
  for (std::uint32_t i = 0; i < strangers_.capacity(); ++i) {
    if (strangers_.is_lent(i)) refuse(strangers_.at(i), Id::kRefusedShutdown, Errc::kShutdown);
  }
}

}  // namespace plnet::socklnd
