// SPDX-License-Identifier: BSD-3-Clause
// The schema for people: the reference in doc/configuration.md, and the commented file with all
// defaults, config/plnet.yaml.
#pragma once

#include <string>

namespace plnet::runtime {

class Schema;

// A table with a row for each key: path, valid values, default, when it takes effect, meaning.
[[nodiscard]] std::string render_reference(const Schema& schema);

// A document that sets every key to its default, each with its explanation. Lists are shown as
// comments.
[[nodiscard]] std::string render_default_file(const Schema& schema);

}  // namespace plnet::runtime
