// SPDX-License-Identifier: BSD-3-Clause
// Reports of the system (netlink) that an interface or an address appeared or disappeared.
#pragma once

#include "lib/base/result.hpp"

namespace plnet::runtime {

class LinkWatch {
 public:
  LinkWatch() = default;
  ~LinkWatch();
  LinkWatch(const LinkWatch&) = delete;
  LinkWatch& operator=(const LinkWatch&) = delete;

  // kIo: the system sends no reports; none arrive then.
  [[nodiscard]] Outcome<void> open();
  // Readable when something has changed; -1 before open().
  [[nodiscard]] int descriptor() const { return socket_; }
  // Discards all pending reports, lost ones included. Their contents do not matter: callers read
  // the machine's state anew.
  void drain() const;

 private:
  int socket_ = -1;
};

}  // namespace plnet::runtime
