// SPDX-License-Identifier: BSD-3-Clause
#include "lib/socklnd/interface_watch.hpp"

#include <algorithm>
#include <utility>

#include "lib/base/check.hpp"

namespace plnet::socklnd {

using Id = SockLndCounters::Id;

// lustre-release lnet/klnds/socklnd/socklnd.c: ksocknal_handle_link_state_change(),
// ksocknal_handle_inetaddr_change(): connections stay, since TCP may survive a short outage.
void InterfaceWatch::set_usable(bool usable) {
  usable_ = usable;
  if (usable) again_at_ = Instant::min();  // the address may be back too
  tell_core(Errc::kNetworkDown);
}

// A lost address shows when something fails; from then on we look until it is back.
// lustre-release socklnd.c: ksocknal_inetaddr_event() is told instead.
void InterfaceWatch::check(Instant now) {
  if ((!suspected_ && !gone_) || now < again_at_) return;
  suspected_ = false;
  again_at_ = now + kCheckAgain;
  const bool gone = !environment_.driver().is_local(address_of(environment_.config.nid, 0));
  if (gone == gone_) return;
  gone_ = gone;
  environment_.count(gone ? Id::kInterfaceGone : Id::kInterfaceBack);
  tell_core(Errc::kNotFound);
}

// The interface is up if it is both reported and found to be. Each change is told once.
void InterfaceWatch::tell_core(Errc cause) {
  const bool up = usable_ && !gone_;
  if (std::exchange(up_, up) == up) return;
  environment_.core.on_interface(up ? lnet::InterfaceState::kUp : lnet::InterfaceState::kFatal,
                                 cause);
}

// Messages do not wait for the timeout of connections that lead nowhere: those of which nothing has
// left may take another interface.
bool InterfaceWatch::gives_up(Instant now) {
  if (up_) [[likely]] {
    given_up_ = false;
    down_since_ = Instant::max();
    return false;
  }
  const Duration grace = environment_.config.down_grace;
  if (grace == Duration{} || given_up_) return false;
  if (down_since_ == Instant::max()) down_since_ = now;
  PLNET_CHECK(down_since_ <= now, "an interface went down before now");
  if (now < down_since_ + grace) return false;
  given_up_ = true;
  return true;
}

Instant InterfaceWatch::next_deadline() const {
  const Instant next = suspected_ || gone_ ? again_at_ : Instant::max();
  const Duration grace = environment_.config.down_grace;
  if (up_ || given_up_ || grace == Duration{}) return next;
  if (down_since_ == Instant::max()) return Instant::min();
  return std::min(next, down_since_ + grace);
}

}  // namespace plnet::socklnd
