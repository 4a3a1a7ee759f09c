package report

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"agent/sandbox/workspace/lazyregexp"
	"agent/verify/policy/acting"
)

// notBuilding lists the tools in the table of acting files that do not build and test: they propose changes or publish.
var notBuilding = []string{
	"Dependabot", "Renovate", "Mergify", "Read the Docs", "GoReleaser", "semantic-release", "Release Please", "Changesets", "Netlify", "Vercel", "Heroku", "Fly.io",
	"Render", "Railway", "Nixpacks", "Serverless", "Google App Engine", "AWS CodeDeploy", "AWS Amplify", "AWS Elastic Beanstalk", "Platform.sh", "Cloudflare Workers",
	"Firebase", "Pulumi", "Dagger", "Earthly", "Heroku apps", "Azure Developer CLI", "Atlantis", "Digger", "Qodana",
}

// A server is a system that builds and tests, with the patterns of its files.
type server struct {
	tool string
	is   []acting.Pattern
}

// servers are the rows of package acting that build and test.
var servers = func() (list []server) {
	for _, r := range acting.Rows(acting.InCI) {
		if !slices.Contains(notBuilding, r.Tool) {
			list = append(list, server{r.Tool, acting.Compile(r.Names)})
		}
	}
	return list
}()

// serverOf names the build server that the file at p configures, or "".
func serverOf(p string) string {
	low, at := strings.ToLower(p), acting.NewPath(p)
	for _, s := range servers {
		if at.In(s.is) {
			// Other files in the directory of workflows, and actions for others, start nothing by themselves.
			if s.tool == "GitHub Actions" && !workflow(p) || (s.tool == "Gitea Actions" || s.tool == "Forgejo Actions") && !strings.Contains(low, "/workflows/") ||
				s.tool == "GitLab CI" && strings.HasPrefix(low, ".gitlab/") {
				return ""
			}
			return s.tool
		}
	}
	return ""
}

// ciFile reports whether the analyzer of build servers reads the file at p.
func ciFile(p string) bool { return serverOf(p) != "" }

// workflow reports whether a file is a workflow in GitHub's language, at a place where it is read.
func workflow(p string) bool {
	dir, ext := path.Dir(strings.ToLower(p)), strings.ToLower(path.Ext(p))
	return slices.Contains([]string{".github/workflows", ".gitea/workflows", ".forgejo/workflows"}, dir) && (ext == ".yml" || ext == ".yaml")
}

// ci lists the paths of files that configure build servers for the whole workspace.
func (f *Facts) ci() []string {
	return f.texts(func(p string) bool { return serverOf(p) != "" && !aside(p) && strings.Count(p, "/") <= 2 })
}

// ciThere is 1 if a build server is configured.
func ciThere(f *Facts) value {
	var tools []string
	for _, p := range f.ci() {
		if t := serverOf(p); !slices.Contains(tools, t) {
			tools = append(tools, t)
		}
	}
	if len(tools) == 0 {
		return lacks(Detail{Status: Fail, Message: "no build server is configured: nothing builds or tests a change before it is merged", Next: "add a workflow that builds and tests each pull request; `agent help ci` has recipes"})
	}
	return whole(strings.Join(tools, ", "))
}

// ciSound is the share of their YAML files that can be read.
func ciSound(f *Facts) value {
	files := f.ci()
	if len(files) == 0 {
		return value{}
	}
	all, bad := 0, []Detail{}
	for _, p := range files {
		if ext := strings.ToLower(path.Ext(p)); ext != ".yml" && ext != ".yaml" {
			continue
		}
		all++
		if _, err := readYAML(f.Text[p]); err != nil {
			bad = append(bad, Detail{Status: Fail, File: p, Line: yamlLine(err), Message: "the build server cannot read it: " + err.Error(), Next: "correct the YAML"})
		}
	}
	if all == 0 {
		return value{score: 1}
	}
	return share(len(bad), all, bad)
}

var (
	// testing matches commands that test, or that call a script of the project. "latest" does not match.
	testing     = lazyregexp.New(`(?i)(?:\b|_|-)tests?(?:\b|_|-|[A-Z]|ing)|pytest|unittest|gotestsum|nextest|ctest|testthat|\bcheck\b|verif|\bci\b|\btox\b|\bnox\b|\bmake\b|\bjust\b|bazel|gradle|\bmvnw?\b|maven|r?spec\b|cover|\./|scripts?/|(?:ba)?sh\s+\S+\.sh|\btask\b|\bmage\b|ninja|hatch|stack|cabal|\bmix\b|swift|xcodebuild|jest|mocha|\bnpm t\b`)
	testAction  = lazyregexp.New(`(?i)(?:\b|_|-)tests?(?:\b|_|-)|/\.github/workflows/|^\./|tox|pre-commit`)
	yamlLineNum = lazyregexp.New(`line (\d+)`)
)

// ciTests is 1 if a command of some build server runs tests, as far as its words say, or leaves that to a workflow or
// script elsewhere. If there are no tests, that is only noted.
func ciTests(f *Facts) value {
	files := f.ci()
	for _, p := range files {
		if !workflow(p) {
			if testing.MatchString(f.Text[p]) {
				return value{score: 1}
			}
			continue
		}
		root, err := readYAML(f.Text[p])
		if err != nil {
			continue
		}
		found := false
		each(root, func(key string, n *yaml.Node) {
			// Another workflow may do the job, and an action of that name may test.
			found = found || key == "run" && testing.MatchString(n.Value) || key == "uses" && testAction.MatchString(n.Value)
		})
		if found {
			return value{score: 1}
		}
	}
	if len(files) == 0 {
		return value{} // ciThere has reported it
	}
	d := Detail{Status: Warn, File: files[0], Message: "no build server runs the tests", Next: "add a step that runs them"}
	if f.tests() == 0 {
		d.Status, d.Message = Note, "no build server runs tests, and there are none"
	}
	return lacks(d)
}

// ciPulls is 1 if changes are built before they are merged: a workflow runs on pull requests or on pushes to any
// branch, or there is another build server, which does so by itself.
func ciPulls(f *Facts) value {
	files := f.ci()
	if len(files) == 0 {
		return value{}
	}
	unread := false
	for _, p := range files {
		on, err := onPulls(f.Text[p])
		if !workflow(p) || on {
			return value{score: 1}
		}
		unread = unread || err != nil
	}
	if unread {
		return value{} // ciSound has reported it
	}
	return lacks(Detail{Status: Warn, File: files[0], Message: "no workflow runs on pull requests", Next: "add pull_request to its `on:`"})
}

// onPulls reports whether a workflow runs on changes that are not merged yet. The error means that the workflow cannot be read.
func onPulls(text string) (bool, error) {
	root, err := readYAML(text)
	on := field(root, "on")
	if err != nil || on == nil {
		return false, err
	}
	named := func(name string) bool {
		return on.Value == name || field(on, name) != nil || on.Kind == yaml.SequenceNode && slices.ContainsFunc(on.Content, func(n *yaml.Node) bool { return n.Value == name })
	}
	push := field(on, "push")
	return named("pull_request") || named("pull_request_target") || named("merge_group") ||
		named("push") && (push == nil || field(push, "branches") == nil && field(push, "tags") == nil), nil
}

// gone lists machines and actions that GitHub has removed: a job that names one does not run. (github.blog/changelog;
// github.com/actions/runner-images)
var gone = []struct {
	is  *lazyregexp.Regexp
	now string
}{
	{lazyregexp.New(`^(?:ubuntu-(?:14|16|18|20)\.04|windows-201[69]|macos-10\.\d+|macos-1[123])$`), "name a machine that exists, such as ubuntu-latest"},
	{lazyregexp.New(`^actions/(?:upload|download)-artifact@v[123](?:\.|$)`), "use version 4 of the action"},
	{lazyregexp.New(`^actions/cache(?:/\w+)?@v[12](?:\.|$)`), "use version 4 of the action"},
}

// ciAlive is the mean over the workflows; each falls with every machine or action that it names and that no longer exists.
func ciAlive(f *Facts) value {
	files := f.ci()
	if len(files) == 0 {
		return value{}
	}
	var bad []Detail
	var m mean
	for _, p := range files {
		if !strings.HasPrefix(strings.ToLower(p), ".github/") {
			continue
		}
		root, err := readYAML(f.Text[p])
		if err != nil {
			m.add(0)
			continue
		}
		before := len(bad)
		each(root, func(key string, n *yaml.Node) {
			for _, g := range gone {
				if n.Kind == yaml.ScalarNode && (key == "uses") == strings.Contains(n.Value, "@") && g.is.MatchString(n.Value) {
					bad = append(bad, Detail{Status: Warn, File: p, Line: n.Line, Message: n.Value + " no longer exists: the job fails or waits forever", Next: g.now})
				}
			}
		})
		m.add(falling(len(bad) - before))
	}
	return m.value(bad)
}

// readYAML reads a document without following aliases.
func readYAML(text string) (root *yaml.Node, err error) {
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte(text), &doc); err != nil {
		return nil, err
	}
	if len(doc.Content) == 0 {
		return nil, fmt.Errorf("it is empty")
	}
	return doc.Content[0], nil
}

// yamlLine returns the line that a YAML error names, or 0.
func yamlLine(err error) (n int) {
	if m := yamlLineNum.FindStringSubmatch(err.Error()); m != nil {
		fmt.Sscan(m[1], &n)
	}
	return n
}

// field returns the value of a key in a mapping, or nil.
func field(n *yaml.Node, key string) *yaml.Node {
	if n == nil || n.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return n.Content[i+1]
		}
	}
	return nil
}

// each calls visit with every scalar below n and the nearest key above it.
func each(n *yaml.Node, visit func(key string, n *yaml.Node)) { walk(n, "", 0, visit) }

// maxDepth is the depth to which a document is searched.
const maxDepth = 50

func walk(n *yaml.Node, key string, depth int, visit func(key string, n *yaml.Node)) {
	if n == nil || depth > maxDepth {
		return
	}
	switch n.Kind {
	case yaml.ScalarNode:
		visit(key, n)
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			walk(n.Content[i+1], n.Content[i].Value, depth+1, visit)
		}
	case yaml.SequenceNode:
		for _, c := range n.Content {
			walk(c, key, depth+1, visit)
		}
	}
}
