package node

import (
	"encoding/json"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/Masterminds/semver/v3"
	"go.yaml.in/yaml/v3"

	"agent/sandbox/workspace"
	"agent/sandbox/workspace/lazyregexp"
	"agent/verify/check"
	"agent/verify/node/npmscript"
)

// The versions of node in the toolchain image: the usual one, which is the distribution's, and the one for workspaces that
// ask for more. A test compares them with the image's specification.
const (
	usualNode = "20.19.2"
	newerNode = "24.21.0"
)

// newerPath is where the newer one lies in a box.
var newerPath = check.Toolchain.OwnNode

// Suited returns tools with the node that a workspace asks for, and the versions of an image's tools, by name, with the
// version of that node. A patch does not choose it: base is the workspace before the patch.
func Suited(tools check.Tools, versions map[string]string, base check.View) (check.Tools, map[string]string) {
	if tools.Node != check.Toolchain.Node || !asksNewer(base) {
		return tools, versions
	}
	tools.Node, versions = newerPath, maps.Clone(versions)
	if version := versions["node24"]; version != "" {
		versions["node"] = version
	}
	return tools, versions
}

// Environment adds to the variables of a command that people or models run in a box what makes it find the node that a
// workspace asks for. A PATH that is already set stays as it is.
func Environment(env map[string]string, base *workspace.Manifest) map[string]string {
	tools, _ := Suited(check.Toolchain, nil, check.NewView(base, workspace.Changeset{}))
	if p := tools.Path(); p != "" && env["PATH"] == "" {
		return npmscript.Joined(env, map[string]string{"PATH": p})
	}
	return env
}

// otherCI lists the CI definitions that are not read: the versions that they name are most likely old.
var otherCI = []string{".travis.yml", "appveyor.yml", ".appveyor.yml", "azure-pipelines.yml", ".circleci/config.yml", ".gitlab-ci.yml"}

// asksNewer reports whether a workspace is for a later node than the usual one: its engines exclude that, a file that pins a
// version names a later one, or its continuous integration tests only with later ones. A package without any such version is
// developed with the newest long-term support version.
func asksNewer(v check.View) bool {
	var manifest struct {
		Engines map[string]string `json:"engines"`
		Volta   struct {
			Node string `json:"node"`
		} `json:"volta"`
	}
	free := json.Unmarshal([]byte(v.Text("package.json")), &manifest) == nil // a manifest that cannot be read asks for nothing
	if engines, err := semver.NewConstraint(manifest.Engines["node"]); err == nil && manifest.Engines["node"] != "" {
		if free = admits(engines, newerNode); !admits(engines, usualNode) {
			return free
		}
	}
	for _, pin := range []string{v.Text(".nvmrc"), v.Text(".node-version"), manifest.Volta.Node} {
		if n := majorOf(pin); n > 0 {
			return n > majorOf(usualNode)
		}
	}
	if list := testedWith(v); len(list) > 0 {
		return slices.Min(list) > majorOf(usualNode)
	}
	return free && !slices.ContainsFunc(otherCI, v.Has)
}

// admits reports whether a range contains a version.
func admits(r *semver.Constraints, version string) bool { return r.Check(semver.MustParse(version)) }

var (
	// majorVersion matches text that begins with a version number.
	majorVersion = lazyregexp.New(`^v?(\d{1,3})(?:\.|\s|$)`)
	// oldNames matches the long-term versions up to the usual one, by the names that version managers give them; all other
	// names are those of later ones (github.com/nodejs/Release).
	oldNames = lazyregexp.New(`(?i)^lts/(?:argon|boron|carbon|dubnium|erbium|fermium|gallium|hydrogen|iron)\b`)
	newNames = lazyregexp.New(`(?i)^(?:lts|node|latest|current|stable)\b`)
	// versionKey matches the keys of CI definitions that hold versions of node.
	versionKey = lazyregexp.New(`(?i)^node(?:js)?(?:[-_]?versions?)?$`)
)

// majorOf returns the first number of a node version as people write it, or 0 for any other text.
func majorOf(text string) int {
	text = strings.TrimSpace(text)
	if m := majorVersion.FindStringSubmatch(text); m != nil {
		n, _ := strconv.Atoi(m[1]) // three digits
		return n
	}
	switch {
	case oldNames.MatchString(text):
		return majorOf(usualNode)
	case newNames.MatchString(text):
		return majorOf(newerNode)
	}
	return 0
}

// mostOfWorkflow bounds the size in bytes of a definition that is read.
const mostOfWorkflow = 256 << 10

// testedWith lists the versions of node that the workflows of a workspace name.
func testedWith(v check.View) (list []int) {
	for _, p := range v.Paths() {
		if ext := path.Ext(p); path.Dir(p) != ".github/workflows" || ext != ".yml" && ext != ".yaml" {
			continue
		}
		var doc any
		if text := v.Text(p); len(text) <= mostOfWorkflow && yaml.Unmarshal([]byte(text), &doc) == nil {
			list = append(list, versionsIn(doc, false)...)
		}
	}
	return list
}

// versionsIn lists the versions in a part of a document; below says that the part is the value of such a key.
func versionsIn(part any, below bool) (list []int) {
	switch part := part.(type) {
	case map[string]any:
		for key, value := range part {
			list = append(list, versionsIn(value, versionKey.MatchString(key))...)
		}
	case []any:
		for _, value := range part {
			list = append(list, versionsIn(value, below)...)
		}
	case string:
		if n := majorOf(part); below && n > 0 {
			list = append(list, n)
		}
	case int:
		if below {
			list = append(list, part)
		}
	case float64:
		if below {
			list = append(list, int(part))
		}
	}
	return list
}
