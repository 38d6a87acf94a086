// SPDX-License-Identifier: BSD-3-Clause
// Asking the coordinator, or the node where it is, for something that is at hand there.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "lib/lnet/control/coordinator.hpp"
#include "lib/lnet/node/node.hpp"
#include "node/host/lnet_desk.hpp"

namespace plnet::node {

template <class Found>
void ask_node(LnetDesk& desk, std::function<Found(lnet::Node&)> question,
              lnet::Reply<Found> reply) {
  struct Job {
    std::function<Found(lnet::Node&)> question;
    lnet::Reply<Found> reply;
    std::optional<Found> found;
  };
  auto job = std::make_shared<Job>(std::move(question), std::move(reply), std::nullopt);
  auto sent = desk.order(
      0, [job](lnet::Node& node) { job->found = job->question(node); },
      [job] {
        if (!job->found) return job->reply(failure(Errc::kNetworkDown, "Network is down"));
        job->reply(std::move(*job->found));
      });
  if (!sent) job->reply(std::unexpected(sent.error()));
}

template <class Found>
void ask_coordinator(LnetDesk& desk, std::function<Found(lnet::Coordinator&)> question,
                     lnet::Reply<Found> reply) {
  ask_node<Found>(
      desk,
      [question = std::move(question)](lnet::Node& node) { return question(node.coordinator()); },
      std::move(reply));
}

}  // namespace plnet::node
