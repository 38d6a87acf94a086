// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/net/cassini/soft/retry_handler.hpp"

#include <algorithm>
#include <cstdio>

namespace plnet::cassini::soft {

using Id = RetryCounters::Id;

std::string_view name_of(ReturnCode code) {
  switch (code) {
    case ReturnCode::kOk: return "OK";
    case ReturnCode::kUndeliverable: return "UNDELIVERABLE";
    case ReturnCode::kUncor: return "UNCOR";
    case ReturnCode::kNoTargetConn: return "NO_TARGET_CONN";
    case ReturnCode::kNoTargetMst: return "NO_TARGET_MST";
    case ReturnCode::kNoTargetTrs: return "NO_TARGET_TRS";
    case ReturnCode::kSequenceError: return "SEQUENCE_ERROR";
    case ReturnCode::kNoMatchingConn: return "NO_MATCHING_CONN";
    case ReturnCode::kCanceled: return "CANCELED";
    case ReturnCode::kResourceBusy: return "RESOURCE_BUSY";
    case ReturnCode::kTrsPendRsp: return "TRS_PEND_RSP";
    default: return "OTHER";
  }
}

RetryHandler::RetryHandler(const RetryOptions& options, Random random, RetryLog* log)
    : options_(options), random_(random), log_(log) {}

void RetryHandler::say(std::string_view what, const PacketName& packet, ReturnCode code) {
  if (log_ == nullptr) return;
  char line[128];
  const std::string_view name = name_of(code);
  const int length = std::snprintf(
      line, sizeof line, "%.*s sct=%u spt=%u nid=%u rc=%.*s", static_cast<int>(what.size()),
      what.data(), packet.sct, packet.spt, packet.nid, static_cast<int>(name.size()), name.data());
  log_->line({line, static_cast<std::size_t>(std::clamp(length, 0, 127))});
}

RetryHandler::Decision RetryHandler::end(const PacketName& packet, ReturnCode code,
                                         ReturnCode why) {
  stats_.add(code == ReturnCode::kUndeliverable ? Id::kUndeliverable : Id::kCanceled);
  say(code == ReturnCode::kUndeliverable ? "packet undeliverable" : "packet canceled", packet, why);
  return {.again = false, .code = code};
}

bool RetryHandler::parked(NicAddress nid, std::uint64_t now_ns) const {
  unsigned of_switch = 0;
  for (const Down& one : down_) {
    if (one.until_ns <= now_ns) continue;
    if (one.nid == nid) return true;
    if ((one.nid & options_.switch_mask) == (nid & options_.switch_mask)) ++of_switch;
  }
  return of_switch >= options_.down_switch_nids;
}

void RetryHandler::gave_up(NicAddress nid, unsigned packets, std::uint64_t now_ns) {
  auto found = std::ranges::find_if(
      down_, [&](const Down& one) { return one.seen_ns != 0 && one.nid == nid; });
  if (found == down_.end()) {
    found = std::ranges::min_element(down_, {}, &Down::seen_ns);
    *found = {.nid = nid};
  }
  found->seen_ns = std::max<std::uint64_t>(now_ns, 1);
  if (found->until_ns != 0 && found->until_ns <= now_ns) *found = {.nid = nid, .seen_ns = now_ns};
  found->packets += packets;
  if (found->packets < options_.down_nid_packets || found->until_ns != 0) return;
  found->until_ns = now_ns + options_.down_nid_ns / options_.time_divisor;
  stats_.add(Id::kNidsParked);
  say("nid parked", {.nid = nid}, ReturnCode::kUndeliverable);
  const auto siblings = std::ranges::count_if(down_, [&](const Down& one) {
    return one.until_ns > now_ns &&
           (one.nid & options_.switch_mask) == (nid & options_.switch_mask);
  });
  if (siblings == static_cast<std::ptrdiff_t>(options_.down_switch_nids)) {
    stats_.add(Id::kSwitchesParked);
    say("switch parked", {.nid = nid & options_.switch_mask}, ReturnCode::kUndeliverable);
  }
}

RetryHandler::Decision RetryHandler::timed_out(const PacketName& packet, PacketHistory& history,
                                               std::uint64_t now_ns, unsigned with_it) {
  stats_.add(Id::kTimeouts);
  if (!options_.running) return undeliverable(packet);
  // The vendor's count: the packet is repeated this often, then one more timeout is the end
  // (shs-libcxi retry_handler/ordered.c).
  if (history.timeouts++ >= options_.timeouts_max) {
    // Each packet of the chain counts against the NID (main.c: schedule_cancel_spt()).
    gave_up(packet.nid, 1 + with_it, now_ns);
    stats_.add(Id::kUndeliverable, with_it);
    return end(packet, ReturnCode::kUndeliverable, ReturnCode::kUndeliverable);
  }
  stats_.add(Id::kRetries);
  const std::size_t at =
      std::min<std::size_t>(history.timeouts - 1U, options_.retry_intervals_ns.size() - 1);
  return {.again = true, .after_ns = options_.retry_intervals_ns[at] / options_.time_divisor};
}

RetryHandler::Decision RetryHandler::undeliverable(const PacketName& packet) {
  return end(packet, ReturnCode::kUndeliverable, ReturnCode::kUndeliverable);
}

RetryHandler::Decision RetryHandler::refused(const PacketName& packet, PacketHistory& history,
                                             ReturnCode code, bool established) {
  stats_.add(Id::kNacks);
  if (!options_.running) return end(packet, ReturnCode::kCanceled, code);
  if (history.nacks < UINT8_MAX) ++history.nacks;
  bool small_batch = false;
  switch (code) {
    case ReturnCode::kResourceBusy:
      stats_.add(Id::kResourceBusy);
      if (++history.resource_busy >= options_.resource_busy_max)
        return end(packet, ReturnCode::kCanceled, code);
      break;
    case ReturnCode::kTrsPendRsp:
      if (++history.pending_response >= options_.pending_response_max)
        return end(packet, ReturnCode::kCanceled, code);
      break;
    case ReturnCode::kNoMatchingConn:
      // The target may have executed it before it forgot the connection: never repeat it.
      stats_.add(Id::kNoMatchingConn);
      if (established || ++history.no_matching > 1) return end(packet, ReturnCode::kCanceled, code);
      break;
    case ReturnCode::kNoTargetTrs:
    case ReturnCode::kNoTargetConn:
    case ReturnCode::kNoTargetMst:
      stats_.add(Id::kNoTarget);
      small_batch = true;
      break;
    case ReturnCode::kSequenceError: stats_.add(Id::kSequence); break;
    default: return end(packet, ReturnCode::kUncor, code);
  }
  stats_.add(Id::kRetries);
  if (history.nacks <= options_.nack_backoff_start)
    return {.again = true, .small_batch = small_batch};
  const unsigned exponent = std::min(history.nacks - options_.nack_backoff_start, 20U);
  const std::uint64_t timeout = target_timeout_ns();
  const std::uint64_t cap = timeout / 2;
  const std::uint64_t wait = std::min(cap, timeout / 2000 * 2 << exponent);
  return {.again = true,
          .after_ns = std::min(cap, wait + random_.below(wait / 8 + 1)),
          .small_batch = small_batch};
}

}  // namespace plnet::cassini::soft
