// SPDX-License-Identifier: BSD-3-Clause
// The configuration reader against anything: it must not crash, every error must stand in the
// document, and what it accepts must survive export and re-import.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "lib/base/check.hpp"
#include "lib/runtime/control/yaml_printer.hpp"
#include "tests/mocks/whole_schema.hpp"

using namespace plnet::runtime;

// libfyaml 0.7.12 loses its scratch buffer when it refuses a quoted text with a bad escape. The
// document is refused all the same and the process that read it is told; only leaks of our own
// are ours to find here.
extern "C" const char* __lsan_default_suppressions() {
  return "leak:libfyaml.so\n";
}

namespace {

void check_errors(const ConfigErrors& errors, std::string_view text) {
  PLNET_CHECK(!errors.empty(), "a refusal has a reason");
  std::size_t lines = 2;  // a missing bracket is reported after the end
  for (const char c : text)
    lines += c == '\n' || c == '\r' || static_cast<unsigned char>(c) >= 0x80 ? 1 : 0;
  for (const ConfigError& error : errors.list()) {
    PLNET_CHECK(error.at.line >= 1 && error.at.column >= 1, "positions count from 1");
    PLNET_CHECK(error.at.line <= lines, "the line exists");
    PLNET_CHECK(!error.what.empty(), "the error has words");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto settings = read_settings(text, "fuzz");
  if (!settings) {
    check_errors(settings.error(), text);
    return 0;
  }
  for (const ExportForm form : {ExportForm::kFull, ExportForm::kBackup}) {
    const auto exported = print_yaml(export_settings(*settings, form));
    const auto again = read_settings(exported, "export", *settings);
    PLNET_CHECK(again.has_value() && *again == *settings, "an export reads as what it came from");
    PLNET_CHECK(print_yaml(export_settings(*again, form)) == exported, "to the byte");
    PLNET_CHECK(diff_settings(*settings, *again).empty(), "and nothing changed");
  }
  if (const auto reset = reset_settings(text, "fuzz", *settings)) {
    (void)render_changes(diff_settings(*settings, *reset));
  } else {
    check_errors(reset.error(), text);
  }
  return 0;
}
