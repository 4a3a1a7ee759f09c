// Package policy reads off a changeset what a person should see before it is written,
// and which of it must not be written without approval: each such thing is a Hold.
//
// Review is the one list of them all. ReviewText judges the text of a changeset and nothing else: names of files that
// act outside the box or configure the tools that judge, packages that are installed, credentials, paths that the
// project protects itself, and places where the text makes a check weaker, by a suppression, a test that tests less,
// a type that lets everything through. The last are read off the lines, without running anything, and counted over
// the whole changeset, so that moving is no weakening. With the workspace come the code and the configuration of the
// tools that judge, and what git would hide from every later run. What only a gate can tell comes from package
// verify, as the same Hold.
//
// Nothing of a text is believed or executed, whatever it holds is read in bounded time,
// and no reason shows a credential or what a terminal obeys. Whether somebody approves is
// the business of the run.
package policy

// A Hold is a change that a person should see before it is written.
//
// Block tells the two sorts apart. Changes that act outside the box, on the person's machine or on a server, or that
// soften the gates, block: without approval they are not written. The rest belongs to everyday patches (a Makefile, a
// conftest.py, a Dockerfile) and is listed at the checkpoint.
type Hold struct {
	Path string `json:"path"`
	// One of the kinds, as CI.
	Kind string `json:"kind"`
	// A sentence for the person who approves.
	Reason string `json:"reason"`
	// Not written without approval.
	Block bool `json:"block"`
}

// The kinds of hold, as records and --allow have them.
const (
	CI           = "ci"
	Git          = "git"
	Dependencies = "dependencies"
	Tooling      = "tooling"
	Agent        = "agent"
	Secret       = "secret"
	Suppression  = "suppression"
	WeakerTest   = "weaker-test"
	WeakerType   = "weaker-type"
	ChangedTest  = "changed-test"
	Runner       = "runner"
	Unproven     = "unproven"
	Idle         = "idle"
	Unseen       = "unseen"
	Protected    = "protected"
	Self         = "self"
)

// A kind is a row of the table of all kinds.
type kind struct {
	name string
	// What is held, as a part of a sentence.
	what string
	// It may be approved before a change of the kind is seen.
	inAdvance bool
}

// kinds are all there are: a hold of another kind is a fault of the program.
var kinds = []kind{
	{CI, "what runs on a build server, with its secrets", true},
	{Git, "what git does with the repository, or who must review", true},
	{Dependencies, "what is installed, or runs on installing", true},
	{Tooling, "what configures or starts tools, on this machine or in a gate", true},
	{Agent, "the configuration of the agent itself", true},
	{Secret, "a line with a credential that was not there before", true},
	{Suppression, "a comment or attribute that keeps a tool from reporting", true},
	{WeakerTest, "a test that tests less than before", true},
	{WeakerType, "a type or a handler that lets everything through", true},
	// It may be what the patch is for, or the way in which it passes: a person knows.
	{ChangedTest, "a test that the patch rewrote or removed, and that fails as it was", true},
	{Runner, "code of the program that reaches for what runs its tests, or ends their process", true},
	{Unproven, "code that passed and that nothing has executed: no test, no gate of your own, no program", true},
	{Idle, "a program that ends well and does less than before: it listened, ran on or printed", true},
	{Unseen, "a file that no later run and no commit has, or text that a person does not see as a machine reads it", true},
	{Protected, "a path that the project protects itself", true},
	{Self, "what judges, builds or takes back the agent itself; a person decides", false},
}

// Kinds lists the kinds that may be approved before a change of the kind is seen, in the
// order in which they are shown.
func Kinds() (names []string) {
	for _, k := range kinds {
		if k.inAdvance {
			names = append(names, k.name)
		}
	}
	return names
}
