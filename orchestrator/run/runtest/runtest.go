// Package runtest gives tests a workspace, a store of its own and a runner between them. Its image builder makes no images, and its
// gates say what a test wants.
package runtest

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"agent/images"
	"agent/images/dependencies"
	"agent/orchestrator/agent"
	"agent/orchestrator/run"
	"agent/orchestrator/store"
	"agent/orchestrator/store/storetest"
	"agent/orchestrator/tournament"
	"agent/verify"
)

// Frozen stands for the image builder: these tests are about the order of the phases and about what reaches the store and the host, so
// they need no image.
type Frozen struct{}

// Ensure implements gate.Snapshotter.
func (Frozen) Ensure(context.Context, string) (images.Image, error) {
	return images.Image{ID: "sha256:tools"}, nil
}

// Install implements gate.Snapshotter.
func (Frozen) Install(_ context.Context, toolchain images.Image, _ dependencies.Set) (images.Image, error) {
	return toolchain, nil
}

// Has implements gate.Snapshotter.
func (Frozen) Has(context.Context, images.Image, dependencies.Set) (bool, error) { return false, nil }

// Near implements gate.Snapshotter.
func (Frozen) Near(context.Context, images.Image, images.Tree, string, func() images.Tree) (images.Image, images.Delta, error) {
	return images.Image{}, images.Delta{}, images.ErrAbsent
}

// Snapshot implements gate.Snapshotter.
func (Frozen) Snapshot(_ context.Context, _ images.Image, tree images.Tree, _ string) (images.Image, error) {
	return images.Image{ID: "sha256:" + tree.Digest()}, nil
}

// Judge stands for the gates: it gives the report that a test needs, and may do what a user does meanwhile.
type Judge func(ctx context.Context, req verify.Request) (verify.Report, error)

// Verify implements gate.Verifier.
func (j Judge) Verify(ctx context.Context, req verify.Request, _ func(verify.Event)) (verify.Report, error) {
	return j(ctx, req)
}

// Says returns a judge whose verdict is v, with a finding in a.py unless v is a pass.
func Says(v verify.Verdict) Judge {
	return func(_ context.Context, req verify.Request) (verify.Report, error) {
		gate := verify.Gate{Name: "tests", Verdict: v, Seconds: 0.5, Detail: "as the test wants"}
		if v != verify.Pass {
			gate.Findings = []verify.Finding{{File: "a.py", Line: 1, Rule: "X1", Message: "wrong"}}
		}
		return verify.Report{Verdict: v, Gates: []verify.Gate{gate}, Changeset: req.Changeset}, nil
	}
}

// Decide answers the checkpoint.
type Decide run.Decision

// Approve implements run.Approver.
func (d Decide) Approve(context.Context, run.Proposal) (run.Answer, error) {
	return run.Answer{Decision: run.Decision(d), By: "the test"}, nil
}

// Patch sets x to two in a.py and creates the file new/b.py.
const Patch = `<EDIT file="a.py"><SEARCH>
x = 1
</SEARCH><REPLACE>
x = 2
</REPLACE></EDIT>
<EDIT file="new/b.py"><SEARCH></SEARCH><REPLACE>
y = 1
</REPLACE></EDIT>`

// A Bench is one workspace, one store and a runner between them.
type Bench struct {
	Dir    string
	DB     *store.DB
	Runner *run.Runner
	// States are the states that the watcher was told of.
	States []run.State
	// Crew finds the change of a request without a patch; nil if there is none.
	Crew func(run string, emit func(agent.Progress)) tournament.Crew
}

// Setup returns a bench whose workspace holds a.py with x = 1. j judges its candidates.
func Setup(t *testing.T, j Judge) *Bench {
	t.Helper()
	db, _ := storetest.New(t)
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	b := &Bench{Dir: dir, DB: db}
	b.Write(t, "a.py", "x = 1\n")
	var mu sync.Mutex
	log := run.NewLog(t.Context(), db, strings.TrimSpace)
	t.Cleanup(func() {
		if err := log.Close(); err != nil {
			t.Error(err)
		}
	})
	b.Runner = &run.Runner{Store: db, Log: log, Orphans: db, Past: db, Critiques: db, Images: Frozen{}, Verifier: j, Emit: func(e run.Event) {
		mu.Lock()
		defer mu.Unlock()
		if e.State != "" {
			b.States = append(b.States, e.State)
		}
	}}
	return b
}

// Write writes a file in the workspace.
func (b *Bench) Write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(b.Dir, name), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// Request returns a request to promote Patch.
func (b *Bench) Request() run.Request {
	return run.Request{Workspace: b.Dir, Patch: []byte(Patch), PatchName: "p.xml", Approver: Decide(run.Apply)}
}

// Tree returns every file of the workspace with its content.
func (b *Bench) Tree(t *testing.T) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(b.Dir, func(p string, d os.DirEntry, err error) error {
		if err != nil || p == b.Dir {
			return err
		}
		rel, _ := filepath.Rel(b.Dir, p)
		if d.IsDir() {
			files[rel+"/"] = ""
			return nil
		}
		text, err := os.ReadFile(p)
		files[rel] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// Untouched checks that the workspace is as Setup made it.
func (b *Bench) Untouched(t *testing.T) {
	t.Helper()
	if got := b.Tree(t); len(got) != 1 || got["a.py"] != "x = 1\n" {
		t.Errorf("the workspace was touched: %v", got)
	}
}

// Promoted checks that Patch was written.
func (b *Bench) Promoted(t *testing.T) {
	t.Helper()
	got := b.Tree(t)
	if len(got) != 3 || got["a.py"] != "x = 2\n" || got["new/b.py"] != "y = 1\n" {
		t.Errorf("the workspace is %v", got)
	}
}

// Ended checks the document, and that the record agrees with it.
func (b *Bench) Ended(t *testing.T, doc run.Document, state run.State, verdict verify.Verdict, exit int) {
	t.Helper()
	if doc.State != state || doc.Verdict != verdict || doc.Exit != exit {
		t.Errorf("ended %s, %s, exit %d (%+v); want %s, %s, exit %d", doc.State, doc.Verdict, doc.Exit, doc.Error, state, verdict, exit)
	}
	if (doc.Error == nil) != (exit == 0) {
		t.Errorf("exit %d with error %+v", exit, doc.Error)
	}
	if doc.Error != nil && doc.Error.Next == "" {
		t.Errorf("the error does not say what to do next: %+v", doc.Error)
	}
	open, err := b.DB.Unfinished(t.Context())
	if err != nil || len(open) != 0 {
		t.Errorf("unfinished runs %v, %v", open, err)
	}
	got, err := b.DB.Run(t.Context(), doc.Run)
	if err != nil {
		t.Fatal(err)
	}
	if got.Record.State != state {
		t.Errorf("the record says %s, the document %s", got.Record.State, state)
	}
}

// Run performs a request, with the crew if it has no patch.
func (b *Bench) Run(ctx context.Context, req run.Request) run.Document {
	return (&tournament.Runner{Runner: b.Runner, Crew: b.Crew}).Run(ctx, req)
}

// Keep is a verify.Keeper.
type Keep func(ctx context.Context) error

// Keep implements verify.Keeper.
func (k Keep) Keep(ctx context.Context) error { return k(ctx) }
