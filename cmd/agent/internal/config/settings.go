package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"agent/cmd/agent/internal/fault"
	"agent/orchestrator/llm"
	"agent/orchestrator/loop/quiet"
	"agent/orchestrator/run"
	"agent/sandbox/egress"
	"agent/verify"
	"agent/verify/policy"
)

// byDefault is the origin of a value that was not set.
const byDefault = "default"

// A Value is a configured value and its origin. The origin is for people: `agent config` and every complaint about the
// value show it, so that they know where to go.
type Value struct {
	Text   string
	Origin string // "--workspace", "AGENT_…", a file's path, or "default"

	kind *kind // nil for the table's kind
}

// Settings are the final values of one command.
type Settings map[string]Value

// copy returns a copy of s that can be changed independently.
func (s Settings) copy() Settings {
	c := Settings{}
	for k, v := range s {
		c[k] = v
	}
	return c
}

// lay puts values over s; origin says where they come from.
func (s Settings) lay(values map[string]string, origin string) {
	for name, text := range values {
		s[name] = Value{text, origin, s[name].kind}
	}
}

// HeldText returns a value for people to read, "default" if it is not set.
func (s Settings) HeldText(name string) string {
	if text := s[name].Text; text != "" {
		return text
	}
	return byDefault
}

// resolve converts the values of rows to their types. The error names the invalid value and its origin: that is where
// the user fixes it.
func (s Settings) resolve(rows []Setting) (values, error) {
	// Every cap is in the table, so that no default of another package applies without being shown by `agent config`.
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

// VerifyConfig returns the values in the form that a run takes.
func (s Settings) VerifyConfig() (verify.Config, error) {
	v, err := s.resolve(table)
	return v.verify, err
}

// Budget reads the caps of a run.
func (s Settings) Budget() (llm.Limits, error) {
	v, err := s.resolve(table)
	return v.limits, err
}

// QuestionCost returns how much the text of one question may cost; 0 for any amount.
func (s Settings) QuestionCost() llm.Money {
	v, err := s.resolve(table)
	if err != nil { // Load has checked it
		return 0
	}
	return v.question
}

// Wall returns how long a loop may take; 0 for any time.
func (s Settings) Wall() time.Duration {
	v, err := s.resolve(table)
	if err != nil { // Load has checked it
		return 0
	}
	return v.wall
}

// Quiet returns the hours in which a loop starts nothing.
func (s Settings) Quiet() quiet.Hours {
	v, err := s.resolve(table)
	if err != nil { // Load has checked it
		return quiet.Hours{}
	}
	return v.quiet
}

// Fetched returns the hosts whose web pages a model may read. Without any there is no such tool.
func (s Settings) Fetched() egress.List {
	v, err := s.resolve(table)
	if err != nil { // Load has checked it
		return nil
	}
	return v.fetch
}

// Candidates returns how many different changes a run asks for.
func (s Settings) Candidates() (int, error) {
	v, err := s.resolve(table)
	return v.candidates, err
}

// Critics returns the models that review what passed, and how many of them must agree.
func (s Settings) Critics() (names []string, agree int, err error) {
	v, err := s.resolve(table)
	return ParseList(s["critic"].Text), v.agree, err
}

// With returns the settings with the text of one of them replaced; origin says who wants it.
func (s Settings) With(name, text, origin string) Settings {
	own := s.copy()
	own.lay(map[string]string{name: text}, origin)
	return own
}

// A Patience says how long a question on a terminal waits, and what happens if there is no answer.
type Patience struct {
	Time  time.Duration // 0 means for ever
	Apply bool          // apply a patch that passed and needs no approval of its own, rather than stop
}

// Patience returns how long questions wait; Load has checked it.
func (s Settings) Patience() Patience {
	v, err := s.resolve(table)
	return Patience{Time: v.countdown, Apply: err == nil && s["expiry"].Text == "apply"}
}

// Window returns the number of tokens that, according to the user, a model holds, and the key of the user's file that
// says so; 0 if none does.
func (s Settings) Window(vendor, model string) (tokens int, key string) {
	windows := parseWindows(s["windows"].Text)
	for _, name := range []string{vendor + "/" + model, vendor + "/*"} {
		if n, ok := windows[name]; ok {
			return n, fmt.Sprintf("windows.%q", name)
		}
	}
	return 0, ""
}

// Sampling returns how the user wants a model to be asked, false if nothing is configured.
func (s Settings) Sampling(vendor, model string) (llm.Sampling, bool) {
	samplings := parseSamplings(s["sampling"].Text)
	for _, name := range []string{vendor + "/" + model, vendor + "/*"} {
		if sampling, ok := samplings[name]; ok {
			return sampling, true
		}
	}
	return llm.Sampling{}, false
}

// Tools returns how, according to the user, a model is given tools; "" if nothing is configured.
func (s Settings) Tools(vendor, model string) llm.ToolForm {
	forms := parseTools(s["tools"].Text)
	for _, name := range []string{vendor + "/" + model, vendor + "/*"} {
		if form, ok := forms[name]; ok {
			return form
		}
	}
	return ""
}

// Protection returns what the configuration protects.
func (s Settings) Protection() (*policy.Protection, error) {
	v, err := s.resolve(table)
	return v.protect, err
}

// Recording says what is kept of a workspace for replays. More people read a record than the user's own file, so the
// environment which that file gives to programs is not recorded.
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

// AllowKinds returns the kinds of change approved in advance, both everywhere and in this workspace. An unknown kind is
// an error, even if it is listed for another workspace.
func (s Settings) AllowKinds() ([]string, error) {
	check := func(name string, kinds []string) error {
		for _, k := range kinds {
			if !slices.Contains(policy.Kinds(), k) {
				return fault.Usage("the kinds are "+strings.Join(policy.Kinds(), ", "), "%s (%s): unknown change kind %q", name, s[name].Origin, k)
			}
		}
		return nil
	}
	kinds := ParseList(s["allow"].Text)
	if err := check("allow", kinds); err != nil {
		return nil, err
	}
	var in map[string][]string
	if text := s["allow_in"].Text; text != "" {
		if err := json.Unmarshal([]byte(text), &in); err != nil {
			return nil, fmt.Errorf("allow_in: %w", err)
		}
	}
	here := realPath(s["workspace"].Text)
	for _, dir := range slices.Sorted(maps.Keys(in)) {
		if !filepath.IsAbs(dir) {
			return nil, fault.Usage("use an absolute path", "allow_in (%s): %q is not an absolute path", s["allow_in"].Origin, dir)
		}
		if err := check("allow_in", in[dir]); err != nil {
			return nil, err
		}
		if realPath(dir) == here {
			kinds = append(kinds, in[dir]...)
		}
	}
	return kinds, nil
}

// realPath returns dir as an absolute path, with its links resolved if it exists.
func realPath(dir string) string {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return dir
	}
	if whole, err := filepath.EvalSymlinks(abs); err == nil {
		return whole
	}
	return abs
}

// kindOf returns the kind of the value of that name, as it was loaded or as the table says.
func (s Settings) kindOf(name string) kind {
	if k := s[name].kind; k != nil {
		return *k
	}
	if i := slices.IndexFunc(table, func(k Setting) bool { return k.Name == name }); i >= 0 {
		return table[i].kind
	}
	return kind{}
}

// Shown returns a value in a form that may be printed: no passwords, and only the names of an environment.
func (s Settings) Shown(name string) string {
	text := s[name].Text
	if shown := s.kindOf(name).shown; shown != nil && text != "" {
		return shown(text)
	}
	return text
}
