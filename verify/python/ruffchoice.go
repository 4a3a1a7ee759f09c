package python

import (
	"encoding/json"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"agent/sandbox/guest"
	"agent/sandbox/workspace/lazyregexp"
	"agent/verify/check"
)

// From version to version, ruff changes which rules it applies when a configuration selects none, and which rules a selected
// group holds. A project has chosen what it selects itself, in the version that it pins.

// A ruffChoice is what one configuration file selects.
type ruffChoice struct {
	// selects says that the file itself selects the rules.
	selects bool
	// added and ignored are the rules added to the default and those taken away, as codes or as prefixes of codes.
	added, ignored []string
	// extends is another file that this one builds upon, "" for none.
	extends string
}

// ruffTable holds the keys of a ruff configuration that select rules. Older configurations have them at the top, current
// ones below lint.
type ruffTable struct {
	Select       []string `toml:"select"`
	ExtendSelect []string `toml:"extend-select"`
	Ignore       []string `toml:"ignore"`
	ExtendIgnore []string `toml:"extend-ignore"`
}

// readRuff reads one file; ok is false if the file says nothing about ruff.
func readRuff(text, name string) (c ruffChoice, ok bool) {
	type table struct {
		ruffTable
		Extend string    `toml:"extend"`
		Lint   ruffTable `toml:"lint"`
	}
	var found *table
	if path.Base(name) == "pyproject.toml" {
		var file struct {
			Tool struct {
				Ruff *table `toml:"ruff"`
			} `toml:"tool"`
		}
		if toml.Unmarshal([]byte(text), &file) != nil || file.Tool.Ruff == nil {
			return c, false
		}
		found = file.Tool.Ruff
	} else if found = new(table); toml.Unmarshal([]byte(text), found) != nil {
		return c, false
	}
	for _, t := range []ruffTable{found.ruffTable, found.Lint} {
		c.selects = c.selects || t.Select != nil
		c.added = append(c.added, t.ExtendSelect...)
		c.ignored = slices.Concat(c.ignored, t.Ignore, t.ExtendIgnore)
	}
	c.extends = found.Extend
	return c, true
}

// ruffNames are the files that configure ruff, in ruff's order of preference within a directory.
var ruffNames = []string{".ruff.toml", "ruff.toml", "pyproject.toml"}

// ruffChoices maps the directories that configure ruff at the base to their choices.
func ruffChoices(base check.View) map[string]ruffChoice {
	return check.Recall(base, "choices of ruff", func() map[string]ruffChoice {
		all := map[string]ruffChoice{}
		for _, p := range base.Paths() {
			dir, rank := path.Dir(p), slices.Index(ruffNames, path.Base(p))
			if _, done := all[dir]; rank < 0 || done && path.Base(p) == "pyproject.toml" {
				continue
			}
			if c, ok := readRuff(base.Text(p), p); ok {
				all[dir] = extended(base, dir, c)
			}
		}
		return all
	})
}

// extended adds to a choice the choices of the files that it builds upon.
func extended(base check.View, dir string, c ruffChoice) ruffChoice {
	for range check.MostFollowed {
		if c.extends == "" {
			return c
		}
		name := path.Join(dir, c.extends)
		more, _ := readRuff(base.Text(name), name)
		c.selects, c.added, c.ignored = c.selects || more.selects, append(c.added, more.added...), append(c.ignored, more.ignored...)
		c.extends, dir = more.extends, path.Dir(name)
	}
	return c
}

// ruleIn reports whether a rule is among some, which are codes, prefixes of codes or ALL.
func ruleIn(rule string, some []string) bool {
	return slices.ContainsFunc(some, func(s string) bool { return s == "ALL" || s != "" && strings.HasPrefix(rule, s) })
}

// chosen reports whether the project asks for a rule at the place of a file, apart from the defaults of this very version of
// ruff. A finding about text that does not parse always counts.
func (c ruffChoice) chosen(rule string) bool {
	if c.selects || !ruleCode.MatchString(rule) || ruleIn(rule, c.added) {
		return true
	}
	return ruleIn(rule, strings.Split(lintRules, ",")) && !ruleIn(rule, strings.Split(unlintRules, ",")) && !ruleIn(rule, c.ignored)
}

var (
	ruleCode = lazyregexp.New(`^[A-Z]+\d+$`)
	// pinnedRuff matches the version of ruff that a project pins, in its requirements and in its pre-commit hooks.
	pinnedRuff = []*lazyregexp.Regexp{
		lazyregexp.New(`ruff-pre-commit["']?\s*\n(?:\s*#.*\n)*\s*rev:\s*["']?v?(\d+\.\d+\.\d+)`),
		lazyregexp.New(`(?m)^\s*(?:- )?["']?ruff(?:\s*==\s*|\s*~=\s*)v?(\d+\.\d+\.\d+)`),
		lazyregexp.New(`(?m)^name = "ruff"\s*\nversion = "(\d+\.\d+\.\d+)"`),
	}
	pinnedFiles = lazyregexp.New(`^(?:\.pre-commit-config\.yaml|pyproject\.toml|tox\.ini|uv\.lock|poetry\.lock|[\w/-]*requirements[\w/-]*\.(?:txt|in))$`)
)

// newDefaults is the version of ruff that introduced the default rules of this one. A project that pins it or a later
// version has these rules.
var newDefaults = []int{0, 16, 0}

// pinned returns the version of ruff that the base pins, or nil for none.
func pinned(base check.View) []int {
	for _, re := range pinnedRuff {
		for _, p := range base.Paths() {
			if pinnedFiles.MatchString(p) {
				if m := re.FindStringSubmatch(base.Text(p)); m != nil {
					return version(m[1])
				}
			}
		}
	}
	return nil
}

// version parses the numbers of a version.
func version(text string) (numbers []int) {
	for _, part := range strings.Split(strings.TrimPrefix(text, "v"), ".") {
		n, err := strconv.Atoi(part)
		if err != nil {
			return nil
		}
		numbers = append(numbers, n)
	}
	return numbers
}

// rulesCommand lists all rules of this ruff, each with the version that introduced it.
func rulesCommand(b check.Bench) guest.Command {
	return guest.Command{Args: []string{b.Tools.Ruff, "rule", "--all", "--output-format", "json"}, Dir: "/", MaxOutput: check.MaxToolOutput}
}

// since reads from that list the first version that has each rule.
func since(res guest.Result) map[string][]int {
	var rules []struct {
		Code   string                       `json:"code"`
		Status map[string]map[string]string `json:"status"`
	}
	if res.Exit != 0 || json.Unmarshal(res.Stdout.Head, &rules) != nil {
		return nil
	}
	first := map[string][]int{}
	for _, r := range rules {
		for _, status := range r.Status {
			if v := version(status["since"]); v != nil {
				first[r.Code] = v
			}
		}
	}
	return first
}

// projectsOwn keeps those of ruff's findings that the project's configuration asks for, in the version that it pins.
func projectsOwn(base check.View, found []check.Finding, first map[string][]int) []check.Finding {
	choices, pin := ruffChoices(base), pinned(base)
	todays := slices.Compare(pin, newDefaults) >= 0
	if len(choices) == 0 {
		return found
	}
	return slices.DeleteFunc(found, func(f check.Finding) bool {
		dir := check.Nearest(choices, path.Dir(f.File))
		if c, ok := choices[dir]; ok && !todays && !c.chosen(f.Rule) {
			return true
		}
		began := first[f.Rule]
		return pin != nil && began != nil && slices.Compare(began, pin) > 0
	})
}
