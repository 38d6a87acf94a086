// SPDX-License-Identifier: BSD-3-Clause
// Metrics over HTTP for Prometheus: GET /metrics only, off until it gets an address. It has its own
// threads, so that a slow reader delays neither the admin thread nor a poller.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "lib/base/result.hpp"
#include "lib/runtime/admin/metrics.hpp"

namespace plnet::runtime {

struct ListenAddress {
  std::string address;  // an IPv4 or IPv6 address, without brackets
  std::uint16_t port = 0;

  bool operator==(const ListenAddress&) const = default;
};

// "127.0.0.1:9100" or "[::1]:9100". Names are not resolved: a listener is bound to an address.
// `what` is the setting that an error names.
[[nodiscard]] Outcome<ListenAddress> parse_listen_address(
    std::string_view text, std::string_view what = "metrics address");

class MetricsHttp {
 public:
  // `metrics` must outlive this.
  explicit MetricsHttp(const Metrics& metrics);
  ~MetricsHttp();

  // Admin thread. "" turns it off; an address that is already served stays as it is. If the new
  // address cannot be bound, the old one stays. Turning off waits for a running scrape and may
  // block for some seconds.
  [[nodiscard]] Outcome<void> set_listen(std::string_view address);

  [[nodiscard]] const std::string& listen() const { return listen_; }
  // The bound port (for a requested port 0), 0 if off.
  [[nodiscard]] int port() const;
  // The address with that port, "" if off.
  [[nodiscard]] std::string address() const;

 private:
  struct Server;
  [[nodiscard]] bool serve(std::string_view address);

  const Metrics& metrics_;
  std::string listen_;
  std::unique_ptr<Server> server_;
};

}  // namespace plnet::runtime
