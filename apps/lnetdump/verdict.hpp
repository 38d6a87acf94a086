// SPDX-License-Identifier: BSD-3-Clause
// The verdict on the assertions of a run: text, JUnit XML, an exit status.
#pragma once

#include <cstdio>
#include <string>

#include "apps/lnetdump/arguments.hpp"
#include "apps/lnetdump/dump.hpp"

namespace plnet::lnetdump {

// JUnit XML with a test case for each assertion.
[[nodiscard]] std::string junit_of(const Arguments& arguments, const trace::Tally& tally);

// Prints failed assertions with the messages. False: some failed, or the XML file could not be
// written.
[[nodiscard]] bool judge(const Arguments& arguments, const Dump& dump, std::FILE* error);

}  // namespace plnet::lnetdump
