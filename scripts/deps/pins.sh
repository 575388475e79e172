# shellcheck shell=bash
# pins.sh: sourced after lib.sh. Reads third_party/VERSIONS, without the libraries in the array without.
# shellcheck disable=SC2154 # root is lib.sh's

versions=$root/third_party/VERSIONS

# pins prints the pins as "library version kind sha256 package directory".
pins() {
    awk -v without=" ${without[*]-} " '!/^#/ && NF == 6 && !index(without, " " $1 " ")' "$versions"
}

# linked prints the pins of the libraries that programs are linked from.
linked() { pins | awk '$1 != "hdf5-tools"'; }

# files prints "kind sha256 package" of each file that the pins need, once.
files() { pins | awk '!seen[$5]++ { print $3, $4, $5 }'; }

# verify FILE SHA256 succeeds if the file has that hash; got is then the hash found.
verify() {
    got=$(sha256sum -- "$1") && got=${got%% *} && got=${got#\\} && [[ $got == "$2" ]]
}
