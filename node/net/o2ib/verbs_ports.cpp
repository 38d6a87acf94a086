// SPDX-License-Identifier: BSD-3-Clause
// linux Documentation/ABI/stable/sysfs-class-infiniband.
#include "node/net/o2ib/verbs_ports.hpp"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>

namespace plnet::node {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kInterfacesMax = 64;  // of a port, with VLANs and bonds

// "" for a missing or unreadable file.
std::string first_line(const fs::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

// The number at the beginning, decimal or with 0x.
template <class Number>
std::optional<Number> number_in(std::string_view text) {
  const bool hexadecimal = text.starts_with("0x");
  if (hexadecimal) text.remove_prefix(2);
  Number number = 0;
  const auto [at, error] =
      std::from_chars(text.data(), text.data() + text.size(), number, hexadecimal ? 16 : 10);
  if (error != std::errc{} || at == text.data()) return std::nullopt;
  return number;
}

std::vector<std::string> names_in(const fs::path& directory, std::size_t most) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator each(directory, error), end; !error && each != end;
       each.increment(error)) {
    if (names.size() == most) break;
    names.push_back(each->path().filename());
  }
  std::ranges::sort(names);
  return names;
}

void add_once(std::vector<std::string>& names, std::string name) {
  if (name.empty() || names.size() == kInterfacesMax) return;
  if (std::ranges::find(names, name) == names.end()) names.push_back(std::move(name));
}

// IPoIB and Ethernet interfaces of the device's function. Port 2 of a device of two ports has
// dev_port 1; older IPoIB drivers use dev_id.
void add_function_interfaces(const std::string& root, const fs::path& device, VerbsPort& port) {
  for (const std::string& name : names_in(device / "device" / "net", kInterfacesMax)) {
    const fs::path net = fs::path(root) / "class" / "net" / name;
    const unsigned by_port = number_in<unsigned>(first_line(net / "dev_port")).value_or(0);
    const unsigned by_id = number_in<unsigned>(first_line(net / "dev_id")).value_or(0);
    if (std::max(by_port, by_id) + 1 == port.port) add_once(port.interfaces, name);
  }
}

// RoCE GIDs name their interface, including VLANs and bonds.
void add_gid_interfaces(const fs::path& of_port, VerbsPort& port) {
  constexpr std::size_t kGidsMax = 1024;
  const fs::path owners = of_port / "gid_attrs" / "ndevs";
  for (const std::string& index : names_in(owners, kGidsMax))
    add_once(port.interfaces, first_line(owners / index));
}

// "100 Gb/sec (4X EDR)", "2.5 Gb/sec (1X SDR)".
std::uint32_t mbps_of(const std::string& rate) {
  const auto whole = number_in<std::uint32_t>(rate);
  if (!whole || *whole > 1'000'000) return 0;
  const auto point = rate.find('.');
  const bool half = point != std::string::npos && rate.substr(point + 1).starts_with('5');
  return *whole * 1000 + (half ? 500 : 0);
}

VerbsPort read_port(const std::string& root, const fs::path& device, const std::string& number) {
  const fs::path of_port = device / "ports" / number;
  VerbsPort port{
      .device = device.filename(),
      .port = number_in<unsigned>(number).value_or(1),
      .is_infiniband = first_line(of_port / "link_layer") == "InfiniBand",
      .active = first_line(of_port / "state").contains("ACTIVE"),
      .mbps = mbps_of(first_line(of_port / "rate")),
      .numa_node =
          number_in<int>(first_line(device / "device" / "numa_node")).value_or(kAnyNumaNode),
      .interfaces = {}};
  add_function_interfaces(root, device, port);
  add_gid_interfaces(of_port, port);
  add_once(port.interfaces, first_line(device / "parent"));  // rxe, siw
  return port;
}

}  // namespace

std::vector<VerbsPort> verbs_ports(const std::string& root) {
  std::vector<VerbsPort> ports;
  const fs::path all = fs::path(root) / "class" / "infiniband";
  for (const std::string& device : names_in(all, kVerbsPortsMax)) {
    for (const std::string& number : names_in(all / device / "ports", kVerbsPortsMax)) {
      if (ports.size() == kVerbsPortsMax) return ports;
      ports.push_back(read_port(root, all / device, number));
    }
  }
  return ports;
}

const VerbsPort* port_behind(const std::vector<VerbsPort>& ports, std::string_view interface) {
  const std::string_view name = interface.substr(0, interface.find(':'));
  const auto found = std::ranges::find_if(ports, [name](const VerbsPort& port) {
    return std::ranges::find(port.interfaces, name) != port.interfaces.end();
  });
  return found == ports.end() ? nullptr : &*found;
}

std::string no_verbs_device(std::string_view interface, const std::vector<VerbsPort>& ports) {
  std::string others;
  for (const VerbsPort& port : ports) {
    for (const std::string& name : port.interfaces) {
      others += fmt::format("{}{} ({} port {})", others.empty() ? "" : ", ", name, port.device,
                            port.port);
    }
  }
  const std::string what = fmt::format("no verbs device on interface {}; ", interface);
  if (!others.empty()) {
    return what + fmt::format("expected one of {}: `--if {}`", others, [&] {
             for (const VerbsPort& port : ports) {
               if (!port.interfaces.empty()) return port.interfaces.front();
             }
             return std::string();
           }());
  }
  if (!ports.empty()) {
    return what + fmt::format(
                      "{} port {} has no network interface: load ib_ipoib (`modprobe "
                      "ib_ipoib`) or give its interface an address",
                      ports.front().device, ports.front().port);
  }
  return what + fmt::format(
                    "this machine has none: load the driver of its adapter (`modprobe "
                    "mlx5_ib`), or `rdma link add rxe0 type rxe netdev {}` for RoCE in "
                    "software; `rdma link` lists devices",
                    interface);
}

}  // namespace plnet::node
