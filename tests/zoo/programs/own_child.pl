#!/usr/bin/perl
# SPDX-License-Identifier: Apache-2.0
# A child that is the same program is waited for.
use strict;
use warnings;

sub build_index {
    select(undef, undef, undef, 1.2);
}

sub reap_child {
    waitpid($_[0], 0);
}

my $child = fork;
if (!$child) {
    build_index();
    exit 0;
}
reap_child($child);
