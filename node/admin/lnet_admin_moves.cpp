// SPDX-License-Identifier: BSD-3-Clause
// NIs whose interfaces have another address now. Each NI is removed and added again as two changes:
// its device may need a while to release messages under way, and other changes may come between.
#include <algorithm>
#include <utility>

#include "lib/lnet/names/nid_text.hpp"
#include "node/admin/lnet_admin.hpp"
#include "node/host/lnet_host.hpp"
#include "node/host/open_families.hpp"

namespace plnet::node {
namespace {

using lnet::Nid;
using lnet::NodeConfig;
using lnet::Reply;
using runtime::LogLevel;
using runtime::LogSite;

constexpr LogSite kNiMoves{LogLevel::kWarning, "ni_moves", {"nid", "to", "interface"}};
constexpr LogSite kNiMoved{LogLevel::kInfo, "ni_moved", {"nid", "was"}};
constexpr LogSite kNotMoved{LogLevel::kError, "ni_not_moved", {"nid", "cause"}};

bool is_among(const std::vector<MovedNi>& all, const MovedNi& one) {
  return std::ranges::find(all, one) != all.end();
}

}  // namespace

std::vector<MovedNi> LnetAdmin::moved_nis_now() const {
  return moved_nis(config_, [this](const lnet::NetConfig& net, const lnet::NiConfig& ni) {
    const FamilyHost* const host = host_->families().host_of(net.net, ni);
    return host == nullptr ? std::nullopt : host->nid_now(net.net, ni);
  });
}

void LnetAdmin::look_at_nics() {
  if (!running_ || state_ != State::kUp || moves_.changing) return;
  const auto ended = [this](Outcome<void>&& /*said where it failed*/) { moves_.changing = false; };
  const auto ready = std::ranges::find_if(moves_.out, [this](const NiMoves::Out& out) {
    const FamilyHost* const host = host_->families().host_of(out.what.net, out.what.ni);
    return host != nullptr && host->is_free(out.what.net, out.what.ni.interfaces.front());
  });
  auto moved = moved_nis_now();
  const auto certain = std::ranges::find_if(
      moved, [this](const MovedNi& each) { return is_among(moves_.seen, each); });
  if (moves_.is_turn_to_bring_back(ready != moves_.out.end(), certain != moved.end())) {
    moves_.changing = true;
    enqueue([this, was = ready->was](Reply<void> done) { bring_back_moved(was, std::move(done)); },
            ended);
  } else if (certain != moved.end()) {
    moves_.changing = true;
    enqueue([this, each = *certain](Reply<void> done) { take_out_moved(each, std::move(done)); },
            ended);
  }
  moves_.seen = std::move(moved);
}

void LnetAdmin::take_out_moved(const MovedNi& moved, Reply<void> done) {
  if (state_ != State::kUp) return done({});
  if (!is_among(moved_nis_now(), moved)) return done({});
  log_.write(kNiMoves, {text_of(moved.was), text_of(moved.now), moved.interface});
  NodeConfig wanted = config_;
  TakenOut what = take_out(wanted, moved.was);
  change_to(std::move(wanted), [this, was = moved.was, what = std::move(what),
                                done = std::move(done)](Outcome<void> out) mutable {
    if (out) {
      moves_.out.push_back({.was = was, .what = std::move(what)});
      moves_.count();
    } else {
      log_.write(kNotMoved, {text_of(was), out.error().what});
    }
    done(std::move(out));
  });
}

void LnetAdmin::bring_back_moved(const Nid& was, Reply<void> done) {
  const auto find = [this, was] { return std::ranges::find(moves_.out, was, &NiMoves::Out::was); };
  const auto record = find();
  if (record == moves_.out.end() || state_ != State::kUp) return done({});
  const std::string interface = record->what.ni.interfaces.front();
  NodeConfig wanted = config_;
  const FamilyHost* const host = host_->families().host_of(record->what.net, record->what.ni);
  const auto fits = [host](const NodeConfig& config) { return host->check_together(config); };
  if (const auto back = bring_back(wanted, record->what, fits); !back) {
    log_.write(kNotMoved, {text_of(was), back.error().what});
    moves_.out.erase(record);
    moves_.count();
    return done({});
  }
  change_to(std::move(wanted),
            [this, was, interface, find, done = std::move(done)](Outcome<void> out) mutable {
              const auto there = find();
              if (there == moves_.out.end()) return done(std::move(out));
              if (!out) {
                if (std::exchange(there->complaint, out.error().what) != out.error().what)
                  log_.write(kNotMoved, {text_of(was), out.error().what});
                moves_.put_last(was);
                return done(std::move(out));
              }
              moves_.out.erase(there);
              moves_.count();
              moves_.counters.add(NiMoveCounters::Id::kMoved);
              for (const lnet::NetConfig& net : config_.nets) {
                for (const lnet::NiConfig& ni : net.nis) {
                  if (net.net == was.net() && ni.nid && ni.interfaces.front() == interface)
                    log_.write(kNiMoved, {text_of(*ni.nid), text_of(was)});
                }
              }
              done(std::move(out));
            });
}

// Deleted NIs that wait for another NID do not come back.
bool LnetAdmin::forget_moved(const lnet::NetSelection& selection) {
  const auto meant = [&selection](const NiMoves::Out& out) {
    if (selection.net != lnet::kNetAny && selection.net != out.what.net) return false;
    if (selection.interfaces.empty() && selection.nids.empty())
      return selection.net != lnet::kNetAny;
    return std::ranges::find(selection.nids, out.was) != selection.nids.end() ||
           std::ranges::find(selection.interfaces, out.what.ni.interfaces.front()) !=
               selection.interfaces.end();
  };
  const bool some = std::erase_if(moves_.out, meant) > 0;
  moves_.count();
  return some;
}

}  // namespace plnet::node
