#!/usr/bin/perl
# SPDX-License-Identifier: Apache-2.0
# An order is asked for line by line.
use strict;
use warnings;
use IO::Socket::INET;

my $listener = IO::Socket::INET->new(Listen => 5, LocalAddr => '127.0.0.1') or die;
my $port = $listener->sockport;
my $pid = fork();
if (!$pid) {
    $0 = 'database';
    my $client = $listener->accept;
    while (sysread($client, my $question, 1)) {
        select(undef, undef, undef, 0.004);
        syswrite($client, 'k');
    }
    exit(0);
}
my $database = IO::Socket::INET->new("127.0.0.1:$port") or die;
for (1 .. 250) {
    syswrite($database, 'q');
    sysread($database, my $answer, 1);
}
close($database);
waitpid($pid, 0);
