#!/usr/bin/env bash
# web.sh
# Builds the front end in web/ into serve/h5web/dist, which package serve embeds: the viewer h5web with
# THIRD_PARTY_LICENSES.txt. Its npm packages are in .web; .web/packages.json lists those that are part
# of the result. A second run with the same files of web/ does nothing.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=scripts/lib.sh
. "$here/lib.sh"
cd "$root"

dist=serve/h5web/dist
mapfile -t sources < <(find web -type f ! -path 'web/test/*' | LC_ALL=C sort)
made_of=$(cat "${sources[@]}" "$here/web.sh" | sha256sum)
if [[ -e $dist/index.html && -e .web/packages.json && $(cat .web/made-of 2>/dev/null) == "$made_of" ]]; then
    exit 0
fi
need node:nodejs npm:npm
mkdir -p .web
rm -f .web/made-of
find .web -mindepth 1 -maxdepth 1 ! -name node_modules -exec rm -rf {} +
cp "${sources[@]}" .web/
(
    cd .web
    # Scripts of packages do not run: the build needs none.
    npm ci --ignore-scripts --loglevel=error
    WEB_OUT=dist node_modules/.bin/vite build --logLevel error
)
mv .web/dist/packages.json .web/packages.json
rm -rf "$dist"
mv .web/dist "$dist"
printf '%s\n' "$made_of" >.web/made-of
say "$(du -sk "$dist" | cut -f 1) KiB, $(grep -c '"name"' .web/packages.json) packages: $dist"
