# SPDX-License-Identifier: Apache-2.0
# The text of argp's --help, and the lists of sub-commands in it, as the table that crawl.sh describes.
function flush() {
  if (is_open)
    printf "%s\to\t%s\t%s\t%s\t%s\n", path, short, long, argument, text
  is_open = 0
}

/^ +-/ {
  flush()
  is_open = 1
  short = long = argument = text = ""
  count = split($0, words, " ")
  for (i = 1; i <= count && words[i] ~ /^-/; i++) {
    word = words[i]
    sub(/,$/, "", word)
    if (match(word, /\[?=/)) {
      argument = substr(word, RSTART + RLENGTH)
      if (substr(word, RSTART, 1) == "[")
        sub(/\]$/, "", argument)
      word = substr(word, 1, RSTART - 1)
    }
    if (word ~ /^--/)
      long = long == "" ? substr(word, 3) : long
    else
      short = short == "" ? substr(word, 2) : short
  }
  for (; i <= count; i++)
    text = text (text == "" ? "" : " ") words[i]
  in_commands = 0
  next
}

is_open && match($0, /^ +/) && RLENGTH >= 20 {
  sub(/^ +/, "")
  text = text (text == "" ? "" : " ") $0
  next
}

/^(Sub-commands|Commands).*:$/ { flush(); in_commands = 1; next }

in_commands && /^  [a-z]/ {
  line = $0
  sub(/^  /, "", line)
  count = split(line, parts, /  +/)
  split(line, words, " ")
  printf "%s\tc\t%s\t%s\n", path, words[1], (count > 1 ? parts[count] : substr(line, length(words[1]) + 2))
  next
}

{ flush(); if (in_commands && $0 !~ /^ /) in_commands = 0 }
END { flush() }
