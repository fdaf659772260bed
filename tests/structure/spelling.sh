#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# No word of the tree is misspelt, as far as codespell knows. The list is of words that it does not know: escapes, plurals, deliberate ones.
set -u
cd "$1" || exit 1
git ls-files '*.c' '*.h' '*.md' '*.py' '*.sh' '*.scd' '*.txt' '*.cmake' '*.conf' '*.yml' '*.yaml' '*.js' '*.css' '*.proto' |
  xargs codespell --quiet-level 3 --ignore-words-list vas,selfs,fro,nd,crate,ond,frequncy,cant
