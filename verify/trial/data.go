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

// Tests that loop over a file of data pass when nothing is left in it. Their own text is as it was, and so they are
// measured as if the patch had rewritten them.

// gives matches the functions that a file of tests or a helper gives to others.
var gives = lazyregexp.New(`(?m)^\s*(?:export\s+)?(?:async\s+)?(?:def|function|func|const|let|var)\s+(\w+)`)

// readsData lists the files of tests that read some of the data that a patch changes, sorted: they name the file, its
// directory, or something of a file that does, such as a fixture.
func readsData(v check.View, tests workspace.Changeset) (files []string) {
	names := map[string]*regexp.Regexp{}
	for _, c := range tests.Changes {
		p := check.OldPath(c)
		l := lang.Of(p)
		switch {
		case c.Op == workspace.Create || named(p) && path.Ext(p) != ".snap" || !isAid(p) || l != nil && l.Values == lang.Code:
		case path.Ext(p) == ".snap":
			// What belongs to a file of snapshots is told by its name.
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
			// A test of Go runs in its directory, and what is called testdata there is its own.
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

// namesData is a pattern of the texts that name a file of data: by its own name, with or without its end, or by the directory that it
// is in, unless tests are in that too.
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
