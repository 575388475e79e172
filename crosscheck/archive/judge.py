"""Judges a reader by the vectors of this archive: python3 judge.py 'reader {path} {object}' [AREA...]

The reader prints the elements as JSON or .npy. Exit status 0 means that it read the file, 77 that it
does not support it, any other that it refuses it. Needs Python 3.8 and nothing else."""
import array, ast, base64, collections, ctypes, hashlib, json, math, os, re, shlex, signal, struct, subprocess, sys, tempfile

MANIFEST, LIMIT, SECONDS = "{{manifest}}", 64 << 20, 20
here = os.path.dirname(os.path.abspath(__file__))

def flat(x):
    return [y for e in x for y in flat(e)] if isinstance(x, list) else [x]

def no_constant(name):
    raise ValueError(f'{name} is not JSON: print the string "{name}"')

class Unsupported(Exception):
    """Elements that cannot be compared in the form in which the reader printed them."""

def npy_right(npy, case):
    """Whether a .npy contains the elements, in either byte order, or as numbers of another type."""
    size, at = (struct.unpack("<H", npy[8:10])[0], 10) if npy[6] == 1 else (struct.unpack("<I", npy[8:12])[0], 12)
    head, data, want = ast.literal_eval(npy[at:at + size].decode("latin1").strip()), npy[at + size:], case.get("dtype")
    descr, shape = head["descr"] if isinstance(head["descr"], str) else str(head["descr"]), list(head["shape"])
    number = {"i1": "b", "i2": "h", "i4": "i", "i8": "q", "u1": "B", "u2": "H", "u4": "I", "u8": "Q", "b1": "B", "f2": "e", "f4": "f", "f8": "d"}.get(descr[1:])
    unnamed = not want and case["area"] == "hdf5" and not (number and "numbers" in case)  # for example a compound
    if (shape[:len(case["shape"])] if unnamed else shape) != case["shape"] or head["fortran_order"] and len(shape) > 1:
        raise ValueError(f"shape: got {shape}, want {case['shape']} in C order")
    if unnamed and not bytes_right(data, case):
        if "little" not in case:
            raise Unsupported
        return hashlib.sha256(data).hexdigest() == case["little"]
    if unnamed or descr == want or not want and case["area"] != "hdf5":
        return bytes_right(data, case)
    if want and descr[1:] == want[1:]:
        item = 4 if descr[1] == "U" else int(re.match(r"\d+", descr[2:])[0]) // (2 if descr[1] == "c" else 1)
        swapped = array.array({2: "H", 4: "I", 8: "Q"}[item], data)
        swapped.byteswap()
        return bytes_right(swapped.tobytes(), case)
    if not number:
        raise ValueError(f"dtype: got {descr}, want {want}")
    item = int(descr[2:])
    return values_right(list(struct.unpack(descr[0].replace("|", "<") + str(len(data) // item) + number, data)), case)

def bytes_right(b, case):
    return len(b) == case["bytes"] and case["decoded"] in ("", hashlib.sha256(b).hexdigest())

def values_right(got, case):
    want = case.get("numbers")
    if not case["decoded"]:
        return len(got) == math.prod(case["shape"])
    if want is None:
        if case.get("dtype") or case["area"] == "hdf5":
            raise Unsupported
        return False  # numbers for bytes
    return len(got) == len(want) and all(same(a, b, case.get("single")) for a, b in zip(got, want))

def same(a, b, single):
    if isinstance(b, str):  # NaN, Infinity, or an integer beyond 2^53
        return str(a).replace("inf", "Infinity").replace("nan", "NaN") == b
    if single and not isinstance(a, str):
        return ctypes.c_float(a).value == ctypes.c_float(b).value
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
        if b.startswith(b"\x93NUMPY"):
            return "pass" if npy_right(b, case) else "wrong"
        got = json.loads(b, parse_constant=no_constant)
        if isinstance(got, dict) and "base64" in got:
            return "pass" if bytes_right(base64.b64decode(got["base64"]), case) else "wrong"
        if isinstance(got, dict):
            got = got["values"]
        return "pass" if values_right([] if got is None else flat(got), case) else "wrong"
    except Unsupported:
        return "skipped"
    except Exception as e:
        return f"wrong: {e}"

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
        print(f"{v}: {case['id']}  ({case['section']})", flush=True)
for area, count in counts.items():
    print(area, ", ".join(f"{n} {v}" for v, n in sorted(count.items())))
sys.exit(any(v not in ("pass", "skipped") for c in counts.values() for v in c))
