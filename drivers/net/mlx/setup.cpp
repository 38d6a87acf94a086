// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cerrno>
#include <utility>

#include <arpa/inet.h>

#include "drivers/net/mlx/device.hpp"
#include "lib/base/check.hpp"

namespace plnet::mlx {

using o2iblnd::ConnectParameters;
using o2iblnd::Ipv4Endpoint;
using o2iblnd::QueuePairSize;
using Id = MlxTable::Id;
using State = Connection::State;

namespace {

// rdma_conn_param counts these bytes by 8 bits.
static_assert(o2iblnd::kConnectDataBytesMax <= UINT8_MAX &&
              o2iblnd::kAcceptDataBytesMax <= UINT8_MAX &&
              o2iblnd::kRejectDataBytesMax <= UINT8_MAX);
sockaddr_in address_of(const Ipv4Endpoint& endpoint) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(endpoint.address);
  address.sin_port = htons(endpoint.port);
  return address;
}

std::unexpected<Errc> last_error() {
  return std::unexpected(errc_of_errno(errno));
}

rdma_conn_param parameters_of(const ConnectParameters& wanted) {
  rdma_conn_param parameters{};  // no RDMA reads, no atomics
  parameters.flow_control = 1;
  parameters.retry_count = wanted.retry_count;
  parameters.rnr_retry_count = wanted.rnr_retry_count;
  return parameters;
}

void set_options(rdma_cm_id* id, const ConnectParameters& parameters) {
  int one = 1;
  (void)rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_REUSEADDR, &one, sizeof one);
  if (parameters.type_of_service < 0) return;
  auto service = static_cast<std::uint8_t>(parameters.type_of_service);
  (void)rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, &service, sizeof service);
}

HandedRequest mlx_request(const o2iblnd::HandedRequest& request) {
  return {.id = static_cast<rdma_cm_id*>(request.handle),
          .from = request.from,
          .to = request.to,
          .data_bytes = request.data_bytes,
          .data = request.data};
}

}  // namespace

Result<QueuePairId> Device::connect(const Ipv4Endpoint& local, const Ipv4Endpoint& remote,
                                    const QueuePairSize& size, const ConnectParameters& parameters,
                                    std::span<const std::byte> data) {
  if (data.size() > o2iblnd::kConnectDataBytesMax) return std::unexpected(Errc::kTooBig);
  if (!adapter_.is_usable()) return std::unexpected(Errc::kNetworkDown);
  Connection* const connection = connections_.take();
  if (connection == nullptr) return std::unexpected(Errc::kNoMemory);
  connection->state = State::kConnecting;
  connection->active = true;
  connection->parameters = parameters_of(parameters);
  connection->data.assign(data.begin(), data.end());
  const auto begin = [&]() -> Result<void> {
    void* const word = IdWord(inbox_, connection->name).context();
    if (rdma_create_id(adapter_.desk().channel(), &connection->id, word, RDMA_PS_TCP) != 0)
      return last_error();
    set_options(connection->id, parameters);
    if (auto bound = bind(connection->id, local); !bound) return bound;
    if (auto created = create_pair(*connection, size); !created) return created;
    sockaddr_in to = address_of(remote);
    if (rdma_resolve_addr(connection->id, nullptr, reinterpret_cast<sockaddr*>(&to),
                          kResolveTimeoutMs) != 0)
      return last_error();
    return {};
  };
  if (const auto begun = begin(); !begun) {
    release(*connection);
    return std::unexpected(begun.error());
  }
  stats_.add(Id::kConnects);
  return connection->name;
}

Result<void> Device::bind(rdma_cm_id* id, const Ipv4Endpoint& local) {
  Ipv4Endpoint tried = local;
  for (;; --tried.port) {
    if (local.port != 0) stats_.add(Id::kPortTries);
    sockaddr_in address = address_of(tried);
    if (rdma_bind_addr(id, reinterpret_cast<sockaddr*>(&address)) == 0) break;
    const bool taken = errno == EADDRINUSE || errno == EADDRNOTAVAIL;
    if (!taken || tried.port <= 1) return last_error();
  }
  // The address may have moved to another device.
  if (id->verbs != adapter_.context()) return std::unexpected(Errc::kNotFound);
  return {};
}

Result<void> Device::listen(const Ipv4Endpoint& local) {
  Listener listener{.local = local, .id = nullptr};
  void* const word = IdWord::of_inbox(inbox_).context();
  if (rdma_create_id(adapter_.desk().channel(), &listener.id, word, RDMA_PS_TCP) != 0)
    return last_error();
  sockaddr_in address = address_of(local);
  if (rdma_bind_addr(listener.id, reinterpret_cast<sockaddr*>(&address)) != 0 ||
      rdma_listen(listener.id, config_.backlog) != 0) {
    const auto failed = last_error();
    (void)rdma_destroy_id(listener.id);
    return failed;
  }
  listeners_.push_back(listener);
  return {};
}

void Device::stop_listening(const Ipv4Endpoint& local) {
  const auto found = std::ranges::find(listeners_, local, &Listener::local);
  if (found == listeners_.end()) return;
  (void)rdma_destroy_id(found->id);
  listeners_.erase(found);
}

Result<void> Device::prepare(QueuePairId request, const QueuePairSize& size) {
  Connection* const connection = find_or_count(request);
  if (connection == nullptr || connection->state != State::kRequested)
    return std::unexpected(Errc::kClosed);
  return create_pair(*connection, size);
}

Result<void> Device::accept(QueuePairId request, const ConnectParameters& parameters,
                            std::span<const std::byte> data) {
  if (data.size() > o2iblnd::kAcceptDataBytesMax) return std::unexpected(Errc::kTooBig);
  Connection* const connection = find_or_count(request);
  if (connection == nullptr || connection->state != State::kRequested)
    return std::unexpected(Errc::kClosed);
  set_options(connection->id, parameters);
  rdma_conn_param answer = parameters_of(parameters);
  answer.private_data = data.data();
  answer.private_data_len = static_cast<std::uint8_t>(data.size());
  if (rdma_accept(connection->id, &answer) != 0) return last_error();
  connection->state = State::kAccepting;
  return {};
}

void Device::reject(QueuePairId request, std::span<const std::byte> data) {
  Connection* const connection = find_or_count(request);
  if (connection == nullptr || connection->state != State::kRequested) return;
  const std::size_t bytes = std::min(data.size(), o2iblnd::kRejectDataBytesMax);
  (void)rdma_reject(connection->id, data.data(), static_cast<std::uint8_t>(bytes));
  if (connection->pair != nullptr) return start_drain(*connection);
  release(*connection);
}

void Device::to_error(QueuePairId name) {
  Connection* const connection = find_or_count(name);
  if (connection == nullptr || connection->state == State::kDraining) return;
  if (connection->state == State::kEstablished) (void)rdma_disconnect(connection->id);
  ended_.push_back({.name = name, .cause = Errc::kAborted});
  start_drain(*connection);
}

std::optional<HandedRequest> Device::hand_over(QueuePairId request) {
  Connection* const connection = find_or_count(request);
  if (connection == nullptr || connection->state != State::kRequested ||
      connection->pair != nullptr)
    return std::nullopt;
  HandedRequest handed = connection->request;
  handed.id = std::exchange(connection->id, nullptr);
  IdWord::of_inbox(0).put_on(*handed.id);  // its events have no user until it is adopted
  release(*connection);
  stats_.add(Id::kHandedOver);
  return handed;
}

// The peer may have withdrawn the request on the way: accept() then reports an error.
void Device::adopt(const HandedRequest& request) {
  on_request(request);
}

std::optional<o2iblnd::HandedRequest> Device::give_away(QueuePairId request) {
  const auto handed = hand_over(request);
  if (!handed) return std::nullopt;
  return o2iblnd::HandedRequest{.handle = handed->id,
                                .from = handed->from,
                                .to = handed->to,
                                .data_bytes = static_cast<std::uint32_t>(handed->data_bytes),
                                .data = handed->data};
}

// Like adopt(), but without the report: the caller knows the request.
Result<QueuePairId> Device::take_over(const o2iblnd::HandedRequest& request) {
  const HandedRequest handed = mlx_request(request);
  const Connection* const connection = keep(handed);
  if (connection == nullptr) return std::unexpected(Errc::kNoMemory);
  return connection->name;
}

void Device::turn_down(const o2iblnd::HandedRequest& request) {
  discard(mlx_request(request));
}

void Device::discard(const HandedRequest& request) {
  (void)rdma_reject(request.id, nullptr, 0);
  (void)rdma_destroy_id(request.id);
}

Connection* Device::find_or_count(QueuePairId name) {
  Connection* const connection = connections_.find(name);
  if (connection == nullptr) stats_.add(Id::kStaleCalls);
  return connection;
}

Result<void> Device::create_pair(Connection& connection, const QueuePairSize& size) {
  PLNET_CHECK(connection.id != nullptr, "a queue pair belongs to an identifier");
  if (connection.pair != nullptr) return std::unexpected(Errc::kExists);
  if (adapter_.is_gone()) return std::unexpected(Errc::kNetworkDown);
  const unsigned sends = std::min(size.send_requests, kSendRequestsMax);
  const unsigned completions = sends + size.receive_requests + 1;  // and the marker
  if (auto room = make_completion_room(completions); !room) return room;
  ibv_qp_init_attr_ex wanted{};
  wanted.qp_context = &connection;
  wanted.send_cq = wanted.recv_cq = completions_;
  wanted.cap = {.max_send_wr = sends + 1,
                .max_recv_wr = size.receive_requests,
                .max_send_sge = o2iblnd::kGatherMax,
                .max_recv_sge = 1,
                .max_inline_data = adapter_.limits().inline_bytes_max};
  wanted.qp_type = IBV_QPT_RC;
  wanted.pd = adapter_.domain();
  wanted.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
  wanted.send_ops_flags = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_RDMA_WRITE;
  const bool extended =
      adapter_.writes_requests() && rdma_create_qp_ex(connection.id, &wanted) == 0;
  if (!extended) {
    wanted.comp_mask = IBV_QP_INIT_ATTR_PD;
    if (rdma_create_qp_ex(connection.id, &wanted) != 0) return last_error();
  }
  connection.pair = connection.id->qp;
  connection.extended = extended ? ibv_qp_to_qp_ex(connection.pair) : nullptr;
  connection.send_room = sends;
  connection.receive_room = size.receive_requests;
  connection.chains.resize(sends + 1);
  if (connection.mapped.capacity() > 0)
    connection.mapped.resize(connection.chains.capacity() * o2iblnd::kGatherMax);
  connection.receives.resize(size.receive_requests);
  connection.completions = completions;
  completions_promised_ += completions;
  stats_.add(Id::kOpen);
  return {};
}

// Each request may complete, if only with an error, and a completion queue that is full is the end
// of all its queue pairs.
Result<void> Device::make_completion_room(unsigned more) {
  PLNET_CHECK(completions_promised_ <= completion_entries_,
              "each queue pair has room for all its completions");
  const unsigned needed = completions_promised_ + more;
  if (needed <= completion_entries_) return {};
  if (needed > adapter_.completions_max()) return std::unexpected(Errc::kNoMemory);
  const unsigned entries =
      std::min(std::max(needed, 2 * completion_entries_), adapter_.completions_max());
  if (ibv_resize_cq(completions_, static_cast<int>(entries)) != 0)
    return std::unexpected(Errc::kNoMemory);
  completion_entries_ = entries;
  return {};
}

void Device::start_drain(Connection& connection) {
  PLNET_CHECK(connection.state != State::kFree && connection.state != State::kDraining,
              "a connection drains once");
  connection.state = State::kDraining;
  connection.drain_deadline = now_ + kDrainMax;
  connection.marker_is_back = connection.pair == nullptr;
  if (connection.pair != nullptr) {
    ibv_qp_attr error{};
    error.qp_state = IBV_QPS_ERR;
    (void)ibv_modify_qp(connection.pair, &error, IBV_QP_STATE);
    // Without a marker there is the deadline.
    (void)Tx::post_marker(connection);
  }
  draining_.push_back(connection);
}

// librdmacm reads the queue pair of an identifier while the desk reads its event. The identifier
// is destroyed first, which waits for the desk.
void Device::destroy(Connection& connection) {
  if (connection.id != nullptr) (void)rdma_destroy_id(connection.id);
  connection.id = nullptr;
  if (connection.pair != nullptr) (void)ibv_destroy_qp(connection.pair);
  connection.pair = nullptr;
  connection.extended = nullptr;
}

void Device::release(Connection& connection) {
  destroy(connection);
  if (connection.completions > 0) stats_.subtract(Id::kOpen);
  PLNET_CHECK(completions_promised_ >= connection.completions,
              "the room of a queue pair was promised");
  completions_promised_ -= connection.completions;
  connections_.give(connection);
}

}  // namespace plnet::mlx
