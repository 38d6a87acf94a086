// SPDX-License-Identifier: BSD-3-Clause
// What an NI has of its NIC, which others may have too: one for the NI, and of it a receive context
// with queues of its own for each shard that serves it. Made where NIs are added.
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

// Shared by the contexts: gone with the last of them, on the shard of that one.
class KfiLease {
 public:
  struct Start {
    std::uint64_t seed = 0;  // of an endpoint on libfabric: see KfiOfiRequest
    Duration lnd_timeout{};  // also
    unsigned contexts = 1;
  };

  // `seat`: of the NIC, and free again when the lease goes.
  KfiLease(KfiNic& nic, unsigned seat, const KfiOptions& options, unsigned contexts);
  ~KfiLease();
  KfiLease(const KfiLease&) = delete;
  KfiLease& operator=(const KfiLease&) = delete;

  [[nodiscard]] const KfiOptions& options() const { return options_; }
  [[nodiscard]] KfiNic& nic() { return nic_; }
  [[nodiscard]] unsigned contexts() const { return contexts_; }
  // Of all contexts.
  [[nodiscard]] Fragment receive_memory() const;
  [[nodiscard]] kfilnd::ContextMail& mail() { return mail_; }
  // Opened by the first who asks.
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

// One shard's.
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
  // Null: the only context hears of all there is.
  [[nodiscard]] kfilnd::ContextEnd* mail() {
    return lease_->contexts() == 1 ? nullptr : &lease_->mail().end(number_);
  }
  // What it has of the NI's receive buffers.
  [[nodiscard]] Fragment receive_memory() const;
  [[nodiscard]] kfilnd::EndpointRelay& relay() { return relay_; }
  [[nodiscard]] kfilnd::EndpointDriver& driver() { return *driver_; }
  [[nodiscard]] Pollable& pollable() { return *pollable_; }
  // Of a Cassini alone.
  [[nodiscard]] bool is_cassini() const { return endpoint_ != nullptr; }
  [[nodiscard]] cassini::Device& device() { return lease_->device(); }
  [[nodiscard]] cassini::Endpoint& endpoint() { return *endpoint_; }

 private:
  [[nodiscard]] Outcome<void> open_cassini(const lnet::Nid& nid, const ArenaTable& arenas);

  // The NIC lets go of the endpoint's memory before anybody else may have the seat: first in, last
  // out.
  const std::shared_ptr<KfiLease> lease_;
  const std::uint8_t number_;
  kfilnd::EndpointRelay relay_;
  std::unique_ptr<cassini::Endpoint> endpoint_;
  std::unique_ptr<KfiOfi> ofi_;  // or this
  kfilnd::EndpointDriver* driver_ = nullptr;
  Pollable* pollable_ = nullptr;
};

// kNoSpace, with what to do about it: so many contexts would have less of the receive buffers than
// one message in each.
[[nodiscard]] Outcome<void> check_receive_memory(const KfiNic& nic, const KfiOptions& options,
                                                 unsigned contexts);

}  // namespace plnet::node
