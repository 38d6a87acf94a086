// SPDX-License-Identifier: BSD-3-Clause
// LNet's keys of a document against anything: what is accepted has passed every check, survives an
// export and a second import to the byte, and can be taken away again.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "lib/base/check.hpp"
#include "lib/runtime/control/yaml_printer.hpp"
#include "tests/mocks/whole_schema.hpp"

using namespace plnet;
using namespace plnet::runtime;

// libfyaml 0.7.12 loses its scratch buffer when it refuses a quoted text with a bad escape.
extern "C" const char* __lsan_default_suppressions() {
  return "leak:libfyaml.so\n";
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  (void)read_named(text, "fuzz");
  const auto read = read_settings(text, "fuzz");
  if (!read) {
    PLNET_CHECK(!read.error().empty(), "a refusal has a reason");
    return 0;
  }
  PLNET_CHECK(lnet::check_node_config(read->lnet).empty(), "what is accepted is sound");
  const auto exported = print_yaml(export_settings(*read, ExportForm::kBackup));
  const auto again = read_settings(exported, "export");
  PLNET_CHECK(again.has_value(), "an export can be read");
  PLNET_CHECK(again->lnet == read->lnet, "and says the same");
  PLNET_CHECK(print_yaml(export_settings(*again, ExportForm::kBackup)) == exported, "to the byte");
  const auto twice = read_settings(exported, "export", *read);
  PLNET_CHECK(twice.has_value() && *twice == *read, "an import on itself changes nothing");
  const auto gone = reset_settings(exported, "export", *read);
  PLNET_CHECK(gone.has_value(), "what was exported can be taken away");
  PLNET_CHECK(gone->lnet.nets.empty() && gone->lnet.peers.empty() && gone->lnet.routes.empty() &&
                  gone->lnet.udsps.empty() && gone->lnet.ip2nets.empty() &&
                  gone->lnet.faults.empty() && gone->lnet.access.empty(),
              "all of it");
  (void)render_changes(diff_settings(*read, *gone));
  return 0;
}
