//go:build bench

package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"agent/images"
	"agent/orchestrator/run"
	"agent/sandbox"
	"agent/sandbox/guest"
	"agent/sandbox/workspace"
)

// A trier runs hidden tests in boxes without network, each program once.
type trier struct {
	engine *sandbox.Engine
	image  string
	mu     sync.Mutex
	known  map[string]bool
	Boxes  int
	// quick starts no box: then only the whole fix passes.
	quick bool
}

// newTrier connects to the engine.
func newTrier(t *testing.T) *trier {
	t.Helper()
	if os.Getenv("AGENT_BENCH_QUICK") != "" {
		return &trier{known: map[string]bool{}, quick: true}
	}
	program, err := os.ReadFile(os.Getenv("AGENT_GUEST"))
	if err != nil {
		t.Fatal(err)
	}
	engine, err := sandbox.Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { engine.Close() })
	tools, err := images.New(engine, program, io.Discard).Ensure(t.Context(), images.Toolchain)
	if err != nil {
		t.Fatal(err)
	}
	return &trier{engine: engine, image: tools.ID, known: map[string]bool{}}
}

// A try is a program with its hidden test.
type try struct {
	chore chore
	files map[string]string
}

// key identifies the program and the test.
func (x try) key() string {
	h := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(x.files)) {
		fmt.Fprintf(h, "%s\x00%s\x00", name, x.files[name])
	}
	fmt.Fprintf(h, "%s", x.chore.Hidden)
	return hex.EncodeToString(h.Sum(nil))
}

// all reports for each program whether it passes its hidden test. Programs without a known result share a box.
func (r *trier) all(ctx context.Context, tries []try) ([]bool, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var cs workspace.Changeset
	var script strings.Builder
	open, golang, typed := map[string]string{}, []string{}, []string{}
	put := func(name, text string) {
		cs.Changes = append(cs.Changes, workspace.Change{Op: workspace.Create, Path: name, After: []byte(text), Mode: 0o644})
	}
	for _, x := range tries {
		key := x.key()
		if r.quick {
			r.known[key] = maps.Equal(x.files, x.chore.fixed(len(x.chore.Fix)))
		}
		if _, ok := r.known[key]; ok || open[key] != "" {
			continue
		}
		dir := fmt.Sprintf("t%04d", len(open))
		open[key] = dir
		for _, name := range slices.Sorted(maps.Keys(x.files)) {
			if name != "go.mod" {
				put(path.Join(dir, name), x.files[name])
			}
		}
		put(path.Join(dir, x.chore.HiddenName), x.chore.Hidden)
		switch x.chore.Language {
		case "python":
			fmt.Fprintf(&script, "(cd %s && python3 hidden_test.py >/dev/null 2>&1) && echo pass %s\n", dir, dir)
		case "typescript":
			typed = append(typed, dir)
		case "go":
			name, _, _ := strings.Cut(x.chore.Hidden[strings.Index(x.chore.Hidden, "func ")+len("func "):], "(")
			golang = append(golang, dir+" "+name)
		}
	}
	// One compilation covers all. Its type errors are the business of the gates.
	if len(typed) > 0 {
		put("package.json", "{\"type\": \"module\"}\n")
		script.WriteString("tsc --target es2022 --module nodenext --rewriteRelativeImportExtensions --outDir out --rootDir . */src/*.ts >/dev/null 2>&1\ncp package.json out/\n")
		for _, dir := range typed {
			fmt.Fprintf(&script, "node out/%s/src/hidden.js >/dev/null 2>&1 && echo pass %s\n", dir, dir)
		}
	}
	if len(golang) > 0 {
		put("go.mod", "module small\n\ngo 1.22\n")
		put("list", strings.Join(golang, "\n")+"\n")
		script.WriteString(goScript)
	}
	if len(open) > 0 {
		out, err := r.box(ctx, cs, script.String())
		if err != nil {
			return nil, err
		}
		for key, dir := range open {
			r.known[key] = strings.Contains(out, "pass "+dir+"\n")
		}
	}
	passed := make([]bool, len(tries))
	for i, x := range tries {
		passed[i] = r.known[x.key()]
	}
	return passed, nil
}

// goScript puts all Go programs into one, linked once, except those that do not compile.
const goScript = `export GOCACHE=/work/.cache GOTMPDIR=/work GOFLAGS=-mod=mod
go build ./... 2>errors
while read -r dir name; do grep -q "^# small/$dir$" errors || echo "$dir $name"; done <list >compiled
{
	echo 'package main'
	echo 'import ("fmt"; "testing"'
	while read -r dir name; do echo "$dir \"small/$dir\""; done <compiled
	echo ')'
	echo 'func try(dir string, f func(*testing.T)) {'
	echo '	defer func() { recover() }()'
	echo '	t := new(testing.T)'
	echo '	if f(t); !t.Failed() { fmt.Println("pass", dir) }'
	echo '}'
	echo 'func main() {'
	while read -r dir name; do echo "try(\"$dir\", $dir.$name)"; done <compiled
	echo '}'
} >main.go
go run main.go
`

// box runs a script on files in its own box.
func (r *trier) box(ctx context.Context, cs workspace.Changeset, script string) (string, error) {
	slices.SortFunc(cs.Changes, func(a, b workspace.Change) int { return strings.Compare(a.Path, b.Path) })
	box, err := r.engine.Start(ctx, sandbox.Spec{Image: r.image, Run: "bench", Purpose: "hidden tests", Lease: time.Now().Add(30 * time.Minute), Limits: sandbox.Limits{Work: 1 << 30, PIDs: 1024, Memory: 3 << 30}})
	if err != nil {
		return "", err
	}
	defer box.Close()
	r.Boxes++
	if err := box.Apply(ctx, cs); err != nil {
		return "", err
	}
	began := time.Now()
	result, err := box.Run(ctx, guest.Command{Args: []string{"/bin/sh", "-c", script}, Timeout: 20 * time.Minute})
	if err == nil && result.TimedOut {
		err = fmt.Errorf("hidden tests did not end")
	}
	if took := time.Since(began); took > time.Minute {
		fmt.Printf("(%d files of programs took %.0f s in their box)\n", len(cs.Changes), took.Seconds())
	}
	return string(result.Stdout.Head) + string(result.Stdout.Tail), err
}

// fixed returns the program of a chore with the first n of its edits.
func (c chore) fixed(n int) map[string]string {
	files := maps.Clone(c.Files)
	for _, f := range c.Fix[:n] {
		files[f.File] = strings.Replace(files[f.File], f.Old, f.New, 1)
	}
	return files
}

// checkChores checks that each hidden test fails on the original program and on half of the fix, and passes on the
// whole fix. The programs that result from mistakes are tried in the same box.
func checkChores(t *testing.T, r *trier, list []chore, with []mistake) {
	t.Helper()
	var tries []try
	for _, c := range list {
		for n := range len(c.Fix) + 1 {
			tries = append(tries, try{c, c.fixed(n)})
		}
	}
	for i, m := range with {
		if m.judged != nil {
			tries = append(tries, try{list[i], m.judged(list[i])})
		}
	}
	passed, err := r.all(t.Context(), tries)
	if err != nil {
		t.Fatal(err)
	}
	at := 0
	for _, c := range list {
		for n := range len(c.Fix) + 1 {
			if got := passed[at]; got != (n == len(c.Fix)) {
				t.Errorf("%s with %d of %d edits: the hidden test passes: %v", c.Name, n, len(c.Fix), got)
			}
			at++
		}
	}
}

// TestBenchEngineer prints what share of sixty chores is promoted. Without AGENT_BENCH_MODEL, scripted models make the
// mistakes of weak models, and each measure of the questions is left out in turn. With it, that model does the chores
// on the command line, in real boxes and through every gate.
func TestBenchEngineer(t *testing.T) {
	r, list := newTrier(t), chores()
	if n := len(list); n != 60 {
		t.Fatalf("%d chores", n)
	}
	began := time.Now()
	model := os.Getenv("AGENT_BENCH_MODEL")
	var with []mistake
	if model == "" {
		with = given(list, mistakes())
	}
	checkChores(t, r, list, with)
	if t.Failed() {
		t.FailNow()
	}
	fmt.Printf("60 chores, %.0f s for the hidden tests of what is known\n\n", time.Since(began).Seconds())
	if r.quick {
		fmt.Print("QUICK: no hidden test has run; what is not the fix, byte for byte, counts as wrong\n\n")
	}
	if model != "" {
		benchModel(t, r, list, model)
		return
	}
	benchScripted(t, r, list, with)
}

// benchModel lets a real model do the chores.
func benchModel(t *testing.T, r *trier, list []chore, model string) {
	program := os.Getenv("AGENT_BENCH_PROGRAM")
	if program == "" {
		t.Fatal("AGENT_BENCH_PROGRAM names no agent: run `make bench-engineer`")
	}
	only := os.Getenv("AGENT_BENCH_ONLY")
	began, spent, done, right, wrong, tried := time.Now(), 0.0, 0, 0, 0, 0
	fmt.Println("| chore | state | hidden test | candidates | requests | tokens | cost | seconds |")
	fmt.Println("|---|---|---|--:|--:|--:|--:|--:|")
	for _, c := range list {
		if only != "" && !strings.Contains(c.Name, only) {
			continue
		}
		tried++
		dir := t.TempDir()
		for name, text := range c.Files {
			if err := os.MkdirAll(filepath.Join(dir, path.Dir(name)), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		started := time.Now()
		args := []string{"sandbox", "run", "--workspace", dir, "--goal", c.Goal, "--model", model, "--yes", "--json"}
		if more := os.Getenv("AGENT_BENCH_FLAGS"); more != "" {
			args = append(args, strings.Fields(more)...)
		}
		doc := agentRun(t, program, args)
		files := map[string]string{}
		for name := range c.fixed(0) {
			text, err := os.ReadFile(filepath.Join(dir, name))
			if err == nil {
				files[name] = string(text)
			}
		}
		hidden := "not run"
		if doc.State == run.Promoted {
			passed, err := r.all(t.Context(), []try{{c, files}})
			if err != nil {
				t.Fatal(err)
			}
			done, hidden = done+1, "fails"
			if wrong++; passed[0] {
				right, wrong, hidden = right+1, wrong-1, "passes"
			}
		}
		requests, tokens, cost := costOf(t, program, doc.Run)
		spent += cost
		fmt.Printf("| %s | %s | %s | %d | %s | %s | %.4f | %.0f |\n", c.Name, doc.State, hidden, len(doc.Candidates), requests, tokens, cost, time.Since(started).Seconds())
	}
	fmt.Printf("\n%s: %d of %d promoted, %d of them right by the hidden test and %d wrong; cost %.4f, %.0f s\n",
		model, done, tried, right, wrong, spent, time.Since(began).Seconds())
}

// benchCommand is the program as its user runs it, without the environment that the tests set for theirs.
func benchCommand(t *testing.T, program string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program, args...)
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "XDG_STATE_HOME=") && !strings.HasPrefix(v, "AGENT_GUEST=") {
			cmd.Env = append(cmd.Env, v)
		}
	}
	return cmd
}

// agentRun runs the program and reads its document.
func agentRun(t *testing.T, program string, args []string) (doc run.Document) {
	t.Helper()
	cmd := benchCommand(t, program, args...)
	var out, told bytes.Buffer
	cmd.Stdout, cmd.Stderr, cmd.Stdin = &out, &told, nil
	err := cmd.Run()
	if json.Unmarshal(out.Bytes(), &doc) != nil {
		t.Fatalf("%v\n%s", err, told.String())
	}
	return doc
}

// costOf returns the requests, tokens and cost of a run.
func costOf(t *testing.T, program, id string) (requests, tokens string, cost float64) {
	t.Helper()
	query := "select count(*), coalesce(sum(tokens_in + tokens_out), 0), coalesce(sum(cost), 0) from v_model_calls where run = '" + id + "'"
	out, err := benchCommand(t, program, "sql", "--csv", query).Output()
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	cells := strings.Split(lines[len(lines)-1], ",")
	if len(cells) == 3 {
		_, err = fmt.Sscan(cells[2], &cost)
	}
	if err != nil || len(cells) != 3 {
		t.Fatalf("%v: %s", err, out)
	}
	return cells[0], cells[1], cost
}
