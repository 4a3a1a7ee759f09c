// Package verify judges one candidate changeset: it runs the gates in throwaway boxes, compares their findings with those on the
// unpatched snapshot, and gives one verdict. It owns the table of the gates, the baseline, the proof that a gate works, and the
// verdict. One package for each language owns the commands and reads their output, under the contract of package check; package
// compare decides whether two findings are equal. Package verify does not make snapshots (package images), start containers
// (package sandbox), decide which paths need approval (package policy) or write to the host.
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
//	         Go and of TypeScript, the workspace's own if it has one, over the
//	         whole workspace
//	smoke    the program is started and watched, a server is sent a request; without
//	         a program, or if it is only guessed, importable packages are imported
//	tests    pytest, node --test, go test, the workspace's own vitest, jest, mocha, ava,
//	         tap, tape and uvu, every test, and what else its test scripts start
//
// The gates that the workspace defines come after them: see CustomGate.
//
// A gate is made of checks, one for each tool. Every check is run, compared with its own baseline, proved on its own planted
// faults and judged by itself; the gate has the weightiest verdict of its checks. A tool that cannot judge therefore hides no
// result of the others.
//
// Format, syntax, lint and types share one box, in this order, so that the bytes are final before a type checker's plugin, the
// first workspace code, can run. Smoke and tests run untrusted code, each in its own box, at the same time. The changeset that
// left the format gate is what is promoted; nothing but results is ever read back from a box in which workspace code ran. A box
// waits for its turn among all boxes on the machine; the box that others wait for comes first.
//
// # Only new trouble counts
//
// Lint, types, smoke and tests also run once on the unpatched snapshot; the cache keeps the result by snapshot, toolchain image
// and gate definition. A finding counts against the patch only if the baseline has no equal one. Findings are equal if rule, file
// (renames followed), message without line numbers, and source line are equal. A finding on a line that the patch rewrote is also
// old if the old text of exactly that place had it. On a line that the patch left alone, it is old if the one at its place
// differs only in the types that its message names. What cannot be judged before and after the patch, for the same reason, is
// skipped with that reason. Old findings are counted; the first 100 of a gate are listed next to the new ones.
//
// A Go tool sees a package only if all its imports compile. Findings in a package that the tool could not see before are old,
// except on lines that the patch wrote. A package that it no longer sees is infra if no finding says why. Each go.mod is its own
// module, with the go.work that uses it.
//
// If a few tests fail that passed before, they are repeated on both sides: by name or, with JavaScript runners, by file. The
// repeats with the patch run one after the other, those without it all at once, which keeps the machine busy. A test is flaky,
// and reported as old, if it fails in some repeats without the patch and passes in some with it. So is a test that passes on both
// sides and in a second run of all tests, and executes no line that the patch writes.
//
// # Witnesses
//
// Tests run in the process of the code that they test, which could forge the record of their results. Each whole run of the
// tests, on either side, therefore includes witnesses: the gate's own tests, drawn anew for the run, with names and assertions
// like those around them. Some must fail and some must pass (package witness). They are removed from the results before anything
// counts. If they ended as drawn without the patch and not with it, the verdict is fail (forged-results): the record is not that
// of the tests. If a suite itself keeps them from ending as drawn, nothing is claimed, and the gate says where.
//
// For node's own runner each file has witnesses, as todo tests inside a passing test, so that its own tests alone decide the exit
// status of its process. mocha's exit status counts failures, so the share of the witnesses in it is known. vitest's is 1 for any
// fault: an extra reporter (vitest_faults.mjs) reports those outside of tests. If there is such a fault, or that cannot be
// determined, the tests run again without witnesses; so do jest's if it objects to snapshots. There are no witnesses if vitest
// tests types or jest has a foreign runner, nor with the other runners.
//
// # Configuration comes from the base revision
//
// If a patch touches the configuration of a static gate, lint and types run with the old configuration; syntax checks the new
// file, and lint checks that the tool accepts it. A patch thus cannot switch off what would reject it. Other files that a
// configuration consists of may have any name. The TypeScript compilers are asked which files theirs extend, before the patch and
// with it (check.Closure). ruff, biome and pyright judge the candidate a second time, with every file that is not a source to
// them as it was (check.Extending). A plugin in mypy's configuration imports from a tree of the base, whatever it asks for and
// when (images/toolchain/run_mypy.py).
//
// If a patch adds a stub next to a module, what a type checker says about the module without the stub counts as well. Smoke and
// tests see the workspace exactly as the patch leaves it.
//
// # Fail closed
//
// A gate counts only if it has proved itself on planted faults in the same image: see proof.go. A tool that is missing or
// crashes, or whose output and exit status disagree, is infra: no patch is blamed for it, and none passes with it. A test session
// that does not come to its own end is a failure, whatever its exit status.
//
// # Boxes
//
// One call starts these boxes, the candidate's first and four at a time:
//
//	static            format, syntax, lint, types of the candidate
//	smoke, tests      one each; they wait for the formatter's bytes
//	unaided-tests     the tests and their helpers as before, on the patched
//	                  program; only if the patch touches either
//	predate-…         rewritten tests as they are now, on the program as it was
//	weigh-…           rewritten tests on mutants of the program, as they were and as they are now
//	contrary-…        tests that expect other values, with the patch; if they pass, without it as well
//	brought-…         lint and types under the configuration that the patch brings, if that was approved
//	bare-…            lint and types without the suppressions that the patch adds
//	eslint, stylelint the workspace's own, since their configuration is code
//	tsc               the workspace's own, since it is a package
//	gate-NAME         one for each gate of the workspace's own, in the same way
//	baseline-…        the same on the unpatched snapshot, unless cached
//	proof             the planted faults, on the bare toolchain, unless cached
//
// A box is used once and closed on every path; when the context ends, all are killed. If the engine goes away, or loses a box
// that nothing in it had ended, everything is judged once more in new boxes. A syntax error in a touched file ends the programs
// early, since they would only crash on it.
//
// # Verdict
//
// The candidate's verdict is that of its weightiest gate, in this order: fail, oom, timeout, infra, policy, pass. A certain fault
// comes before everything that leaves questions open. Infra comes before policy, because a person who is asked to approve must be
// able to rely on the rest being proved.
//
// Policy is the verdict for a patch that leaves less proved than before: it removes or skips tests, including tests that failed
// before. It also applies to a test that passes only with the patch's own conftest.py, fixtures, plugins or configuration, and
// fails on the patched program with the previous ones. If the patch rewrote the test itself, that is a hold and not a verdict:
// what the program is to do may have changed. The hold blocks if the test is measured to prove less: it also passes on the old
// program, or nothing replaces it, and its old form fails every time. A rewritten test that fails on the old program pins down
// the change; one that lacks a name there is judged by its text (weaker-test). These holds are merely shown, unless fewer tests
// pass in their old form than were rewritten. A test that fails because what it calls was renamed is not counted. A test that
// also passes on the old program is merely shown if it fails on all mutants that it failed on before, and on all lines that the
// patch writes. A test that is removed with everything that it asserts about is merely shown if the patch does nothing to the
// program but remove, and a person gave it; see trial/subject.go.
//
// If the text of a rewritten test is inconclusive and nothing counts against the patch, mutants measure the test (package
// mutate): programs with one slip in a line that the test executes and the patch leaves alone. If the test failed on a mutant in
// its form before the patch or before the last promotions, and no test in the files that the patch writes does, that is held and
// blocks; see trial/weigh.go. Mutants that do not compile and runs that do not end count for nothing; what cannot be measured is
// reported.
//
// A test that passes whatever it expects says nothing (package contrary). If nothing counts against a patch to the program, tests
// of the base run once more with other values in their assertions. If one passes that way with the patch, again with further
// values, and fails without the patch, the patch is held (runner).
//
// A program that ends well and does less than before is held (idle). It used to listen, or it ran on and now ends at once. Or it
// prints less than half as much and executes fewer than half as many lines of the touched files. If it prints nothing, it is
// enough that it keeps fewer than half of those lines, loses an unchanged one, or was not measured.
//
// A suppression of one line that the patch adds blocks if without it a gate reports something that counts, or if that cannot be
// measured.
//
// # Cache
//
// Keys name everything that a row depends on, so rows never go stale:
//
//	baseline/<snapshot digest>/<toolchain image>/<definitions and configuration>/<group>
//	proof/<toolchain image>/<definitions>
//	types/<workspace's place>/<toolchain image>/<definitions and configuration>
//	types/proof/<toolchain image>/<definitions>
//
// Types rows are not results: they are what mypy knows about the files, which it checks against their hashes (package typecache).
// Of the others only judgements are kept: what was late, out of memory or infra is tried again next time. After a pass the
// candidate's own results are kept as the baseline of the workspace that it becomes. A cache that does not answer makes a run
// slower, never wrong.
//
// # Python
//
// The whole workspace is linted and typed, since removing a name breaks the files that import it. What the project promises
// decides what counts. The commands in its definitions (tox, nox, continuous integration, Makefile, hooks before commits, the
// scripts of hatch, poe and pdm) are read at the base revision and never run.
//
// mypy is a promise of the project if its configuration or such a command names it: over the files and as strictly as they say.
// Otherwise mypy also looks into functions without annotations, and only certain faults count (python/certain), on the lines that
// the patch wrote or because of what it changed. mypy takes module names from the location of a file. A project that configures
// pyright or ty and not mypy is judged by these; see Monorepos.
//
// ruff's classic default rules apply if the workspace selects none: faults, not opinions on style. A rule that is newer than the
// version of ruff that the project pins does not count.
//
// The entry point is started as a user would start it. A workspace without one is a library: each of its packages is imported in
// its own interpreter. A main guard below the top that nothing declares is a guess: it is watched for 3 s, and longer only if it
// listens, the patch touches it, or it ends on one side and not on the other.
//
// pytest runs every test, including unittest tests in files with other names, with the plugins that the workspace names or
// depends on (images/toolchain/run_tests.py says which are excluded). Examples in documentation are tests if a command of the
// project runs them as tests. Options of plugins that are not loaded are removed from the configuration's addopts, and this is
// reported; a test that needs such a plugin fails by itself, before and after.
//
// The interpreter itself reports which lines are executed (sys.monitoring), in everything that tests start: see
// images/toolchain/trace_plan.py.
//
// Test data, such as a deliberately broken fixture, need not parse; see check.IsTestData. What a test or a program imports is not
// data.
//
// # JavaScript and TypeScript
//
// TypeScript is judged by each tsconfig.json at the base revision, JavaScript by a short list of faults that are certain whatever
// its types are. A package that is not installed is one fact for the whole workspace, and compiler errors that are only due to
// its missing types are dropped; see the heads of images/toolchain/typescript.cjs and typescript_certain.cjs. An undeclared name
// (undeclared-name) is also such a fact: if the workspace used it before, it comes from out of sight.
//
// A package that names typescript, and the packages inside it, are judged by the version installed for them, from 4 on: versions
// 5 and 6 by their API, 4 and from 7 on by their program, which builds a project that refers to others. Where none is
// installed, the image's compiler judges.
//
// The test runners, eslint and stylelint are also the workspace's own, as node finds them from a package.json that names them.
// Its test and lint scripts say with which options: they are read, never run. If no script, hook or CI definition starts eslint,
// only its rules for certain faults count. A linter's script, its configuration and the files that this imports or extends come
// from the base, and so does a package.json whose eslintConfig or stylelint the patch changes. If they would load any other file
// of a patch as a module, or read one as data for their configuration, they are stopped before it runs and get the base's
// (images/toolchain/config_loads.cjs): that file is held. Changes to scripts and to keys like jest are also held.
//
// None of these tools can be proved on planted faults in an image that lacks them. A planted package that reports as they do
// proves how they are found, started and read. Beyond that, the counts in their reports must match the lists and the exit status,
// and what ran before must run again. A tool that is not installed is a reason, not a verdict. Commands of a test script that use
// no known runner run in a shell in the box, each as one test by its exit status, as worded in the base; commands that make files
// for tests run before them. What a runner collects under the configuration of the base is a test and not a helper.
//
// If executed lines are asked for, V8 reports them in each process and thread of node, and source maps translate them to the
// files (images/toolchain/node_lines.cjs). Tests that fail while they are measured run again without measurement.
//
// # Monorepos
//
// Each go.mod, tsconfig.json and package.json marks a root of its own, which is the tools' working directory there; findings and
// tests are reported by their path in the workspace. ruff finds nested configuration itself. node packages find each other by
// name, through links in the snapshot (package images); if they are yet to be built, images/toolchain/typescript_members.cjs
// finds their sources.
//
// pytest is run from the top, and from each directory below it that has tests and a project of its own: setup.py, pytest.ini, or
// a pyproject.toml, setup.cfg or tox.ini that says more than how linters and type checkers work. Installed packages and fixtures
// are not projects; neither is a directory without pytest configuration below one with testpaths, which says from where all tests
// are run. A project imports from itself, the projects around it, the top, the projects that any of these depends on by their
// place in the workspace, and src in each. Projects of the base remain projects if the patch removes their configuration, and IDs
// do not depend on where a test is run from, so an earlier test that no longer runs is always reported.
//
// Types are checked from the top, and from each directory that configures mypy, pyright or ty at the base revision, by that one;
// its findings in files of another root are dropped. pyright resolves imports through the top only if its configuration says so.
// A root that could not be judged before the patch is left out of the judgement, with that as the reason; the others are judged.
//
// Go's checks and these linters examine only the packages that a patch can affect: those that it touches, and all that depend on
// them by what they require, replace and import, or by a path that they name. For the others the earlier results stand; the
// baseline always covers the whole workspace. A patch to a manifest, a lock file, go.work or a file in no package affects all
// packages, and so does everything that cannot be determined for certain; see check.Family. Tests of the affected packages run
// first and the others after them, unless the configuration leaves these out: no text shows what a test looks up while it runs.
//
// # Dependencies
//
// The packages that the lock files name are already in the box, in a layer below the snapshot (package images), and nothing in a
// box can fetch more. The layer is part of the cache keys.
//
// # Limits
//
// Tests run in the process of the code that they test, which could forge the record of their results. Witnesses detect code that
// forges by kind. Code that knows the existing tests by name and forges only these is left to the hold on code that reaches for
// what runs it (package policy/runner). If TestMain or a hook at the end of a session itself judges a run, or if a runner has no
// witnesses, less is detected. A program that behaves while it is watched passes the smoke test, and a server is watched for
// little longer than until it answers.
package verify
