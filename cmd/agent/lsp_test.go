package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/creachadair/jrpc2"
	"github.com/creachadair/jrpc2/channel"

	"agent/orchestrator/store/storetest"
	"agent/sandbox/enginetest"
)

// An editor opens a repository through a link. What a person saves is judged in boxes, findings appear at their lines,
// and they disappear when the code is right again.
func TestAnEditorShowsWhatTheGatesFind(t *testing.T) {
	t.Parallel()
	enginetest.Need(t)
	_, url := storetest.Warm(t)
	dir, opened := t.TempDir(), filepath.Join(t.TempDir(), "opened")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, "greet.sh"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("#!/bin/sh\necho hello\n")
	commitAll(t, dir)
	if err := os.Symlink(dir, opened); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), agentProgram, "lsp", "--settle", "200ms")
	cmd.Env, cmd.Stderr, cmd.Dir = append(os.Environ(), "AGENT_DATABASE_URL="+url), os.Stderr, t.TempDir()
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	type publication struct {
		URI         string
		Diagnostics []struct {
			Range           struct{ Start struct{ Line int } }
			Severity        int
			Source, Message string
		}
	}
	published := make(chan publication, 100)
	client := jrpc2.NewClient(channel.LSP(out, in), &jrpc2.ClientOptions{OnNotify: func(r *jrpc2.Request) {
		var p publication
		if r.Method() != "textDocument/publishDiagnostics" {
			t.Logf("%s %s", r.Method(), r.ParamString())
		} else if err := r.UnmarshalParams(&p); err != nil {
			t.Error(err)
		} else {
			published <- p
		}
	}})
	if _, err := client.Call(t.Context(), "initialize", map[string]any{"processId": os.Getpid(), "rootUri": "file://" + opened, "capabilities": map[string]any{}}); err != nil {
		t.Fatal(err)
	}
	if err := client.Notify(t.Context(), "initialized", struct{}{}); err != nil {
		t.Fatal(err)
	}
	write("#!/bin/sh\necho hello\nif true; then\n")
	p := <-published
	if p.URI != "file://"+opened+"/greet.sh" || len(p.Diagnostics) == 0 || p.Diagnostics[0].Range.Start.Line == 0 || p.Diagnostics[0].Severity != 1 || p.Diagnostics[0].Message == "" {
		t.Errorf("published %+v", p)
	}
	write("#!/bin/sh\necho hello you\n")
	if p := <-published; p.URI != "file://"+opened+"/greet.sh" || len(p.Diagnostics) != 0 {
		t.Errorf("published %+v", p)
	}
	if r, err := client.Call(t.Context(), "shutdown", nil); err != nil || r.ResultString() != "null" {
		t.Errorf("shutdown: %v", err)
	}
	if err := client.Notify(t.Context(), "exit", nil); err != nil {
		t.Error(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("it ended with %v", err)
	}
	client.Close()
}
