// SPDX-License-Identifier: BSD-3-Clause
// The files of the status page, which embed.py writes into a source.
#pragma once

#include <string_view>

namespace plnet::node {

extern const std::string_view kPageHtml;
extern const std::string_view kPageCss;
extern const std::string_view kPageJs;

}  // namespace plnet::node
