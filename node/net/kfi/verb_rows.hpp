// SPDX-License-Identifier: BSD-3-Clause
// Verbs of kfi networks beyond LNet's own reports: hardware queues, peers, and kfilnd's statistics.
#pragma once

#include "lib/runtime/verbs/verb_row.hpp"

namespace plnet::node {

namespace kfi_rows {

using namespace runtime::row_makers;

inline constexpr std::array kRows{
    show("cassini show", "cassini", "queues, list entries and NICs under kfi networks"),
    set("cassini set", "cassini",
        "give a NIC in software another address, as a cable that is moved does",
        {required(text("if", 0, "NAME", "interface of `plnet: kfi: interfaces`")),
         required(number("address", 0, "N", "its new address"))}),
    show("kfi peers", "kfi", "peers of kfi networks"),
    as_text(show("kfi stats", "kfi", "times of transactions, by size and state")),
};

}  // namespace kfi_rows

inline constexpr runtime::VerbRows kKfiVerbs{kfi_rows::kRows};

}  // namespace plnet::node
