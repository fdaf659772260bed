# SPDX-License-Identifier: Apache-2.0
# The table of crawl.sh as a completion for fish.
function quoted(text) { gsub(/\\/, "\\\\", text); gsub(/'/, "\\'", text); return "'" text "'" }
# The condition that the words of a path after the program's name are on the line.
function condition(path,   words, count, i, out) {
  count = split(path, words, " ")
  out = count == 1 ? "__fish_use_subcommand" : ""
  for (i = 2; i <= count; i++)
    out = out (i > 2 ? "; and " : "") "__fish_seen_subcommand_from " words[i]
  for (i = 1; count > 1 && i <= deeper[path]; i++)
    out = out "; and not __fish_seen_subcommand_from " below[path, i]
  return out
}

BEGIN { FS = "\t" }
NR == 1 { program = $1 }
$2 == "c" { below[$1, ++deeper[$1]] = $3 }
{ lines[NR] = $0 }

END {
  print "# fish completion for " program "; made by deploy/options/fish.awk from --help"
  if (deeper[program])
    print "complete -c " program " -n __fish_use_subcommand -f"
  for (n = 1; n <= NR; n++) {
    split(lines[n], field, FS)
    if (field[2] == "c") {
      print "complete -c " program " -n " quoted(condition(field[1])) " -f -a " field[3] " -d " quoted(field[4])
      continue
    }
    out = "complete -c " program
    if (deeper[program] || field[1] != program)
      out = out " -n " quoted(condition(field[1]))
    if (field[3] != "")
      out = out " -s " quoted(field[3])
    if (field[4] != "")
      out = out " -l " field[4]
    if (field[5] == "LEVEL")
      out = out " -x -a 'error warn info debug'"
    else if (field[5] == "FORMAT")
      out = out " -x -a 'html json text folded'"
    else if (field[5] ~ /^(FILE|PATH)$/)
      out = out " -r -F"
    else if (field[5] ~ /^(DIR|ROOT)$/)
      out = out " -x -a '(__fish_complete_directories)'"
    else if (field[5] != "")
      out = out " -x"
    print out " -d " quoted(field[6])
  }
}
