package audit

import (
	"path"
	"slices"
	"strings"

	"agent/sandbox/workspace/lang"
	"agent/sandbox/workspace/lazyregexp"
	"agent/verify/check"
)

// anyTools are programs that run whatever a workspace tells them to.
var anyTools = []string{"make", "gmake", "just", "task", "bazel", "bazelisk", "buck2", "pants", "sh", "bash", "env", "xargs"}

// re compiles an expression of this package's tables.
func re(text string) *lazyregexp.Regexp { return lazyregexp.New(text) }

// testsOf says how tests are named in the language of a file, or nil if the language is unknown.
func testsOf(p string) *lang.Tests {
	if l := lang.ByExtension(p); l != nil {
		return l.Tests
	}
	return nil
}

// offstage reports whether a file is not a test of the workspace: it was installed, or tests work on it.
func offstage(p string) bool {
	dir := path.Dir(p)
	return dir != "." && (check.Installed(dir) || slices.ContainsFunc(strings.Split(dir, "/"), func(part string) bool {
		return slices.Contains([]string{"third_party", "bower_components", "__fixtures__"}, part)
	}))
}

// proseNames are the first words in the names of files that are only for people.
var proseNames = []string{"readme", "changelog", "changes", "license", "licence", "copying", "authors", "contributors", "contributing", "code_of_conduct", "notice", "security", "news", "history", "maintainers", "codeowners"}

// isProse reports whether a file is text for people that no program reads. A document that is neither at the top nor in
// a directory for documents may be data.
func isProse(p string) bool {
	dir, name := path.Dir(p), strings.ToLower(path.Base(p))
	ext := path.Ext(name)
	document := slices.Contains(lang.Extensions("markdown", "restructuredtext", "asciidoc"), ext)
	if lang.InTests(p) || offstage(p) && !strings.HasPrefix(p, ".github/") {
		return false
	}
	if document || ext == "" || ext == ".txt" {
		stem := strings.TrimSuffix(name, ext)
		if slices.ContainsFunc(proseNames, func(known string) bool {
			return stem == known || strings.HasPrefix(stem, known+"-") || strings.HasPrefix(stem, known+".")
		}) {
			return true
		}
	}
	top, _, _ := strings.Cut(p, "/")
	return document && (dir == "." || slices.Contains([]string{"docs", "doc", ".github"}, strings.ToLower(top)))
}
