// SPDX-License-Identifier: BSD-3-Clause
// An endpoint needs the receiver of its events, an LND needs its endpoint: the relay between them
// lets the endpoint be made first.
#pragma once

#include "lib/base/check.hpp"
#include "lib/kfilnd/fabric_endpoint.hpp"

namespace plnet::kfilnd {

class EndpointRelay final : public EndpointEvents {
 public:
  void attach(EndpointEvents& user) {
    PLNET_CHECK(user_ == nullptr, "an endpoint has one user");
    user_ = &user;
  }

  void on_completions(std::span<const FabricCompletion> burst) override {
    PLNET_CHECK(user_ != nullptr, "an endpoint is polled after attach()");
    user_->on_completions(burst);
  }
  void on_link(bool usable, std::uint64_t nic_address) override {
    if (user_ != nullptr) user_->on_link(usable, nic_address);
  }

 private:
  EndpointEvents* user_ = nullptr;
};

}  // namespace plnet::kfilnd
