// SPDX-License-Identifier: BSD-3-Clause
// The driver's poll: from readiness to the events of the contract. A handler may call back into the
// driver, so the stream is looked up again after each of them.
#include "drivers/net/tcp/device.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include <netinet/in.h>
#include <netinet/tcp.h>

#include "drivers/net/tcp/token.hpp"
#include "lib/base/check.hpp"

namespace plnet::drivers {

using Id = TcpTable::Id;
using socklnd::StreamAddresses;

unsigned TcpDevice::poll(Instant now) {
  now_ = now;
  if (coalescer_.holds(now)) return 0;
  end_overdue_waits(now);
  const std::uint64_t reads = stats_.get(Id::kReads) - stats_.get(Id::kEmptyReads);
  const std::uint64_t bytes = stats_.get(Id::kBytesRead);
  const unsigned work = serve_ready(now);
  // Streams that were not served in this turn have waited already.
  if (ready_count_ == 0) {
    coalescer_.note(now, stats_.get(Id::kReads) - stats_.get(Id::kEmptyReads) - reads,
                    stats_.get(Id::kBytesRead) - bytes);
    stats_.set(Id::kPause, static_cast<std::uint64_t>(coalescer_.pause().count()));
  }
  return work;
}

unsigned TcpDevice::serve_ready(Instant now) {
  const bool alone = ready_count_ == 0 && pending_listeners_ == 0;
  // Between two pauses other streams have waited already.
  const bool paused = coalescer_.pause() != Duration{};
  if (hot_left_ > 0 && hot_polls_left_ > 0 && alone && !paused) return serve_hot(now);
  hot_polls_left_ = kHotPolls;
  if (ready_count_ < kServedPerPoll || ++polls_unlooked_ >= kPollsUnlooked) harvest();
  // Streams that become ready meanwhile wait for the next poll.
  const std::size_t count = std::min(ready_count_, kServedPerPoll);
  const std::uint64_t before = stats_.get(Id::kBytesRead);
  std::uint64_t bytes = 0;
  unsigned work = 0;
  StreamId last;
  while (work < count && ready_count_ > 0 && bytes < kBytesPerPoll) {
    --ready_count_;
    PLNET_CHECK(!ready_.empty(), "ready connections are counted");
    TcpConnection& next = *ready_.pop_front();
    last = next.id;
    ++work;
    serve(next, now);
    bytes = stats_.get(Id::kBytesRead) - before;
  }
  if (work > 1) {
    hot_left_ = 0;
  } else if (bytes > 0) {
    hot_ = last;
    hot_left_ = config_.hot_reads;
  }
  if (pending_listeners_ != 0) work += accept_some(now);
  if (work > 0) stats_.add(Id::kPollWork, work);
  return work;
}

// An edge that the readiness set reports later costs one read that finds nothing.
unsigned TcpDevice::serve_hot(Instant now) {
  --hot_polls_left_;
  TcpConnection* const connection = connections_.find(hot_);
  // The readiness set reports the rest of an awaited payload.
  const bool direct = connection != nullptr && connection->open() && !connection->paused &&
                      connection->awaited == 0;
  if (!direct) {
    hot_left_ = 0;
    return 0;
  }
  const std::uint64_t bytes = stats_.get(Id::kBytesRead);
  connection->readable = true;
  serve(*connection, now);
  if (stats_.get(Id::kBytesRead) == bytes) {
    --hot_left_;
    return 0;
  }
  hot_left_ = config_.hot_reads;
  stats_.add(Id::kPollWork);
  return 1;
}

std::size_t TcpDevice::write(StreamId id, std::span<const std::span<const std::byte>> pieces) {
  TcpConnection* const connection = find_or_count(id);
  if (connection == nullptr) return 0;
  stats_.add(Id::kWrites);
  // Not open yet, or closed, or blocked.
  if (!connection->open() || connection->broken || connection->blocked) return 0;
  const std::size_t taken = tx_.write(*connection, pieces);
  if (connection->broken) make_ready(*connection);
  return taken;
}

void TcpDevice::pause_reading(StreamId id) {
  TcpConnection* const connection = find_or_count(id);
  if (connection == nullptr) return;
  connection->paused = connection->was_paused = true;
}

void TcpDevice::resume_reading(StreamId id) {
  TcpConnection* const connection = find_or_count(id);
  if (connection == nullptr) return;
  PLNET_CHECK(!relay_.has_of(*connection), "bytes in the pipe are fetched before reading goes on");
  connection->paused = connection->holding = false;
  if (connection->wants_service()) make_ready(*connection);
}

bool TcpDevice::await(StreamId id, std::size_t bytes) {
  TcpConnection* const connection = find_or_count(id);
  if (connection == nullptr || !connection->open() || connection->broken) return false;
  if (connection->awaited > 0 || !relay_.await(*connection, bytes, now_)) return false;
  connection->readable = true;  // bytes may be there already
  make_ready(*connection);
  return true;
}

std::size_t TcpDevice::relay(StreamId from, StreamId to,
                             std::span<const std::span<const std::byte>> head, std::size_t bytes) {
  TcpConnection* const source = find_or_count(from);
  TcpConnection* const target = find_or_count(to);
  if (source == nullptr || target == nullptr) return 0;
  PLNET_CHECK(source->holding, "the bytes of `from` were awaited");
  stats_.add(Id::kWrites);
  if (!target->open() || target->broken || target->blocked) return 0;
  const std::size_t taken = relay_.relay(*source, *target, head, bytes);
  if (target->broken || target->writable) make_ready(*target);
  return taken;
}

Result<void> TcpDevice::fetch(StreamId id, std::span<std::byte> target) {
  TcpConnection* const connection = find_or_count(id);
  PLNET_CHECK(connection != nullptr && connection->holding, "the bytes were awaited");
  return relay_.fetch(*connection, target);
}

void TcpDevice::limit_next_read(StreamId id, std::size_t bytes) {
  TcpConnection* const connection = find_or_count(id);
  if (connection != nullptr) connection->next_read_max = static_cast<std::uint32_t>(bytes);
}

// False: nothing of the connection is to be read yet, or in this turn.
bool TcpDevice::wait_is_over(TcpConnection& connection) {
  const StreamId id = connection.id;
  switch (relay_.look(connection)) {
    case TcpRelay::Found::kNotYet: connection.readable = false; return false;
    case TcpRelay::Found::kNoMore: relay_.end_wait(connection); return true;
    case TcpRelay::Found::kAll: break;
  }
  relay_.end_wait(connection);
  PLNET_CHECK(!connection.has_remainder(), "no staged byte comes before the awaited ones");
  connection.holding = true;
  // A look for room to write may have consumed the edge that reports the awaited bytes: the number
  // of bytes was below the low water mark then. A read that finds nothing lowers the mark.
  connection.readable = true;
  events_.on_awaited(id);
  if (!live(connection, id)) return false;
  connection.holding = connection.holding && connection.paused;
  return !connection.paused;
}

void TcpDevice::end_overdue_waits(Instant now) {
  while (TcpConnection* const connection = relay_.overdue(now)) {
    relay_.end_wait(*connection);
    connection->readable = true;
    make_ready(*connection);
  }
}

void TcpDevice::acknowledge_now(StreamId id) {
  const TcpConnection* const connection = find_or_count(id);
  if (connection == nullptr || !connection->open()) return;
  stats_.add(Id::kQuickAcks);
  if (!set_option(connection->socket.get(), IPPROTO_TCP, TCP_QUICKACK, 1))
    stats_.add(Id::kOptionFailures);
}

TcpConnection* TcpDevice::find_or_count(StreamId id) {
  TcpConnection* const connection = connections_.find(id);
  if (connection == nullptr) stats_.add(Id::kStaleCalls);
  return connection;
}

void TcpDevice::harvest() {
  polls_unlooked_ = 0;
  stats_.add(Id::kEpollWaits);
  const int count =
      ::epoll_wait(epoll_.get(), harvest_.data(), static_cast<int>(harvest_.size()), 0);
  for (int i = 0; i < count; ++i) {
    const epoll_event& event = harvest_[static_cast<std::size_t>(i)];
    if (TcpToken::is_listener(event.data.u64)) {
      note_listener(TcpToken::id(event.data.u64));
    } else {
      note_connection(TcpToken::id(event.data.u64), event.events);
    }
  }
}

void TcpDevice::note_listener(StreamId id) {
  const TcpListener& listener = listeners_.at(id.index);
  if (!listener.socket.valid() || listener.generation != id.generation) {
    stats_.add(Id::kStaleEvents);
    return;
  }
  pending_listeners_ |= std::uint64_t{1} << id.index;
}

void TcpDevice::note_connection(StreamId id, std::uint32_t events) {
  TcpConnection* const connection = connections_.find(id);
  if (connection == nullptr || connection->closing) {
    stats_.add(Id::kStaleEvents);
    return;
  }
  const bool broken = (events & (EPOLLERR | EPOLLHUP)) != 0;
  if (connection->connecting) {
    if (broken || (events & EPOLLOUT) != 0) connection->writable = true;
  } else if (connection->blocked && (events & EPOLLOUT) != 0) {
    connection->writable = true;
  }
  if ((events & EPOLLIN) != 0) connection->readable = connection->pressed = true;
  if (broken || (events & EPOLLRDHUP) != 0) {
    connection->readable = true;
    connection->to_the_end = true;
  }
  if (broken) connection->broken = true;
  if (connection->wants_service()) make_ready(*connection);
}

void TcpDevice::serve(TcpConnection& connection, Instant now) {
  const StreamId id = connection.id;
  PLNET_CHECK(!connection.linked(), "a served connection has left the ready ones");
  if (connection.closing) return report_closed(connection);
  if (connection.connecting) return finish_connect(connection);
  if (connection.writable && !connection.broken) {
    connection.writable = connection.blocked = false;
    events_.on_writable(id);
    if (!live(connection, id)) return;
  }
  if (connection.holding) return;
  if (connection.paused && connection.broken) {
    const int error = take_error(connection.socket.get());
    connection.fail(error != 0 ? errc_of_errno(error) : Errc::kReset);
    return report_closed(connection);
  }
  if (!connection.paused) {
    if (connection.awaited > 0 && !wait_is_over(connection)) return;
    rx_.serve(connection, now);
    if (!live(connection, id)) return;
    if (connection.finished) return report_closed(connection);
    relay_.note_read(connection);
  }
  if (connection.wants_service()) make_ready(connection);
}

void TcpDevice::finish_connect(TcpConnection& connection) {
  const StreamId id = connection.id;
  const int error = take_error(connection.socket.get());
  const auto addresses = addresses_of(connection.socket.get());
  if (error == 0 && connection.cause == Errc::kClosed && addresses) {
    connection.connecting = connection.writable = false;
    congestion_.settle(connection.socket.get());
    events_.on_connected(id, *addresses);
    // Data may have come with the end.
    if (live(connection, id) && connection.wants_service()) make_ready(connection);
    return;
  }
  if (connection.cause == Errc::kClosed)
    connection.cause = error != 0 ? errc_of_errno(error) : Errc::kReset;
  stats_.add(Id::kFailedConnects);
  report_closed(connection);
}

void TcpDevice::report_closed(TcpConnection& connection) {
  const StreamId id = connection.id;
  const Errc cause = connection.cause;
  if (!connection.closing) connection.note_unacknowledged();
  const std::uint64_t lost = connection.unacknowledged;
  if (!connection.closing && connection.broken && !connection.connecting)
    stats_.add(cause == Errc::kTimedOut ? Id::kTimeouts : Id::kResets);
  PLNET_CHECK(!connection.holding, "the end of a stream is reported after its kept payload");
  forget(connection);
  events_.on_closed(id, cause, lost);
}

bool TcpDevice::live(const TcpConnection& connection, StreamId id) const {
  return connections_.find(id) == &connection && !connection.closing;
}

void TcpDevice::make_ready(TcpConnection& connection) {
  if (connection.linked()) return;
  ready_.push_back(connection);
  ++ready_count_;
}

// The record is free for another connection; the socket is closed if it is still open.
void TcpDevice::forget(TcpConnection& connection) {
  if (connection.linked()) {
    connection.unlink();
    PLNET_CHECK(ready_count_ > 0, "ready connections are counted");
    --ready_count_;
  }
  rx_.forget_remainder(connection);
  relay_.forget(connection);
  PLNET_CHECK(connection.awaited == 0, "no wait outlives its connection");
  connections_.give(connection);
  stats_.subtract(Id::kOpen);
  // A descriptor is free: accepting may go on.
  if (accept_retry_at_ != Instant::max()) accept_retry_at_ = Instant::min();
}

unsigned TcpDevice::accept_some(Instant now) {
  if (now < accept_retry_at_ && accept_retry_at_ != Instant::max()) return 0;
  accept_retry_at_ = Instant::max();
  unsigned work = 0;
  for (std::uint64_t left = pending_listeners_; left != 0; left &= left - 1) {
    const auto index = static_cast<std::size_t>(std::countr_zero(left));
    const std::uint64_t bit = std::uint64_t{1} << index;
    TcpListener& listener = listeners_.at(index);
    PLNET_CHECK(listener.socket.valid(), "a listener that is closed is no longer pending");
    for (unsigned i = 0; i < kAcceptsPerPoll && (pending_listeners_ & bit) != 0; ++i) {
      if (!accept_one(listener, now)) {
        if (accept_retry_at_ == Instant::max()) pending_listeners_ &= ~bit;
        break;
      }
      ++work;
    }
    if (accept_retry_at_ != Instant::max()) break;
  }
  return work;
}

// False: no connection waits, or none can be accepted now.
bool TcpDevice::accept_one(TcpListener& listener, Instant now) {
  TcpSocket socket;
  StreamAddresses addresses;
  switch (listeners_.accept(listener, socket, addresses)) {
    case TcpListeners::Accept::kAccepted: break;
    case TcpListeners::Accept::kGone: return true;
    case TcpListeners::Accept::kNobody: return false;
    case TcpListeners::Accept::kNoResource: accept_retry_at_ = now + kAcceptRetry; return false;
  }
  stats_.add(Id::kAccepts);
  congestion_.settle(socket.get());
  const auto added = add(socket.get());
  if (!added) {
    // A reset tells the peer at once; it retries later.
    const linger at_once{.l_onoff = 1, .l_linger = 0};
    (void)::setsockopt(socket.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    stats_.add(Id::kAcceptsRefused);
    return true;
  }
  (void)socket.release();
  events_.on_accepted((*added)->id, addresses);
  return true;
}

}  // namespace plnet::drivers
