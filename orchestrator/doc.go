// Package orchestrator holds no code: it is the map of the tree, for readers who open it for the first time.
//
// The product proves a patch in a throwaway container snapshot of a workspace and writes it back only if every gate passed. Data flows
// in one direction:
//
//	patch ──► edit ──► snapshot ──► verify ──► checkpoint ──► promote ──► record
//
// What lives where:
//
//	cmd/agent                     the main program: the tree of commands, arguments, completion, exit
//	cmd/agent/internal/checkpoint     questions at a checkpoint, and the policy that answers if nobody is there
//	cmd/agent/internal/clients        the configuration files of coding agents and editors: puts the gate in and takes it out
//	cmd/agent/internal/cmdline        the command line that all commands share: streams, flags, sessions, exit codes
//	cmd/agent/internal/command/analyze    agent analyze
//	cmd/agent/internal/command/apply      agent runs apply
//	cmd/agent/internal/command/blame      agent blame
//	cmd/agent/internal/command/build      agent build
//	cmd/agent/internal/command/chat       agent chat
//	cmd/agent/internal/command/ci         agent ci
//	cmd/agent/internal/command/config     agent config
//	cmd/agent/internal/command/context    agent context
//	cmd/agent/internal/command/db         agent db: url, up, down, migrate, prune
//	cmd/agent/internal/command/doctor     agent doctor
//	cmd/agent/internal/command/edit       agent edit, including batches
//	cmd/agent/internal/command/hook       agent hook: git's pre-commit and pre-push, and the hooks of coding agents
//	cmd/agent/internal/command/images     agent images
//	cmd/agent/internal/command/initialize  agent init
//	cmd/agent/internal/command/jobs       agent jobs: list, show, pause, resume, cancel
//	cmd/agent/internal/command/keys       agent keys
//	cmd/agent/internal/command/loop       agent loop: a task file, loop after loop
//	cmd/agent/internal/command/lsp        agent lsp: the findings of the gates, in editors
//	cmd/agent/internal/command/mcp        agent mcp: the server, and its entry in the configuration of clients
//	cmd/agent/internal/command/models     agent models
//	cmd/agent/internal/command/memory     agent memory: show, edit, clear
//	cmd/agent/internal/command/plan       agent plan: make, list, show, edit, drop
//	cmd/agent/internal/command/pr         agent pr: open, review, watch, fix-ci, run
//	cmd/agent/internal/command/prompts    agent prompts: list, show, diff, edit, allow
//	cmd/agent/internal/command/proposals  agent proposals, and how a run takes up a proposal
//	cmd/agent/internal/command/prove      agent prove
//	cmd/agent/internal/command/replay     agent runs replay, export, verify, key
//	cmd/agent/internal/command/review     agent review
//	cmd/agent/internal/command/roles      agent roles
//	cmd/agent/internal/command/runs       agent runs: list, show, diff, logs, calls
//	cmd/agent/internal/command/sandbox    agent sandbox: run, loop, exec, shell, ls, gc
//	cmd/agent/internal/command/schema     agent schema
//	cmd/agent/internal/command/self       agent self: rebuild, status, rollback, list
//	cmd/agent/internal/command/serve      agent serve: jobs that people request on a forge
//	cmd/agent/internal/command/sql        agent sql
//	cmd/agent/internal/command/undo       agent undo
//	cmd/agent/internal/command/uninstall  agent uninstall
//	cmd/agent/internal/command/watch      agent watch
//	cmd/agent/internal/config     settings: flags, environment, files, defaults
//	cmd/agent/internal/config/credential  which settings are secret, and how they are shown
//	cmd/agent/internal/document   the output of commands with --json: names, versions, --jq and --template
//	cmd/agent/internal/fault      errors with an exit code and the next thing to do
//	cmd/agent/internal/page       help pages and topics, laid out for a terminal or as manual pages
//	cmd/agent/internal/proof      commits, staged changes and the working tree, proved
//	cmd/agent/internal/sarif      the findings of a run, as SARIF
//	cmd/agent/internal/term       the terminal: board, summary, diff, pager, questions
//	cmd/agent/internal/wire       assembles a session: engine, record, models, runner
//	cmd/guest                     the main program that is PID 1 in every box
//	orchestrator/gate             from a response to a verdict, without a record: freezing, candidate, judgement
//	orchestrator/gate/batch       candidates that arrive at about the same time, judged together
//	orchestrator/run              the order of a run: states, lease, checkpoint, promotion, recovery, log
//	orchestrator/exec             a change made by a user's command in a box: what the command gets, and what is taken out
//	orchestrator/exec/recipe      how a third-party program gets into a box and finds its model there: the known coding agents
//	orchestrator/gateway          a vendor's API as a program in a box sees it: the key outside, capped and recorded
//	orchestrator/tournament       a change found by models: candidates side by side, repairs, proposals
//	orchestrator/loop             iterations of runs: what to work on, the cascade, memory
//	orchestrator/loop/directive   the orders that a person left for a loop
//	orchestrator/loop/quiet       the hours in which a loop starts nothing
//	orchestrator/loop/related     what is worth reading besides the files to change
//	orchestrator/crew             plans, roles, the task graph and the integration tree; pure
//	orchestrator/crew/builder     carries out a plan: tasks side by side, landed, reviewed and delivered as one change
//	orchestrator/replay           judges a recorded run again
//	orchestrator/chat             conversations of a person with a model: questions, answers, the draft between them
//	orchestrator/report           the state of a workspace: analyzers with scores, statuses and what to do; pure
//	orchestrator/report/gather    the facts for a report: files, gates on the workspace as it is, the ledger
//	orchestrator/survey           keeps the ledger of a workspace up to date, and words what prompts say about it
//	orchestrator/export           copies of the record below .agent
//	orchestrator/edit             from a response to a changeset, or a refusal; pure
//	orchestrator/edit/problem     a fault in a block, and the refusal that reports it
//	orchestrator/edit/lex         lines, tokens, comments and strings of each language
//	orchestrator/edit/document    one file as lines, and where lines are in it
//	orchestrator/edit/align       which elements of two sequences are the same, as in a diff
//	orchestrator/edit/parse       reads the forms of a response into operations
//	orchestrator/edit/match       finds the one place that a block means, and rewrites it
//	orchestrator/edit/indent      indents new lines as the file is indented
//	orchestrator/edit/explain     why a block does not have exactly one place, and what to send instead
//	orchestrator/edit/guard       what a language says about the result: imports, definitions, syntax
//	orchestrator/edit/batch       the lines of agent edit --batch, each answered separately; pure
//	orchestrator/blame            which version introduced a line, the timeline of a file, and merging; pure
//	orchestrator/undo             works out how to take a run back underneath later edits
//	orchestrator/ledger           definitions, references and ripples of a workspace; pure
//	orchestrator/ledger/decode    the scanner's results, read from a box; pure
//	orchestrator/llm              questions to models: kinds of error, keys, fallbacks, caps
//	orchestrator/llm/wire         what the vendors share: requests, streams, status codes
//	orchestrator/llm/gemini       Gemini
//	orchestrator/llm/anthropic    Anthropic
//	orchestrator/llm/openai       OpenAI, through the Responses API
//	orchestrator/llm/compatible   any server with the Chat Completions API
//	orchestrator/llm/ollama       Ollama
//	orchestrator/llm/emulated     tools for models without tool calls of their own
//	orchestrator/llm/catalog      the windows and prices of known models
//	orchestrator/llm/vendors      the list of vendors, one row each
//	orchestrator/agent            prompts, repairs and memory of the engineer
//	orchestrator/agent/critic     what other models say about a change that passed: asked, read, merged; decides nothing
//	orchestrator/agent/conversation   a model looks around on a workbench, round by round, within caps
//	orchestrator/agent/draft      the change that it makes meanwhile, held on the host
//	orchestrator/agent/tools      what it may do there, one file per tool
//	orchestrator/agent/retrieve   which files a goal is about, by the ledger; pure
//	orchestrator/workbench        assembles a workbench for one line of candidates
//	orchestrator/forge            the host of a repository: the contract of its drivers, addresses; its history, read without trusting it
//	orchestrator/forge/gitea      the driver of Gitea and Forgejo
//	orchestrator/forge/github     the driver of GitHub
//	orchestrator/forge/gitlab     the driver of GitLab
//	orchestrator/forge/mirror     the objects of a remote repository: fetched, written out, committed to, pushed
//	orchestrator/forge/revision   commits and the index as manifests, and the difference between two as a changeset
//	orchestrator/forge/wire       HTTP to a forge: the token, limits, retries, kinds of error
//	orchestrator/forge/commit     a promotion as a commit, made with plumbing commands alone
//	orchestrator/forge/hooks      hooks of the agent in a git repository, next to existing ones
//	orchestrator/archive          a recorded run as one signed file, for another machine
//	orchestrator/store            the record in Postgres, and how runs write it
//	orchestrator/store/database   one schema of a server: connection, migration and patience
//	orchestrator/store/calls      requests to models, and when a key rests
//	orchestrator/store/knowledge  memory, cascade queue, iterations, symbols, summaries, proposals
//	orchestrator/store/history    reads the record: lists, reviews, undo, blame, replay
//	orchestrator/store/plans      plans, their tasks, and every try at one
//	orchestrator/store/bots       what people on a forge ask for: a queue of jobs
//	orchestrator/store/chats      conversations of people with models
//	orchestrator/store/query      SQL statements, run as the role that only reads
//	orchestrator/serve/bot        who may ask for work on a forge, by webhook or poll, within which limits, and the answer
//	orchestrator/serve/mcp        the gate over the Model Context Protocol: tools, resources, who approves
//	orchestrator/pull             what a pull request says: commits, body, comments and answers; what is asked about a log or a comment; pure
//	orchestrator/selfbuild        the agent's own image: its steps, journal, tags and battery
//	sandbox                       the engine, boxes, limits, reaping, the agent's own Postgres
//	sandbox/guest                 what runs inside a box, and the protocol with the host
//	sandbox/guest/names           what localhost means in a box, answered by its guest
//	sandbox/guest/process         how PID 1 supervises the other processes of a box
//	sandbox/guest/sealed          a tree in files that only its key opens: what a snapshot holds of a workspace
//	sandbox/guest/wire            frames between host and guest, and connections next to them
//	sandbox/workbench             what a command in a box shows while it runs, and what it changed, as the host takes it
//	sandbox/egress                the proxy through which a box reaches the hosts that it may reach
//	sandbox/owner                 which process owns a thing on the engine, and whether it is alive
//	sandbox/turns                 how many boxes work at the same time on a machine
//	sandbox/workspace             the user's directory: what is read from it and what may be written to it
//	sandbox/workspace/deps        manifests and lock files of packages, one reader for each notation; pure
//	sandbox/workspace/git         the one hardened runner of git; the repository around a directory, and what it ignores
//	sandbox/workspace/internal/dirfd  one directory held open, below which no link is followed
//	sandbox/workspace/lang        one row per language, and the lexer for all of them; pure
//	sandbox/workspace/lazyregexp  regular expressions that are compiled at first use; every package may import it
//	sandbox/workspace/promotion   writes a changeset to it: lock, journal, recovery
//	sandbox/workspace/secret      what looks like a credential, hiding it, and masking known ones; pure
//	sandbox/workspace/secret/disguise  credentials in pieces or in another notation; pure
//	docs/schema                   the JSON schemas of --json output, generated
//	images                        toolchain, database and snapshot images, through BuildKit
//	images/dependencies           what a workspace wants installed, from its manifests and lock files; pure
//	images/registries             where packages come from, by the user's settings
//	verify                        the gates, the baseline and the verdict
//	verify/audit                  what was not judged, and whether anything executed it
//	verify/check                  what a check receives and returns; findings
//	verify/contrary               tests of the base with other values in their assertions, which must fail; pure
//	verify/kept                   what checks found out, cached under keys that name what it depends on
//	verify/keylock                one caller at a time makes a result that several want
//	verify/compare                findings and tests with a patch, compared with those without it
//	verify/crash                  crash reports of Python, node and Go
//	verify/golang                 Go's checks
//	verify/python                 Python's checks
//	verify/python/certain         faults that mypy finds and that are certain even without types
//	verify/python/modules         which files of a workspace are modules
//	verify/python/mypyhelp        where mypy's documentation explains its codes
//	verify/python/requires        what a Python workspace asks to have installed
//	verify/node                   the checks of JavaScript and TypeScript
//	verify/node/glob              the patterns by which test runners name files
//	verify/node/listing           which files the configuration of a test runner lists
//	verify/node/npmscript         the scripts of package.json, read as lists of commands
//	verify/node/lintreport        the reports of linters that come with packages
//	verify/node/failing           which tests a command reports as failed
//	verify/node/tap               reports of the Test Anything Protocol
//	verify/node/testreport        the reports of test runners that come with packages
//	verify/near                   the test files that a patch is about; pure
//	verify/owngate                the gates that a workspace defines
//	verify/mutate                 programs with one mistake in them, by which tests are measured
//	verify/trial                  the tests before and after a patch, run on either program
//	verify/typecache              what mypy knows, carried from one box to the next
//	verify/web                    the checks of what a browser reads
//	verify/witness                the gate's own tests among those of a workspace, some of which must fail; pure
//	verify/shell                  the check of shell scripts
//	verify/syntax                 a parser for every touched file
//	verify/format                 the formatters
//	verify/repair                 what linters repair in a candidate by themselves, in boxes
//	verify/room                   how large boxes must be for a workspace; pure
//	verify/smoke                  the program, started and watched
//	verify/symbols                what files define and refer to, for the ledger
//	verify/policy                 what a person must see in a changeset before it is written
//	verify/policy/acting          the table of files that act outside the box
//	verify/policy/checker         which tools a project says that it uses, among those that suppressions address; pure
//	verify/policy/concealed       what a person does not see in a text as a machine reads it; pure
//	verify/policy/directive       the comments by which a file makes tools report less, or more; pure
//	verify/policy/named           the files that configuration names, and those run or included by files that act outside the box
//	verify/policy/runner          the table of code that reaches for what runs its tests; pure
//	verify/policy/signature       what function signatures say about types; pure
//	verify/policy/testform        how each language writes its tests; pure
//	verify/policy/unchecked       the lines by which a program makes type checkers skip code; pure
//	docs                          the topics of agent help, embedded
//	migrations                    the schema, its views and roles
//
// Packages for tests alone: cmd/agent/internal/cmdline/cmdlinetest, cmd/agent/internal/document/schematest (schemas of documents),
// cmd/agent/internal/term/termtest, cmd/gatetest (hostile patches for any gate), cmd/picturetest (the picture of the README),
// cmd/modulestest (licences of modules), cmd/systemstest (types on other systems), images/imagestest, orchestrator/forge/forgetest,
// orchestrator/llm/journaltest, orchestrator/llm/llmtest, orchestrator/run/runtest, orchestrator/store/storetest, sandbox/boxtest,
// sandbox/enginetest, sandbox/workspace/internal/treetest, sandbox/workspace/secret/secrettest, verify/checktest and verify/verifytest.
//
// A test compares this list with the folders. Imports also go in one direction; a test in cmd/agent keeps the table. dirfd, git, deps,
// lang, registries and migrations import no other package of the agent. secret, agent, lex, guard and the checks know lang; llm knows
// secret; images knows registries and dependencies, which knows deps; forge and its mirror know git; workspace knows dirfd and git;
// promotion and policy know workspace; edit knows workspace and its own subpackages, and blame knows one of these, align; sandbox knows
// guest and workspace; verify knows sandbox. On top of these stand gate, then run and survey, then tournament and replay, then loop.
// The store implements the interfaces that they declare. Only cmd sees everything. Only sandbox imports the Docker client, and only
// images imports BuildKit's.
//
// The rules for all code:
//
//  1. The host never executes workspace code or model output. Whatever executes them is in a box, which is used once and destroyed as a
//     whole. The one exception is the agent itself, rebuilt from a change that passed: see selfbuild.
//  2. The bytes that are promoted were digested before any untrusted code ran. Nothing is read back from a container in which such code
//     has run.
//  3. Everything fails closed: a missing tool, a truncated stream or an unknown state is never a pass, and is never charged to the
//     patch either.
//  4. Nothing half-done survives: whatever is killed at whatever instant, the workspace is exactly as before or exactly as after, and
//     the next command settles what is left.
//  5. The user's own edits win.
//  6. Only new trouble counts: gates are compared with their result on the unpatched snapshot.
//  7. Postgres is the record; without evidence nothing is promoted.
package orchestrator
