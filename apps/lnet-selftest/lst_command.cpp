// SPDX-License-Identifier: BSD-3-Clause
#include "apps/lnet-selftest/lst_command.hpp"

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <unistd.h>

#include "apps/lnet-selftest/console_starter.hpp"
#include "apps/lnet-selftest/lst/consoles.hpp"
#include "apps/lnet-selftest/lst/lst.hpp"
#include "apps/lnet-selftest/variables.hpp"
#include "apps/lnetctl/option_parser.hpp"
#include "apps/manual/option_page.hpp"
#include "lib/runtime/admin/system_clock.hpp"
#include "lib/runtime/control/access.hpp"
#include "lib/runtime/host/cpu_claims.hpp"
#include "lib/runtime/verbs/verb_row.hpp"

namespace plnet::lst {
namespace {

using runtime::row_makers::flag;
using runtime::row_makers::text;
constexpr auto kOptions = std::to_array<apps::OptionRow>({
    text("config", 0, "FILE", "configuration of a started console; LST_CONFIG, /etc/plnet.yaml"),
    text("options", 0, "FILE", "modprobe.d file, also for it"),
    text("instance", 0, "NAME", "the node with the console, if there are several"),
    text("run-dir", 0, "FOLDER", "folder of control sockets; LST_RUN_DIR, /run/plnet"),
    text("lock-dir", 0, "FOLDER", "folder of CPU claims"),
    flag("version", 'V', "print the version"),
    flag("help", 'h', "print this help"),
    flag("list-commands", 0, "list the commands"),
    text(manual::kCompletion, 0, "SHELL", manual::kCompletionHelp),
    flag(manual::kPrintManual, 0, manual::kPrintManualHelp),
});

std::string option_or(const apps::Arguments& options, const char* name, std::string otherwise) {
  return options.has(name) ? options.text(name) : std::move(otherwise);
}

// user@host: lst's default name of sessions.
std::string default_name() {
  std::array<char, 64> host{};
  const bool known = ::gethostname(host.data(), host.size() - 1) == 0;
  return fmt::format("{}@{}", runtime::user_name(::getuid()), known ? host.data() : "unknown_host");
}

// The environment of lst in this process.
class Program {
 public:
  explicit Program(const apps::Arguments& options)
      : consoles_(option_or(options, "run-dir",
                            variable_or("LST_RUN_DIR", std::string(runtime::kControlFolder))),
                  clock_),
        instance_(options.text("instance")),
        start_{.config = option_or(options, "config", variable_or("LST_CONFIG", "")),
               .options = options.text("options"),
               .lock_directory = option_or(options, "lock-dir", runtime::usual_claim_directory())} {
    if (start_.config.empty() && std::filesystem::exists(kDefaultConfig))
      start_.config = kDefaultConfig;
    shell_.default_name = default_name();
    show_names();
    shell_.ask = [this](std::string_view verb, const Shell::Args& args) {
      return consoles_.ask_session(verb, args);
    };
    shell_.ask_for_session = [this](const Shell::Args& args) { return begin_session(args); };
    shell_.pause = [](std::chrono::seconds time) { std::this_thread::sleep_for(time); };
    shell_.now = [this] {
      return std::chrono::duration_cast<std::chrono::seconds>(clock_.now().time_since_epoch());
    };
  }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  [[nodiscard]] Shell& shell() { return shell_; }
  // It started a console whose session still exists.
  [[nodiscard]] bool leaves_session() const {
    if (!started_) return false;
    const auto console = console_of(consoles_.look(), shell_.key);
    return console || console.error().number == ETIMEDOUT;
  }

 private:
  // Host names are shown to people only; scripts get the unchanged output of lst.
  void show_names() {
    if (::isatty(STDOUT_FILENO) == 0) return;
    if (auto names = runtime::NicNames::look_up("", stderr)) shell_.names = std::move(*names);
  }
  Shell::Asked begin_session(const Shell::Args& args) {
    return lst::begin_session(consoles_, start_, instance_, args, started_);
  }

  runtime::SystemClock clock_;
  Consoles consoles_;
  const std::string instance_;
  ConsoleStart start_;
  Shell shell_;
  bool started_ = false;
};

int end(const Shell& shell, int status) {
  if (std::fflush(shell.out) != 0 || std::ferror(shell.out) != 0) {
    std::fputs("lst: cannot write to standard output\n", stderr);
    if (status == kGood) status = kLocalError;
  }
  return status & 0xff;
}

constexpr const char* kConsoleUsage = "usage: lnet-selftest console [OPTIONS] [COMMAND]\n\n";
constexpr const char* kConsoleHelp =
    "The commands of lst, one or line by line, with a session and a console of its own: it starts\n"
    "with new_session, and everything is removed at the end.";

std::string global_help(bool own_session) {
  const std::string own = fmt::format("{}{}\n\n", kConsoleUsage, kConsoleHelp);
  std::string help = (own_session ? own : "") + overview() + "\nBefore the command:\n";
  for (const apps::OptionRow& option : kOptions) {
    const std::string name =
        fmt::format("{}{}{}", option.name, option.value_name.empty() ? "" : " ", option.value_name);
    help += fmt::format("  --{:<20}{}\n", name, option.help);
  }
  return help;
}

// Nothing: run a command, or the prompt.
std::optional<int> run_informative(const apps::Arguments& options, const Shell& shell,
                                   bool own_session) {
  if (options.has("version")) {
    say(shell, fmt::format("lst {} (plnet)\n", PLNET_VERSION));
    return kGood;
  }
  if (options.has("help")) {
    say(shell, global_help(own_session));
    return kGood;
  }
  if (!options.has("list-commands")) return std::nullopt;
  const std::vector<std::string> list{"--list-commands"};
  return run_lst(list, shell, false);
}

int run(int count, const char* const* words, bool own_session) {
  const bool begins_with_option = count > 1 && std::string_view(words[1]).starts_with("--");
  if (begins_with_option && !own_session) {
    if (const auto text = manual::answer(lst_page(), count, words))
      return std::fputs(text->c_str(), stdout) < 0 ? kLocalError & 0xff : kGood;
  }
  const std::vector<std::string> given(words + 1, words + count);
  const auto options = apps::parse_options(kOptions, given, "lst", true);
  if (!options) {
    std::fprintf(stderr, "%s\n", options.error().what.c_str());
    return kLocalError & 0xff;
  }
  Program program(*options);
  Shell& shell = program.shell();
  if (const auto status = run_informative(*options, shell, own_session)) return end(shell, *status);
  if (const auto read = read_environment(variable("LST_SESSION"), variable("LST_FEATURES"), shell);
      !read) {
    complain(shell, read.error().what + '\n');
    return kLocalError & 0xff;
  }
  if (own_session && shell.key == 0) shell.key = static_cast<std::uint32_t>(::getpid());
  shell.parent = static_cast<std::uint32_t>(::getppid());
  int status = run_lst(options->positional, shell, ::isatty(STDIN_FILENO) == 1);
  if (own_session && program.leaves_session()) {
    const std::vector<std::string> last{"end_session"};
    const int ended = run_lst(last, shell, false);
    if (status == kGood) status = ended;
  }
  return end(shell, status);
}

}  // namespace

manual::ProgramPage lst_page() {
  manual::ProgramPage page{
      .name = "lst",
      .help = "Conducts LNet selftest; without a command: read commands line by line",
      .options = manual::options_of(kOptions)};
  for (const Command* const command : all_commands()) {
    page.commands.push_back({.words = std::string(command->name),
                             .usage = std::string(command->usage),
                             .help = std::string(command->help),
                             .options = manual::options_of(command->options)});
  }
  page.commands.push_back({.words = "help", .usage = "COMMAND", .help = "print the help"});
  return page;
}

manual::Command console_page() {
  return {.words = "console",
          .usage = "[COMMAND]",
          .help = kConsoleHelp,
          .options = manual::options_of(kOptions)};
}

int run_lst_command(int count, const char* const* words) {
  return run(count, words, false);
}

int run_prompt_with_console(int count, const char* const* words) {
  return run(count, words, true);
}

}  // namespace plnet::lst
