# SPDX-License-Identifier: Apache-2.0
# The table of crawl.sh as a completion for bash. Needs nothing of the bash-completion package.
function quoted(list) { gsub(/'/, "'\\''", list); return "'" list "'" }

BEGIN { FS = "\t" }
NR == 1 { program = $1; name = "_" $1; gsub(/-/, "_", name) }
$2 == "c" { commands[$1] = commands[$1] " " $3; known[$1] = known[$1 " " $3] = 1 }
$2 == "o" {
  known[$1] = 1
  if ($4 != "")
    options[$1] = options[$1] " --" $4
  if ($5 != "") {
    if ($4 != "")
      takes[$1 " --" $4] = $5
    if ($3 != "")
      takes[$1 " -" $3] = $5
  }
}

END {
  print "# bash completion for " program "; made by deploy/options/bash.awk from --help"
  print name "() {"
  print "  local cur=${COMP_WORDS[COMP_CWORD]} prev='' path=" program " word i argument='' options='' commands=''"
  print "  COMPREPLY=()"
  print "  for ((i = 1; i < COMP_CWORD; i++)); do"
  print "    word=${COMP_WORDS[i]}"
  print "    if [[ $word == -- ]]; then"
  print "      if declare -F _command_offset >/dev/null; then _command_offset $((i + 1)); return; fi"
  print "      if ((i + 1 == COMP_CWORD)); then mapfile -t COMPREPLY < <(compgen -c -- \"$cur\")"
  print "      else mapfile -t COMPREPLY < <(compgen -f -- \"$cur\"); fi"
  print "      return"
  print "    fi"
  print "    case \"$path $word\" in"
  for (path in known)
    if (path != program)
      print "      " quoted(path) ") path+=\" $word\" ;;"
  print "      *) ;;"
  print "    esac"
  print "  done"
  print "  # bash parts --key=value into three words"
  print "  ((COMP_CWORD > 0)) && prev=${COMP_WORDS[COMP_CWORD-1]}"
  print "  if [[ $cur == = ]]; then cur=''; elif [[ $prev == = ]]; then prev=${COMP_WORDS[COMP_CWORD-2]}; fi"
  print "  case \"$path\" in"
  for (path in known)
    print "    " quoted(path) ") options=" quoted(substr(options[path], 2)) " commands=" quoted(substr(commands[path], 2)) " ;;"
  print "    *) ;;"
  print "  esac"
  print "  case \"$path $prev\" in"
  for (option in takes)
    print "    " quoted(option) ") argument=" quoted(takes[option]) " ;;"
  print "    *) ;;"
  print "  esac"
  print "  case $argument in"
  print "    '') if [[ $cur == -* ]]; then mapfile -t COMPREPLY < <(compgen -W \"$options\" -- \"$cur\")"
  print "      elif [[ $commands ]]; then mapfile -t COMPREPLY < <(compgen -W \"$commands\" -- \"$cur\")"
  print "      else mapfile -t COMPREPLY < <(compgen -f -- \"$cur\"); fi ;;"
  print "    LEVEL) mapfile -t COMPREPLY < <(compgen -W 'error warn info debug' -- \"$cur\") ;;"
  print "    FORMAT) mapfile -t COMPREPLY < <(compgen -W 'html json text folded' -- \"$cur\") ;;"
  print "    FILE | PATH) mapfile -t COMPREPLY < <(compgen -f -- \"$cur\") ;;"
  print "    DIR | ROOT) mapfile -t COMPREPLY < <(compgen -d -- \"$cur\") ;;"
  print "    *) ;;"
  print "  esac"
  print "}"
  print "complete -o filenames -F " name " " program
}
