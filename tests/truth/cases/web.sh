#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A client of a web server: curl asks nginx, which passes it on to a Python program that reads a file and waits.
. "$(dirname "$0")/common.sh"
need nginx-light curl python3
cat >"$work/nginx.conf" <<END
worker_processes 1;
daemon off;
pid $work/nginx.pid;
error_log $work/error.log;
events { }
http { access_log off; client_body_temp_path $work/t1; proxy_temp_path $work/t2; fastcgi_temp_path $work/t3;
  uwsgi_temp_path $work/t4; scgi_temp_path $work/t5;
  server { listen 127.0.0.1:18377; location / { proxy_pass http://127.0.0.1:18378; } } }
END
cat >"$work/mail.py" <<'END'
import http.server, time
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        time.sleep(0.02)
        text = b"".join(b"%d\n" % (i * i) for i in range(20000))
        self.send_response(200)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)
    def log_message(self, *_):
        pass
http.server.HTTPServer(("127.0.0.1", 18378), Handler).serve_forever()
END
nginx -c "$work/nginx.conf" &
undo="kill $!"
python3 "$work/mail.py" &
undo="$undo $!"
sleep 1
record_case web comm=curl sh -c \
    'for i in 1 2 3 4 5 6 7 8 9 10; do curl -sS http://127.0.0.1:18377/ >/dev/null || exit 1; done'
