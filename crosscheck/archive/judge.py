"""Judges a reader by the vectors of this archive: python3 judge.py 'reader {path} {object}' [AREA...]

The reader prints the elements as JSON or .npy. Exit status 0 means that it read the file, 77 that it
does not support it, any other that it refuses it. Needs Python 3.8 and nothing else."""
import ast, base64, collections, hashlib, json, os, re, shlex, signal, struct, subprocess, sys, tempfile

MANIFEST, LIMIT, SECONDS = "{{manifest}}", 64 << 20, 20
here = os.path.dirname(os.path.abspath(__file__))

def flat(x):
    return [y for e in x for y in flat(e)] if isinstance(x, list) else [x]

def no_constant(name):
    raise ValueError(f'{name} is not JSON: print the string "{name}"')

def numbers_of(npy, case):
    """The numbers of a .npy, or None after a check of its bytes."""
    size, at = (struct.unpack("<H", npy[8:10])[0], 10) if npy[6] == 1 else (struct.unpack("<I", npy[8:12])[0], 12)
    head, data = ast.literal_eval(npy[at:at + size].decode("latin1")), npy[at + size:]
    if list(head["shape"]) != case["shape"] or head["fortran_order"] and len(head["shape"]) > 1:
        raise ValueError(f"shape: got {head['shape']}, want {case['shape']} in C order")
    order, kind, item = head["descr"][0], head["descr"][1], int(head["descr"][2:])
    codes = {"i1": "b", "i2": "h", "i4": "i", "i8": "q", "u1": "B", "u2": "H", "u4": "I", "u8": "Q", "b1": "B", "f2": "e", "f4": "f", "f8": "d"}
    if head["descr"] == case.get("dtype") or f"{kind}{item}" not in codes:
        return data
    return list(struct.unpack(("<" if order == "|" else order) + str(len(data) // item) + codes[f"{kind}{item}"], data))

def same(a, b):
    if isinstance(b, str):  # NaN, Infinity, or an integer beyond 2^53
        return a == b or str(a).replace("inf", "Infinity").replace("nan", "NaN") == b
    return not isinstance(a, str) and a == b

def verdict(case, command):
    with tempfile.TemporaryFile() as out:
        line = command.replace("{path}", shlex.quote(os.path.join(here, case["path"]))).replace("{object}", shlex.quote(case.get("object", "")))
        p = subprocess.Popen(f"ulimit -f {LIMIT // 512}; {line}", shell=True, stdout=out, stderr=subprocess.DEVNULL, start_new_session=True)
        try:
            status = p.wait(SECONDS)
        except subprocess.TimeoutExpired:
            os.killpg(p.pid, signal.SIGKILL)
            return "hang"
        out.seek(0)
        b = out.read(LIMIT + 1)
    if status == 77:
        return "skipped"
    if status == 128 + 25 or status == -25 or len(b) >= LIMIT:
        return "wrong: more than 64 MiB of output"
    if status < 0 or status >= 128:
        return "crash"
    if case["must"] == "refuse" or status:
        return "pass" if (case["must"] == "refuse") == bool(status) else "refused" if status else "wrongly accepted"
    try:
        got = numbers_of(b, case) if b.startswith(b"\x93NUMPY") else json.loads(b, parse_constant=no_constant)
    except Exception as e:
        return f"wrong: {e}"
    if isinstance(got, dict):
        got = base64.b64decode(got.get("base64", ""))
    if isinstance(got, bytes):
        right = len(got) == case["bytes"] and case["decoded"] in ("", hashlib.sha256(got).hexdigest())
    else:
        got, want = flat(got), case.get("numbers")
        right = want is not None and len(got) == len(want) and all(map(same, got, want))
    return "pass" if right else "wrong"

text = open(os.path.join(here, "archive.json"), "rb").read()
if hashlib.sha256(text).hexdigest() != MANIFEST:
    sys.exit("judge: archive.json has changed, or belongs to another version of the judge")
counts = collections.defaultdict(collections.Counter)
for case in json.loads(text)["cases"]:
    if len(sys.argv) > 2 and case["area"] not in sys.argv[2:]:
        continue
    for name, digest in case["files"].items():
        if hashlib.sha256(open(os.path.join(here, name), "rb").read()).hexdigest() != digest:
            sys.exit(f"judge: {name} has changed")
    v = verdict(case, sys.argv[1])
    counts[case["area"]][re.sub(":.*", "", v)] += 1
    if v not in ("pass", "skipped"):
        print(f"{v}: {case['id']}  ({case['section']})")
for area, count in counts.items():
    print(area, ", ".join(f"{n} {v}" for v, n in sorted(count.items())))
sys.exit(any(v not in ("pass", "skipped") for c in counts.values() for v in c))
