# The stages, made by the scripts that also run outside:
#
#   deps      the C libraries, Go and a C compiler: a builder image for your own Go services
#   test      the whole test suite has passed in it
#   cli       the command, and nothing else but the system's C library
#   released  the same, with the command of a release: the archive in dist/VERSION of `make release`
#
# `make image` builds deps and cli; `make image VERSION=v0.1.0` builds released. The base images, both of
# the same Debian release:

ARG GO_IMAGE=golang:1.26-trixie
ARG RUN_IMAGE=debian:trixie-slim

FROM ${GO_IMAGE} AS deps
WORKDIR /opt/hyperslab
COPY third_party/VERSIONS third_party/
COPY third_party/cach[e] third_party/cache/
COPY scripts/lib.sh scripts/deps.sh scripts/
COPY scripts/deps scripts/deps
COPY third_party/lib third_party/lib
RUN scripts/deps.sh && ln -s "third_party/lib/linux_$(dpkg --print-architecture)" lib
# With these a module that requires Hyperslab builds here, also if it requires a commit that is no
# release and contains no libraries.
ENV CGO_CFLAGS="-O2 -g -I/opt/hyperslab/lib" CGO_LDFLAGS="-L/opt/hyperslab/lib"

FROM deps AS source
ARG VERSION=unknown
COPY . .
RUN echo "$VERSION" >VERSION && GOFLAGS=-trimpath make build

FROM source AS test
RUN make test

FROM ${RUN_IMAGE} AS released
ARG VERSION
ARG TARGETARCH=amd64
COPY dist/${VERSION}/*_linux_${TARGETARCH}.tar.gz /tmp/
RUN tar --extract --strip-components=1 --directory /usr/local --file /tmp/*.tar.gz && rm /tmp/*.tar.gz
WORKDIR /data
ENTRYPOINT ["hyperslab"]

FROM ${RUN_IMAGE} AS cli
COPY --from=source /opt/hyperslab/bin/hyperslab /usr/local/bin/hyperslab
COPY --from=source /opt/hyperslab/LICENSE /opt/hyperslab/NOTICE /usr/share/doc/hyperslab/
WORKDIR /data
ENTRYPOINT ["hyperslab"]
