// SPDX-License-Identifier: BSD-3-Clause
#include "node/flags/flags.hpp"

#include <cerrno>
#include <cstdio>
#include <system_error>

namespace plnet::node {
namespace {

constexpr int kFailedStatus = 1;
constexpr int kUsageStatus = 2;

std::optional<std::string> empty_one(const CLI::App& app) {
  for (const CLI::Option* const option : app.get_options()) {
    if (option->count() > 0 && option->get_expected_min() > 0 && option->results().front().empty())
      return option->get_name();
  }
  return std::nullopt;
}

}  // namespace

EarlyEnd wrong_flags(const CLI::App& app, const Error& error) {
  return {kUsageStatus, app.get_name() + ": " + error.what + "\n"};
}

std::optional<EarlyEnd> take_flags(CLI::App& app, int count, const char* const* words) {
  try {
    app.parse(count, words);
  } catch (const CLI::CallForHelp&) {
    return EarlyEnd{0, app.help()};
  } catch (const CLI::CallForVersion&) {
    return EarlyEnd{0, app.version() + "\n"};
  } catch (const CLI::ParseError& error) {
    return wrong_flags(app, {Errc::kInvalid, std::string(error.what()) + "; " + app.get_name() +
                                                 " --help lists the flags"});
  }
  if (const auto flag = empty_one(app)) {
    return wrong_flags(app, {Errc::kInvalid, *flag + " '': expected a value; leave " + *flag +
                                                 " out for the default"});
  }
  return std::nullopt;
}

int complain(std::string_view program, const Error& error) {
  std::fprintf(stderr, "%.*s: %s\n", static_cast<int>(program.size()), program.data(),
               error.what.c_str());
  return kFailedStatus;
}

int flushed(std::string_view program, int status) {
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return status;
  const int number = errno;
  std::fprintf(stderr, "%.*s: cannot write to standard output: %s\n",
               static_cast<int>(program.size()), program.data(),
               std::generic_category().message(number).c_str());
  return status != 0 ? status : kFailedStatus;
}

int say(std::string_view program, const EarlyEnd& end) {
  std::fputs(end.text.c_str(), end.status == 0 ? stdout : stderr);
  return flushed(program, end.status);
}

}  // namespace plnet::node
