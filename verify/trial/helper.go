package trial

import (
	"path"
	"regexp"

	"agent/sandbox/workspace"
	"agent/sandbox/workspace/lang"
	"agent/sandbox/workspace/lazyregexp"
	"agent/verify/check"
	"agent/verify/near"
)

// Tests are made of the modules with which they assert, wherever these are: a patch that empties one makes every test
// pass. Three signs together identify such a module: its text asserts, a test names it, and nothing of the program does.
//
// Each sign alone is ordinary: a pytest plugin asserts, and is the program.

// asserts matches, by language family, what a module contains with which tests assert.
var asserts = map[lang.Family]*lazyregexp.Regexp{
	lang.Python: lazyregexp.New(`(?m)^\s*raise\s+AssertionError\b|^\s*(?:import|from)\s+(?:pytest|unittest)\b(?:$|[^.]|\.case)|^def\s+(?:assert|expect|should|same|check|verify|must)\w*\(`),
	lang.Go:     lazyregexp.New(`(?m)^\s*(?:import\s+)?(?:\w+\s+)?"testing"\s*$`),
	lang.Script: lazyregexp.New(`\bAssertionError\b|(?:from|require\(|import)\s*["'](?:node:test|(?:node:)?assert(?:/strict)?|vitest|@jest/globals|chai|expect)["']|\b(?:function|const|let)\s+(?:assert|expect|should|same|equal|check|verify|must)\w*`),
}

// assertedBy lists the files of a changeset with which the tests of the base assert and the program does not. If
// nothing else of the program were changed, these files are the program, and it lists none.
func assertedBy(base *workspace.Manifest, cs workspace.Changeset) (files []string) {
	before := check.NewView(base, workspace.Changeset{})
	rest := 0
	for _, c := range cs.Changes {
		p := check.OldPath(c)
		l := lang.Of(p)
		switch {
		case l == nil || l.Values != lang.Code || isTestModule(p) || isAid(p):
		case c.Op != workspace.Create && asserts[l.Family] != nil && asserts[l.Family].MatchString(before.Text(p)) && onlyTestsName(before, l, p):
			files = append(files, c.Path)
		default:
			rest++
		}
	}
	if rest == 0 {
		return nil
	}
	return files
}

// onlyTestsName reports whether tests name a module, and neither the program nor the project's manifests do.
func onlyTestsName(base check.View, l *lang.Language, p string) bool {
	naming := near.Imports(l.Family, p)
	if naming == nil {
		return false
	}
	named := false
	for _, q := range base.Paths() {
		other := lang.Of(q)
		switch {
		case q == p || check.Installed(q):
		case l.Family == lang.Go && path.Dir(q) == path.Dir(p) && other != nil && other.Family == lang.Go && !isTestModule(q):
			// A file of the same package need not name it to use it, unless the whole package is there for tests.
			if !asserts[lang.Go].MatchString(base.Text(q)) {
				return false
			}
		case path.Base(q) == "pyproject.toml" || path.Base(q) == "setup.py" || path.Base(q) == "setup.cfg" || path.Base(q) == "package.json":
			if regexp.MustCompile(`[\w"'/.]\b` + regexp.QuoteMeta(near.Stem(p)) + `\b`).MatchString(base.Text(q)) {
				return false // as a plugin, or as part of what others are given
			}
		case other == nil || other.Family != l.Family || !naming.MatchString(base.Text(q)):
		case isTestModule(q) || isAid(q) || lang.InTests(q):
			named = true
		default:
			return false
		}
	}
	return named
}
