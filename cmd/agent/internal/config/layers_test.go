package config

import (
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"agent/sandbox"
	"agent/verify"
)

// A20.
func TestWorkspaceConfigIsReadStrictly(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, text, want string }{
		{"a runtime of the workspace's own", "runtime = \"crun\"", `line 1: there is no key "runtime"`},
		{"unknown key", "timeuot = \"1m\"", `line 1: there is no key "timeuot"`},
		{"unknown key in a table", "[limits]\n\nmemry = 1", `line 3: there is no key "limits.memry"`},
		{"what only a user may set", "database_url = \"postgres://x\"", `there is no key "database_url"`},
		{"what would widen the box", "[limits]\nprivileged = true", `there is no key "limits.privileged"`},
		{"syntax", "timeout = ", "line 1"},
		{"wrong type", "exclude = 3", "line 1"},
		{"command of numbers", "[smoke]\ncommand = [1]", "smoke.command"},
		{"command of a number", "[smoke]\ncommand = 1", "smoke.command"},
		{"memory of a list", "[limits]\nmemory = []", "limits.memory"},
	} {
		_, err := readRows(table, ofWorkspace, []byte(c.text))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want an error with %q", c.name, err, c.want)
		}
	}
}

func TestWorkspaceConfigIsUnderstood(t *testing.T) {
	t.Parallel()
	values, err := readRows(table, ofWorkspace, []byte(`
exclude = ["data/**", "*.bin"]
timeout = "90s"

[smoke]
command = ["python3", "serve.py"]
seconds = 4
env = { PORT = "8080" }
ready = "port:8080/health"

[tests]
run = "affected"

[limits]
memory = "512MiB"
cpus = 1.5
pids = 64
`))
	if err != nil {
		t.Fatal(err)
	}
	s := Settings{}
	s.lay(values, FileName)
	got, err := s.VerifyConfig()
	if err != nil {
		t.Fatal(err)
	}
	want := verify.Config{
		Smoke:   verify.Smoke{Command: []string{"python3", "serve.py"}, Seconds: 4, Env: map[string]string{"PORT": "8080"}, Ready: "port:8080/health"},
		Limits:  sandbox.Limits{Memory: 512 << 20, CPUs: 1.5, PIDs: 64},
		Timeout: 90 * time.Second, AffectedTests: true,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"data/**", "*.bin"}, ParseList(s["exclude"].Text)); diff != "" {
		t.Errorf("exclude (-want +got):\n%s", diff)
	}
}

func TestACommandOfOneTextIsForTheShell(t *testing.T) {
	t.Parallel()
	values, err := readRows(table, ofWorkspace, []byte("[smoke]\ncommand = \"cd app && python3 main.py\""))
	if diff := cmp.Diff([]string{"/bin/sh", "-c", "cd app && python3 main.py"}, ParseList(values["smoke.command"])); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

func TestSizesAreRead(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int64{"1": 1, "2KiB": 2048, "3 MiB": 3 << 20, "1GiB": 1 << 30, "0": 0, "-1": 0, "1GB": 0, "": 0, "9999999999GiB": 0} {
		got, err := parseBytes(text)
		if got != want || (err == nil) != (want > 0) {
			t.Errorf("parseBytes(%q) = %d, %v; want %d", text, got, err, want)
		}
	}
}

func TestListsComeFromCommasAndFromJSON(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{"": nil, "ci": {"ci"}, "ci, git,": {"ci", "git"}, `["a,b","c"]`: {"a,b", "c"}, "[abc]*.py": {"[abc]*.py"}} {
		if diff := cmp.Diff(want, ParseList(text)); diff != "" {
			t.Errorf("ParseList(%q) (-want +got):\n%s", text, diff)
		}
	}
}

// Lists pass through the layers of configuration unchanged.
func TestListsGoThroughTheLayers(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		items := rapid.SliceOfN(rapid.String(), 1, 5).Draw(t, "items")
		if !utf8.ValidString(strings.Join(items, "")) {
			return
		}
		if got := ParseList(formatList(items)); !slices.Equal(got, items) {
			t.Fatalf("%q became %q", items, got)
		}
	})
}

// FuzzConfig reads arbitrary text as a workspace's configuration.
func FuzzConfig(f *testing.F) {
	f.Add("exclude = [\"a\"]\n[smoke]\ncommand = \"x\"\n[limits]\nmemory = 1\n")
	f.Add("[smoke]\ncommand = [1, \"a\"]\n")
	f.Add("timeout = \"\x00\"")
	f.Fuzz(func(t *testing.T, text string) {
		values, err := readRows(table, ofWorkspace, []byte(text))
		if err != nil {
			return
		}
		s := Settings{}
		s.lay(values, FileName)
		if c, err := s.VerifyConfig(); err == nil && (c.Limits.Memory < 0 || c.Limits.CPUs < 0 || c.Limits.PIDs < 0 || c.Timeout < 0 || c.Smoke.Seconds < 0) {
			t.Errorf("%q gives a limit below 0: %+v", text, c)
		}
	})
}
