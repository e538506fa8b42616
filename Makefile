# Two commands do everything on a fresh machine: `make demo` and `make test`. The rest is for people working on it.

# SwiftPM hands the names of traits to the compiler in the order in which it finds them in a set; with another order than the last
# time, everything is compiled once more. With hashes that are the same each time, a build serves the next one.
SWIFT ?= env SWIFT_DETERMINISTIC_HASHING=1 swift

# The service, and what tests with rows need; who uses only the client resolves and builds less (Package.swift).
TRAITS = --enable-all-traits
ifeq ($(shell uname -s),Darwin)
export POWERSYNC_SERVICE = 1
endif

# What CI builds with. One configuration and the same flags everywhere, so that nothing is built twice: what `make demo` has built
# serves `make serve` and `make test`. A release build takes twice the time, which a demo of seconds does not save.
CHECKS = $(TRAITS) -Xswiftc -warnings-as-errors --explicit-target-dependency-import-check error

DEBUG = $(SWIFT) build $(CHECKS) --build-tests
COMMAND = $(SWIFT) build $(CHECKS) --product powersync
SOURCES = Package.swift Sources Tests Benchmarks/Package.swift Benchmarks/Sources Examples

.PHONY: demo test example demo-smoke plugin-smoke test-operating test-newest test-mysql test-sqlite test-sqlcipher test-cut-network sanitize soak soak-faults soak-idle serve bench dist docs lint format packages clean

## demo: install what is missing, build, and show the whole loop in under two minutes
demo: packages
	$(COMMAND)
	$$($(COMMAND) --show-bin-path)/powersync demo $(DEMO_ARGUMENTS)

## test: install what is missing, build with warnings as errors, run all tests, a short demo over all formats and transports, and the plugin
test: packages
	$(DEBUG)
	scripts/with-s3 scripts/with-postgres scripts/with-mysql scripts/run-tests
	$(MAKE) --no-print-directory demo-smoke plugin-smoke

## example: the example apps, a backend and two devices side by side in tmux (EXAMPLE=--script: without a terminal, as CI does)
example: packages
	scripts/example $(EXAMPLE)

# The demo itself is a test: it exits non-zero when something that it claims did not happen. The last one keeps its photos in S3.
demo-smoke:
	powersync=$$($(COMMAND) --show-bin-path)/powersync && \
	$$powersync demo --rows 2000 --plain && \
	$$powersync demo --rows 2000 --plain --format ndjson && \
	scripts/with-s3 sh -c '"$$0" demo --rows 2000 --plain --transport websocket --s3 "$$POWERSYNC_S3_ENDPOINT"' $$powersync

# The command plugin, as people run it, over what the tests have: it exits non-zero when the file is another one.
GENERATED = Tests/Fixtures/Generate
plugin-smoke:
	$(SWIFT) package $(CHECKS) --allow-writing-to-package-directory generate-powersync \
		$(GENERATED)/sync.yaml --schema $(GENERATED)/schema.sql --output Tests/PowerSyncCLITests/Generate/Synced.swift --dates --check

## test-newest: what needs a PostgreSQL server, over the newest PostgreSQL and PgBouncer of Debian (Debian, root; NEWEST=--short: a part)
test-newest: packages
	$(DEBUG)
	scripts/test-newest $(NEWEST)

## test-mysql: what needs a MySQL or MariaDB server, over the newest of both of Debian (Debian, root; MYSQL=--short: a part)
test-mysql: packages
	$(DEBUG)
	scripts/test-mysql $(MYSQL)

## test-sqlite: the client's suites over the newest SQLite, and over ones with other options than the system's (Debian, root)
test-sqlite: packages
	$(DEBUG)
	scripts/test-sqlite $(SQLITE)

## test-sqlcipher: the client's suites over the newest SQLCipher of Debian, without keys and with a key for each file (Debian, root)
test-sqlcipher: packages
	$(DEBUG)
	scripts/test-sqlite sqlcipher keyed

## test-operating: what the operators' pages say, over a PostgreSQL server: proxy, alerts, two nodes upgraded under load, backup and restore
test-operating: packages
	$(DEBUG)
	scripts/test-operating

## test-cut-network: the network of the node that replicates is cut, and another one goes on (Linux, root)
test-cut-network: packages
	$(DEBUG)
	scripts/test-cut-network

## sanitize: the suites with ThreadSanitizer and AddressSanitizer (SANITIZE=thread: only that one), each in a build of its own
sanitize: packages
	scripts/sanitize $(SANITIZE)

# How many processes each of the tests that kill them kills.
KILLS ?= 300
# How large the files are of which transfers must not take more memory: 1 GiB.
LARGE_FILE_MIB ?= 1024

# How many clients of a service come back at the same time.
RECONNECTS ?= 10000

# How many minutes a service runs over each kind of databases, and how many clients it has.
SOAK_MINUTES ?= 60
SOAK_STREAMS ?= 1000

# How many worlds are simulated beside the tests', and for how many minutes more.
SEEDS ?= 20
SIMULATE_MINUTES ?= 30

# How many random transcripts are played in other transactions and processes.
SPLITS ?= 100000
# How many random queries are compared with SQLite.
QUERIES ?= 100000

## soak: all cases of every test, the targets in Tests/Heavy for longer and with larger files, and clients that are idle over WebSocket
soak: packages
	$(DEBUG)
	POWERSYNC_ALL_CASES=1 POWERSYNC_SLOW=1 POWERSYNC_TEST_MINUTES=0 scripts/with-s3 scripts/with-postgres scripts/with-mysql scripts/run-tests $(notdir $(wildcard Tests/*Tests))
	POWERSYNC_ALL_CASES=1 POWERSYNC_SLOW=1 POWERSYNC_TEST_MINUTES=0 scripts/test-newest
	POWERSYNC_ALL_CASES=1 POWERSYNC_SLOW=1 POWERSYNC_TEST_MINUTES=0 scripts/test-mysql
	scripts/test-sqlite sqlcipher keyed
	POWERSYNC_KILLS=$(KILLS) POWERSYNC_LARGE_FILE_MIB=$(LARGE_FILE_MIB) POWERSYNC_SPLITS=$(SPLITS) \
	POWERSYNC_QUERIES=$(QUERIES) POWERSYNC_RECONNECTS=$(RECONNECTS) POWERSYNC_SLOW=1 \
	POWERSYNC_SOAK_MINUTES=$(SOAK_MINUTES) POWERSYNC_SOAK_STREAMS=$(SOAK_STREAMS) POWERSYNC_SEEDS=$(SEEDS) \
	POWERSYNC_TEST_MINUTES=0 scripts/with-postgres scripts/with-mysql scripts/run-tests $(notdir $(wildcard Tests/Heavy/*Tests))
	scripts/simulate-for $(SIMULATE_MINUTES)
	scripts/test-operating
	$(MAKE) --no-print-directory soak-idle

# How many minutes processes and networks fail; each kind of fault comes at least once.
FAULT_MINUTES ?= 60

## soak-faults: transactions on clients while processes and networks fail (Linux, root; FAULTS=--mysql: over MySQL; FAULTS="kill pause": these)
soak-faults: packages
	$(DEBUG)
	scripts/soak-faults --minutes $(FAULT_MINUTES) $(FAULTS)

# How many seconds clients stay connected while nothing happens.
IDLE ?= 90

## soak-idle: clients that are idle over WebSocket keep their streams, or this exits non-zero
soak-idle:
	$$($(COMMAND) --show-bin-path)/powersync demo --rows 2000 --plain --transport websocket --idle $(IDLE)

## serve: start a service for development and print what to connect with
serve: packages
	$(COMMAND)
	$$($(COMMAND) --show-bin-path)/powersync serve --config Examples/serve/powersync.yaml

## bench: run the benchmarks, each beside its floor
bench: packages
	cd Benchmarks && $(SWIFT) build -c release && $$($(SWIFT) build -c release --show-bin-path)/Benchmarks $(BENCH)

## dist: an archive and a Debian package with the command for servers, in .build/dist; both are tried where nothing but glibc is, or in a throw-away root (Linux, root)
dist: packages
	scripts/dist
	scripts/test-dist
	scripts/test-deb

## docs: the documentation of all products, in .build/docs; fails for a link that leads nowhere
docs: packages
	$(DEBUG)
	scripts/docs

## lint: check the formatting, what comments and pages refer to, code for single platforms, accesses to SQLite on servers, arrows between rooms, names of databases, log lines, errors, and numbers before nouns
lint:
	$(SWIFT) format lint --strict --recursive --parallel --configuration .swift-format $(wildcard $(SOURCES))
	scripts/check-references
	scripts/check-platforms
	scripts/check-accesses
	scripts/check-rooms
	scripts/check-databases
	scripts/check-logs
	scripts/check-errors
	scripts/check-counts

## format: apply the formatting
format:
	$(SWIFT) format --in-place --recursive --parallel --configuration .swift-format $(wildcard $(SOURCES))

packages:
	@scripts/install-system-packages

clean:
	scripts/debian-sid --remove
	rm -rf .build Benchmarks/.build
