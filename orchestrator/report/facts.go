package report

import (
	"path"
	"slices"
	"strings"

	"agent/orchestrator/ledger"
	"agent/sandbox/workspace/lang"
	"agent/sandbox/workspace/lazyregexp"
	"agent/verify/check"
)

// Facts are what analyzers see of a workspace.
type Facts struct {
	// The regular files, sorted by path, without those that a scan leaves out.
	Files []File
	// The symbolic links, sorted by path.
	Links []Link
	// The content of the files that Wants names, by path.
	Text map[string]string
	// Whether the workspace is in a git repository.
	Repository bool
	// The paths that git tracks although they are named like secrets.
	Tracked []string
	// The results of the scan of each file; nil if there was none.
	Ledger *ledger.Ledger
	// The gates' results for the workspace as it is; nil if they did not run.
	Checks []check.Standing
	// The dependencies that could not be installed, one sentence for each.
	Lacking []string
	// Why there is no Ledger, and why there are no Checks; "" if there are.
	NoLedger, NoChecks string
}

// A File is a regular file.
type File struct {
	// Slash-separated, relative to the workspace.
	Path string
	// In bytes.
	Size int64
	// It contains a NUL, or is not UTF-8.
	Binary bool
	// A tool wrote it and says so in it.
	Generated bool
	Lines     int
	// The ID of its language, or "".
	Language string
	// It holds tests, by its name or, if that is not enough, by its text.
	Test bool
	// The first line of a merge conflict that was left in it, or 0.
	Conflict int
	Secrets  []Secret
	// Why its content is unknown, "" if it is known.
	Unread string
}

// A Secret is a place that looks like a credential; it never holds the credential.
type Secret struct {
	// What it is, such as "an AWS access key".
	Rule string
	Line int
}

// A Link is a symbolic link.
type Link struct {
	Path, Target string
	// It leads to nothing, or out of the workspace.
	Broken, Outside bool
}

// has reports whether there is a file at p.
func (f *Facts) has(p string) bool {
	_, ok := slices.BinarySearchFunc(f.Files, p, func(e File, p string) int { return strings.Compare(e.Path, p) })
	return ok
}

// hasDir reports whether a file lies below dir.
func (f *Facts) hasDir(dir string) bool {
	i, _ := slices.BinarySearchFunc(f.Files, dir+"/", func(e File, p string) int { return strings.Compare(e.Path, p) })
	return i < len(f.Files) && strings.HasPrefix(f.Files[i].Path, dir+"/")
}

// leads reports whether p, relative to the workspace, is anything there: a file, a directory or a link.
func (f *Facts) leads(p string) bool {
	if p == "." || f.has(p) || f.hasDir(p) {
		return true
	}
	for at := p; at != "." && at != "/"; at = path.Dir(at) {
		if _, ok := slices.BinarySearchFunc(f.Links, at, func(l Link, p string) int { return strings.Compare(l.Path, p) }); ok {
			return true
		}
	}
	return false
}

// texts lists the paths of known texts that keep accepts, sorted.
func (f *Facts) texts(keep func(p string) bool) (list []string) {
	for p := range f.Text {
		if keep(p) {
			list = append(list, p)
		}
	}
	slices.Sort(list)
	return list
}

// code lists the files that people of the project wrote in a programming language, without tests.
func (f *Facts) code() (list []File) {
	for _, e := range f.Files {
		if e.isCode() && !e.Test && !lang.InTests(e.Path) && !aside(e.Path) {
			list = append(list, e)
		}
	}
	return list
}

// isCode reports whether a file is in a language that has tests, or is a shell script, and was written by hand.
func (e File) isCode() bool {
	l := lang.Named(e.Language)
	return l != nil && (l.Tests != nil || l.Family == lang.Shell) && !e.Generated && !e.Binary && !vendored(e.Path)
}

// lines returns the number of lines in files.
func lines(list []File) (n int) {
	for _, e := range list {
		n += e.Lines
	}
	return n
}

var (
	vendorDirs = lazyregexp.New(`(?i)(?:^|/)(?:vendor|vendored|third[_-]?party|external|extern|node_modules|_vendor)/`)
	asideDirs  = lazyregexp.New(`(?i)(?:^|/)(?:tests?|testdata|testing|test[_-][^/]*|[^/]*[_-]tests?|specs?|__tests__|e2e|fixtures?|mocks?|__mocks__|__snapshots__|examples?|samples?|demos?|docs?|docs[_-][^/]*|templates?|benchmarks?|bench)/|\{\{`)
)

// vendored reports whether a path belongs to a copy of somebody else's code.
func vendored(p string) bool { return vendorDirs.MatchString(p) }

// aside reports whether a path belongs to tests, examples, documents, templates or copies of other projects: oddities
// there are intentional, or somebody else's.
func aside(p string) bool {
	return vendored(p) || asideDirs.MatchString(p) || lang.IsTest(p)
}

// rootFile reports whether p lies where readers and hosts look for files about the whole: at the root, in .github,
// .gitlab, .gitea, .forgejo, docs or doc.
func rootFile(p string) bool {
	return slices.Contains([]string{".", ".github", ".gitlab", ".gitea", ".forgejo", "docs", "doc"}, strings.ToLower(path.Dir(p)))
}

// stemOf returns the base name of p in lower case without its extensions.
func stemOf(p string) string {
	stem, _, _ := strings.Cut(strings.ToLower(path.Base(p)), ".")
	return stem
}

// prose reports whether a path belongs to a text for people; one without an extension may.
func prose(p string) bool {
	l := lang.ByExtension(p)
	return l != nil && l.Prose || slices.Contains([]string{"", ".txt", ".org", ".asciidoc"}, strings.ToLower(path.Ext(p)))
}

// The bounds on what is read completely for Text.
const (
	// MaxText is the size of the largest file, in bytes, and MaxTexts the limit for all together.
	MaxText  = 4 << 20
	MaxTexts = 64 << 20
)

// Wants reports whether analyzers read the content of the file at p.
func Wants(p string) bool {
	base := strings.ToLower(path.Base(p))
	if vendored(p) {
		return false
	}
	return markdown(p) || rootFile(p) && prose(p) || isLicence(p) || ciFile(p) || manifestKind(p) != "" || lockKind(p) != "" || base == ".gitignore"
}

// markdown reports whether a file is Markdown.
func markdown(p string) bool { return lang.ByExtension(p) == lang.Named("markdown") }
