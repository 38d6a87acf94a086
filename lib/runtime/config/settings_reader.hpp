// SPDX-License-Identifier: BSD-3-Clause
// Text of a document to Settings. Everything is read and checked before anything is returned, and
// everything that is wrong is reported: there is no half-applied document.
#pragma once

#include <expected>
#include <string_view>

#include "lib/runtime/config/config_error.hpp"
#include "lib/runtime/config/settings.hpp"

namespace plnet::runtime {

using ParseResult = std::expected<Settings, ConfigErrors>;

// At start, and for a whole new document: what is not named has its default.
// `file_name` is for the messages only. The text must outlive the result's errors only until the
// call returns: they hold copies.
[[nodiscard]] ParseResult read_settings(std::string_view text, std::string_view file_name);

// lnetctl import --add: what is not named keeps the value of `base`. A list that is named replaces
// the list that was there.
[[nodiscard]] ParseResult read_settings(std::string_view text, std::string_view file_name,
                                        const Settings& base);

// lnetctl import --del: what is named goes back to its default, whatever value stands there. A
// section without anything below it goes back as a whole.
[[nodiscard]] ParseResult reset_settings(std::string_view text, std::string_view file_name,
                                         const Settings& base);

}  // namespace plnet::runtime
