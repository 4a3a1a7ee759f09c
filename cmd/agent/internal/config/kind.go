package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"agent/cmd/agent/internal/config/credential"
	"agent/images/dependencies"
	"agent/orchestrator/forge"
	"agent/orchestrator/llm"
	"agent/orchestrator/loop/quiet"
	"agent/orchestrator/run"
	"agent/sandbox/egress"
	"agent/verify"
	"agent/verify/policy"
)

// values holds the typed settings in the structs that use them.
type values struct {
	verify     verify.Config
	limits     llm.Limits
	keep       run.Keep
	protect    *policy.Protection
	candidates int
	agree      int
	countdown  time.Duration
	question   llm.Money
	wall       time.Duration
	fetch      egress.List
	quiet      quiet.Hours
}

// A kind is the type of a setting: how a file holds it, and which texts are valid.
type kind struct {
	toml reflect.Type
	// write returns the text for the value that a file holds under name, "" if it is not set.
	write func(name string, v any) (string, error)
	// set reads the text into the field that it fills. It is nil for text that is read where it is used.
	set func(v *values, text string) error
	// more reports whether want exceeds have. unset is the value that 0 stands for in an owned setting, or "" if 0
	// means no cap. Only numbers have it.
	more func(want, have *values, unset string) bool
	// merge combines the workspace's own text with the user's. It is nil if the workspace's text replaces the user's.
	merge func(outer, own string) (string, error)
	// shown returns the text in a form that may be printed. It is nil if all of it may.
	shown func(text string) string
	// secrets returns the secret parts of the text, by its name. It is nil if there are none.
	secrets func(name, text string) []llm.Key
	bounds  string // for documents: "1 to 64"
}

// An advice is an error about a value, with what to do about it.
type advice struct {
	error
	next string
}

// held returns a kind that a file holds as an H, written by write.
func held[H any](write func(H) string, set func(*values, string) error) kind {
	return kind{toml: reflect.TypeFor[H](), write: func(_ string, v any) (string, error) { return write(v.(H)), nil }, set: set}
}

// text accepts any text; a nil set leaves it unread.
func text(set func(*values, string) error) kind {
	return held(func(v string) string { return v }, set)
}

// mapping holds values by name, as one JSON text: it has no place on a command line.
func mapping[M ~map[string]V, V any](set func(*values, M)) kind {
	return kind{
		toml: reflect.TypeFor[M](),
		write: func(_ string, v any) (string, error) {
			if len(v.(M)) == 0 {
				return "", nil
			}
			text, err := json.Marshal(v)
			return string(text), err
		},
		set: func(v *values, text string) error {
			var m M
			err := json.Unmarshal([]byte(text), &m)
			set(v, m)
			return err
		},
	}
}

// toggle is a switch. A value that is neither on nor off must not be taken for off: AGENT_NO_PROMOTE=yes would promote.
func toggle(field func(*values) *bool) kind {
	k := held(func(on *bool) string {
		if on == nil {
			return ""
		}
		return strconv.FormatBool(*on)
	}, func(v *values, text string) error {
		on, err := strconv.ParseBool(text)
		if err != nil {
			return fmt.Errorf("invalid value %q: use true or false", text)
		}
		if field != nil {
			*field(v) = on
		}
		return nil
	})
	k.bounds = "true or false"
	return k
}

// list is a list of texts; an empty one counts as not set.
func list(set func(*values, []string) error) kind {
	k := held(func(items []string) string {
		if len(items) == 0 {
			return ""
		}
		return formatList(items)
	}, nil)
	if set != nil {
		k.set = func(v *values, text string) error { return set(v, ParseList(text)) }
	}
	return k
}

// debianPackages are package names. A workspace's own are added to the user's.
func debianPackages() kind {
	k := list(func(_ *values, names []string) error {
		if err := dependencies.CheckDebian(names); err != nil {
			return advice{err, "name packages as `apt-cache search` prints them"}
		}
		return nil
	})
	k.merge = func(outer, own string) (string, error) {
		return formatList(append(ParseList(outer), ParseList(own)...)), nil
	}
	return k
}

// protectedPaths are patterns. Whatever the user protects stays protected in every workspace.
func protectedPaths() kind {
	k := list(func(v *values, patterns []string) (err error) {
		if v.protect, err = policy.Protect(patterns); err != nil {
			return advice{err, "fix that pattern"}
		}
		return nil
	})
	k.merge = func(outer, own string) (string, error) {
		return formatList(append(ParseList(outer), ParseList(own)...)), nil
	}
	return k
}

// hosts are the hosts that boxes may reach. An empty list allows none, which differs from a list that is not set.
func hosts() kind {
	k := list(func(v *values, entries []string) (err error) {
		v.verify.Egress, err = egress.Parse(entries)
		return err
	})
	k.write = func(_ string, v any) (string, error) {
		if v.([]string) == nil {
			return "", nil
		}
		return formatList(v.([]string)), nil
	}
	k.merge = func(outer, own string) (string, error) {
		have, err := egress.Parse(ParseList(outer))
		if err != nil {
			return "", err
		}
		want, err := egress.Parse(ParseList(own))
		return formatList(have.Narrow(want).Entries()), err
	}
	return k
}

// pages are the hosts whose pages a model may read.
func pages() kind {
	return list(func(v *values, entries []string) (err error) {
		v.fetch, err = egress.Parse(entries)
		return err
	})
}

// number is a value that parse reads into a field, if there is one. A file holds it as an H; 0 and "" count as not set,
// since no number here has a meaning at zero, and the engine takes a limit of 0 for no limit.
func number[H comparable, T int | int64 | float64 | time.Duration | llm.Money](parse func(string) (T, error), field func(*values) *T) kind {
	k := kind{toml: reflect.TypeFor[H](), write: writeNumber[H]}
	k.set = func(v *values, text string) error {
		n, err := parse(text)
		if err == nil && field != nil {
			*field(v) = n
		}
		return err
	}
	k.more = func(want, have *values, unset string) bool {
		w, h := *field(want), *field(have)
		if unset == "" {
			return h > 0 && (w == 0 || w > h)
		}
		// Tests check the rows: their values can be read.
		d, err := parse(unset)
		if w == 0 {
			w = d
		}
		if h == 0 {
			h = d
		}
		return err != nil || w > h
	}
	return k
}

// writeNumber returns the text of a number, or of a text that stands for one.
func writeNumber[H comparable](_ string, v any) (string, error) {
	var zero H
	if v == any(zero) {
		return "", nil
	}
	if f, ok := v.(float64); ok {
		return strconv.FormatFloat(f, 'f', -1, 64), nil
	}
	return fmt.Sprint(v), nil
}

// duration is a time of at least a second, in Go's notation.
func duration(field func(*values) *time.Duration) kind {
	k := number[string](parseDuration, field)
	k.bounds = "1s or more"
	return k
}

// unbounded is a duration, or 0 for no end.
func unbounded(field func(*values) *time.Duration) kind {
	k := number[string](parseCountdown, field)
	k.bounds = "0, or 1s or more"
	return k
}

// quietHours are two times of day.
func quietHours() kind {
	return text(func(v *values, text string) (err error) {
		v.quiet, err = quiet.Parse(text)
		return err
	})
}

// parseCountdown reads how long something may take; 0 means no end.
func parseCountdown(text string) (time.Duration, error) {
	if text == "0" {
		return 0, nil
	}
	return parseDuration(text)
}

// count is an integer between least and most.
func count[T int | int64](least, most int64, field func(*values) *T) kind {
	k := number[int64](func(text string) (T, error) {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || n < least || n > most {
			return 0, fmt.Errorf("invalid number %q: use %d to %d", text, least, most)
		}
		return T(n), nil
	}, field)
	k.bounds = fmt.Sprintf("%d to %d", least, most)
	return k
}

// atLeast is an integer that is either 0, for the default, or at least least; below that no box could start, as package
// sandbox says.
func atLeast[T int | int64](least int64, field func(*values) *T, problem, next string) kind {
	k := number[int64](func(text string) (T, error) {
		n, err := strconv.ParseInt(text, 10, 64)
		switch {
		case err != nil:
			return 0, fmt.Errorf("invalid number %q: use %d or more", text, least)
		case n != 0 && n < least:
			return 0, advice{errors.New(problem), next}
		}
		return T(n), nil
	}, field)
	k.bounds = fmt.Sprintf("%d or more", least)
	return k
}

// processes is the number of processes in a box.
func processes() kind {
	return atLeast(32, func(v *values) *int64 { return &v.verify.Limits.PIDs }, "too few for any program", "use 32 or more")
}

// smokeSeconds is how many seconds the smoke test watches.
func smokeSeconds() kind {
	return atLeast(1, func(v *values) *int { return &v.verify.Smoke.Seconds }, "below 0", "use a number above 0")
}

// processors is the number of processors of a box.
func processors() kind {
	k := number[float64](func(text string) (float64, error) {
		f, err := strconv.ParseFloat(text, 64)
		if err != nil || !(f > 0 && f <= 1<<10) { // also refuses NaN
			return 0, fmt.Errorf("invalid number of processors %q: use a number above 0, up to 1024", text)
		}
		return f, nil
	}, func(v *values) *float64 { return &v.verify.Limits.CPUs })
	k.bounds = "above 0, up to 1024"
	return k
}

// money is an amount in whole units of the currency of the prices.
func money(field func(*values) *llm.Money) kind {
	k := number[float64](func(text string) (llm.Money, error) {
		f, err := strconv.ParseFloat(text, 64)
		if err != nil || !(f >= 0 && f <= 1e9) { // also refuses NaN
			return 0, fmt.Errorf("invalid amount %q: use e.g. 0.50", text)
		}
		// Less than a millionth would become no cap at all.
		amount := llm.Money(f * 1e6)
		if f > 0 && amount == 0 {
			return 0, fmt.Errorf("invalid amount %q: less than a millionth", text)
		}
		return amount, nil
	}, field)
	k.bounds = "0 to 1000000000"
	return k
}

// size is a number of bytes, with or without a unit.
func size(field func(*values) *int64) kind {
	k := number[any](parseBytes, field)
	k.bounds = "1 or more, as 512MiB"
	// A size is a number or a text; TOML has no type for "either".
	k.write = func(name string, v any) (string, error) {
		switch v := v.(type) {
		case nil:
			return "", nil
		case string:
			return v, nil
		case int64:
			return writeNumber[int64](name, v)
		}
		return "", fmt.Errorf("%s: use a number of bytes or a string such as \"512MiB\"", name)
	}
	return k
}

// memory is the memory of a box.
func memory() kind {
	const least = 16 << 20 // as package sandbox says
	k := size(func(v *values) *int64 { return &v.verify.Limits.Memory })
	read := k.set
	k.set = func(v *values, text string) error {
		err := read(v, text)
		if err == nil && v.verify.Limits.Memory < least {
			err = advice{errors.New("too little for any program"), "use 16MiB or more"}
		}
		return err
	}
	k.bounds = "16MiB or more"
	return k
}

// choice is one of the given words.
func choice(words []string, set func(*values, string)) kind {
	k := text(func(v *values, text string) error {
		if !slices.Contains(words, text) {
			return fmt.Errorf("invalid value %q: use %s", text, strings.Join(words, " or "))
		}
		set(v, text)
		return nil
	})
	k.bounds = strings.Join(words, " or ")
	return k
}

// testChoice says which tests run.
func testChoice() kind {
	return choice([]string{"all", "affected"},
		func(v *values, t string) { v.verify.AffectedTests = t == "affected" })
}

// expiry says what happens if a question gets no answer.
func expiry() kind {
	return choice([]string{"stop", "apply"}, func(*values, string) {})
}

// command is a list of arguments, or a text for the shell.
func command() kind {
	return kind{
		toml: reflect.TypeFor[any](),
		write: func(name string, v any) (string, error) {
			args, err := commandArgs(name, v)
			if len(args) == 0 {
				return "", err
			}
			return formatList(args), nil
		},
		set: func(v *values, text string) error { v.verify.Smoke.Command = ParseList(text); return nil },
	}
}

// environment holds variables by name. Anyone who sees the screen learns which exist, but not their values.
func environment() kind {
	k := mapping(func(v *values, env map[string]string) { v.verify.Smoke.Env = env })
	k.shown = func(text string) string {
		var env map[string]string
		if json.Unmarshal([]byte(text), &env) != nil {
			return text
		}
		return formatList(append([]string{}, slices.Sorted(maps.Keys(env))...))
	}
	k.secrets = credential.Environment
	return k
}

// priceList holds prices by model name; they are read when a model is asked.
func priceList() kind { return mapping(func(*values, llm.Prices) {}) }

// The bounds on a model's context, in tokens.
const minWindow, maxWindow = 1024, 1e7

// windowList holds the context sizes of models in tokens, by model name.
func windowList() kind {
	k := mapping(func(*values, map[string]int) {})
	read := k.set
	k.set = func(v *values, text string) error {
		if err := read(v, text); err != nil {
			return err
		}
		for name, n := range parseWindows(text) {
			if n < minWindow || n > maxWindow {
				return fmt.Errorf("invalid number %d for %q: use %d to %d", n, name, minWindow, int(maxWindow))
			}
		}
		return nil
	}
	return k
}

// samplingList holds the sampling of models, by model name.
func samplingList() kind {
	k := mapping(func(*values, map[string]llm.Sampling) {})
	read := k.set
	k.set = func(v *values, text string) error {
		if err := read(v, text); err != nil {
			return err
		}
		for name, s := range parseSamplings(text) {
			if !(s.Temperature >= 0 && s.Temperature <= 2) || !(s.TopP >= 0 && s.TopP <= 1) || s.TopK < 0 || s.TopK > 1000 {
				return fmt.Errorf("invalid sampling for %q: use temperature from 0 to 2, top_p from 0 to 1, top_k from 0 to 1000", name)
			}
		}
		return nil
	}
	return k
}

// toolList says how models are given tools, by model name.
func toolList() kind {
	k := mapping(func(*values, map[string]llm.ToolForm) {})
	read := k.set
	k.set = func(v *values, text string) error {
		if err := read(v, text); err != nil {
			return err
		}
		for name, form := range parseTools(text) {
			if form != llm.NativeTools && form != llm.EmulatedTools && form != llm.NoTools {
				return fmt.Errorf("invalid form %q for %q: use native, emulated or none", form, name)
			}
		}
		return nil
	}
	return k
}

// gateList holds the workspace's own gates.
func gateList() kind {
	return kind{
		toml:  reflect.TypeFor[[]gateConfig](),
		write: func(_ string, v any) (string, error) { return gatesText(v.([]gateConfig)) },
		set:   func(v *values, text string) (err error) { v.verify.Gates, err = parseGates(text); return err },
		merge: addGates,
	}
}

// databaseURL is the address of a Postgres.
func databaseURL() kind {
	k := text(func(_ *values, text string) error {
		if err := checkDatabaseURL(text); text != "" && err != nil {
			return advice{err, "use postgres://user:password@host:5432/database"}
		}
		return nil
	})
	k.shown, k.secrets = credential.MaskPassword, credential.URLPassword
	return k
}

// secretText is a text that is shown only by its name.
func secretText() kind {
	k := text(nil)
	k.shown = func(text string) string { return llm.NewKey(text).ID }
	k.secrets = credential.Named
	return k
}

// forgeKinds returns the vendors of forges, and "" for the one that the host implies.
func forgeKinds() []string {
	kinds := []string{""}
	for _, k := range forge.Kinds() {
		kinds = append(kinds, string(k))
	}
	return kinds
}

// checkDatabaseURL reports a URL that cannot be valid, without repeating it: it may hold a password.
func checkDatabaseURL(text string) error {
	// The parser's error repeats the text, including the password.
	u, err := url.Parse(text)
	if err != nil {
		return errors.New("not a URL")
	}
	if u.Scheme != "postgres" && u.Scheme != "postgresql" {
		return errors.New("the scheme is not postgres")
	}
	return nil
}

// address is a host or a URL at which a vendor answers.
func address() kind {
	k := text(nil)
	k.shown, k.secrets = credential.MaskHost, credential.URLPassword
	return k
}

// keyList is a list of credentials, separated by commas as in the environment.
func keyList() kind {
	k := held(func(keys []string) string { return strings.Join(keys, ",") }, nil)
	k.shown = credential.KeyIDs
	// A list that cannot be read was refused earlier, or is of no use here.
	k.secrets = func(_, text string) []llm.Key { keys, _ := llm.ParseKeys(text); return keys }
	return k
}
