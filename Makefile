# `make help` lists the targets. A recipe longer than a few lines is a script under scripts/, whose
# first lines say what it does.

.DEFAULT_GOAL := help
SHELL := /bin/bash

GO        ?= go
FUZZTIME  ?= 20000x
BENCH     ?=
CHECKS    ?= 1000
MUTANTS   ?= 20000
HOSTILE   ?= -workers 1
SOAK      ?= 1h
SUITES    ?= bookworm trixie
TARGETS   ?= demo test

lib_dir   := $(CURDIR)/third_party/lib/$(shell $(GO) env GOOS)_$(shell $(GO) env GOARCH)
version   := github.com/hyperslab/hyperslab/cmd/hyperslab/internal/inspect.version

# The libraries' own test files come with `make vendor`; the Python peers only with `make peers`.
export HYPERSLAB_BLOSC2_SRC ?= $(CURDIR)/third_party/src/c-blosc2
export HYPERSLAB_HDF5_SRC ?= $(CURDIR)/third_party/src/hdf5-tools
ifneq ($(wildcard .venv/bin/python),)
export HYPERSLAB_PYTHON ?= $(CURDIR)/.venv/bin/python
endif
ifneq ($(wildcard .venv-remote/bin/python),)
export HYPERSLAB_REMOTE_PYTHON ?= $(CURDIR)/.venv-remote/bin/python
endif
ifneq ($(wildcard .venv-old/bin/python),)
export HYPERSLAB_OLD_PYTHON ?= $(CURDIR)/.venv-old/bin/python
endif

.PHONY: help
help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-16s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

.PHONY: deps
deps: ## fetch and build the C libraries into third_party/lib and third_party/build; a no-op when they are up to date; SANITIZE=address: into third_party/sanitized
	@$(if $(filter address,$(SANITIZE)),scripts/sanitize.sh deps,scripts/deps.sh)

.PHONY: sanitize
sanitize: deps vendor modules ## the tests and the hostile files with AddressSanitizer and UBSan in the C libraries; SIZE=lane: fewer
	@scripts/sanitize.sh $(if $(filter lane,$(SIZE)),lane,test)

.PHONY: modules
modules: ## fetch the Go modules; a no-op when they are there
	@scripts/modules.sh

.PHONY: build
build: deps modules ## bin/hyperslab
	$(GO) build -ldflags "-X $(version)=$$(scripts/version.sh)" -o bin/hyperslab ./cmd/hyperslab

.PHONY: web
web: ## the viewer h5web, which `make build` then embeds in the command; needs node and npm
	@scripts/web.sh

.PHONY: man
man: deps modules ## bin/man: a manual page for each command, made of what --help says
	$(GO) run ./cmd/hyperslab man --install bin/man

.PHONY: demo
demo: build ## convert real measurements there and back, and prove the result
	@scripts/demo.sh

.PHONY: examples
examples: deps modules ## the programs of docs/guide, with their output compared
	@scripts/examples.sh

.PHONY: test
test: deps vendor modules ## every test, with samples of the large sets; HYPERSLAB_ALL=1: the complete sets
	@scripts/test.sh
	@$(MAKE) --no-print-directory gonum

.PHONY: race
race: deps vendor modules ## tests of packages with concurrency under the race detector and cgo's pointer checks; HYPERSLAB_RACE=all: of all packages
	@scripts/race.sh $(HYPERSLAB_RACE)

.PHONY: nightly
nightly: ## everything that takes too long for .ci/run; LANES="sanitize crash" selects; results in .nightly/results.tsv
	@scripts/nightly.sh $(LANES)

.PHONY: gonum
gonum: deps vendor modules ## the tests of h5 against gonum.org/v1/hdf5, both on our libhdf5
	CGO_CFLAGS="-O2 -g -I$(lib_dir)" CGO_LDFLAGS="-L$(lib_dir)/gonum -L$(lib_dir) -lpthread -ldl -lm" \
		$(GO) test -tags gonum -run Gonum ./h5 ./examples/vald ./examples/weaviate

.PHONY: conformance
conformance: deps vendor modules ## every test file of HDF5, word for word with its h5dump: a verdict each
	$(GO) run ./scripts/conformance -v third_party/src/hdf5-tools

.PHONY: system
system: vendor modules ## the tests with the system's own libraries (-tags system_libs)
	@scripts/system.sh

.PHONY: purego
purego: modules ## build, vet and test without cgo what can do without
	@scripts/purego.sh

.PHONY: peers
peers: ## the Python libraries that some tests compare with, in .venv, and older releases of them, in .venv-old
	@scripts/peers.sh

.PHONY: peers-bench
peers-bench: ## the Python libraries that `make bench` reads the volume with, in .venv-bench
	@scripts/peers.sh bench

.PHONY: crosscheck-peers
crosscheck-peers: deps modules ## judge other implementations by the vectors of crosscheck, and write docs/crosscheck.md
	scripts/crosscheck/run -o docs/crosscheck.md -verdicts crosscheck/verdicts.txt

.PHONY: crosscheck-full
crosscheck-full: build ## emit every combination of the vectors' parameters, and compare their digests with the recorded ones
	@scripts/crosscheck-full.sh

.PHONY: newest
newest: ## the tests with the newest C-Blosc2 and HDF5 of Debian, in a bare system
	@scripts/fresh.sh sid -- system

.PHONY: bench
bench: build ## every promised speed against its peer, and how cost grows: scripts/bench/results.md; BENCH="-resume -rows ^read" picks, ^linear is growth with parts
	@scripts/bench.sh $(BENCH)

.PHONY: bench-remote
bench-remote: build peers ## reads of URLs with latency, against h5py, python-blosc2, h5coro, kerchunk and Zarr: scripts/bench/remote/results.md
	mkdir -p .bench
	$(GO) build -o .bench/hyperslab ./cmd/hyperslab
	$(GO) run ./scripts/bench/remote -python .venv-remote/bin/python -o scripts/bench/remote/results.md $(BENCH)

.PHONY: bench-large
bench-large: build ## copy 10 GiB of values between two grids in 256 MiB of memory
	@scripts/bench.sh -large

.PHONY: bench-once
bench-once: build ## every benchmark once on little data, to see that it works
	@scripts/bench.sh -quick -o .bench/quick.md
	$(GO) test -run '^$$' -bench . -benchtime 1x ./...

.PHONY: properties
properties: deps vendor modules ## every property test on CHECKS random draws, new ones each time
	@scripts/properties.sh $(CHECKS)

.PHONY: fuzz
fuzz: deps modules ## every fuzz target, FUZZTIME each: inputs (20000x) or time (1m)
	@scripts/fuzz.sh $(FUZZTIME)

.PHONY: hostile
hostile: deps vendor modules ## open damaged and crafted files, MUTANTS of them mutated, and count what becomes of each; HOSTILE= for fewer in workers
	@scripts/hostile.sh -mutants $(MUTANTS) $(HOSTILE)

.PHONY: soak
soak: deps modules ## many goroutines on every kind of handle, for SOAK: nothing is left of a round, and memory stays
	HYPERSLAB_SOAK=$(SOAK) $(GO) test -count=1 -timeout 0 -v -run '^TestSoak$$' .

.PHONY: files
files: deps modules ## sparse frames of 20,000 files, against the library's byte for byte
	HYPERSLAB_FRAMEIO_FILES=20000 $(GO) test -count=1 -v -run '^TestManyChunks$$/^contiguous=false$$' ./cblosc/frameio

.PHONY: crash
crash: deps modules ## kill writers before their changes, lose power, fail their calls: everything, not the sample of make test
	HYPERSLAB_ALL=1 $(GO) test -count=1 -timeout 60m ./scripts/crashtest
	HYPERSLAB_ALL=1 $(GO) test -count=1 -timeout 60m -run 'TestCut' ./internal/recovery
	HYPERSLAB_ALL=1 $(GO) test -count=1 -timeout 60m -run 'Killed|Interrupted|FullDisk|Faults|Vanished' ./cmd/hyperslab/internal/cli

.PHONY: api
api: deps modules ## write API.md of cblosc and h5: every function of the C libraries, and what binds it
	$(GO) run ./scripts/api

.PHONY: lint
lint: deps modules ## gofmt, vet, staticcheck, shellcheck, clang-format, strict C warnings
	@scripts/lint.sh

.PHONY: vendor
vendor: ## unpack the verified sources of the C libraries under third_party/src
	@scripts/vendor.sh

.PHONY: notice
notice: deps modules ## write NOTICE from the licences of all that is linked
	scripts/notice.sh >NOTICE.new && mv NOTICE.new NOTICE

.PHONY: dist
dist: ## dist/hyperslab-<version>.tar.gz, a source archive that builds with no network
	@scripts/dist.sh

.PHONY: deps-test
deps-test: deps vendor modules ## provoke the failures of make deps, and look at what it built
	@scripts/test-deps.sh

.PHONY: release
release: ## make VERSION on this machine: libraries twice, release branch, tag, dist/VERSION; nothing is pushed
	@scripts/release.sh "$(VERSION)"

.PHONY: release-check
release-check: ## prove in bare Debian systems that a module can use the release VERSION
	@scripts/release-check.sh "$(VERSION)" $(SUITES)

.PHONY: metrics
metrics: deps modules ## figures on the size of the module, in docs/metrics.txt
	@$(GO) run ./scripts/metrics

.PHONY: surface
surface: ## write api/*.txt: the exported identifiers of each package
	$(GO) run ./scripts/surface

.PHONY: dist-test
dist-test: ## build the source archive with networking off
	@scripts/test-dist.sh

.PHONY: image
image: ## container images of the Dockerfile's stages deps and cli; VERSION=v0.1.0: of a release
	@scripts/image.sh $(VERSION)

.PHONY: fresh
fresh: ## make TARGETS in bare Debian systems, SUITES, made with debootstrap
	@scripts/fresh.sh $(SUITES) -- $(TARGETS)

.PHONY: clean
clean: ## remove all that was built; fetched files stay
	find third_party/lib -name '*.[ah]' -delete
	rm -rf bin dist .demo .web serve/h5web/dist third_party/build third_party/sanitized third_party/src third_party/work
