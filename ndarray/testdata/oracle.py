"""What NumPy says: element types and selections, for numpy_test.go.

    oracle.py VERB < question.json > answer.json
"""
import ast
import json
import random
import sys

import numpy as np


def load(text):
    """The dtype of a text as NumPy and python-blosc2 read it."""
    return np.dtype(ast.literal_eval(text) if text[0] in "[({" else text)


def describe(d):
    """A dtype without any words of NumPy's own: fields, offsets, sizes."""
    if d.fields is not None:
        fields = []
        for name in d.names:
            f = d.fields[name]
            fields.append([name, f[2] if len(f) > 2 else "", f[1], describe(f[0])])
        return {"size": d.itemsize, "fields": fields}
    if d.subdtype:
        return {"size": d.itemsize, "base": describe(d.subdtype[0]), "dims": list(d.subdtype[1])}
    return d.str


SIMPLE = ["?", "i1", "u1", "<i2", ">i4", "<i8", ">u2", "<u4", ">u8", "<f2", ">f4", "<f8", "<f16", ">f16", "<c8", ">c16",
          "<c32", "S1", "S9", "<U3", ">U1", "V5", "<M8[ns]", ">M8[25s]", "<M8", "<m8[D]", ">m8[as]"]
NAMES = ["a", "b", "x y", "it's", 'q"', "both'\"", "é", "\n", "\\", "日", "\u200b", "\U0001f600", "\t", "\x7f"]


def draw(rnd, depth):
    kind = rnd.choice(["simple", "simple", "list", "dict", "aligned", "sub"] if depth else ["simple"])
    if kind == "simple":
        return np.dtype(rnd.choice(SIMPLE))
    if kind == "sub":
        return np.dtype((draw(rnd, depth - 1), tuple(rnd.randint(1, 3) for _ in range(rnd.randint(1, 3)))))
    names = rnd.sample(NAMES, rnd.randint(1, 5))
    titled = [("t" + n, n) if rnd.random() < 0.2 else n for n in names]
    fields = [(n, draw(rnd, depth - 1)) for n in titled]
    if kind == "list":
        return np.dtype(fields)
    if kind == "aligned":
        return np.dtype(fields, align=True)
    at, offsets = 0, []
    for _, t in fields:
        at += rnd.randint(0, 4)
        offsets.append(at)
        at += t.itemsize
    order = list(range(len(fields)))
    rnd.shuffle(order)
    return np.dtype({"names": [names[i] for i in order], "formats": [fields[i][1] for i in order],
                     "offsets": [offsets[i] for i in order], "itemsize": at + rnd.randint(0, 4)})


def faithful(text, d):
    """NumPy prints some nested structures without their gaps, and cannot read some of those back."""
    try:
        return describe(load(text)) == describe(d)
    except ValueError:
        return False


def dtypes(question):
    """Theirs: what NumPy makes of our texts. Ours: texts of NumPy's for us."""
    rnd = random.Random(question["seed"])
    ours = []
    while len(ours) < question["count"]:
        d = draw(rnd, 3)
        text = str(d) if d.fields is not None or d.subdtype is not None else d.str
        if faithful(text, d):
            ours.append([text, describe(d)])
    theirs = []
    for text in question["texts"]:
        d = load(text)
        theirs.append([str(d) if d.fields is not None or d.subdtype is not None else d.str, describe(d)])
    return {"ours": ours, "theirs": theirs}


def selections(question):
    """Each case: a shape and the indexes of Python, applied one axis after the other, so that lists are orthogonal."""
    out = []
    for shape, items in question["cases"]:
        a = np.arange(int(np.prod(shape)), dtype=np.int64).reshape(shape)
        named = sum(x not in ("None", "...") for x in items)
        try:
            if named > len(shape):
                raise IndexError("too many indices")
            if "..." not in items:
                items = items + ["..."]
            axis = 0
            for x in items:
                if x == "...":
                    axis += len(shape) - named
                    continue
                i = eval("np.s_[" + x + "]")
                if isinstance(i, list):
                    i = np.array(i, dtype=np.bool_ if i and isinstance(i[0], bool) else np.int64)
                a = a[(slice(None),) * axis + (i,)]
                axis += not isinstance(i, int)
            out.append({"shape": list(a.shape), "items": np.ravel(a).tolist()})
        except (IndexError, ValueError) as e:
            out.append({"error": str(e)})
    return out


def points(question):
    """Each case: a shape, points of it, and a mask over it: what is taken, and the array after both were put to."""
    out = []
    for shape, at, mask in question["cases"]:
        a = np.arange(int(np.prod(shape)), dtype=np.int64).reshape(shape)
        index = tuple(np.array(at, dtype=np.int64).reshape(-1, len(shape)).T)
        where = np.array(mask, dtype=np.bool_).reshape(shape)
        taken = {"points": a[index].tolist(), "where": a[where].tolist()}
        a[index] = -1 - np.arange(len(at))
        a[where] = 1000 + np.arange(np.count_nonzero(where))
        out.append(taken | {"after": a.ravel().tolist()})
    return out


if __name__ == "__main__":
    json.dump({"dtypes": dtypes, "selections": selections, "points": points}[sys.argv[1]](json.load(sys.stdin)), sys.stdout)
