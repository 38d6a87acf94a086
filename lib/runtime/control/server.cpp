// SPDX-License-Identifier: BSD-3-Clause
#include "lib/runtime/control/server.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/socket.h>

#include "lib/base/check.hpp"

namespace plnet::runtime {
namespace {

// Pieces read from one client before other clients get their turn.
constexpr unsigned kReadsPerTurn = 16;
constexpr Duration kIdleCheckPeriod = std::chrono::seconds(1);

Descriptor accept_from(const ListeningSocket& socket) {
  return Descriptor(::accept4(socket.descriptor(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
}

// A spare descriptor, closed for a moment to tell a client that none are left.
Descriptor open_spare() {
  return Descriptor(::open("/dev/null", O_RDONLY | O_CLOEXEC));
}

// The descriptors are sent with the first byte.
ssize_t send_with(int socket, std::string_view text, const std::vector<Descriptor>& handed) {
  PLNET_CHECK(handed.size() <= kHandedMax, "an answer has a bounded number of descriptors");
  iovec bytes{const_cast<char*>(text.data()), text.size()};
  alignas(cmsghdr) std::array<std::byte, CMSG_SPACE(kHandedMax * sizeof(int))> control{};
  msghdr message{};
  message.msg_iov = &bytes;
  message.msg_iovlen = 1;
  if (!handed.empty()) {
    message.msg_control = control.data();
    message.msg_controllen = CMSG_SPACE(handed.size() * sizeof(int));
    cmsghdr* const header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(handed.size() * sizeof(int));
    for (std::size_t i = 0; i < handed.size(); ++i) {
      const int number = handed[i].get();
      std::memcpy(CMSG_DATA(header) + i * sizeof number, &number, sizeof number);
    }
  }
  return ::sendmsg(socket, &message, MSG_NOSIGNAL);
}

}  // namespace

struct ControlServer::Client {
  Client(Descriptor connected, Caller who, std::size_t line_max)
      : descriptor(std::move(connected)), caller(std::move(who)), input(line_max) {
    caller.handed = &handed;
  }

  Descriptor descriptor;
  Caller caller;
  std::vector<Descriptor> handed;  // sent with the next bytes that are written
  LineBuffer input;
  std::string output;
  std::size_t written = 0;  // of output
  unsigned pending = 0;     // requests whose verb has not answered yet
  bool running = false;     // run_requests() is active further up the stack
  bool ended = false;       // no more requests: send the pending answers, then drop
  bool gone = false;
  std::uint32_t watched = EPOLLIN;
  Instant last_active{};

  [[nodiscard]] std::size_t unwritten() const { return output.size() - written; }
  [[nodiscard]] bool wants_requests() const {
    return !gone && pending < kPendingMax && unwritten() < kOutputHigh;
  }
};

Outcome<std::unique_ptr<ControlServer>> ControlServer::start(EventLoop& loop,
                                                             const VerbTable& verbs,
                                                             ServerOptions options) {
  PLNET_CHECK(options.clients_max > 0, "a server has room for a client");
  auto socket = ListeningSocket::open(options.socket);
  if (!socket) return std::unexpected(std::move(socket.error()));
  std::unique_ptr<ControlServer> server(
      new ControlServer(loop, verbs, std::move(options), std::move(*socket)));
  auto added = loop.add(server->socket_.descriptor(), EPOLLIN,
                        [self = server.get()](std::uint32_t) { self->accept_clients(); });
  if (!added) return std::unexpected(std::move(added.error()));
  server->idle_timer_ = loop.add_timer(kIdleCheckPeriod, kIdleCheckPeriod,
                                       [self = server.get()] { self->drop_idle(); });
  return server;
}

ControlServer::ControlServer(EventLoop& loop, const VerbTable& verbs, ServerOptions options,
                             ListeningSocket socket)
    : loop_(loop),
      verbs_(verbs),
      options_(std::move(options)),
      socket_(std::move(socket)),
      spare_(open_spare()),
      self_(std::make_shared<ControlServer*>(this)) {}

ControlServer::~ControlServer() {
  *self_ = nullptr;
  loop_.cancel_timer(idle_timer_);
  loop_.remove(socket_.descriptor());
  while (!clients_.empty())
    drop(clients_.begin()->second);
}

void ControlServer::accept_clients() {
  // At most as many as the backlog holds, so that a flood of connections does not hold the loop.
  for (unsigned i = 0; i < options_.clients_max; ++i) {
    Descriptor descriptor = accept_from(socket_);
    if (descriptor.valid()) {
      admit(std::move(descriptor));
      continue;
    }
    const bool exhausted =
        errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM;
    if (!exhausted) return;
    if (!refuse_without_descriptor()) return;
  }
}

// Accepts a waiting client by the spare descriptor and refuses it: callers often want to know why
// the node is unwell, and must not wait in silence. False: no client waits (without a free
// descriptor the system does not tell), or accepting failed.
bool ControlServer::refuse_without_descriptor() {
  spare_.reset();
  Descriptor descriptor = accept_from(socket_);
  const bool accepted = descriptor.valid();
  const bool nobody_waits = !accepted && (errno == EAGAIN || errno == EWOULDBLOCK);
  if (accepted) refuse(descriptor, Errc::kNoMemory, "the node is out of file descriptors");
  descriptor.reset();
  spare_ = open_spare();
  if (nobody_waits) return false;
  if (options_.out_of_descriptors) options_.out_of_descriptors();
  // A waiting client stays readable in every round: do not watch the socket until the next idle
  // check.
  if (!accepted) (void)loop_.modify(socket_.descriptor(), 0);
  return accepted;
}

bool ControlServer::has_place_for(const Caller& caller) const {
  if (caller.may_change) return clients_.size() < options_.clients_max;
  const unsigned places =
      options_.clients_max - std::min(options_.reserved, options_.clients_max - 1);
  const auto readers = std::ranges::count_if(
      clients_, [](const auto& client) { return !client.second->caller.may_change; });
  return clients_.size() < options_.clients_max && readers < static_cast<std::ptrdiff_t>(places);
}

void ControlServer::refuse(const Descriptor& descriptor, Errc code, std::string why) {
  ++stats_.refused;
  const std::string line =
      encode_reply(std::nullopt, std::unexpected(VerbError(Error{code, std::move(why)})));
  ::send(descriptor.get(), line.data(), line.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
}

void ControlServer::admit(Descriptor descriptor) {
  auto caller = caller_of(descriptor.get());
  if (!caller) return;
  if (options_.adjust_caller) options_.adjust_caller(*caller);
  caller->may_change = may_change(options_.access, *caller);
  if (!has_place_for(*caller)) {
    return refuse(descriptor, Errc::kBusy,
                  fmt::format("the node serves {} clients already; try again", clients_.size()));
  }
  const std::size_t line_max = caller->may_change ? kRequestBytesMax : kReaderRequestBytesMax;
  const int number = descriptor.get();
  auto client = std::make_shared<Client>(std::move(descriptor), std::move(*caller), line_max);
  client->last_active = loop_.now();
  const auto added = loop_.add(number, EPOLLIN,
                               [this, client](std::uint32_t events) { on_event(client, events); });
  if (!added) return;
  clients_.emplace(number, std::move(client));
  ++stats_.accepted;
}

void ControlServer::on_event(const std::shared_ptr<Client>& client, std::uint32_t events) {
  client->last_active = loop_.now();
  if ((events & EPOLLERR) != 0) return drop(client);
  if ((events & EPOLLIN) != 0 && !client->ended) {
    read_from(*client);
  } else if ((events & EPOLLHUP) != 0) {
    return drop(client);  // no reader is left for the answers
  }
  run_requests(client);
}

void ControlServer::read_from(Client& client) {
  std::array<char, kReadPiece> piece{};
  for (unsigned i = 0; i < kReadsPerTurn; ++i) {
    const ssize_t got = ::recv(client.descriptor.get(), piece.data(), piece.size(), 0);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
    if (got <= 0) {  // half-closed: earlier requests are still answered
      client.ended = true;
      return;
    }
    if (!client.input.feed({piece.data(), static_cast<std::size_t>(got)})) {
      ++stats_.malformed;
      const std::size_t limit =
          client.caller.may_change ? kRequestBytesMax : kReaderRequestBytesMax;
      client.output += encode_reply(
          std::nullopt,
          std::unexpected(VerbError(
              Error{Errc::kTooBig, fmt::format("a request is longer than {} KiB; the node closes "
                                               "this connection",
                                               limit >> 10)})));
      client.ended = true;
      return;
    }
  }
}

void ControlServer::run_requests(const std::shared_ptr<Client>& client) {
  if (client->running) return;  // a verb that answers at once: the loop below continues
  client->running = true;
  while (client->wants_requests()) {
    const auto line = client->input.next();
    if (!line) break;
    ++stats_.requests;
    auto request = parse_request(*line);
    if (!request) {
      ++stats_.malformed;
      client->output += encode_reply(request.error().id,
                                     std::unexpected(VerbError(std::move(request.error().error))));
    } else {
      ++client->pending;
      verbs_.run(*request, client->caller,
                 [self = self_, client, id = request->id](const VerbReply& reply) {
                   if (*self != nullptr) (*self)->answer(client, id, reply);
                 });
    }
    if (client->unwritten() >= kOutputHigh) write_to(*client);
  }
  client->running = false;
  settle(client);
}

void ControlServer::answer(const std::shared_ptr<Client>& client, std::optional<std::int64_t> id,
                           const VerbReply& reply) {
  if (client->gone) return;
  PLNET_CHECK(client->pending > 0, "an answer belongs to a request");
  --client->pending;
  client->last_active = loop_.now();
  client->output += encode_reply(id, reply);
  run_requests(client);
}

void ControlServer::write_to(Client& client) {
  while (client.unwritten() > 0) {
    const ssize_t put = send_with(
        client.descriptor.get(),
        std::string_view(client.output).substr(client.written, client.unwritten()), client.handed);
    if (put < 0 && errno == EINTR) continue;
    if (put < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
      // A client that sends requests before it has read all answers would otherwise keep the memory
      // for ever.
      if (client.written >= kOutputHigh) {
        client.output.erase(0, client.written);
        client.written = 0;
      }
      return;
    }
    if (put < 0) {
      client.ended = true;
      client.output.clear();
      client.input = LineBuffer(kReaderRequestBytesMax);
      client.written = 0;
      return;
    }
    client.handed.clear();
    client.written += static_cast<std::size_t>(put);
    client.last_active = loop_.now();
  }
  client.output.clear();
  client.output.shrink_to_fit();
  client.written = 0;
}

// Called after every event of a client: writes, watches for the next event, or drops the client.
void ControlServer::settle(const std::shared_ptr<Client>& client) {
  if (client->gone) return;
  write_to(*client);
  const bool done = client->pending == 0 && client->unwritten() == 0;
  const bool more_lines = client->wants_requests() && client->input.has_line();
  if (client->ended && done && !more_lines) return drop(client);
  std::uint32_t wanted = 0;
  if (!client->ended && client->wants_requests()) wanted |= EPOLLIN;
  if (client->unwritten() > 0 || more_lines) wanted |= EPOLLOUT;
  if (wanted == client->watched) return;
  client->watched = wanted;
  if (!loop_.modify(client->descriptor.get(), wanted)) drop(client);
}

void ControlServer::drop(const std::shared_ptr<Client>& client) {
  if (client->gone) return;
  client->gone = true;
  loop_.remove(client->descriptor.get());
  const Descriptor closing = std::move(client->descriptor);
  clients_.erase(closing.get());  // last, since the argument may be the map's own pointer
}

void ControlServer::drop_idle() {
  (void)loop_.modify(socket_.descriptor(), EPOLLIN);  // accept_clients() may have stopped watching
  const Instant now = loop_.now();
  std::vector<std::shared_ptr<Client>> idle;
  for (const auto& [number, client] : clients_) {
    if (client->pending == 0 && now - client->last_active >= options_.idle_timeout) {
      idle.push_back(client);
    }
  }
  stats_.timed_out += idle.size();
  for (const auto& client : idle)
    drop(client);
}

}  // namespace plnet::runtime
