#!/usr/bin/env python3
"""The HTTP receiver of the SQL tests: receiver.py PORT

It tells back what it was sent, so that a test sees in the database what went over the wire. It listens on 127.0.0.1
only and must never decide by itself: what it answers stands in the request's path.

  /echo/ANYTHING        200 {method, path, query, headers, body, seen}
  /first/N/STATUS/PATH  STATUS for the first N requests of an Idempotency-Key, then like /PATH
  /status/STATUS        that status, with an empty body
  /after/SECONDS        503 with Retry-After
  /say/TEXT             200 with the percent-decoded TEXT as it stands
  /slow/MS              like /echo, after MS milliseconds

`seen` counts the requests of the same Idempotency-Key, this one included. `body` is the body as text.
"""

import collections
import http.server
import json
import sys
import threading
import time
import urllib.parse


class Receiver(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    seen = collections.Counter()
    lock = threading.Lock()

    def answer(self):
        try:
            self.answer_as_asked()
        except ConnectionError:
            self.close_connection = True  # The client has given up, as some tests want it to.

    def answer_as_asked(self):
        body = self.rfile.read(int(self.headers.get("content-length", 0))).decode()
        with self.lock:
            self.seen[self.headers.get("idempotency-key")] += 1
            seen = self.seen[self.headers.get("idempotency-key")]
        path, _, query = self.path.partition("?")
        word, rest = path[1:].partition("/")[::2]
        if word == "first":
            times, status, rest = rest.split("/", 2)
            if seen <= int(times):
                return self.send(int(status), "")
            word, rest = rest.partition("/")[::2]
        if word == "status":
            return self.send(int(rest), "")
        if word == "after":
            return self.send(503, "", {"Retry-After": rest})
        if word == "say":
            return self.send(200, urllib.parse.unquote(rest))
        if word == "slow":
            time.sleep(int(rest) / 1000)
        headers = {name.lower(): value for name, value in self.headers.items()}
        told = {"method": self.command, "path": path, "query": query, "headers": headers, "body": body, "seen": seen}
        self.send(200, json.dumps(told))

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = answer

    def send(self, status, text, headers=None):
        body = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128


Server(("127.0.0.1", int(sys.argv[1])), Receiver).serve_forever()
