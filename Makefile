.DEFAULT_GOAL := help
.PHONY: help setup demo test build lint format docs release install uninstall clean
include Scripts/environment.mk

PREFIX ?= /usr/local
DESTDIR ?=
export PREFIX DESTDIR
SWIFT_FILES = Package.swift Sources Tests Lab/Sources Lab/Benchmarks/Sources Lab/Benchmarks/Package.swift Lab/mutants \
	Lab/documentation Examples/Package.swift Examples/Readme Examples/Sources

help: ## Lists the targets; those of the laboratory are listed by make -C Lab.
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/make \1|\2/p' Makefile | awk -F '|' '{ printf "%-15s %s\n", $$1, $$2 }'

setup: ## Installs missing system packages (Debian, Ubuntu) and checks the version of Swift.
	@Scripts/setup

demo: setup ## Shows events arriving over a real WebSocket, from an embedded server.
	@Scripts/build-without-traits --traits CommandLineTool --product pusher-cli
	@.build-plain/debug/pusher-cli demo

test: setup ## Builds and runs the tests. ROOM="pusher matrix" takes those of some rooms, FILTER=names some of them, QUIET=1 prints less.
	@SCOPE="$(ROOM)" Scripts/test $(foreach name,$(FILTER),'$(name)')

build: setup ## Builds everything, including the tests. Fails on a warning.
	@Scripts/build-without-warnings

lint: ## Checks the formatting of every Swift file, the rules of the rooms, and that the seeded bugs apply.
	@swift format lint --strict --recursive $(SWIFT_FILES)
	@Scripts/lint-identifiers
	@Scripts/lint-rooms
	@for patch in Lab/simulation-bugs/*.patch; do git apply --check $$patch || exit; done

format: ## Formats every Swift file.
	@swift format --in-place --recursive $(SWIFT_FILES)

docs: setup ## Builds the manuals of all libraries into one static site, in .build/documentation.
	@Scripts/docs

release: setup ## Builds pusher-cli for machines without Swift, with completions and man page; takes minutes.
	@Scripts/release

install: release ## Installs pusher-cli below PREFIX=/usr/local. Respects DESTDIR.
	@Scripts/install

uninstall: ## Removes what install installed.
	@Scripts/install --remove

clean: ## Removes everything that was built.
	@rm -rf .build .build-* Examples/.build Lab/Benchmarks/.build
