package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"agent/orchestrator/run"
)

// A reply is one line of a batch's output, as a program reads it.
type reply struct {
	ID    any
	OK    bool
	After string
	Err   string
	Kind  string
	US    *int64
}

// A program that waits for each answer before its next request gets it: every line is flushed. A signal ends the wait
// for the next line.
func TestABatchAnswersEachLineAtOnce(t *testing.T) {
	t.Parallel()
	cmd := exec.Command(agentProgram, "edit", "--batch")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(out)
	for _, id := range []string{"1", "2", "3"} {
		if _, err := io.WriteString(in, `{"id":`+id+`,"path":"a","before":"x\n","blocks":[["x\n","y\n"]]}`+"\n"); err != nil {
			t.Fatal(err)
		}
		line, err := lines.ReadString('\n')
		if err != nil || !strings.HasPrefix(line, `{"id":`+id+`,"ok":true,"after":"y\n"`) {
			t.Fatalf("line %s is answered by %q, %v", id, line, err)
		}
	}
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	rest, err := io.ReadAll(lines)
	if err != nil || len(rest) > 0 {
		t.Errorf("after the signal comes %q, %v", rest, err)
	}
	err = cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != run.ExitCancelled {
		t.Errorf("exit code %d (%v), want 130", code, err)
	}
}

// batch runs the requests of in, in this process.
func batch(t *testing.T, in io.Reader) []reply {
	t.Helper()
	var stdout, stderr bytes.Buffer
	exit := execute(t.Context(), []string{"edit", "--batch"}, func(string) string { return "" }, in, &stdout, &stderr)
	if exit != run.ExitDone || stderr.Len() > 0 {
		t.Fatalf("exit code %d\n%s", exit, &stderr)
	}
	var list []reply
	for d := json.NewDecoder(&stdout); ; {
		var r reply
		if err := d.Decode(&r); err == io.EOF {
			return list
		} else if err != nil {
			t.Fatal(err)
		}
		if r.US == nil || *r.US < 0 || r.OK == (r.Err != "") || r.OK == (r.Kind != "") {
			t.Errorf("an answer is not whole: %+v", r)
		}
		list = append(list, r)
	}
}

// repeated reads as n bytes of one letter.
type repeated struct {
	letter byte
	n      int
}

func (r *repeated) Read(p []byte) (int, error) {
	if r.n == 0 {
		return 0, io.EOF
	}
	n := min(len(p), r.n)
	for i := range p[:n] {
		p[i] = r.letter
	}
	r.n -= n
	return n, nil
}

// maxBatchLine is the length of the longest line of a batch, in bytes.
const maxBatchLine = 64 << 20

func TestABatchTakesLongLinesAndRefusesLongerOnes(t *testing.T) {
	t.Parallel()
	const short = `{"id":"short","path":"a","before":"x\n","blocks":[["x\n","y\n"]]}`
	big := strings.Repeat("line\\n", 1<<20)
	long := `{"id":"long","path":"a","before":"` + big + `x\n","blocks":[["x\n","y\n"]]}`
	got := batch(t, io.MultiReader(
		strings.NewReader(long+"\r\n"+short+"\n"), &repeated{'a', maxBatchLine + 1}, strings.NewReader("\n"+short+"\n"),
		&repeated{'[', maxBatchLine}, strings.NewReader("\n\n \n"+short), // the last line has no line end
	))
	if len(got) != 6 {
		t.Fatalf("%d answers, want 6", len(got))
	}
	for _, i := range []int{1, 3, 5} {
		if got[i].ID != "short" || !got[i].OK || got[i].After != "y\n" {
			t.Errorf("a short line after a long one is answered by %+v", got[i])
		}
	}
	if want := strings.ReplaceAll(big, "\\n", "\n") + "y\n"; got[0].ID != "long" || got[0].After != want {
		t.Errorf("the long line is answered with %d bytes, want %d", len(got[0].After), len(want))
	}
	if got[2].ID != nil || !strings.Contains(got[2].Err, "longer than 64 MiB") {
		t.Errorf("a line that is too long is answered by %.200s", got[2].Err)
	}
	if got[4].ID != nil || !strings.Contains(got[4].Err, "not what a batch reads") {
		t.Errorf("a line of nothing but brackets is answered by %.200s", got[4].Err)
	}
}

func TestALineThatIsNotUTF8IsNotGuessedAt(t *testing.T) {
	t.Parallel()
	got := batch(t, strings.NewReader("{\"id\":1,\"path\":\"a\",\"before\":\"\xff x\\n\",\"blocks\":[[\"x\",\"y\"]]}\n"))
	if len(got) != 1 || got[0].OK || got[0].Kind != "parse" {
		t.Errorf("it is answered by %+v", got)
	}
}
