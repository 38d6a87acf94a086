// SPDX-License-Identifier: BSD-3-Clause
// The rules of matching and unlinking in their plainest form: everything that ever existed stays in
// a vector and is searched from the front. Written from the specification of the wire and its
// events, so that an error on either side shows as a difference.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "lib/lnet/api/memory_descriptor.hpp"
#include "lib/lnet/match/grant.hpp"

namespace plnet::lnet {

struct ModelEvent {
  int md = 0;
  EventKind kind = EventKind::kUnlink;
  bool unlinked = false;
  std::optional<Errc> error;

  friend bool operator==(const ModelEvent&, const ModelEvent&) = default;
};

struct ModelGrant {
  int md = 0;
  EventKind kind = EventKind::kPut;
  std::int64_t offset = 0;
  std::int64_t length = 0;
};

struct ModelAnswer {
  MatchVerdict verdict = MatchVerdict::kNoMatch;
  ModelGrant grant;
};

class SlowModel {
 public:
  explicit SlowModel(std::size_t descriptors) : descriptors_(descriptors) {}

  // MDs and their MEs are numbered in the order of creation.
  Result<int> attach(const MeSpec& me, const MdSpec& md);
  Result<int> bind(const MdSpec& md);
  bool unlink_md(int number);
  bool unlink_me(int number);

  // same_peer(entry, source) is asked for different NIDs.
  ModelAnswer match(const MatchRequest& request, bool (*same_peer)(const Nid&, const Nid&));
  ModelAnswer respond(int number, MessageType type, std::int64_t payload);
  std::optional<ModelGrant> start(int number, MessageType type, bool ack, std::int64_t deadline);

  std::optional<Errc> finish(const ModelGrant& grant, std::optional<Errc> error);
  void quarantine(const ModelGrant& grant, Errc error);
  void end_quarantine(const ModelGrant& grant);
  // Returns the MDs whose response timed out.
  std::vector<int> pass_time(std::int64_t now);

  [[nodiscard]] std::size_t in_use() const;
  [[nodiscard]] std::size_t attached(PortalId portal) const;
  [[nodiscard]] int made() const { return static_cast<int>(mds_.size()); }

  std::vector<ModelEvent> events;

 private:
  struct Md {
    MdSpec spec;
    std::int64_t uses_left = 0;  // -1: unlimited
    std::int64_t offset = 0;
    int busy = 0;         // operations and quarantines
    bool doomed = false;  // unlinked in any way
    bool aborted = false;
    bool gone = false;
    std::int64_t deadline = -1;
  };
  struct Me {
    int md = 0;
    MeSpec spec;
    bool there = true;  // a handle finds it
  };

  [[nodiscard]] bool used_up(const Md& md) const;
  [[nodiscard]] bool ends_now(const Md& md) const;
  [[nodiscard]] bool usable(int number) const;
  void doom(int number);
  void forget_if_idle(Md& md);
  void abort(int number);
  std::optional<Errc> tell(const ModelGrant& grant, std::optional<Errc> error, bool still_busy);
  ModelGrant use(int number, EventKind kind, std::int64_t offset, std::int64_t length);

  const std::size_t descriptors_;
  std::deque<Md> mds_;
  std::vector<Me> order_;  // in the order of matching, without regard to ignore bits
  std::optional<bool> unique_[kPortalsMax];
};

}  // namespace plnet::lnet
