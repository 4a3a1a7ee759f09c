package dependencies

import (
	"cmp"
	"maps"
	"path"
	"slices"
	"strings"

	"agent/sandbox/workspace/deps"
	"agent/sandbox/workspace/lazyregexp"
)

// A resolverSetting is a setting that a workspace may pass to a package manager. It decides which versions fit each other
// and how they lie in node_modules, never where they come from, what runs, or what is read or written.
type resolverSetting struct {
	manager string // npm or pnpm
	key     string
	values  []string // the only ones that are passed on
}

var yesNo = []string{"true", "false"}

// resolverSettings are all that is taken from a .npmrc.
var resolverSettings = []resolverSetting{
	{"npm", "legacy-peer-deps", yesNo},
	{"npm", "force", yesNo},
	{"npm", "strict-peer-deps", yesNo},
	{"npm", "prefer-dedupe", yesNo},
	{"pnpm", "auto-install-peers", yesNo},
	{"pnpm", "strict-peer-dependencies", yesNo},
	{"pnpm", "dedupe-peer-dependents", yesNo},
	{"pnpm", "resolve-peers-from-workspace-root", yesNo},
	{"pnpm", "exclude-links-from-lockfile", yesNo},
	{"pnpm", "link-workspace-packages", []string{"true", "false", "deep"}},
	{"pnpm", "prefer-workspace-packages", yesNo},
	{"pnpm", "inject-workspace-packages", yesNo},
	{"pnpm", "hoist", yesNo},
	{"pnpm", "shamefully-hoist", yesNo},
	{"pnpm", "node-linker", []string{"hoisted", "isolated"}},
}

// option returns the setting as a word of the command line.
func (s resolverSetting) option(value string) string {
	if s.manager == "pnpm" {
		return "--config." + s.key + "=" + value
	}
	return "--" + s.key + "=" + value
}

// npmAdvice is what npm itself advises when it refuses.
const npmAdvice = "--legacy-peer-deps"

// rcLine matches a setting in a .npmrc.
var rcLine = lazyregexp.New(`^\s*([\w.-]+)\s*(?:=\s*(.*?)\s*)?$`)

// settingsOf returns the options that a .npmrc asks for a package manager, in the order of the table. If two lines have the
// same key, the last one counts.
func settingsOf(rc []byte, manager string) []string {
	found := map[string]string{}
	for line := range strings.Lines(string(rc)) {
		if m := rcLine.FindStringSubmatch(strings.TrimRight(line, "\r\n")); m != nil {
			found[m[1]] = cmp.Or(strings.Trim(m[2], `"'`), "true") // a key alone is a switch
		}
	}
	var options []string
	for _, s := range resolverSettings {
		if v := found[s.key]; s.manager == manager && slices.Contains(s.values, v) {
			options = append(options, s.option(v))
		}
	}
	return options
}

// Commands of npm that install, and the two options that are looked for there or in a variable, each within one line.
// Nothing else is taken from the text.
var (
	npmInstalls = lazyregexp.New(`\bnpm[ \t]+(?:[\w@./:=-]+[ \t]+)*?(?:ci|i|install|clean-install|install-clean)\b([^\n;&|]*)`)
	npmPeers    = lazyregexp.New(`(?:^|\s)--(legacy-peer-deps|force)(?:=true)?(?:["'\s\\]|$)`)
	npmVariable = lazyregexp.New(`(?i)\bnpm_config_(legacy_peer_deps|force)\b["']?\s*[:=]\s*["']?(?:true|1)\b`)
)

// isCI reports whether a file defines how the project is built elsewhere. It is read for options of npm and for installs by pip, never run.
func isCI(p string) bool {
	switch base := path.Base(p); base {
	case ".gitlab-ci.yml", ".travis.yml", "azure-pipelines.yml", "bitbucket-pipelines.yml", "appveyor.yml", "Dockerfile":
		return true
	}
	dir, ext := path.Dir(p), path.Ext(p)
	return (ext == ".yml" || ext == ".yaml") && (strings.HasSuffix("/"+dir, "/.github/workflows") || dir == ".circleci")
}

// promised returns the option that a project gives npm where it is built: in its CI definitions, else in the scripts of its
// package.json. from is the file that says so; "" for neither.
func promised(files map[string][]byte, root string) (option, from string) {
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if !isCI(name) {
			continue
		}
		if option := peersIn(string(files[name])); option != "" {
			return option, name
		}
	}
	name := path.Join(root, "package.json")
	fields, err := deps.ReadPackage(files[name])
	if err != nil {
		return "", ""
	}
	scripts, _ := fields["scripts"].(map[string]any)
	for _, key := range slices.Sorted(maps.Keys(scripts)) {
		line, _ := scripts[key].(string)
		if option := peersIn(line); option != "" {
			return option, name
		}
	}
	return "", ""
}

// peersIn finds the option in a text, "" for none.
func peersIn(text string) string {
	for _, m := range npmInstalls.FindAllStringSubmatch(text, -1) {
		if o := npmPeers.FindStringSubmatch(m[1]); o != nil {
			return "--" + o[1]
		}
	}
	if m := npmVariable.FindStringSubmatch(text); m != nil {
		return "--" + strings.ReplaceAll(strings.ToLower(m[1]), "_", "-")
	}
	return ""
}

// resolve completes the step of a place where Node packages are installed: with what its .npmrc says, and with what to try
// if the package manager refuses.
func (s *step) resolve(d *Set, files map[string][]byte) {
	manager := s.manager()
	rc := path.Join(s.root, ".npmrc")
	if options := settingsOf(files[rc], manager); len(options) > 0 {
		s.settings = strings.Join(options, " ")
		d.notef("%s runs with %s, as %s says", manager, s.settings, rc)
	}
	s.may = mayRetry + "\n" + mayDrop
	if manager != "npm" || strings.Contains(s.settings, npmAdvice+"=true") {
		return
	}
	s.retry, s.from = promised(files, s.root)
	s.retry = cmp.Or(s.retry, npmAdvice)
}
