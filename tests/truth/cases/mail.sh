#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A web mail: curl asks nginx, nginx a PHP worker, and that logs in to Dovecot (without TLS) and reads the headers of a mailbox
# (the paper's Squirrelmail login). Passwords are hashed, as the paper's were: what it found, that much of the time is auth's SHA-512, is held here.
. "$(dirname "$0")/common.sh"
need nginx-light curl php-fpm php-imap dovecot-imapd openssl
chmod 755 "$work"
mkdir -p "$work/mail/cur" "$work/mail/new" "$work/mail/tmp" "$work/run" "$work/web"
for i in $(seq 200); do
    printf 'From: a%d@example.org\nTo: b@example.org\nSubject: letter %d\nDate: Sat, 21 Nov 2026 00:00:00 +0000\n\n%0500d\n' "$i" "$i" 0 \
        >"$work/mail/cur/$i.host:2,S"
done
chown -R nobody "$work/mail"
printf 'b:%s::::::\n' "$(openssl passwd -6 -salt wakepath secret)" >"$work/passwords"
cat >"$work/dovecot.conf" <<END
base_dir = $work/run
log_path = $work/dovecot.log
protocols = imap
listen = 127.0.0.1
ssl = no
disable_plaintext_auth = no
default_login_user = dovenull
first_valid_uid = 1
mail_location = maildir:$work/mail
service imap-login {
  inet_listener imap {
    port = 18374
  }
  inet_listener imaps {
    port = 0
  }
}
passdb {
  driver = passwd-file
  args = scheme=SHA512-CRYPT username_format=%u $work/passwords
}
userdb {
  driver = static
  args = uid=nobody gid=nogroup home=$work
}
END
cat >"$work/php.conf" <<END
[global]
error_log = $work/php.log
[www]
user = nobody
group = nogroup
listen = 127.0.0.1:18375
pm = static
pm.max_children = 2
END
cat >"$work/web/mail.php" <<'END'
<?php
$box = imap_open("{127.0.0.1:18374/imap/notls}INBOX", "b", "secret") or die("no login: " . imap_last_error());
foreach (imap_fetch_overview($box, "1:200") as $letter)
    echo htmlspecialchars($letter->subject), "\n";
imap_close($box);
END
cat >"$work/nginx.conf" <<END
worker_processes 1;
daemon off;
pid $work/nginx.pid;
error_log $work/error.log;
events { }
http { access_log off; client_body_temp_path $work/t1; proxy_temp_path $work/t2; fastcgi_temp_path $work/t3;
  uwsgi_temp_path $work/t4; scgi_temp_path $work/t5;
  server { listen 127.0.0.1:18376; location / { include /etc/nginx/fastcgi_params;
    fastcgi_param SCRIPT_FILENAME $work/web/mail.php; fastcgi_pass 127.0.0.1:18375; } } }
END
dovecot -F -c "$work/dovecot.conf" &
undo="kill $!"
for fpm in /usr/sbin/php-fpm*; do :; done
"$fpm" -F -y "$work/php.conf" 2>"$work/php.said" &
undo="$undo $!"
nginx -c "$work/nginx.conf" &
undo="$undo $!"
sleep 2
curl -sS http://127.0.0.1:18376/ >"$work/first"
grep -q "letter 200" "$work/first" || { cat "$work/first" "$work/dovecot.log" >&2; exit 1; }
record_case mail comm=curl sh -c 'for i in 1 2 3 4 5; do curl -sS http://127.0.0.1:18376/ >/dev/null || exit 1; done'
finds '[[]auth[]]' "Dovecot's auth"
finds '[[]auth[]].*crypt' "its hashing"
