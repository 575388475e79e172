"""Random HDF5 files with unusual content, and a comparison of two files through h5py.

  unusual_hdf5.py make DIR SEED...       writes DIR/SEED.h5 and the files that it needs
  unusual_hdf5.py compare < TASKS        prints the differences of pairs of files, as JSON

A task is {"want": FILE, "got": FILE, "pairs": [[PATH, PATH], ...], "references": bool,
"values_only": bool}. The two paths of a pair name the same object in the two files.

A task with "via" is a conversion to HDF5 ("hdf5"), or to a directory of b2nd files and back
("tree"). Its "lost" is the list of convert --json: everything in the list must be missing in the
new file and must be something that the format cannot represent; everything else must be equal.
"""
import json
import os
import random
import sys

import h5py
import numpy as np
from h5py import h5a, h5d, h5g, h5o, h5p, h5r, h5s, h5t

TEXT = h5py.string_dtype()


def names(rng, n):
    odd = ["..", "...", "a b", "naïve", "x[0]", "-v", "%s", "C:\\x", "tab\t", "e" * 300, ".x", "a:b", "'q'", '"']
    rng.shuffle(odd)
    return odd[:n] + ["n%d" % i for i in range(n)]


def strings(rng, shape):
    words = ["", "x", "yy", "Zürich", "long " * 40, "tail ", " "]
    out = np.empty(shape, dtype=object)
    for i in np.ndindex(*shape):
        out[i] = rng.choice(words)
    return out


def ranks(rng):
    return rng.choice([(0,), (3,), (4, 3), (1, 2, 2)])


def storage(rng, shape, unfiltered=False, checksum=False):
    """Keyword arguments of create_dataset."""
    kw = {}
    if shape and all(shape) and rng.random() < 0.6:
        # h5py refuses Fletcher-32 for types of variable length
        kw["chunks"] = tuple(max(1, n // 2) for n in shape)
        if rng.random() < 0.4:
            kw["maxshape"] = tuple(None if rng.random() < 0.5 else n for n in shape)
        if not unfiltered and rng.random() < 0.5:
            kw["compression"] = "gzip"
            kw["shuffle"] = rng.random() < 0.5
            kw["fletcher32"] = checksum and rng.random() < 0.5
    return kw


def attributes(rng, obj, f, targets):
    obj_id = obj.id
    for name in rng.sample(["a", "..", "ä", "z" * 100, "b c", "m", "n", "o", "p", "q", "r", "s"], rng.randint(0, 12 if rng.random() < 0.2 else 4)):
        kind = rng.randrange(12)
        if kind == 0:
            obj.attrs[name] = rng.randint(-5, 5)
        elif kind == 1:
            obj.attrs[name] = "text %d" % rng.randint(0, 9)
        elif kind == 2:
            obj.attrs.create(name, strings(rng, (2,)), dtype=TEXT)
        elif kind == 3:
            obj.attrs[name] = h5py.Empty("f8")
        elif kind == 4:
            obj.attrs.create(name, np.zeros((0, 2)), shape=(0, 2))
        elif kind == 5 and targets:
            obj.attrs.create(name, [f[t].ref for t in rng.sample(targets, 1)] + [h5py.Reference()], dtype=h5py.ref_dtype)
        elif kind == 6 and targets:
            refs = np.empty(2, dtype=object)
            refs[0] = np.array([f[rng.choice(targets)].ref], dtype=h5py.ref_dtype)
            refs[1] = np.array([], dtype=h5py.ref_dtype)
            obj.attrs.create(name, refs, dtype=h5py.vlen_dtype(h5py.ref_dtype))
        elif kind == 7:
            dt = np.dtype([("s", TEXT), ("v", h5py.vlen_dtype("i2")), ("f", "<f4")])
            v = np.zeros(1, dt)
            v[0] = ("in", np.array([1, 2], "i2"), 1.5)
            obj.attrs.create(name, v, dtype=dt)
        elif kind == 8:
            obj.attrs.create(name, np.array(b"abc", "S8"))
        elif kind == 9 and f.attrs.get("large") is not None:
            obj.attrs.create(name, np.arange(10000, dtype="f8"))
        elif kind == 10 and "types/same0" in f:
            obj.attrs.create(name, np.zeros(2, f["types/same0"].dtype), dtype=f["types/same%d" % rng.randrange(2)])
        elif kind == 11:
            obj.attrs.create(name, np.array([1, 0], dtype=h5py.enum_dtype({"A": 0, "B": 1}, "i2")))
    return obj_id


def fill_of_pointers(rng, f, name):
    shape = ranks(rng)
    kw = storage(rng, shape, bool(rng.getrandbits(1)))
    fill = rng.choice(["", "fill", None])
    if fill is not None:
        kw["fillvalue"] = fill
    d = f.create_dataset(name, shape, dtype=TEXT, **kw)
    if rng.random() < 0.7 and d.size:
        d[...] = strings(rng, shape)
    elif d.size and d.chunks and fill is None:  # libhdf5 cannot read missing chunks beside others
        d[(0,) * len(shape)] = "one"
    return d


def compound(rng, f, name):
    shape = ranks(rng)
    dt = np.dtype([("k", "<i4"), ("s", TEXT), ("v", h5py.vlen_dtype("<f8")), ("g", ">i2", (2,)), ("n", [("t", TEXT), ("u", "u1")])])
    tid = h5t.py_create(dt, logical=True)
    dcpl = h5p.create(h5p.DATASET_CREATE)
    kw = storage(rng, shape)
    if "chunks" in kw:
        dcpl.set_chunk(kw["chunks"])
    v = np.zeros(shape, dt)
    for i in np.ndindex(*shape):
        v[i] = (rng.randint(0, 99), "s%d" % rng.randint(0, 9), np.arange(rng.randint(0, 4), dtype="f8"), [1, 2], ("inner", 7))
    space = h5s.create_simple(shape)
    did = h5d.create(f.id, name.encode(), tid, space, dcpl)
    d = h5py.Dataset(did)
    if v.size:
        d[...] = v
    return d


def vlen(rng, f, name):
    shape = ranks(rng)
    d = f.create_dataset(name, shape, dtype=h5py.vlen_dtype(rng.choice(["<i4", ">f8"])), **storage(rng, shape))
    for i in np.ndindex(*shape):
        if rng.random() < 0.7:
            d[i] = np.arange(rng.randint(0, 5))
    return d


def references(rng, f, name, targets):
    d = f.create_dataset(name, (3,), dtype=h5py.ref_dtype, **storage(rng, (3,)))
    for i in range(2):
        d[i] = f[rng.choice(targets)].ref
    return d


def regions(rng, f, name, arrays):
    d = f.create_dataset(name, (2,), dtype=h5py.regionref_dtype)
    a = f[rng.choice(arrays)]
    d[0] = a.regionref[0:1]
    return d


def nested_references(rng, f, name, targets):
    dt = np.dtype([("r", h5py.ref_dtype), ("x", "i4")])
    d = f.create_dataset(name, (2,), dtype=dt)
    v = np.zeros(2, dt)
    v[0] = (f[rng.choice(targets)].ref, 5)
    v[1] = (h5py.Reference(), 6)
    d[...] = v
    return d


def virtual(rng, f, name, dir, seed):
    sub = os.path.join(dir, "sources%d" % seed)
    os.makedirs(sub, exist_ok=True)
    src = os.path.join(sub, name.replace("/", "_") + ".h5")
    with h5py.File(src, "w") as s:
        s["data"] = np.arange(6, dtype="i4")
    layout = h5py.VirtualLayout((2, 6), "i4")
    layout[0] = h5py.VirtualSource(os.path.relpath(src, dir), "data", (6,))
    layout[1] = h5py.VirtualSource(".", "plain", (6,))
    return f.create_virtual_dataset(name, layout, fillvalue=-1)


def stored_otherwise(rng, f, groups):
    """Datasets with a layout, an allocation time or an order of attributes that is not the default."""
    for i in range(rng.randint(0, 4)):
        dcpl = h5p.create(h5p.DATASET_CREATE)
        kind = rng.choice(["compact", "early", "early chunks", "late chunks", "order"])
        if kind == "compact":
            dcpl.set_layout(h5d.COMPACT)
        elif kind == "early":
            dcpl.set_alloc_time(h5d.ALLOC_TIME_EARLY)
        elif kind != "order":
            dcpl.set_chunk((2, 3))
            dcpl.set_alloc_time(h5d.ALLOC_TIME_EARLY if kind == "early chunks" else h5d.ALLOC_TIME_LATE)
        if rng.random() < 0.5 or kind == "order":
            dcpl.set_attr_creation_order(h5p.CRT_ORDER_TRACKED | h5p.CRT_ORDER_INDEXED)
        g = f[rng.choice(groups)]
        d = h5py.Dataset(h5d.create(g.id, b"stored%d" % i, h5t.STD_I16LE, h5s.create_simple((4, 5)), dcpl))
        d[...] = np.arange(20).reshape(4, 5)
        for name in rng.sample(["u", "b", "y", "c"], rng.randint(0, 4)):
            d.attrs[name] = rng.randint(0, 9)


def external(rng, f, name, dir, seed):
    raw = os.path.join(dir, "raw%d.bin" % seed)
    np.arange(12, dtype="<i4").tofile(raw)
    return f.create_dataset(name, (12,), dtype="<i4", external=[(raw, 0, 48)])


def committed(rng, f):
    g = f.create_group("types")
    dt = np.dtype([("a", "<i4"), ("b", "<f8")])
    for i in range(2):
        g["same%d" % i] = dt
        g["same%d" % i].attrs["which"] = i
    g["text"] = np.dtype("S5")
    for i in (1, 0):
        d = f.create_dataset("typed%d" % i, (3,), dtype=g["same%d" % i], chunks=rng.choice([None, (2,)]))
        d[...] = np.array([(j, i) for j in range(3)], dt)
    f.create_dataset("early", (2,), dtype=g["same1"])  # sorts before the group of the types


def scales(rng, f):
    x = f.create_dataset("sx", data=np.arange(3.0))
    y = f.create_dataset("sy", data=np.arange(4.0))
    x.make_scale("the x")
    y.make_scale("")
    d = f.create_dataset("scaled", data=np.zeros((4, 3)))
    d.dims[0].attach_scale(y)
    d.dims[1].attach_scale(x)
    d.dims[0].label = "lat"
    return d


def make(dir, seed):
    rng = random.Random(seed)
    kw = {}
    if rng.random() < 0.3:
        kw["userblock_size"] = 512
    if rng.random() < 0.5:
        kw["track_order"] = True
    libver = rng.choice(["earliest", "v108", "v110"])
    path = os.path.join(dir, "%d.h5" % seed)
    with h5py.File(path, "w", libver=(libver, "v114"), **kw) as f:
        f.create_dataset("plain", data=np.arange(6, dtype="i4"))
        if libver != "earliest":
            f.attrs.create("large", np.arange(9000, dtype="f8"))
        if rng.random() < 0.7:
            committed(rng, f)
        groups = ["/"]
        for i, name in enumerate(names(rng, rng.randint(1, 3))):
            parent = f[rng.choice(groups)]
            parent.create_group(name, track_order=rng.random() < 0.5)
            groups.append((parent.name.rstrip("/") + "/" + name))
        arrays, made = ["plain"], []
        makers = [fill_of_pointers, fill_of_pointers, compound, vlen]
        for i in range(rng.randint(3, 7)):
            g = rng.choice(groups).rstrip("/")
            name = "%s/d%d" % (g, i)
            made.append(rng.choice(makers)(rng, f, name).name)
        for i, (shape, dt) in enumerate([((), "f4"), ((5, 4), ">u2"), ((7,), "c16"), ((2, 3), "?"), ((3,), "V3"), ((2,), "<f2")]):
            if rng.random() < 0.6:
                v = np.frombuffer(bytes(rng.randrange(256) for _ in range(int(np.prod(shape)) * np.dtype(dt).itemsize)), dt) if dt not in ("?", "c16", "<f2") else np.ones(int(np.prod(shape)), dt)
                d = f.create_dataset("v%d" % i, data=v.reshape(shape), **storage(rng, shape, checksum=True))
                arrays += [d.name] if len(shape) else []
        if rng.random() < 0.5:
            f["null"] = h5py.Empty("i4")
        if rng.random() < 0.5:
            scales(rng, f)
        targets = ["/", "plain"] + made + groups
        if rng.random() < 0.6:
            made.append(references(rng, f, "refs", targets).name)
        if rng.random() < 0.6:
            made.append(regions(rng, f, "regions", arrays).name)
        if rng.random() < 0.5:
            made.append(nested_references(rng, f, "nested", targets).name)
        if rng.random() < 0.5:
            made.append(virtual(rng, f, "virtual", dir, seed).name)
        if rng.random() < 0.4:
            external(rng, f, "external", dir, seed)
        for t in ["/"] + groups + made + [n for n in ("types/same0", "scaled", "null", "plain") if n in f]:
            if rng.random() < 0.5:
                attributes(rng, f[t], f, targets)
        stored_otherwise(rng, f, groups)
        f["soft"] = h5py.SoftLink("/plain")
        f["dangling"] = h5py.SoftLink("/nowhere")
        f["other"] = h5py.ExternalLink("sources%d/virtual.h5" % seed, "/data")
        f["twice"] = f[made[0]]
        f["circle"] = f[groups[-1]]
        if rng.random() < 0.3:
            h5o.set_comment(f.id, b"a comment", obj_name=b"plain")
    if kw.get("userblock_size"):
        with open(path, "r+b") as b:
            b.write(b"user block of %d" % seed)


def representable(t, where):
    """Whether an array ("tree") or an attribute of HDF5 type t can be converted to other formats."""
    kind = t.get_class()
    if kind == h5t.STRING:
        return not t.is_variable_str() or where == "attribute"
    if kind in (h5t.REFERENCE, h5t.VLEN):
        return False
    if kind == h5t.COMPOUND:
        return all(representable(t.get_member_type(i), "member") for i in range(t.get_nmembers()))
    if kind == h5t.ARRAY:
        return representable(t.get_super(), "member")
    return True


class Compare:
    def __init__(self, want, got, task):
        self.a, self.b, self.task = want, got, task
        self.diffs, self.seen = [], {}
        self.map = {}
        self.via = task.get("via")  # a conversion
        self.lost_order = None
        self.lost = task.get("lost") or []

    def diff(self, path, what, x, y):
        self.diffs.append("%s: %s: got %.300s, want %.300s" % (path, what, y, x))

    def same(self, path, what, x, y):
        if x != y:
            self.diff(path, what, x, y)

    def name_of(self, f, ref, side):
        """What a reference leads to, by the path in the source."""
        if not ref:
            return None
        try:
            name = h5r.get_name(ref, f.id)
        except Exception as e:
            return "broken: %s" % e
        addr = h5o.get_info(h5r.dereference(ref, f.id)).addr
        path = self.paths(f, side).get(addr, "unnamed")
        if isinstance(ref, h5py.RegionReference):
            s = h5r.get_region(ref, f.id)
            sel = s.get_select_bounds() if s.get_select_npoints() else None
            return (path, s.get_select_npoints(), sel, s.shape)
        return path

    def paths(self, f, side):
        """The first path of each object, by address."""
        if side not in self.seen:
            out = {}

            def walk(g, at):
                for n in sorted(g.id, key=lambda b: b):
                    if g.id.links.get_info(n).type != h5py.h5l.TYPE_HARD:
                        continue
                    o = h5o.open(g.id, n)
                    addr = h5o.get_info(o).addr
                    p = at + b"/" + n
                    if addr in out:
                        continue
                    out[addr] = p
                    if isinstance(o, h5g.GroupID):
                        walk(h5py.Group(o), p)

            out[h5o.get_info(f.id).addr] = b"/"
            walk(f, b"")
            if side == 1:
                out = {a: self.map.get(p, b"new " + p) for a, p in out.items()}
            self.seen[side] = out
        return self.seen[side]

    def plain(self, v, f, side):
        """A value that == compares, with references resolved."""
        if isinstance(v, (h5py.Reference, h5py.RegionReference)):
            return self.name_of(f, v, side) if self.task.get("references", True) else "reference"
        if isinstance(v, np.ndarray):
            if v.dtype.kind == "O" or v.dtype.fields and h5py.check_dtype(vlen=v.dtype) is None and v.dtype.hasobject:
                return [self.plain(x, f, side) for x in v.reshape(-1)] if v.shape else self.plain(v[()], f, side)
            return (str(v.dtype), v.tobytes())
        if isinstance(v, np.void):
            if v.dtype.fields:
                return [self.plain(v[n], f, side) for n in v.dtype.names]
            return bytes(v.tobytes())
        if isinstance(v, np.generic):
            return (str(v.dtype), v.tobytes())
        if isinstance(v, h5py.Empty):
            return "empty %s" % v.dtype
        return v

    def type_of(self, t, f, side):
        is_committed = t.committed()
        where = None
        if is_committed and not self.task.get("values_only") and self.via != "tree":
            where = self.paths(f, side).get(h5o.get_info(t).addr, "unnamed") if self.task.get("whole", True) else "committed"
        return where

    def lost_object(self, path):
        """The entry of the list of losses for an object or for a group that it is in."""
        parts = path.split("/")
        for i in range(2, len(parts) + 1):
            above = "/".join(parts[:i])
            for text in self.lost:
                if any(text.startswith("%s: %s: " % (above, kind)) for kind in ("array", "group", "link", "datatype")):
                    return text
        return None

    def lost_attribute(self, path, name):
        want = ("%s: attribute %s: " % (path, name), "%s: attribute %s (" % (path, name))
        return next((text for text in self.lost if text.startswith(want)), None)

    def as_text(self, path, name):
        """Whether an attribute of references is listed as stored as strings."""
        return any(text.startswith("%s: type of attribute %s (H5T_REFERENCE" % (path, name)) for text in self.lost)

    def lost_fill(self, path):
        return any(text.startswith("%s: fill value (" % path) for text in self.lost)

    def labels(self, d):
        """The dimension names that a conversion keeps."""
        if not isinstance(d, h5py.Dataset):
            return []
        names = []
        for dim in d.dims:
            first = [scale.name.split("/")[-1] for scale in list(dim.values())[:1]]
            names.append(dim.label or (first or [""])[0])
        return names if any(names) else []

    def attributes(self, a, b, path):
        def listing(o):
            order = False
            try:
                order = bool(o.id.get_create_plist().get_attr_creation_order()) if not isinstance(o, h5py.Datatype) else False
            except Exception:
                pass
            n = h5a.get_num_attrs(o.id)
            ids = [h5a.open(o.id, index=i, index_type=h5py.h5.INDEX_CRT_ORDER if order else h5py.h5.INDEX_NAME) for i in range(n)]
            return order, {i.name: i for i in ids}

        oa, na = listing(a)
        ob, nb = listing(b)
        if not self.task.get("values_only") and self.via != "tree":
            self.same(path, "creation order of attributes", oa, ob)
        drop = set(self.task.get("ignore_attributes", []))
        if not self.task.get("references", True):
            drop |= {"DIMENSION_LIST", "REFERENCE_LIST", "CLASS", "NAME"}
        drop = {d.encode() for d in drop}
        la, lb = [n for n in na if n not in drop], [n for n in nb if n not in drop]
        if not oa or self.via == "tree":
            la, lb = sorted(la), sorted(lb)
        if self.via:
            for n in la:
                text = self.lost_attribute(path, n.decode())
                if text and (self.via == "hdf5" or representable(na[n].get_type(), "attribute")):
                    self.diff("%s@%s" % (path, n), "listed as lost", na[n].dtype, text)
                if text and n in nb:
                    self.diff("%s@%s" % (path, n), "listed as lost and there", "", text)
            for n in [n for n in la if self.as_text(path, n.decode())]:
                self.same("%s@%s" % (path, n), "text of references", True, n in nb and h5py.check_string_dtype(nb[n].dtype) is not None)
                la, lb = [x for x in la if x != n], [x for x in lb if x != n]
            la = [n for n in la if n != b"DIMENSION_LABELS" and not self.lost_attribute(path, n.decode())]
            lb = [n for n in lb if n != b"DIMENSION_LABELS"]
            self.same(path, "dimension names", self.labels(a), self.labels(b))
        self.same(path, "names of attributes", la, lb)
        for n in la:
            if n not in nb:
                continue
            x, y = na[n], nb[n]
            at = "%s@%s" % (path, n)
            tx, ty = x.get_type(), y.get_type()
            if not tx.equal(ty):
                self.diff(at, "type", tx.dtype, ty.dtype)
            self.same(at, "committed type", self.type_of(tx, self.a, 0), self.type_of(ty, self.b, 1))
            sx, sy = x.get_space(), y.get_space()
            self.same(at, "shape", (sx.get_simple_extent_type(), sx.shape), (sy.get_simple_extent_type(), sy.shape))
            self.same(at, "value", self.attr_value(a, n, self.a, 0), self.attr_value(b, n, self.b, 1))

    def attr_value(self, o, n, f, side):
        try:
            return self.plain(o.attrs[n.decode("utf-8", "surrogateescape")], f, side)
        except Exception as e:
            return "unreadable: %s" % e

    def links(self, g):
        order = bool(g.id.get_create_plist().get_link_creation_order())
        out, ids = {}, []
        g.id.links.iterate(lambda n, *_: ids.append(n), idx_type=h5py.h5.INDEX_CRT_ORDER if order else h5py.h5.INDEX_NAME)
        for n in ids:
            out[n] = g.id.links.get_info(n)
        return order, out

    def run(self, pairs):
        for pa, pb in pairs:
            self.index(pa, pb)
        done = set()
        for pa, pb in pairs:
            try:
                oa, ob = h5o.open(self.a.id, pa.encode()), h5o.open(self.b.id, pb.encode())
            except Exception as e:
                self.diff(pa, "open", "", e)
                continue
            self.object(oa, ob, pa, done)
        return self.diffs

    def index(self, pa, pb):
        """Maps the paths of the new file to those of the source."""
        if pa == pb == "/":
            self.map = {p: p for p in self.paths(self.a, 0).values()}
            return
        for p in list(self.paths(self.a, 0).values()):
            if p == pa.encode() or p.startswith(pa.rstrip("/").encode() + b"/"):
                self.map[pb.rstrip("/").encode() + p[len(pa.rstrip("/")):]] = p

    def object(self, a, b, path, done):
        ia = h5o.get_info(a)
        if ia.addr in done:
            return
        if self.via:  # an object with several names is listed by its first
            path = self.paths(self.a, 0)[ia.addr].decode()
        done.add(ia.addr)
        if type(a) is not type(b):
            self.diff(path, "kind", type(a), type(b))
            return
        wrap = {h5g.GroupID: h5py.Group, h5d.DatasetID: h5py.Dataset}.get(type(a), h5py.Datatype)
        a, b = wrap(a), wrap(b)
        self.attributes(a, b, path)
        if wrap is h5py.Group:
            self.group(a, b, path, done)
        elif wrap is h5py.Dataset:
            self.dataset(a, b, path)
        elif not a.id.equal(b.id):
            self.diff(path, "type", a.dtype, b.dtype)

    def group(self, a, b, path, done):
        oa, la = self.links(a)
        ob, lb = self.links(b)
        if self.via:
            self.converted(a, la, lb, path)
            if self.via == "tree" and oa and list(la) != sorted(la):
                self.lost_order = path
            sort = sorted if self.via == "tree" else list
            la = {n: la[n] for n in sort(la) if n in lb}
            lb = {n: lb[n] for n in sort(lb)}
        if self.via != "tree":
            self.same(path, "creation order", oa, ob)
        drop = {n.encode() for n in self.task.get("ignore_links", [])} if path == "/" else set()
        na, nb = [n for n in la if n not in drop], [n for n in lb if n not in drop]
        self.same(path, "links", na, nb)
        for n in na:
            if n not in lb:
                continue
            at = path.rstrip("/") + "/" + n.decode()
            self.same(at, "kind of link", la[n].type, lb[n].type)
            if la[n].type != h5py.h5l.TYPE_HARD:
                va, vb = a.id.links.get_val(n), b.id.links.get_val(n)
                if la[n].type == h5py.h5l.TYPE_EXTERNAL:
                    va, vb = self.file(self.a, va[0]), self.file(self.b, vb[0])
                self.same(at, "target", va, vb)
                continue
            try:
                x, y = h5o.open(a.id, n), h5o.open(b.id, n)
            except Exception as e:
                self.diff(at, "open", "", e)
                continue
            self.object(x, y, at, done)

    def converted(self, group, la, lb, path):
        """Compares the missing members of a group with the list of losses."""
        for n in la:
            at = path.rstrip("/") + "/" + n.decode()
            text = self.lost_object(at)
            if text and n in lb:
                self.diff(at, "listed as lost and there", "", text)
            if not text and n not in lb:
                self.diff(at, "missing and not listed as lost", sorted(lb), at)
            if not text:
                continue
            if la[n].type != h5py.h5l.TYPE_HARD:
                if self.via != "tree":
                    self.diff(at, "listed as lost", "", text)
                continue
            o = h5o.open(group.id, n)
            first = self.paths(self.a, 0)[h5o.get_info(o).addr].decode()
            if first != at:  # a further link
                if self.via != "tree" and not self.lost_object(first):
                    self.diff(at, "listed as lost", "", text)
            elif isinstance(o, h5d.DatasetID):
                if self.via == "hdf5" or len(n) <= 250 and representable(o.get_type(), self.via):
                    self.diff(at, "listed as lost", o.dtype, text)
            elif self.via != "tree" or isinstance(o, h5g.GroupID) and len(n) <= 255:
                self.diff(at, "listed as lost", "", text)

    def file(self, f, name):
        name = os.fsdecode(name)
        if name == ".":
            return name
        here = os.path.join(os.path.dirname(os.path.realpath(f.filename)), name)
        return os.path.realpath(here) if os.path.exists(here) else "missing " + os.path.basename(name)

    def dataset(self, a, b, path):
        ta, tb = a.id.get_type(), b.id.get_type()
        if not ta.equal(tb):
            self.diff(path, "type", a.dtype, b.dtype)
        self.same(path, "shape", a.shape, b.shape)
        if not self.via or a.chunks:  # a contiguous dataset is no longer one
            self.same(path, "maximum shape", a.maxshape, b.maxshape)
        self.same(path, "committed type", self.type_of(ta, self.a, 0), self.type_of(tb, self.b, 1))
        if not self.task.get("values_only"):
            self.properties(a, b, path)
        try:
            want = self.plain(a[()] if a.shape is not None else None, self.a, 0)
        except Exception as e:
            want = "unreadable: %s" % e
        try:
            got = self.plain(b[()] if b.shape is not None else None, self.b, 1)
        except Exception as e:
            got = "unreadable: %s" % e
        self.same(path, "values", want, got)

    def properties(self, a, b, path):
        pa, pb = a.id.get_create_plist(), b.id.get_create_plist()
        if self.via:
            self.layout(a, b, pa, pb, path)
            if not self.lost_fill(path):
                self.same(path, "fill value", self.fill(a), self.fill(b))
            elif self.fill(a) == self.fill(b):
                self.diff(path, "fill value: listed as lost and there", self.fill(a), self.fill(b))
            if self.via == "hdf5":
                self.same(path, "fill value defined", pa.fill_value_defined(), pb.fill_value_defined())
                self.same(path, "fill time", pa.get_fill_time(), pb.get_fill_time())
            if a.chunks and self.via == "hdf5":
                self.same(path, "chunks", a.chunks, b.chunks)
                self.same(path, "filters", self.filters(pa), self.filters(pb))
            return
        if not self.task.get("recompressed"):
            self.same(path, "layout", pa.get_layout(), pb.get_layout())
        self.same(path, "fill value defined", pa.fill_value_defined(), pb.fill_value_defined())
        self.same(path, "fill time", pa.get_fill_time(), pb.get_fill_time())
        self.same(path, "fill value", self.fill(a), self.fill(b))
        if not self.task.get("recompressed"):
            self.same(path, "chunks", a.chunks, b.chunks)
            self.same(path, "filters", self.filters(pa), self.filters(pb))
        if a.is_virtual and b.is_virtual:
            self.same(path, "sources", [(self.file(self.a, s.file_name), s.dset_name) for s in a.virtual_sources()],
                      [(self.file(self.b, s.file_name), s.dset_name) for s in b.virtual_sources()])

    def layout(self, a, b, pa, pb, path):
        """Compares layout and allocation time after a conversion, and the list of losses."""
        here = [text for text in self.lost if text.startswith(path + ": layout (")]
        kind = {h5d.COMPACT: "compact", h5d.VIRTUAL: "virtual"}.get(pa.get_layout(), "external files" if pa.get_external_count() else "")
        listed = kind if self.via == "tree" or kind != "compact" else ""
        self.same(path, "layout that is listed as lost", [listed] if listed else [], [text.split("(")[1].split(")")[0] for text in here])
        if self.via == "hdf5" and kind in ("", "compact"):
            self.same(path, "layout", pa.get_layout(), pb.get_layout())
            self.same(path, "allocation time", pa.get_alloc_time(), pb.get_alloc_time())
        usual = {h5d.COMPACT: h5d.ALLOC_TIME_EARLY, h5d.CONTIGUOUS: h5d.ALLOC_TIME_LATE}.get(pa.get_layout(), h5d.ALLOC_TIME_INCR)
        differs = self.via == "tree" and pa.get_layout() != h5d.VIRTUAL and pa.get_alloc_time() != usual
        self.same(path, "allocation time is listed as lost", differs, any(text.startswith(path + ": allocation (") for text in self.lost))

    def filters(self, p):
        """The pipeline; the size that shuffle computes for itself is not always stored."""
        out = [p.get_filter(i) for i in range(p.get_nfilters())]
        return [(f[0], f[1], () if f[0] == h5py.h5z.FILTER_SHUFFLE else f[2]) for f in out]

    def fill(self, d):
        try:
            return self.plain(d.fillvalue, d.file, 0) if not h5py.check_ref_dtype(d.dtype) else None
        except Exception as e:
            return "unreadable: %s" % e


def compare(task):
    try:
        with h5py.File(task["want"], "r") as a, h5py.File(task["got"], "r") as b:
            both = Compare(a, b, task)
            diffs = both.run(task.get("pairs") or [["/", "/"]])
            listed = any(x.startswith("/: creation order of links (") for x in both.lost)
            if both.via and listed != bool(both.lost_order):
                diffs.append("creation order of links: listed as lost: %s; lost: %s" % (listed, both.lost_order))
            if task.get("via") and (a.userblock_size > 0) != any(x.startswith("/: user block (") for x in task.get("lost") or []):
                diffs.append("user block of %d bytes: lost: %s" % (a.userblock_size, task.get("lost")))
            if task.get("whole_file"):
                if a.userblock_size != b.userblock_size:
                    diffs.append("user block: got %d bytes, want %d" % (b.userblock_size, a.userblock_size))
                elif a.userblock_size:
                    with open(task["want"], "rb") as x, open(task["got"], "rb") as y:
                        if x.read(a.userblock_size) != y.read(a.userblock_size):
                            diffs.append("user block: other content")
            return diffs
    except Exception as e:
        return ["compare %s with %s: %r" % (task["got"], task["want"], e)]


if sys.argv[1] == "make":
    for s in sys.argv[3:]:
        make(sys.argv[2], int(s))
else:
    print(json.dumps([compare(t) for t in json.load(sys.stdin)]))
