// SPDX-License-Identifier: BSD-3-Clause
// Connections that others made, and the messages that come over them.
#include <algorithm>
#include <cstring>
#include <utility>

#include "apps/lnet-sim/stream_lnd.hpp"

namespace plnet::sim {

using namespace lnet;
using socklnd::StreamId;

void StreamLnd::remember(StreamId stream, std::uint32_t what) {
  if (stream.index >= owners_.size()) owners_.resize(stream.index + 1, kNone);
  owners_[stream.index] = what;
}

StreamLnd::Incoming* StreamLnd::incoming(StreamId stream) {
  const std::uint32_t what = stream.index < owners_.size() ? owners_[stream.index] : kNone;
  if (what == kNone || (what & kIncoming) == 0) return nullptr;
  Incoming& connection = incoming_.at(what & ~kIncoming);
  return connection.stream == stream ? &connection : nullptr;
}

StreamLnd::Peer* StreamLnd::outgoing(StreamId stream) {
  const std::uint32_t what = stream.index < owners_.size() ? owners_[stream.index] : kNone;
  if (what == kNone || (what & kIncoming) != 0) return nullptr;
  Peer& peer = peers().at(what);
  return peer.stream == stream ? &peer : nullptr;
}

RxHandle StreamLnd::handle_of(const Incoming& connection) const {
  return {incoming_.index_of(&connection), connection.generation};
}

void StreamLnd::on_accepted(StreamId stream, const socklnd::StreamAddresses& /*addresses*/) {
  Incoming* const connection = shutting_down() ? nullptr : incoming_.take();
  if (connection == nullptr) {
    counters_.add(Id::kRefused);
    driver_->close(stream, Errc::kNoSpace);
    return;
  }
  connection->stream = stream;
  connection->state = Incoming::State::kHello;
  connection->link = nullptr;
  connection->wanted = false;
  connection->have = connection->skip = 0;
  connection->cursor = {};
  ++connection->generation;
  remember(stream, kIncoming | incoming_.index_of(connection));
}

std::span<std::byte> StreamLnd::destination(StreamId stream) {
  const Incoming* const connection = incoming(stream);
  if (connection == nullptr || connection->state != Incoming::State::kPayload ||
      connection->cursor.left() == 0) {
    return {};
  }
  return config_.arenas->bytes(connection->cursor.piece());
}

std::size_t StreamLnd::on_bytes(StreamId stream, std::size_t direct,
                                std::span<const std::byte> staged) {
  Incoming* const connection = incoming(stream);
  if (connection == nullptr) return staged.size();  // nobody answers on a connection of ours
  connection->progress = now_;
  if (direct > 0) {
    connection->cursor.advance(static_cast<std::uint32_t>(direct));
    next_message(*connection);
  }
  std::size_t used = 0;
  while (used < staged.size()) {
    switch (connection->state) {
      case Incoming::State::kHello:
      case Incoming::State::kHeader: used += take_frame(*connection, staged.subspan(used)); break;
      case Incoming::State::kPayload:
        used += take_payload(*connection, staged.subspan(used));
        break;
      case Incoming::State::kParked:
      case Incoming::State::kDecided: return used;
      case Incoming::State::kClosing: return staged.size();
    }
  }
  return used;
}

std::size_t StreamLnd::take_frame(Incoming& connection, std::span<const std::byte> staged) {
  const std::size_t take = std::min(kFrameBytes - connection.have, staged.size());
  std::memcpy(connection.frame.data() + connection.have, staged.data(), take);
  connection.have += static_cast<std::uint32_t>(take);
  if (connection.have == kFrameBytes) on_frame(connection);
  return take;
}

std::size_t StreamLnd::take_payload(Incoming& connection, std::span<const std::byte> staged) {
  std::size_t used = 0;
  while (connection.cursor.left() > 0 && used < staged.size()) {
    Fragment piece = connection.cursor.piece();
    piece.length =
        static_cast<std::uint32_t>(std::min<std::size_t>(piece.length, staged.size() - used));
    drivers::copy_memory(config_.lazy, config_.arenas->bytes(piece).data(),
                         staged.subspan(used, piece.length));
    connection.cursor.advance(piece.length);
    used += piece.length;
  }
  const auto skipped =
      static_cast<std::uint32_t>(std::min<std::size_t>(connection.skip, staged.size() - used));
  connection.skip -= skipped;
  next_message(connection);
  return used + skipped;
}

void StreamLnd::on_frame(Incoming& connection) {
  connection.have = 0;
  std::array<std::uint32_t, 2> words{};
  std::memcpy(words.data(), connection.frame.data(), sizeof words);
  const auto header = decode_header_nid16(std::span(connection.frame).subspan(8));
  if (words[0] != kMagic || !header || words[1] != header->payload_length) {
    return protocol_error(connection, Errc::kProtocol);
  }
  if (connection.state == Incoming::State::kHello) {
    if (header->type != MessageType::kHello || header->destination != config_.nid) {
      return protocol_error(connection, Errc::kProtocol);
    }
    connection.from = header->source;
    connection.state = Incoming::State::kHeader;
    return;
  }
  ++connection.generation;
  ++receiving_;
  connection.payload_length = header->payload_length;
  counters_.add(Id::kReceived);
  connection.decision = core_.on_header({.header = *header,
                                         .from = connection.from,
                                         .link = connection.link,
                                         .rx = handle_of(connection)});
  take_link(connection);
  if (connection.decision.verdict == RxVerdict::kPark) {
    counters_.add(Id::kParked);
    connection.state = Incoming::State::kParked;
    driver_->pause_reading(connection.stream);
    return;
  }
  carry_out(connection);
}

void StreamLnd::carry_out(Incoming& connection) {
  const RxDecision& decision = connection.decision;
  if (decision.verdict == RxVerdict::kReject) {
    --receiving_;
    connection.state = Incoming::State::kHeader;
    return protocol_error(connection, Errc::kProtocol);
  }
  connection.wanted = decision.verdict == RxVerdict::kReceive;
  const std::uint32_t length = connection.wanted ? decision.length : 0;
  PLNET_CHECK(length <= connection.payload_length, "no more is wanted than there is");
  connection.cursor = PayloadCursor(decision.target, length);
  connection.skip = connection.payload_length - length;
  connection.state = Incoming::State::kPayload;
  connection.progress = now_;
  look_at(now_ + config_.lnd_timeout);
  next_message(connection);
}

// If this one is complete.
void StreamLnd::next_message(Incoming& connection) {
  if (connection.state != Incoming::State::kPayload) return;
  if (connection.cursor.left() > 0 || connection.skip > 0) return;
  connection.state = Incoming::State::kHeader;
  --receiving_;
  if (std::exchange(connection.wanted, false)) {
    core_.on_received(handle_of(connection), {}, Health::kOk);
  }
}

void StreamLnd::protocol_error(Incoming& connection, Errc cause) {
  if (cause == Errc::kProtocol) counters_.add(Id::kProtocolErrors);
  driver_->close(connection.stream, cause);
  // on_closed() ends what is under way.
  if (connection.state == Incoming::State::kHeader || connection.state == Incoming::State::kHello) {
    connection.state = Incoming::State::kClosing;
  }
}

void StreamLnd::resume(RxHandle rx, const RxDecision& decision) {
  Incoming* const connection = incoming_.is_lent(rx.index) ? &incoming_.at(rx.index) : nullptr;
  if (connection == nullptr || connection->generation != rx.generation ||
      connection->state != Incoming::State::kParked) {
    counters_.add(Id::kStaleResumes);
    return;
  }
  connection->decision = decision;
  connection->state = Incoming::State::kDecided;
  take_link(*connection);
  decided(rx.index);
}

void StreamLnd::carry_out_decision(std::uint32_t rx_index) {
  Incoming& connection = incoming_.at(rx_index);
  if (connection.state != Incoming::State::kDecided) return;
  driver_->resume_reading(connection.stream);
  carry_out(connection);
}

void StreamLnd::take_link(Incoming& connection) {
  if (keep_link(connection.link, connection.decision.link)) {
    driver_->close(connection.stream, Errc::kShutdown);
  }
}

void StreamLnd::check_connections(Instant now) {
  if (receiving_ == 0) return;
  for (std::uint32_t i = 0; i < incoming_.capacity(); ++i) {
    Incoming& connection = incoming_.at(i);
    if (!incoming_.is_lent(i) || connection.state != Incoming::State::kPayload) continue;
    const Instant end = connection.progress + config_.lnd_timeout;
    if (now >= end) {
      counters_.add(Id::kStalled);
      protocol_error(connection, Errc::kTimedOut);
    } else {
      look_at(end);
    }
  }
}

void StreamLnd::in_closed(Incoming& connection, Errc cause) {
  const Incoming::State was = connection.state;
  const RxHandle rx = handle_of(connection);
  const bool decided = was == Incoming::State::kDecided;
  const bool wanted = (was == Incoming::State::kPayload && connection.wanted) ||
                      (decided && connection.decision.verdict == RxVerdict::kReceive);
  const bool open = was == Incoming::State::kPayload || was == Incoming::State::kParked || decided;
  if (open) --receiving_;
  drop_link(connection.link);
  connection.state = Incoming::State::kClosing;
  connection.wanted = false;
  connection.stream = {};
  incoming_.give(&connection);
  counters_.add(Id::kLost);
  if (was == Incoming::State::kParked) core_.on_parked_gone(rx, cause);
  if (wanted) core_.on_received(rx, std::unexpected(cause), health_of(cause));
}

}  // namespace plnet::sim
