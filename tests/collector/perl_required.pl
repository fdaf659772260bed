# SPDX-License-Identifier: Apache-2.0
# Code of a file that another one requires: perl_fixture.pl.
nap();
recursion(1);
1;
