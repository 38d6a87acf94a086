// SPDX-License-Identifier: BSD-3-Clause
// The begin and the end of connections: ports, listeners, the three-way handshake, the end.
#include <algorithm>

#include "drivers/net/sim/dice.hpp"
#include "drivers/net/sim/stream_driver.hpp"
#include "drivers/net/sim/stream_fabric.hpp"
#include "lib/base/check.hpp"

namespace plnet::drivers {

using socklnd::SocketAddress;

namespace {

constexpr std::uint16_t kPrivilegedFirst = 1023;  // and down to
constexpr std::uint16_t kPrivilegedLast = 512;
constexpr std::uint16_t kEphemeralFirst = 32768;
constexpr std::uint16_t kEphemeralCount = 28232;                 // Linux's ip_local_port_range
constexpr Duration kNeighbourTimeout = std::chrono::seconds(3);  // no answer to ARP
constexpr std::size_t kConnectionsMax = 1U << 24U;
constexpr std::size_t kBufferBytesMax = 1U << 30U;  // bytes in flight are counted in 32 bits

bool is_any(const IpBytes& ip) {
  return ip == IpBytes{} || ip == mapped_ipv4(0);
}

std::uint32_t buffer_size(int asked, std::size_t at_most) {
  at_most = std::min(at_most, kBufferBytesMax);
  const std::size_t size = asked > 0 ? std::min(static_cast<std::size_t>(asked), at_most) : at_most;
  return static_cast<std::uint32_t>(size);
}

}  // namespace

std::size_t SimStreamFabric::AddressHash::operator()(const SocketAddress& address) const {
  std::uint64_t hash = address.port;
  for (const std::uint8_t byte : address.ip)
    hash = (hash ^ byte) * 0x100'0000'01b3ULL;
  return hash;
}

std::uint64_t SimStreamFabric::tuple_of(const SocketAddress& local, const SocketAddress& remote) {
  return AddressHash{}(local) * 0x9e37'79b9'7f4a'7c15ULL ^ AddressHash {}(remote);
}

std::uint32_t SimStreamFabric::take_connection() {
  std::uint32_t index = first_free_;
  if (index != ~0U) {
    first_free_ = connections_[index].next_free;
  } else {
    PLNET_CHECK(connections_.size() < kConnectionsMax, "more connections than a simulation has");
    index = static_cast<std::uint32_t>(connections_.size());
    connections_.grow();
  }
  StreamConnection& connection = connections_[index];
  connection.set_generation(connection.generation() + 1);
  PLNET_CHECK(connection.in_use() && connection.pipes[0].flying.empty() &&
                  connection.pipes[1].flying.empty(),
              "a new connection carries nothing");
  ++live_;
  return index;
}

void SimStreamFabric::set_options(StreamEnd& end, const socklnd::StreamOptions& options) const {
  end.discards_unsent = options.close_discards_unsent;
  end.send_buffer = buffer_size(options.send_buffer_bytes, shape_.send_buffer_bytes);
  end.receive_buffer = buffer_size(options.receive_buffer_bytes, shape_.receive_buffer_bytes);
  if (options.keepalive_idle_s > 0) {
    const int probes =
        std::max(options.keepalive_interval_s, 1) * std::max(options.keepalive_count, 1);
    end.keepalive_s =
        static_cast<std::uint16_t>(std::min(options.keepalive_idle_s + probes, 65535));
  }
}

// An end is finished. When both are, the connection is dropped.
void SimStreamFabric::finish_end(std::uint32_t index, unsigned end) {
  StreamConnection& connection = connections_[index];
  PLNET_CHECK(connection.in_use() && connection.ends[end].state != StreamEnd::State::kFinished,
              "an end finishes once");
  connection.ends[end].state = StreamEnd::State::kFinished;
  connection.ends[end].driver = nullptr;
  if (end == 0 && connection.holds_port) {
    give_port(tuple_of(connection.addresses[0], connection.addresses[1]));
    connection.holds_port = false;
  }
  connection.pipes[1 - end].bytes.clear(network_.pool());  // no end reads it
  if (connection.ends[1 - end].state != StreamEnd::State::kFinished) return;
  connection.pipes[end].bytes.clear(network_.pool());
  for (StreamPipe& pipe : connection.pipes)
    pipe.flying.clear(network_.pool());
  const std::uint32_t generation = connection.generation() + 1;
  connection = StreamConnection{};
  connection.set_generation(generation);
  connection.next_free = first_free_;
  first_free_ = index;
  PLNET_CHECK(live_ > 0, "each connection is counted");
  --live_;
}

void SimStreamFabric::reserve(std::size_t connections) {
  connections_.reserve(connections);
  ports_in_use_.reserve(connections);
  spare_ports_.reserve(connections);
  while (spare_ports_.size() + ports_in_use_.size() < connections) {
    std::unordered_set<std::uint64_t> one{0};
    spare_ports_.push_back(one.extract(0));
  }
}

void SimStreamFabric::take_port(std::uint64_t tuple) {
  if (spare_ports_.empty()) {
    ports_in_use_.insert(tuple);
    return;
  }
  auto node = std::move(spare_ports_.back());
  spare_ports_.pop_back();
  node.value() = tuple;
  ports_in_use_.insert(std::move(node));
}

void SimStreamFabric::give_port(std::uint64_t tuple) {
  if (auto node = ports_in_use_.extract(tuple)) spare_ports_.push_back(std::move(node));
}

Result<std::uint16_t> SimStreamFabric::choose_port(HostId /*host*/,
                                                   const socklnd::ConnectRequest& request,
                                                   const SocketAddress& local) {
  const SocketAddress& remote = request.addresses.remote;
  const auto is_free = [&](std::uint16_t port) {
    return !ports_in_use_.contains(tuple_of({local.ip, port}, remote));
  };
  if (local.port != 0) {
    if (is_free(local.port)) return local.port;
    return std::unexpected(Errc::kBusy);
  }
  if (request.privileged_port) {
    for (std::uint16_t port = kPrivilegedFirst; port >= kPrivilegedLast; --port) {
      if (is_free(port)) return port;
    }
    return std::unexpected(Errc::kBusy);
  }
  for (unsigned tries = 0; tries < kEphemeralCount; ++tries) {
    next_ephemeral_ = static_cast<std::uint16_t>((next_ephemeral_ + 1U) % kEphemeralCount);
    const auto port = static_cast<std::uint16_t>(kEphemeralFirst + next_ephemeral_);
    if (is_free(port)) return port;
  }
  return std::unexpected(Errc::kBusy);
}

Result<StreamEndId> SimStreamFabric::connect(SimStreamDriver& driver, HostId host,
                                             const socklnd::ConnectRequest& request) {
  SocketAddress local = request.addresses.local;
  if (is_any(local.ip)) local.ip = network_.first_address(host);
  if (network_.host_of(local.ip) != host) return std::unexpected(Errc::kNotFound);
  const auto port = choose_port(host, request, local);
  if (!port) return std::unexpected(port.error());
  local.port = *port;

  const std::uint32_t index = take_connection();
  StreamConnection& connection = connections_[index];
  StreamEnd& active = connection.ends[0];
  active.driver = &driver;
  active.host = host;
  set_options(active, request.options);
  connection.addresses = {local, request.addresses.remote};
  connection.ends[1].state = StreamEnd::State::kFinished;  // until there is a driver
  take_port(tuple_of(local, request.addresses.remote));
  connection.holds_port = true;
  schedule(network_.now(), Kind::kConnectTry, index, 0);
  return StreamEndId{index, connection.generation(), 0};
}

void SimStreamFabric::try_connect(std::uint32_t index) {
  StreamConnection& connection = connections_[index];
  const HostId from = connection.ends[0].host;
  const HostId to = network_.host_of(connection.addresses[1].ip);
  if (to == kNoHost) {
    schedule(network_.now() + kNeighbourTimeout, Kind::kUnreachable, index, 0);
    return;
  }
  if (connection.connect_tries == shape_.connect_tries_max) {
    drop_unconfirmed(index);
    reset_end(index, 0, Errc::kTimedOut);
    return;
  }
  const Duration wait = shape_.connect_retry_after * (1 << connection.connect_tries);
  ++connection.connect_tries;
  schedule(network_.now() + wait, Kind::kConnectTry, index, 0);
  const auto arrival = network_.transit(from, to, 0);
  if (arrival) schedule(*arrival, Kind::kRequest, index, 0);
}

std::vector<SimStreamFabric::Listener>* SimStreamFabric::listeners_at(
    const SocketAddress& address) {
  auto found = listeners_.find(address);
  if (found == listeners_.end()) found = listeners_.find(SocketAddress{IpBytes{}, address.port});
  return found == listeners_.end() ? nullptr : &found->second;
}

// Several shards of one host may listen on one address (SO_REUSEPORT): the system chooses.
SimStreamFabric::Listener* SimStreamFabric::choose_listener(const SocketAddress& address) {
  std::vector<Listener>* all = listeners_at(address);
  const HostId host = network_.host_of(address.ip);
  if (all == nullptr || host == kNoHost) return nullptr;
  std::size_t count = 0;
  for (const Listener& listener : *all)
    count += listener.host == host ? 1U : 0U;
  if (count == 0) return nullptr;
  std::size_t pick = count == 1 ? 0 : random_.below(count);
  for (Listener& listener : *all) {
    if (listener.host == host && pick-- == 0) return &listener;
  }
  return nullptr;
}

void SimStreamFabric::request_arrives(std::uint32_t index) {
  StreamConnection& connection = connections_[index];
  StreamEnd& passive = connection.ends[1];
  if (connection.ends[0].state != StreamEnd::State::kOpening) return;
  const HostId host = network_.host_of(connection.addresses[1].ip);
  if (host == kNoHost || !network_.present(host)) return;
  const auto answer = network_.transit(host, connection.ends[0].host, 0);
  if (passive.state == StreamEnd::State::kOpening) {  // a repeated request: the answer was lost
    if (answer) schedule(*answer, Kind::kAnswer, index, 0);
    return;
  }
  Listener* listener = choose_listener(connection.addresses[1]);
  if (listener == nullptr) {
    if (answer) schedule(*answer, Kind::kRefusal, index, 0);
    return;
  }
  if (listener->waiting >= listener->backlog) return;  // as Linux does: the request is dropped
  ++listener->waiting;
  passive.driver = listener->driver;
  passive.host = host;
  passive.state = StreamEnd::State::kOpening;
  set_options(passive, listener->options);
  if (answer) schedule(*answer, Kind::kAnswer, index, 0);
}

void SimStreamFabric::answer_arrives(std::uint32_t index) {
  StreamConnection& connection = connections_[index];
  StreamEnd& active = connection.ends[0];
  PLNET_CHECK(active.driver != nullptr && active.state == StreamEnd::State::kOpening,
              "an answer comes to an end that connects");
  active.state = StreamEnd::State::kOpen;
  watch_peer(index, 0);
  active.driver->note_connected(active.stream);
  const auto arrival = network_.transit(active.host, connection.ends[1].host, 0);
  // A lost ACK is repaired by the first data or a repeated answer; here it is just late.
  const Instant at = arrival.value_or(network_.now() + shape_.retransmit_after);
  connection.pipes[0].last_arrival = at + Duration{1};  // data comes after it, never with it
  schedule(at, Kind::kConfirm, index, 0);
}

// The connecting side gives up: drops the half-open connection of the listening side.
void SimStreamFabric::drop_unconfirmed(std::uint32_t index) {
  StreamConnection& connection = connections_[index];
  const StreamEnd& passive = connection.ends[1];
  if (passive.state != StreamEnd::State::kOpening) return;
  PLNET_CHECK(passive.driver != nullptr, "a listener has taken the request");
  accepted(connection.addresses[1], *passive.driver);
  finish_end(index, 1);
}

void SimStreamFabric::confirm_arrives(std::uint32_t index) {
  StreamConnection& connection = connections_[index];
  StreamEnd& passive = connection.ends[1];
  if (passive.state != StreamEnd::State::kOpening) return;
  const std::vector<Listener>* all = listeners_at(connection.addresses[1]);
  const bool listening = all != nullptr && std::ranges::any_of(*all, [&](const Listener& listener) {
                           return listener.driver == passive.driver;
                         });
  if (!listening) {  // the driver that took the request has gone meanwhile
    reset_from(index, 1);
    finish_end(index, 1);
    return;
  }
  passive.state = StreamEnd::State::kOpen;
  watch_peer(index, 1);
  passive.stream = passive.driver->add_accepted({index, connection.generation(), 1});
}

void SimStreamFabric::handle_setup(Kind kind, std::uint32_t index, StreamConnection& connection) {
  const StreamEnd& active = connection.ends[0];
  const bool opening = active.state == StreamEnd::State::kOpening;
  switch (kind) {
    case Kind::kConnectTry:
      if (opening) try_connect(index);
      break;
    case Kind::kRequest: request_arrives(index); break;
    case Kind::kAnswer:
      if (opening) answer_arrives(index);
      break;
    case Kind::kConfirm: confirm_arrives(index); break;
    case Kind::kRefusal:
      if (opening) reset_end(index, 0, Errc::kRefused);
      break;
    case Kind::kUnreachable:
      if (opening) reset_end(index, 0, Errc::kNoRoute);
      break;
    default: break;
  }
}

Result<void> SimStreamFabric::listen(SimStreamDriver& driver, HostId host,
                                     const SocketAddress& local, unsigned backlog,
                                     const socklnd::StreamOptions& accepted_options) {
  const bool any = is_any(local.ip);
  if (!any && network_.host_of(local.ip) != host) return std::unexpected(Errc::kNotFound);
  if (local.port == 0 || backlog == 0) return std::unexpected(Errc::kInvalid);
  std::vector<Listener>& all = listeners_[{any ? IpBytes{} : local.ip, local.port}];
  for (const Listener& listener : all) {
    if (listener.driver == &driver) return std::unexpected(Errc::kBusy);
  }
  all.push_back({.driver = &driver, .host = host, .backlog = backlog, .options = accepted_options});
  return {};
}

void SimStreamFabric::stop_listening(SimStreamDriver& driver, const SocketAddress& local) {
  const auto found = listeners_.find({is_any(local.ip) ? IpBytes{} : local.ip, local.port});
  if (found == listeners_.end()) return;
  std::erase_if(found->second,
                [&driver](const Listener& listener) { return listener.driver == &driver; });
  if (found->second.empty()) listeners_.erase(found);
}

void SimStreamFabric::accepted(const SocketAddress& local, const SimStreamDriver& driver) {
  std::vector<Listener>* all = listeners_at(local);
  if (all == nullptr) return;
  for (Listener& listener : *all) {
    if (listener.driver == &driver && listener.waiting > 0) --listener.waiting;
  }
}

void SimStreamFabric::abandon(StreamEndId id) {
  if (find(id) == nullptr) return;
  const StreamEnd& end = connections_[id.connection].ends[id.end];
  if (end.state == StreamEnd::State::kOpening) drop_unconfirmed(id.connection);
  if (end.state == StreamEnd::State::kOpen) {
    if (network_.present(end.host)) {
      reset_from(id.connection, id.end);
    } else {
      probe(id.connection, 1U - id.end);
    }
  }
  connections_[id.connection].pipes[id.end].dead = true;
  finish_end(id.connection, id.end);
}

}  // namespace plnet::drivers
