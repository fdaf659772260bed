# SPDX-License-Identifier: Apache-2.0
# A manual page's source with "@OPTIONS path@", "@COMMANDS path@" and "@EACH path@" (the options of each of its commands, but those that all
# have) lines replaced by what the table of crawl.sh says.
# awk -v table=TABLE -f scdoc.awk PAGE.scd
function shielded(text) { gsub(/[\\_*<>#~\[\]]/, "\\\\&", text); return text }

function options(path, is_own,   i, field, out) {
  for (i = 1; i <= count; i++) {
    split(lines[i], field, "\t")
    if (field[1] != path || field[2] != "o")
      continue
    if (is_own && field[4] ~ /^(help|usage|version)$/)
      continue
    out = ""
    if (field[3] != "")
      out = "*-" shielded(field[3]) "*"
    if (field[4] != "")
      out = out (out == "" ? "" : ", ") "*--" shielded(field[4]) "*"
    if (field[5] != "")
      out = out " _" shielded(field[5]) "_"
    print out "\n\t" shielded(field[6]) "\n"
    found = 1
  }
}

function commands(path,   i, field) {
  for (i = 1; i <= count; i++) {
    split(lines[i], field, "\t")
    if (field[1] != path || field[2] != "c")
      continue
    print "*" field[3] "*\n\t" shielded(field[4]) "\n"
    found = 1
  }
}

function each(path,   i, j, field, other, has_own) {
  for (i = 1; i <= count; i++) {
    split(lines[i], field, "\t")
    if (field[1] != path || field[2] != "c")
      continue
    has_own = 0
    for (j = 1; j <= count; j++) {
      split(lines[j], other, "\t")
      has_own += other[1] == path " " field[3] && other[2] == "o" && other[4] !~ /^(help|usage|version)$/
    }
    if (!has_own)
      continue
    print "## " field[3] "\n"
    options(path " " field[3], 1)
  }
}

BEGIN { while ((getline line < table) > 0) lines[++count] = line }

/^@(OPTIONS|COMMANDS|EACH) .*@$/ {
  path = $0
  sub(/^@[A-Z]* /, "", path)
  sub(/@$/, "", path)
  found = 0
  if ($1 == "@OPTIONS")
    options(path, 0)
  else if ($1 == "@EACH")
    each(path)
  else
    commands(path)
  if (!found) {
    print FILENAME ": nothing is known of '" path "'" > "/dev/stderr"
    exit 1
  }
  next
}
{ print }
