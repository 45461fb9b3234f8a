# rea: build, install, test, try. `make help` lists the targets.
# The work is done by scripts/*.sh; each says at its top what it promises.

PG_CONFIG ?= pg_config
DESTDIR ?=

.PHONY: help setup demo demo-stop test install installcheck walk lint bench clean
.DEFAULT_GOAL := help

help: ## show this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /  make \1|/' | column -t -s '|'

setup: ## install what is missing to build and test (Debian)
	@scripts/setup.sh

demo: setup ## start a throwaway server and watch orders being followed up
	@scripts/demo.sh

demo-stop: ## stop what `make demo` started
	@scripts/demo.sh stop

test: setup ## run everything; the last line is "N passed, N failed"
	@scripts/test.sh

install: setup ## build and install (PG_CONFIG=…, DESTDIR=…)
	@scripts/install.sh "$(PG_CONFIG)" "$(DESTDIR)"

installcheck: setup ## run pg_regress/ against the server of PG_CONFIG, which must hold rea
	@scripts/installcheck.sh "$$($(PG_CONFIG) --bindir)"

walk: setup ## random workflows, kills and interventions for a while (SEED=…, MINUTES=10)
	@SEED="$(SEED)" MINUTES="$(MINUTES)" scripts/walk.sh

lint: setup ## rustfmt and clippy, warnings are errors
	@scripts/lint.sh

bench: setup ## measure rea beside its references (QUICK=1 for a short run)
	@QUICK="$(QUICK)" scripts/bench.sh

clean: ## remove what was built, throwaway servers included
	@scripts/demo.sh stop
	cargo clean
	rm -rf .work
