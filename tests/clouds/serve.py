"""Google's and Azure's storage for tests, on a free loopback port, as far as obstore asks them.

Google's XML interface (https://cloud.google.com/storage/docs/xml-api) and Azure's for blobs
(https://learn.microsoft.com/rest/api/storageservices) differ in their headers and lists; what they
promise is the same: a put is whole, and holds only on its condition. Azure's own emulator, Azurite,
takes the place of the second half where it is installed (bucket.py).
"""

import re
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler
from itertools import count
from threading import Lock
from typing import ClassVar
from urllib.parse import parse_qsl, unquote, urlsplit
from xml.sax.saxutils import escape

ACCOUNT, TOKEN = "devstoreaccount1", "loopback-token"
PAGE = 50
"""Names in one answer, so that tests meet lists of several."""
Blob = tuple[bytes, str]


class Answer(Exception):
    """The status, the body and the headers of an answer."""


class Storage(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    buckets: ClassVar[dict[str, dict[str, Blob]]] = {}
    parts: ClassVar[dict[tuple[str, str], dict[str, bytes]]] = {}
    lock, numbers = Lock(), count(1)

    def answer(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        url = urlsplit(self.path)
        self.asked = dict(parse_qsl(url.query, keep_blank_values=True))
        first, _, rest = url.path.strip("/").partition("/")
        self.is_azure = first == ACCOUNT
        bucket, _, key = rest.partition("/") if self.is_azure else (first, "", rest)
        try:
            with self.lock:
                self.check()
                self.act(unquote(bucket), unquote(key), body)
        except Answer as answer:
            status, content, headers = answer.args
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        if self.command != "HEAD":
            self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    do_GET = do_PUT = do_POST = do_DELETE = do_HEAD = answer

    def check(self) -> None:
        start = f"SharedKey {ACCOUNT}:" if self.is_azure else f"Bearer {TOKEN}"
        if not self.headers.get("Authorization", "").startswith(start):
            raise self.error(403, "AuthorizationFailure" if self.is_azure else "AccessDenied")

    def act(self, bucket: str, key: str, body: bytes) -> None:
        if self.command == "PUT" and not key:
            self.buckets.setdefault(bucket, {})
            raise Answer(201, b"", {})
        if (blobs := self.buckets.get(bucket)) is None:
            raise self.error(404, "ContainerNotFound" if self.is_azure else "NoSuchBucket")
        if self.asked.get("comp") == "batch":
            raise self.batch(blobs, body)
        if not key:
            raise self.listed(blobs)
        if self.command == "POST" or "uploadId" in self.asked or "comp" in self.asked:
            self.in_parts(blobs, bucket, key, body)
        if self.command == "PUT":
            raise self.put(blobs, key, body)
        if key not in blobs:
            raise self.error(404, "BlobNotFound" if self.is_azure else "NoSuchKey")
        if self.command == "DELETE":
            del blobs[key]
            raise Answer(202 if self.is_azure else 204, b"", {})
        raise self.got(blobs[key])

    def put(self, blobs: dict[str, Blob], key: str, body: bytes) -> Answer:
        """Azure's condition is an ETag, Google's a generation; both answer 412 where it changed."""
        mark = blobs[key][1] if key in blobs else ""
        if self.is_azure:
            if self.headers.get("If-None-Match") == "*" and mark:
                return self.error(409, "BlobAlreadyExists")
            must = self.headers.get("If-Match", f'"{mark}"').strip('"')
        else:
            must = self.headers.get("x-goog-if-generation-match", mark or "0")
            mark = mark or "0"
        if must != mark:
            return self.error(412, "ConditionNotMet" if self.is_azure else "PreconditionFailed")
        blobs[key] = body, str(next(self.numbers))
        return Answer(201 if self.is_azure else 200, b"", self.marks(blobs[key]))

    def got(self, blob: Blob) -> Answer:
        content, headers = blob[0], self.marks(blob) | {"Last-Modified": formatdate(usegmt=True)}
        asked = self.headers.get("Range") or self.headers.get("x-ms-range")
        if not asked or self.command == "HEAD":
            return Answer(200, content, headers | {"Content-Length": str(len(content))})
        first, last = asked.removeprefix("bytes=").split("-")
        start = int(first) if first else max(0, len(content) - int(last))
        end = min(len(content), int(last) + 1) if first and last else len(content)
        if start >= len(content):
            return self.error(416, "InvalidRange")
        headers["Content-Range"] = f"bytes {start}-{end - 1}/{len(content)}"
        return Answer(206, content[start:end], headers)

    def in_parts(self, blobs: dict[str, Blob], bucket: str, key: str, body: bytes) -> None:
        parts = self.parts.setdefault((bucket, key), {})
        if "uploads" in self.asked:
            raise Answer(200, b"<Result><UploadId>1</UploadId></Result>", {})
        if number := self.asked.get("partNumber") or self.asked.get("blockid"):
            parts[number] = body
            raise Answer(200 if "partNumber" in self.asked else 201, b"", {"ETag": f'"{number}"'})
        if self.command == "DELETE":
            del self.parts[bucket, key]
            raise Answer(204, b"", {})
        names = re.findall(r"<(?:PartNumber|Uncommitted)>(.+?)</", body.decode())
        answer = self.put(blobs, key, b"".join(parts[name] for name in names))
        del self.parts[bucket, key]
        status, _, headers = answer.args
        tag = f"<Result><ETag>{escape(headers.get('ETag', ''))}</ETag></Result>"
        raise Answer(status, tag.encode(), headers)

    def listed(self, blobs: dict[str, Blob]) -> Answer:
        prefix, mark = self.asked.get("prefix", ""), self.asked.get("delimiter")
        names = dict[str, Blob | None]()
        for key in sorted(key for key in blobs if key.startswith(prefix)):
            rest, cut, _ = key[len(prefix) :].partition(mark) if mark else (key, "", "")
            names[prefix + rest + cut if cut else key] = None if cut else blobs[key]
        after = self.asked.get("marker") or self.asked.get("continuation-token") or ""
        later = [name for name in names if name > after]
        page, more = later[:PAGE], later[PAGE - 1] if len(later) > PAGE else ""
        lines = "".join(self.line(name, names[name]) for name in page)
        if self.is_azure:
            xml = f"<List><Blobs>{lines}</Blobs><NextMarker>{escape(more)}</NextMarker></List>"
        else:
            token = f"<NextContinuationToken>{escape(more)}</NextContinuationToken>" if more else ""
            xml = f"<List>{lines}{token}</List>"
        return Answer(200, xml.encode(), {})

    def line(self, name: str, blob: Blob | None) -> str:
        name = escape(name)
        if blob is None:
            folder = f"<BlobPrefix><Name>{name}</Name></BlobPrefix>"
            other = f"<CommonPrefixes><Prefix>{name}</Prefix></CommonPrefixes>"
            return folder if self.is_azure else other
        size, etag = len(blob[0]), f"<ETag>{blob[1]}</ETag>"
        if self.is_azure:
            about = f"<Last-Modified>{formatdate(usegmt=True)}</Last-Modified>" + etag.replace(
                "ET", "Et"
            )
            about += f"<Content-Length>{size}</Content-Length><Content-Type>x</Content-Type>"
            return f"<Blob><Name>{name}</Name><Properties>{about}</Properties></Blob>"
        about = f"<LastModified>2026-01-01T00:00:00Z</LastModified><Size>{size}</Size>"
        return f"<Contents><Key>{name}</Key>{etag}{about}</Contents>"

    def marks(self, blob: Blob) -> dict[str, str]:
        return {"ETag": f'"{blob[1]}"', "x-goog-generation": blob[1]}

    def batch(self, blobs: dict[str, Blob], body: bytes) -> Answer:
        """Azure's way to remove: requests within a request."""
        mark, _, asked = body.decode().partition("\r\n")
        answers = ""
        for number, path in enumerate(re.findall(r"DELETE (\S+) ", asked)):
            gone = blobs.pop(unquote(path).removeprefix(f"/{ACCOUNT}/").partition("/")[2], None)
            status = "202 Accepted" if gone else "404 The specified blob does not exist."
            answers += f"{mark}\r\nContent-Type: application/http\r\nContent-ID: {number}\r\n\r\n"
            answers += f"HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n"
        kind = {"Content-Type": f"multipart/mixed; boundary={mark[2:]}"}
        return Answer(202, f"{answers}{mark}--\r\n".encode(), kind)

    def error(self, status: int, code: str) -> Answer:
        xml = f"<?xml version='1.0'?><Error><Code>{code}</Code><Message>no</Message></Error>"
        return Answer(status, xml.encode(), {"x-ms-error-code": code})

    def log_message(self, *_: object) -> None: ...
