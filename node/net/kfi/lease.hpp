// SPDX-License-Identifier: BSD-3-Clause
// An NI's part of its NIC, which several NIs may share: one lease for the NI, with a receive
// context and its queues for each shard that serves the NI. Made on shard 0, where NIs are added.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "drivers/net/cassini/endpoint.hpp"
#include "lib/base/arena.hpp"
#include "lib/base/result.hpp"
#include "lib/kfilnd/context_mail.hpp"
#include "lib/kfilnd/endpoint_relay.hpp"
#include "lib/lnet/names/nid.hpp"
#include "node/net/kfi/ofi.hpp"
#include "node/net/kfi/options.hpp"

namespace plnet::node {

class KfiNic;

// Shared by the contexts; the shard that destroys the last context destroys it, too.
class KfiLease {
 public:
  struct Start {
    std::uint64_t seed = 0;  // the same
    Duration lnd_timeout{};  // also
    unsigned contexts = 1;
  };

  // `seat` is the NI's place at the NIC; the destructor frees it.
  KfiLease(KfiNic& nic, unsigned seat, const KfiOptions& options, unsigned contexts);
  ~KfiLease();
  KfiLease(const KfiLease&) = delete;
  KfiLease& operator=(const KfiLease&) = delete;

  [[nodiscard]] const KfiOptions& options() const { return options_; }
  [[nodiscard]] KfiNic& nic() { return nic_; }
  [[nodiscard]] unsigned contexts() const { return contexts_; }
  // The receive buffers of all contexts.
  [[nodiscard]] Fragment receive_memory() const;
  [[nodiscard]] kfilnd::ContextMail& mail() { return mail_; }
  // The first call opens the device.
  [[nodiscard]] Outcome<cassini::Device*> open_device(const lnet::Nid& nid,
                                                      const ArenaTable& arenas);
  [[nodiscard]] cassini::Device& device() { return *device_; }

 private:
  const KfiOptions options_;
  KfiNic& nic_;
  const unsigned seat_;
  const unsigned contexts_;
  kfilnd::ContextMail mail_;
  std::unique_ptr<cassini::Device> device_;
};

// The context of one shard.
class KfiContext {
 public:
  KfiContext(std::shared_ptr<KfiLease> lease, unsigned number)
      : lease_(std::move(lease)), number_(static_cast<std::uint8_t>(number)) {}
  KfiContext(const KfiContext&) = delete;
  KfiContext& operator=(const KfiContext&) = delete;

  [[nodiscard]] Outcome<void> open(const lnet::Nid& nid, const ArenaTable& arenas,
                                   const KfiLease::Start& start);
  [[nodiscard]] std::uint8_t number() const { return number_; }
  [[nodiscard]] const KfiOptions& options() const { return lease_->options(); }
  [[nodiscard]] KfiNic& nic() { return lease_->nic(); }
  // Null: a single context needs no mail, since it receives all messages.
  [[nodiscard]] kfilnd::ContextEnd* mail() {
    return lease_->contexts() == 1 ? nullptr : &lease_->mail().end(number_);
  }
  // This context's part of the NI's receive buffers.
  [[nodiscard]] Fragment receive_memory() const;
  [[nodiscard]] kfilnd::EndpointRelay& relay() { return relay_; }
  [[nodiscard]] kfilnd::EndpointDriver& driver() { return *driver_; }
  [[nodiscard]] Pollable& pollable() { return *pollable_; }
  // For a Cassini only.
  [[nodiscard]] bool is_cassini() const { return endpoint_ != nullptr; }
  [[nodiscard]] cassini::Device& device() { return lease_->device(); }
  [[nodiscard]] cassini::Endpoint& endpoint() { return *endpoint_; }

 private:
  [[nodiscard]] Outcome<void> open_cassini(const lnet::Nid& nid, const ArenaTable& arenas);

  // The order of members matters: the endpoint must release its memory at the NIC before the lease
  // frees the seat.
  const std::shared_ptr<KfiLease> lease_;
  const std::uint8_t number_;
  kfilnd::EndpointRelay relay_;
  std::unique_ptr<cassini::Endpoint> endpoint_;
  std::unique_ptr<KfiOfi> ofi_;  // on libfabric, instead of endpoint_
  kfilnd::EndpointDriver* driver_ = nullptr;
  Pollable* pollable_ = nullptr;
};

// kNoSpace: each of `contexts` would have receive buffers smaller than one message. The error
// suggests a remedy.
[[nodiscard]] Outcome<void> check_receive_memory(const KfiNic& nic, const KfiOptions& options,
                                                 unsigned contexts);

}  // namespace plnet::node
