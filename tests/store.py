"""A real S3 server on loopback, and a proxy before it that counts, fails, stalls or refuses."""

import http.client
import itertools
import logging
import threading
import urllib.request
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import fsspec
from moto.server import ThreadedMotoServer

KEY, SECRET = "AKIAEXAMPLE", "wJalr/XUtn+EXAMPLEKEY"
ENVIRONMENT = {
    "FSSPEC_S3_KEY": KEY,
    "FSSPEC_S3_SECRET": SECRET,
    "AWS_DEFAULT_REGION": "us-east-1",
    "AWS_EC2_METADATA_DISABLED": "true",
}


@contextmanager
def s3_server():
    """Give the address of a server that is empty."""
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = ThreadedMotoServer("127.0.0.1", port=0)
    server.start()
    address = "http://{}:{}".format(*server.get_host_and_port())
    # moto keeps its buckets in the process: an earlier server's would still be there
    urllib.request.urlopen(f"{address}/moto-api/reset", data=b"").close()
    try:
        yield address
    finally:
        server.stop()


def use(patch, address):
    """Let fsspec find the server and credentials, in this process and in its children."""
    for name, value in (ENVIRONMENT | {"FSSPEC_S3_ENDPOINT_URL": address}).items():
        patch.setenv(name, value)
    found = {"key": KEY, "secret": SECRET, "endpoint_url": address}
    patch.setitem(fsspec.config.conf, "s3", found)


class Proxy:
    """Passes requests on to a server, and notes them; `answer` may do something else instead.

    `answer(handler, number)` gives whether it has answered the request of this number.
    """

    def __init__(self, address):
        self.server = address.removeprefix("http://")
        self.requests, self._numbers = [], itertools.count(1)
        self.answer = lambda handler, number: False

    def handle(self, handler):
        length = int(handler.headers.get("Content-Length") or 0)
        body = handler.rfile.read(length)
        number = next(self._numbers)
        if self.answer(handler, number):
            return
        connection = http.client.HTTPConnection(self.server, timeout=60)
        connection.request(handler.command, handler.path, body, dict(handler.headers))
        response = connection.getresponse()
        content = response.read()
        self.requests.append((handler.command, handler.path.partition("?")[0], len(content)))
        handler.send_response(response.status)
        for name, value in response.getheaders():
            if name.lower() not in ("transfer-encoding", "connection", "server", "date"):
                handler.send_header(name, value)
        handler.end_headers()
        handler.wfile.write(content)
        connection.close()


def status(code, reason):
    """Give an answer with an error, as S3 words it."""

    def answer(handler, number):
        text = f"<Error><Code>{reason}</Code><Message>{reason}</Message></Error>".encode()
        handler.send_response(code)
        handler.send_header("Content-Length", str(len(text)))
        handler.end_headers()
        if handler.command != "HEAD":
            handler.wfile.write(text)
        return True

    return answer


def hang_up(handler, number):
    """End the connection without an answer."""
    handler.close_connection = True
    handler.connection.close()
    return True


@contextmanager
def proxy_to(address):
    """Give a proxy and its address."""
    proxy = Proxy(address)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def __getattr__(self, name):
            if name.startswith("do_"):
                return lambda: proxy.handle(self)
            raise AttributeError(name)

        def log_message(self, *arguments):
            pass

    class Server(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, request, client):  # who hung up, or was hung up on
            pass

    server = Server(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield proxy, f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
