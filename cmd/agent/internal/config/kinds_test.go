package config

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"agent/cmd/agent/internal/fault"
	"agent/orchestrator/llm"
	"agent/sandbox"
	"agent/verify"
)

// set returns every row at its default, with these values over it.
func set(pairs ...string) Settings {
	s := Settings{}
	for _, k := range table {
		s[k.Name] = Value{k.Default, byDefault, nil}
	}
	for i := 0; i < len(pairs); i += 2 {
		s.lay(map[string]string{pairs[i]: pairs[i+1]}, "the test")
	}
	return s
}

// An invalid value is reported with its name, its origin, and the next step.
func TestAValueThatIsWrongIsToldWithItsNextStep(t *testing.T) {
	t.Parallel()
	many := strings.Repeat("a1,", 201)
	for _, c := range []struct{ name, text, want, next string }{
		{"yes", "ja", `invalid value "ja": use true or false`, "fix that value"},
		{"yes", "", `invalid value "": use true or false`, "fix that value"},
		{"yes", " true", `invalid value " true"`, "fix that value"},
		{"candidates", "0", `invalid number "0": use 1 to 64`, "fix that value"},
		{"candidates", "65", "use 1 to 64", "fix that value"},
		{"candidates", "1e3", "use 1 to 64", "fix that value"},
		{"candidates", "99999999999999999999", "use 1 to 64", "fix that value"},
		{"candidates", "٣", "use 1 to 64", "fix that value"},
		{"timeout", "999ms", `invalid duration "999ms" (minimum 1s): use e.g. 90s or 5m`, "fix that value"},
		{"timeout", "5", "use e.g. 90s or 5m", "fix that value"},
		{"timeout", "-1h", "use e.g. 90s or 5m", "fix that value"},
		{"timeout", "9999999h", "use e.g. 90s or 5m", "fix that value"},
		{"budget.wall", "0s", "minimum 1s", "fix that value"},
		{"loop.quiet", "22-7", `hours "22-7": use two times of day such as 22:00-07:00`, "fix that value"},
		{"budget.cost", "NaN", `invalid amount "NaN": use e.g. 0.50`, "fix that value"},
		{"budget.cost", "-0.01", "use e.g. 0.50", "fix that value"},
		{"budget.cost", "Inf", "use e.g. 0.50", "fix that value"},
		{"budget.cost", "1e-7", "less than a millionth", "fix that value"},
		{"budget.cost", "0,50", "use e.g. 0.50", "fix that value"},
		{"limits.memory", "15MiB", "too little for any program", "use 16MiB or more"},
		{"limits.memory", "1GB", `invalid size "1GB": use e.g. 512MiB`, "fix that value"},
		{"limits.pids", "31", "too few for any program", "use 32 or more"},
		{"limits.pids", "-1", "too few for any program", "use 32 or more"},
		{"limits.pids", "many", `invalid number "many": use 32 or more`, "fix that value"},
		{"limits.cpus", "NaN", `invalid number of processors "NaN"`, "fix that value"},
		{"limits.cpus", "1025", "invalid number of processors", "fix that value"},
		{"smoke.seconds", "-1", "below 0", "use a number above 0"},
		{"tests.run", "All", `invalid value "All": use all or affected`, "fix that value"},
		{"expiry", "", "use stop or apply", "fix that value"},
		{"forge.kind", "svn", `invalid value "svn"`, "fix that value"},
		{"protect.paths", `["[a"]`, "protect.paths", "fix that pattern"},
		{"environment.packages", "-y", `"-y" is not the name of a Debian package`, "name packages as `apt-cache search` prints them"},
		{"environment.packages", many, "201 Debian packages, at most 200", "name packages as `apt-cache search` prints them"},
		{"egress.allow", "http://a.example", "egress.allow", "fix that value"},
		{"database_url", "mysql://me:sesame@h", "the scheme is not postgres", "use postgres://user:password@host:5432/database"},
		{"database_url", "postgres://me:ses%ame@h", "not a URL", "use postgres://user:password@host:5432/database"},
		{"database_url", "host=h password=sesame", "the scheme is not postgres", "use postgres://user:password@host:5432/database"},
		{"windows", `{"a/b":1023}`, `invalid number 1023 for "a/b": use 1024 to 10000000`, "fix that value"},
		{"windows", `{"a/b":"x"}`, "cannot unmarshal string", "fix that value"},
		{"sampling", `{"a/b":{"temperature":2.1}}`, `invalid sampling for "a/b": use temperature from 0 to 2`, "fix that value"},
		{"sampling", `{"a/b":{"TopK":-1}}`, "top_k from 0 to 1000", "fix that value"},
		{"sampling", `[`, "unexpected end of JSON input", "fix that value"},
		{"tools", `{"a/b":"Native"}`, `invalid form "Native" for "a/b": use native, emulated or none`, "fix that value"},
		{"tools", `{"a/b":1}`, "cannot unmarshal number", "fix that value"},
		{"gate", `[{"name":"A","command":["x"]}]`, `a gate is named "A"`, "fix that value"},
		{"gate", `[{"name":"a","command":[]}]`, `gate "a": it has no command`, "fix that value"},
		{"gate", `[{"name":"a","command":7}]`, "command: use a string for the shell, or an array of strings", "fix that value"},
		{"gate", `[{"name":"a","command":"x","timeout":"1"}]`, `gate "a": invalid duration "1"`, "fix that value"},
		{"gate", `{}`, "cannot unmarshal object", "fix that value"},
	} {
		_, err := set(c.name, c.text).VerifyConfig()
		var f *fault.Error
		if !errors.As(err, &f) || !strings.HasPrefix(err.Error(), c.name+" (the test): ") || !strings.Contains(err.Error(), c.want) || f.Next != c.next {
			t.Errorf("%s = %.60q: %v, want %q", c.name, c.text, err, c.want)
		}
		if err != nil && strings.Contains(err.Error(), "ses") {
			t.Errorf("%s: a password is told: %v", c.name, err)
		}
	}
}

func TestValuesAtTheirBoundsAreTaken(t *testing.T) {
	t.Parallel()
	for _, c := range [][2]string{
		{"candidates", "64"},
		{"timeout", "1s"},
		{"budget.wall", "0"},
		{"loop.quiet", "22:00-07:00"},
		{"budget.cost", "1e-6"},
		{"budget.cost", "1000000000"},
		{"budget.tokens", "0"},
		{"limits.memory", "16MiB"},
		{"limits.memory", " 16777216 "},
		{"limits.pids", "32"},
		{"limits.pids", "0"},
		{"limits.cpus", "1024"},
		{"limits.cpus", "0.001"},
		{"smoke.seconds", "1"},
		{"database_url", ""},
		{"database_url", "postgresql:///x"},
		{"windows", `{"a/*":1024,"b/c":10000000}`},
		{"windows", "{}"},
		{"windows", "null"},
		{"sampling", `{"a/b":{"Temperature":2,"TopP":1,"TopK":1000}}`},
		{"tools", `{"a/b":"none","c/*":"emulated"}`},
		{"gate", "[]"},
		{"gate", "null"},
		{"forge.kind", ""},
		{"environment.packages", strings.Repeat("a1,", 200)},
		{"protect.paths", ""},
		{"yes", "1"},
		{"yes", "F"},
	} {
		if _, err := set(c[0], c[1]).VerifyConfig(); err != nil {
			t.Errorf("%s = %.60q: %v", c[0], c[1], err)
		}
	}
}

func TestWhatNobodySetHolds(t *testing.T) {
	t.Parallel()
	s := set()
	budget, err := s.Budget()
	want := llm.Limits{Attempts: MaxAttempts, Tokens: 2e6, Requests: 100, RunTime: time.Hour, Total: 15 * time.Minute, Idle: 5 * time.Minute}
	if diff := cmp.Diff(want, budget); diff != "" || err != nil {
		t.Error(diff, err)
	}
	if v, err := s.VerifyConfig(); err != nil || !cmp.Equal(v, verify.Config{}) {
		t.Errorf("what a box gets is decided here: %+v, %v", v, err)
	}
	if n, err := s.Candidates(); n != 1 || err != nil {
		t.Errorf("%d candidates, %v", n, err)
	}
	if got := fmt.Sprint(s.Patience(), s.Wall(), s.QuestionCost()); got != fmt.Sprint(Patience{Time: 220 * time.Second}, time.Duration(0), llm.Money(200000)) {
		t.Error(got)
	}
	if got := set("expiry", "apply", "countdown", "0", "budget.wall", "8h").Patience(); got != (Patience{Apply: true}) {
		t.Errorf("%+v", got)
	}
	broken := set("candidates", "x", "expiry", "apply", "budget.wall", "8h")
	if broken.Wall() != 0 || broken.QuestionCost() != 0 || broken.Patience().Apply {
		t.Error("what was refused is used")
	}
	if s.HeldText("limits.memory") != "default" || s.HeldText("candidates") != "1" || s.HeldText("no such") != "default" || s.Shown("no such") != "" {
		t.Error("what holds is told otherwise")
	}
}

// The name of a model takes precedence over that of its vendor.
func TestOfAModelTheNearestNameCounts(t *testing.T) {
	t.Parallel()
	s := set("windows", `{"a/b":2000,"a/*":3000}`, "sampling", `{"a/b":{"temperature":1},"a/*":{"TopK":4}}`, "tools", `{"a/b":"none","a/*":"native"}`)
	for _, c := range []struct {
		vendor, model, window, key string
		temperature                float64
		topK                       int
		said                       bool
		tools                      llm.ToolForm
	}{
		{"a", "b", "2000", `windows."a/b"`, 1, 0, true, llm.NoTools},
		{"a", "B", "3000", `windows."a/*"`, 0, 4, true, llm.NativeTools},
		{"a", "*", "3000", `windows."a/*"`, 0, 4, true, llm.NativeTools},
		{"a", "", "3000", `windows."a/*"`, 0, 4, true, llm.NativeTools},
		{"A", "b", "0", "", 0, 0, false, ""},
		{"", "", "0", "", 0, 0, false, ""},
	} {
		n, key := s.Window(c.vendor, c.model)
		sampling, said := s.Sampling(c.vendor, c.model)
		if fmt.Sprint(n) != c.window || key != c.key || said != c.said || sampling.Temperature != c.temperature || sampling.TopK != c.topK || s.Tools(c.vendor, c.model) != c.tools {
			t.Errorf("%s/%s: %d by %q, %+v %v, %q", c.vendor, c.model, n, key, sampling, said, s.Tools(c.vendor, c.model))
		}
	}
	broken := set("windows", "[", "sampling", "[", "tools", "[")
	if n, _ := broken.Window("a", "b"); n != 0 || broken.Tools("a", "b") != "" {
		t.Error("a text that is none says something")
	}
	if _, said := broken.Sampling("a", "b"); said {
		t.Error("a text that is none says how to sample")
	}
}

// The values of an archive are compared with those that apply; 0 is the default of a box, and not less than any number.
func TestTheFirstNumberThatIsWiderIsNamed(t *testing.T) {
	t.Parallel()
	limits := func(memory int64, cpus float64, pids int64) verify.Config {
		return verify.Config{Limits: sandbox.Limits{Memory: memory, CPUs: cpus, PIDs: pids}}
	}
	for _, c := range []struct {
		want, have verify.Config
		name       string
	}{
		{verify.Config{}, verify.Config{}, ""},
		{limits(1<<40, 0, 0), verify.Config{}, "limits.memory"},
		{limits(1280<<20, 2, 256), verify.Config{}, ""},
		{limits(0, 2.5, 0), verify.Config{}, "limits.cpus"},
		{verify.Config{}, limits(0, 1, 0), "limits.cpus"},
		{verify.Config{}, limits(0, 0, 257), ""},
		{limits(0, 0, 258), limits(0, 0, 257), "limits.pids"},
		{verify.Config{Timeout: time.Hour}, verify.Config{}, "timeout"},
		{verify.Config{Smoke: verify.Smoke{Seconds: 11}}, verify.Config{}, "smoke.seconds"},
	} {
		if got := Wider(c.want, c.have); got != c.name {
			t.Errorf("%+v of %+v: %q, want %q", c.want, c.have, got, c.name)
		}
	}
}
