# SPDX-License-Identifier: Apache-2.0
# The table of crawl.sh as a completion for zsh: one function a path, which hands on to those below it.
function quoted(text) { gsub(/'/, "'\\''", text); return "'" text "'" }
function shielded(text) { gsub(/[\[\]:\\]/, "\\\\&", text); return text }
function named(path) { gsub(/[^a-z0-9]/, "_", path); return "_" path }
function action(argument) {
  if (argument == "LEVEL")
    return "(error warn info debug)"
  if (argument == "FORMAT")
    return "(html json text folded)"
  if (argument ~ /^(FILE|PATH)$/)
    return "_files"
  return argument ~ /^(DIR|ROOT)$/ ? "_files -/" : " "
}
function add(path, word) { specs[path] = specs[path] " \\\n    " quoted(word) }

BEGIN { FS = "\t" }
!($1 in seen) { seen[$1] = 1; order[++paths] = $1 }
NR == 1 { program = $1 }
$2 == "c" { commands[$1] = commands[$1] "\n      " quoted(shielded($3) ":" $4); subs[$1] = subs[$1] " " $3 }
$2 == "o" {
  tail = "[" shielded($6) "]"
  value = $5 == "" ? "" : ":" shielded($5) ":" action($5)
  # one that may be repeated has a star before it
  star = $6 ~ /may be repeated/ ? "*" : ""
  if ($3 != "")
    add($1, star "-" $3 (value == "" ? "" : "+") tail value)
  if ($4 != "")
    add($1, star "--" $4 (value == "" ? "" : "=") tail value)
}

END {
  print "#compdef " program
  print "# zsh completion for " program "; made by deploy/options/zsh.awk from --help"
  for (n = 1; n <= paths; n++) {
    path = order[n]
    print named(path) "() {"
    if (path in commands) {
      print "  local state line context\n  local -a commands\n  typeset -A opt_args"
      print "  _arguments -C -S" specs[path] " \\\n    '1: :->command' '*:: :->rest' && return"
      print "  case $state in\n  command)\n    commands=(" commands[path] "\n    )\n    _describe command commands ;;"
      print "  rest)\n    case $words[1] in"
      count = split(subs[path], list, " ")
      for (i = 1; i <= count; i++)
        if ((path " " list[i]) in seen)
          print "    " list[i] ") " named(path " " list[i]) " ;;"
      print "    *) _default ;;\n    esac ;;\n  esac"
    } else {
      print "  _arguments -S" specs[path] " \\\n    '*:: :_default'"
    }
    print "}"
  }
  print named(program) " \"$@\""
}
