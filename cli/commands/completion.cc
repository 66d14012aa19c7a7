// `gpuemu completion SHELL` and `gpuemu man`: made from the same descriptions as --help, so that
// they never name what does not exist.
#include <algorithm>
#include <ostream>
#include <sstream>

#include "cli/commands/commands.h"
#include "cli/commands/options.h"

namespace gpuemu::cli {
namespace {

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

/// "--format"; "-h" where there is no long name.
std::string word_of(const OptionText& option) {
  return option.long_names.empty() ? "-" + option.short_names.front()
                                   : "--" + option.long_names.front();
}

/// "text|json" as its words; none when the value is free.
std::vector<std::string> choices_of(const OptionText& option) {
  std::vector<std::string> words;
  if (option.type_name.find('|') == std::string::npos) return words;
  std::istringstream parts(option.type_name);
  for (std::string word; std::getline(parts, word, '|');) words.push_back(word);
  return words;
}

/// The words that the command's first argument may be: "bash", "zsh" and "fish" of `completion`.
std::vector<std::string> argument_choices_of(const CommandText& command) {
  if (!command.first_argument) return {};
  return choices_of(*command.first_argument);
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

/// One command with the words that lead to it: {"baseline", "save"}.
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

std::vector<std::string> words_at(const CommandPath& place) {
  std::vector<std::string> words;
  for (const CommandText& one : place.command->commands) words.push_back(one.name);
  for (const std::string& word : argument_choices_of(*place.command)) words.push_back(word);
  for (const OptionText& one : place.command->options) words.push_back(word_of(one));
  return words;
}

std::string bash_script(const CommandText& program) {
  std::string known, cases, values;
  for (const CommandPath& place : all_commands(program)) {
    if (!place.path.empty()) {
      known += fmt::format("      '{0}') path='{0}' ;;\n", joined(place.path));
    }
    cases += fmt::format("    '{}') words='{}' ;;\n", joined(place.path), joined(words_at(place)));
    for (const OptionText& option : place.command->options) {
      const std::vector<std::string> choices = choices_of(option);
      if (choices.empty()) continue;
      values += fmt::format("    '{} {}') COMPREPLY=($(compgen -W '{}' -- \"$word\")); return ;;\n",
                            joined(place.path), word_of(option), joined(choices));
    }
  }
  return fmt::format(R"(# bash completion of gpuemu
_gpuemu() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD-1]}} path='' words='' i
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "$path${{path:+ }}${{COMP_WORDS[i]}}" in
{}      *) ;;
    esac
  done
  case "$path $before" in
{}  esac
  case "$path" in
{}  esac
  if [[ $word == -* || ( -n $words && -z $path ) ]]; then
    COMPREPLY=($(compgen -W "$words" -- "$word"))
  else
    COMPREPLY=($(compgen -W "$words" -- "$word") $(compgen -f -- "$word"))
  fi
}}
complete -o filenames -F _gpuemu gpuemu
)",
                     known, values, cases);
}

/// Text inside single quotes of fish.
std::string quoted_for_fish(const std::string& text) {
  std::string out;
  for (const char letter : text) {
    if (letter == '\'' || letter == '\\') out += '\\';
    out += letter;
  }
  return out;
}

/// Text of a specification of _arguments, inside single quotes of zsh.
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

std::string zsh_arguments(const CommandText& command) {
  std::string text;
  for (const OptionText& option : command.options) {
    const std::vector<std::string> choices = choices_of(option);
    const std::string value = !option.takes_value ? ""
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
    const std::string rest =
        below.empty() ? "'*:file:_files'" : fmt::format("'1:word:({})'", below);
    cases += fmt::format("    '{}')\n      _arguments -S \\\n{}        {} ;;\n", joined(place.path),
                         zsh_arguments(*place.command), rest);
  }
  std::string known;
  for (const CommandPath& place : all_commands(program)) {
    if (!place.path.empty()) {
      known += fmt::format("      '{0}') command='{0}' ;;\n", joined(place.path));
    }
  }
  return fmt::format(R"(#compdef gpuemu
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
)",
                     known, cases);
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
    for (const OptionText& option : place.command->options) {
      if (option.long_names.empty()) continue;
      const std::vector<std::string> choices = choices_of(option);
      const std::string value = !option.takes_value ? ""
                                : choices.empty()   ? " -r"
                                                    : " -x -a '" + joined(choices) + "'";
      text +=
          fmt::format("complete -c gpuemu -n '{}' -l '{}'{} -d '{}'\n", when,
                      option.long_names.front(), value, quoted_for_fish(first_line(option.help)));
    }
  }
  return text;
}

/// Text of a man page: no line begins with a dot, backslashes and dashes are what they are.
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
  Command command = app.command("completion", "Print the completion script of a shell");
  Option option = command.option("SHELL", *shell, "Which shell").required();
  option.one_of({"bash", "zsh", "fish"});
  command.footer(
      "Examples:\n"
      "  gpuemu completion bash >~/.local/share/bash-completion/completions/gpuemu\n"
      "  gpuemu completion fish >~/.config/fish/completions/gpuemu.fish");
  command.callback([shell, app, &session] {
    const auto found =
        std::ranges::find_if(kShells, [&](const Shell& one) { return *shell == one.name; });
    session.out << found->script(app.text());
  });
  app.command("man", "Print the manual page").callback([app, &session] {
    session.out << man_page(app.text());
  });
}

}  // namespace gpuemu::cli
