// SPDX-License-Identifier: BSD-3-Clause
// The fabric between simulated endpoints: the process behind each NIC address and service, and the
// fate of each operation. Operations have no order: each draws its own delay.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "drivers/net/sim/event_loop.hpp"
#include "drivers/net/sim/network.hpp"
#include "drivers/net/sim/shape.hpp"
#include "drivers/net/sim/stable_array.hpp"
#include "lib/base/random.hpp"
#include "lib/kfilnd/fabric_endpoint.hpp"

namespace plnet::drivers {

class SimEndpointDriver;

// A process on the fabric: all its endpoints have the same address and service.
struct EndpointProcess {
  std::uint64_t nic_address = 0;
  unsigned service = 0;

  friend bool operator==(const EndpointProcess&, const EndpointProcess&) = default;
};

// One send, read, write or answer, from the call to its completion.
struct EndpointOperation {
  enum class Kind : std::uint8_t { kSend, kRead, kWrite, kAnswer };

  Kind kind = Kind::kSend;
  SimEndpointDriver* from = nullptr;  // null when it has gone
  EndpointProcess to;
  std::uint8_t receive_context = 0;
  kfilnd::Tag tag = 0;
  std::uint64_t cookie = 0;
  std::uint64_t data = 0;        // kAnswer
  lnet::Payload local;           // kRead, kWrite
  std::span<std::byte> message;  // kSend; in a block of the simulation's pool
  Instant deadline{};
  Result<void> outcome;
  std::uint32_t generation = 0;
  std::uint32_t next_free = ~0U;
  std::uint32_t index = 0;  // its own index
  std::uint32_t tries = 0;
  bool in_use = false;
  bool transferring = false;  // the target's NIC uses its buffer
};

class SimEndpointFabric final : private EventSink {
 public:
  SimEndpointFabric(SimNetwork& network, const EndpointShape& shape, std::uint64_t seed);
  SimEndpointFabric(const SimEndpointFabric&) = delete;
  SimEndpointFabric& operator=(const SimEndpointFabric&) = delete;

  [[nodiscard]] SimNetwork& network() { return network_; }
  [[nodiscard]] Random& random() { return random_; }
  [[nodiscard]] const EndpointShape& shape() const { return shape_; }
  [[nodiscard]] std::size_t operations() const { return live_; }

  // A cable is pulled or plugged: all endpoints on that NIC are told.
  void set_link(std::uint64_t nic_address, bool usable);
  // The cable moves to another port of a switch, and the NIC has another address.
  void change_nic_address(std::uint64_t from, std::uint64_t to);

  // For SimEndpointDriver.
  [[nodiscard]] std::uint32_t add(SimEndpointDriver& driver);
  void remove(SimEndpointDriver& driver);
  [[nodiscard]] EndpointOperation& start(EndpointOperation::Kind kind, SimEndpointDriver& from);
  // Room for the bytes of a send.
  void make_message(EndpointOperation& operation, std::size_t bytes);
  // Starts the operation that start() has returned.
  void depart(EndpointOperation& operation);
  void cancel_later(std::uint32_t driver, kfilnd::Tag tag);

 private:
  enum class Kind : std::uint8_t { kArrive, kTransfer, kComplete, kCancel };
  struct Nic {
    HostId host = kNoHost;
    bool usable = true;
  };
  struct ProcessHash {
    std::size_t operator()(const EndpointProcess& process) const {
      return static_cast<std::size_t>(process.nic_address * 0x9e37'79b9'7f4a'7c15ULL +
                                      process.service);
    }
  };

  void on_event(std::uint64_t word) override;
  void schedule(Instant when, Kind kind, const EndpointOperation& operation);
  [[nodiscard]] SimEndpointDriver* endpoint(const EndpointOperation& operation);
  [[nodiscard]] bool reachable(HostId from, std::uint64_t nic_address) const;
  void arrive(EndpointOperation& operation);
  void take_tagged(EndpointOperation& operation, SimEndpointDriver& target);
  void transfer(EndpointOperation& operation);
  void retry(EndpointOperation& operation, Errc at_last);
  void answer(EndpointOperation& operation, Result<void> outcome);
  void fail_at(EndpointOperation& operation, Instant when, Errc why);
  void complete(EndpointOperation& operation);

  SimNetwork& network_;
  EventLoop& loop_;
  const EndpointShape shape_;
  Random random_;
  std::unordered_map<std::uint64_t, Nic> nics_;
  std::unordered_map<EndpointProcess, std::vector<SimEndpointDriver*>, ProcessHash> processes_;
  std::vector<SimEndpointDriver*> drivers_;
  StableArray<EndpointOperation> operations_;
  std::uint32_t first_free_ = ~0U;
  std::size_t live_ = 0;
};

}  // namespace plnet::drivers
