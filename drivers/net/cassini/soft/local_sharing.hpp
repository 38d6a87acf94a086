// SPDX-License-Identifier: BSD-3-Clause
// Sharing among the processes of a host, in a file that all of them map. Each process has a slot in
// it and holds a lock on a byte of the file, which the kernel gives back when the process ends: its
// use then counts no more. Services and counters stay in the file.
//
// Values of the file are not trusted: another process may write anything there, which spoils the
// services of this NIC and nothing else.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "drivers/net/cassini/soft/local_handles.hpp"
#include "drivers/net/cassini/soft/sharing.hpp"
#include "drivers/net/cassini/soft/wire.hpp"
#include "lib/base/result.hpp"

namespace plnet::cassini::soft {

class LocalSharing final : public Sharing {
 public:
  // `first` are the services of a NIC that is new, or that no process uses while they are not those
  // of its last start any more: as if the driver was loaded again.
  // `patience_ms`: how long lock() waits.
  [[nodiscard]] static plnet::Outcome<std::unique_ptr<LocalSharing>> open(
      const std::string& path, std::span<const Service> first, int patience_ms = 2000);
  // Name of the file in a directory.
  [[nodiscard]] static std::string file_name(NicAddress nic);
  ~LocalSharing() override;
  LocalSharing(const LocalSharing&) = delete;
  LocalSharing& operator=(const LocalSharing&) = delete;

  [[nodiscard]] bool lock() override;
  void unlock() override;
  [[nodiscard]] std::uint32_t version() const override;
  [[nodiscard]] std::vector<Service> load() const override;
  void store(unsigned row, const Service& service) override;
  void tell(unsigned row, unsigned use, unsigned number) override;
  [[nodiscard]] unsigned others(unsigned row, unsigned use) const override;
  bool forget_ended() override;
  void tell_counters(std::span<const std::uint64_t> counts) override;
  [[nodiscard]] std::uint64_t counted_by_others(unsigned counter) const override;

 private:
  struct Memory;
  explicit LocalSharing(int patience_ms) : patience_ms_(patience_ms) {}
  [[nodiscard]] Memory& memory() const;
  [[nodiscard]] bool take_slot();
  [[nodiscard]] bool is_alone();
  [[nodiscard]] plnet::Outcome<void> start(const std::string& path, std::span<const Service> first);
  void finish_store();

  const int patience_ms_;
  LocalDescriptor file_;
  LocalMapping mapping_;
  static constexpr unsigned kNoSlot = kSharesMax;
  unsigned slot_ = kNoSlot;
  std::array<std::uint64_t, kCountersMax> before_{};  // counted by former owners of the slot
};

}  // namespace plnet::cassini::soft
