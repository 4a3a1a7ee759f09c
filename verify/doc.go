// Package verify judges one candidate changeset: it runs the gates in
// throwaway boxes, compares what they find with what they find on the unpatched
// snapshot, and gives one verdict. It owns the gates' commands, the reading of
// their output, the baseline, the proof that a gate works, and the verdict. It
// does not make snapshots (package images), start containers (package
// sandbox), decide on paths that need approval (workspace.Changeset.Holds) or
// write to the host.
//
// # Gates
//
// In the order of a report:
//
//	format   ruff format, on touched Python files that were formatted before
//	syntax   a parser per language, on touched files; nothing is executed
//	lint     ruff check and shellcheck, over the whole workspace
//	types    mypy, over the whole workspace
//	smoke    the program starts and is watched
//	tests    pytest, every test
//
// A gate is made of checks, one for each tool: every check is run, compared
// with its own baseline, proved on its own planted faults and judged for
// itself, and the gate says what its weightiest check says. So a tool that cannot
// judge hides nothing of the others.
//
// Format, syntax, lint and types share one box, in this order, so that the
// bytes are final before a type checker's plugin, the first workspace code, can
// run. Smoke and tests run untrusted code in a box each, at the same time. What
// is promoted is the changeset that left the format gate; nothing is ever
// read back from a box in which workspace code ran, but results.
//
// # Only new trouble counts
//
// Lint, types, smoke and tests also run on the unpatched snapshot, once: the
// result is cached by snapshot, toolchain image and gate definition. A finding
// is held against the patch only when the baseline has no equal one: same rule,
// file (renames followed), message without line numbers, and source line; or
// when it stands on a line that the patch rewrote and the old text of just that
// place had it too. What cannot be judged before the patch and after it for the same
// reason is skipped with that reason. Old findings are counted, and the first 100
// of a gate are listed beside the new ones.
//
// # Configuration comes from the base revision
//
// When a patch touches the configuration of a static gate, lint and types run
// with the configuration as it was; syntax checks the new file, and lint checks
// that the tool accepts it. So a patch cannot switch off what would refuse it.
// Smoke and tests see the workspace exactly as the patch leaves it.
//
// # Fail closed
//
// A gate counts only when it has proved itself on planted faults in the same
// image: see proof.go. A tool that is missing, crashes, or whose output and
// exit status disagree is infra, which no patch is blamed for and no patch
// passes with. A test session that does not come to its own end is a failure,
// whatever its exit status says.
//
// # Boxes
//
// One call starts, the candidate's first and four at a time:
//
//	static            format, syntax, lint, types of the candidate
//	smoke, tests      one each; they wait for the formatter's bytes
//	baseline-…        the same on the unpatched snapshot, unless cached
//	proof             the planted faults, on the bare toolchain, unless cached
//
// A box is used once and closed on every path; when the context ends all are
// killed. A syntax error in a touched file ends the programs early, for they
// would only crash on it.
//
// # Verdict
//
// The candidate's verdict is that of its weightiest gate: fail, oom, timeout,
// infra, policy, pass. A certain fault comes before everything that leaves
// questions open. Infra comes before policy, because a person who is asked to
// approve must be able to rely on the rest being proved.
//
// Policy is the verdict for a patch that leaves less proved than before: it
// removes tests or skips them. Those that failed before count too.
//
// # Cache
//
// Keys name all that a row depends on, so rows never go stale:
//
//	baseline/<snapshot digest>/<toolchain image>/<definitions and configuration>/<group>
//	proof/<toolchain image>/<definitions>
//
// Only judgements are kept: what was late, out of memory or infra is tried again
// next time. After a pass the candidate's own results are kept as the baseline of
// the workspace that it becomes. A cache that does not answer makes a run slower,
// never wrong.
//
// # Limits
//
// Test code runs in pytest's own process and could forge the record of its
// results; that the tests which passed before must pass again, one by one, makes a
// forgery cost more than a false "passed". A program that behaves for as long
// as it is watched passes the smoke test.
package verify
