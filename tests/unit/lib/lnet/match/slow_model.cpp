// SPDX-License-Identifier: BSD-3-Clause
#include "tests/unit/lib/lnet/match/slow_model.hpp"

#include <algorithm>

namespace plnet::lnet {

Result<int> SlowModel::attach(const MeSpec& me, const MdSpec& md) {
  const bool unique =
      me.ignore_bits == 0 && me.match.nid != Nid::any() && me.match.pid != 0xffffffff;
  if (in_use() == descriptors_) return std::unexpected(Errc::kNoMemory);
  if (unique_[me.portal].value_or(unique) != unique) return std::unexpected(Errc::kNotPermitted);
  unique_[me.portal] = unique;
  mds_.push_back({.spec = md, .uses_left = md.threshold});
  const int number = made() - 1;
  const Me entry{.md = number, .spec = me};
  order_.insert(me.position == MePosition::kBefore ? order_.begin() : order_.end(), entry);
  return number;
}

Result<int> SlowModel::bind(const MdSpec& md) {
  if (in_use() == descriptors_) return std::unexpected(Errc::kNoMemory);
  mds_.push_back({.spec = md, .uses_left = md.threshold});
  return made() - 1;
}

std::size_t SlowModel::in_use() const {
  return static_cast<std::size_t>(
      std::count_if(mds_.begin(), mds_.end(), [](const Md& md) { return !md.gone; }));
}

std::size_t SlowModel::attached(PortalId portal) const {
  return static_cast<std::size_t>(std::count_if(order_.begin(), order_.end(), [&](const Me& me) {
    return me.spec.portal == portal && !mds_[static_cast<std::size_t>(me.md)].doomed;
  }));
}

bool SlowModel::used_up(const Md& md) const {
  if (md.uses_left == 0) return true;
  return (md.spec.options & kMdMaxSize) != 0 && md.offset + md.spec.max_size > md.spec.length;
}

bool SlowModel::ends_now(const Md& md) const {
  return md.busy == 0 && (md.doomed || (md.spec.unlink_when_exhausted && used_up(md)));
}

bool SlowModel::usable(int number) const {
  return !mds_[static_cast<std::size_t>(number)].doomed;
}

void SlowModel::doom(int number) {
  Md& md = mds_[static_cast<std::size_t>(number)];
  if (!md.doomed) {
    md.doomed = true;
    md.deadline = -1;
    for (Me& me : order_) {
      if (me.md == number && me.spec.unlink_with_md) me.there = false;
    }
  }
  forget_if_idle(md);
}

void SlowModel::forget_if_idle(Md& md) {
  if (md.busy == 0) md.gone = true;
}

void SlowModel::abort(int number) {
  Md& md = mds_[static_cast<std::size_t>(number)];
  md.aborted = true;
  if (md.busy == 0) events.push_back({number, EventKind::kUnlink, true, std::nullopt});
  doom(number);
}

bool SlowModel::unlink_md(int number) {
  if (!usable(number)) return false;
  abort(number);
  return true;
}

bool SlowModel::unlink_me(int number) {
  for (Me& me : order_) {
    if (me.md != number || !me.there) continue;
    me.there = false;
    if (usable(number)) abort(number);
    return true;
  }
  return false;
}

ModelGrant SlowModel::use(int number, EventKind kind, std::int64_t offset, std::int64_t length) {
  Md& md = mds_[static_cast<std::size_t>(number)];
  ++md.busy;
  if (md.uses_left > 0) --md.uses_left;
  return {number, kind, offset, length};
}

ModelAnswer SlowModel::match(const MatchRequest& request,
                             bool (*same_peer)(const Nid&, const Nid&)) {
  const bool put = request.type == MessageType::kPut;
  const bool unique = unique_[request.portal].value_or(false);
  // Ignore bits before exact bits; on a unique portal the primary NID before the other NIDs of the
  // peer.
  struct Round {
    bool ignoring, other_nids;
  };
  std::vector<Round> rounds{{true, true}, {false, true}};
  if (unique) rounds = {{false, false}, {false, true}};
  for (const Round round : rounds) {
    for (const Me& me : order_) {
      Md& md = mds_[static_cast<std::size_t>(me.md)];
      if ((me.spec.ignore_bits != 0) != round.ignoring) continue;
      if (md.doomed || used_up(md) || me.spec.portal != request.portal) continue;
      if ((md.spec.options & (put ? 1U : 2U)) == 0) continue;
      if ((me.spec.match_bits | me.spec.ignore_bits) != (request.match_bits | me.spec.ignore_bits))
        continue;
      if (me.spec.match.pid != 0xffffffff && me.spec.match.pid != request.sender.pid) continue;
      const bool exact = me.spec.match.nid == Nid::any() || me.spec.match.nid == request.sender.nid;
      if (!exact && !(round.other_nids && same_peer(me.spec.match.nid, request.source))) continue;

      const std::int64_t offset =
          (md.spec.options & kMdManageRemote) != 0 ? std::int64_t{request.offset} : md.offset;
      std::int64_t room = std::max<std::int64_t>(0, std::int64_t{md.spec.length} - offset);
      if ((md.spec.options & kMdMaxSize) != 0)
        room = std::min<std::int64_t>(room, md.spec.max_size);
      std::int64_t length = request.requested_length;
      if (length > room) {
        if ((md.spec.options & kMdTruncate) == 0) return {.verdict = MatchVerdict::kDrop};
        length = room;
      }
      md.offset = offset + length;
      const ModelGrant grant = use(me.md, put ? EventKind::kPut : EventKind::kGet, offset, length);
      if (md.spec.unlink_when_exhausted && used_up(md)) doom(me.md);
      return {MatchVerdict::kMatched, grant};
    }
  }
  return {};
}

ModelAnswer SlowModel::respond(int number, MessageType type, std::int64_t payload) {
  const Md& md = mds_[static_cast<std::size_t>(number)];
  const bool passive = (md.spec.options & (kMdPut | kMdGet)) != 0;
  if (md.doomed || passive || md.uses_left == 0) return {};
  if (type == MessageType::kAck)
    return {MatchVerdict::kMatched, use(number, EventKind::kAck, 0, 0)};
  if (payload > md.spec.length && (md.spec.options & kMdTruncate) == 0)
    return {.verdict = MatchVerdict::kDrop};
  return {MatchVerdict::kMatched,
          use(number, EventKind::kReply, 0, std::min<std::int64_t>(payload, md.spec.length))};
}

std::optional<ModelGrant> SlowModel::start(int number, MessageType type, bool ack,
                                           std::int64_t deadline) {
  Md& md = mds_[static_cast<std::size_t>(number)];
  const bool passive = (md.spec.options & (kMdPut | kMdGet)) != 0;
  if (md.doomed || passive || md.uses_left == 0) return std::nullopt;
  const bool answered = type == MessageType::kGet || ack;
  if (answered && (md.spec.options & kMdNoTrackResponse) == 0) md.deadline = deadline;
  return use(number, EventKind::kSend, 0, md.spec.length);
}

std::optional<Errc> SlowModel::tell(const ModelGrant& grant, std::optional<Errc> error,
                                    bool still_busy) {
  Md& md = mds_[static_cast<std::size_t>(grant.md)];
  if (!still_busy) --md.busy;
  if (md.aborted && !error) error = Errc::kTimedOut;
  const bool last = ends_now(md);
  if (md.busy == 0 && md.uses_left < 0) md.deadline = -1;
  events.push_back({grant.md, grant.kind, last, error});
  if (last) doom(grant.md);
  return error;
}

std::optional<Errc> SlowModel::finish(const ModelGrant& grant, std::optional<Errc> error) {
  return tell(grant, error, false);
}

void SlowModel::quarantine(const ModelGrant& grant, Errc error) {
  tell(grant, error, true);
}

void SlowModel::end_quarantine(const ModelGrant& grant) {
  Md& md = mds_[static_cast<std::size_t>(grant.md)];
  --md.busy;
  if (md.busy == 0 && md.uses_left < 0) md.deadline = -1;
  if (!ends_now(md)) return;
  events.push_back({grant.md, EventKind::kUnlink, true, std::nullopt});
  doom(grant.md);
}

std::vector<int> SlowModel::pass_time(std::int64_t now) {
  std::vector<int> late;
  for (int number = 0; number < made(); ++number) {
    const std::int64_t deadline = mds_[static_cast<std::size_t>(number)].deadline;
    if (deadline >= 0 && deadline <= now) {
      late.push_back(number);
      abort(number);
    }
  }
  return late;
}

}  // namespace plnet::lnet
