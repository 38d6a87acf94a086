// SPDX-License-Identifier: BSD-3-Clause
// The PIDs of NICs that processes of one host share, in a file beside the socket of each NIC. It
// has a byte for each VNI and PID: the share of the process that has it, plus 1. The owner holds a
// lock on its byte, which the kernel gives back when the process ends; its value then stays, and
// counts for nothing.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>

#include "drivers/net/cassini/soft/local_handles.hpp"
#include "drivers/net/cassini/soft/pid_owners.hpp"
#include "drivers/net/cassini/soft/wire.hpp"
#include "lib/base/result.hpp"

namespace plnet::cassini::soft {

// PIDs of the own NIC.
class LocalPids final : public PidOwners {
 public:
  // `path` is that of the NIC's first socket.
  [[nodiscard]] plnet::Outcome<void> open(const std::string& path, unsigned share);
  [[nodiscard]] bool claim(unsigned vni, unsigned pid) override;
  void release(unsigned vni, unsigned pid) override;

 private:
  LocalDescriptor file_;
  std::uint8_t mark_ = 0;
};

// Owners of PIDs of any NIC. An answer is valid for a while, so that messages need no
// system call each.
class LocalPidReader {
 public:
  static constexpr std::uint64_t kValidNs = 1'000'000;
  static constexpr std::size_t kFilesMax = 256;

  // The last answer, if it is still valid.
  [[nodiscard]] std::optional<unsigned> known_share(NicAddress nic, unsigned vni, unsigned pid,
                                                    std::uint64_t now_ns) const;
  // The share that has the PID, or had it last; 0: none. Invalid bytes count as none.
  unsigned look_up_share(const std::string& path, NicAddress nic, unsigned vni, unsigned pid,
                         std::uint64_t now_ns);

 private:
  struct Answer {
    std::uint64_t key = 0;
    std::uint64_t until_ns = 0;
    unsigned share = 0;
  };
  static constexpr std::size_t kAnswers = 256;
  static std::size_t home_of(std::uint64_t key);
  [[nodiscard]] int file_of(const std::string& path, NicAddress nic);

  std::array<Answer, kAnswers> answers_{};  // by a hash of NIC, VNI and PID
  std::unordered_map<NicAddress, LocalDescriptor> files_;
};

}  // namespace plnet::cassini::soft
