// Package policy determines from a changeset what a person should see before it is written, and which changes must
// not be written without approval. Each of them is a Hold.
//
// Review is the single list of all holds. ReviewText judges only the text of a changeset: names of files that act outside
// the box or configure the tools that judge, packages that are installed, credentials, paths that the project protects,
// and places where the text weakens a check with a suppression, a test that tests less, or a type that lets everything
// through. These weakenings are read from the lines without running anything, and counted over the whole changeset, so
// moving code is not weakening. The workspace adds the code and the configuration of the tools that judge, and the files
// that git would hide from every later run. What only a gate can tell comes from package verify, also as a Hold.
//
// The package neither believes nor executes any text. It reads any content in bounded time, and no reason shows a
// credential or characters that a terminal obeys. Whether somebody approves is up to the run.
package policy

// A Hold is a change that a person should see before it is written.
//
// Block separates the two sorts. Changes that act outside the box, on the person's machine or on a server, or that
// soften the gates, block: they are not written without approval. The others belong to everyday patches (a Makefile,
// a conftest.py, a Dockerfile) and are listed at the checkpoint.
type Hold struct {
	Path string `json:"path"`
	// One of the kinds, for example CI.
	Kind string `json:"kind"`
	// A sentence for the person who approves.
	Reason string `json:"reason"`
	// Whether the change is not written without approval.
	Block bool `json:"block"`
}

// The kinds of hold, as they appear in records and in --allow.
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

// A kind is a row in the table of all kinds.
type kind struct {
	name string
	// What is held, as a part of a sentence.
	what string
	// Whether it may be approved before a change of the kind is seen.
	inAdvance bool
}

// kinds lists all kinds: a hold of another kind is a bug in the program.
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
	// It may be what the patch is for, or the way in which the patch passes: a person knows which.
	{ChangedTest, "a test that the patch rewrote or removed, and that fails as it was", true},
	{Runner, "code of the program that reaches for what runs its tests, or ends their process", true},
	{Unproven, "code that passed and that nothing has executed: no test, no gate of your own, no program", true},
	{Idle, "a program that ends well and does less than before: it listened, ran on or printed", true},
	{Unseen, "a file that no later run and no commit has, or text that a person does not see as a machine reads it", true},
	{Protected, "a path that the project protects itself", true},
	{Self, "what judges, builds or takes back the agent itself; a person decides", false},
}

// Kinds lists the kinds that may be approved before a change of the kind is seen, in the order in which they are shown.
func Kinds() (names []string) {
	for _, k := range kinds {
		if k.inAdvance {
			names = append(names, k.name)
		}
	}
	return names
}
