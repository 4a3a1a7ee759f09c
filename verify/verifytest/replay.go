package verifytest

import (
	"context"
	"os"
	"path"
	"path/filepath"
	"slices"
	"testing"

	"agent/sandbox/guest"
	"agent/sandbox/workspace"
)

// A Replay is a box that answers each tool with what it was seen to answer. A
// tool without an answer is missing, as it is in a box whose image lost it.
type Replay struct {
	Answers map[string]guest.Result // by the name of the program or script
	Err     error                   // of every call
	Applied []workspace.Changeset
	Ran     []guest.Command
}

// Apply notes the changeset.
func (r *Replay) Apply(_ context.Context, cs workspace.Changeset) error {
	r.Applied = append(r.Applied, cs)
	return r.Err
}

// Run notes the command and gives the answer to its last argument that has one, or status 127.
func (r *Replay) Run(_ context.Context, cmd guest.Command) (guest.Result, error) {
	r.Ran = append(r.Ran, cmd)
	for _, arg := range slices.Backward(cmd.Args) {
		if res, ok := r.Answers[path.Base(arg)]; ok {
			return res, r.Err
		}
	}
	return guest.Result{Exit: 127}, r.Err
}

// Ended is a command that ended with this status and output.
func Ended(status int, stdout, stderr []byte) guest.Result {
	return guest.Result{Exit: status, Stdout: guest.Output{Head: stdout}, Stderr: guest.Output{Head: stderr}}
}

// Golden returns what a real tool wrote, kept in testdata.
func Golden(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}
