// SPDX-License-Identifier: BSD-3-Clause
// One end of libfabric's shm between two processes, twice: our endpoint, and the plain provider.
// Each does the same work for the other end.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "drivers/net/ofi/endpoint.hpp"
#include "lib/base/arena.hpp"
#include "lib/base/result.hpp"
#include "lib/runtime/poll/tsc_clock.hpp"

namespace plnet::bench {

struct OfiWords {
  enum class Ask : std::uint32_t {
    kNothing,  // to be counted
    kEcho,     // send it back
    kPut,      // read my tagged buffer
  };
  Ask ask = Ask::kNothing;
  std::uint32_t tag = 0;
  std::uint64_t address = 0;  // plain provider: address of the answering end's memory, and its key
  std::uint64_t key = 0;
};

// Places for bulk, and buffers for messages.
struct OfiMemory {
  static constexpr std::uint32_t kBulkMax = 1U << 20U;
  static constexpr unsigned kPlaces = 8;
  static constexpr std::uint32_t kBufferBytes = 1U << 17U;
  static constexpr unsigned kBuffers = 8;
  static constexpr std::uint64_t kBuffersAt = std::uint64_t{kBulkMax} * kPlaces;

  OfiMemory();
  [[nodiscard]] static Fragment place(std::uint64_t number, std::uint32_t length) {
    return {{0, number % kPlaces * kBulkMax}, length};
  }
  std::vector<std::byte> bytes;
  ArenaTable arenas;
};

class OfiNode final : public kfilnd::EndpointEvents {
 public:
  // `service` and `other`: the two ends on the NIC address `nic`.
  [[nodiscard]] static Outcome<std::unique_ptr<OfiNode>> start(std::uint64_t nic, unsigned service,
                                                               unsigned other);
  unsigned turn();
  [[nodiscard]] Result<void> send(const OfiWords& words, std::uint64_t cookie);
  // Posts one of our places and asks the other end to read it.
  [[nodiscard]] bool begin_bulk(std::uint64_t number, std::uint32_t length);
  [[nodiscard]] std::uint64_t now_ns() const {
    return static_cast<std::uint64_t>(clock_.now().time_since_epoch().count());
  }

  std::uint64_t begun = 0, ended = 0, bad = 0, bulk_done = 0;

  void on_completions(std::span<const kfilnd::FabricCompletion> burst) override;
  void on_link(bool, std::uint64_t) override {}

 private:
  // cookies of operations that others request
  static constexpr std::uint64_t kOwn = std::uint64_t{1} << 60U;

  OfiNode() = default;
  bool pay(const OfiWords& words);

  runtime::TscClock clock_;
  OfiMemory memory_;
  std::unique_ptr<ofi::Device> device_;
  std::unique_ptr<ofi::Endpoint> endpoint_;
  kfilnd::Target peer_;
  std::deque<OfiWords> owed_;
  std::vector<unsigned> to_post_;
  std::uint64_t reads_ = 0;
  kfilnd::Tag tag_ = 0;
};

class BareNode {
 public:
  [[nodiscard]] static Outcome<std::unique_ptr<BareNode>> start(std::uint64_t nic, unsigned service,
                                                                unsigned other);
  ~BareNode();
  BareNode(const BareNode&) = delete;
  BareNode& operator=(const BareNode&) = delete;

  unsigned turn();
  [[nodiscard]] bool send(const OfiWords& words);
  // Reads the other end's memory, whose address came with an echo.
  [[nodiscard]] bool read(std::uint64_t number, std::uint32_t length);

  std::uint64_t answers = 0, read_done = 0;

 private:
  static constexpr unsigned kSlots = 512;
  struct Slot {
    fi_context2 space{};
    OfiWords words;
  };

  BareNode() : registered_(memory_.arenas, 0, 0) {}
  [[nodiscard]] Outcome<void> open(std::uint64_t nic, unsigned service);
  [[nodiscard]] bool find_peer();
  void post(Slot& slot);
  void on_words(const OfiWords& words);

  ofi::DeviceConfig config_;
  unsigned other_ = 0;
  OfiMemory memory_;
  std::unique_ptr<ofi::Device> device_;
  ofi::Port port_;
  ofi::Memory registered_;
  const ofi::Region* region_ = nullptr;
  fi_addr_t peer_ = FI_ADDR_NOTAVAIL;
  std::array<Slot, kSlots> slots_{};
  std::array<fi_context2, OfiMemory::kPlaces> reads_{};
  std::array<fi_cq_msg_entry, 32> entries_{};  // what turn() fetches
  std::uint64_t remote_ = 0, key_ = 0;
  bool owes_echo_ = false;
};

[[nodiscard]] ofi::DeviceConfig shm_config(std::uint64_t nic, unsigned service);

}  // namespace plnet::bench
