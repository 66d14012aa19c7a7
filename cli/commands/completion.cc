// `gpuemu completion SHELL` and `gpuemu man`: generated from the same descriptions as --help, so
// that they never mention options that do not exist.
#include <algorithm>
#include <ostream>
#include <sstream>

#include "cli/commands/commands.h"
#include "cli/commands/options.h"

namespace gpuemu::cli {
namespace {

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

/// Returns the option as it is typed, such as "--format"; "-h" for one without a long name.
std::string word_of(const OptionText& option) {
  return option.long_names.empty() ? "-" + option.short_names.front()
                                   : "--" + option.long_names.front();
}

/// Splits "text|json" into its values; empty if the value is free.
std::vector<std::string> choices_of(const OptionText& option) {
  std::vector<std::string> words;
  if (option.type_name.find('|') == std::string::npos) return words;
  std::istringstream parts(option.type_name);
  for (std::string word; std::getline(parts, word, '|');) words.push_back(word);
  return words;
}

/// Returns the values that the command's first argument may have: "bash", "zsh" and "fish" for
/// `completion`.
std::vector<std::string> argument_choices_of(const CommandText& command) {
  if (!command.first_argument) return {};
  return choices_of(*command.first_argument);
}

/// Sends the request to a running daemon; completing a word does not start one.
template <class R>
std::optional<R> ask_running(Session& session, const Request& request) {
  if (!session.daemon_answers()) return std::nullopt;
  auto reply = session.call(request);
  auto* found = reply ? std::get_if<R>(&*reply) : nullptr;
  return found == nullptr ? std::nullopt : std::optional(std::move(*found));
}

using Words = std::vector<std::string>;

Words op_words(Session& session) {
  Words words;
  if (const auto config = session.config()) {
    for (const OpConfig& op : config->ops) words.push_back(op.name);
  }
  return words;
}

Words kernel_words(Session& session) {
  Words words;
  if (const auto config = session.config()) {
    for (const KernelConfig& kernel : config->kernels) words.push_back(kernel.name);
  }
  return words;
}

Words seed_words(Session& session) {
  constexpr uint64_t kSeedsMax = 100;
  Words words;
  const auto reply = ask_running<ResultsReply>(session, ListFailuresRequest{kSeedsMax, ""});
  if (!reply) return words;
  if (!reply->results.empty()) words.emplace_back("last");
  for (const ValidationResult& result : reply->results) {
    words.push_back(std::to_string(result.seed));
  }
  return words;
}

Words tag_words(Session& session) {
  Words words;
  const auto reply = ask_running<BaselineListReply>(session, Request(ListBaselinesRequest{}));
  if (!reply) return words;
  for (const BaselineInfo& baseline : reply->baselines) words.push_back(baseline.tag);
  return words;
}

Words project_words(Session& session) {
  Words words;
  const auto reply = ask_running<ProjectsReply>(session, Request(ProjectsRequest{}));
  if (!reply) return words;
  for (const ProjectInfo& one : reply->projects) {
    words.push_back(one.path.empty() ? one.id : one.path);
  }
  return words;
}

/// A kind of value that shells complete by calling `gpuemu completion --words KIND`.
struct WordKind {
  const char* name;
  Words places;  ///< Names of the arguments, options and option values of this kind.
  Words (*words)(Session& session);
};
const WordKind kWordKinds[] = {{"ops", {"OP", "OPS", "op"}, op_words},
                               {"kernels", {"KERNEL", "KERNELS", "kernel"}, kernel_words},
                               {"seeds", {"SEED"}, seed_words},
                               {"tags", {"TAG"}, tag_words},
                               {"projects", {"PROJECT", "OLD"}, project_words}};

/// Returns the kind of value that an option or argument takes; "" for others.
std::string word_kind_of(const OptionText& option) {
  std::vector<std::string> places = option.long_names;
  places.push_back(option.argument_name);
  places.push_back(option.type_name);
  for (const WordKind& kind : kWordKinds) {
    const auto is_place = [&](const std::string& place) {
      return std::ranges::find(kind.places, place) != kind.places.end();
    };
    if (option.takes_value && std::ranges::any_of(places, is_place)) return kind.name;
  }
  return "";
}

/// Returns the kind of value that a command's arguments take; "" for `kernels`, which takes
/// built-in ops.
std::string word_kind_of(const CommandText& command) {
  const bool is_open = command.first_argument && command.commands.empty();
  return is_open && command.name != "kernels" ? word_kind_of(*command.first_argument) : "";
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

/// One command with its full name, as in {"baseline", "save"}.
struct CommandPath {
  std::vector<std::string> path;
  const CommandText* command = nullptr;
};

void collect(const CommandText& command, const std::vector<std::string>& path,
             std::vector<CommandPath>& all) {
  all.push_back({path, &command});
  for (const CommandText& one : command.commands) {
    std::vector<std::string> longer = path;
    longer.push_back(one.name);
    collect(one, longer, all);
  }
}

std::vector<CommandPath> all_commands(const CommandText& program) {
  std::vector<CommandPath> all;
  collect(program, {}, all);
  return all;
}

/// The command's own options and those of the program, which each command takes too.
std::vector<OptionText> options_at(const CommandPath& place, const CommandText& program) {
  std::vector<OptionText> options = place.command->options;
  for (const OptionText& one : program.options) {
    if (std::ranges::find(options, word_of(one), word_of) == options.end()) {
      options.push_back(one);
    }
  }
  return options;
}

std::vector<std::string> words_at(const CommandPath& place, const CommandText& program) {
  std::vector<std::string> words;
  for (const CommandText& one : place.command->commands) words.push_back(one.name);
  for (const std::string& word : argument_choices_of(*place.command)) words.push_back(word);
  for (const OptionText& one : options_at(place, program)) words.push_back(word_of(one));
  return words;
}

std::string bash_script(const CommandText& program) {
  std::string known, cases, values, asked;
  for (const CommandPath& place : all_commands(program)) {
    if (!place.path.empty()) {
      known += fmt::format("      '{0}') path='{0}' ;;\n", joined(place.path));
    }
    cases += fmt::format("    '{}') words='{}' ;;\n", joined(place.path),
                         joined(words_at(place, program)));
    if (const std::string kind = word_kind_of(*place.command); !kind.empty()) {
      asked += fmt::format("    '{}') asked={} ;;\n", joined(place.path), kind);
    }
    for (const OptionText& option : options_at(place, program)) {
      if (!option.takes_value) continue;
      const std::string kind = word_kind_of(option);
      const std::vector<std::string> choices = choices_of(option);
      const std::string offered = !kind.empty()     ? "-W \"$(_gpuemu_words " + kind + ")\""
                                  : choices.empty() ? "-f"
                                                    : "-W '" + joined(choices) + "'";
      values += fmt::format("    '{} {}') COMPREPLY=($(compgen {} -- \"$word\")); return ;;\n",
                            joined(place.path), word_of(option), offered);
    }
  }
  return fmt::format(R"sh(# bash completion of gpuemu
_gpuemu_words() {{ command gpuemu completion --words "$1" 2>/dev/null; }}
_gpuemu() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD-1]}}
  local path='' words='' asked='' i
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "$path${{path:+ }}${{COMP_WORDS[i]}}" in
{}      *) ;;
    esac
  done
  case "$path $before" in
{}  esac
  case "$path" in
{}  esac
  case "$path" in
{}  *) ;;
  esac
  if [[ $word == -* || ( -n $words && -z $path ) ]]; then
    COMPREPLY=($(compgen -W "$words" -- "$word"))
  elif [[ -n $asked ]]; then
    COMPREPLY=($(compgen -W "$(_gpuemu_words "$asked")" -- "$word"))
  else
    COMPREPLY=($(compgen -W "$words" -- "$word") $(compgen -f -- "$word"))
  fi
}}
complete -o filenames -F _gpuemu gpuemu
)sh",
                     known, values, cases, asked);
}

/// Escapes text for single quotes in fish.
std::string quoted_for_fish(const std::string& text) {
  std::string out;
  for (const char letter : text) {
    if (letter == '\'' || letter == '\\') out += '\\';
    out += letter;
  }
  return out;
}

/// Escapes text of an _arguments specification for single quotes in zsh.
std::string quoted_for_zsh(const std::string& text) {
  std::string out;
  for (const char letter : text) {
    if (letter == '\'') {
      out += "'\\''";
    } else if (letter == '[' || letter == ']' || letter == ':' || letter == '\\') {
      out += '\\';
      out += letter;
    } else {
      out += letter;
    }
  }
  return out;
}

std::string zsh_arguments(const std::vector<OptionText>& options) {
  std::string text;
  for (const OptionText& option : options) {
    const std::vector<std::string> choices = choices_of(option);
    const std::string kind = word_kind_of(option);
    const std::string value = !option.takes_value ? ""
                              : !kind.empty()     ? ":value:_gpuemu_words " + kind
                              : choices.empty()   ? ":value:_files"
                                                  : ":value:(" + joined(choices) + ")";
    text += fmt::format("        '*{}[{}]{}' \\\n", word_of(option),
                        quoted_for_zsh(first_line(option.help)), value);
  }
  return text;
}

std::string zsh_script(const CommandText& program) {
  std::string cases;
  for (const CommandPath& place : all_commands(program)) {
    std::string below;
    for (const CommandText& one : place.command->commands) below += one.name + " ";
    below += joined(argument_choices_of(*place.command));
    const std::string kind = word_kind_of(*place.command);
    const std::string rest = !kind.empty()   ? fmt::format("'*:word:_gpuemu_words {}'", kind)
                             : below.empty() ? "'*:file:_files'"
                                             : fmt::format("'1:word:({})'", below);
    cases += fmt::format("    '{}')\n      _arguments -S \\\n{}        {} ;;\n", joined(place.path),
                         zsh_arguments(options_at(place, program)), rest);
  }
  std::string known;
  for (const CommandPath& place : all_commands(program)) {
    if (!place.path.empty()) {
      known += fmt::format("      '{0}') command='{0}' ;;\n", joined(place.path));
    }
  }
  return fmt::format(R"sh(#compdef gpuemu
# _arguments puts options of compadd in front of the kind of words.
_gpuemu_words() {{
  local -a found=(${{(f)"$(command gpuemu completion --words $argv[-1] 2>/dev/null)"}})
  compadd "${{(@)argv[1,-2]}}" -a found
}}
_gpuemu() {{
  local i command='' last=1
  for ((i = 2; i < CURRENT; i++)); do
    case "$command${{command:+ }}${{words[i]}}" in
{}      *) continue ;;
    esac
    last=$i
  done
  # What stands before the command is no argument of it.
  words=("${{(@)words[last,-1]}}")
  (( CURRENT -= last - 1 ))
  case "$command" in
{}  esac
}}
# From a folder of completions this text is the function itself; a start-up file reads it.
if [[ ${{funcstack[1]}} == _gpuemu ]]; then _gpuemu "$@"; else compdef _gpuemu gpuemu; fi
)sh",
                     known, cases);
}

std::string asked_by_fish(const std::string& kind) {
  return "(command gpuemu completion --words " + kind + " 2>/dev/null)";
}

std::string fish_script(const CommandText& program) {
  std::string text = "# fish completion of gpuemu\n";
  for (const CommandPath& place : all_commands(program)) {
    std::string when;
    if (place.path.empty()) {
      when = "__fish_use_subcommand";
    } else {
      for (const std::string& word : place.path) {
        when += (when.empty() ? "" : "; and ") + ("__fish_seen_subcommand_from " + word);
      }
    }
    for (const CommandText& one : place.command->commands) {
      text += fmt::format("complete -c gpuemu -f -n '{}' -a '{}' -d '{}'\n", when, one.name,
                          quoted_for_fish(first_line(one.help)));
    }
    const std::vector<std::string> words = argument_choices_of(*place.command);
    if (!words.empty()) {
      text += fmt::format("complete -c gpuemu -f -n '{}' -a '{}'\n", when, joined(words));
    }
    const std::string asked = word_kind_of(*place.command);
    if (!asked.empty()) {
      text += fmt::format("complete -c gpuemu -f -n '{}' -a '{}'\n", when, asked_by_fish(asked));
    }
    for (const OptionText& option : options_at(place, program)) {
      if (option.long_names.empty()) continue;
      const std::vector<std::string> choices = choices_of(option);
      const std::string kind = word_kind_of(option);
      const std::string value = !option.takes_value ? ""
                                : !kind.empty()     ? " -x -a '" + asked_by_fish(kind) + "'"
                                : choices.empty()   ? " -r -F"
                                                    : " -x -a '" + joined(choices) + "'";
      text +=
          fmt::format("complete -c gpuemu -n '{}' -l '{}'{} -d '{}'\n", when,
                      option.long_names.front(), value, quoted_for_fish(first_line(option.help)));
    }
  }
  return text;
}

/// Escapes text for a man page: lines must not begin with a dot, and backslashes and dashes are
/// literal.
std::string roff(const std::string& text) {
  std::string out;
  bool fresh = true;
  for (const char letter : text) {
    if (fresh && (letter == '.' || letter == '\'')) out += "\\&";
    if (letter == '\\') {
      out += "\\e";
    } else if (letter == '-') {
      out += "\\-";
    } else {
      out += letter;
    }
    fresh = letter == '\n';
  }
  return out;
}

std::string man_options(const CommandText& command) {
  std::string text;
  for (const OptionText& option : command.options) {
    std::string names;
    for (const std::string& name : option.short_names) names += "-" + name + ", ";
    for (const std::string& name : option.long_names) names += "--" + name + ", ";
    names.resize(names.size() - 2);
    const std::string value = option.takes_value ? " " + option.type_name : "";
    text += fmt::format(".TP\n\\fB{}\\fR{}\n{}\n", roff(names), roff(value), roff(option.help));
  }
  return text;
}

std::string man_page(const CommandText& program) {
  std::string text = fmt::format(
      ".TH GPUEMU 1 \"\" \"gpuemu {}\" \"User Commands\"\n.SH NAME\ngpuemu \\- {}\n.SH SYNOPSIS\n"
      "\\fBgpuemu\\fR [\\fIOPTIONS\\fR] \\fICOMMAND\\fR ...\n.SH DESCRIPTION\n{}\n.SH OPTIONS\n{}",
      GPUEMU_VERSION, roff("finds out whether GPU kernels are right"), roff(program.help),
      man_options(program));
  text += ".SH COMMANDS\n";
  for (const CommandPath& place : all_commands(program)) {
    if (place.path.empty()) continue;
    text += fmt::format(".SS gpuemu {}\n{}\n", roff(joined(place.path)), roff(place.command->help));
    text += man_options(*place.command);
    const std::string footer = place.command->footer;
    if (!footer.empty()) text += ".PP\n.nf\n" + roff(footer) + "\n.fi\n";
  }
  return text +
         ".SH FILES\n.TP\ngpuemu.toml\nThe project; searched upwards from the working folder.\n"
         ".SH EXIT STATUS\n0 nothing wrong, 1 findings, 2 wrong use or gpuemu.toml, 3 could "
         "not run, 130 interrupted.\n";
}

struct Shell {
  const char* name;
  std::string (*script)(const CommandText& program);
};
constexpr Shell kShells[] = {{"bash", bash_script}, {"zsh", zsh_script}, {"fish", fish_script}};

}  // namespace

void add_completion(Command app, Session& session) {
  auto shell = std::make_shared<std::string>();
  auto words = std::make_shared<std::string>();
  Command command = app.command("completion", "Print the completion script of a shell");
  Option option = command.option("SHELL", *shell, "Which shell");
  option.one_of({"bash", "zsh", "fish"});
  Option kind =
      command.option("--words", *words, "Ops, kernels, seeds, tags or projects, one a line");
  kind.one_of({"ops", "kernels", "seeds", "tags", "projects"});
  kind.hidden();
  command.footer(
      "Examples:\n"
      "  gpuemu completion bash >~/.local/share/bash-completion/completions/gpuemu\n"
      "  gpuemu completion fish >~/.config/fish/completions/gpuemu.fish");
  command.callback([shell, words, app, &session] {
    if (!words->empty()) {
      const auto found =
          std::ranges::find_if(kWordKinds, [&](const WordKind& one) { return *words == one.name; });
      for (const std::string& word : found->words(session)) session.out << word << '\n';
      return;
    }
    if (shell->empty()) {
      session.fail(error(ErrorCode::InvalidArgument,
                         "completion needs the name of a shell: bash, zsh or fish"));
      return;
    }
    const auto found =
        std::ranges::find_if(kShells, [&](const Shell& one) { return *shell == one.name; });
    session.out << found->script(app.text());
  });
  app.command("man", "Print the manual page").callback([app, &session] {
    session.out << man_page(app.text());
  });
}

}  // namespace gpuemu::cli
