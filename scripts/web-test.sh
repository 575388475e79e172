#!/usr/bin/env bash
# web-test.sh
# Builds the viewer h5web and tests it with the server: the client of h5web against h5grove, and pages
# of each format in headless Chromium. .web/screenshots contains the screenshots. Then 200 clients send
# requests for LOAD, by default 5m. Needs `make peers`.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=scripts/lib.sh
. "$here/lib.sh"
cd "$root"

need node:nodejs chromium:chromium /usr/share/fonts/truetype/dejavu/DejaVuSans.ttf:fonts-dejavu-core
"$here/web.sh"
rm -rf .web/test .web/screenshots
cp -R web/test .web/test
export HYPERSLAB_PYTHON=${HYPERSLAB_PYTHON:-$root/.venv/bin/python}
HYPERSLAB_WEB=$root/.web CI=true HYPERSLAB_LOAD=${LOAD:-5m} go test -count=1 -v -timeout 30m \
    -run 'TestHandler_h5web|TestHandler_browser|TestHandler_load' ./serve
say "look at the screenshots: .web/screenshots"
