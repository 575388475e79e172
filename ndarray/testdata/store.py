"""Makes store.b2z."""
import dataclasses

import blosc2
import blosc2.schema as s
import numpy as np


@dataclasses.dataclass
class Row:
    n: int = blosc2.field(s.int64(), default=0)
    word: str = blosc2.field(s.utf8(), default="")
t = blosc2.CTable(Row)
for i, w in enumerate(["eins", "zwei", "drei", "vier"]):
    t.append(Row(i + 1, w))
t.delete([1])
t.vlmeta["note"] = "the second row is deleted"
o = blosc2.ObjectArray()
o.extend([1, "a", {"k": [1.5, None]}])
with blosc2.TreeStore("store.b2z", mode="w", threshold=20) as ts:
    ts["/small"] = np.arange(3, dtype="<i4")
    b = blosc2.asarray(np.arange(6, dtype="<f8").reshape(2, 3))
    b.schunk.vlmeta["unit"] = "K"
    ts["/g/b"] = b
    ts["/g/words"] = np.array(["ab", "äöü"])
    ts["/objects"] = o
    ts["/table"] = t
    ts.vlmeta["title"] = "a store"
    ts["/g"].vlmeta["level"] = 2
