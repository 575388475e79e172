"""records.py N PATH...: prints the SHA-256 of all records of each super-chunk of batches of N records."""
import hashlib
import sys

import blosc2

for path in sys.argv[2:]:
    s = blosc2.open(path, mode="r")
    h = hashlib.sha256()
    for i in range(s.nchunks):
        for j in range(int(sys.argv[1])):
            h.update(s.get_vlblock(i, j))
    print(h.hexdigest())
