package config

import (
	"errors"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"agent/cmd/agent/internal/fault"
	"agent/orchestrator/llm"
	"agent/orchestrator/llm/vendors"
	"agent/orchestrator/run"
	"agent/verify"
	"agent/verify/policy"
)

// byDefault is the origin of what nobody set.
const byDefault = "default"

// A Value is a configured value and where it came from. The origin is
// for people: it is in `agent config` and in every complaint about
// the value, so that they know where to go.
type Value struct {
	Text   string
	Origin string // "--workspace", "AGENT_…", a file's path, or "default"

	kind *kind // nil for that of the table
}

// Settings are all values of one command, decided.
type Settings map[string]Value

// Load reads every layer. A file that is wrong is an error even
// when a flag would win over what it says: half a configuration is
// none. The order, the strongest first:
//
//	flag > AGENT_… > agent.toml of the workspace > user's file > default
func Load(ctx *cli.Context, getenv func(string) string) (Settings, error) {
	return LoadFor(vendors.All(), ctx, getenv)
}

// LoadFor is Load with the settings of these vendors in place of the product's.
func LoadFor(list []llm.Vendor, ctx *cli.Context, getenv func(string) string) (Settings, error) {
	l := loader{rows: rows(list), set: Settings{}}
	for _, k := range l.rows {
		l.set[k.Name] = Value{k.Default, byDefault, &k.kind}
	}
	if err := l.userFile(getenv); err != nil {
		return nil, err
	}
	outer := l.set.copy() // what holds without the workspace's own file
	// Laid over twice: once to learn which workspace is meant, and
	// again because flags and environment win over its file.
	l.overlay(ctx, getenv)
	if err := l.workspaceFile(outer); err != nil {
		return nil, err
	}
	l.overlay(ctx, getenv)
	_, err := l.set.resolve(l.rows)
	return l.set, err
}

// A loader lays one layer over the other.
type loader struct {
	rows []Setting
	set  Settings
}

// copy returns settings that can be changed without changing s.
func (s Settings) copy() Settings {
	c := Settings{}
	for k, v := range s {
		c[k] = v
	}
	return c
}

// userFile lays the user's file over the defaults.
func (l *loader) userFile(getenv func(string) string) error {
	path := UserPath(getenv)
	if path == "" {
		return nil
	}
	// Links are followed here: people keep their configuration in
	// repositories and link to it.
	data, err := ReadFile(path, true)
	if err != nil {
		return fault.Usage("fix or move that file", "read the user configuration: %v", err)
	}
	values, err := readRows(l.rows, ofUser, data)
	if err != nil {
		return fault.Usage("fix that line", "%s: %v", path, err)
	}
	l.set.lay(values, path)
	return nil
}

// lay puts values over s; origin says where they came from.
func (s Settings) lay(values map[string]string, origin string) {
	for name, text := range values {
		s[name] = Value{text, origin, s[name].kind}
	}
}

// overlay lays the environment and the flags over the files.
func (l *loader) overlay(ctx *cli.Context, getenv func(string) string) {
	for _, k := range l.rows {
		for _, env := range strings.Fields(k.Env) {
			if text := getenv(env); text != "" {
				l.set.lay(map[string]string{k.Name: text}, env)
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
			text = strconv.FormatBool(ctx.Bool(k.Flag) != k.inverted())
		case cli.StringSlice:
			text = formatList(ParseList(strings.Join(ctx.StringSlice(k.Flag), ",")))
		}
		l.set.lay(map[string]string{k.Name: text}, "--"+k.Flag)
	}
}

// workspaceFile lays the workspace's file over what is set. It may tighten what
// holds without it, never widen it: whoever can commit to the workspace
// must not be able to give its code more than the user did.
func (l *loader) workspaceFile(outer Settings) error {
	path := filepath.Join(l.set["workspace"].Text, FileName)
	// No link is followed here: a workspace could point at any file of
	// the user's, and an error would show a piece of it.
	data, err := ReadFile(path, false)
	if err != nil {
		return fault.Usage("make it a regular file, or move it away", "read %s: %v", FileName, err)
	}
	own, err := readRows(l.rows, ofWorkspace, data)
	if err != nil {
		return fault.Usage("fix that line of "+path, "%s: %v", FileName, err)
	}
	if err := l.checkNarrows(outer, own, path); err != nil {
		return err
	}
	for _, k := range l.rows {
		if text, ok := own[k.Name]; ok && k.kind.merge != nil {
			if own[k.Name], err = k.kind.merge(outer[k.Name].Text, text); err != nil {
				return err
			}
		}
	}
	l.set.lay(own, path)
	return nil
}

// checkNarrows refuses a workspace's own values, of the file at path, that are more
// than what holds without it. That a flag or the environment wins over
// them makes no difference: a file that asks for more is refused as such, before
// somebody relies on it.
func (l *loader) checkNarrows(outer Settings, own map[string]string, path string) error {
	rows := slices.DeleteFunc(slices.Clone(l.rows), func(k Setting) bool { return !ofWorkspace(k.scope) })
	have, err := outer.resolve(rows)
	if err != nil {
		return err
	}
	inner := outer.copy()
	inner.lay(own, path)
	want, err := inner.resolve(rows)
	if err != nil {
		return err
	}
	for _, k := range rows {
		switch {
		case k.scope == switchOff && inner.On(k.Name) && !outer.On(k.Name):
			return fault.Policy("remove it from "+path+"; only the user configuration or the environment may switch it on",
				"%s: %s is off without it", FileName, k.Name)
		case k.scope == lower && k.kind.more(&want, &have, k.unset()):
			return fault.Policy("lower it in "+path+"; only the user configuration or the environment may raise it",
				"%s: %s is more than the %s that holds without it", FileName, k.Name, outer.HeldText(k.Name))
		}
	}
	return nil
}

// unset is what a setting that is 0 stands for, "" where 0 is no cap.
func (k Setting) unset() string {
	if !k.owned || k.held != "" {
		return k.held
	}
	return k.Default
}

// Wider names the first value of want that is more than have allows, "" for none. Only
// numbers that bound untrusted code are compared.
func Wider(want, have verify.Config) string {
	for _, k := range table {
		if k.scope == lower && k.owned && k.kind.more(&values{verify: want}, &values{verify: have}, k.unset()) {
			return k.Name
		}
	}
	return ""
}

// HeldText is a value for people, "default" when nobody set it.
func (s Settings) HeldText(name string) string {
	if text := s[name].Text; text != "" {
		return text
	}
	return byDefault
}

// resolve gives the values of rows their types. The error names the value that is
// wrong, and where it came from: that is where a person fixes it.
func (s Settings) resolve(rows []Setting) (values, error) {
	// Every cap is in the table, so that no default of another package
	// holds without being shown by `agent config`.
	v := values{limits: llm.Limits{Attempts: MaxAttempts}}
	for _, k := range rows {
		held, ok := s[k.Name]
		if !ok || k.kind.set == nil || k.owned && (held.Text == "" || held.Origin == byDefault) {
			continue
		}
		if err := k.kind.set(&v, held.Text); err != nil {
			next := "fix that value"
			var a advice
			if errors.As(err, &a) {
				next = a.next
			}
			return v, fault.Usage(next, "%s (%s): %w", k.Name, held.Origin, err)
		}
	}
	return v, nil
}

// VerifyConfig translates the values for the run.
func (s Settings) VerifyConfig() (verify.Config, error) {
	v, err := s.resolve(table)
	return v.verify, err
}

// Budget reads the caps of a run.
func (s Settings) Budget() (llm.Limits, error) {
	v, err := s.resolve(table)
	return v.limits, err
}

// Candidates is how many different changes a run asks for.
func (s Settings) Candidates() (int, error) {
	v, err := s.resolve(table)
	return v.candidates, err
}

// A Patience says how long a question on a terminal waits, and what
// follows when nobody answers.
type Patience struct {
	Time time.Duration // 0 for ever
	Stop bool          // rather than to proceed
}

// Patience returns how long questions wait; Load has checked it.
func (s Settings) Patience() Patience {
	v, err := s.resolve(table)
	return Patience{Time: v.countdown, Stop: err != nil || s["expiry"].Text != "proceed"}
}

// Protection returns what the configuration protects.
func (s Settings) Protection() (*policy.Protection, error) {
	v, err := s.resolve(table)
	return v.protect, err
}

// Recording says what of a workspace is kept for replays. A record is read by more people
// than the user's own file, so what that gives to programs does not get there.
func (s Settings) Recording() (run.Keep, error) {
	v, err := s.resolve(table)
	if env := s["smoke.env"]; env.Origin != byDefault && filepath.Base(env.Origin) != FileName {
		v.keep.Never = "smoke.env is the user's own, and is not recorded"
	}
	return v.keep, err
}

// On reports whether a switch is set; Load checked that it is one.
func (s Settings) On(name string) bool {
	v, err := strconv.ParseBool(s[name].Text)
	return err == nil && v
}

// AllowKinds returns the kinds of change approved in advance.
func (s Settings) AllowKinds() ([]string, error) {
	kinds := ParseList(s["allow"].Text)
	for _, k := range kinds {
		if !slices.Contains(policy.Kinds(), k) {
			return nil, fault.Usage("the kinds are "+strings.Join(policy.Kinds(), ", "), "allow (%s): unknown change kind %q", s["allow"].Origin, k)
		}
	}
	return kinds, nil
}

// kindOf is the kind of the value of that name, as it was loaded or as the table says.
func (s Settings) kindOf(name string) kind {
	if k := s[name].kind; k != nil {
		return *k
	}
	if i := slices.IndexFunc(table, func(k Setting) bool { return k.Name == name }); i >= 0 {
		return table[i].kind
	}
	return kind{}
}

// Shown returns a value as it may be printed: no passwords, and of an
// environment only the names.
func (s Settings) Shown(name string) string {
	text := s[name].Text
	if shown := s.kindOf(name).shown; shown != nil && text != "" {
		return shown(text)
	}
	return text
}
