"""Does with bcolz what jobs.json says, for TestInteropOperations: each job makes the carray NAME.theirs."""
import json
import os
import sys

import bcolz
import numpy as np

root = sys.argv[1]
jobs = json.load(open(os.path.join(root, "jobs.json")))
for job in jobs:
    dtype = np.dtype(job["dtype"])
    row = tuple(job["row"])

    def rows(text):
        return np.frombuffer(bytes.fromhex(text), dtype).reshape((-1,) + row)

    cparams = bcolz.cparams(clevel=0, shuffle=0, cname="lz4", quantize=job["quantize"])
    kw = {"chunklen": job["chunklen"]} if job["chunklen"] else {}
    path = os.path.join(root, job["name"] + ".theirs")
    c = bcolz.carray(rows(job["first"]), rootdir=path, cparams=cparams, expectedlen=job["expectedlen"], **kw)
    c.flush()
    for verb, arg in job["ops"] or []:
        c = bcolz.carray(rootdir=path, mode="a")
        if verb == "append":
            c.append(rows(arg))
        elif verb == "trim":
            c.trim(arg)
        else:
            c.resize(arg)
        c.flush()
print(len(jobs), "jobs")
