// SPDX-License-Identifier: BSD-3-Clause
// Makes a poller one reader of a Qsbr.
#pragma once

#include "lib/base/qsbr.hpp"
#include "lib/runtime/poll/poller.hpp"

namespace plnet::runtime {

class QsbrHook final : public QuiescenceHook {
 public:
  // `reader` was registered for this poller alone; `qsbr` outlives the hook.
  QsbrHook(Qsbr& qsbr, Qsbr::Reader reader) : qsbr_(qsbr), reader_(reader) {}

  void quiescent() override { qsbr_.quiescent(reader_); }
  void online() override { qsbr_.online(reader_); }
  void offline() override { qsbr_.offline(reader_); }

 private:
  Qsbr& qsbr_;
  const Qsbr::Reader reader_;
};

}  // namespace plnet::runtime
