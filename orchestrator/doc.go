// Package orchestrator holds no code: it is the map of the tree, for whoever
// opens it for the first time.
//
// The product proves a patch in a throwaway container snapshot of a workspace
// and writes it back only when every gate passed. Data goes one way:
//
//	patch ──► edit ──► snapshot ──► verify ──► checkpoint ──► promote ──► record
//
// Where what lives:
//
//	cmd/agent                     the main: the tree of commands, arguments, completion, exit
//	cmd/agent/internal/checkpoint     questions at a checkpoint, and the policy that answers where nobody is there
//	cmd/agent/internal/clients        the configuration files of coding agents and editors: the gate put in and taken out
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
//	cmd/agent/internal/command/edit       agent edit, and its batches
//	cmd/agent/internal/command/hook       agent hook: pre-commit and pre-push of git, and the hooks of coding agents
//	cmd/agent/internal/command/images     agent images
//	cmd/agent/internal/command/initialize  agent init
//	cmd/agent/internal/command/jobs       agent jobs: list, show, pause, resume, cancel
//	cmd/agent/internal/command/keys       agent keys
//	cmd/agent/internal/command/loop       agent loop: a task file, loop after loop
//	cmd/agent/internal/command/lsp        agent lsp: what the gates find, in editors
//	cmd/agent/internal/command/mcp        agent mcp: served, and put into the configuration of clients
//	cmd/agent/internal/command/models     agent models
//	cmd/agent/internal/command/memory     agent memory: show, edit, clear
//	cmd/agent/internal/command/plan       agent plan: make, list, show, edit, drop
//	cmd/agent/internal/command/pr         agent pr: open, review, watch, fix-ci, run
//	cmd/agent/internal/command/prompts    agent prompts: list, show, diff, edit, allow
//	cmd/agent/internal/command/proposals  agent proposals, and how a run takes one up
//	cmd/agent/internal/command/prove      agent prove
//	cmd/agent/internal/command/replay     agent runs replay, export, verify, key
//	cmd/agent/internal/command/review     agent review
//	cmd/agent/internal/command/roles      agent roles
//	cmd/agent/internal/command/runs       agent runs: list, show, diff, logs, calls
//	cmd/agent/internal/command/sandbox    agent sandbox: run, loop, exec, shell, ls, gc
//	cmd/agent/internal/command/schema     agent schema
//	cmd/agent/internal/command/self       agent self: rebuild, status, rollback, list
//	cmd/agent/internal/command/serve      agent serve: jobs that people on a forge ask for
//	cmd/agent/internal/command/sql        agent sql
//	cmd/agent/internal/command/undo       agent undo
//	cmd/agent/internal/command/uninstall  agent uninstall
//	cmd/agent/internal/command/watch      agent watch
//	cmd/agent/internal/config     settings: flags, environment, files, defaults
//	cmd/agent/internal/config/credential  what of them is secret, and how it is shown
//	cmd/agent/internal/document   what commands print with --json: names, versions, --jq and --template
//	cmd/agent/internal/fault      errors with an exit code and the next thing to do
//	cmd/agent/internal/page       help pages and topics, laid out for a terminal or as manual pages
//	cmd/agent/internal/proof      commits, what is staged and the working tree, proved
//	cmd/agent/internal/sarif      what a run found, as SARIF
//	cmd/agent/internal/term       the terminal: board, summary, diff, pager, questions
//	cmd/agent/internal/wire       a session put together: engine, record, models, runner
//	cmd/guest                     the main of the program that is PID 1 in every box
//	orchestrator/gate             from a response to a verdict, without a record: freeze, candidate, judgement
//	orchestrator/gate/batch       candidates that come at the same time, judged together
//	orchestrator/run              the order of a run: states, lease, checkpoint, promotion, recovery, log
//	orchestrator/exec             a change made by a command of the user's in a box: what it gets, and what is taken out
//	orchestrator/exec/recipe      how a program of others gets into a box and finds its model there: the known coding agents
//	orchestrator/gateway          a vendor's API as a program in a box has it: the key outside, capped and recorded
//	orchestrator/tournament       a change found by models: candidates side by side, repairs, proposals
//	orchestrator/loop             iterations of runs: what to work on, the cascade, memory
//	orchestrator/loop/directive   the orders that a person left for a loop
//	orchestrator/loop/quiet       the hours in which a loop begins nothing
//	orchestrator/loop/related     what is worth reading beside the files to change
//	orchestrator/crew             plans, roles, the task graph and the integration tree; pure
//	orchestrator/crew/builder     a plan carried out: tasks side by side, landed, reviewed and delivered as one change
//	orchestrator/replay           a recorded run judged again
//	orchestrator/chat             conversations of a person with a model: questions, answers, the draft between them
//	orchestrator/report           how a workspace stands: analyzers with scores, statuses and what to do; pure
//	orchestrator/report/gather    the facts of a report: files, gates on the workspace as it is, the ledger
//	orchestrator/survey           the ledger of a workspace kept up to date, and what prompts say of it
//	orchestrator/export           copies of the record below .agent
//	orchestrator/edit             from a response to a changeset, or a refusal; pure
//	orchestrator/edit/problem     what is wrong with a block, and the refusal that says so
//	orchestrator/edit/lex         lines, tokens, comments and strings of each language
//	orchestrator/edit/document    one file in lines, and where lines stand in it
//	orchestrator/edit/align       which elements of two sequences are the same, as in a diff
//	orchestrator/edit/parse       the forms of a response, read into operations
//	orchestrator/edit/match       the one place that a block means, and its rewriting
//	orchestrator/edit/indent      how new lines are indented as the file is
//	orchestrator/edit/explain     why a block has no one place, and what to send instead
//	orchestrator/edit/guard       what a language says of the result: imports, definitions, syntax
//	orchestrator/edit/batch       the lines of agent edit --batch, each answered alone; pure
//	orchestrator/blame            which version brought a line, the timeline of a file, and merging; pure
//	orchestrator/undo             what taking a run back comes to under later edits
//	orchestrator/ledger           definitions, references and ripples of a workspace; pure
//	orchestrator/ledger/decode    what the scanner found in files, read from a box; pure
//	orchestrator/llm              questions to models: kinds of error, keys, fallbacks, caps
//	orchestrator/llm/wire         what the vendors share: requests, streams, status codes
//	orchestrator/llm/gemini       Gemini
//	orchestrator/llm/anthropic    Anthropic
//	orchestrator/llm/openai       OpenAI, by the Responses API
//	orchestrator/llm/compatible   any server of the Chat Completions API
//	orchestrator/llm/ollama       Ollama
//	orchestrator/llm/emulated     tools for models without calls of their own
//	orchestrator/llm/catalog      the windows and prices of known models
//	orchestrator/llm/vendors      the list of vendors, one row each
//	orchestrator/agent            prompts, repairs and memory of the engineer
//	orchestrator/agent/critic     what other models say of a change that passed: asked, read, merged; decides nothing
//	orchestrator/agent/conversation   a model looks around on a workbench, round by round, within caps
//	orchestrator/agent/draft      the change that it makes meanwhile, held on the host
//	orchestrator/agent/tools      what it may do there, one file a tool
//	orchestrator/agent/retrieve   which files a goal is about, by the ledger; pure
//	orchestrator/workbench        a workbench put together for one line of candidates
//	orchestrator/forge            the host of a repository: the contract of its drivers, addresses; its history, read without trusting it
//	orchestrator/forge/gitea      the driver of Gitea and Forgejo
//	orchestrator/forge/github     the driver of GitHub
//	orchestrator/forge/gitlab     the driver of GitLab
//	orchestrator/forge/mirror     the objects of a remote repository: fetched, written out, committed to, pushed
//	orchestrator/forge/revision   commits and the index as manifests, and what is between two as a changeset
//	orchestrator/forge/wire       HTTP to a forge: the token, limits, retries, kinds of error
//	orchestrator/forge/commit     a promotion as a commit, by plumbing alone
//	orchestrator/forge/hooks      hooks of the agent in a git repository, beside those that are there
//	orchestrator/archive          a recorded run as one signed file, for another machine
//	orchestrator/store            the record in Postgres, and how runs write it
//	orchestrator/store/database   one schema of a server: connected, migrated and patient
//	orchestrator/store/calls      requests to models, and when a key rests
//	orchestrator/store/knowledge  memory, cascade queue, iterations, symbols, summaries, proposals
//	orchestrator/store/history    the record read: lists, reviews, undo, blame, replay
//	orchestrator/store/plans      plans, their tasks, and every try at one
//	orchestrator/store/bots       what people on a forge ask for: a queue of jobs
//	orchestrator/store/chats      conversations of people with models
//	orchestrator/store/query      statements of SQL as the role that only reads
//	orchestrator/serve/bot        who may ask for work on a forge, by webhook or poll, within which limits, and the answer
//	orchestrator/serve/mcp        the gate by the Model Context Protocol: tools, resources, who approves
//	orchestrator/pull             what a pull request says: commits, body, comments and answers; what is asked about a log or a comment; pure
//	orchestrator/selfbuild        the agent's own image: its steps, journal, tags and battery
//	sandbox                       the engine, boxes, limits, reaping, the agent's own Postgres
//	sandbox/guest                 what runs inside a box, and the protocol with the host
//	sandbox/guest/names           what localhost is in a box, answered by its guest
//	sandbox/guest/process         how PID 1 supervises the other processes of a box
//	sandbox/guest/sealed          a tree in files that only its key opens: what a snapshot has of a workspace
//	sandbox/guest/wire            frames between host and guest, and connections beside them
//	sandbox/workbench             what a command in a box shows while it runs, and what it changed, as the host takes it
//	sandbox/egress                the proxy through which a box reaches the hosts that it may
//	sandbox/owner                 which process a thing on the engine belongs to, and whether it lives
//	sandbox/turns                 how many boxes work at the same time on a machine
//	sandbox/workspace             the user's directory: what is read from it and what may be written to it
//	sandbox/workspace/deps        manifests and lock files of packages, each notation read once; pure
//	sandbox/workspace/git         the one hardened runner of git; the repository around a directory, and what it ignores
//	sandbox/workspace/internal/dirfd  one directory held open, below which no link is followed
//	sandbox/workspace/lang        one row a language, and the lexer for all of them; pure
//	sandbox/workspace/lazyregexp  regular expressions that are compiled at their first use; every package may import it
//	sandbox/workspace/promotion   a changeset written to it: lock, journal, recovery
//	sandbox/workspace/secret      what looks like a credential, hiding it, and masking known ones; pure
//	sandbox/workspace/secret/disguise  credentials in pieces or in another notation; pure
//	docs/schema                   the JSON schemas of what is printed with --json, generated
//	images                        toolchain, database and snapshot images, through BuildKit
//	images/dependencies           what a workspace wants installed, by its manifests and lock files; pure
//	images/registries             where packages come from, by the user's settings
//	verify                        the gates, the baseline and the verdict
//	verify/audit                  what was not judged, and whether anything has executed it
//	verify/check                  what a check is given and gives; findings
//	verify/contrary               tests of the base with other values in their assertions, which must fail; pure
//	verify/kept                   what checks found out, in the cache under keys that name what it depends on
//	verify/keylock                one at a time makes what several want the result of
//	verify/compare                findings and tests with a patch against those without it
//	verify/crash                  crash reports of Python, node and Go
//	verify/golang                 Go's checks
//	verify/python                 Python's checks
//	verify/python/certain         faults that mypy finds and that are certain without types
//	verify/python/modules         files of a workspace that are modules
//	verify/python/mypyhelp        where mypy's documentation explains its codes
//	verify/python/requires        what a workspace of Python asks to have installed
//	verify/node                   those of JavaScript and TypeScript
//	verify/node/glob              the patterns by which runners of tests name files
//	verify/node/listing           which files the configuration of a runner of tests lists
//	verify/node/npmscript         the scripts of package.json, read as lists of commands
//	verify/node/lintreport        the reports of linters that packages bring
//	verify/node/failing           which tests a command says have failed
//	verify/node/tap               reports of the Test Anything Protocol
//	verify/node/testreport        the reports of runners that packages bring
//	verify/near                   the files of tests that a patch is about; pure
//	verify/owngate                the gates that a workspace defines
//	verify/mutate                 programs with one slip in them, to measure tests by
//	verify/trial                  the tests as they were and as they are, on either program
//	verify/typecache              what mypy knows, carried from one box to the next
//	verify/web                    those of what a browser reads
//	verify/witness                tests of the gate's own among those of a workspace, of which some must fail; pure
//	verify/shell                  that of shell scripts
//	verify/syntax                 a parser for every touched file
//	verify/format                 the formatters
//	verify/repair                 what linters repair by themselves of a candidate, in boxes
//	verify/room                   how large boxes must be for a workspace; pure
//	verify/smoke                  the program, started and watched
//	verify/symbols                what files define and refer to, for the ledger
//	verify/policy                 what of a changeset a person must see before it is written
//	verify/policy/acting          the table of files that act outside the box
//	verify/policy/checker         which tools a project says that it uses, of those that suppressions speak to; pure
//	verify/policy/concealed       what of a text a person does not see as a machine reads it; pure
//	verify/policy/directive       the comments by which a file has tools report less, or more; pure
//	verify/policy/named           the files that configuration names, and those that files which act outside the box run or include
//	verify/policy/runner          the table of what code does that reaches for what runs its tests; pure
//	verify/policy/signature       what the heads of functions say of types; pure
//	verify/policy/testform        how each language writes its tests; pure
//	verify/policy/unchecked       the lines by which a program has type checkers pass over code; pure
//	docs                          the topics of agent help, embedded
//	migrations                    the schema, its views and roles
//
// Packages for tests alone: cmd/agent/internal/cmdline/cmdlinetest,
// cmd/agent/internal/document/schematest (schemas of documents),
// cmd/agent/internal/term/termtest, cmd/gatetest (hostile patches for any gate),
// cmd/picturetest (the picture of the README),
// cmd/modulestest (licences of modules), cmd/systemstest (types on other systems), images/imagestest, orchestrator/forge/forgetest, orchestrator/llm/journaltest,
// orchestrator/llm/llmtest, orchestrator/run/runtest, orchestrator/store/storetest,
// sandbox/boxtest, sandbox/enginetest, sandbox/workspace/internal/treetest, sandbox/workspace/secret/secrettest,
// verify/checktest and verify/verifytest.
//
// A test compares this list with the folders. Imports go one way too, and a test
// in cmd/agent keeps the table: dirfd, git, deps, lang, registries and migrations import
// nothing of ours; secret, agent, lex, guard and the checks know lang; llm knows secret; images knows
// registries and dependencies, which knows deps; forge and its mirror know git; workspace knows dirfd and git, promotion and
// policy know workspace; edit knows workspace and the packages below it, of which blame
// knows align; sandbox knows guest and workspace; verify knows sandbox. Upon these stand
// gate, then run and survey, then tournament and replay, then loop; the store implements the
// interfaces that they declare. Only cmd sees everything. The Docker client is imported by sandbox alone and BuildKit's by images alone.
//
// The rules that everything obeys:
//
//  1. The host never executes workspace code or model output. What does is in
//     a box, which is used once and destroyed whole. The one exception is the
//     agent itself, rebuilt from a change that passed: see selfbuild.
//  2. The bytes that are promoted were digested before any untrusted code ran;
//     nothing is read back from a container in which such code has run.
//  3. Everything fails closed: a missing tool, a truncated stream or an unknown
//     state is never a pass, and is never charged to the patch either.
//  4. Nothing half-done survives: whatever is killed at whatever instant, the
//     workspace is exactly before or exactly after, and the next command
//     settles what is left.
//  5. The user's own edits win.
//  6. Only new trouble counts: gates are compared with their result on the
//     unpatched snapshot.
//  7. Postgres is the record; without evidence nothing is promoted.
package orchestrator
