# SPDX-License-Identifier: Apache-2.0
#
# One build configuration serves check, test, bench and the interop tests, so that nothing is compiled twice.
BUILD := swift build -c release
TEST := swift test -c release --skip-build
# Calls with other programs are in real time: they run by themselves, after everything else.
REAL_TIME := InteropTests
# What the tests' programs write, and the secrets in play: searched after the tests.
ARTEFACTS := $(CURDIR)/.build/artefacts
DEMO_BUILD := $(BUILD) --product handset --static-swift-stdlib --scratch-path .build/demo
SECONDS_EACH ?= 120
DEMO_OUT ?= handset-demo

.PHONY: help demo test bench bench-voice bench-voice-sim fuzz check format build clean

help:
	@echo "make demo    build the command and run a whole call between two phones (writes $(DEMO_OUT)/)"
	@echo "make test    build everything, run every test, search what they wrote for secrets"
	@echo "make check   formatting, lint, Apple branches parsed, build with warnings as errors"
	@echo "make bench   measure against other implementations, where they are installed"
	@echo "make bench-voice      how calls sound over bad networks, beside linphone-cli, in real time (docs/voice-quality.md)"
	@echo "make bench-voice-sim  the same in virtual time, in minutes"
	@echo "make fuzz    each fuzz target for SECONDS_EACH seconds ($(SECONDS_EACH))"
	@echo "make format  format the sources"

demo:
	scripts/bootstrap --build-only
	$(DEMO_BUILD)
	.build/demo/release/handset demo --out $(DEMO_OUT)

build:
	$(BUILD) --build-tests

test:
	scripts/bootstrap --tests
	$(BUILD) --build-tests
	rm -rf $(ARTEFACTS)
	mkdir -p $(ARTEFACTS)
	HANDSET_ARTEFACTS=$(ARTEFACTS) $(TEST) --skip $(REAL_TIME)
	HANDSET_ARTEFACTS=$(ARTEFACTS) $(TEST) --filter $(REAL_TIME)
	scripts/scan-secrets --self-check
	scripts/scan-secrets $(ARTEFACTS)

check:
	scripts/check

bench:
	scripts/bootstrap --tests
	scripts/bench
	scripts/bench-network || [ $$? = 77 ]

bench-voice:
	scripts/bench-voice

bench-voice-sim:
	scripts/bench-voice-setup
	scripts/bench-voice-sim

fuzz:
	scripts/fuzz all $(SECONDS_EACH)

format:
	swift format -i -r Package.swift Sources Tests Fuzz Examples Benchmarks

clean:
	rm -rf .build
