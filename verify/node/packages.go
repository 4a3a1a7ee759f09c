package node

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"path"
	"slices"
	"strings"

	"agent/sandbox/guest"
	"agent/sandbox/workspace/lazyregexp"
	"agent/verify/check"
	"agent/verify/compare"
	"agent/verify/node/npmscript"
)

// A Root is a directory with a package.json.
type Root struct {
	Dir     string
	Scripts map[string]string
	// needs holds the names of its dependencies, from which it has its tools.
	needs map[string]bool
}

// Roots lists the roots of a view, sorted, except those in node_modules. A file that cannot be read configures nothing: the
// syntax gate reports it.
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

// A packageUse is an npm tool as one package.json uses it.
type packageUse struct {
	root string
	// env is what its script sets, options what it gives to node, and args what it gives to the tool.
	env           map[string]string
	options, args []string
	// through is the project's own program by which a script starts the tool; "" for none. Linters do without.
	through string
	// assumed says that no script of its package starts the tool.
	assumed bool
	// mark sets its tests apart from those of an earlier use in the same package; "" for the first.
	mark string
	// before lists the commands in front of it that make what it uses.
	before []npmscript.Step
}

// dir returns the package's directory.
func (u packageUse) dir() string { return u.root }

// dirs lists the directories of the elements of a list.
func dirs[T any](list []T, dir func(T) string) (found []string) {
	for _, item := range list {
		found = append(found, dir(item))
	}
	return found
}

// hasAbove reports whether a package names a tool, or one above it does, which is where a monorepo has its tools.
func hasAbove(roots []Root, r Root, tool string) bool {
	return slices.ContainsFunc(roots, func(o Root) bool {
		return o.needs[tool] && (o.Dir == "." || o.Dir == r.Dir || strings.HasPrefix(r.Dir, o.Dir+"/"))
	})
}

// packageUses lists the packages of a view that use a tool: those with a script of one of the kinds that starts it, and
// those that only name it and have no script of these kinds. The package or one above it must name the tool.
func packageUses(v check.View, tool string, kinds ...string) []packageUse {
	roots := Roots(v)
	var uses []packageUse
	for _, r := range roots {
		if !hasAbove(roots, r, tool) {
			continue
		}
		names := slices.DeleteFunc(slices.Sorted(maps.Keys(r.Scripts)), func(name string) bool {
			kind, _, _ := strings.Cut(name, ":")
			return !slices.Contains(kinds, kind)
		})
		steps := npmscript.Read(r.Scripts, names...)
		i := slices.IndexFunc(steps, func(s npmscript.Step) bool { return s.Starts(tool) })
		switch {
		case i >= 0:
			use := stepUse(steps[i])
			use.root = r.Dir
			uses = append(uses, use)
		case len(names) == 0 && r.needs[tool]:
			uses = append(uses, packageUse{root: r.Dir, assumed: true})
		}
	}
	return uses
}

// stepUse returns how a command starts a tool of a package.
func stepUse(s npmscript.Step) packageUse {
	options, args := npmscript.NodeOptions(s.Words)
	return packageUse{env: s.Env, options: options, args: args, through: s.Through}
}

// testUses lists how the packages of a view run their tests with a tool: one use for each command that starts it, and one
// for each package that names it and has no script for tests.
func testUses(v check.View, tool string) (uses []packageUse) {
	roots := Roots(v)
	for _, p := range testPlans(v) {
		if !hasAbove(roots, p.Root, tool) {
			continue
		}
		first := true
		for i, s := range p.steps {
			if s.Kind != npmscript.Runs || s.Tool != tool {
				continue
			}
			use := stepUse(s)
			use.root, use.before = p.Dir, p.made(i)
			if !first {
				use.mark = s.Text
			}
			first = false
			uses = append(uses, use)
		}
		if len(p.steps) == 0 && p.needs[tool] {
			uses = append(uses, packageUse{root: p.Dir})
		}
	}
	return uses
}

// without removes from a tool's arguments the options in takes, and two dashes. The next word goes too if takes says that
// the option has a value and the word is one.
func without(args []string, takes map[string]bool) []string {
	var kept []string
	for i := 0; i < len(args); i++ {
		if args[i] == "--" { // words after it would not be options
			continue
		}
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
	// Dir and Program are absolute: where the package lies, and the program that its package.json names.
	Dir     string `json:"dir"`
	Program string `json:"program"`
	Version string `json:"version"`
}

// findPackages is the node program that finds a tool from some directories, as node itself does. It opens files and runs
// none of them.
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

// installed finds a tool and its program for each of its uses, nil where it is not installed.
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

// AbsentCure ends the text of Absent: what to do if the run did not ask for the workspace's packages.
const AbsentCure = ": commit a lock file that has it, and run without --no-install"

// Absent says that a tool is named but not installed, and how to cure that.
func Absent(tool, root string) string {
	return tool + " of " + path.Join(root, "package.json") + " is not installed" + AbsentCure
}

// IsAbsent reports whether an outcome is blocked for that reason. No other trouble begins like it, whatever a tool wrote.
func IsAbsent(tool string, out check.Outcome) bool {
	return strings.HasPrefix(out.Blocked, tool+" of ")
}

// useCommand starts an installed tool as a use says, with other arguments. NODE_ENV is what the use or the tool itself sets,
// as under npm: configurations of Babel and others read an unset one as development. Nor does the environment say whether to
// use colours, since a library for colours tests that in its own tests. Colours are removed from output before it is read.
func useCommand(b check.Bench, u packageUse, p installedPackage, args ...string) guest.Command {
	env := map[string]string{}
	maps.Copy(env, u.env)
	env["CI"] = "1"
	return guest.Command{
		Args: slices.Concat([]string{b.Tools.Node}, u.options, []string{p.Program}, args), Dir: path.Join(check.Work, u.root), Env: env,
	}
}

// nodeComplaint returns the line of a node program's output that says what is wrong.
func nodeComplaint(res guest.Result) string {
	text := check.Clean(check.Bytes(res.Stderr)) + "\n" + check.Clean(check.Bytes(res.Stdout))
	return check.Shorten(cmp.Or(nodeError.FindString(text), check.FirstLine(text)))
}

// nodeError matches the start of such a line, as node and its tools write it. A line of code with a call does not match.
var nodeError = lazyregexp.New(`(?m)^[^\w\n]*\w*(?:Error|Exception)(?:[^\w(].*)?$`)

// judgeInstalled is compare.JudgeFindings for a tool that the workspace brings: a patch that was allowed to change what is
// installed may do without it.
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

// plantedEvents is that program for a runner that takes the gate's reporter: it feeds the reporter what the report is to hold.
const plantedEvents = `const list = process.argv, report = list.map((a) => /output=(.*)/.exec(a)).find(Boolean)[1];
const Reporter = require(list[list.indexOf("--reporter") + 1]), runner = new (require("node:events"))();
new Reporter(runner, { reporterOptions: { output: report } });
const planted = require("./lib/report.json"), test = (t) => ({ ...t, fullTitle: () => t.fullTitle });
for (const t of planted.passes) runner.emit("pass", test(t));
for (const t of planted.failures) runner.emit("fail", test(t), new Error(t.err.message));
runner.emit("end");
process.exit(1);
`
