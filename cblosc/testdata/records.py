"""records.py PATH N: prints the SHA-256 of all records of a super-chunk of batches of N records."""
import hashlib
import sys

import blosc2

s = blosc2.open(sys.argv[1], mode="r")
h = hashlib.sha256()
for i in range(s.nchunks):
    for j in range(int(sys.argv[2])):
        h.update(s.get_vlblock(i, j))
print(h.hexdigest())
