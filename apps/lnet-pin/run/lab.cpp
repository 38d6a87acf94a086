// SPDX-License-Identifier: BSD-3-Clause
#include "apps/lnet-pin/run/lab.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include "apps/lnet-pin/run/child.hpp"
#include "node/net/lab_nic.hpp"

namespace plnet::pin {
namespace {

constexpr unsigned kFirstNet = 201;  // 10.201.SIDE.ROLE: addresses within namespaces only

using Words = std::vector<std::string>;

unsigned number_of(Role role) {
  return 1 + static_cast<unsigned>(role);
}

std::string address_of(Role role, std::size_t side) {
  return fmt::format("10.{}.{}.{}", kFirstNet, side, number_of(role));
}

// The address of a software NIC: any unused number.
unsigned nic_address(Role role, std::size_t side) {
  constexpr unsigned kFirst = 0x100;
  return kFirst + 16 * static_cast<unsigned>(side) + number_of(role);
}

}  // namespace

Lab::Lab(const Sweep& sweep, Changes& changes)
    : sweep_(sweep),
      changes_(changes),
      tag_(fmt::format("plnet-pin-{}", ::getpid())),
      folder_(fmt::format("/tmp/lnet-pin-{}", ::getpid())) {}

Outcome<std::unique_ptr<Lab>> Lab::set_up(const Sweep& sweep, Changes& changes) {
  std::unique_ptr<Lab> lab(new Lab(sweep, changes));
  if (auto done = changes.note_folder(lab->folder_); !done)
    return std::unexpected(std::move(done.error()));
  if (auto done = run_command({"mkdir", "-m", "700", lab->folder_}); !done)
    return std::unexpected(std::move(done.error()));
  if (!sweep.hosts.empty()) return lab;
  if (auto done = lab->make_namespaces(); !done) return std::unexpected(std::move(done.error()));
  return lab;
}

std::vector<Role> Lab::roles() const {
  if (!sweep_.workload.routed) return {Role::kServer, Role::kClient};
  return {Role::kRouter, Role::kServer, Role::kClient};
}

std::size_t Lab::side_of(Role role) const {
  return role == Role::kServer && sweep_.workload.routed ? 1 : 0;
}

std::string Lab::namespace_of(Role role) const {
  return fmt::format("{}-{}", tag_, text_of(role));
}

bool Lab::is_local(Role role) const {
  const auto host = sweep_.hosts.find(role);
  return host == sweep_.hosts.end() || host->second.on.empty();
}

std::vector<std::string> Lab::prefix(Role role) const {
  const auto host = sweep_.hosts.find(role);
  if (host == sweep_.hosts.end()) return {"ip", "netns", "exec", namespace_of(role)};
  const std::string& on = host->second.on;
  if (on.empty()) return {};
  const std::string name = on.substr(on.rfind(':') + 1);
  if (on.starts_with("ssh:"))
    return {
        "ssh", "-o", "BatchMode=yes", "-o", "ServerAliveInterval=5", "-o", "ServerAliveCountMax=3",
        name};
  const std::string job = on.substr(6, on.rfind(':') - 6);
  return {"srun",       "--jobid=" + job, "--nodelist=" + name, "--nodes=1",
          "--ntasks=1", "--overlap",      "--cpu-bind=none"};
}

const std::string& Lab::network_of(std::size_t side) const {
  return sweep_.workload.networks[sweep_.workload.routed ? side : 0];
}

const node::LabNic& Lab::nic(std::size_t side) const {
  return *lab_nic_of(network_of(side));
}

bool Lab::is_in_software(std::size_t side) const {
  return sweep_.hosts.empty() && nic(side).is_named();
}

std::string Lab::nid(Role role, std::size_t side) const {
  const std::string& network = network_of(side);
  const auto host = sweep_.hosts.find(role);
  if (host != sweep_.hosts.end()) {
    const auto& addresses = host->second.addresses;
    return addresses[role == Role::kRouter ? side : 0] + "@" + network;
  }
  if (is_in_software(side)) return fmt::format("{}@{}", nic_address(role, side), network);
  return address_of(role, side) + "@" + network;
}

Outcome<void> Lab::make_namespaces() {
  for (const Role role : roles()) {
    const std::string name = namespace_of(role);
    if (auto done = changes_.note_namespace(name); !done) return done;
    for (const Words& words :
         {Words{"ip", "netns", "add", name}, Words{"ip", "-n", name, "link", "set", "lo", "up"}}) {
      if (auto done = run_command(words); !done) {
        return failure(
            done.error().code,
            done.error().what + "; network namespaces take root (CAP_SYS_ADMIN, CAP_NET_ADMIN)");
      }
    }
  }
  if (!sweep_.workload.routed) return wire(Role::kClient, 0, Role::kServer);
  if (auto done = wire(Role::kClient, 0, Role::kRouter); !done) return done;
  return wire(Role::kRouter, 1, Role::kServer);
}

Outcome<void> Lab::wire(Role left, std::size_t side, Role right) {
  const std::string device = fmt::format("eth{}", side);
  const std::string one = namespace_of(left);
  const std::string other = namespace_of(right);
  std::vector<Words> commands{{"ip", "-n", one, "link", "add", device, "type", "veth", "peer",
                               "name", device, "netns", other}};
  for (const auto& [space, role] : {std::pair(one, left), std::pair(other, right)}) {
    commands.push_back(
        {"ip", "-n", space, "address", "add", address_of(role, side) + "/24", "dev", device});
    commands.push_back({"ip", "-n", space, "link", "set", device, "up"});
  }
  for (const Words& words : commands) {
    if (auto done = run_command(words); !done) return std::unexpected(std::move(done.error()));
  }
  return {};
}

}  // namespace plnet::pin
