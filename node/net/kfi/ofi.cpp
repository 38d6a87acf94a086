// SPDX-License-Identifier: BSD-3-Clause
#include "node/net/kfi/ofi.hpp"

#include <algorithm>
#include <utility>

#include <arpa/inet.h>

#include "drivers/net/ofi/endpoint.hpp"

namespace plnet::node {
namespace {

ofi::DeviceConfig config_of(const KfiInterface& interface, std::uint32_t process) {
  return {.provider = interface.provider,
          .addresses = {.family = interface.ip.empty() ? ofi::Family::kName : ofi::Family::kInet},
          .nic_address = ofi_address(interface),
          .service = process};
}

class Opened final : public KfiOfi {
 public:
  Opened(std::unique_ptr<ofi::Device> device, std::unique_ptr<ofi::Endpoint> endpoint)
      : device_(std::move(device)), endpoint_(std::move(endpoint)) {}
  kfilnd::EndpointDriver& driver() override { return *endpoint_; }
  Pollable& pollable() override { return *endpoint_; }

 private:
  std::unique_ptr<ofi::Device> device_;
  std::unique_ptr<ofi::Endpoint> endpoint_;
};

}  // namespace

std::uint32_t ofi_address(const KfiInterface& interface) {
  if (interface.ip.empty()) return static_cast<std::uint32_t>(interface.address);
  in_addr at{};
  (void)::inet_pton(AF_INET, interface.ip.c_str(), &at);  // the settings were checked
  return ntohl(at.s_addr);
}

unsigned ofi_contexts_max() {
  return ofi::kContextsMax;
}

Outcome<void> try_ofi(const KfiInterface& interface) {
  const ArenaTable none;
  auto device = ofi::Device::open(config_of(interface, 0), none);
  if (!device) return std::unexpected(std::move(device.error()));
  return {};
}

Outcome<std::unique_ptr<KfiOfi>> open_ofi(const KfiInterface& interface,
                                          const KfiOfiRequest& request, const ArenaTable& arenas,
                                          kfilnd::EndpointEvents& events) {
  auto device = ofi::Device::open(config_of(interface, request.process), arenas);
  if (!device) return std::unexpected(std::move(device.error()));
  ofi::EndpointConfig config{
      .limits = {.receive_contexts = static_cast<std::uint8_t>(request.contexts),
                 .receive_context = request.context,
                 .operations_max = request.operations_max},
      .seed = request.seed};
  config.operation_time = std::min(config.operation_time, request.lnd_timeout / 4);
  config.connect_time = std::min(config.connect_time, request.lnd_timeout / 4);
  config.not_ready_time = std::min(config.not_ready_time, request.lnd_timeout / 8);
  auto endpoint = ofi::Endpoint::create(**device, config, events);
  if (!endpoint) return std::unexpected(std::move(endpoint.error()));
  return std::make_unique<Opened>(std::move(*device), std::move(*endpoint));
}

}  // namespace plnet::node
