// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cstring>

#include <arpa/inet.h>

#include "drivers/net/mlx/device.hpp"

namespace plnet::mlx {

using o2iblnd::Ipv4Endpoint;
using o2iblnd::RejectKind;
using Id = MlxTable::Id;
using State = Connection::State;

namespace {

// Reasons in REJ messages of the connection manager: IBTA 12.6.7.2.
constexpr int kRejectInvalidServiceId = 8;
constexpr int kRejectStaleConnection = 10;
constexpr int kRejectByConsumer = 28;

Ipv4Endpoint endpoint_of(const sockaddr* address) {
  if (address->sa_family != AF_INET) return {};
  sockaddr_in ipv4{};
  std::memcpy(&ipv4, address, sizeof ipv4);
  return {.address = ntohl(ipv4.sin_addr.s_addr), .port = ntohs(ipv4.sin_port)};
}

HandedRequest request_of(const CmEvent& event) {
  HandedRequest request{.id = event.id,
                        .from = endpoint_of(rdma_get_peer_addr(event.id)),
                        .to = endpoint_of(rdma_get_local_addr(event.id))};
  request.data_bytes = std::min(event.data_bytes, request.data.size());
  std::memcpy(request.data.data(), event.data.data(), request.data_bytes);
  return request;
}

}  // namespace

unsigned Device::read_events() {
  EventInbox& inbox = adapter_.desk().inbox(inbox_);
  unsigned count = 0;
  for (CmEvent event; count < EventInbox::kWaitingMax && inbox.take(event); ++count) {
    stats_.add(Id::kEvents);
    on_cm_event(event);
  }
  return count;
}

void Device::on_cm_event(const CmEvent& event) {
  if (event.type == RDMA_CM_EVENT_CONNECT_REQUEST) return on_request(request_of(event));
  Connection* const connection = connections_.find(event.connection);
  if (connection != nullptr && connection->state != State::kDraining)
    on_connection_event(*connection, event);
}

void Device::on_request(const HandedRequest& request) {
  const Connection* const connection = keep(request);
  if (connection == nullptr) return;
  events_.on_connect_request(connection->name, request.from, request.to, request.bytes());
}

Connection* Device::keep(const HandedRequest& request) {
  PLNET_CHECK(request.id != nullptr, "a connect request has an identifier");
  Connection* const connection = connections_.take();
  if (connection == nullptr) {
    stats_.add(Id::kRequestsRefused);
    discard(request);
    return nullptr;
  }
  stats_.add(Id::kRequests);
  connection->state = State::kRequested;
  connection->id = request.id;
  connection->request = request;
  IdWord(inbox_, connection->name).put_on(*request.id);
  return connection;
}

void Device::on_connection_event(Connection& connection, const CmEvent& event) {
  switch (event.type) {
    case RDMA_CM_EVENT_ADDR_RESOLVED: return resolve_route(connection);
    case RDMA_CM_EVENT_ROUTE_RESOLVED: return send_request(connection);
    case RDMA_CM_EVENT_ADDR_ERROR:
    case RDMA_CM_EVENT_ROUTE_ERROR: return end(connection, Errc::kNoRoute);
    case RDMA_CM_EVENT_UNREACHABLE: return end(connection, Errc::kNetworkDown);
    case RDMA_CM_EVENT_CONNECT_ERROR: return end(connection, Errc::kClosed);
    case RDMA_CM_EVENT_ESTABLISHED: return on_established(connection, event);
    case RDMA_CM_EVENT_REJECTED: return on_rejected(connection, event);
    case RDMA_CM_EVENT_DISCONNECTED: return on_disconnected(connection);
    case RDMA_CM_EVENT_DEVICE_REMOVAL: return end(connection, Errc::kNetworkDown);
    default: return;
  }
}

void Device::resolve_route(Connection& connection) {
  if (rdma_resolve_route(connection.id, kResolveTimeoutMs) != 0) end(connection, Errc::kNoRoute);
}

void Device::send_request(Connection& connection) {
  connection.parameters.private_data = connection.data.data();
  connection.parameters.private_data_len = static_cast<std::uint8_t>(connection.data.size());
  if (rdma_connect(connection.id, &connection.parameters) != 0) end(connection, Errc::kClosed);
}

void Device::on_established(Connection& connection, const CmEvent& event) {
  if (connection.held > 0) return end_from_here(connection, Errc::kIo);
  connection.state = State::kEstablished;
  stats_.add(Id::kEstablished);
  events_.on_established(connection.name,
                         connection.active ? event.bytes() : std::span<const std::byte>{});
}

void Device::on_rejected(Connection& connection, const CmEvent& event) {
  if (!connection.active) return end(connection, Errc::kReset);
  stats_.add(Id::kRejected);
  RejectKind kind = RejectKind::kOther;
  if (event.status == kRejectByConsumer) kind = RejectKind::kByPeer;
  if (event.status == kRejectInvalidServiceId) kind = RejectKind::kNobodyListens;
  if (event.status == kRejectStaleConnection) kind = RejectKind::kStaleConnection;
  start_drain(connection);
  events_.on_rejected(connection.name, kind,
                      kind == RejectKind::kByPeer ? event.bytes() : std::span<const std::byte>{});
}

void Device::on_disconnected(Connection& connection) {
  const bool was_up = connection.state == State::kEstablished;
  if (was_up) (void)rdma_disconnect(connection.id);  // answers
  end(connection, was_up ? Errc::kClosed : Errc::kReset);
}

void Device::end(Connection& connection, Errc cause) {
  stats_.add(Id::kDisconnected);
  start_drain(connection);
  events_.on_disconnected(connection.name, cause);
}

void Device::look_at_adapter() {
  if (const std::uint32_t changes = adapter_.changes(); changes != changes_seen_) {
    changes_seen_ = changes;
    connections_.for_each([this](Connection& connection) {
      if (connection.broken.load()) end_from_here(connection, Errc::kIo);
      if (connection.overtaken.exchange(false) && connection.state == State::kAccepting)
        (void)rdma_notify(connection.id, IBV_EVENT_COMM_EST);
    });
  }
  if (const bool usable = adapter_.is_usable(); usable != usable_seen_) {
    usable_seen_ = usable;
    grace_end_ = usable ? Instant::max() : now_ + kPortGrace;
    events_.on_device(usable, Errc::kNetworkDown);
  }
  if (!usable_seen_ && (now_ >= grace_end_ || adapter_.is_gone())) end_all();
}

// Connections of a port that comes back in time are unchanged. Some connections of a removed device
// may still begin until all shards know.
void Device::end_all() {
  if (grace_end_ == Instant::max() && !adapter_.is_gone()) return;
  grace_end_ = Instant::max();
  connections_.for_each(
      [this](Connection& connection) { end_from_here(connection, Errc::kNetworkDown); });
}

// Ends a connection that the connection manager has no event for.
void Device::end_from_here(Connection& connection, Errc cause) {
  if (connection.state == State::kDraining || connection.state == State::kRequested) return;
  if (connection.state == State::kEstablished) (void)rdma_disconnect(connection.id);
  end(connection, cause);
}

}  // namespace plnet::mlx
