// SPDX-License-Identifier: BSD-3-Clause
// A sweep as read from its file: the node to place, the factors, the measurement.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "apps/lnet-pin/plan/factor.hpp"
#include "apps/lnet-selftest/run/plan.hpp"
#include "lib/base/clock.hpp"
#include "lib/base/result.hpp"

namespace plnet::node {
struct LabNic;
}

namespace plnet::pin {

enum class Role : std::uint8_t { kClient, kServer, kRouter };
inline constexpr std::array<Role, 3> kRoles{Role::kClient, Role::kServer, Role::kRouter};
[[nodiscard]] std::string_view text_of(Role role);

enum class Design : std::uint8_t { kFull, kFractional, kOneFactor };
[[nodiscard]] std::string_view text_of(Design design);

// The traffic. With a router it flows from the client's network to the server's.
struct Workload {
  bool routed = false;
  std::vector<std::string> networks{"tcp"};  // of the client's side, of the server's
  run::Operation test = run::Operation::kWrite;
  std::uint32_t size = std::uint32_t{1} << 20U;
  std::uint32_t concurrency = 8;
  Duration warm_up = std::chrono::milliseconds(500);
  Duration duration = std::chrono::seconds(2);

  bool operator==(const Workload&) const = default;
};

// A host other than this one. Without any, all nodes are in namespaces of this machine.
struct RemoteHost {
  std::string on{};                      // "ssh:HOST", "slurm:JOB:HOST"; "": here
  std::vector<std::string> addresses{};  // of its NIs: one, or for a router one for each side
  // Keys of its named NICs by their section below `plnet:`, unchanged.
  std::map<std::string, std::map<std::string, std::string>, std::less<>> nics{};

  bool operator==(const RemoteHost&) const = default;
};

struct Sweep {
  std::string name = "sweep";
  std::uint64_t seed = 1;
  Role measured = Role::kServer;
  Workload workload{};
  std::vector<unsigned> others{};         // CPUs of the other nodes; empty: the last one
  std::vector<std::string> interfaces{};  // interfaces whose queues and interrupts are placed
  std::vector<Factor> factors{};          // those with levels of their own
  Design design = Design::kFull;
  std::map<Role, RemoteHost> hosts{};
  unsigned rounds_min = 7;  // minimum for one comparison
  unsigned rounds_max = 20;
  double confidence = 0.95;
  double precision_percent = 2;
  Duration budget = std::chrono::hours(1);
  double steal_max_percent = 2;  // above this, the round is repeated

  bool operator==(const Sweep&) const = default;
};

inline constexpr unsigned kRoundsMax = 1000;
inline constexpr std::size_t kSweepBytesMax = std::size_t{1} << 20U;

// The NICs of networks of that type, such as "tcp1"; null: not supported.
[[nodiscard]] const node::LabNic* lab_nic_of(std::string_view network);

// Errors name the file, the line and the column.
[[nodiscard]] Outcome<Sweep> read_sweep(std::string_view text, std::string_view file_name);

// A first sweep for this number of CPUs: the default of `lnet-pin run` without a file.
[[nodiscard]] std::string default_sweep(std::size_t cpus);

}  // namespace plnet::pin
