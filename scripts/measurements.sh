# shellcheck shell=bash
# measurements.sh: sourced after lib.sh by scripts that need real measurements. The function
# measurements puts the available HDF5 files into the array files.
#
# The data come from two Debian packages, which are unpacked into .demo/ without being installed:
# coastlines that are HDF5 already, and ocean and land climatologies that nccopy converts to HDF5.

# package NAME downloads a Debian package and unpacks it into .demo/NAME, once.
package() {
    local name=$1 work
    [[ -d .demo/$name ]] && return 0
    command -v apt-get >/dev/null && command -v dpkg-deb >/dev/null || return 1
    if ! apt-get download --print-uris "$name" >/dev/null 2>&1; then
        ((EUID == 0)) || return 1
        apt-get update >/dev/null 2>&1 || return 1
    fi
    work=$(mktemp -d .demo/unpack.XXXXXX)
    if (cd "$work" && apt-get download "$name" >/dev/null 2>&1) && dpkg-deb -x "$work"/*.deb "$work/root"; then
        mv "$work/root" ".demo/$name"
    fi
    rm -rf "$work"
    [[ -d .demo/$name ]]
}

measurements() {
    local name classic hdf5
    mkdir -p .demo
    files=()

    if package gmt-gshhg-low; then
        files+=(.demo/gmt-gshhg-low/usr/share/gmt-gshhg/*.nc)
    else
        say "the coastlines (Debian package gmt-gshhg-low) are not to be had here"
    fi

    # nccopy converts classic netCDF to HDF5. Root may install it.
    if ! command -v nccopy >/dev/null && ((EUID == 0)) && [[ ${AUTO_INSTALL:-1} != 0 ]] && command -v apt-get >/dev/null; then
        say "installing netcdf-bin"
        (install_packages netcdf-bin) || true # it has said why; the climatologies are skipped below
    fi
    if ! command -v nccopy >/dev/null; then
        say "the climatologies are skipped: they need nccopy (Debian package netcdf-bin)"
    elif ! package ferret-datasets; then
        say "the climatologies (Debian package ferret-datasets) are not to be had here"
    else
        for name in coads_climatology levitus_climatology etopo20; do
            hdf5=.demo/$name.h5
            if [[ ! -e $hdf5 ]]; then
                classic=$(find .demo/ferret-datasets -name "$name.cdf" -print -quit)
                [[ -n $classic ]] || die "the package ferret-datasets has no $name.cdf any more"
                nccopy -k nc4 -d 5 -s "$classic" "$hdf5.tmp"
                mv "$hdf5.tmp" "$hdf5"
            fi
            files+=("$hdf5")
        done
    fi
}
