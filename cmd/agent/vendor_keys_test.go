package main

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"

	"agent/cmd/agent/internal/config"
	"agent/cmd/agent/internal/wire"
	"agent/images"
	"agent/orchestrator/llm"
	"agent/orchestrator/llm/vendors"
	"agent/orchestrator/run"
	"agent/orchestrator/store/storetest"
)

// A telltale tries to enter all secrets in the log when it is asked, and approves nothing.
type telltale []string

func (secrets telltale) Approve(ctx context.Context, _ run.Proposal) (run.Answer, error) {
	for _, s := range secrets {
		run.Enter(ctx, run.Entry{Kind: run.ApprovalEntry, Actor: "telltale", Subject: s, Detail: map[string]any{"said": "it is " + s}})
	}
	return run.Answer{}, nil
}

// Each vendor setting that holds a secret is masked because of its row, even that of a future vendor: no log, document
// or row of the record contains it.
func TestSecretsOfEveryVendorAreMasked(t *testing.T) {
	t.Parallel()
	rows := append(vendors.All(), llm.Vendor{Name: "third", Title: "Third", Settings: []llm.Setting{
		{Kind: llm.KeyList, Name: "keys", Env: "THIRD_API_KEYS"}, {Kind: llm.Address, Name: "base_url", Env: "THIRD_BASE_URL"},
	}})
	_, database := storetest.Warm(t)
	env := map[string]string{"XDG_CONFIG_HOME": t.TempDir(), "AGENT_DATABASE_URL": database, "AGENT_RECORD_FILES": "false"}
	var secrets, marks []string
	plant := func(v llm.Vendor, s llm.Setting, form, mark string) {
		secret := fmt.Sprintf("%s-%s-q7Rk2vXm9TbL4wZp8NcY", v.Name, s.Name)
		env[strings.Fields(s.Env)[0]] = fmt.Sprintf(form, secret)
		if mark == "" {
			mark = llm.NewKey(secret).ID
		}
		secrets, marks = append(secrets, secret), append(marks, "[key "+mark+"]")
	}
	for _, v := range rows {
		for _, s := range v.Settings {
			switch s.Kind {
			case llm.KeyList:
				plant(v, s, "%s", "")
			case llm.Address:
				plant(v, s, "http://me:%s@127.0.0.1:1", "password of "+v.Name+"."+s.Name)
			}
		}
	}
	getenv := func(name string) string { return env[name] }
	dir, set := t.TempDir(), config.Settings(nil)
	app := &cli.App{HideHelp: true, HideVersion: true, Action: func(ctx *cli.Context) (err error) {
		set, err = config.LoadFor(rows, ctx, getenv)
		return err
	}}
	if err := app.RunContext(t.Context(), []string{"agent"}); err != nil {
		t.Fatal(err)
	}
	for name := range set {
		silent(t, "agent config", set.Shown(name), secrets)
	}

	// The test fails before and after the patch, and prints everything.
	writeFiles(t, dir, map[string]string{
		"limit.py":     "LIMIT = 3\n",
		"test_told.py": fmt.Sprintf("import limit\n\n\ndef test_told():\n    print(%q)\n    assert limit.LIMIT > 4, %q\n", strings.Join(secrets, " "), strings.Join(secrets, "\n")),
	})
	s, err := wire.Open(t.Context(), wire.Host{Guest: func() ([]byte, error) { return os.ReadFile(os.Getenv("AGENT_GUEST")) }, Getenv: getenv, Stderr: io.Discard}, set, true)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Builder.Ensure(t.Context(), images.Toolchain); err != nil {
		s.Close()
		t.Fatal(err)
	}
	doc := s.Runner(func(run.Event) {}).Run(t.Context(), run.Request{
		Workspace: dir, Patch: []byte(block("limit.py", "LIMIT = 3", "LIMIT = 4")), PatchName: "-", Approver: telltale(secrets),
	})
	text, err := json.Marshal(doc)
	if err != nil {
		t.Error(err)
	}
	document := string(text)
	s.Close()
	silent(t, "the document", document, secrets)
	x := &trial{url: database}
	log := x.text(t, "select coalesce(string_agg(t::text, ' '), '') from event t")
	for i, mark := range marks {
		if !strings.Contains(document, mark) || !strings.Contains(log, mark) {
			t.Errorf("%s was to be told and is not in the document (%v) or the log (%v)", secrets[i], strings.Contains(document, mark), strings.Contains(log, mark))
		}
	}
	for _, table := range strings.Fields(x.text(t, "select string_agg(tablename, ' ') from pg_tables where schemaname = current_schema")) {
		silent(t, "table "+table, x.text(t, "select coalesce(string_agg(t::text, ' '), '') from "+table+" t"), secrets)
	}
}

// silent fails if any form of the secrets is in a text.
func silent(t *testing.T, what, text string, secrets []string) {
	t.Helper()
	for _, secret := range secrets {
		for _, form := range []string{secret, base64.StdEncoding.EncodeToString([]byte(secret)), hex.EncodeToString([]byte(secret))} {
			if i := strings.Index(text, form); i >= 0 {
				t.Errorf("%s holds %s: …%s", what, secret, text[max(0, i-80):i+len(form)])
			}
		}
	}
}
