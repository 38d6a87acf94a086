// SPDX-License-Identifier: BSD-3-Clause
#include "apps/lnetdump/verdict.hpp"

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <system_error>

#include <fmt/format.h>

#include "lib/trace/show/words.hpp"

namespace plnet::lnetdump {

namespace {

std::string xml(std::string_view text) {
  return trace::escape_html(trace::printable(text));
}

std::string command_text(const Arguments& arguments) {
  std::string text;
  for (const std::string& word : arguments.command)
    text += (text.empty() ? "" : " ") + word;
  return text.empty() ? "lnetdump" : text;
}

}  // namespace

std::string junit_of(const Arguments& arguments, const trace::Tally& tally) {
  const auto failures = std::ranges::count_if(
      arguments.assertions,
      [&](const trace::Assertion& assertion) { return !assertion.holds(tally); });
  const std::string name = xml(command_text(arguments));
  std::string text = fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
      "<testsuites>\n  <testsuite name=\"{}\" tests=\"{}\" failures=\"{}\">\n",
      name, arguments.assertions.size(), failures);
  for (const trace::Assertion& assertion : arguments.assertions) {
    text += fmt::format("    <testcase classname=\"lnetdump\" name=\"{}\"", xml(assertion.text()));
    if (assertion.holds(tally)) {
      text += "/>\n";
    } else {
      text += fmt::format(">\n      <failure message=\"is {}\"/>\n    </testcase>\n",
                          assertion.value(tally));
    }
  }
  return text + "  </testsuite>\n</testsuites>\n";
}

bool judge(const Arguments& arguments, const Dump& dump, std::FILE* error) {
  bool good = true;
  for (const trace::Assertion& assertion : arguments.assertions) {
    if (assertion.holds(dump.tally())) continue;
    good = false;
    fmt::print(error, "lnetdump: assertion failed: {}: it is {}\n", assertion.text(),
               assertion.value(dump.tally()));
  }
  if (!good) {
    for (const std::string& line : dump.kept_lines())
      fmt::print(error, "  {}\n", line);
    if (dump.shown() > dump.kept_lines().size()) {
      fmt::print(error, "  and {} more\n", dump.shown() - dump.kept_lines().size());
    }
  }
  if (!arguments.junit.empty()) {
    std::ofstream file(arguments.junit);
    file << junit_of(arguments, dump.tally());
    file.close();
    if (!file) {
      fmt::print(error, "lnetdump: {}: {}\n", arguments.junit,
                 std::generic_category().message(errno));
      good = false;
    }
  }
  return good;
}

}  // namespace plnet::lnetdump
