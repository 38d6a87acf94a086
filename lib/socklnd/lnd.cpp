// SPDX-License-Identifier: BSD-3-Clause
// The contract with the core, and the turn.
#include "lib/socklnd/lnd.hpp"

#include <algorithm>

namespace plnet::socklnd {

using namespace lnet;

namespace {

// Transmit::lnd_state of one that has ended; before that see transmit_queue.hpp.
constexpr unsigned kHealthShift = 8;
constexpr unsigned kFailedShift = 16;
constexpr unsigned kUnsentShift = 17;

ConnectionQuota quota_of(const SockLndConfig& config) {
  // To a peer that takes our word for nothing each connection is a process of its own.
  if (!config.privileged) return {.control = 1, .bulk = 0};
  const unsigned bulk = connections_per_peer(config.tunables, config.link_mbps);
  return {.control = 1, .bulk = static_cast<std::uint16_t>(bulk)};
}

// Payloads from this on make messages of min_bulk bytes.
std::uint32_t bulk_bytes_min(const SockLndConfig& config) {
  const auto head = static_cast<std::int64_t>(
      kFrameBytes + (config.nid.is_large() ? kHeaderNid16Bytes : kHeaderNid4Bytes));
  return static_cast<std::uint32_t>(std::max<std::int64_t>(config.tunables.min_bulk - head, 0));
}

}  // namespace

SockLnd::SockLnd(const SockLndConfig& config, LndUpcalls& core, StreamSwitch& streams)
    : config_(config),
      timeout_(lnd_timeout(config.tunables, config.lnet_lnd_timeout)),
      traits_{.name = "tcp",
              .net_type = NetType::kTcp,
              .takes_kept = config.relay_bytes_min > 0,
              .connects = true,
              .bulk_bytes_min = bulk_bytes_min(config),
              .lnd_timeout = timeout_},
      quota_(quota_of(config)),
      core_(core),
      streams_(streams),
      connections_(config.connections_max),
      peers_(config.peers_max),
      peers_by_id_(config.peers_max),
      timers_(config.start, kTick),
      spoil_checksum_(config.tunables.inject_csum_error != 0),
      outgoing_(config.copied_bytes_max) {}

SockLnd::~SockLnd() = default;

// Timers that run go by the old timeout until they are out.
void SockLnd::set_tunables(const Tunables& tunables) {
  if (tunables.inject_csum_error != config_.tunables.inject_csum_error) {
    spoil_checksum_ = tunables.inject_csum_error != 0;
  }
  config_.tunables = tunables;
  timeout_ = lnd_timeout(tunables, config_.lnet_lnd_timeout);
  traits_.lnd_timeout = timeout_;
  traits_.bulk_bytes_min = bulk_bytes_min(config_);
  const ConnectionQuota before = std::exchange(quota_, quota_of(config_));
  if (quota_.bulk <= before.bulk) return;
  for (std::uint32_t i = 0; i < peers_.capacity(); ++i) {
    if (!peers_.is_lent(i)) continue;
    peers_.at(i).satisfied = false;
    look_at(peers_.at(i));
  }
}

// lustre-release lnet/klnds/socklnd/socklnd.c: ksocknal_handle_link_state_change(),
// ksocknal_handle_inetaddr_change(): connections stay, TCP may get over it.
void SockLnd::set_usable(bool usable) {
  interface_.usable = usable;
  if (usable) interface_.again_at = Instant::min();  // an address that we missed may be back
  tell_interface(Errc::kNetworkDown);
}

Peer* SockLnd::new_peer(const ProcessId& id) {
  Peer* const peer = peers_.take();
  if (peer == nullptr) return nullptr;
  std::destroy_at(peer);  // a peer begins as new: nothing of the one before may show
  std::construct_at(peer);
  peer->lnd = this;
  peer->id = id;
  const Peer* const bound = peers_by_id_.find({id.nid, kLustrePid});
  peer->releasing = bound != nullptr && bound->releasing;
  peers_by_id_.insert(*peer);
  counters_.add(Id::kPeers);
  quiet_.push_back(*peer);
  return peer;
}

Peer* SockLnd::bound_peer(PeerLink& link) {
  if (link.lnd_peer != nullptr) return static_cast<Peer*>(link.lnd_peer);
  const ProcessId id{link.nid, kLustrePid};
  Peer* const known = peers_by_id_.find(id);
  Peer* const peer = known != nullptr ? known : new_peer(id);
  if (peer == nullptr) return nullptr;
  peer->link = &link;
  peer->bound = true;
  peer->lanes_changed = config_.lanes != nullptr;
  link.lnd_peer = peer;
  return peer;
}

// nullptr: a process that is not connected, or no room.
Peer* SockLnd::peer_for(const Transmit& transmit) {
  const MessageHeader& header = transmit.header;
  if ((header.destination_pid & kPidUserFlag) != 0 &&
      header.destination == transmit.next_hop->nid) {
    return peers_by_id_.find({header.destination, header.destination_pid});
  }
  return bound_peer(*transmit.next_hop);
}

void SockLnd::drop_peer(Peer& peer) {
  timers_.cancel(peer.timer);
  peer.unlink();
  peers_by_id_.erase(peer);
  const Nid nid = peer.id.nid;
  peers_.give(&peer);
  counters_.subtract(Id::kPeers);
  // The one that stands for the NID goes behind all other processes of it.
  Peer* const bound = peers_by_id_.find({nid, kLustrePid});
  if (bound != nullptr && bound->releasing) look_at(*bound);
}

void SockLnd::look_at(Peer& peer) {
  peer.unlink();
  busy_.push_back(peer);
}

void SockLnd::look_at(Connection& connection) {
  if (connection.fresh) return;
  connection.fresh = true;
  fresh_.push_back(connection);
}

std::size_t SockLnd::send(std::span<Transmit* const> burst) {
  if (shutting_down_) return 0;
  std::size_t taken = 0;
  for (Transmit* const transmit : burst) {
    Peer* const peer = peer_for(*transmit);
    Connection* const connection =
        peer == nullptr || peer->releasing ? nullptr : choose(*peer, *transmit);
    if (connection == nullptr && transmit->lane != 0 && !heard_all()) break;
    ++taken;
    ++messages_;
    transmit->lnd_state = 0;
    if (peer == nullptr) {
      const bool process = (transmit->header.destination_pid & kPidUserFlag) != 0;
      counters_.add(process ? Id::kNoSuchProcess : Id::kNoPeerRoom);
      end(*transmit, std::unexpected(process ? Errc::kNoRoute : Errc::kNoMemory),
          process ? Health::kRemoteError : Health::kLocalError);
    } else if (peer->releasing) {
      end(*transmit, std::unexpected(Errc::kShutdown), Health::kLocalAborted);
    } else if (connection != nullptr) {
      if (transmit->kept && !may_relay(*connection, *transmit)) bring_source(*transmit);
      enqueue(*connection, *transmit);
    } else if (transmit->lane != 0) {
      peer->elsewhere = true;
      counters_.add(Id::kNoLane);  // mostly because the peer has ended the connection
      end(*transmit, std::unexpected(Errc::kIo), Health::kRemoteDropped, Left::kNothing);
    } else {
      peer->elsewhere = false;
      bring_source(*transmit);
      peer->waiting.push(*transmit);
      look_at(*peer);
    }
    if (peer != nullptr && transmit->deadline < peer->earliest_deadline) {
      peer->earliest_deadline = transmit->deadline;
      look_at(*peer);
    }
  }
  return taken;
}

void SockLnd::end(Transmit& transmit, Result<void> status, Health health, Left left) {
  if (!status) counters_.add(Id::kFailed);
  const auto failed = static_cast<std::uintptr_t>(!status);
  const auto unsent = static_cast<std::uintptr_t>(left == Left::kNothing);
  const auto code = status ? 0U : static_cast<unsigned>(status.error());
  transmit.lnd_state = unsent << kUnsentShift | failed << kFailedShift |
                       static_cast<std::uintptr_t>(health) << kHealthShift | code;
  ended_.push(transmit);
}

void SockLnd::end_all(TransmitQueue& queue, Errc cause, Health health, Left left) {
  while (Transmit* const transmit = queue.pop())
    end(*transmit, std::unexpected(cause), health, left);
}

void SockLnd::report() {
  while (!ended_.empty()) {
    std::size_t count = 0;
    while (count < reported_.size() && !ended_.empty()) {
      Transmit* const transmit = ended_.pop();
      const std::uintptr_t how = transmit->lnd_state;
      Completion& completion = reported_[count++];  // what is not set here never is
      completion.transmit = transmit;
      completion.health = static_cast<Health>(how >> kHealthShift & 0xff);
      completion.unsent = (how >> kUnsentShift & 1) != 0;
      completion.status = {};
      if ((how >> kFailedShift & 1) != 0) {
        completion.status = std::unexpected(static_cast<Errc>(how & 0xff));
      }
    }
    messages_ -= count;
    core_.on_sent(std::span(reported_).first(count));
  }
}

// Looked for among those that wait, by the peer's next turn; never in here.
void SockLnd::cancel(Transmit& transmit) {
  Peer* const peer = transmit.next_hop->lnd_peer != nullptr ? peer_for(transmit) : nullptr;
  if (peer == nullptr || (transmit.lnd_state & kEnded) != 0) return;
  transmit.lnd_state |= kCancelled;
  peer->sweep = true;
  look_at(*peer);
}

void SockLnd::release_peer(PeerLink& link) {
  if (link.lnd_peer == nullptr) {
    // Whose first message waits is not bound to it yet.
    peers_by_id_.for_each(link.nid, [&](Peer& peer) {
      peer.closing = true;
      peer.close_cause = Errc::kShutdown;
      look_at(peer);
    });
    return core_.on_peer_released(link);
  }
  const Peer& bound = *static_cast<const Peer*>(link.lnd_peer);
  if (bound.releasing) return;
  ++releases_;
  peers_by_id_.for_each(link.nid, [&](Peer& peer) {
    peer.releasing = true;
    look_at(peer);
  });
}

void SockLnd::shut_down() {
  if (shutting_down_) return;
  shutting_down_ = true;
  for (std::uint32_t i = 0; i < peers_.capacity(); ++i) {
    if (peers_.is_lent(i)) look_at(peers_.at(i));
  }
}

bool SockLnd::idle() const {
  if (messages_ > 0 || receiving_ > 0 || releases_ > 0) return false;
  return !shutting_down_ || connections_.free_count() == connections_.capacity();
}

unsigned SockLnd::flush(Instant now) {
  flushed_ = now;
  unsigned work = timers_.advance(now);
  watch_outage(now);
  bring_old();
  // What a connection brings (an attempt that has opened, a decision) its peer acts on below, and
  // what that puts on connections goes out in the second round.
  for (unsigned round = 0; round < 2; ++round) {
    while (Connection* const connection = fresh_.pop_front()) {
      ++work;
      connection->fresh = false;
      on_decided(*connection);
      pump(*connection, now);
    }
    IntrusiveList<Peer> busy;
    busy.splice_back(busy_);
    while (Peer* const peer = busy.pop_front()) {
      ++work;
      quiet_.push_back(*peer);
      serve(*peer, now);
    }
  }
  report();
  check_interface(now);
  return work;
}

// Messages do not wait for the timeout of connections that lead nowhere. Those of which nothing has
// left may go by another interface.
void SockLnd::watch_outage(Instant now) {
  if (interface_.up) [[likely]] {
    interface_.given_up = false;
    interface_.down_since = Instant::max();
    return;
  }
  if (config_.down_grace == Duration{} || interface_.given_up) return;
  if (interface_.down_since == Instant::max()) interface_.down_since = now;
  if (now < interface_.down_since + config_.down_grace) return;
  interface_.given_up = true;
  for (std::uint32_t i = 0; i < peers_.capacity(); ++i) {
    if (peers_.is_lent(i)) look_at(peers_.at(i));
  }
}

// That our address has gone shows when something fails; from then on we look until it is back.
// lustre-release socklnd.c: ksocknal_inetaddr_event(), which is told.
void SockLnd::check_interface(Instant now) {
  if ((!interface_.suspected && !interface_.gone) || now < interface_.again_at) return;
  interface_.suspected = false;
  interface_.again_at = now + kInterfaceAgain;
  const bool gone = !streams_.driver().is_local(address_of(config_.nid, 0));
  if (gone == interface_.gone) return;
  interface_.gone = gone;
  counters_.add(gone ? Id::kInterfaceGone : Id::kInterfaceBack);
  tell_interface(Errc::kNotFound);
}

// Up if both those who are told and we ourselves see it so; once for each change.
void SockLnd::tell_interface(Errc cause) {
  const bool up = interface_.usable && !interface_.gone;
  if (std::exchange(interface_.up, up) == up) return;
  core_.on_interface(up ? InterfaceState::kUp : InterfaceState::kFatal, cause);
}

Instant SockLnd::next_deadline() const {
  if (!fresh_.empty() || !busy_.empty() || !kept_before_.empty()) return Instant::min();
  const bool look = interface_.suspected || interface_.gone;
  const Instant next =
      look ? std::min(timers_.next_deadline(), interface_.again_at) : timers_.next_deadline();
  if (interface_.up || interface_.given_up || config_.down_grace == Duration{}) return next;
  if (interface_.down_since == Instant::max()) return Instant::min();
  return std::min(next, interface_.down_since + config_.down_grace);
}

}  // namespace plnet::socklnd
