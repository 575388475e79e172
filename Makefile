# `make help` lists the targets. Recipes longer than a few lines are scripts under scripts/.

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
SHELL := /bin/bash

GO      ?= go
FUZZTIME ?= 10s
SUITES  ?= bookworm trixie
VERSION  = $(shell scripts/version.sh)

.PHONY: help
help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: deps
deps: ## fetch and build the C libraries into third_party/build (a no-op when that is up to date)
	@scripts/deps.sh

.PHONY: vendor
vendor: ## unpack the verified sources of the C libraries under third_party/src
	@scripts/vendor.sh
