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

// A Replay is a box that answers for each tool with a recorded answer. A tool without an answer is missing, as in a
// box whose image lost it.
type Replay struct {
	Answers map[string]guest.Result // by the name of the program or script
	Err     error                   // returned by every call
	Applied []workspace.Changeset
	Ran     []guest.Command
}

// Apply records the changeset.
func (r *Replay) Apply(_ context.Context, cs workspace.Changeset) error {
	r.Applied = append(r.Applied, cs)
	return r.Err
}

// Run records the command and returns the answer to its last argument that has one, or status 127.
func (r *Replay) Run(_ context.Context, cmd guest.Command) (guest.Result, error) {
	r.Ran = append(r.Ran, cmd)
	for _, arg := range slices.Backward(cmd.Args) {
		if res, ok := r.Answers[path.Base(arg)]; ok {
			return res, r.Err
		}
	}
	return guest.Result{Exit: 127}, r.Err
}

// Ended returns the result of a command that ended with this status and output.
func Ended(status int, stdout, stderr []byte) guest.Result {
	return guest.Result{Exit: status, Stdout: guest.Output{Head: stdout}, Stderr: guest.Output{Head: stderr}}
}

// Golden returns the recorded output of a real tool from testdata.
func Golden(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}
