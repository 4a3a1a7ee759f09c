// Package config decides what holds for a command: flags, the environment, the
// workspace's agent.toml, the user's own file, defaults.
//
// It owns the table of what can be configured, the shape of both files, and the
// rule that a workspace may tighten what holds without it and never widen it. What
// is wrong anywhere is an error, in every command. It connects to nothing.
package config

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"agent/cmd/agent/internal/fault"
	"agent/orchestrator/run"
	"agent/sandbox/egress"
	"agent/verify"
	"agent/verify/policy"
)

// A Key is one value that can be configured. It can be set by the flag
// and in the environment named here, in the workspace's file, in the
// user's file, or not at all; the first of these that has it wins.
type Key struct {
	Name    string
	Flag    string // "" for none
	Env     string // several with space between: the first that is set
	Default string // what holds when nobody sets it, for people
	About   string
}

// Keys lists every value that can be configured, in the order of
// printing. A value is text in every layer and gets its type at the
// end, in VerifyConfig; so one table serves the flags, the environment,
// both files, and what `agent config` prints.
func Keys() []Key {
	return append([]Key{
		{"workspace", "workspace", "AGENT_WORKSPACE", ".", "the directory that is worked on"},
		{"database_url", "", "AGENT_DATABASE_URL", "", "the Postgres that keeps the record; empty: the agent's own container"},
		{"yes", "yes", "AGENT_YES", "false", "promote what passed without asking"},
		{"no_promote", "no-promote", "AGENT_NO_PROMOTE", "false", "prove only"},
		{"json", "json", "AGENT_JSON", "false", "print results as JSON"},
		{"allow", "allow", "AGENT_ALLOW", "[]", "kinds of change approved in advance"},
		{"protect.paths", "", "", "[]", "patterns of paths that need an approval of their own (--allow protected)"},
		{"exclude", "", "AGENT_EXCLUDE", "[]", "patterns left out of the snapshot"},
		{"timeout", "", "AGENT_TIMEOUT", "5m0s", "time limit of each gate but smoke"},
		{"limits.memory", "", "AGENT_MEMORY", "", "memory of a box; empty: 1 GiB and the size of /work"},
		{"limits.cpus", "", "AGENT_CPUS", "2", "processors of a box"},
		{"limits.pids", "", "AGENT_PIDS", "256", "processes in a box"},
		{"runtime", "", "AGENT_RUNTIME", "", "runtime of the boxes, as runsc; auto: runsc if the engine has it; empty: the engine's own"},
		{"smoke.command", "", "", "[]", "how the smoke test starts the program; empty: found by convention"},
		{"smoke.seconds", "", "", "10", "how long the smoke test watches"},
		{"smoke.ready", "", "", "", "path, port:N/path or text that shows the program is up; empty: an answer to /"},
		{"smoke.env", "", "", "{}", "environment of the smoke test"},
		{"tests.run", "", "", "all", "all: those that the patch can affect first; affected: these packages alone"},
		{"dependencies.install", "no-install", "AGENT_INSTALL", "true", "install what the workspace depends on, once for each state of its lock files"},
		{"dependencies.scripts", "", "AGENT_INSTALL_SCRIPTS", "false", "let packages run code of their own while they are installed"},
		{"record.files", "", "AGENT_RECORD_FILES", "true", "keep the files that a run saw in the record, so that it can be replayed"},
		{"record.bytes", "", "AGENT_RECORD_BYTES", "256MiB", "keep none of a workspace that is larger"},
		{"egress.allow", "", "AGENT_EGRESS", "[]", "hosts that the smoke test, the tests and gates of the workspace's own may reach, with a port or 443 and 80; a workspace only leaves out"},
		{"gate", "", "", "[]", "gates of the workspace's own, after the built-in ones"},
	}, modelKeys()...)
}

// A Value is a configured value and where it came from. The origin is
// for people: it stands in `agent config` and in every complaint about
// the value, so that they know where to go.
type Value struct {
	Text   string
	Origin string // "--workspace", "AGENT_…", a file's path, or "default"
}

// Settings are all values of one command, decided.
type Settings map[string]Value

// Load reads every layer. A file that is wrong is an error even
// when a flag would win over what it says: half a configuration is
// none. The order, the strongest first:
//
//	flag > AGENT_… > agent.toml of the workspace > user's file > default
func Load(ctx *cli.Context, getenv func(string) string) (Settings, error) {
	s := Settings{}
	for _, k := range Keys() {
		s[k.Name] = Value{k.Default, "default"}
	}
	if err := s.user(getenv); err != nil {
		return nil, err
	}
	outer := s.copy() // what holds without the workspace's own file
	// Laid over twice: once to learn which workspace is meant, and
	// again because flags and environment win over its file.
	s.overlay(ctx, getenv)
	if err := s.workspaceFile(outer); err != nil {
		return nil, err
	}
	s.overlay(ctx, getenv)
	if url := s["database_url"]; url.Text != "" {
		if err := checkDatabaseURL(url.Text); err != nil {
			return nil, fault.Usage("write it as postgres://user:password@host:5432/database", "database_url (%s): %v", url.Origin, err)
		}
	}
	// A switch that is neither on nor off must not be taken for off:
	// AGENT_NO_PROMOTE=yes would promote.
	for _, name := range []string{"yes", "no_promote", "json", "dependencies.install", "dependencies.scripts", "record.files"} {
		if _, err := strconv.ParseBool(s[name].Text); err != nil {
			return nil, fault.Usage("write true or false", "%s (%s): %q is neither true nor false", name, s[name].Origin, s[name].Text)
		}
	}
	if err := s.checkModels(); err != nil {
		return nil, err
	}
	// A pattern that protects nothing must not go unnoticed in any command.
	if _, err := s.Protection(); err != nil {
		return nil, err
	}
	if _, err := s.Recording(); err != nil {
		return nil, err
	}
	_, err := s.VerifyConfig()
	return s, err
}

// copy returns settings that can be changed without changing s.
func (s Settings) copy() Settings {
	c := Settings{}
	for k, v := range s {
		c[k] = v
	}
	return c
}

// user lays the user's file over s.
func (s Settings) user(getenv func(string) string) error {
	path := UserPath(getenv)
	if path == "" {
		return nil
	}
	// Links are followed here: people keep their configuration in
	// repositories and link to it.
	data, err := ReadFile(path, true)
	if err != nil {
		return fault.Usage("mend or move that file", "read the user configuration: %v", err)
	}
	conf, err := parseUserConfig(data)
	if err != nil {
		return fault.Usage("mend that line", "%s: %v", path, err)
	}
	values, err := conf.values()
	if err != nil {
		return fault.Usage("mend that line", "%s: %v", path, err)
	}
	s.set(values, path)
	return nil
}

// set lays values over s; origin says where they came from.
func (s Settings) set(values map[string]string, origin string) {
	for k, v := range values {
		s[k] = Value{v, origin}
	}
}

// overlay lays the environment and the flags over s.
func (s Settings) overlay(ctx *cli.Context, getenv func(string) string) {
	for _, k := range Keys() {
		for _, env := range strings.Fields(k.Env) {
			if text := getenv(env); text != "" {
				s[k.Name] = Value{text, env}
				break
			}
		}
		if k.Flag == "" || !ctx.IsSet(k.Flag) {
			continue
		}
		// An empty variable counts as not set, as people expect of a
		// shell; an empty flag was typed, and counts.
		text := ctx.String(k.Flag)
		switch ctx.Value(k.Flag).(type) {
		case bool:
			// A flag that says no switches off what is on without it.
			text = strconv.FormatBool(ctx.Bool(k.Flag) != (k.Default == "true"))
		case cli.StringSlice:
			text = formatList(ParseList(strings.Join(ctx.StringSlice(k.Flag), ",")))
		}
		s[k.Name] = Value{text, "--" + k.Flag}
	}
}

// workspaceFile lays the workspace's file over s. It may tighten what
// holds without it, never widen it: whoever can commit to the workspace
// must not be able to give its code more than the user did.
func (s Settings) workspaceFile(outer Settings) error {
	path := filepath.Join(s["workspace"].Text, FileName)
	// No link is followed here: a workspace could point at any file of
	// the user's, and an error would show a piece of it.
	data, err := ReadFile(path, false)
	if err != nil {
		return fault.Usage("make it a regular file, or move it away", "read %s: %v", FileName, err)
	}
	conf, err := parseConfig(data)
	if err != nil {
		return fault.Usage("mend that line of "+path, "%s: %v", FileName, err)
	}
	values, err := conf.values()
	if err != nil {
		return fault.Usage("mend that line of "+path, "%s: %v", FileName, err)
	}
	if own := values["gate"]; own != "" {
		if values["gate"], err = addGates(outer["gate"].Text, own); err != nil {
			return err
		}
	}
	// Compared with what holds without the file. That a flag or the
	// environment wins over it makes no difference: a file that asks
	// for more is refused as such, before somebody relies on it.
	inner := outer.copy()
	inner.set(values, path)
	want, err := inner.VerifyConfig()
	if err != nil {
		return err
	}
	have, err := outer.VerifyConfig()
	if err != nil {
		return err
	}
	wantBudget, err := inner.Budget()
	if err != nil {
		return err
	}
	haveBudget, err := outer.Budget()
	if err != nil {
		return err
	}
	for _, name := range []string{"dependencies.install", "dependencies.scripts", "record.files"} {
		if inner.On(name) && !outer.On(name) {
			return fault.Policy("take it out of "+path+"; only the user configuration or the environment may switch it on",
				"%s: %s is off without it", FileName, name)
		}
	}
	if wider := cmp.Or(Wider(want, have), widerBudget(wantBudget, haveBudget)); wider != "" {
		return fault.Policy("lower it in "+path+"; only the user configuration or the environment may raise it",
			"%s: %s is more than the %s that holds without it", FileName, wider, outer.HeldText(wider))
	}
	// What the user protects stays protected in every workspace.
	if own, ok := values["protect.paths"]; ok {
		values["protect.paths"] = formatList(append(ParseList(outer["protect.paths"].Text), ParseList(own)...))
	}
	if _, ok := values["egress.allow"]; ok {
		values["egress.allow"] = formatList(have.Egress.Narrow(want.Egress).Entries())
	}
	s.set(values, path)
	return nil
}

// HeldText is a value for people, "default" when nobody set it.
func (s Settings) HeldText(name string) string {
	if text := s[name].Text; text != "" {
		return text
	}
	return "default"
}

// The defaults of a box that a workspace may only lower; package
// sandbox has them.
const (
	defaultMemory  = 1<<30 + 256<<20 // bytes
	defaultCPUs    = 2
	defaultPIDs    = 256
	defaultTimeout = 5 * time.Minute
)

// Wider names the first value of want that is more than have allows.
// Only what bounds untrusted code is compared. The command of the smoke
// test and the patterns left out are the workspace's own business: they
// decide what is proved, and the person sees it in the result.
func Wider(want, have verify.Config) string {
	switch {
	case orDefault(want.Limits.Memory, defaultMemory) > orDefault(have.Limits.Memory, defaultMemory):
		return "limits.memory"
	case orDefault(want.Limits.CPUs, defaultCPUs) > orDefault(have.Limits.CPUs, defaultCPUs):
		return "limits.cpus"
	case orDefault(want.Limits.PIDs, defaultPIDs) > orDefault(have.Limits.PIDs, defaultPIDs):
		return "limits.pids"
	case orDefault(want.Timeout, defaultTimeout) > orDefault(have.Timeout, defaultTimeout):
		return "timeout"
	case orDefault(want.Smoke.Seconds, 10) > orDefault(have.Smoke.Seconds, 10):
		return "smoke.seconds"
	}
	return ""
}

// orDefault is v, or what holds when nobody set it.
func orDefault[T int | int64 | float64 | time.Duration](v, fallback T) T {
	if v == 0 {
		return fallback
	}
	return v
}

// VerifyConfig translates the values for the run.
func (s Settings) VerifyConfig() (verify.Config, error) {
	// The names are those of keys; the functions write into c.
	var c verify.Config
	for _, part := range []struct {
		name string
		set  func(text string) error
	}{
		{"timeout", func(t string) (err error) { c.Timeout, err = parseTimeout(t); return err }},
		{"limits.memory", func(t string) (err error) { c.Limits.Memory, err = parseBytes(t); return err }},
		{"limits.cpus", func(t string) (err error) { c.Limits.CPUs, err = parsePositive(t); return err }},
		{"limits.pids", func(t string) (err error) { c.Limits.PIDs, err = strconv.ParseInt(t, 10, 64); return err }},
		{"runtime", func(t string) error { c.Runtime = t; return nil }},
		{"smoke.seconds", func(t string) (err error) { c.Smoke.Seconds, err = strconv.Atoi(t); return err }},
		{"smoke.ready", func(t string) error { c.Smoke.Ready = t; return c.Smoke.Check() }},
		{"smoke.command", func(t string) error { c.Smoke.Command = ParseList(t); return nil }},
		{"smoke.env", func(t string) error { return json.Unmarshal([]byte(t), &c.Smoke.Env) }},
		{"tests.run", func(t string) (err error) { c.AffectedTests, err = parseTestRun(t); return err }},
		{"egress.allow", func(t string) (err error) { c.Egress, err = egress.Parse(ParseList(t)); return err }},
		{"gate", func(t string) (err error) { c.Gates, err = parseGates(t); return err }},
	} {
		// Defaults are left zero: the packages that own them fill them
		// in, so that they are written down once.
		v := s[part.name]
		if v.Text == "" || v.Origin == "default" {
			continue
		}
		if err := part.set(v.Text); err != nil {
			return c, fault.Usage("mend that value", "%s (%s): %v", part.name, v.Origin, err)
		}
	}
	return c, s.checkLeast(c)
}

// checkLeast refuses limits under which no box could start.
func (s Settings) checkLeast(c verify.Config) error {
	const leastMemory, leastPIDs = 16 << 20, 32 // as package sandbox says
	switch {
	case c.Limits.Memory != 0 && c.Limits.Memory < leastMemory:
		return fault.Usage("give 16MiB or more", "limits.memory (%s): too little for any program", s["limits.memory"].Origin)
	case c.Limits.PIDs != 0 && c.Limits.PIDs < leastPIDs:
		return fault.Usage("give 32 or more", "limits.pids (%s): too few for any program", s["limits.pids"].Origin)
	case c.Smoke.Seconds < 0:
		return fault.Usage("give a number above 0", "smoke.seconds (%s): below 0", s["smoke.seconds"].Origin)
	}
	return nil
}

// parsePositive reads a number of processors.
func parsePositive(text string) (float64, error) {
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || f <= 0 || f > 1<<10 {
		return 0, fmt.Errorf("%q is no number of processors", text)
	}
	return f, nil
}

// parseTestRun reads which tests are run, true for the affected alone.
func parseTestRun(text string) (affected bool, err error) {
	if text != "all" && text != "affected" {
		return false, fmt.Errorf("%q is no choice of tests: write all or affected", text)
	}
	return text == "affected", nil
}

// checkDatabaseURL reports a URL that cannot be one, without repeating
// it: it may hold a password.
func checkDatabaseURL(text string) error {
	// The parser's error repeats the text, password and all.
	u, err := url.Parse(text)
	if err != nil {
		return fmt.Errorf("not a URL")
	}
	if u.Scheme != "postgres" && u.Scheme != "postgresql" {
		return fmt.Errorf("the scheme is not postgres")
	}
	return nil
}

// mask hides the password of a database URL.
func mask(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return "***"
	}
	// libpq also takes the password as a parameter. The user's name
	// stays: it is no secret, and tells whose database it is.
	q := u.Query()
	for name := range q {
		if slices.Contains([]string{"password", "sslpassword", "passfile"}, strings.ToLower(name)) {
			q.Set(name, "xxxxx")
			u.RawQuery = q.Encode()
		}
	}
	return u.Redacted()
}

// Shown returns a value as it may be printed: no passwords, and of an
// environment only the names.
func (s Settings) Shown(name string) string {
	text := s[name].Text
	switch {
	case name == "database_url" && text != "":
		return mask(text)
	case name == "gemini.keys":
		return keyIDs(text)
	case name == "gemini.base_url", name == "ollama.host":
		return maskHost(text)
	// Whoever reads the output over a shoulder learns which variables
	// there are, not what they hold.
	case name == "smoke.env":
		var env map[string]string
		if json.Unmarshal([]byte(text), &env) != nil {
			return text
		}
		names := make([]string, 0, len(env))
		for n := range env {
			names = append(names, n)
		}
		slices.Sort(names)
		return formatList(names)
	}
	return text
}

// On reports whether a switch is set; settings checked that it is one.
func (s Settings) On(name string) bool {
	v, err := strconv.ParseBool(s[name].Text)
	return err == nil && v
}

// Recording says what of a workspace is kept for replays. A record is read by more people
// than the user's own file, so what that gives to programs does not get there.
func (s Settings) Recording() (run.Keep, error) {
	k := run.Keep{Files: s.On("record.files")}
	if env := s["smoke.env"]; env.Origin != "default" && filepath.Base(env.Origin) != FileName {
		k.Never = "smoke.env is the user's own, and is not recorded"
	}
	v, err := s["record.bytes"], error(nil)
	if k.Bytes, err = parseBytes(v.Text); err != nil {
		err = fault.Usage("mend that value", "record.bytes (%s): %v", v.Origin, err)
	}
	return k, err
}

// Protection returns what the configuration protects.
func (s Settings) Protection() (*policy.Protection, error) {
	v := s["protect.paths"]
	p, err := policy.Protect(ParseList(v.Text))
	if err != nil {
		return nil, fault.Usage("mend that pattern", "protect.paths (%s): %w", v.Origin, err)
	}
	return p, nil
}

// AllowKinds returns the kinds of change approved in advance.
func (s Settings) AllowKinds() ([]string, error) {
	kinds := ParseList(s["allow"].Text)
	for _, k := range kinds {
		if !slices.Contains(policy.Kinds(), k) {
			return nil, fault.Usage("the kinds are "+strings.Join(policy.Kinds(), ", "), "allow (%s): %q is no kind of change", s["allow"].Origin, k)
		}
	}
	return kinds, nil
}
