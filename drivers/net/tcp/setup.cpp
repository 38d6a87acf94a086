// SPDX-License-Identifier: BSD-3-Clause
// The cold half of the driver: how streams begin, move between shards, and end.
#include <cerrno>
#include <utility>

#include "drivers/net/tcp/device.hpp"
#include "drivers/net/tcp/token.hpp"
#include "lib/base/check.hpp"

namespace plnet::drivers {

using Id = TcpTable::Id;
using socklnd::DetachedStream;
using socklnd::SocketAddress;
using socklnd::StreamFacts;
using socklnd::StreamOptions;

namespace {

constexpr std::size_t kConnectionsMax = TcpToken::kListenerBit;
// Offsets in the staging buffers have 32 bits.
constexpr std::size_t kStagingMax = std::size_t{1} << 30U;
// One edge for each change in either direction; the set never changes.
constexpr std::uint32_t kStreamEvents = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET;

}  // namespace

Outcome<std::unique_ptr<TcpDevice>> TcpDevice::open(const TcpConfig& config,
                                                    socklnd::StreamEvents& events) {
  if (config.connections_max == 0 || config.connections_max >= kConnectionsMax)
    return failure(Errc::kOutOfRange, "tcp: connections_max must be 1 to 2^31-1");
  if (config.staging_bytes == 0 || config.staging_bytes > kStagingMax)
    return failure(Errc::kOutOfRange, "tcp: staging_bytes must be 1 to 2^30");
  if (auto known = try_congestion_control(config.congestion_control); !known)
    return std::unexpected(std::move(known.error()));
  TcpSocket epoll(::epoll_create1(EPOLL_CLOEXEC));
  if (!epoll.valid())
    return failure(errc_of_errno(errno), "tcp: no readiness set: too many descriptors are open");
  return std::unique_ptr<TcpDevice>(new TcpDevice(config, events, std::move(epoll)));
}

TcpDevice::TcpDevice(const TcpConfig& config, socklnd::StreamEvents& events, TcpSocket epoll)
    : config_(config),
      busy_poll_(config.busy_poll.wanted()),
      events_(events),
      epoll_(std::move(epoll)),
      connections_(config.connections_max),
      coalescer_(config.coalesce),
      memory_(config.connections_max, config.staging_bytes),
      rx_(events, connections_, memory_, stats_),
      tx_(stats_),
      relay_(config.relay, tx_, stats_),
      congestion_(config.congestion_control, stats_),
      ports_(congestion_, stats_),
      listeners_(config.share_listeners, congestion_, stats_) {
  PLNET_CHECK(epoll_.valid() && config.connections_max < kConnectionsMax,
              "open() has judged the configuration");
}

Result<TcpDevice::StreamId> TcpDevice::connect(const socklnd::ConnectRequest& request) {
  if (connections_.full()) return std::unexpected(Errc::kNoMemory);
  auto started = ports_.connect(request);
  if (!started) return std::unexpected(started.error());
  const auto added = add(started->socket.get());
  if (!added) return std::unexpected(added.error());
  (void)started->socket.release();
  TcpConnection& connection = **added;
  PLNET_CHECK(connection.open() && !connection.connecting, "a new connection has a socket");
  stats_.add(Id::kConnects);
  connection.connecting = true;
  if (started->error != 0) {
    connection.fail(errc_of_errno(started->error));
    make_ready(connection);
  }
  return connection.id;
}

Result<void> TcpDevice::listen(const SocketAddress& local, unsigned backlog,
                               const StreamOptions& accepted) {
  const auto opened = listeners_.open(local, backlog, accepted);
  if (!opened) return std::unexpected(opened.error());
  const TcpListener& listener = listeners_.at(*opened);
  const auto index = static_cast<std::uint32_t>(*opened);
  if (watch(listener.socket.get(), TcpToken::of_listener(index, listener.generation),
            EPOLLIN | EPOLLET))
    return {};
  const Errc code = errc_of_errno(errno);
  stop_listening(local);
  return std::unexpected(code);
}

void TcpDevice::stop_listening(const SocketAddress& local) {
  const auto index = listeners_.close(local);
  if (!index) return;
  PLNET_CHECK(*index < TcpListeners::kMax, "a listener has a bit");
  pending_listeners_ &= ~(std::uint64_t{1} << *index);
  if (pending_listeners_ == 0) accept_retry_at_ = Instant::max();
}

void TcpDevice::close(StreamId id, Errc cause) {
  TcpConnection* const connection = find_or_count(id);
  if (connection == nullptr || connection->closing) return;
  relay_.forget(*connection);
  connection->holding = false;
  connection->closing = true;
  connection->cause = cause;
  connection->note_unacknowledged();
  connection->socket.reset();  // the socket leaves the readiness set, too
  make_ready(*connection);
}

Result<DetachedStream> TcpDevice::detach(StreamId id) {
  TcpConnection* const connection = find_or_count(id);
  if (connection == nullptr || connection->closing || connection->broken)
    return std::unexpected(Errc::kClosed);
  const bool waits = connection->awaited > 0 || connection->holding;
  if (!connection->open() || connection->has_remainder() || connection->blocked || waits)
    return std::unexpected(Errc::kBusy);
  PLNET_CHECK(!relay_.has_of(*connection), "no byte of the stream is in the pipe");
  const int descriptor = connection->socket.get();
  const auto addresses = addresses_of(descriptor);
  if (!addresses)
    return std::unexpected(Errc::kClosed);  // the stream was reset, which is not known here yet
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, descriptor, nullptr) != 0)
    return std::unexpected(errc_of_errno(errno));
  relay_.listen_for_anything(*connection);
  (void)connection->socket.release();
  forget(*connection);
  return DetachedStream{.descriptor = descriptor, .addresses = *addresses};
}

Result<TcpDevice::StreamId> TcpDevice::adopt(const DetachedStream& stream,
                                             const StreamOptions& options) {
  // Bytes may have come meanwhile: the first look at the readiness set finds them.
  const auto added = add(static_cast<int>(stream.descriptor));
  if (!added) return std::unexpected(added.error());
  stats_.add(Id::kOptionFailures,
             set_options((*added)->socket.get(), is_ipv4(stream.addresses.local), options));
  return (*added)->id;
}

void TcpDevice::discard(const DetachedStream& stream) {
  TcpSocket(static_cast<int>(stream.descriptor)).reset();
}

bool TcpDevice::is_local(const SocketAddress& address) const {
  return is_address_of_host(address);
}

StreamFacts TcpDevice::facts(StreamId id) const {
  const TcpConnection* const connection = connections_.find(id);
  if (connection == nullptr || !connection->open()) return {};
  return facts_of(connection->socket.get());
}

socklnd::StreamProgress TcpDevice::progress(StreamId id) const {
  const TcpConnection* const connection = connections_.find(id);
  if (connection == nullptr || !connection->open()) return {};
  return progress_of(connection->socket.get());
}

socklnd::StreamDetails TcpDevice::details(StreamId id) const {
  const TcpConnection* const connection = connections_.find(id);
  if (connection == nullptr || connection->closing) return {};
  return details_of(connection->socket.get());
}

// On success the descriptor belongs to the connection.
Result<TcpConnection*> TcpDevice::add(int descriptor) {
  if (connections_.full()) return std::unexpected(Errc::kNoMemory);
  PLNET_CHECK(descriptor >= 0, "a stream has a socket");
  TcpConnection& connection = *connections_.take();
  PLNET_CHECK(!connection.linked() && !connection.has_remainder(), "a free record is idle");
  if (!watch(descriptor, TcpToken::of_stream(connection.id), kStreamEvents)) {
    const Errc code = errc_of_errno(errno);
    connections_.give(connection);
    return std::unexpected(code);
  }
  connection.socket = TcpSocket(descriptor);
  stats_.add(Id::kOpen);
  if (busy_poll_) set_busy_poll(descriptor);
  return &connection;
}

bool TcpDevice::watch(int descriptor, std::uint64_t token, std::uint32_t events) {
  epoll_event event{};
  event.events = events;
  event.data.u64 = token;
  return ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, descriptor, &event) == 0;
}

// A right that is missing for one stream is missing for all: one call is enough.
void TcpDevice::set_busy_poll(int descriptor) {
  busy_poll_ = ask_for_busy_poll(descriptor, config_.busy_poll);
  if (!busy_poll_) stats_.add(Id::kOptionFailures);
}

}  // namespace plnet::drivers
