package workspace

import (
	"bytes"
	"path"
	"slices"
	"strings"

	"github.com/moby/patternmatcher"
)

// SlotPrefix begins the name of a staged file that must be next to its target, because the target is on another mount
// than the journal.
const SlotPrefix = ".agent-slot-"

// leftDirs are directories that hold nothing a person wrote: installed dependencies, caches, and editors' own files.
var leftDirs = []string{
	// Installed dependencies: the toolchain image brings its own.
	"node_modules", "bower_components", "jspm_packages", "__pypackages__", "autovenv",
	// What Python and its tools remember of earlier runs. Such a cache could even make a gate report what was true on
	// the host.
	"__pycache__", ".mypy_cache", ".ruff_cache", ".pytest_cache", ".hypothesis", ".pytype",
	".tox", ".nox", ".cache", ".eggs", ".ipynb_checkpoints", ".direnv",
	// The same for JavaScript, the JVM and Terraform.
	".nyc_output", ".parcel-cache", ".turbo", ".next", ".nuxt", ".svelte-kit", ".gradle", ".terraform",
	// Editors: useless in a box, and often with absolute paths of the host.
	".vscode", ".idea",
}

// leftFiles are files of the same kind; a * at one end stands for anything.
var leftFiles = []string{
	"*.pyc", "*.pyo", ".coverage", ".DS_Store", "Thumbs.db", "desktop.ini", "*.swp", "*.swo", ".#*", SlotPrefix + "*",
}

// LeftDirs lists the names of directories that a scan leaves out whatever they hold: installed dependencies, caches,
// editors.
func LeftDirs() []string { return slices.Clone(leftDirs) }

// LeftFiles lists the names of files that a scan leaves out whatever they hold; a * at one end stands for anything.
func LeftFiles() []string { return slices.Clone(leftFiles) }

// leftOut says why an entry with the name rel is left out whatever it holds, or "" to keep it.
func leftOut(rel string, dir bool) string {
	base := path.Base(rel)
	switch {
	case base == ".git":
		return "git"
	// The directories of these can be larger than the sources.
	case controlNames[base] != "":
		return "other version control"
	case rel == ".agent":
		return "exports of the agent"
	case dir && slices.Contains(leftDirs, base):
		return "dependencies, cache or editor"
	case !dir && slices.ContainsFunc(leftFiles, func(p string) bool { return likes(p, base) }):
		return "left behind by a tool"
	}
	return ""
}

// likes is path.Match for the patterns of leftFiles. It is called for every name of a workspace, and is several times
// as fast.
func likes(pattern, name string) bool {
	if end, ok := strings.CutPrefix(pattern, "*"); ok {
		return strings.HasSuffix(name, end)
	}
	if start, ok := strings.CutSuffix(pattern, "*"); ok {
		return strings.HasPrefix(name, start)
	}
	return name == pattern
}

// Names that hold secrets. They are compared in lower case.
var (
	secretDirs  = []string{".ssh", ".aws", ".gnupg", ".kube"}
	secretFiles = []string{
		".env", ".netrc", "_netrc", ".pypirc", ".pgpass", ".git-credentials", ".htpasswd",
		"id_rsa", "id_dsa", "id_ecdsa", "id_ed25519", "id_ecdsa_sk", "id_ed25519_sk",
	}
	secretEnds = []string{".p12", ".pfx", ".jks", ".keystore"}
	// envSamples are the suffixes of .env files that are meant to be read.
	envSamples = []string{".example", ".sample", ".template", ".dist"}
)

// isSecret reports whether the name alone says that rel, or a directory on the
// way to it, holds secrets.
func isSecret(rel string) bool {
	parts := strings.Split(strings.ToLower(rel), "/")
	if slices.ContainsFunc(parts, func(p string) bool { return slices.Contains(secretDirs, p) }) {
		return true
	}
	base := parts[len(parts)-1]
	ends := func(suffix string) bool { return strings.HasSuffix(base, suffix) }
	switch {
	// A sample without values is part of the project, and programs read it.
	case strings.HasPrefix(base, ".env."):
		return !slices.ContainsFunc(envSamples, ends)
	// Registry passwords, unless a credential helper keeps them.
	case base == "config.json" && len(parts) > 1 && parts[len(parts)-2] == ".docker":
		return true
	}
	return slices.Contains(secretFiles, base) || slices.ContainsFunc(secretEnds, ends)
}

// maySecret reports whether the content of rel decides: see holdsSecret.
func maySecret(rel string) bool {
	base := strings.ToLower(path.Base(rel))
	return base == ".npmrc" || strings.HasSuffix(base, ".pem") || strings.HasSuffix(base, ".key")
}

// holdsSecret judges the content of a file that maySecret names.
func holdsSecret(rel string, content []byte) bool {
	if strings.EqualFold(path.Base(rel), ".npmrc") {
		return bytes.Contains(content, []byte("_auth")) || bytes.Contains(content, []byte("_password"))
	}
	return bytes.Contains(content, []byte("PRIVATE KEY"))
}

// excluder compiles the patterns of a workspace, nil when there are none.
func excluder(patterns []string) (*patternmatcher.PatternMatcher, error) {
	if len(patterns) == 0 {
		return nil, nil
	}
	return patternmatcher.New(patterns)
}
