.DEFAULT_GOAL := help
.PHONY: help setup demo test count-tests encryption-rules build lint format examples interop conformance bench chaos \
        hostile soak soak-reconnects matrix-kill mutants simulate simulate-bugs herd tsan asan fuzz fuzz-smoke release install \
        uninstall matrix-test matrix-large encryption-peers relay-test \
        check-install pydio-transfer pydio-sync-kill smoke clean

PREFIX ?= /usr/local
DESTDIR ?=
SEEDS ?= 10000
FIRST ?= 1
CONFIGURATION ?= release
export PREFIX DESTDIR CONFIGURATION
# As in Scripts/release: a build with other options would compile everything again.
STATIC = $(if $(filter release,$(CONFIGURATION)),--static-swift-stdlib)
# Every trait of the package is on: the manifest reads it.
export ALL_TRAITS = 1
# SwiftPM 6.3 passes traits to the compiler in hash order, and a different order rebuilds the whole package.
export SWIFT_DETERMINISTIC_HASHING = 1
# Swift Testing 6.3 begins thousands of tests at once otherwise, and whoever waits for something gets a turn only when all
# others have had theirs: up to five minutes later on two cores.
export SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH = 16

help: ## Lists the targets.
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/make \1|\2/p' $(MAKEFILE_LIST) | awk -F '|' '{ printf "%-19s %s\n", $$1, $$2 }'

setup: ## Installs missing system packages (Debian, Ubuntu) and checks the version of Swift.
	@Scripts/setup

demo: setup ## Shows events arriving over a real WebSocket, from an embedded server.
	@Scripts/build-without-traits --disable-default-traits --product pusher-cli
	@.build-plain/debug/pusher-cli demo

test: setup ## Builds and runs all tests, and says which were skipped. For some, use swift test --filter.
	@swift build --build-tests
	@env -u SWIFT_DETERMINISTIC_HASHING Scripts/report-skipped swift test --skip-build

count-tests: setup ## Counts the tests by target, and those of bugs that older clients had.
	@swift test list 2>/dev/null | Scripts/count-tests

encryption-rules: ## Lists which tests hold the rules of Matrix's encryption. Fails if a rule has none.
	@Scripts/encryption-rules

build: setup ## Builds everything, including the tests. Fails on a warning.
	@Scripts/build-without-warnings

lint: ## Checks the formatting of every Swift file, and that a peer's identifiers are compared by their bytes.
	@swift format lint --strict --recursive Package.swift Sources Tests Tools Examples/Package.swift Examples/Readme \
		Examples/Sources Scripts/mutants
	@Scripts/lint-identifiers

format: ## Formats every Swift file.
	@swift format --in-place --recursive Package.swift Sources Tests Tools Examples/Package.swift Examples/Readme \
		Examples/Sources Scripts/mutants

examples: setup ## Builds and runs the examples, and checks what they print and what they are linked with.
	@Scripts/examples

interop: setup ## Tests our server and client against other people's libraries and clients.
	@swift build --quiet --product pusher-cli
	@Scripts/interop/run

matrix-test: setup ## Tests the Matrix client against Synapse, a real homeserver. FILTER=tests runs some, KILLS=200 kills more often.
	@Scripts/matrix/run $(if $(FILTER),'$(FILTER)')

relay-test: setup ## Relays and consumers around three servers of NATS while everything fails. TIME=600 SEED=any RATE=100 FAULTS=short.
	@Scripts/setup nats-server
	@swift build --build-tests --quiet
	@NATS_TESTS=1 swift test --skip-build --filter 'EventRelayTests|ConsumeCommandTests|RelayCommandTests' $(if $(FAULTS),--skip ServerDeathTests)
	@FAULTS=$(FAULTS) RATE=$(RATE) Scripts/relay/run $(or $(TIME),600) $(SEED)

encryption-peers: setup ## Compares Matrix's encryption with vodozemac and others. CASES=1000 SEED=any ONLY="olm sas" REFERENCE=module.
	@swift build --quiet --product EncryptionPeer
	@Scripts/encryption-peers/run --cases $(or $(CASES),1000) $(if $(SEED),--seed $(SEED)) \
	    $(if $(REFERENCE),--reference $(REFERENCE)) $(ONLY)

conformance: setup ## Runs Autobahn's WebSocket cases against our client and mock server. CASES="1 2" runs some groups.
	@swift build --quiet --product ConformancePeer
	@Scripts/conformance/run $(CASES)

bench: setup ## Measures speed and memory beside floors and peers, in 17 minutes. ONLY="dispatch latency" ROUNDS=5.
	@Scripts/bench/run $(ONLY)

chaos: setup ## Breaks the network between client and server. FAULT="link down" runs one fault.
	@swift build --quiet --product pusher-cli
	@Scripts/chaos/run $(if $(FAULT),"$(FAULT)")

hostile: setup ## Measures what peers that mean harm can cost, about 12 minutes. SHORT=1 ONLY="gzip presence".
	@swift build --quiet --product pusher-cli
	@Scripts/hostile/run $(if $(SHORT),--short) $(ONLY)

soak: setup ## Runs many clients against a server that fails at random. TIME=60 CLIENTS=1000 SEED=any.
	@Scripts/soak $(or $(TIME),60) $(or $(CLIENTS),1000) $(SEED)

soak-reconnects: setup ## Checks that the memory of a client stays flat while it reconnects. RECONNECTS=10000.
	@Scripts/soak-reconnects $(RECONNECTS)

matrix-kill: setup ## Kills the writer of a Matrix store with kill -9 at random moments. MOMENTS=200 SEED=any.
	@Scripts/matrix-kill $(or $(MOMENTS),200) $(SEED)

matrix-large: setup ## Time, memory and requests for a large account on Synapse. ROOMS=2000 MEMBERS=10000 SYNCS=2880.
	@Scripts/matrix-large $(if $(ROOMS),--rooms $(ROOMS)) $(if $(MEMBERS),--members $(MEMBERS)) \
	    $(if $(SYNCS),--syncs $(SYNCS))

pydio-sync-kill: setup ## Kills a sync of a folder with kill -9 at random moments. MOMENTS=200 SEED=any.
	@Scripts/pydio-sync-kill $(or $(MOMENTS),200) $(SEED)

pydio-transfer: setup ## Compares uploads and downloads by pusher-cli with those by curl. SIZE=1024 (MiB) ROUNDS=5.
	@Scripts/pydio/transfer $(or $(SIZE),1024) $(or $(ROUNDS),5)

simulate: setup ## Runs random schedules on a simulated clock and network. SEEDS=10000 FIRST=1 MACHINE=pusher|matrix|rooms|encryption|pydio|relay.
	@swift build --quiet -c $(CONFIGURATION) $(STATIC) --product simulate
	@SWIFT_DETERMINISTIC_HASHING=1 .build/$(CONFIGURATION)/simulate $(MACHINE) $(SEEDS) $(FIRST)

simulate-bugs: setup ## Checks that simulate finds deliberate bugs; takes minutes. BUGS="01 02" tries some.
	@Scripts/simulate-bugs $(patsubst %,Scripts/simulation-bugs/%-*.patch,$(BUGS))

herd: setup ## Counts reconnects per second after 10,000 clients lose one server, with and without jitter.
	@swift build --quiet -c $(CONFIGURATION) $(STATIC) --product simulate
	@.build/$(CONFIGURATION)/simulate herd

mutants: setup ## Makes small mutations of the pure targets, which tests must notice. COUNT=12 tries a few.
	@python3 Scripts/mutants/mutants.py $(COUNT)

tsan: setup ## Runs the tests under ThreadSanitizer. TEST_TARGETS="RealtimeTests LinuxCombineTests" runs some.
	@Scripts/sanitize thread

asan: setup ## Runs the tests under AddressSanitizer. TEST_TARGETS="TransportTests RealtimeTests" runs some.
	@Scripts/sanitize address

fuzz: setup ## Fuzzes every parser of untrusted input. TIME=30 (seconds each) TARGET=a folder of Fixtures/fuzz.
	@Scripts/fuzz

fuzz-smoke: setup ## Runs every fuzzer for a few seconds. TIME=3.
	@TIME=$(or $(TIME),3) Scripts/fuzz

release: setup ## Builds pusher-cli for machines without Swift, with completions and man page; takes minutes.
	@Scripts/release

install: release ## Installs pusher-cli below PREFIX=/usr/local. Respects DESTDIR.
	@Scripts/install

uninstall: ## Removes what install installed.
	@Scripts/install --remove

check-install: release ## Installs into a temporary folder and checks the result.
	@Scripts/check-install

smoke: setup ## Runs a short form of every target that CI does not run as it is. ONLY="bench soak", TURNS=900 (seconds).
	@Scripts/smoke $(if $(TURNS),--seconds $(TURNS)) $(ONLY)

clean: ## Removes everything that was built.
	@rm -rf .build .build-* Examples/.build Benchmarks/.build
