// SPDX-License-Identifier: BSD-3-Clause
// The state of our own interface: its link and address as they are reported to the LND, its address
// as the LND finds it after a failure, and for how long it has been down.
#pragma once

#include "lib/socklnd/environment.hpp"

namespace plnet::socklnd {

class InterfaceWatch {
 public:
  explicit InterfaceWatch(Environment& environment) : environment_(environment) {}

  // The link or the address of the interface has gone, or both are there.
  void set_usable(bool usable);
  // A connection or an attempt has failed: the next check() looks at the address.
  void suspect() { suspected_ = true; }
  // Looks at our address while there is a reason.
  void check(Instant now);

  // True: the interface has just been down for the grace period, and its connections are to close.
  [[nodiscard]] bool gives_up(Instant now);
  // Connections of the interface are closed, and no new ones made, until it is up.
  [[nodiscard]] bool given_up() const { return given_up_; }

  // The next moment at which check() or gives_up() has something to do.
  [[nodiscard]] Instant next_deadline() const;

 private:
  // Each look takes a few system calls.
  static constexpr Duration kCheckAgain = std::chrono::seconds(1);

  void tell_core(Errc cause);

  Environment& environment_;
  bool usable_ = true;      // as reported: set_usable()
  bool suspected_ = false;  // something has failed since the last look
  bool gone_ = false;       // the last look did not find the address
  bool up_ = true;          // as the core was told
  bool given_up_ = false;
  Instant down_since_ = Instant::max();
  Instant again_at_ = Instant::min();
};

}  // namespace plnet::socklnd
