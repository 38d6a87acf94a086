// SPDX-License-Identifier: BSD-3-Clause
// A build without libedit.
#include "apps/lnetctl/line_editor.hpp"

namespace plnet::apps {

std::unique_ptr<LineEditor> open_line_editor(std::FILE* /*in*/, std::FILE* /*out*/,
                                             std::FILE* /*err*/, const char* /*prompt*/,
                                             LineEditor::Words /*words*/) {
  return nullptr;
}

}  // namespace plnet::apps
