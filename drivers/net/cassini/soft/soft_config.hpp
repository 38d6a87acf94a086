// SPDX-License-Identifier: BSD-3-Clause
// The devices of libcxi.so.1, from a file of lines "name = value" (see doc/cassini.md).
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "drivers/net/cassini/soft/service.hpp"
#include "drivers/net/cassini/soft/wire.hpp"

namespace plnet::cassini::soft {

struct SoftConfig {
  static constexpr unsigned kDevicesMax = 16;
  static constexpr unsigned kServicesMax = 16;  // the highest number of one
  // Triggered operations that the default service keeps (cass_svc.c: default_svc_num_tles).
  static constexpr unsigned kTriggeredKept = 512;
  static constexpr NicAddress kFirstAddress = 0x100;

  // One device for each address, cxi0 first.
  std::vector<NicAddress> addresses{kFirstAddress, kFirstAddress + 1};
  // VNIs of the default service; empty: any.
  std::vector<std::uint16_t> vnis;
  // Services beside the default one, by their numbers.
  std::vector<Service> services;
  // One bit for each traffic class that the devices have (NicOptions).
  unsigned traffic_classes = kAllTrafficClasses;
  bool strict = false;  // NicOptions
  // Directory of the fabric that the devices share with other processes of the host
  // (wire_local.hpp); empty: they are joined in their process.
  std::string fabric;
  // Directory of this host for the services that processes share and for files of the driver
  // (driver_files.hpp); empty: services are in `fabric`, and there are no files.
  std::string state;
};

// The error names the line: "line 3: no such setting: device".
[[nodiscard]] std::expected<SoftConfig, std::string> parse_soft_config(std::string_view text);

}  // namespace plnet::cassini::soft
