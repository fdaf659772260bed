#!/usr/bin/perl
# SPDX-License-Identifier: Apache-2.0
# A server does not answer in time; it is asked again.
use strict;
use warnings;
use IO::Select;
use IO::Socket::INET;

my $silent = IO::Socket::INET->new(Listen => 5, LocalAddr => '127.0.0.1', LocalPort => 7461, ReuseAddr => 1) or die;

sub ask_price {
    my $socket = IO::Socket::INET->new(PeerAddr => '127.0.0.1', PeerPort => 7461) or die;
    $socket->syswrite("price?\n");
    my @ready = IO::Select->new($socket)->can_read(0.2);
    return scalar @ready;
}

for my $try (1 .. 6) {
    last if ask_price();
}
