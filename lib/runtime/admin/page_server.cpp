// SPDX-License-Identifier: BSD-3-Clause
#include "lib/runtime/admin/page_server.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>
#include <utility>
#include <vector>

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "lib/base/check.hpp"
#include "lib/base/whole_number.hpp"
#include "lib/runtime/admin/http_request.hpp"
#include "lib/runtime/admin/metrics_http.hpp"

namespace plnet::runtime {
namespace {

// A client that needs longer for its request, or for our reply, is cut off.
constexpr Duration kPatience = std::chrono::seconds(5);
constexpr Duration kLookPeriod = std::chrono::seconds(1);
constexpr int kBacklog = 64;
constexpr std::size_t kReadBytes = 4096;
// Reads of one connection before others get their turn.
constexpr unsigned kReadsPerTurn = 4;

// Nothing is loaded from elsewhere, nothing is in a frame, and no other site reads an answer.
constexpr std::string_view kSafety =
    "Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; "
    "connect-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'\r\n"
    "X-Content-Type-Options: nosniff\r\n"
    "Referrer-Policy: no-referrer\r\n"
    "Cross-Origin-Resource-Policy: same-origin\r\n"
    "Cross-Origin-Opener-Policy: same-origin\r\n"
    "Cache-Control: no-store\r\n"
    "Connection: close\r\n";

std::string_view reason_of(unsigned status) {
  switch (status) {
    case 200: return "OK";
    case 400: return "Bad Request";
    case 403: return "Forbidden";
    case 404: return "Not Found";
    case 405: return "Method Not Allowed";
    case 421: return "Misdirected Request";
    case 431: return "Request Header Fields Too Large";
    case 503: return "Service Unavailable";
    default: break;
  }
  return "Error";
}

std::shared_ptr<const std::string> answer_text(unsigned status, std::string_view type,
                                               std::string_view body, bool is_head) {
  return std::make_shared<const std::string>(
      fmt::format("HTTP/1.1 {} {}\r\n{}{}Content-Type: {}\r\nContent-Length: {}\r\n\r\n{}", status,
                  reason_of(status), kSafety, status == 405 ? "Allow: GET, HEAD\r\n" : "", type,
                  body.size(), is_head ? std::string_view{} : body));
}

std::shared_ptr<const std::string> refusal_text(unsigned status, std::string_view why) {
  return answer_text(status, "text/plain; charset=utf-8", fmt::format("{}\n", why), false);
}

std::string last_error() {
  return std::generic_category().message(errno);
}

struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t length = 0;

  explicit SocketAddress(const ListenAddress& from) {
    auto& six = reinterpret_cast<sockaddr_in6&>(storage);
    auto& four = reinterpret_cast<sockaddr_in&>(storage);
    if (inet_pton(AF_INET6, from.address.c_str(), &six.sin6_addr) == 1) {
      six.sin6_family = AF_INET6;
      six.sin6_port = htons(from.port);
      length = sizeof six;
    } else {
      inet_pton(AF_INET, from.address.c_str(), &four.sin_addr);
      four.sin_family = AF_INET;
      four.sin_port = htons(from.port);
      length = sizeof four;
    }
  }
  [[nodiscard]] const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
};

std::uint16_t bound_port(const Descriptor& listener) {
  sockaddr_storage storage{};
  socklen_t length = sizeof storage;
  if (::getsockname(listener.get(), reinterpret_cast<sockaddr*>(&storage), &length) != 0) return 0;
  return storage.ss_family == AF_INET6
             ? ntohs(reinterpret_cast<const sockaddr_in6&>(storage).sin6_port)
             : ntohs(reinterpret_cast<const sockaddr_in&>(storage).sin_port);
}

}  // namespace

enum class ConnectionState : std::uint8_t {
  kReading,   // the request is not complete
  kReplying,  // ends after the reply
  kWatching,  // gets events
  kEnding,    // the reply is sent; the rest of the request is read, so that no reset loses it
};

struct PageServer::Connection {
  Descriptor descriptor;
  ConnectionState state = ConnectionState::kReading;
  Instant deadline{};
  std::string request{};
  Text out{};  // sent up to `sent`; null: nothing
  std::size_t sent = 0;
  Text next{};  // a watcher's event that follows `out`; a newer one replaces it
  unsigned missed = 0;
  std::uint32_t events = EPOLLIN;
};

Outcome<std::string> parse_page_address(std::string_view text) {
  std::string address(text);
  if (whole_number<std::uint16_t>(text)) address = fmt::format("127.0.0.1:{}", text);
  if (auto parsed = parse_listen_address(address, "status page address"); !parsed)
    return std::unexpected(std::move(parsed.error()));
  return address;
}

PageServer::PageServer(EventLoop& loop, PageOptions options)
    : loop_(loop), options_(std::move(options)) {}

PageServer::~PageServer() {
  (void)set_listen("");
}

Outcome<Descriptor> PageServer::open_listener(const std::string& address) {
  const auto parsed = parse_listen_address(address, "status page address");
  if (!parsed) return std::unexpected(parsed.error());
  const auto cannot = [&address] {
    return failure(Errc::kBusy, fmt::format("status page address '{}': cannot listen: {}", address,
                                            last_error()));
  };
  const SocketAddress wanted(*parsed);
  Descriptor listener(
      ::socket(wanted.storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!listener.valid()) return cannot();
  const int on = 1;
  ::setsockopt(listener.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (wanted.storage.ss_family == AF_INET6)
    ::setsockopt(listener.get(), IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
  if (::bind(listener.get(), wanted.get(), wanted.length) != 0) return cannot();
  if (::listen(listener.get(), kBacklog) != 0) return cannot();
  return listener;
}

Outcome<void> PageServer::set_listen(std::string_view address) {
  if (address == listen_) return {};
  Descriptor listener;
  std::string bound;
  if (!address.empty()) {
    const auto whole = parse_page_address(address);
    if (!whole) return std::unexpected(whole.error());
    auto opened = open_listener(*whole);
    if (!opened) return std::unexpected(std::move(opened.error()));
    auto added = loop_.add(opened->get(), EPOLLIN, [this](std::uint32_t) { accept_all(); });
    if (!added) return added;
    listener = std::move(*opened);
    bound = fmt::format("{}:{}", whole->substr(0, whole->rfind(':')), bound_port(listener));
  }
  if (listener_.valid()) loop_.remove(listener_.get());
  while (!connections_.empty())
    drop(connections_.begin()->first);
  loop_.cancel_timer(std::exchange(timer_, EventLoop::TimerId::kNone));
  listener_ = std::move(listener);
  listen_ = address;
  bound_ = std::move(bound);
  if (listener_.valid())
    timer_ = loop_.add_timer(kLookPeriod, kLookPeriod, [this] { look_at_deadlines(); });
  return {};
}

void PageServer::accept_all() {
  for (int i = 0; i < kBacklog; ++i) {
    Descriptor descriptor(
        ::accept4(listener_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!descriptor.valid()) {
      const bool is_exhausted =
          errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM;
      // A waiting client stays readable in every round: look again with the next deadline.
      if (is_exhausted) (void)loop_.modify(listener_.get(), 0);
      return;
    }
    if (connections_.size() >= kConnectionsMax) continue;  // closes it
    const std::uint64_t id = next_id_++;
    auto added = loop_.add(descriptor.get(), EPOLLIN,
                           [this, id](std::uint32_t events) { on_ready(id, events); });
    if (!added) continue;
    connections_.emplace(
        id, Connection{.descriptor = std::move(descriptor), .deadline = loop_.now() + kPatience});
  }
}

void PageServer::on_ready(std::uint64_t id, std::uint32_t events) {
  const auto found = connections_.find(id);
  if (found == connections_.end()) return;
  Connection& connection = found->second;
  if ((events & (EPOLLERR | EPOLLHUP)) != 0) return drop(id);
  if ((events & EPOLLOUT) != 0 && !write_to(id, connection)) return;
  if ((events & EPOLLIN) != 0) read_from(id, connection);
}

// Everything after the request is read and forgotten.
void PageServer::read_from(std::uint64_t id, Connection& connection) {
  std::array<char, kReadBytes> piece;  // NOLINT(cppcoreguidelines-pro-type-member-init)
  for (unsigned i = 0; i < kReadsPerTurn; ++i) {
    const ssize_t got = ::recv(connection.descriptor.get(), piece.data(), piece.size(), 0);
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)) return;
    if (got <= 0) return drop(id);
    if (connection.state != ConnectionState::kReading) continue;
    connection.request.append(piece.data(), static_cast<std::size_t>(got));
    if (http_head_length(connection.request)) return answer(id, connection);
    if (connection.request.size() >= kHttpHeadMax)
      return reply(id, connection, refusal_text(431, "the request is too long"));
  }
}

void PageServer::answer(std::uint64_t id, Connection& connection) {
  const std::string bytes = std::exchange(connection.request, {});
  const std::size_t length = http_head_length(bytes).value_or(bytes.size());
  const auto request = parse_http_request(std::string_view(bytes).substr(0, length));
  const auto refuse = [&](unsigned status, std::string_view why) {
    reply(id, connection, refusal_text(status, why));
  };
  if (!request) return refuse(request.error().status, request.error().why);
  if (!is_own_host(request->host, options_.own_name)) {
    return refuse(421,
                  "this page is at an address, at localhost or at the name of this host, and "
                  "not at the name that was asked for");
  }
  if (request->path == options_.stream) {
    const std::string_view from = request->fetch_site;
    if (!from.empty() && from != "same-origin" && from != "none")
      return refuse(403, "the stream is for the page of this node only");
    return watch(id, connection, request->is_head);
  }
  const auto document = std::ranges::find(options_.documents, request->path, &PageDocument::path);
  if (document == options_.documents.end()) return refuse(404, "there is no such document");
  reply(id, connection, answer_text(200, document->type, document->text, request->is_head));
}

void PageServer::watch(std::uint64_t id, Connection& connection, bool is_head) {
  const auto head = std::make_shared<const std::string>(
      fmt::format("HTTP/1.1 200 OK\r\n{}Content-Type: text/event-stream\r\n\r\n{}", kSafety,
                  is_head ? "" : "retry: 2000\n\n"));
  if (is_head) return reply(id, connection, head);
  if (watchers_ >= kWatchersMax) {
    return reply(id, connection,
                 refusal_text(503, fmt::format("{} watchers look at this page already, as many as "
                                               "it has room for",
                                               watchers_)));
  }
  connection.state = ConnectionState::kWatching;
  connection.out = head;
  connection.next = last_event_;
  if (++watchers_ == 1 && options_.on_watched) options_.on_watched(true);
  (void)write_to(id, connection);
}

void PageServer::reply(std::uint64_t id, Connection& connection, Text text) {
  connection.state = ConnectionState::kReplying;
  connection.deadline = loop_.now() + kPatience;
  connection.out = std::move(text);
  connection.sent = 0;
  (void)write_to(id, connection);
}

bool PageServer::write_to(std::uint64_t id, Connection& connection) {
  while (connection.out) {
    const std::string_view left = std::string_view(*connection.out).substr(connection.sent);
    const ssize_t put = ::send(connection.descriptor.get(), left.data(), left.size(), MSG_NOSIGNAL);
    if (put < 0) {
      if (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR) break;
      drop(id);
      return false;
    }
    connection.sent += static_cast<std::size_t>(put);
    if (connection.sent < connection.out->size()) continue;
    connection.out = std::exchange(connection.next, nullptr);
    connection.sent = 0;
    connection.missed = 0;
  }
  if (!connection.out && connection.state == ConnectionState::kReplying) {
    ::shutdown(connection.descriptor.get(), SHUT_WR);
    connection.state = ConnectionState::kEnding;
  }
  const std::uint32_t events = connection.out ? EPOLLIN | EPOLLOUT : EPOLLIN;
  if (events != connection.events && loop_.modify(connection.descriptor.get(), events))
    connection.events = events;
  return true;
}

void PageServer::publish(std::string_view text) {
  PLNET_CHECK(text.find('\n') == std::string_view::npos, "an event is one line");
  if (watchers_ == 0) return;
  last_event_ = std::make_shared<const std::string>(fmt::format("data: {}\n\n", text));
  std::vector<std::uint64_t> all;
  for (const auto& [id, connection] : connections_)
    if (connection.state == ConnectionState::kWatching) all.push_back(id);
  for (const std::uint64_t id : all) {
    Connection& connection = connections_.at(id);
    if (connection.out) {
      connection.next = last_event_;
      if (++connection.missed > kMissedMax) drop(id);
      continue;
    }
    connection.out = last_event_;
    (void)write_to(id, connection);
  }
}

void PageServer::drop(std::uint64_t id) {
  const auto found = connections_.find(id);
  if (found == connections_.end()) return;
  const bool was_watching = found->second.state == ConnectionState::kWatching;
  loop_.remove(found->second.descriptor.get());
  connections_.erase(found);
  if (!was_watching || --watchers_ > 0) return;
  last_event_.reset();
  if (options_.on_watched) options_.on_watched(false);
}

void PageServer::look_at_deadlines() {
  (void)loop_.modify(listener_.get(), EPOLLIN);
  std::vector<std::uint64_t> late;
  for (const auto& [id, connection] : connections_) {
    if (connection.state != ConnectionState::kWatching && connection.deadline < loop_.now())
      late.push_back(id);
  }
  for (const std::uint64_t id : late)
    drop(id);
}

}  // namespace plnet::runtime
