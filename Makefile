# Everything from a clean clone: `make demo`, `make test`. The build itself is CMake's; see CMakePresets.json.
JOBS ?= $(shell nproc)
DEMO ?= run gemm_bf16 --m 512 --n 512 --k 512
FUZZ_SECONDS ?= 60
PYTHON ?= python3
CORPUS ?=
BENCH_ARGS ?=
MAKEFLAGS += --no-print-directory

# Asked when a recipe runs, not when make starts: the bootstrap may just have installed ninja.
CONFIGURE = CMAKE_GENERATOR="$${CMAKE_GENERATOR:-$$(command -v ninja >/dev/null && echo Ninja || echo 'Unix Makefiles')}" cmake --preset
BUILD = cmake --build
# The report is for scripts/skipped, which looks for SKIPPED lines in the output of tests that passed.
CTEST = ctest --output-on-failure -j$(JOBS) --no-label-summary --output-junit ctest.xml \
  --test-output-size-passed 100000000 --test-dir
# True in a build folder that was configured with everything that the tests need.
HAS_TESTS = grep -qs '^KILN_BUILD_TESTS:BOOL=ON' build/CMakeCache.txt && test -f build/cmake_install.cmake

.PHONY: help demo test rules oracle mutation order lowered corpus scoreboard build configure debug clang wheel release site bench fuzz install-deps clean
.PHONY: bootstrap-demo bootstrap-test
.DEFAULT_GOAL := help

help: ## this list
	@awk -F':.*## ' '/^[a-z-]+:.*## / { printf "make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: bootstrap-demo ## build `kiln run` alone and run a GEMM: built, verified, assembled, simulated, compared
	@test -f build/cmake_install.cmake || $(CONFIGURE) release -DKILN_BUILD_TESTS=OFF
	@test -x build/kiln-demo || echo "Building kiln-demo, which takes about a minute on two cores. \`make build\` builds the whole command."
	@$(BUILD) build --target kiln-demo -j $(JOBS)
	build/kiln-demo $(DEMO)

test: build ## build everything and run every test
	$(CTEST) build
	@scripts/skipped build

rules: configure ## after an edit of a rule: its unit tests, and every text test of the verifier (about a minute)
	@$(BUILD) build --target kiln-check unit_rules -j $(JOBS)
	build/tests/unit_rules
	KILN_COMMAND=$(CURDIR)/build/kiln-check $(CTEST) build -R '^lit.verify$$'

oracle: configure ## every generated instruction, for every target: Kiln against ptxas, or PTXAS=path (some minutes)
	@$(BUILD) build --target oracle -j $(JOBS)
	$(if $(PTXAS),KILN_PTXAS=$(PTXAS)) build/tests/oracle
	build/tests/oracle --rows

mutation: configure ## kernels with one mistake each, all of them: what is noticed (a few minutes)
	@$(BUILD) build --target mutate -j $(JOBS)
	build/tests/mutate --jobs $(JOBS) --doc docs/mutation.md

order: configure ## the race detector against one that keeps everything, on 100,000 random programs (some minutes)
	@$(BUILD) build --target order -j $(JOBS)
	build/tests/order --programs 100000

lowered: configure ## which kernels `kiln lower` takes, and what becomes of them: the table in docs/lowering.md
	@$(BUILD) build --target unit_lower -j $(JOBS)
	KILN_LOWERED=1 build/tests/unit_lower -tc="S3-59*"

corpus: configure ## kernels of other compilers in the simulator; PYTHON has the packages that docs/corpus.md names
	@$(BUILD) build --target kiln -j $(JOBS)
	$(PYTHON) tests/corpus/run $(CORPUS)

scoreboard: configure ## every kernel: registers, SASS (needs ptxas); then bench/shapes.csv: measured on a Hopper GPU, else predicted (minutes)
	@$(BUILD) build --target kiln -j $(JOBS)
	@bench/scoreboard build/kiln
	@if nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null | grep -q '^9\.0'; \
	  then bench/exhaustive --kiln build/kiln --shapes bench/shapes.csv --first 56 --cublas; \
	  else bench/predicted_shapes --kiln build/kiln --cache build/shapes.json; fi

build: configure ## build everything
	$(BUILD) build -j $(JOBS)

configure: bootstrap-test
	@$(HAS_TESTS) || $(CONFIGURE) release -DKILN_BUILD_TESTS=ON -DKILN_BUILD_BENCH=ON

debug: bootstrap-test ## the tests under AddressSanitizer and UndefinedBehaviorSanitizer
	@test -f build-debug/cmake_install.cmake || $(CONFIGURE) debug
	$(BUILD) build-debug -j $(JOBS)
	$(CTEST) build-debug
	@scripts/skipped build-debug

clang: bootstrap-test ## the tests with the second compiler
	@test -f build-clang/cmake_install.cmake || $(CONFIGURE) clang
	$(BUILD) build-clang -j $(JOBS)
	$(CTEST) build-clang
	@scripts/skipped build-clang

wheel: bootstrap-test ## the wheel kiln-ptx in build/wheels, tried in a fresh environment (needs the network for pip)
	@scripts/wheel

release: bootstrap-test ## wheel, source distribution, Debian package and checksums in build/release, tried (needs the network for pip)
	$(BUILD) build -j $(JOBS)
	@scripts/release

site: bootstrap-test ## the documents as HTML with search, in build/site
	@tools/site

bench: build ## run the benchmarks
	@set -e; for program in build/bench/bench_*; do [ -x "$$program" ] || continue; "$$program" $(BENCH_ARGS); done

fuzz: bootstrap-test ## run each fuzz target for FUZZ_SECONDS (60)
	@test -f build-fuzz/cmake_install.cmake || $(CONFIGURE) fuzz
	$(BUILD) build-fuzz -j $(JOBS)
	@set -e; for program in build-fuzz/fuzz/fuzz_*; do [ -x "$$program" ] || continue; \
	  name=$${program##*/fuzz_}; seeds=tests/fuzz/seeds/$$name; corpus=build-fuzz/corpus/$$name; \
	  mkdir -p "$$corpus"; [ -d "$$seeds" ] || seeds=; \
	  echo "== $$name"; "$$program" -max_total_time=$(FUZZ_SECONDS) -artifact_prefix=build-fuzz/ "$$corpus" $$seeds; done

install-deps: ## install the Debian packages and find or fetch ptxas
	@scripts/bootstrap test

clean: ## remove every build folder
	rm -rf build build-debug build-clang build-fuzz

# Asked each time, which takes less than half a second: a build folder that was kept says nothing about this machine.
bootstrap-demo bootstrap-test: bootstrap-%:
	@scripts/bootstrap $*
