# SPDX-License-Identifier: Apache-2.0
# A manual page's source with "@OPTIONS path@" and "@COMMANDS path@" lines replaced by what the table of crawl.sh says.
# awk -v table=TABLE -f scdoc.awk PAGE.scd
function shielded(text) { gsub(/[\\_*<>#~\[\]]/, "\\\\&", text); return text }

function options(path,   i, field, out) {
  for (i = 1; i <= count; i++) {
    split(lines[i], field, "\t")
    if (field[1] != path || field[2] != "o")
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

BEGIN { while ((getline line < table) > 0) lines[++count] = line }

/^@(OPTIONS|COMMANDS) .*@$/ {
  path = $0
  sub(/^@[A-Z]* /, "", path)
  sub(/@$/, "", path)
  found = 0
  if ($1 == "@OPTIONS")
    options(path)
  else
    commands(path)
  if (!found) {
    print FILENAME ": nothing is known of '" path "'" > "/dev/stderr"
    exit 1
  }
  next
}
{ print }
