"""Writes an HDF5 file with h5py and prints the responses of h5grove to requests.

Arguments: the file to write, and requests as JSON: [[route, {parameter: value}], ...]
Output: a JSON list of {"status", "type", "json"} or {"status", "type", "base64"}.
With "serve" instead of requests it prints the port of a server that answers them with h5grove; the
file is written only if it does not exist.
"""
import base64
import http.server
import json
import os
import sys
import urllib.parse

import h5py
import numpy as np
from h5grove.content import DatasetContent, ResolvedEntityContent, get_content_from_file, get_list_of_paths
from h5grove.encoders import encode


def write(name):
    with h5py.File(name, "w") as f:
        f.attrs["title"] = "sample"
        f.attrs["bytes"] = np.bytes_(b"fixed")
        f.attrs["numbers"] = np.arange(6, dtype=">i2").reshape(2, 3)
        f.attrs["flag"] = np.True_
        f.attrs["flags"] = np.array([True, False])
        f.attrs["complex"] = np.complex128(1 - 2j)
        f.attrs["empty"] = h5py.Empty("f4")
        f.attrs["words"] = ["a", "bc", "ü"]
        f.attrs["nan"] = np.array([1.5, np.nan, np.inf])
        g = f.create_group("numbers")
        g["f2"] = np.linspace(-1, 1, 7, dtype="<f2")
        g["f4"] = np.arange(24, dtype=">f4").reshape(2, 3, 4) / 7
        g.create_dataset("f8", data=np.arange(1200.0).reshape(10, 12, 10), chunks=(4, 5, 10), compression="gzip", shuffle=True, fletcher32=True)
        long = np.array([1.25, -3.5], dtype=np.longdouble)
        if np.finfo(long.dtype).nmant == 63:
            long.view("u1").reshape(2, -1)[:, 10:] = 0  # padding, which NumPy does not initialize
        g["f16"] = long
        for d in "i1 u1 <i2 >u2 <i4 >u4 <i8 >u8".split():
            g[d.strip("<>")] = np.arange(10, dtype=d) + 1
        g["big"] = np.array([2**63 - 1, -(2**63)])
        g["c8"] = np.array([1 + 2j, 3 - 4j], dtype="<c8")
        g["c16"] = np.array([[1 + 2j], [3 - 4j]], dtype=">c16")
        g["bool"] = np.array([[True, False, True]])
        g["nan"] = np.array([1.5, np.nan, -np.inf, 2])
        g["scalar"] = np.float64(0.1)
        g["scalar_i8"] = np.int64(7)
        g["null"] = h5py.Empty("<f8")
        g["none"] = np.zeros((0, 3), dtype="<i4")
        e = h5py.enum_dtype({"RED": 0, "GREEN": 1, "BLUE": 42}, basetype="u1")
        g.create_dataset("enum", data=np.array([0, 42, 1], dtype="u1"), dtype=e)
        a = g.create_dataset("array", shape=(2,), dtype=np.dtype(("<i4", (2, 3))))
        a[...] = np.arange(12, dtype="<i4").reshape(2, 2, 3)
        t = f.create_group("text")
        t["vlen"] = ["abc", "", "ünï"]
        t["scalar"] = "one string"
        t["fixed"] = np.array([[b"ab", b"cde"]], dtype="S5")
        t["utf8"] = np.array(["é".encode(), b"x"], dtype=h5py.string_dtype("utf-8", 4))
        o = f.create_group("other")
        o["opaque"] = np.array([b"abcd", b"ef\0\0"], dtype="V4")
        o["compound"] = np.array([(1, 2.5, b"xy"), (-1, np.nan, b"")], dtype=[("a", "<i4"), ("b", ">f8"), ("s", "S3")])
        mixed = np.dtype([("name", h5py.string_dtype()), ("ref", h5py.ref_dtype), ("at", "<f4", (2,)), ("inner", [("x", "<i2"), ("c", "<c8")])])
        d = o.create_dataset("mixed", shape=(2,), dtype=mixed)
        d[0] = ("first", g.ref, (0.5, 1), (7, 1 + 1j))
        d[1] = ("", None, (2, 3), (8, 0))
        v = o.create_dataset("sequence", shape=(3,), dtype=h5py.vlen_dtype("<f4"))
        v[0], v[2] = [1, 2.5], [3]
        o["reference"] = np.array([g.ref, h5py.Reference()], dtype=h5py.ref_dtype)
        o["region"] = np.array([g["f8"].regionref[0:2, 1, :]], dtype=h5py.regionref_dtype)
        o["type"] = np.dtype("<f4")
        o.attrs["compound"] = np.array((3, 0.5), dtype=[("i", "<i8"), ("f", "<f4")])
        o.attrs["reference"] = g.ref
        o.attrs["sequence"] = np.array([1, 2, 3], dtype="<i4")
        space = h5py.h5s.create_simple((4,))
        b = h5py.h5d.create(o.id, b"bits", h5py.h5t.STD_B16BE, space)
        b.write(h5py.h5s.ALL, h5py.h5s.ALL, np.array([1, 2, 515, 65535], dtype=">u2"), h5py.h5t.STD_B16BE)
        scalars = f.create_group("scalars")
        scalars["bool"] = np.True_
        scalars["complex"] = np.complex64(1 - 2j)
        scalars["big"] = np.uint64(2**64 - 1)
        scalars["opaque"] = np.void(b"\x00\x01\xff")
        scalars["compound"] = np.array((3, 0.5), dtype=[("i", "<i8"), ("f", "<f4")])
        scalars.create_dataset("enum", data=np.uint8(42), dtype=e)
        scalars.create_dataset("array", shape=(), dtype=np.dtype(("<f4", (2,))))
        scalars.create_dataset("sequence", shape=(), dtype=h5py.vlen_dtype("<i2"))
        ordered = f.create_group("ordered", track_order=True)
        for name in ["z", "b", "a"]:
            ordered.create_dataset(name, data=np.arange(3), track_order=True).attrs.update({"second": 2, "first": 1})
            ordered.attrs[name] = name
        links = f.create_group("links")
        links["soft"] = h5py.SoftLink("/numbers/f8")
        links["broken"] = h5py.SoftLink("/nowhere")
        links["external"] = h5py.ExternalLink("elsewhere.h5", "/data")
        links["hard"] = g["f4"]


class Failure(Exception):
    def __init__(self, status, message):
        self.status, self.message = status, message


def answer(file, route, p):
    path, resolve = p.get("path", "/"), p.get("resolve_links", "only_valid")
    if route == "paths":
        with get_list_of_paths(file, path, Failure, resolve) as paths:
            return encode(paths, "json")
    with get_content_from_file(file, path, Failure, resolve) as c:
        if route == "meta":
            return encode(c.metadata(), "json")
        if route == "attr":
            return encode(c.attributes(p.get("attr_keys")), "json")
        if route == "stats":
            return encode(c.data_stats(p.get("selection")), "json")
        flatten = p.get("flatten", "false") == "true"
        return encode(c.data(p.get("selection"), flatten, p.get("dtype", "origin")), p.get("format", "json"))


class Server(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        url = urllib.parse.urlsplit(self.path)
        parameters = dict(urllib.parse.parse_qsl(url.query))
        status, kind = 200, "application/json"
        try:
            r = answer(sys.argv[1], url.path.strip("/"), parameters)
            body, kind = r.content, r.headers["Content-Type"]
        except Failure as e:
            status, body = e.status, json.dumps({"message": e.message}).encode()
        except Exception as e:  # the servers of h5grove answer with 500
            status, body = 500, json.dumps({"message": repr(e)}).encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def main():
    file = sys.argv[1]
    if sys.argv[2] != "serve" or not os.path.exists(file):
        write(file)
    if sys.argv[2] == "serve":
        server = http.server.HTTPServer(("127.0.0.1", 0), Server)
        print(server.server_port, flush=True)
        server.serve_forever()
    out = []
    for route, parameters in json.loads(sys.argv[2]):
        try:
            r = answer(file, route, parameters)
        except Failure as e:
            out.append({"status": e.status, "message": e.message})
            continue
        except Exception as e:  # the servers of h5grove answer with 500
            out.append({"status": 500, "message": repr(e)})
            continue
        x = {"status": 200, "type": r.headers["Content-Type"]}
        if x["type"] == "application/json":
            x["json"] = json.loads(r.content)
        else:
            x["base64"] = base64.b64encode(r.content).decode()
        out.append(x)
    json.dump(out, sys.stdout)


main()
