#!/usr/bin/perl
# SPDX-License-Identifier: Apache-2.0
# A file's lock is held by a child, which pauses.
use strict;
use warnings;
use Fcntl ':flock';

pipe(my $from, my $to) or die;
my $pid = fork();
if (!$pid) {
    open(my $file, '>>', 'state.lock') or die;
    flock($file, LOCK_EX);
    syswrite($to, 'x');
    sleep(2);
    exit(0);
}
sysread($from, my $byte, 1);
open(my $file, '>>', 'state.lock') or die;
flock($file, LOCK_EX);
waitpid($pid, 0);
