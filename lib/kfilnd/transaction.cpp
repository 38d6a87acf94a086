// SPDX-License-Identifier: BSD-3-Clause
#include "lib/kfilnd/transaction.hpp"

#include "lib/kfilnd/machine.hpp"

namespace plnet::kfilnd {

std::string_view name_of(TransactionState state) {
  switch (state) {
#define PLNET_X(id, number, name) \
  case TransactionState::id: return name;
    PLNET_KFILND_STATES(PLNET_X)
#undef PLNET_X
  }
  return "unknown";
}

void Transaction::on_timer(void* context, Timer& /*timer*/, Instant /*now*/) {
  auto* const transaction = static_cast<Transaction*>(context);
  transaction->machine->on_timer(*transaction);
}

}  // namespace plnet::kfilnd
