package node

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	shell "mvdan.cc/sh/v3/syntax"

	"agent/sandbox/guest"
	"agent/verify/check"
	"agent/verify/compare"
)

// A Root is a directory with a package.json.
type Root struct {
	Dir     string
	Scripts map[string]string
	// What it has its tools from, by name.
	needs map[string]bool
}

// Roots lists those of a view, sorted, but for what lies in node_modules. A
// file that cannot be read configures nothing: the syntax gate tells.
func Roots(v check.View) []Root {
	return check.Recall(v, "packages", func() []Root { return listPackageRoots(v) })
}

func listPackageRoots(v check.View) []Root {
	var roots []Root
	for _, p := range v.Paths() {
		if path.Base(p) != "package.json" || strings.Contains("/"+p, "/node_modules/") {
			continue
		}
		var manifest struct {
			Scripts      map[string]string `json:"scripts"`
			Dependencies map[string]string `json:"dependencies"`
			Development  map[string]string `json:"devDependencies"`
			Optional     map[string]string `json:"optionalDependencies"`
		}
		data, err := v.Read(p)
		if err != nil || json.Unmarshal(data, &manifest) != nil {
			continue
		}
		needs := map[string]bool{}
		for _, list := range []map[string]string{manifest.Dependencies, manifest.Development, manifest.Optional} {
			for name := range list {
				needs[name] = true
			}
		}
		// npm writes this into a new package.json.
		if strings.Contains(manifest.Scripts["test"], "no test specified") {
			delete(manifest.Scripts, "test")
		}
		roots = append(roots, Root{Dir: path.Dir(p), Scripts: manifest.Scripts, needs: needs})
	}
	return roots
}

// A packageUse is a tool of npm as one package.json uses it.
type packageUse struct {
	root string
	// What its script sets, gives to node and gives to the tool.
	env           map[string]string
	options, args []string
}

// dir is the package's directory.
func (u packageUse) dir() string { return u.root }

// dirs lists the directories of a list's elements.
func dirs[T any](list []T, dir func(T) string) (found []string) {
	for _, item := range list {
		found = append(found, dir(item))
	}
	return found
}

// packageUses lists the packages of a view that use a tool: those with a script
// of one of the kinds that starts it, and those that only name it and have
// no such script. The tool must be named there or in a package above, where a
// monorepo has its tools.
func packageUses(v check.View, tool string, kinds ...string) []packageUse {
	roots := Roots(v)
	var uses []packageUse
	for _, r := range roots {
		above := func(o Root) bool {
			return o.needs[tool] && (o.Dir == "." || o.Dir == r.Dir || strings.HasPrefix(r.Dir, o.Dir+"/"))
		}
		if !slices.ContainsFunc(roots, above) {
			continue
		}
		names := slices.DeleteFunc(slices.Sorted(maps.Keys(r.Scripts)), func(name string) bool {
			kind, _, _ := strings.Cut(name, ":")
			return !slices.Contains(kinds, kind)
		})
		use, ok := packageUse{}, false
		for _, name := range names {
			if use, ok = scriptUse(r.Scripts[name], tool); ok {
				break
			}
		}
		if ok || len(names) == 0 && r.needs[tool] {
			use.root = r.Dir
			uses = append(uses, use)
		}
	}
	return uses
}

// Words that may stand before a tool in a script: programs that start another one.
var starters = []string{"npx", "pnpm", "yarn", "exec", "cross-env", "c8", "nyc", "node", "--"}

// setting matches a variable that a script sets.
var setting = regexp.MustCompile(`^(\w+)=(.*)$`)

// scriptUse finds the first command of a script that starts a tool. The script
// is only read: what it would do besides is left out.
func scriptUse(script, tool string) (use packageUse, ok bool) {
	file, err := shell.NewParser().Parse(strings.NewReader(script), "")
	if err != nil {
		return packageUse{}, false
	}
	shell.Walk(file, func(n shell.Node) bool {
		call, isCall := n.(*shell.CallExpr)
		if ok || !isCall {
			return !ok
		}
		var words []string
		for _, a := range call.Assigns {
			if a.Name != nil && a.Value != nil {
				words = append(words, a.Name.Value+"="+literal(a.Value))
			}
		}
		for _, w := range call.Args {
			if text := literal(w); text != "" {
				words = append(words, text)
			}
		}
		use, ok = wordsUse(words, tool)
		return !ok
	})
	return use, ok
}

// literal is the text of a word that a shell does not have to work out, else "".
func literal(w *shell.Word) string {
	var text strings.Builder
	for _, part := range w.Parts {
		switch part := part.(type) {
		case *shell.Lit:
			text.WriteString(part.Value)
		case *shell.SglQuoted:
			text.WriteString(part.Value)
		case *shell.DblQuoted:
			for _, inner := range part.Parts {
				lit, ok := inner.(*shell.Lit)
				if !ok {
					return ""
				}
				text.WriteString(lit.Value)
			}
		default:
			return ""
		}
	}
	return text.String()
}

// wordsUse reads one command of a script.
func wordsUse(words []string, tool string) (use packageUse, ok bool) {
	use.env = map[string]string{}
	node, value := false, false
	for i, w := range words {
		base := path.Base(w)
		switch m := setting.FindStringSubmatch(w); {
		case value:
			use.options, value = append(use.options, w), false
		case strings.TrimSuffix(base, path.Ext(base)) == tool:
			use.args = words[i+1:]
			return use, true
		case m != nil:
			use.env[m[1]] = m[2]
		case strings.HasPrefix(w, "-") && w != "--":
			// Of the others than node the options say how they start the tool.
			if node {
				use.options = append(use.options, w)
				value = slices.Contains([]string{"--import", "--require", "-r", "--loader", "--conditions", "-C"}, w)
			}
		case !slices.Contains(starters, w):
			return packageUse{}, false
		default:
			node = w == "node"
		}
	}
	return packageUse{}, false
}

// without leaves out of a tool's arguments the options of these names, each with
// its value where that is the next word and takes says that it has one.
func without(args []string, takes map[string]bool) []string {
	var kept []string
	for i := 0; i < len(args); i++ {
		name, _, joined := strings.Cut(args[i], "=")
		valued, dropped := takes[name]
		if !dropped {
			kept = append(kept, args[i])
		} else if valued && !joined && i+1 < len(args) && !strings.HasPrefix(args[i+1], "-") {
			i++
		}
	}
	return kept
}

// An installedPackage is a tool as a box has it for one package.
type installedPackage struct {
	// Absolute: where it lies, and the program that its package.json names.
	Dir     string `json:"dir"`
	Program string `json:"program"`
	Version string `json:"version"`
}

// findPackages is the program for node that finds a tool from some directories,
// in the way of node itself. It opens files and runs nothing of them.
const findPackages = `const fs = require("node:fs"), path = require("node:path");
const [top, name, bin, ...dirs] = process.argv.slice(1);
console.log(JSON.stringify(dirs.map((dir) => {
  for (;; dir = path.dirname(dir)) {
    const at = path.join(dir, "node_modules", name);
    try {
      const { bin: bins, version } = JSON.parse(fs.readFileSync(path.join(at, "package.json"), "utf8"));
      return { dir: at, program: path.join(at, typeof bins === "string" ? bins : bins[bin]), version: String(version) };
    } catch {}
    if (dir === top || dir === "/") return null;
  }
})));`

// installed finds a tool and its program for each of its uses; nil where it is not
// installed.
func installed(ctx context.Context, b check.Bench, tool, program string, uses []packageUse) ([]*installedPackage, check.Outcome, bool) {
	args := []string{b.Tools.Node, "-e", findPackages, "--", check.Work, tool, program}
	for _, u := range uses {
		args = append(args, path.Join(check.Work, u.root))
	}
	res, out, done := b.Command(ctx, guest.Command{Args: args, Dir: "/"})
	if !done {
		return nil, out, false
	}
	var found []*installedPackage
	if err := json.Unmarshal(res.Stdout.Head, &found); err != nil || res.Exit != 0 || len(found) != len(uses) {
		return nil, check.Infraf("look for %s: exit status %d: %s", tool, res.Exit, check.FirstLine(check.Clean(check.Bytes(res.Stderr)))), false
	}
	return found, out, true
}

// AbsentCure ends what Absent says: what to do where the workspace's packages were not asked for.
const AbsentCure = ": commit a lock file that has it, and run without --no-install"

// Absent says that a tool is named and not there, and the cure.
func Absent(tool, root string) string {
	return tool + " of " + path.Join(root, "package.json") + " is not installed" + AbsentCure
}

// IsAbsent tells that from every other trouble, none of which begins like it,
// whatever a tool wrote.
func IsAbsent(tool string, out check.Outcome) bool {
	return strings.HasPrefix(out.Blocked, tool+" of ")
}

// useCommand starts an installed tool as a use says, with other arguments.
func useCommand(b check.Bench, u packageUse, p installedPackage, args ...string) guest.Command {
	env := map[string]string{"NODE_ENV": "test"}
	maps.Copy(env, u.env)
	env["CI"], env["FORCE_COLOR"] = "1", "0"
	return guest.Command{
		Args: slices.Concat([]string{b.Tools.Node}, u.options, []string{p.Program}, args), Dir: path.Join(check.Work, u.root), Env: env,
	}
}

// nodeComplaint is the line of what a program of node wrote that says what is wrong.
func nodeComplaint(res guest.Result) string {
	text := check.Clean(check.Bytes(res.Stderr)) + "\n" + check.Clean(check.Bytes(res.Stdout))
	return check.Shorten(cmp.Or(nodeError.FindString(text), check.FirstLine(text)))
}

// nodeError matches how node and its tools begin such a line.
var nodeError = regexp.MustCompile(`(?m)^\W*\w*(?:Error|Exception)\b.*$`)

// judgeInstalled is compare.JudgeFindings for a tool that the workspace brings: a patch which
// was allowed to change what is installed may do without it.
func judgeInstalled(tool string) func(base, cand check.Outcome, d check.Diff) check.Gate {
	return func(base, cand check.Outcome, d check.Diff) check.Gate {
		if IsAbsent(tool, cand) {
			return check.Gate{Detail: "not judged: " + cand.Blocked}
		}
		return compare.JudgeFindings(base, cand, d)
	}
}

// plantedRunner is the program of the planted package.
const plantedRunner = `const report = process.argv.map((a) => /output(?:-?[fF]ile)?=(.*)/.exec(a)).find(Boolean)[1];
require("node:fs").copyFileSync(__dirname + "/lib/report.json", report);
process.exit(1);
`
