// SPDX-License-Identifier: BSD-3-Clause
// Completion scripts for bash and zsh. Both walk over the words before the cursor: an option that
// takes a value takes the next word, and words of commands are collected. Two tables then say what
// may follow. The values of a running node come from `lnetctl --complete`.
#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "apps/manual/program_page.hpp"
#include "lib/base/joined.hpp"

namespace plnet::manual {
namespace {

struct Follower {
  std::string word;
  std::string help;
};

struct Place {  // after certain words
  std::vector<Follower> words;
  std::vector<Follower> options;
  std::string argument = "none";
};

struct Tables {
  std::map<std::string, Place> places;
  std::map<std::string, std::string> values;  // of options, by "words|--option"
};

std::string kind_of(Values values) {
  switch (values) {
    case Values::kFile: return "file";
    case Values::kFolder: return "folder";
    case Values::kNid: return "nids";
    case Values::kNet: return "nets";
    case Values::kInterface: return "interfaces";
    case Values::kNone: return "none";
  }
  return "none";
}

std::string kind_of(std::string_view value_name, const std::vector<std::string>& choices) {
  if (!choices.empty()) return "words:" + joined(choices, " ");
  return kind_of(values_of(value_name));
}

void add_options(Tables& tables, const std::string& words, const std::vector<Option>& options) {
  Place& place = tables.places[words];
  for (const Option& option : options) {
    if (option.name.empty()) continue;
    const std::string name = "--" + option.name;
    place.options.push_back({name, option.help});
    if (option.value.empty() || option.value_optional) continue;
    const std::string kind = kind_of(option.value, option.choices);
    tables.values[fmt::format("{}|{}", words, name)] = kind;
    if (option.letter != 0) tables.values[fmt::format("{}|-{}", words, option.letter)] = kind;
  }
  const auto is_help = [](const Follower& each) { return each.word == "--help"; };
  if (std::ranges::none_of(place.options, is_help))
    place.options.push_back({"--help", "print the help"});
}

Tables tables_of(const ProgramPage& page) {
  Tables tables;
  add_options(tables, "", page.options);
  tables.places[""].argument = kind_of(page.usage, {});
  for (const Command& command : page.commands) {
    std::string before;
    std::string_view rest = command.words;
    while (!rest.empty()) {
      const std::size_t end = std::min(rest.find(' '), rest.size());
      const std::string word(rest.substr(0, end));
      rest.remove_prefix(std::min(end + 1, rest.size()));
      auto& follow = tables.places[before].words;
      const bool is_last = rest.empty();
      const auto known = std::ranges::find(follow, word, &Follower::word);
      if (known == follow.end()) {
        follow.push_back({word, is_last ? command.help : word + " ..."});
      } else if (is_last) {
        known->help = command.help;
      }
      before += (before.empty() ? "" : " ") + word;
    }
    add_options(tables, command.words, command.options);
    tables.places[command.words].argument = kind_of(command.usage, command.choices);
  }
  return tables;
}

// Between double quotes of a shell.
std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char letter : text) {
    if (std::string_view("\"\\$`").find(letter) != std::string_view::npos) out += '\\';
    out += letter;
  }
  return out + "\"";
}

std::string function_of(const ProgramPage& page) {
  std::string name = "_plnet_" + page.name;
  std::ranges::replace(name, '-', '_');
  return name;
}

// The walk, the same text for both shells; it fills in `command` and `before`.
std::string walk(const Tables& tables, std::string_view all_words, std::string_view function) {
  std::string known;
  for (const auto& [words, place] : tables.places) {
    if (words.empty()) continue;
    known += (known.empty() ? "" : "|") + quoted(words);
  }
  std::string text = fmt::format(
      "    for word in {}; do\n"
      "        if [[ -n $before ]]; then\n"
      "            if [[ $before == --socket || $before == --instance ]]; then where+=(\"$before\" "
      "\"$word\"); fi\n"
      "            before=\"\"\n"
      "            continue\n"
      "        fi\n"
      "        case \"$word\" in\n"
      "            -*) {}_value \"$command|$word\"; [[ -n $kind ]] && before=$word ;;\n",
      all_words, function);
  if (!known.empty()) {
    text += fmt::format(
        "            *) case \"${{command:+$command }}$word\" in\n"
        "                {}) command=\"${{command:+$command }}$word\" ;;\n"
        "            esac ;;\n",
        known);
  }
  return text + "        esac\n    done\n";
}

// The text around the table of places, the same for both shells, except that each takes the value
// of --option=value in its own way.
std::string before_places(std::string_view take_value, std::string_view function) {
  return fmt::format(
      "    if [[ -z $before && $last == --*=* ]]; then before=${{last%%=*}}; {}; fi\n"
      "    if [[ -n $before ]]; then\n"
      "        {}_value \"$command|$before\"\n"
      "    else\n"
      "        case \"$command\" in\n",
      take_value, function);
}
constexpr std::string_view kBehindPlaces =
    "        esac\n"
    "        if [[ $last == -* || ( $kind == none && ${#list[@]} -eq 0 ) ]]; then "
    "kind=none list=(\"${options[@]}\"); fi\n"
    "    fi\n";

// Sets `kind`: what an option takes; empty for a flag.
std::string value_function(const Tables& tables, const std::string& function) {
  std::string text = function + "_value() {\n    case \"$1\" in\n";
  std::map<std::string, std::vector<std::string>> by_kind;
  for (const auto& [option, kind] : tables.values)
    by_kind[kind].push_back(quoted(option));
  for (const auto& [kind, options] : by_kind)
    text += fmt::format("        {}) kind={} ;;\n", joined(options, "|"), quoted(kind));
  return text + "        *) kind=\"\" ;;\n    esac\n}\n";
}

std::string words_of(const std::vector<Follower>& followers) {
  std::vector<std::string> words;
  words.reserve(followers.size());
  for (const Follower& each : followers)
    words.push_back(quoted(each.word));
  return joined(words, " ");
}

std::string bash_of(const ProgramPage& page) {
  const Tables tables = tables_of(page);
  const std::string function = function_of(page);
  std::string text = fmt::format("# bash completion for {0}, made by: {0} --completion bash\n{1}",
                                 page.name, value_function(tables, function));
  text += fmt::format(
      "{}() {{\n"
      "    local line=${{COMP_LINE:0:COMP_POINT}} word command=\"\" before=\"\" kind=\"\" last "
      "breaks=\"\"\n"
      "    local -a typed where=() list=() options=()\n"
      "    # Bash breaks words at the @ and : of NIDs: split the line again.\n"
      "    read -ra typed <<< \"$line\"\n"
      "    [[ $line == *[[:space:]] ]] && typed+=(\"\")\n"
      "    last=${{typed[${{#typed[@]}}-1]}}\n",
      function);
  text += walk(tables, "\"${typed[@]:1:${#typed[@]}-2}\"", function);
  text += before_places("last=${last#*=}", function);
  for (const auto& [words, place] : tables.places) {
    text += fmt::format("            {}) kind={} list=({}) options=({}) ;;\n", quoted(words),
                        quoted(place.argument), words_of(place.words), words_of(place.options));
  }
  text += kBehindPlaces;
  text +=
      "    COMPREPLY=()\n"
      "    case \"$kind\" in\n"
      "        file) compopt -o filenames 2>/dev/null; mapfile -t COMPREPLY < <(compgen -f -- "
      "\"$last\"); return ;;\n"
      "        folder) compopt -o filenames 2>/dev/null; mapfile -t COMPREPLY < <(compgen -d -- "
      "\"$last\"); return ;;\n"
      "        words:*) read -ra list <<< \"${kind#words:}\" ;;\n"
      "        nids|nets|interfaces) mapfile -t -O \"${#list[@]}\" list < <(lnetctl "
      "\"${where[@]}\" --complete \"$kind\" 2>/dev/null) ;;\n"
      "    esac\n"
      "    for word in \"${list[@]}\"; do\n"
      "        [[ $word == \"$last\"* ]] && COMPREPLY+=(\"$word\")\n"
      "    done\n"
      "    # What bash takes for earlier words stays; it keeps an @ with the word behind it.\n"
      "    for word in : =; do [[ $COMP_WORDBREAKS == *$word* ]] && breaks+=$word; done\n"
      "    word=\"\"\n"
      "    if [[ -n $breaks && $last == *[$breaks]* ]]; then word=${last%\"${last##*[$breaks]}\"}; "
      "fi\n"
      "    if [[ $COMP_WORDBREAKS == *@* && ${last#\"$word\"} == *@* ]]; then word=${last%@*}; fi\n"
      "    COMPREPLY=(\"${COMPREPLY[@]#\"$word\"}\")\n"
      "}\n";
  return text + fmt::format("complete -F {} {}\n", function, page.name);
}

// For _describe: words, each with its help.
std::string described(const std::vector<Follower>& followers) {
  std::vector<std::string> words;
  for (const Follower& each : followers) {
    std::string word;
    for (const char letter : each.word)
      word += letter == ':' ? std::string("\\:") : std::string(1, letter);
    words.push_back(quoted(word + ":" + each.help));
  }
  return joined(words, " ");
}

std::string zsh_of(const ProgramPage& page) {
  const Tables tables = tables_of(page);
  const std::string function = function_of(page);
  std::string text =
      fmt::format("#compdef {0}\n# zsh completion for {0}, made by: {0} --completion zsh\n{1}",
                  page.name, value_function(tables, function));
  text += fmt::format(
      "{}() {{\n"
      "    local word command=\"\" before=\"\" kind=\"\" last=\"${{words[CURRENT]}}\"\n"
      "    local -a where list options live\n",
      function);
  text += walk(tables, "\"${(@)words[2,CURRENT-1]}\"", function);
  text += before_places("compset -P '*='", function);
  for (const auto& [words, place] : tables.places) {
    text += fmt::format(
        "            {})\n"
        "                kind={}\n"
        "                list=({})\n"
        "                options=({}) ;;\n",
        quoted(words), quoted(place.argument), described(place.words), described(place.options));
  }
  text += kBehindPlaces;
  text +=
      "    (( ${#list} )) && _describe -t words 'command or option' list\n"
      "    case \"$kind\" in\n"
      "        file) _files ;;\n"
      "        folder) _files -/ ;;\n"
      "        words:*) live=(${=kind#words:}); compadd -a live ;;\n"
      "        nids|nets|interfaces) live=(${(f)\"$(lnetctl $where --complete $kind "
      "2>/dev/null)\"}); compadd -a live ;;\n"
      "    esac\n"
      "}\n";
  return text + fmt::format("{} \"$@\"\n", function);
}

}  // namespace

Values values_of(std::string_view value_name) {
  while (value_name.starts_with('['))
    value_name.remove_prefix(1);
  constexpr auto begins = [](std::string_view text, std::string_view word) {
    if (!text.starts_with(word)) return false;
    const std::string_view rest = text.substr(word.size());
    return rest.empty() || rest.find_first_of(" ].|") == 0;
  };
  for (const std::string_view word : {"NID", "NIDS", "NIDLIST", "SRC"}) {
    if (begins(value_name, word)) return Values::kNid;
  }
  for (const std::string_view word : {"FILE", "PATH", "SWEEP", "site", "PLAN.yaml", "A"}) {
    if (begins(value_name, word)) return Values::kFile;
  }
  for (const std::string_view word : {"FOLDER", "DIR", "RESULTS", "folder"}) {
    if (begins(value_name, word)) return Values::kFolder;
  }
  if (begins(value_name, "NET")) return Values::kNet;
  if (begins(value_name, "IF") || begins(value_name, "IFLIST")) return Values::kInterface;
  return Values::kNone;
}

std::string completion_of(const ProgramPage& page, std::string_view shell) {
  if (shell == "bash") return bash_of(page);
  return shell == "zsh" ? zsh_of(page) : "";
}

std::optional<std::string> answer(const ProgramPage& page, int count, const char* const* words) {
  const std::string first = count > 1 ? words[1] : "";
  if (count == 2 && first == "--" + std::string(kPrintManual)) return mdoc_of(page);
  if (count != 3 || first != "--" + std::string(kCompletion)) return std::nullopt;
  std::string script = completion_of(page, words[2]);
  if (script.empty()) return std::nullopt;
  return script;
}

}  // namespace plnet::manual
