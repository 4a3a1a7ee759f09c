# Two commands do everything on a fresh machine: `make demo` and `make test`.

GO      ?= go
AGENT   := bin/agent
GUEST   := cmd/agent/guestbin/guest
# PREFIX is where `make install` puts things; `make package` and `make release` write to DIST.
PREFIX  ?= /usr/local
DIST    ?= bin/dist
# What `agent version` prints besides what the Go toolchain records by itself. The guest goes without: its bytes name the images.
VERSION := -X main.releaseCommit=$(shell git rev-parse HEAD 2>/dev/null) -X main.releaseDate=$(shell git log -1 --format=%cI 2>/dev/null)
LDFLAGS := -s -w
STATIC  := CGO_ENABLED=0 $(GO) build -trimpath
GOFUMPT     := mvdan.cc/gofumpt@v0.9.2
STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2
# The tests of what a program in a box may try, by their names.
HOSTILE     := ^Test(ABox|ASecondBox|ASparseFile|NothingInABox|Run|Watch|CommandsOfOneBox|Fill)
DEADCODE    := golang.org/x/tools/cmd/deadcode@v0.51.0
GOTESTSUM   := gotest.tools/gotestsum@v1.13.0
GOVULNCHECK := golang.org/x/vuln/cmd/govulncheck@v1.9.0
CYCLONEDX   := github.com/CycloneDX/cyclonedx-gomod/cmd/cyclonedx-gomod@v1.10.0

# The set of real edits and its scorer lie next to the repository.
EDIT_SCORE ?= ../shared/tools/edit_score.py
EDIT_DEV   ?= ../shared/edit-dev/cases.jsonl.xz

.PHONY: help build setup ready engine raced demo test test-all check test-ollama test-agents test-forge test-runsc test-self test-compose battery fuzz soak picture sbom install package release test-release test-package lint bench bench-edit bench-engineer bench-verify bench-weakenings bench-real schemas clean
help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 14

build: ## build bin/agent, with its guest embedded
	GOOS=linux $(STATIC) -ldflags '$(LDFLAGS)' -o $(GUEST) ./cmd/guest
	$(STATIC) -ldflags '$(LDFLAGS) $(VERSION)' -o $(AGENT) ./cmd/agent

setup: ready ## install and start an engine if none answers, build the images and bring up the database
	$(AGENT) db up

# The tests start the agent's Postgres and use schemas of their own there. The agent's own record stays as it is, whether an older or a
# newer program wrote it.
ready: engine build ## prepare the engine and the images for the tests, without touching the machine's own record
	$(AGENT) images build

engine:
	bash images/engine.sh

# Compiles what the tests need before they run.
raced: build
	CGO_ENABLED=1 $(GO) build -race -ldflags -w ./...

demo: setup ## show the main job on a copy of the example workspace
	bash cmd/agent/testdata/demo.sh $(AGENT)

# The packages that drive boxes run one at a time, with two of its tests at once. Two such packages at once make the whole a fifth longer:
# eight tests of verify took 110 s two at a time, and 134 s four at a time. The others run in parallel; those that take longest begin first.
BOXES       := ./cmd/agent ./verify ./verify/node ./verify/python ./verify/golang ./verify/smoke ./verify/repair ./images ./sandbox
LONGEST     := ./orchestrator/store ./orchestrator/run ./orchestrator/tournament ./orchestrator/crew/builder ./cmd/agent/internal/command/pr
OTHERS       = $(LONGEST) $$($(GO) list ./... | grep -vxF $(patsubst ./%,-e agent/%,$(BOXES)))

# The tests that take longest, where other tests cover what matters most. `make test` skips them; `make test-all` runs them too.
empty       :=
LONG        := $(subst $(empty) $(empty),|,$(strip \
	TestTheAgentIsBuiltFromItsWorkspaceAndRefusesAChangedGateWithoutAPerson TestAGoalOfEightTasksIsBuilt TestAHookIsKilledAtEveryPhase \
	TestALoopIsKilledInEveryPhase TestServeIsKilledWhileAJobRuns TestAnAgentInABoxIsKilledAtEveryPhase TestTenRunsAreReplayedElsewhere \
	TestKilledInEachPhaseOfAGoalNothingIsPaidForTwice TestAPlanThatIsKilledIsCarriedOn TestATaskFileThatIsKilledIsCarriedOn \
	TestAPromotionWithoutATestSaysSo TestFiveKeysTakeTurnsRestAndReturn \
	TestARewrittenTestBlocksOnlyWhereItProvesLess TestWhatALinterLoadsIsThatOfTheBase TestToolsOfTheWorkspaceJudgeIt \
	TestWhatAConfigurationNamesIsThatOfTheBase TestCompilersOfTheWorkspaceJudgeIt TestOnlyAffectedModulesAreChecked \
	TestWhatTheEngineLosesIsJudgedOnceMore TestAPluginImportsNothingOfThePatch TestMonorepoIsTypedAndLintedProjectByProject \
	TestTestsRunOnTheNodeThatAWorkspaceAsksFor TestGoWorkspacesAreJudged TestEveryToolIsMissedWhenTheImageHasLostIt \
	TestMonorepoIsTestedProjectByProject TestABoxHasWhatTheWorkspaceDependsOn \
	TestNoForgedRecordOfScriptsPasses TestOrdinarySuitesOfScriptsAreAsWithoutWitnesses TestEveryMochaIsRead \
	TestOneSourceIsOneAgentByteForByte TestWhatTheRegistryDoesNotHaveIsLeftOut TestWhatNpmRefusesIsInstalledAsTheProjectDoes \
	TestALoopIsCarriedOn \
	TestLongSuitesOfEachLanguageAreJudgedByWhatThePatchIsAbout TestThatASuiteIsLongIsRememberedForADay))

# No result comes from the cache, since the engine is part of what is tested. `make lint` vets everything, so the tests are not vetted
# again. The test programs carry no debug information, which cuts their link time to two thirds. With the race detector a program sleeps
# before it exits, for a second by default: here it is 20 ms, since the tests start many programs.
TESTING      = env -u AGENT_TEST_ENGINE CGO_ENABLED=1 GORACE=atexit_sleep_ms=20 $(GO) run $(GOTESTSUM) --format pkgname-and-test-fails --format-hide-empty-pkg --hide-summary skipped,output
TESTED       = -race -vet off -ldflags -w -count 1 -timeout 75m $(if $(AGENT_TEST_ALL),,-skip '^($(LONG))$$')

# The engine that images/engine.sh starts writes its last words here.
ENGINE_LOG   = /var/log/agent-dockerd.log

# Building the images waits for downloads, so the compiler runs meanwhile.
test: ## run the tests with the race detector, on the real engine and the real database
	@$(MAKE) --no-print-directory -j 2 ready raced
	@mkdir -p bin
	@code=0; before=$$(cat $(ENGINE_LOG) 2>/dev/null | wc -l); \
	$(TESTING) --jsonfile bin/others.json -- $(TESTED) -p 2 $(OTHERS) || code=$$?; \
	$(TESTING) --jsonfile bin/boxes.json -- $(TESTED) -p 1 $(BOXES) || code=$$?; \
	cat bin/others.json bin/boxes.json >bin/test.json; \
	[ $$code = 0 ] || ! [ -r $(ENGINE_LOG) ] || tail -n +$$((before + 1)) $(ENGINE_LOG) | grep -aEA 12 '^(panic|fatal error|engine: dockerd ended)|level=fatal' | tail -n 60; \
	echo 'the ten slowest tests:'; $(GO) run $(GOTESTSUM) tool slowest --jsonfile bin/test.json --num 10; exit $$code

# If there are many cases of one kind and each takes a box or a run of its own, `make test` tries every second one or fewer.
test-all: ## run make test with the longest tests too, and with every case of the tests that otherwise draw some
	AGENT_TEST_ALL=1 AGENT_TEST_FORGERIES=all $(MAKE) test

check: lint ## run the lints and every test that needs no engine: a quick check between two edits
	AGENT_TEST_ENGINE=none DOCKER_HOST=unix:///dev/null $(GO) test -vet off ./...

# Not part of `make test`: the first run builds the server, which takes about ten minutes.
test-ollama: ready ## run the loop on a real Ollama server with a scripted model, then replay it without the server
	@server=$$(bash cmd/agent/testdata/ollama.sh) && \
	AGENT_OLLAMA="$$server" $(GO) test -tags ollama -run '^TestOllama' -count 1 -timeout 30m -v ./cmd/agent

# Not part of `make test`: it builds a server and queries npm.
test-forge: ## test the drivers and the commands on a real Gitea (built the first time, in about five minutes) and on GitHub's own description of its API
	@mkdir -p "$${AGENT_TEST_FORGE:=$${XDG_CACHE_HOME:-$$HOME/.cache}/agent/test-forge}" && export AGENT_TEST_FORGE && \
	$(GO) test -tags forge -count 1 -timeout 60m -v ./orchestrator/forge/gitea ./orchestrator/forge/github && \
	$(GO) test -tags forge -count 1 -timeout 60m -run OnARealServer -v ./cmd/agent/internal/command/pr

# Not part of `make test`: the first run fetches about 400 MB from npm for each agent.
test-agents: ready ## test real coding agents from npm in a box, with a server that plays the model, and the official inspector as a client
	$(GO) test -tags agents -run '^(TestRealCodingAgents|TestThePlantedKeyWouldBeFound|TestTheInspectorProvesAndApplies)$$' -count 1 -timeout 60m -v ./cmd/agent

# Not part of `make test`: it registers a runtime with the engine, which stays registered. The tests cover what a program in a box can
# reach and use up.
test-runsc: ready ## run the tests of hostile programs in boxes with a kernel of their own
	bash sandbox/testdata/runsc.sh
	AGENT_TEST_RUNTIME=runsc $(GO) test -count 1 -timeout 20m -run '$(HOSTILE)' ./sandbox ./sandbox/guest
	$(GO) test -tags bench -run '^TestBenchRunsc$$' -count 1 -v ./cmd/agent

# Not part of `make test`: each change goes through the whole gate.
test-self: ready ## have a stand-in for this repository rebuild itself: good and bad changes, and a kill at each step
	$(GO) test -tags self -run '^TestSelf(Rebuild|RebuildForAGoal|Kill)$$' -count 1 -timeout 30m -v ./cmd/agent

# Not part of `make test`: it builds Compose from its module, which takes some minutes the first time.
test-compose: setup ## run compose.yaml with Docker Compose itself, and compare what the agent says there and here
	bash cmd/agent/testdata/compose.sh $(AGENT)

# Not part of `make test`, which runs a few of the patches.
battery: setup ## judge hostile patches with the agent and a plain gate, side by side: docs/battery.md; BATTERY='--only NAME' picks some, BATTERY='--against CMD' judges another gate
	$(GO) run ./cmd/gatetest --agent $(AGENT) $(BATTERY)

# Every fuzz target that there is. 10s each is a quick look, 1h each takes a night and a day.
FUZZTIME ?= 10s
fuzz: ## try random bytes on every reader of hostile bytes, FUZZTIME (10s) each; FUZZ='WORD' picks the targets with WORD in their package or name
	bash .ci/fuzz $(FUZZTIME) $(FUZZ)

PICTURE ?= --record $(AGENT)

# About 5 minutes on two cores. Not part of `make test`: chance decides which fault strikes when.
soak: ready ## make 200 runs struck by faults at random instants, and check every promise after each; AGENT_SOAK=1000 makes more, AGENT_SOAK_SEED=N repeats a plan
	$(GO) test -tags soak -run '^(TestASeedGivesTheSamePlan|TestEveryOracleIsSeenToFail|TestSoak)$$' -count 1 -timeout 180m -v ./cmd/agent

picture: setup ## record two runs of the example workspace in a terminal, and draw docs/run.svg; PICTURE= draws the existing recording
	$(GO) run ./cmd/picturetest $(PICTURE)

sbom: build ## list what the programs are built from, as CycloneDX, next to them: bin/agent.cdx.json and bin/guest.cdx.json
	cp $(GUEST) bin/guest
	bash .ci/sbom $(CYCLONEDX) bin/agent bin/guest

# To build nothing as root, run `make build`, then `sudo make install`.
install: ## install bin/agent, its completion for three shells and its manual pages below PREFIX (/usr/local); DESTDIR stages it
	@[ -x $(AGENT) ] || $(MAKE) --no-print-directory build
	bash .ci/install $(AGENT) $(AGENT) '$(DESTDIR)' '$(PREFIX)'

package: build ## make a Debian package in DIST (bin/dist)
	bash .ci/package $(AGENT) $(DIST)

release: ## make reproducible archives for Linux and macOS, amd64 and arm64, with checksums and SBOMs, in DIST/VERSION
	bash .ci/release $(CYCLONEDX) $(DIST)/$$(bash .ci/version)

# Not part of `make test`: it links the program six times.
test-release: ## release the last commit twice, from two directories, and compare the bytes
	bash cmd/agent/testdata/release.sh $(CYCLONEDX)

# Not part of `make test`: it packages the whole program and starts a second engine, which needs root.
test-package: ready package ## install the package in fresh Debian containers, make a run there on an engine of its own, remove it, and check that nothing is left
	bash cmd/agent/testdata/package.sh "$$(ls -t $(DIST)/agent_*.deb | head -1)" "$$(docker images -q agent-base | head -1)" $(AGENT)

lint: ## run the static checks: formatting, analysis, dead code, licences, known vulnerabilities (GOVULNDB names a database), shell scripts
	bash .ci/lint $(GOFUMPT) $(STATICCHECK) $(DEADCODE) $(GOVULNCHECK)

bench: setup ## print one table of figures, each next to a reference from the same run; BENCH=start or another part prints only its rows
	$(GO) test -tags bench -run '^TestBench$$/$(BENCH)' -count 1 -timeout 30m -v ./cmd/agent

bench-edit: build ## score the edit engine on the set EDIT_DEV: applied, wrong, microseconds, refusals that teach
	@command -v python3 >/dev/null || { echo 'bench-edit: python3 is missing: install it' >&2; exit 1; }
	@for f in $(EDIT_SCORE) $(EDIT_DEV); do \
		[ -r "$$f" ] || { echo "bench-edit: $$f is missing: name it with EDIT_SCORE=FILE or EDIT_DEV=FILE" >&2; exit 1; }; done
	python3 $(EDIT_SCORE) '$(AGENT) edit --batch' $(EDIT_DEV)
	@cases=$$(mktemp) && trap 'rm -f "$$cases"' EXIT && \
	python3 -c 'import lzma, shutil, sys; shutil.copyfileobj(lzma.open(sys.argv[1]), sys.stdout.buffer)' $(EDIT_DEV) > "$$cases" && \
	AGENT_EDIT_CASES="$$cases" $(GO) test -tags bench -run '^(TestNearMissesAreShown|TestTheRecordedRefusalsTeach|TestRecordedCasesLeaveTheWorkUntouched)$$' -count 1 -v ./orchestrator/edit

bench-verify: ready ## judge faults and harmless edits planted in real projects; AGENT_BENCH_VERIFY_N=1 is a quick look
	$(GO) test -tags bench -run '^(TestArchiveOfAnotherDigestIsRefused|TestPlacesOfMutations|TestBenchVerify)$$' -count 1 -timeout 180m -v ./verify

bench-weakenings: ready ## count how many weakened tests, some in two steps, and honestly rewritten tests are held; AGENT_BENCH_WEAKENINGS=Go picks one language
	$(GO) test -tags bench -run '^TestBenchWeakenings$$' -count 1 -timeout 60m -v ./verify

# Without MODEL, scripted models do the chores. With `make bench-engineer MODEL=ollama/qwen3-coder:30b` that model does them, in your own
# record and with your own keys. ONLY=leap picks some of them, and FLAGS='--critic …' adds flags. QUICK=1 runs no hidden test: then only
# the fix itself counts as right.
bench-engineer: build ready ## run 60 chores with hidden tests and count the mistakes of weak models that are promoted, with and without each measure; MODEL=VENDOR/NAME takes a real model
	AGENT_BENCH_MODEL='$(MODEL)' AGENT_BENCH_ONLY='$(ONLY)' AGENT_BENCH_FLAGS='$(FLAGS)' AGENT_BENCH_QUICK='$(QUICK)' AGENT_BENCH_PROGRAM='$(CURDIR)/$(AGENT)' \
	$(GO) test -tags bench -run '^TestBenchEngineer$$' -count 1 -timeout 600m -v ./cmd/agent

# The whole set takes hours. AGENT_REAL_REPOS names the directory that holds the repositories, or that they are cloned to.
bench-real: setup ## judge real commits of 30 public repositories, as they were and reversed; AGENT_BENCH_REAL_N=1 is a quick look, AGENT_BENCH_REAL=NAME picks one repository
	$(GO) test -tags bench -run '^TestBenchReal$$' -count 1 -timeout 600m -v ./cmd/agent

schemas: ## write docs/schema from the types that --json prints
	@ls docs/schema/*.json >/dev/null 2>&1 || echo '{}' > docs/schema/run.json
	$(GO) test ./cmd/agent -run '^TestSchemasAreThoseOfTheTypes$$' -count 1 -update

clean: ## remove what was built here; the images and the database stay
	rm -rf bin $(GUEST)
