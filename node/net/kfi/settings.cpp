// SPDX-License-Identifier: BSD-3-Clause
#include "node/net/kfi/settings.hpp"

#include <algorithm>
#include <utility>

#include <arpa/inet.h>
#include <fmt/format.h>

#include "lib/base/interface_name.hpp"
#include "lib/runtime/config/schema_binding.hpp"
#include "lib/runtime/config/settings_section.hpp"

namespace plnet::node {
namespace {

using runtime::Key;
using runtime::KeyKind;

Outcome<void> check_kfi_interface(std::string_view name) {
  if (is_interface_name(name)) return {};
  return failure(Errc::kInvalid, fmt::format("expected {}", kInterfaceNameExpected));
}

Outcome<void> check_library(std::string_view path) {
  constexpr std::size_t kPathMax = 4095;  // the system's
  if (!path.empty() && path.size() <= kPathMax) return {};
  return failure(Errc::kInvalid, "expected the name or the path of a library");
}

// "net_memif0,role=server,id=0" or "0000:81:00.0".
Outcome<void> check_port(std::string_view text) {
  constexpr std::size_t kPortMax = 512;
  const bool plain = std::ranges::all_of(text, [](char c) { return c > ' ' && c < 0x7f; });
  if (plain && text.size() <= kPortMax && !text.starts_with(',') && !text.ends_with(',')) return {};
  return failure(Errc::kInvalid,
                 "expected DRIVER[,KEY=VALUE...] such as net_memif0,role=server, or a PCI address");
}

// "shm", "net", "tcp;ofi_rxm".
Outcome<void> check_provider(std::string_view text) {
  constexpr std::size_t kProviderMax = 64;
  const bool plain = std::ranges::all_of(text, [](char c) { return c > ' ' && c < 0x7f; });
  if (plain && text.size() <= kProviderMax) return {};
  return failure(Errc::kInvalid, "expected a provider of libfabric such as shm or net");
}

Outcome<void> check_kfi_ip(std::string_view text) {
  in_addr ignored{};
  if (text.empty() || ::inet_pton(AF_INET, std::string(text).c_str(), &ignored) == 1) return {};
  return failure(Errc::kInvalid, "expected an IPv4 address such as 10.0.0.7");
}

constexpr std::array kKfiInterfaceKeys{
    Key{.name = "name",
        .kind = KeyKind::kText,
        .help = "As `net add --if` says it. With libcxi the name of the device.",
        .optional = true,
        .check = check_kfi_interface,
        .example = "cxi0",
        .binding = PLNET_FIELD(KfiInterface, name)},
    Key{.name = "backend",
        .kind = KeyKind::kWord,
        .help = "libcxi: a Slingshot NIC; soft: a NIC in software on a port of DPDK; ofi: a "
                "provider of libfabric, among plnet nodes.",
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
        .help = "With soft the NIC's address; the lowest 20 bits of the port's MAC if left out. "
                "With ofi on shm the number in the NID, another for each node of the host.",
        .low = 0,
        .high = 0xffffe,  // the highest of 20 bits stands for all NICs
        .optional = true,
        .binding = PLNET_FIELD(KfiInterface, address)},
    Key{.name = "mtu",
        .kind = KeyKind::kInteger,
        .help = "With soft the port's MTU; 0 = as it is.",
        .low = 0,
        .high = 9600,
        .unit = "bytes",
        .binding = PLNET_FIELD(KfiInterface, mtu)},
    Key{.name = "provider",
        .kind = KeyKind::kText,
        .help = "With ofi the provider: shm (one host), or one over IPv4 such as net.",
        .check = check_provider,
        .binding = PLNET_FIELD(KfiInterface, provider)},
    Key{.name = "ip",
        .kind = KeyKind::kText,
        .help = "With ofi over IPv4 the address that peers reach; the NID has it as a number.",
        .check = check_kfi_ip,
        .binding = PLNET_FIELD(KfiInterface, ip)},
    Key{.name = "nis",
        .kind = KeyKind::kInteger,
        .help = "How many networks can share it; 0 = those that are configured at start, at least "
                "2.",
        .low = 0,
        .high = kKfiNisMax,
        .binding = PLNET_FIELD(KfiInterface, nis)},
};

constexpr std::array kKfiKeys{
    Key{.name = "library",
        .kind = KeyKind::kText,
        .help = "libcxi, where the loader finds it, or with its path.",
        .check = check_library,
        .binding = PLNET_SECTION_FIELD(KfiSettings, library)},
    Key{.name = "interfaces",
        .kind = KeyKind::kRecords,
        .help = "NICs that kfi networks can use, opened at start.",
        .high = kKfiInterfacesMax,
        .children = kKfiInterfaceKeys,
        .binding = PLNET_SECTION_RECORDS(KfiSettings, interfaces),
        .origin = PLNET_ORIGIN(KfiInterface, origin)},
};

std::string wrong_with_ofi(const KfiInterface& interface) {
  if (!interface.port.empty() || interface.mtu != 0) return "port and mtu go with `backend: soft`";
  if (interface.provider.empty()) return "backend ofi without a provider, expected shm or net";
  const bool by_name = interface.provider == "shm";
  if (by_name != (interface.address >= 0) || by_name != interface.ip.empty()) {
    return by_name ? "provider shm needs an address, another one for each node of the host, and "
                     "has no ip"
                   : "a provider over IPv4 needs an ip, and has no address";
  }
  return "";
}

std::string wrong_with(const KfiInterface& interface) {
  if (interface.name.empty()) return "no name, expected one such as cxi0";
  if (interface.backend != KfiBackend::kOfi &&
      (!interface.provider.empty() || !interface.ip.empty()))
    return "provider and ip go with `backend: ofi`";
  if (interface.backend == KfiBackend::kSoft) {
    return interface.port.empty() ? "backend soft without a port, expected one such as "
                                    "\"net_memif0,role=server,id=0,socket=/run/x.sock\""
                                  : "";
  }
  if (interface.backend == KfiBackend::kOfi) return wrong_with_ofi(interface);
  const bool has_soft = !interface.port.empty() || interface.address >= 0 || interface.mtu != 0;
  return has_soft ? "port, address and mtu go with `backend: soft`" : "";
}

void check_interfaces(const runtime::SectionValues& values,
                      const runtime::SectionComplaint& complain) {
  const auto& interfaces = values.of<KfiSettings>().interfaces;
  const auto port_name = [](const KfiInterface& each) {
    return each.port.substr(0, each.port.find(','));
  };
  for (std::size_t i = 0; i < interfaces.size(); ++i) {
    const KfiInterface& interface = interfaces[i];
    std::string what = wrong_with(interface);
    for (std::size_t k = 0; k < i && what.empty(); ++k) {
      if (interfaces[k].name == interface.name)
        what = fmt::format("interface {} is there twice", interface.name);
      else if (!interface.port.empty() && port_name(interfaces[k]) == port_name(interface))
        what = fmt::format("port {} is that of another interface", port_name(interface));
    }
    if (!what.empty()) complain(fmt::format("interfaces[{}]", i), std::move(what));
  }
}

}  // namespace

constinit const runtime::SettingsSection kKfiSection{.name = KfiSettings::kSection,
                                                     .help = "NICs of kfi networks.",
                                                     .keys = kKfiKeys,
                                                     .check = check_interfaces};

}  // namespace plnet::node
