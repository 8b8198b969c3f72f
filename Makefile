.DEFAULT_GOAL := help
.PHONY: help setup demo test count-tests build lint format examples interop conformance bench chaos hostile soak \
        soak-reconnects matrix-kill simulate simulate-bugs herd tsan asan fuzz fuzz-smoke release install \
        uninstall matrix-test \
        check-install pydio-transfer clean

PREFIX ?= /usr/local
DESTDIR ?=
SEEDS ?= 10000
FIRST ?= 1
export PREFIX DESTDIR

help: ## Lists the targets.
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/make \1|\2/p' $(MAKEFILE_LIST) | awk -F '|' '{ printf "%-19s %s\n", $$1, $$2 }'

setup: ## Installs missing system packages (Debian, Ubuntu); checks Swift.
	@Scripts/setup

demo: setup ## Shows events arrive over a real WebSocket, on an embedded server.
	@swift build --quiet --product pusher-cli
	@.build/debug/pusher-cli demo

test: setup ## Builds and runs all tests.
	@swift test

count-tests: setup ## Lists how many tests there are, by target and by group of known bugs.
	@swift test list 2>/dev/null | Scripts/count-tests

build: setup ## Builds everything, tests included; fails on a warning.
	@Scripts/build-without-warnings

lint: ## Checks the format of every Swift file.
	@swift format lint --strict --recursive Package.swift Sources Tests Examples/Package.swift Examples/Sources

format: ## Formats every Swift file.
	@swift format --in-place --recursive Package.swift Sources Tests Examples/Package.swift Examples/Sources

examples: setup ## Builds the examples; shows that they compile neither SwiftNIO, GRDB nor ArgumentParser.
	@Scripts/build-examples

interop: setup ## Official Python library and Pysher against our server and client.
	@swift build --quiet --product pusher-cli
	@Scripts/interop/run

matrix-test: setup ## The Matrix client against a real homeserver, Synapse from PyPI; FILTER=tests.
	@Scripts/matrix/run $(FILTER)

conformance: setup ## Autobahn's WebSocket cases against our client and the mock server; CASES="1 2" takes some groups.
	@swift build --quiet --product ConformancePeer
	@Scripts/conformance/run $(CASES)

bench: setup ## Figures beside floors and peers, about 12 minutes; ONLY="dispatch latency" takes some, ROUNDS=5.
	@Scripts/bench/run $(ONLY)

chaos: setup ## Real network faults between client and server: how soon noticed, how soon back.
	@swift build --quiet --product pusher-cli
	@Scripts/chaos/run

hostile: setup ## Servers, networks and clients that mean harm, about 12 minutes; SHORT=1, ONLY="gzip presence".
	@swift build --quiet --product pusher-cli
	@Scripts/hostile/run $(if $(SHORT),--short) $(ONLY)

soak: setup ## 1,000 clients of a server that goes wrong at random; TIME=60 CLIENTS=1000 SEED=any.
	@Scripts/soak $(or $(TIME),60) $(or $(CLIENTS),1000) $(SEED)

soak-reconnects: setup ## One client through 10,000 reconnects: its memory must stay flat.
	@Scripts/soak-reconnects

matrix-kill: setup ## kill -9 of a Matrix store's writer at MOMENTS=200 random moments; SEED=any.
	@Scripts/matrix-kill $(or $(MOMENTS),200) $(SEED)

pydio-transfer: setup ## Up- and downloads of 1 GiB by pusher-cli and by curl, on the Pydio mock server; SIZE=MiB ROUNDS=5.
	@Scripts/pydio/transfer $(or $(SIZE),1024) $(or $(ROUNDS),5)

simulate: setup ## Random schedules on a simulated clock and network: SEEDS=n [FIRST=seed].
	@swift build --quiet -c release --product simulate
	@SWIFT_DETERMINISTIC_HASHING=1 .build/release/simulate $(SEEDS) $(FIRST)

simulate-bugs: setup ## Ten deliberate bugs, and after how many schedules each is found; takes minutes.
	@Scripts/simulate-bugs

herd: setup ## 10,000 clients lose one server: reconnects per second, with jitter and without.
	@swift build --quiet -c release --product simulate
	@.build/release/simulate herd

tsan: setup ## All tests under ThreadSanitizer, one after the other.
	@TSAN_OPTIONS=suppressions=$(CURDIR)/Scripts/tsan-suppressions swift test --no-parallel --sanitize=thread \
		--scratch-path .build-tsan

asan: setup ## All tests under AddressSanitizer, one after the other.
	@Scripts/asan

fuzz: setup ## libFuzzer on all that reads bytes of strangers: TIME=30 seconds each, TARGET=one of Fixtures/fuzz.
	@Scripts/fuzz

fuzz-smoke: setup ## The same, a few seconds each.
	@TIME=3 Scripts/fuzz

release: setup ## Builds pusher-cli for machines without Swift, with completions and man page; takes minutes.
	@Scripts/release

install: release ## Installs pusher-cli below PREFIX (/usr/local); DESTDIR is respected.
	@Scripts/install

uninstall: ## Removes what install has installed.
	@Scripts/install --remove

check-install: release ## Installs into a temporary folder, and checks what is there.
	@Scripts/check-install

clean: ## Removes what was built.
	@rm -rf .build .build-* Examples/.build Benchmarks/.build
