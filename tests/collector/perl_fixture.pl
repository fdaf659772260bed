# SPDX-License-Identifier: Apache-2.0
# Sleeps in every way that frames of Perl come to stand on each other, and writes what each stack was: perl_fixture.pl COUNT LOG. Lines
# of LOG: [thread, from, to, [[function, file, line], ...]], innermost first, CLOCK_MONOTONIC ns.
use strict;
use warnings;
use threads;
use threads::shared;
use List::Util qw(first reduce);
use Time::HiRes qw(clock_gettime CLOCK_MONOTONIC);
my ($count, $log) = @ARGV;
my @rows : shared;

# eval {} is no function; other evals, and files, have code of their own.
sub nap {
    my ($up, @place, @frames) = (1, (caller(0))[1, 2]);
    for (; my @c = caller($up); $up++) {
        next if $c[3] eq '(eval)' && !defined $c[6];
        push @frames, [$c[3] eq '(eval)' ? '{main}' : $c[3], @place];
        @place = @c[1, 2];
    }
    push @frames, ['{main}', @place];
    my $before = clock_gettime(CLOCK_MONOTONIC);
    select undef, undef, undef, 0.0005; unshift @frames, ['main::nap', __FILE__, __LINE__];
    my $after = clock_gettime(CLOCK_MONOTONIC);
    my $text = join ',', map { sprintf '["%s","%s",%d]', @$_ } @frames;
    lock @rows;
    push @rows, sprintf '[%d,%d,%d,[%s]]', syscall(186), $before * 1e9, $after * 1e9, $text;
}

sub recursion {
    my $depth = shift // 24;
    return recursion($depth - 1) + 1 if $depth;
    nap();
    return 0;
}

package Text {
    use overload '""' => sub { main::nap(); 'text' }, '<=>' => \&compare, '+' => sub {
        eval { main::nap(); 1 };
        main::nap();
        1;
    };
    our $AUTOLOAD;

    sub new { my ($class, $text) = @_; return bless { text => $text }, $class }
    sub compare { main::nap(); return $_[0]{text} cmp $_[1]{text} }
    sub AUTOLOAD { main::nap(); return $AUTOLOAD }
    sub DESTROY { main::nap() }
}

package Tied {
    sub TIESCALAR { return bless [], shift }
    sub FETCH {
        my $x = eval {
            main::nap();
            die "no\n";
        };
        main::nap();
        return 1;
    }
}

sub by_nap { nap(); return $a <=> $b }

sub callbacks {
    my @sorted = sort { nap(); $a <=> $b } 2, 1;
    @sorted = sort by_nap 2, 1;
    my $found = first { nap(); $_ == 1 } 2, 1;
    my $sum = reduce { nap(); $a + $b } 1, 2;
    my $text = Text->new('a');
    my $joined = "$text";
    my $more = $text + 1;
    $text->colour(1);
    @sorted = sort { $a <=> $b } $text, Text->new('b');
    tie my $tied, 'Tied';
    my $value = $tied;
    (my $changed = 'x') =~ s/x/nap(); 'y'/e;
    return map { nap(); $_ } 1, 2;
}

sub exceptions {
    eval {
        recursion(2);
        die "no\n";
    };
    nap();
    my $x = eval { callbacks(); 1 };
    return;
}

sub through { goto &recursion }

sub evals {
    my $number = shift;
    eval "\n" x ($number % 40) . "nap(); 1" or die;
    no warnings 'redefine';
    eval sprintf("package Made%d; sub made {\n main::nap() }\n made(); 1", $number % 3) or die;
    return;
}

sub files {
    my ($folder) = __FILE__ =~ m{^(.*)/};
    delete $INC{"$folder/perl_required.pl"};
    require "$folder/perl_required.pl";
    return;
}

my @ways = (\&recursion, \&callbacks, \&exceptions, sub { through(3) }, \&files, sub { my $x = sub { nap() }; $x->() });

sub work {
    my $number = shift;
    $ways[$number % @ways]->();
    evals($number);
    return;
}

sub in_threads {
    my @threads = map { my $n = $_; threads->create(sub { work($n + $_) for 1 .. $count; return }) } 1 .. 8;
    $_->join for @threads;
    return;
}

sub write_log {
    open my $file, '>', shift or die;
    print $file "$_\n" for @rows;
    close $file;
    return;
}

work($_) for 1 .. $count * @ways;
in_threads();
my $child = fork;
if (!$child) {
    @rows = ();
    work($_) for 1 .. @ways;
    write_log("$log.child");
    require POSIX;
    POSIX::_exit(0);
}
waitpid $child, 0;
write_log($log);
