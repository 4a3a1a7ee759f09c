package trial

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"agent/sandbox/workspace"
	"agent/sandbox/workspace/lang"
	"agent/sandbox/workspace/lazyregexp"
	"agent/verify/check"
)

// Tests that loop over a data file pass if nothing is left in it. Their own text is unchanged, so they are measured
// as if the patch had rewritten them.

// gives matches the functions and variables that a test file or a helper offers to others.
var gives = lazyregexp.New(`(?m)^\s*(?:export\s+)?(?:async\s+)?(?:def|function|func|const|let|var)\s+(\w+)`)

// readsData lists, sorted, the test files that read some of the data that a patch changes: they name the data file,
// its directory, or something in a file that names it, such as a fixture.
func readsData(v check.View, tests workspace.Changeset) (files []string) {
	names := map[string]*regexp.Regexp{}
	for _, c := range tests.Changes {
		p := check.OldPath(c)
		l := lang.Of(p)
		switch {
		case c.Op == workspace.Create || named(p) && path.Ext(p) != ".snap" || !isAid(p) || l != nil && l.Values == lang.Code:
		case path.Ext(p) == ".snap":
			// The name of a snapshot file tells which test file it belongs to.
			if of := path.Join(path.Dir(path.Dir(p)), strings.TrimSuffix(path.Base(p), ".snap")); v.Has(of) {
				files = append(files, of)
			}
		default:
			names[p] = regexp.MustCompile(namesData(v, p))
		}
	}
	if len(names) == 0 {
		return files
	}
	var texts []string
	for _, p := range v.Paths() {
		if l := lang.Of(p); l != nil && l.Values == lang.Code && (isTestModule(p) || isAid(p)) && !check.Installed(path.Dir(p)) {
			texts = append(texts, p)
		}
	}
	var given []string
	for _, p := range texts {
		text, reads := v.Text(p), false
		for data, name := range names {
			// A Go test runs in its directory, and a testdata directory there is its own.
			within := lang.Of(p).Family != lang.Go || path.Dir(p) == "." || strings.HasPrefix(data, path.Dir(p)+"/")
			reads = reads || within && name.MatchString(text)
		}
		if !reads {
			continue
		}
		if isTestModule(p) {
			files = append(files, p)
			continue
		}
		for _, m := range gives.FindAllStringSubmatch(text, -1) {
			given = append(given, regexp.QuoteMeta(m[1]))
		}
	}
	if len(given) > 0 {
		of := regexp.MustCompile(`\b(?:` + strings.Join(given, "|") + `)\b`)
		for _, p := range texts {
			if isTestModule(p) && of.MatchString(v.Text(p)) {
				files = append(files, p)
			}
		}
	}
	slices.Sort(files)
	return slices.Compact(files)
}

// namesData returns a pattern for texts that name a data file: by its own name, with or without its extension, or by
// the directory that contains it, unless that contains tests too.
func namesData(v check.View, p string) string {
	base, dir := path.Base(p), path.Base(path.Dir(p))
	form := `\b` + regexp.QuoteMeta(base)
	if stem := strings.TrimSuffix(base, path.Ext(base)); stem != "" {
		form += `|["'` + "`" + `/]` + regexp.QuoteMeta(stem) + `["'` + "`" + `./]`
	}
	if dir != "." && !slices.ContainsFunc(v.Paths(), func(q string) bool { return path.Dir(q) == path.Dir(p) && isTestModule(q) }) {
		form += `|["'` + "`" + `/]` + regexp.QuoteMeta(dir) + `["'` + "`" + `/]`
	}
	return form
}
