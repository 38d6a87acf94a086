// SPDX-License-Identifier: BSD-3-Clause
#include "node/net/kfi/lab_nic.hpp"

#include <fmt/format.h>

#include "node/net/kfi/settings.hpp"

namespace plnet::node {
namespace {

// A wire is a memif, whose server listens.
LabKeys soft_nic(const LabPort& port) {
  return {{"backend", "soft"},
          {"port", fmt::format("net_memif{0},role={1},id=0,socket-abstract=no,"
                               "socket={2}/memif{0}.sock",
                               port.wire, port.listens ? "server" : "client", port.folder)},
          {"address", port.address}};
}

}  // namespace

constexpr LabNic kKfiLabNic{
    .network = "kfi", .interface_name = "cxi", .section = "kfi", .keys = soft_nic};

}  // namespace plnet::node
