// SPDX-License-Identifier: BSD-3-Clause
// A kfi node on a DPDK port in a process of its own: the EAL, a software Cassini, the driver's
// endpoint, and the work of the far end of a test or benchmark. Requests travel as messages; bulk
// is verified byte by byte on request.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "drivers/net/cassini/endpoint.hpp"
#include "drivers/net/cassini/soft/link/fault_frames.hpp"
#include "drivers/net/cassini/soft/link/node_on_ethdev.hpp"
#include "lib/base/arena.hpp"
#include "lib/base/result.hpp"
#include "lib/runtime/host/eal.hpp"
#include "lib/runtime/poll/tsc_clock.hpp"

namespace plnet::bench {

enum class KfiAsk : std::uint32_t {
  kNothing,  // to be counted
  kEcho,     // send it back
  kPut,      // read my tagged buffer
  kGet,      // write into it
  kSpoil,    // from now on `length` of a million frames are lost
  kReport,   // send back the number of received messages as the tag
};

// The contents of a message, in the layout that both ends of the same build share.
struct KfiWords {
  KfiAsk ask = KfiAsk::kNothing;
  std::uint32_t nic = 0;  // of the sender
  std::uint64_t cookie = 0;
  std::uint32_t tag = 0;
  std::uint32_t length = 0;
};

struct KfiNodeOptions {
  std::string vdev;  // net_memif0,role=server,...
  unsigned cpu = 0;
  std::uint64_t time_divisor = 1;  // of the retry handler
  cassini::soft::WireEthdevOptions wire{};
};

class KfiNode final : public kfilnd::EndpointEvents {
 public:
  static constexpr unsigned kService = 1;
  static constexpr std::uint32_t kBulkMax = 1U << 20U;
  static constexpr unsigned kBulkPlaces = 8;

  [[nodiscard]] static Outcome<std::unique_ptr<KfiNode>> start(const KfiNodeOptions& options);
  ~KfiNode() override;

  // Polls everything once. Returns the amount of work.
  unsigned turn();
  [[nodiscard]] std::uint64_t now_ns() const {
    return static_cast<std::uint64_t>(clock_.now().time_since_epoch().count());
  }
  [[nodiscard]] kfilnd::Target peer(std::uint32_t nic);
  [[nodiscard]] Result<void> send(const kfilnd::Target& to, const KfiWords& words,
                                  std::uint64_t cookie);
  // A buffer for bulk, its memory, and its contents for `cookie`.
  [[nodiscard]] static Fragment place(unsigned number, std::uint32_t length);
  [[nodiscard]] std::span<std::byte> bytes(const Fragment& fragment);
  static void fill(std::span<std::byte> bytes, std::uint64_t cookie);
  [[nodiscard]] static bool is_filled(std::span<const std::byte> bytes, std::uint64_t cookie);

  [[nodiscard]] cassini::soft::NodeOnEthdev& node() { return *node_; }
  [[nodiscard]] cassini::Endpoint& endpoint() { return *endpoint_; }
  [[nodiscard]] cassini::soft::FrameFaults& faults() { return *faults_; }
  [[nodiscard]] std::uint32_t nic() const { return node_->wire().status().address; }

  // An own send or operation has ended; cookies below kOwn only.
  std::function<void(const kfilnd::FabricCompletion&)> on_end;
  std::function<void(const KfiWords&)> on_words;  // an answer
  std::uint64_t messages = 0;
  std::uint64_t damaged = 0;
  bool link_up = true;  // as last reported
  bool verifies = true;

  void on_completions(std::span<const kfilnd::FabricCompletion> burst) override;
  void on_link(bool usable, std::uint64_t nic_address) override;

 private:
  KfiNode() = default;
  static constexpr std::uint64_t kOwn = std::uint64_t{1} << 60;  // cookies of answers and buffers
  static constexpr unsigned kBuffers = 8;
  static constexpr std::uint32_t kBufferBytes = 1U << 17U;
  struct Owed {
    KfiWords words;
    unsigned place = 0;
  };

  void serve(const KfiWords& words);
  bool pay(const Owed& owed);
  void bulk_done(unsigned place, bool good);

  runtime::TscClock clock_;
  std::unique_ptr<runtime::Eal> eal_;
  std::unique_ptr<cassini::soft::NodeOnEthdev> node_;
  std::unique_ptr<cassini::soft::FrameFaults> faults_;
  std::vector<std::byte> memory_;
  ArenaTable arenas_;
  std::unique_ptr<cassini::Device> device_;
  std::unique_ptr<cassini::Endpoint> endpoint_;
  std::deque<Owed> owed_;
  std::vector<unsigned> to_post_;
  std::vector<unsigned> free_places_;  // for bulk that others request
  std::array<KfiWords, kBulkPlaces> asked_{};
  std::vector<std::pair<std::uint32_t, kfilnd::Target>> peers_;
};

}  // namespace plnet::bench
