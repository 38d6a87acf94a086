// SPDX-License-Identifier: BSD-3-Clause
// The rows of `plnet: kfi`.
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

#include <fmt/format.h>

#include "lib/base/interface_name.hpp"
#include "lib/runtime/config/schema.hpp"
#include "lib/runtime/config/schema_binding.hpp"

namespace plnet::runtime {

inline Outcome<void> check_kfi_interface(std::string_view name) {
  if (is_interface_name(name)) return {};
  return failure(Errc::kInvalid, fmt::format("expected {}", kInterfaceNameExpected));
}

inline Outcome<void> check_library(std::string_view path) {
  constexpr std::size_t kPathMax = 4095;  // the system's
  if (!path.empty() && path.size() <= kPathMax) return {};
  return failure(Errc::kInvalid, "expected the name or the path of a library");
}

// "net_memif0,role=server,id=0" or "0000:81:00.0".
inline Outcome<void> check_port(std::string_view text) {
  constexpr std::size_t kPortMax = 512;
  const bool plain = std::ranges::all_of(text, [](char c) { return c > ' ' && c < 0x7f; });
  if (plain && text.size() <= kPortMax && !text.starts_with(',') && !text.ends_with(',')) return {};
  return failure(Errc::kInvalid,
                 "expected DRIVER[,KEY=VALUE...] such as net_memif0,role=server, or a PCI address");
}

inline constexpr std::array kKfiInterfaceKeys{
    Key{.name = "name",
        .kind = KeyKind::kText,
        .help = "As `net add --if` says it. With libcxi the name of the device.",
        .optional = true,
        .check = check_kfi_interface,
        .example = "cxi0",
        .binding = PLNET_FIELD(KfiInterface, name)},
    Key{.name = "backend",
        .kind = KeyKind::kWord,
        .help = "libcxi: a Slingshot NIC; soft: a NIC in software on a port of DPDK.",
        .words = kKfiBackendNames,
        .binding = PLNET_FIELD(KfiInterface, backend)},
    Key{.name = "service",
        .kind = KeyKind::kInteger,
        .help = "With libcxi the CXI service that its queues are taken from.",
        .low = 1,
        .high = 65535,
        .binding = PLNET_FIELD(KfiInterface, service)},
    Key{.name = "port",
        .kind = KeyKind::kText,
        .help = "With soft the port: a virtual one as DPDK's --vdev has it, or a PCI address.",
        .check = check_port,
        .binding = PLNET_FIELD(KfiInterface, port)},
    Key{.name = "address",
        .kind = KeyKind::kInteger,
        .help = "With soft the NIC's address; the lowest 20 bits of the port's MAC if left out.",
        .low = 0,
        .high = 0xffffe,  // the highest of 20 bits means everybody
        .optional = true,
        .binding = PLNET_FIELD(KfiInterface, address)},
    Key{.name = "mtu",
        .kind = KeyKind::kInteger,
        .help = "With soft the port's MTU; 0 = as it is.",
        .low = 0,
        .high = 9600,
        .unit = "bytes",
        .binding = PLNET_FIELD(KfiInterface, mtu)},
};

inline constexpr std::array kKfiKeys{
    Key{.name = "library",
        .kind = KeyKind::kText,
        .help = "libcxi, where the loader finds it, or with its path.",
        .check = check_library,
        .binding = PLNET_FIELD(Document, settings.kfi.library)},
    Key{.name = "interfaces",
        .kind = KeyKind::kRecords,
        .help = "NICs that kfi networks can use, opened at start.",
        .high = kKfiInterfacesMax,
        .children = kKfiInterfaceKeys,
        .binding = PLNET_RECORDS(Document, settings.kfi.interfaces)},
};

}  // namespace plnet::runtime
