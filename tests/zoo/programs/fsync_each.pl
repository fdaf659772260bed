#!/usr/bin/perl
# SPDX-License-Identifier: Apache-2.0
# Each record is made durable by itself.
use strict;
use warnings;
use IO::Handle;

open(my $journal, '>', 'orders.journal') or die;
my $record = "\0" x 4096;
for (1 .. 4000) {
    syswrite($journal, $record);
    $journal->sync;
}
