# Two commands do everything on a fresh machine: `make demo` and `make test`.

GO      ?= go
AGENT   := bin/agent
GUEST   := cmd/agent/guestbin/guest
# Where `make install` puts things, and `make package` and `make release`.
PREFIX  ?= /usr/local
DIST    ?= bin/dist
# What `agent version` says beyond what the Go toolchain records by itself. Not for the guest: images are named by its bytes.
VERSION := -X main.releaseCommit=$(shell git rev-parse HEAD 2>/dev/null) -X main.releaseDate=$(shell git log -1 --format=%cI 2>/dev/null)
LDFLAGS := -s -w
STATIC  := CGO_ENABLED=0 $(GO) build -trimpath
GOFUMPT     := mvdan.cc/gofumpt@v0.9.2
STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2
# What a program in a box may try, by the names of the tests.
HOSTILE     := ^Test(ABox|ASecondBox|ASparseFile|NothingInABox|Run|Watch|CommandsOfOneBox|Fill)
DEADCODE    := golang.org/x/tools/cmd/deadcode@v0.51.0
GOTESTSUM   := gotest.tools/gotestsum@v1.13.0
GOVULNCHECK := golang.org/x/vuln/cmd/govulncheck@v1.9.0
CYCLONEDX   := github.com/CycloneDX/cyclonedx-gomod/cmd/cyclonedx-gomod@v1.10.0

# The set of real edits, and its scorer, lie beside the repository.
EDIT_SCORE ?= ../shared/tools/edit_score.py
EDIT_DEV   ?= ../shared/edit-dev/cases.jsonl.xz

.PHONY: help build setup ready engine raced demo test test-all check test-ollama test-agents test-forge test-runsc test-self test-compose battery fuzz soak picture sbom install package release test-release test-package lint bench bench-edit bench-engineer bench-verify bench-weakenings bench-real schemas clean
help: ## say what there is to make
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 14

build: ## build bin/agent, with its guest inside
	GOOS=linux $(STATIC) -ldflags '$(LDFLAGS)' -o $(GUEST) ./cmd/guest
	$(STATIC) -ldflags '$(LDFLAGS) $(VERSION)' -o $(AGENT) ./cmd/agent

setup: ready ## install and start an engine when none answers, build the images and the database
	$(AGENT) db up

# The tests have schemas of their own on the agent's Postgres, which they start; its own record stays as it is, be it that of an older
# or of a newer program.
ready: engine build ## the engine and the images, as tests need them; the machine's own record is not touched
	$(AGENT) images build

engine:
	bash images/engine.sh

# What the tests compile, before they run.
raced: build
	CGO_ENABLED=1 $(GO) build -race -ldflags -w ./...

demo: setup ## the main job, on a copy of the example workspace
	bash cmd/agent/testdata/demo.sh $(AGENT)

# What drives boxes: one package at a time, two tests of it. With two of these packages at once all of it takes a fifth longer: eight tests of
# verify took 110 s two at a time, and 134 s four at a time. The others work beside each other; those that take longest begin first.
BOXES       := ./cmd/agent ./verify ./verify/node ./verify/python ./verify/golang ./verify/smoke ./verify/repair ./images ./sandbox
LONGEST     := ./orchestrator/store ./orchestrator/run ./orchestrator/tournament ./orchestrator/crew/builder ./cmd/agent/internal/command/pr
OTHERS       = $(LONGEST) $$($(GO) list ./... | grep -vxF $(patsubst ./%,-e agent/%,$(BOXES)))

# The tests that take longest, and that have others beside them for what matters most: `make test-all` has them too.
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

# No result is taken from the cache: the engine is part of what is tested. `make lint` vets all of it, so the tests are not vetted again. No
# debugger looks at the test programs: without what one wants they link in two thirds of the time.
# With the race detector a program sleeps before it ends, a second if nobody says otherwise: 20 ms here, since many programs are started.
TESTING      = env -u AGENT_TEST_ENGINE CGO_ENABLED=1 GORACE=atexit_sleep_ms=20 $(GO) run $(GOTESTSUM) --format pkgname-and-test-fails --format-hide-empty-pkg --hide-summary skipped,output
TESTED       = -race -vet off -ldflags -w -count 1 -timeout 75m $(if $(AGENT_TEST_ALL),,-skip '^($(LONG))$$')

# What images/engine.sh starts writes its last words here.
ENGINE_LOG   = /var/log/agent-dockerd.log

# Images are made of what is fetched, so the compiler works meanwhile.
test: ## the tests, with the race detector, on the real engine and the real database
	@$(MAKE) --no-print-directory -j 2 ready raced
	@mkdir -p bin
	@code=0; before=$$(cat $(ENGINE_LOG) 2>/dev/null | wc -l); \
	$(TESTING) --jsonfile bin/others.json -- $(TESTED) -p 2 $(OTHERS) || code=$$?; \
	$(TESTING) --jsonfile bin/boxes.json -- $(TESTED) -p 1 $(BOXES) || code=$$?; \
	cat bin/others.json bin/boxes.json >bin/test.json; \
	[ $$code = 0 ] || ! [ -r $(ENGINE_LOG) ] || tail -n +$$((before + 1)) $(ENGINE_LOG) | grep -aEA 12 '^(panic|fatal error|engine: dockerd ended)|level=fatal' | tail -n 60; \
	echo 'the ten slowest tests:'; $(GO) run $(GOTESTSUM) tool slowest --jsonfile bin/test.json --num 10; exit $$code

# Where cases of one kind are many and each takes a box or a run of its own, `make test` tries every second one or fewer.
test-all: ## make test with the tests that take longest, and with every case of those that draw some
	AGENT_TEST_ALL=1 AGENT_TEST_FORGERIES=all $(MAKE) test

check: lint ## the lints, and every test that needs no engine: a look between two edits
	AGENT_TEST_ENGINE=none DOCKER_HOST=unix:///dev/null $(GO) test -vet off ./...

# Not part of `make test`: the first time it builds the server, some ten minutes.
test-ollama: ready ## the loop on a real Ollama server with a scripted model, then its replay without
	@server=$$(bash cmd/agent/testdata/ollama.sh) && \
	AGENT_OLLAMA="$$server" $(GO) test -tags ollama -run '^TestOllama' -count 1 -timeout 30m -v ./cmd/agent

# Not part of `make test`: it builds a server and asks npm.
test-forge: ## the drivers and the commands on a real Gitea (built the first time, in some five minutes) and on GitHub's own description of its API
	@mkdir -p "$${AGENT_TEST_FORGE:=$${XDG_CACHE_HOME:-$$HOME/.cache}/agent/test-forge}" && export AGENT_TEST_FORGE && \
	$(GO) test -tags forge -count 1 -timeout 60m -v ./orchestrator/forge/gitea ./orchestrator/forge/github && \
	$(GO) test -tags forge -count 1 -timeout 60m -run OnARealServer -v ./cmd/agent/internal/command/pr

# Not part of `make test`: the first time it fetches some 400 MB from npm for each agent.
test-agents: ready ## real coding agents from npm in a box, on a model that a server plays, and the official inspector as a client
	$(GO) test -tags agents -run '^(TestRealCodingAgents|TestThePlantedKeyWouldBeFound|TestTheInspectorProvesAndApplies)$$' -count 1 -timeout 60m -v ./cmd/agent

# Not part of `make test`: it names a runtime to the engine, which stays. The tests are those of what a program in a
# box can reach and use up.
test-runsc: ready ## the tests of hostile programs, in boxes that have a kernel of their own
	bash sandbox/testdata/runsc.sh
	AGENT_TEST_RUNTIME=runsc $(GO) test -count 1 -timeout 20m -run '$(HOSTILE)' ./sandbox ./sandbox/guest
	$(GO) test -tags bench -run '^TestBenchRunsc$$' -count 1 -v ./cmd/agent

# Not part of `make test`: each change goes through the whole gate.
test-self: ready ## have a stand-in of this repository rebuild itself: good and bad changes, and a kill at each step
	$(GO) test -tags self -run '^TestSelf(Rebuild|RebuildForAGoal|Kill)$$' -count 1 -timeout 30m -v ./cmd/agent

# Not part of `make test`: it builds Compose from its module, some minutes the first time.
test-compose: setup ## run compose.yaml by Docker Compose itself, and compare what the agent says there and here
	bash cmd/agent/testdata/compose.sh $(AGENT)

# Not part of `make test`, which has a few of them.
battery: setup ## hostile patches through the agent and a plain gate, side by side: docs/battery.md; BATTERY='--only NAME' are some, BATTERY='--against CMD' judges another gate
	$(GO) run ./cmd/gatetest --agent $(AGENT) $(BATTERY)

# Whatever target there is. 10s each is a look, 1h each a night and a day.
FUZZTIME ?= 10s
fuzz: ## every reader of hostile bytes against bytes that nobody thought of, FUZZTIME (10s) each; FUZZ='WORD' those of packages or names with WORD
	bash .ci/fuzz $(FUZZTIME) $(FUZZ)

PICTURE ?= --record $(AGENT)

# Some 5 minutes on two cores. Not part of `make test`: what strikes when is chance.
soak: ready ## 200 runs struck by faults at random instants, every promise checked after each; AGENT_SOAK=1000 makes more, AGENT_SOAK_SEED=N repeats
	$(GO) test -tags soak -run '^(TestASeedGivesTheSamePlan|TestEveryOracleIsSeenToFail|TestSoak)$$' -count 1 -timeout 180m -v ./cmd/agent

picture: setup ## record two runs of the example workspace in a terminal, and draw docs/run.svg; PICTURE= draws the recording that is there
	$(GO) run ./cmd/picturetest $(PICTURE)

sbom: build ## what the programs are built from, as CycloneDX, beside them: bin/agent.cdx.json and that of the guest
	cp $(GUEST) bin/guest
	bash .ci/sbom $(CYCLONEDX) bin/agent bin/guest

# It builds nothing as root: `make build`, then `sudo make install`.
install: ## install bin/agent, its completion for three shells and its manual pages below PREFIX (/usr/local); DESTDIR stages it
	@[ -x $(AGENT) ] || $(MAKE) --no-print-directory build
	bash .ci/install $(AGENT) $(AGENT) '$(DESTDIR)' '$(PREFIX)'

package: build ## a package of Debian in DIST (bin/dist)
	bash .ci/package $(AGENT) $(DIST)

release: ## reproducible archives for Linux and macOS, amd64 and arm64, with sums and SBOMs, in DIST/VERSION
	bash .ci/release $(CYCLONEDX) $(DIST)/$$(bash .ci/version)

# Not part of `make test`: it links the program four times.
test-release: ## release the last commit twice, from two directories, and compare the bytes
	bash cmd/agent/testdata/release.sh $(CYCLONEDX)

# Not part of `make test`: it makes a package of the whole program, and a further engine, which needs root.
test-package: ready package ## install the package in fresh Debian containers, make a run there on an engine of its own, remove it: nothing is left
	bash cmd/agent/testdata/package.sh "$$(ls -t $(DIST)/agent_*.deb | head -1)" "$$(docker images -q agent-base | head -1)" $(AGENT)

lint: ## formatting, static analysis, dead code, licences, known vulnerabilities (GOVULNDB names a database), shell scripts
	bash .ci/lint $(GOFUMPT) $(STATICCHECK) $(DEADCODE) $(GOVULNCHECK)

bench: setup ## one table of figures, each beside a reference of the same run; BENCH=start or another part prints its rows alone
	$(GO) test -tags bench -run '^TestBench$$/$(BENCH)' -count 1 -timeout 30m -v ./cmd/agent

bench-edit: build ## score of the edit engine on the set EDIT_DEV: applied, wrong, microseconds, refusals that teach
	@command -v python3 >/dev/null || { echo 'bench-edit: python3 is missing: install it' >&2; exit 1; }
	@for f in $(EDIT_SCORE) $(EDIT_DEV); do \
		[ -r "$$f" ] || { echo "bench-edit: $$f is missing: name it with EDIT_SCORE=FILE or EDIT_DEV=FILE" >&2; exit 1; }; done
	python3 $(EDIT_SCORE) '$(AGENT) edit --batch' $(EDIT_DEV)
	@cases=$$(mktemp) && trap 'rm -f "$$cases"' EXIT && \
	python3 -c 'import lzma, shutil, sys; shutil.copyfileobj(lzma.open(sys.argv[1]), sys.stdout.buffer)' $(EDIT_DEV) > "$$cases" && \
	AGENT_EDIT_CASES="$$cases" $(GO) test -tags bench -run '^(TestNearMissesAreShown|TestTheRecordedRefusalsTeach|TestRecordedCasesLeaveTheWorkUntouched)$$' -count 1 -v ./orchestrator/edit

bench-verify: ready ## faults and harmless edits planted in real projects; AGENT_BENCH_VERIFY_N=1 is a quick look
	$(GO) test -tags bench -run '^(TestArchiveOfAnotherDigestIsRefused|TestPlacesOfMutations|TestBenchVerify)$$' -count 1 -timeout 180m -v ./verify

bench-weakenings: ready ## tests that are weakened, also in two steps, and rewritten honestly: how many are held; AGENT_BENCH_WEAKENINGS=Go for one language
	$(GO) test -tags bench -run '^TestBenchWeakenings$$' -count 1 -timeout 60m -v ./verify

# Without MODEL scripted models. `make bench-engineer MODEL=ollama/qwen3-coder:30b` has that one do the chores, in your own record
# and with your own keys; ONLY=leap does some of them, FLAGS='--critic …' adds flags. QUICK=1
# runs no hidden test: only the fix itself counts as right then.
bench-engineer: build ready ## 60 chores with hidden tests: what is promoted of the mistakes of weak models, with and without each measure; MODEL=VENDOR/NAME for a real one
	AGENT_BENCH_MODEL='$(MODEL)' AGENT_BENCH_ONLY='$(ONLY)' AGENT_BENCH_FLAGS='$(FLAGS)' AGENT_BENCH_QUICK='$(QUICK)' AGENT_BENCH_PROGRAM='$(CURDIR)/$(AGENT)' \
	$(GO) test -tags bench -run '^TestBenchEngineer$$' -count 1 -timeout 600m -v ./cmd/agent

# Hours for all of it. AGENT_REAL_REPOS names a directory where the repositories lie, or are cloned to.
bench-real: setup ## real commits of 30 public repositories, as they were and reversed; AGENT_BENCH_REAL_N=1 is a quick look, AGENT_BENCH_REAL=NAME one repository
	$(GO) test -tags bench -run '^TestBenchReal$$' -count 1 -timeout 600m -v ./cmd/agent

schemas: ## write docs/schema from the types of what is printed with --json
	@ls docs/schema/*.json >/dev/null 2>&1 || echo '{}' > docs/schema/run.json
	$(GO) test ./cmd/agent -run '^TestSchemasAreThoseOfTheTypes$$' -count 1 -update

clean: ## remove what was built here; images and database stay
	rm -rf bin $(GUEST)
