# Every target is described by the comment after "##"; `make help` prints them.
SHELL := /bin/bash
.DEFAULT_GOAL := help

# What tests need and take long to make is kept here between runs, by version.
export FERRULE_CACHE ?= $(if $(HOME),$(HOME),/root)/.cache/ferrule

GOLANGCI_VERSION := v2.15.0
GOLANGCI := $(FERRULE_CACHE)/bin/golangci-lint-$(GOLANGCI_VERSION)

# Packages with tests, or the PostgreSQL half of tests, that the short run leaves out.
LONG = $(shell grep -rl --include='*_test.go' -E 'testing\.Short\(\)|storetest\.Each' . | xargs -r -n1 dirname | sort -u)

.PHONY: help build demo check lint test chaos env bench generate oracle

help: ## Say what can be made
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sort | awk -F ':.*## ' '{ printf "  %-10s %s\n", $$1, $$2 }'

build: ## Build the programs into bin/
	go build -o bin/ ./cmd/...

demo: ## Take three emulated servers through their whole life (ARGS=--keep leaves it running)
	@echo "Building Ferrule; the first time takes some minutes."
	@$(MAKE) --no-print-directory build
	bin/ferrule demo $(ARGS)

check: ## The inner loop, in seconds: build, vet, lint, short tests
	go build ./...
	go vet ./...
	@$(MAKE) --no-print-directory lint
	go test -short ./...

lint: $(GOLANGCI) ## Run the linters that .golangci.yml names
	$(GOLANGCI) run ./...

$(GOLANGCI):
	mkdir -p $(@D)
	GOBIN=$(@D)/$(GOLANGCI_VERSION) go install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_VERSION)
	mv $(@D)/$(GOLANGCI_VERSION)/golangci-lint $@

env: ## Install what the tests need of Debian, where it is missing
	bash compat-tests/env/setup.sh

test: env check ## Everything: what check does, the race detector, the long suites
	go test -race -short -timeout 15m ./...
	go test -timeout 35m $(LONG)

chaos: env ## Freeze a process at every kind of write of the store, one after the other (a quarter of an hour)
	go test -count=1 -timeout 45m ./compat-tests/kill -run Frozen -all-writes

bench: ## Measure beside real Ironic, as ratios (ARGS goes to the bench)
	compat-tests/bench/run.sh $(ARGS)

oracle: env ## Ask real Ironic every request again, and record its answers
	go test -count=1 -timeout 35m ./compat-tests/oracle -update

generate: ## Make generated code, the agent's dependency list and what options are honoured anew
	go generate ./...
	go test -count=1 -run 'Dependencies|Honoured' ./internal/archtest -update
