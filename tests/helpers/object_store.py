"""A simulated S3 bucket on a loopback port: put (also only where absent), get with ranges, list, copy, delete."""

import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape

STAMP = "2026-01-01T00:00:00.000Z"


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def reply(self, status, body=b"", **headers):
        self.send_response(status)
        for name, value in {"Content-Length": len(body), "ETag": '"e"', **headers}.items():
            self.send_header(name.replace("_", "-"), str(value))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def asked(self):
        url = urlsplit(self.path)
        _, _, key = unquote(url.path).lstrip("/").partition("/")
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        return key, parse_qs(url.query, keep_blank_values=True), body

    def do_PUT(self):
        key, query, body = self.asked()
        objects = self.server.objects
        if "partNumber" in query:
            objects[query["uploadId"][0], int(query["partNumber"][0])] = body
            return self.reply(200)
        if self.headers.get("If-None-Match") == "*" and key in objects:
            return self.reply(412, b"<Error><Code>PreconditionFailed</Code></Error>")
        source = self.headers.get("x-amz-copy-source")
        objects[key] = objects[unquote(source).lstrip("/").partition("/")[2]] if source else body
        return self.reply(200, b"<CopyObjectResult/>" if source else b"")

    def do_POST(self):
        key, query, body = self.asked()
        objects = self.server.objects
        if "uploads" in query:
            upload = f"upload-{len(objects)}"
            return self.reply(200, f"<R><UploadId>{upload}</UploadId></R>".encode())
        if "uploadId" in query:
            parts = sorted(k for k in objects if isinstance(k, tuple) and k[0] == query["uploadId"][0])
            objects[key] = b"".join(objects.pop(part) for part in parts)
            return self.reply(200, b"<CompleteMultipartUploadResult><ETag>e</ETag></CompleteMultipartUploadResult>")
        for gone in re.findall(rb"<Key>(.*?)</Key>", body):
            objects.pop(gone.decode(), None)
        return self.reply(200, b"<DeleteResult/>")

    def do_GET(self):
        key, query, _ = self.asked()
        if "list-type" in query:
            return self.reply(200, self.listing(query).encode())
        data = self.server.objects.get(key)
        if data is None:
            return self.reply(404, b"<Error><Code>NoSuchKey</Code></Error>")
        wanted = re.fullmatch(r"bytes=(\d*)-(\d*)", self.headers.get("Range") or "")
        if not wanted or self.command == "HEAD":
            return self.reply(200, data, Last_Modified="Thu, 01 Jan 2026 00:00:00 GMT")
        first, last = wanted.groups()
        start = int(first) if first else max(0, len(data) - int(last))
        stop = min(int(last) + 1, len(data)) if first and last else len(data)
        span = f"bytes {start}-{stop - 1}/{len(data)}"
        return self.reply(206, data[start:stop], Content_Range=span, Last_Modified="Thu, 01 Jan 2026 00:00:00 GMT")

    def do_HEAD(self):
        key, _, _ = self.asked()
        data = self.server.objects.get(key)
        if data is None:
            return self.reply(404)
        return self.reply(200, data, Last_Modified="Thu, 01 Jan 2026 00:00:00 GMT")

    def do_DELETE(self):
        self.server.objects.pop(self.asked()[0], None)
        self.reply(204)

    def listing(self, query):
        prefix, delimiter = (query.get(name, [""])[0] for name in ("prefix", "delimiter"))
        names = sorted(k for k in self.server.objects if isinstance(k, str) and k.startswith(prefix))
        rows, folders = [], {}
        for name in names:
            head, mark, _ = name[len(prefix) :].partition(delimiter) if delimiter else (name, "", "")
            if mark:
                folders[prefix + head + mark] = None
            else:
                size = len(self.server.objects[name])
                rows.append(
                    f"<Contents><Key>{escape(name)}</Key><LastModified>{STAMP}</LastModified>"
                    f"<ETag>e</ETag><Size>{size}</Size></Contents>"
                )
        shared = "".join(f"<CommonPrefixes><Prefix>{escape(f)}</Prefix></CommonPrefixes>" for f in folders)
        return f"<ListBucketResult><IsTruncated>false</IsTruncated>{''.join(rows)}{shared}</ListBucketResult>"


class ObjectStore:
    """`with ObjectStore() as store`: `store.url` is its address, `store.objects` what lies in it."""

    def __enter__(self):
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.server.objects = self.objects = {}
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()
