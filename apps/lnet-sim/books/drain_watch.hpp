// SPDX-License-Identifier: BSD-3-Clause
// Routers that are taken out of service, and what may not happen then: from the moment when one
// says that it is drained until it is back, nothing is sent to be forwarded by it. What is sent yet
// is lost, whatever its sender is told: a transport takes it before anybody knows what becomes of
// it. Only senders are excused whose way to it something else befell meanwhile, or so shortly
// before that messages may still wait for it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "lib/base/clock.hpp"
#include "lib/lnet/names/nid.hpp"
#include "lib/lnet/wire/header.hpp"

namespace plnet::sim {

class DrainWatch {
 public:
  // `lasting`: how long a message may wait for a way that was disturbed.
  DrainWatch(std::uint32_t nodes, Duration lasting)
      : lasting_(lasting), drains_(nodes), failed_(nodes, kNever) {}

  // `not_routing`: what it has dropped so far because it does not route.
  void begin(std::uint32_t router, std::uint64_t cookie, Instant now, Instant latest,
             std::uint64_t not_routing);
  // Of this incarnation of the router's.
  [[nodiscard]] bool is_draining(std::uint32_t router, std::uint64_t cookie) const {
    return cookie != 0 && drains_[router].cookie == cookie;
  }
  // It is drained. False: its time was over, and it promises nothing.
  bool promise(std::uint32_t router, Instant now, std::size_t cut_off);
  // It forwards again, or has failed. `not_routing` as it is now.
  void end(std::uint32_t router, std::uint64_t not_routing);

  // What is on its way between the two may be lost, or come late. Either may be the router.
  void trouble(std::uint32_t a, std::uint32_t b, Instant now);
  // Between it and everybody.
  void trouble(std::uint32_t node, Instant now);

  // A message has left `node` for its next hop, or could not.
  void sent(std::uint32_t node, const lnet::Nid& next_hop, const lnet::MessageHeader& header);
  // One that `node` would have had to forward was dropped when it arrived, or when it had waited.
  void refused(std::uint32_t node, const lnet::Nid& from, const lnet::Nid& destination);

  // The first loss that nothing explains, or empty.
  [[nodiscard]] const std::string& wrong() const { return wrong_; }

 private:
  struct Drain {
    std::uint64_t cookie = 0;  // 0: none
    Instant latest{};          // it promises nothing from then on
    std::uint64_t not_routing = 0;
    bool promised = false;
    std::vector<bool> excused;          // by sender
    std::string refused;                // the first, before its word was heard here
    std::uint64_t refused_excused = 0;  // of excused senders
  };

  using Pair = std::pair<std::uint32_t, std::uint32_t>;
  static constexpr Instant kNever = Instant::min();

  void excuse(std::uint32_t a, std::uint32_t b);
  void hold_against(std::uint32_t router, std::uint32_t sender, const char* what,
                    const lnet::Nid& destination);

  const Duration lasting_;
  std::vector<Drain> drains_;    // by node
  std::vector<Instant> failed_;  // by node: the last trouble with everybody
  std::map<Pair, Instant> troubled_;
  std::string wrong_;
};

}  // namespace plnet::sim
