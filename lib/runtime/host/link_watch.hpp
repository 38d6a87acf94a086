// SPDX-License-Identifier: BSD-3-Clause
// Hears from the system when an interface or an address comes or goes (netlink).
#pragma once

#include "lib/base/result.hpp"

namespace plnet::runtime {

class LinkWatch {
 public:
  LinkWatch() = default;
  ~LinkWatch();
  LinkWatch(const LinkWatch&) = delete;
  LinkWatch& operator=(const LinkWatch&) = delete;

  // kIo: the system does not tell; then nothing is heard.
  [[nodiscard]] Outcome<void> open();
  // Readable when something has changed; -1 before open().
  [[nodiscard]] int descriptor() const { return socket_; }
  // Takes all that has been told. What it was does not matter: whoever asks looks at the machine
  // anew. Also if some of it was lost.
  void drain() const;

 private:
  int socket_ = -1;
};

}  // namespace plnet::runtime
