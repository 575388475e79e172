"""Adapter of crosscheck. Replace read, and the name and version in main."""

import sys


def read(path, area, obj, dtype, item):
    """Returns the decoded bytes of a file, or None to skip it. An exception refuses the file."""
    raise NotImplementedError("call your library here")


def main():
    answers = sys.stdout
    sys.stdout = sys.stderr  # the library must not write between the answers
    print("hyperslab.crosscheck.adapter/1", "NAME", "VERSION", sep="\t", file=answers, flush=True)
    for line in sys.stdin:
        verb, source, out, area, obj, dtype, item, *_ = line.rstrip("\n").split("\t")
        answer = ("skip",)
        try:
            data = read(source, area, obj, dtype, int(item)) if verb == "read" else None
            if data is not None:
                with open(out, "wb") as f:
                    f.write(data)
                answer = ("ok",)
        except Exception as e:
            answer = ("refused", f"{type(e).__name__}: {e}".replace("\t", " ").replace("\n", " "))
        print(*answer, sep="\t", file=answers, flush=True)


main()
