#!/usr/bin/env bash
# crosscheck-releases.sh [DIRECTORY]
# Judges old releases of readers, which the package registries still serve, by the vectors that
# scripts/crosscheck/releases.txt names: the release with the defect must fail, and the repaired
# one must pass. It installs them into DIRECTORY, by default scripts/crosscheck/.installed/releases.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"
from=$root/scripts/crosscheck
python=${CROSSCHECK_PYTHON:-$from/.installed/python/bin/python}
mkdir -p "${1:-$from/.installed/releases}"
to=$(cd "${1:-$from/.installed/releases}" && pwd)
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

# adapter NAME VERSION installs a release and prints the command of its adapter.
adapter() {
    local at=$to/$1-$2
    case $1 in
    pyfive)
        [[ -e $at ]] || "$python" -m pip install --quiet --disable-pip-version-check --no-deps --target "$at" "pyfive==$2" >&2
        echo "env PYTHONPATH=$at $python $from/python/adapter.py pyfive"
        ;;
    jsfive)
        if [[ ! -e $at/node_modules ]]; then
            mkdir -p "$at"
            cp "$from"/javascript/* "$at"
            sed -i "s/\"jsfive\": \".*\"/\"jsfive\": \"$2\"/" "$at/package.json"
            (cd "$at" && npm install --no-audit --no-fund --no-package-lock --loglevel=error >&2)
        fi
        echo "node $at/adapter.mjs jsfive"
        ;;
    jhdf)
        if [[ ! -e $at/Adapter.class ]]; then
            mkdir -p "$at"
            sed "s#jhdf</artifactId><version>[^<]*#jhdf</artifactId><version>$2#" "$from/java/pom.xml" >"$at/pom.xml"
            mvn -q -B -f "$at/pom.xml" dependency:copy-dependencies -DoutputDirectory="$at/lib" >&2
            javac -cp "$at/lib/*" -d "$at" "$from/java/Adapter.java" >&2
        fi
        echo "java -Xss16m -Djhdf=$2 -cp '$at:$at/lib/*' Adapter jhdf"
        ;;
    esac
}

(cd "$root" && go build -o "$tmp/hyperslab" ./cmd/hyperslab)
"$tmp/hyperslab" crosscheck emit "$tmp/vectors" --area hdf5 >"$tmp/table"
failed=0
while read -r name old new vectors; do
    [[ $name != '#' ]] || continue
    for version in "$old" "$new"; do
        want=1
        [[ $version == "$old" ]] || want=0
        command=$(adapter "$name" "$version")
        for vector in $vectors; do
            got=0
            "$tmp/hyperslab" crosscheck run "$tmp/vectors" --case "$vector" --adapter "$command" --timeout 60s >"$tmp/out" 2>&1 || got=$?
            say "$name $version $vector: exit code $got, want $want"
            ((got == want)) || { failed=1; cat "$tmp/out"; }
        done
    done
done <"$from/releases.txt"
exit "$failed"
