// Package verify judges one candidate changeset: it runs the gates in throwaway boxes, compares what they find with
// what they find on the unpatched snapshot, and gives one verdict. It owns the table of the gates, the baseline, the
// proof that a gate works, and the verdict. The commands and the reading of what they print are those of one package a
// language, on the contract of package check, and how two findings are compared that of package compare. It does not
// make snapshots (package images), start containers (package sandbox), decide on paths that need approval (package
// policy) or write to the host.
//
// # Gates
//
// In the order of a report:
//
//	format   ruff format and gofmt, on touched files that were formatted before
//	syntax   a parser per language, on touched files; nothing is executed
//	lint     ruff check, shellcheck, biome, go vet, staticcheck, the workspace's own
//	         eslint and stylelint and the references of static pages, over the whole
//	         workspace
//	types    mypy, or the project's choice of ty and pyright, and the compilers of
//	         Go and of TypeScript, the workspace's own where it has one, over the
//	         whole workspace
//	smoke    the program starts and is watched, a server is asked; without a
//	         program, or where it is only guessed, what others may import is imported
//	tests    pytest, node --test, go test, the workspace's own vitest, jest, mocha, ava,
//	         tap, tape and uvu, every test, and what else its test scripts start
//
// Behind them come the gates that the workspace defines: see CustomGate.
//
// A gate is made of checks, one for each tool: every check is run, compared with its own baseline, proved on its own
// planted faults and judged for itself, and the gate says what its weightiest check says. So a tool that cannot judge
// hides nothing of the others.
//
// Format, syntax, lint and types share one box, in this order, so that the bytes are final before a type checker's
// plugin, the first workspace code, can run. Smoke and tests run untrusted code in a box each, at the same time. What
// is promoted is the changeset that left the format gate; nothing is ever read back from a box in which workspace code
// ran, but results. A box waits for its turn among all on the machine, the one that the others wait for before them.
//
// # Only new trouble counts
//
// Lint, types, smoke and tests also run on the unpatched snapshot, once: the result is cached by snapshot, toolchain
// image and gate definition. A finding is held against the patch only when the baseline has no equal one: same rule,
// file (renames followed), message without line numbers, and source line; or when it stands on a line that the patch
// rewrote and the old text of just that place had it too; or when it differs from one at its place, on a line that the
// patch left alone, in nothing but the types that its message names. What cannot be judged before the patch and after
// it for the same reason is skipped with that reason. Old findings are counted, and the first 100 of a gate are listed
// beside the new ones.
//
// A tool of Go sees a package only when all that it imports compiles. What it says of a package that it could not see
// before is old, but for the lines that the patch wrote; a package that it sees no more, with no finding that says
// why, is infra. Each go.mod is a module by itself, with the go.work that uses it.
//
// A few failing tests that passed before are repeated on both sides, by their names or, with the runners of JavaScript, by
// their files: with the patch one time after the other, and without it all at once, which keeps the machine busy. One that fails
// in some repeats without the patch and passes in some with it fails by chance, and is told as old; so does one that passes on both
// sides and in a second run of all tests, and executes no line that the patch writes.
//
// # Witnesses
//
// Tests run in the process of the code that they test, which could forge the record of their results. So in each whole
// run of the tests, on both sides, tests of the gate's own stand among them: drawn anew for the run, named and
// asserting like those around them, some of which must fail and some of which must pass (package witness). They are
// taken out of the results before anything counts. Where they ended as drawn without the patch and do not with it, the
// verdict is fail (forged-results): the record is not that of the tests. Where a suite itself keeps them from their
// ends, nothing is claimed, and the gate says where.
//
// Those of node's own runner stand in each file, as tests that are yet to be done inside one that passes, so that the
// exit status of a file's process stays what its own tests make it. mocha's exit status counts failures, so theirs are
// known in it. That of vitest is 1 for any fault: a reporter beside its own (vitest_faults.mjs) tells of those that
// stand in no test, and where there is another one, or nothing can be said, the tests run again without witnesses, as
// where jest has something against snapshots. Where vitest tests types, or jest has a runner other than its own, there
// are none, nor with the others.
//
// # Configuration comes from the base revision
//
// When a patch touches the configuration of a static gate, lint and types run with the configuration as it was; syntax
// checks the new file, and lint checks that the tool accepts it. So a patch cannot switch off what would refuse it.
// What a configuration is made of besides has any name: the compilers of TypeScript are asked which files theirs
// extend, before the patch and with it (check.Closure), and ruff, biome and pyright judge the candidate once more with
// all as it was that is no source to them (check.Extending). A plugin that the configuration of mypy names imports
// from a tree of the base, whatever it asks for and when (images/toolchain/run_mypy.py).
//
// What a checker of types says of a module beside which the patch puts a stub counts as well.
// Smoke and tests see the workspace exactly as the patch leaves it.
//
// # Fail closed
//
// A gate counts only when it has proved itself on planted faults in the same image: see proof.go. A tool that is
// missing, crashes, or whose output and exit status disagree is infra, which no patch is blamed for and no patch
// passes with. A test session that does not come to its own end is a failure, whatever its exit status says.
//
// # Boxes
//
// One call starts, the candidate's first and four at a time:
//
//	static            format, syntax, lint, types of the candidate
//	smoke, tests      one each; they wait for the formatter's bytes
//	unaided-tests     the tests and their helpers as before, on the patched
//	                  program; only when the patch touches either
//	predate-…         rewritten tests as they are now, on the program as it was
//	weigh-…           rewritten tests on mutants of the program, as they were and as they are now
//	contrary-…        tests that expect other values, with the patch; where they pass, without it as well
//	brought-…         lint and types under the configuration that the patch brings, where that was approved
//	bare-…            lint and types without the suppressions that the patch adds
//	eslint, stylelint the workspace's own, for their configuration is code
//	tsc               the workspace's own, for it is a package
//	gate-NAME         one for each gate of the workspace's own, the same way
//	baseline-…        the same on the unpatched snapshot, unless cached
//	proof             the planted faults, on the bare toolchain, unless cached
//
// A box is used once and closed on every path; when the context ends all are killed. When the engine goes away, or
// loses a box that nothing in it had ended, everything is judged once more in new ones. A syntax error in a touched
// file ends the programs early, for they would only crash on it.
//
// # Verdict
//
// The candidate's verdict is that of its weightiest gate: fail, oom, timeout, infra, policy, pass. A certain fault
// comes before everything that leaves questions open. Infra comes before policy, because a person who is asked to
// approve must be able to rely on the rest being proved.
//
// Policy is the verdict for a patch that leaves less proved than before: it removes tests or skips them. Those that
// failed before count too. So does a test that passes with the patch's own conftest.py, fixtures, plugins or
// configuration only, and fails on the patched program with what was there before. When the patch rewrote the test
// itself, that is no verdict but a hold: what the program is to do may have changed. The hold blocks where the test
// proves less, which is measured: it passes on the program as it was as well, or nothing stands in its place, and it
// fails as it was each time. One that fails there pins down the change, and one that lacks a name there is read by its
// text (weaker-test): these are shown, unless fewer tests pass as they were than were rewritten. A test that fails
// because what it calls has another name now is not counted. One that passes on the program as it was as well is shown
// all the same when it fails on all the mutants that it failed on before, and on all of the lines that the patch
// writes. One that is removed with all that it asserts about is shown, where the patch does nothing to the program but
// take away, and a person gave it; see trial/subject.go.
//
// A rewritten test of which the text tells nothing is measured by mutants (package mutate) when nothing speaks against the patch:
// programs with one slip in a line that the test executes and that the patch leaves alone. Where the test failed on one, as it
// was before the patch or before the last promotions, and no test in the files that the patch writes does, that is held and blocks; see
// trial/weigh.go. Mutants that do not compile and runs that come to no end count for nothing, and what cannot be measured is said.
//
// A test that passes whatever it expects says nothing (package contrary). When nothing speaks against a patch to the program,
// tests of the base run once more with other values in their assertions. What passes so with the patch, again with further
// values, and fails so without it is held (runner).
//
// A program that ends well and does less than before is held (idle): it listened or ran on, or it prints nothing or
// half as much and, as the lines say that it executes in touched files, does less than half of what it did.
//
// A suppression of one line that the patch adds blocks where a gate reports something that
// counts without it, or where that cannot be measured.
//
// # Cache
//
// Keys name all that a row depends on, so rows never go stale:
//
//	baseline/<snapshot digest>/<toolchain image>/<definitions and configuration>/<group>
//	proof/<toolchain image>/<definitions>
//	types/<workspace's place>/<toolchain image>/<definitions and configuration>
//	types/proof/<toolchain image>/<definitions>
//
// Types are no result: they are what mypy knows of the files, which it checks against their hashes (package typecache).
// Of the others only judgements are kept: what was late, out of memory or infra is tried again next time. After a pass the
// candidate's own results are kept as the baseline of the workspace that it becomes. A cache that does not answer makes a run
// slower, never wrong.
//
// # Python
//
// The whole workspace is linted and typed, since a name that is removed breaks the files that import it. What the
// project promises of itself decides what counts. The commands that its definitions run (tox, nox, continuous
// integration, Makefile, hooks before commits, the scripts of hatch, poe and pdm) are read at the base revision and
// never run.
//
// mypy is the project's promise where its configuration or such a command names it: over the files and as strictly as
// these say. Elsewhere it looks into functions without annotations too, and only faults that are certain count
// (certain.go), on the lines that the patch wrote or for what the patch changed. It takes module names from where a
// file lies. A project that configures pyright or ty and not mypy is judged by these; see Monorepos.
//
// ruff's classic default rules apply where the workspace selects none: faults, no opinions on style. A rule that is
// newer than the version of ruff which the project pins does not count.
//
// The entry point is started as a user would start it; a workspace that has none is a library, and its packages are
// imported, each in an interpreter of its own. A main guard below the top that nothing declares is a guess: it is
// looked at for 3 s, longer only where it listens, the patch touches it, or it ends on one side and not on the other.
// pytest runs every test, those of unittest in files with other names as well, with the plugins that the workspace
// names or depends on (images/toolchain/run_tests.py says which stay out). Examples in documentation are tests where a
// command of the project runs them so. Options of plugins that are not loaded are left out of the configuration's
// addopts, and this is told; a test that needs such a plugin fails by itself, before and after.
//
// Which lines are executed the interpreter tells itself (sys.monitoring), in all that tests start: see images/toolchain/trace_plan.py.
//
// Data of tests, such as a fixture that is broken on purpose, need not parse; see
// check.IsTestData. What a test or a program imports is no data.
//
// # JavaScript and TypeScript
//
// TypeScript is judged by each tsconfig.json at the base revision, JavaScript by a short list of faults that are
// certain whatever its types are. A package that is not installed is one fact for the whole workspace, and what the
// compiler says only for lack of its types is left out; see the heads of images/toolchain/typescript.cjs and
// typescript_certain.cjs. A name that nothing declares (undeclared-name) is such a fact as well: where the workspace
// had used it before, it comes from out of sight.
//
// A package that names typescript, and those inside it, are judged by the version
// that is installed for them, from 5 on: by its API, or from 7 on by its program, which
// builds a project that refers to others. Where there is none the image's judges.
//
// The runners of tests, eslint and stylelint are the workspace's own as well, as node finds them from a package.json
// that names them. Scripts of the kinds test and lint say with which options: they are read, never run. Where no
// script, hook or CI definition starts eslint, only its rules for faults that are certain count. A linter's script,
// its configuration and the files that this imports or extends come from the base, and so does a package.json whose
// eslintConfig or stylelint the patch changes. Whatever else they load of a patch as a module, or read as data for
// their configuration, they are stopped at before it runs, and have it as in the base
// (images/toolchain/config_loads.cjs): it is held. What a patch makes of scripts and of keys like jest is held. None
// of these tools can be proved on planted faults in an image that lacks them: a planted package, which reports as they
// do, proves how they are found, started and read. For the rest their reports must count what they list and fit the
// exit status, and what ran before must run again. A tool that is not installed is no verdict, but a reason. Commands
// of a test script of no known runner run in a shell in the box, each as one test by its exit status, in the words of
// the base; what makes files that tests use runs before them. What a runner collects by the configuration of the base
// is a test and no helper.
//
// Where it is asked which lines the tests executed, V8 tells it in each process and thread of node, and source maps take that
// back to the files (images/toolchain/node_lines.cjs). Tests that fail while they are measured run again without.
//
// # Monorepos
//
// Each go.mod, tsconfig.json and package.json is a root of its own, with the tools' working directory there, while
// findings and tests are told by their path in the workspace. ruff finds nested configuration itself. Packages of node
// find each other by name, through links in the snapshot (package images); where they are yet to be built,
// images/toolchain/typescript_members.cjs finds their sources.
//
// pytest is run from the top, and from each directory below with a project of its own and tests: setup.py, pytest.ini,
// or a pyproject.toml, setup.cfg or tox.ini that says more than how linters and type checkers work. What is installed,
// and fixtures, are none; neither is one without a configuration of pytest under one that has testpaths, which says
// from where all tests are run. A project imports from itself, from those around it, from the top, from those that one
// of these depends on by their place in the workspace, and from src in each. Projects of the base stay some when the
// patch takes their configuration away, and IDs do not depend on where a test is run from: so each test of before is
// missed.
//
// Types are checked from the top, and from each directory that configures mypy, pyright or ty at the base revision, by
// that one; what a checker says of files in another root is left out. pyright resolves imports through the top only
// where its configuration says so. A root that could not be judged before the patch is left out of the judgement, with
// that as the reason; the others are judged.
//
// Go's checks and these linters look only at the packages that a patch can affect: those that it touches, and all that
// depend on them by what they require, replace and import, or by a path that they name. For the others what was found
// before stands; the baseline is always that of the whole workspace. A patch of a manifest, a lock file, go.work or a
// file in no package affects all, and so does all that cannot be told for certain; see check.Family. Tests of the
// affected packages run first and the others after them, unless the configuration leaves these out: what a test finds
// out by itself while it runs, no text tells.
//
// # Dependencies
//
// What the lock files name is in the box already, in a layer below the snapshot (package images), and nothing in a box
// can fetch more. The layer is in the keys of the cache.
//
// # Limits
//
// Tests run in the process of the code that they test, which could forge the record of their results. Witnesses find
// out what forges by kind; what knows the tests that were there by name, and forges these alone, is left to the hold
// on code that reaches for what runs it (package policy/runner). Where TestMain or a hook at the end of a session
// judges a run itself, and where a runner has no witnesses, less is found out. A program that behaves for as long as
// it is watched passes the smoke test, and a server is watched for little longer than until it answers.
package verify
