// SPDX-License-Identifier: BSD-3-Clause
// The operations of each client as their users see them: how many were answered, how many failed
// and why, and for how long a client had no answer.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "lib/base/clock.hpp"
#include "lib/base/result.hpp"

namespace plnet::sim {

// From the begin of an operation that failed or took too long until the client's next answer.
struct Outage {
  std::uint32_t client = 0;
  Instant begin{};
  Instant end{};
  bool over = true;  // false: the client still has no answer

  [[nodiscard]] Duration length() const { return end - begin; }
};

class RpcBook {
 public:
  // An answer that takes longer is an outage.
  static constexpr Duration kSlow = std::chrono::seconds(1);

  // Only operations that end at `from` or later count.
  RpcBook(std::size_t nodes, Instant from) : waiting_(nodes), from_(from) {}

  void answered(std::uint32_t client, Instant begun, Instant now);
  // The client sends it again.
  void failed(std::uint32_t client, Instant begun, Instant now, Errc why);
  // LNet refused to begin the operation; the client tries again.
  void refused(std::uint32_t client, Instant now, Errc why);
  // The client has lost its power, which is no outage of the network.
  void forget(std::uint32_t client) { waiting_[client].reset(); }
  // Still without an answer at the end of the run.
  void unanswered(std::uint32_t client, Instant begun, Instant now);
  void end(Instant now);

  [[nodiscard]] std::uint64_t answers() const { return answers_; }
  [[nodiscard]] std::uint64_t failures() const { return failures_; }  // each is sent again
  [[nodiscard]] std::uint64_t slow() const { return slow_; }
  [[nodiscard]] Duration slowest() const { return slowest_; }
  // Failures, and clients whose operations were refused, by cause.
  [[nodiscard]] const std::map<Errc, std::uint64_t>& causes() const { return causes_; }
  [[nodiscard]] const std::map<Errc, std::uint64_t>& refusals() const { return refusals_; }
  [[nodiscard]] const std::vector<Outage>& outages() const { return outages_; }

 private:
  std::vector<std::optional<Instant>> waiting_;  // by client: begin of its outage
  const Instant from_;
  std::uint64_t answers_ = 0;
  std::uint64_t failures_ = 0;
  std::uint64_t slow_ = 0;
  Duration slowest_{};
  std::map<Errc, std::uint64_t> causes_;
  std::map<Errc, std::uint64_t> refusals_;
  std::vector<Outage> outages_;
};

}  // namespace plnet::sim
