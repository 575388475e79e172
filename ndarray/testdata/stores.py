"""The containers of python-blosc2, for tests: one JSON request per line, one JSON reply per line.

write: makes a store at "path". "kind" is tree, dict or embed. Each node has a key and a type: array
(dtype, shape, data), frame (typesize, data), objects, batches or lists (values). "attrs" maps the
keys of groups to attributes.

table: makes a CTable and returns its rows.

rows: opens a CTable, returns its rows and attributes, and appends its first row again.

kinds: is write, and adds a CTable of "table" rows, of which one is deleted.

describe: returns the kind and the content of each object, and the attributes of groups.

tensor: returns the array that load_tensor returns.

read: returns the nodes and attributes of a TreeStore.
"""

import base64
import dataclasses
import json
import sys

import blosc2
import blosc2.schema as s
import numpy as np


def dtype_of(text):
    return np.dtype(eval(text) if text.startswith("[") else text)


def value_of(node):
    kind = node["type"]
    if kind == "array":
        a = np.frombuffer(base64.b64decode(node["data"]), dtype=dtype_of(node["dtype"])).reshape(node["shape"])
        b = blosc2.asarray(a)
        for name, value in node.get("attrs", {}).items():
            b.schunk.vlmeta[name] = value
        return b
    if kind == "frame":
        data = base64.b64decode(node["data"])
        return blosc2.SChunk(chunksize=64, data=data, cparams={"typesize": node["typesize"]})
    if kind == "packed":
        a = np.frombuffer(base64.b64decode(node["data"]), dtype=dtype_of(node["dtype"])).reshape(node["shape"])
        return blosc2.schunk_from_cframe(blosc2.pack_tensor(a, chunksize=node.get("typesize") or None), copy=True)
    if kind == "objects":
        o = blosc2.ObjectArray()
        o.extend(node.get("values") or [])
        return o
    if kind == "batches":
        o = blosc2.BatchArray()
        for batch in node.get("values") or []:
            o.append(batch)
        return o
    if kind == "lists":
        a = blosc2.ListArray(item_spec=blosc2.float64())
        a.extend(node.get("values") or [])
        a.flush()
        return a._backend if hasattr(a, "_backend") else a
    raise ValueError(kind)


def write(q):
    if q["kind"] == "embed":
        store = blosc2.EmbedStore(q["path"], mode="w")
        for n in q.get("nodes", []):
            store[n["key"]] = value_of(n)
        return {}
    cls = blosc2.TreeStore if q["kind"] == "tree" else blosc2.DictStore
    with cls(q["path"], mode="w", threshold=q["threshold"]) as store:
        for n in q.get("nodes", []):
            store[n["key"]] = value_of(n)
        for key, attrs in q.get("attrs", {}).items():
            group = store if key == "/" else store.get_subtree(key)
            for name, value in attrs.items():
                group.vlmeta[name] = value
    return {}


def read(q):
    nodes, attrs = [], {}
    with blosc2.TreeStore(q["path"], mode="r") as store:
        attrs["/"] = {k: v for k, v in store.vlmeta[:].items() if k != "hyperslab"}
        for key in sorted(store.keys()):
            v = store[key]
            if isinstance(v, blosc2.TreeStore):
                attrs[key] = {k: v for k, v in v.vlmeta[:].items() if k != "hyperslab"}
                continue
            a = v[()]
            own = {k: x for k, x in v.schunk.vlmeta[:].items() if k != "hyperslab"}
            nodes.append({"key": key, "dtype": str(v.dtype.str), "shape": list(v.shape), "attrs": own,
                          "data": base64.b64encode(np.ascontiguousarray(a).tobytes()).decode()})
    return {"nodes": nodes, "attrs": attrs}


def content(v):
    """Returns the kind and the values of an object."""
    kind = type(v).__name__
    if isinstance(v, blosc2.NDArray):
        a = v[()]
        attrs = {k: x for k, x in v.schunk.vlmeta[:].items() if k != "hyperslab"}
        return {"kind": kind, "dtype": v.dtype.str, "shape": list(v.shape), "attrs": attrs,
                "data": base64.b64encode(np.ascontiguousarray(a).tobytes()).decode()}
    if isinstance(v, blosc2.CTable):
        names = v.col_names
        values = [[repr(plain(v[name][i])) for name in names] for i in range(len(v))]
        return {"kind": kind, "names": names, "rows": values, "attrs": v.vlmeta[:]}
    if isinstance(v, blosc2.SChunk):
        return {"kind": kind, "typesize": v.typesize, "data": base64.b64encode(v[:]).decode(), "attrs": repr(v.vlmeta[:])}
    return {"kind": kind, "values": repr([v[i] for i in range(len(v))])}


def describe(q):
    """Returns the kind and the content of all objects of a store, and the attributes of its groups."""
    nodes, attrs = {}, {}
    if q["kind"] == "embed":
        store = blosc2.EmbedStore(q["path"], mode="r")
        for key in sorted(store.keys()):
            try:
                nodes[key] = content(store[key])
            except RuntimeError:
                nodes[key] = {"kind": "unreadable"}
        return {"content": nodes}
    with blosc2.TreeStore(q["path"], mode="r") as store:
        for key in ["/", *sorted(store.keys())]:
            try:  # python-blosc2 4.14 cannot read some frames that it embeds
                v = store if key == "/" else store[key]
                own = dict(v.vlmeta[:].items()) if isinstance(v, blosc2.TreeStore) else {}
            except RuntimeError:
                nodes[key] = {"kind": "unreadable"}
                continue
            if isinstance(v, blosc2.TreeStore):
                own.pop("hyperslab", None)
                if own or key == "/":
                    attrs[key] = own
            else:
                nodes[key] = content(v)
    return {"content": nodes, "attrs": attrs}


def kinds(q):
    """Writes a store with an object of each kind."""
    write(q)
    if q.get("table") is not None:
        with blosc2.TreeStore(q["path"], mode="a", threshold=q["threshold"]) as store:
            t = blosc2.CTable(dataclasses.make_dataclass("Row", [
                ("n", int, blosc2.field(s.int64())), ("w", str, blosc2.field(s.utf8())), ("l", list[int], blosc2.field(s.list(s.int64()))),
            ]))
            for i in range(q["table"]):
                t.append((i, "w" * i, [i] * (i % 3)))
            if q["table"] > 2:
                t.delete([1])
            t.vlmeta["note"] = "text"
            store["/t/table"] = t
    return {}


def tensor(q):
    """Returns the array of a plain frame."""
    a = blosc2.load_tensor(q["path"])
    s = blosc2.open(q["path"], mode="r")
    assert type(s) is blosc2.SChunk, type(s)
    attrs = {k: v for k, v in s.vlmeta[:].items() if k not in ("hyperslab", "__pack_tensor__")}
    dtype = repr(a.dtype.descr) if a.dtype.names else a.dtype.str
    return {"nodes": [{"key": "/", "dtype": dtype, "shape": list(a.shape), "attrs": attrs, "data": base64.b64encode(a.tobytes()).decode()}]}


def append(q):
    """Adds an embedded array to an existing store."""
    with blosc2.TreeStore(q["path"], mode="a", threshold=1 << 20) as store:
        store[q["key"]] = np.arange(3, dtype="<i4")
    return {}


SPECS = {
    "int": (int, lambda: s.int64()), "float": (float, lambda: s.float32()), "bool": (bool, lambda: s.bool()),
    "string": (str, lambda: s.string(max_length=6)), "bytes": (bytes, lambda: s.bytes(max_length=4)),
    "vlstring": (str, lambda: s.vlstring()), "utf8": (str, lambda: s.utf8()), "dictionary": (str, lambda: s.dictionary()),
    "list": (list[int], lambda: s.list(s.int64())),
}


def table(q):
    """Makes a CTable of random columns, deletes rows, and returns the rows that are left."""
    fields = []
    for c in q["columns"]:
        kind, spec = SPECS[c["kind"]]
        fields.append((c["name"], kind, blosc2.field(spec())))
    row = dataclasses.make_dataclass("Row", fields)
    inside = q.get("key")
    t = blosc2.CTable(row) if inside else blosc2.CTable(row, urlpath=q["path"], mode="w")
    decode = [(lambda v: v.encode()) if c["kind"] == "bytes" else (lambda v: v) for c in q["columns"]]
    for values in q["rows"] or []:
        t.append(row(*(f(v) for f, v in zip(decode, values))))
    if q["delete"]:
        t.delete(q["delete"])
    left = [[getattr(t[i], c["name"]) for c in q["columns"]] for i in range(len(t))]
    for name, value in (q.get("attrs") or {}).items():
        t.vlmeta[name] = value
    if inside:
        with blosc2.TreeStore(q["path"], mode="w") as ts:
            ts["/other/array"] = np.arange(3, dtype="<i4")
            ts[inside] = t
    else:
        t.close()
    plain = lambda v: v.decode() if isinstance(v, bytes) else v.item() if isinstance(v, np.generic) else v
    return {"rows": [[plain(v) for v in r] for r in left]}


def plain(v):
    """Returns a value of a table in types of JSON."""
    if isinstance(v, np.ndarray):
        return [plain(x) for x in v] if v.ndim else plain(v[()])
    if isinstance(v, np.datetime64):
        return int(v.astype("i8"))
    v = v.item() if isinstance(v, np.generic) else v
    if isinstance(v, complex):
        return [v.real, v.imag]
    return v.decode() if isinstance(v, bytes) else v


def rows(q):
    t = blosc2.open(q["path"], mode="r")
    assert type(t) is blosc2.CTable, type(t)
    attrs = {k: v for k, v in t.vlmeta[:].items() if k != "hyperslab"}
    n = len(t)
    columns = [[plain(t[name][i]) for i in range(n)] for name in t.col_names]
    reply = {"names": t.col_names, "rows": [list(r) for r in zip(*columns)], "attrs": {"/": attrs}}
    assert all(len(t[name][:]) == n for name in t.col_names if n > 1)
    first = [v[()] if isinstance(v := t[name][0], np.ndarray) and not v.ndim else v for name in t.col_names] if n > 0 else None
    t.close()
    if first is not None:
        t = blosc2.CTable.open(q["path"], mode="a")
        t.append(dict(zip(t.col_names, first)))
        assert len(t) == n + 1, len(t)
        t.close()
        t = blosc2.open(q["path"], mode="r")
        again = [[plain(t[name][i]) for name in t.col_names] for i in (0, n)]
        assert repr(again[0]) == repr(again[1]), again
        t.close()
    return reply


for line in sys.stdin:
    q = json.loads(line)
    try:
        reply = {"write": write, "read": read, "append": append, "describe": describe, "kinds": kinds, "tensor": tensor, "table": table, "rows": rows}[q["op"]](q)
    except Exception as e:  # the test reports it
        reply = {"error": f"{type(e).__name__}: {e}"}
    print(json.dumps(reply), flush=True)
