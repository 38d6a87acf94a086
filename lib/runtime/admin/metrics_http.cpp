// SPDX-License-Identifier: BSD-3-Clause
#include "lib/runtime/admin/metrics_http.hpp"

#include <array>
#include <cerrno>
#include <exception>
#include <system_error>
#include <utility>
#include <vector>

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <prometheus/collectable.h>
#include <prometheus/exposer.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/base/whole_number.hpp"
#include "lib/runtime/admin/metric_families.hpp"

namespace plnet::runtime {
namespace {

// Connections served at a time, and connections that may wait. A site has one or two Prometheus
// servers; the others are reserve against callers that send their requests slowly, each of which
// holds a thread until kRequestTimeoutMs.
constexpr const char* kThreads = "32";
constexpr const char* kWaitingConnections = "32";
// A reader that needs longer for its request or our reply is cut off.
constexpr const char* kRequestTimeoutMs = "3000";

class Collector final : public prometheus::Collectable {
 public:
  explicit Collector(const Metrics& metrics) : metrics_(metrics) {}
  [[nodiscard]] std::vector<prometheus::MetricFamily> Collect() const override {
    return metric_families(metrics_);
  }

 private:
  const Metrics& metrics_;
};

bool is_address(int family, const std::string& text) {
  std::array<unsigned char, sizeof(in6_addr)> bytes{};
  return inet_pton(family, text.c_str(), bytes.data()) == 1;
}

// The HTTP library does not say why it cannot listen, so ask the kernel.
std::string why_not(const ListenAddress& wanted) {
  sockaddr_in6 six{};
  six.sin6_family = AF_INET6;
  six.sin6_port = htons(wanted.port);
  sockaddr_in four{};
  four.sin_family = AF_INET;
  four.sin_port = htons(wanted.port);
  const bool is_six = inet_pton(AF_INET6, wanted.address.c_str(), &six.sin6_addr) == 1;
  if (!is_six) inet_pton(AF_INET, wanted.address.c_str(), &four.sin_addr);
  const int family = is_six ? AF_INET6 : AF_INET;
  const int probe = ::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (probe < 0) return std::generic_category().message(errno);
  const int on = 1;
  ::setsockopt(probe, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  const auto* const address =
      is_six ? reinterpret_cast<const sockaddr*>(&six) : reinterpret_cast<const sockaddr*>(&four);
  const bool bound = ::bind(probe, address, is_six ? sizeof(six) : sizeof(four)) == 0;
  const int number = errno;
  ::close(probe);
  if (!bound) return std::generic_category().message(number);
  if (is_six) return "the HTTP library here cannot do IPv6; expected an IPv4 address";
  return "the HTTP library failed; the port may have become free meanwhile";
}

std::unexpected<Error> cannot_listen(std::string_view address, const ListenAddress& parsed) {
  return failure(Errc::kBusy,
                 fmt::format("metrics address '{}': cannot listen: {}", address, why_not(parsed)));
}

}  // namespace

struct MetricsHttp::Server {
  Server(const Metrics& metrics, std::vector<std::string> options)
      : collector(std::make_shared<Collector>(metrics)), exposer(std::move(options)) {
    exposer.RegisterCollectable(collector, "/metrics");
  }
  std::shared_ptr<Collector> collector;
  prometheus::Exposer exposer;
};

Outcome<ListenAddress> parse_listen_address(std::string_view text, std::string_view what) {
  const auto refuse = [text, what](std::string_view why) {
    return failure(Errc::kInvalid,
                   fmt::format("{} '{}': {}; expected ADDRESS:PORT such as 127.0.0.1:9100 or "
                               "[::1]:9100, or \"\" for off",
                               what, text, why));
  };
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return refuse("no port");
  std::string_view address = text.substr(0, colon);
  const std::string_view port_text = text.substr(colon + 1);
  const bool bracketed = address.size() >= 2 && address.front() == '[' && address.back() == ']';
  if (bracketed) address = address.substr(1, address.size() - 2);
  ListenAddress result{std::string(address), 0};
  if (!is_address(bracketed ? AF_INET6 : AF_INET, result.address)) {
    return refuse(bracketed ? "not an IPv6 address" : "not an IPv4 address");
  }
  const auto port = whole_number<std::uint16_t>(port_text);
  if (!port) return refuse("the port is not a number from 0 to 65535");
  result.port = *port;
  return result;
}

MetricsHttp::MetricsHttp(const Metrics& metrics) : metrics_(metrics) {}
MetricsHttp::~MetricsHttp() = default;

Outcome<void> MetricsHttp::set_listen(std::string_view address) {
  if (address == listen_) return {};
  if (address.empty()) {
    server_.reset();
    listen_.clear();
    return {};
  }
  const auto parsed = parse_listen_address(address);
  if (!parsed) return std::unexpected(parsed.error());
  if (serve(address)) return {};
  // Our own listener on another address of the same port may be in the way.
  if (!server_ || port() != parsed->port) return cannot_listen(address, *parsed);
  const std::string before = std::exchange(listen_, {});
  server_.reset();
  if (serve(address)) return {};
  auto refused = cannot_listen(address, *parsed);
  if (!serve(before))
    refused.error().what += "; the former address cannot be listened on any more, either";
  return refused;
}

bool MetricsHttp::serve(std::string_view address) {
  try {
    std::vector<std::string> options{"listening_ports",    std::string(address),
                                     "num_threads",        kThreads,
                                     "connection_queue",   kWaitingConnections,
                                     "request_timeout_ms", kRequestTimeoutMs,
                                     "enable_keep_alive",  "no"};
    server_ = std::make_unique<Server>(metrics_, std::move(options));
    listen_ = address;
  } catch (const std::exception&) {
    return false;
  }
  return true;
}

int MetricsHttp::port() const {
  if (!server_) return 0;
  const std::vector<int> ports = server_->exposer.GetListeningPorts();
  return ports.empty() ? 0 : ports.front();
}

std::string MetricsHttp::address() const {
  if (!server_) return {};
  return listen_.substr(0, listen_.rfind(':') + 1) + std::to_string(port());
}

}  // namespace plnet::runtime
