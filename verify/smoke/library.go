package smoke

import (
	"context"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"

	"agent/sandbox/guest"
	"agent/sandbox/workspace/lazyregexp"
	"agent/verify/check"
)

// Imports imports the packages of a workspace without a program to start: what cannot even be imported works for nobody.
var Imports = check.Check{
	Name: ImportsName, Gate: check.GateSmoke, Group: check.GroupSmoke, Run: runImports, Applies: importsApply, Judge: judgeImports,
	Planted: map[string]string{
		"sound/__init__.py": "", "broken/__init__.py": "from sound import absent\n", "quits.py": "raise SystemExit\n",
		"node/package.json": "{\"main\": \"faulty.js\"}\n", "node/faulty.js": "module.exports = absent;\n",
	},
	Prove: proveImports,
}

// maxImports is how many packages are imported, the first ones by name.
const maxImports = 20

// exitImported is the status by which an import says that it finished. No module ends its process with it by accident.
const exitImported = 97

// These import one module and say so, in an interpreter of their own. They exit at once, so as not to wait for anything that
// the module leaves running.
const (
	pythonImport = `import importlib, os, sys
name, sys.path[:0], sys.argv[1:] = sys.argv[1], sys.argv[2:], []
importlib.import_module(name)
os._exit(97)
`
	nodeImportScript = `import(require("url").pathToFileURL(process.argv[1]).href).then(() => process.exit(97))`
)

// A library is one package or module that others may import.
type library struct {
	// name is its language and its name or, for node, its directory. It identifies the library on both sides.
	name string
	// file is what is imported, and dir the directory from which.
	file, dir string
	args      []string
}

// importsApply returns the reason why there is nothing to import, or "".
func importsApply(v check.View) string {
	if len(libraries(v, check.Toolchain)) > 0 {
		return ""
	}
	return "no package or module to import"
}

// libraries lists what can be imported: Python's packages and modules at the root of the workspace or of a project in it, or
// in src there, and node packages that name an existing file.
func libraries(v check.View, tools check.Tools) []library {
	// The list is sorted, so that both sides leave out the same libraries when there are too many.
	paths := v.Paths()
	tops := pythonTops(paths)
	var list []library
	for _, p := range paths {
		if aside(p) || len(list) == maxImports {
			continue
		}
		dir, name := path.Split(p)
		dir = path.Clean(dir)
		switch {
		case name == "package.json" && !strings.Contains("/"+p, "/node_modules/"):
			if main := nodeMain(v, p); main != "" {
				list = append(list, library{
					name: "node " + dir, file: main, dir: path.Join(check.Work, dir),
					args: []string{tools.Node, "-e", nodeImportScript, path.Join(check.Work, main)},
				})
			}
			continue
		case name == "__init__.py" && dir != ".":
			dir, name = path.Dir(dir), path.Base(dir)
		default:
			name = strings.TrimSuffix(name, ".py") // no identifier for any other file
		}
		// Parts of a package are imported by it or not at all, so they are not tried.
		root, isTop := tops[dir]
		if path.Ext(p) != ".py" || !isTop || !identifier.MatchString(name) || strings.HasPrefix(name, "__") {
			continue
		}
		list = append(list, library{
			name: "python " + path.Join(dir, name), file: p, dir: path.Join(check.Work, root),
			args: []string{tools.Python, "-I", "-B", "-c", pythonImport, name, path.Join(check.Work, dir), path.Join(check.Work, root)},
		})
	}
	return list
}

// identifier matches a name that Python can import.
var identifier = lazyregexp.New(`^[A-Za-z_][A-Za-z0-9_]*$`)

// pythonTops maps the directories that hold top-level packages to the root of their project: the workspace, and any
// directory with a file that builds a project.
func pythonTops(paths []string) map[string]string {
	tops := map[string]string{".": ".", "src": "."}
	for _, p := range paths {
		switch path.Base(p) {
		case "pyproject.toml", "setup.py", "setup.cfg":
			root := path.Dir(p)
			tops[root], tops[path.Join(root, "src")] = root, root
		}
	}
	return tops
}

// nodeMain returns the file that an import of the package described at p loads, or "" if it names none or a missing one,
// such as one that is yet to be built.
func nodeMain(v check.View, p string) string {
	data, err := v.Read(p)
	if err != nil {
		return ""
	}
	var pack struct {
		Main    string          `json:"main"`
		Exports json.RawMessage `json:"exports"`
	}
	if json.Unmarshal(data, &pack) != nil {
		return "" // the syntax gate reports it
	}
	// As in node, exports come before main; TypeScript's types are not a file to run.
	target := exported(pack.Exports, maxConditions)
	if target == "" {
		target = pack.Main
	}
	if target == "" {
		return ""
	}
	// A path that leads out of the workspace leads to no file of the view.
	target = path.Join(path.Dir(p), target)
	for _, file := range []string{target, target + ".js", path.Join(target, "index.js")} {
		if ext := path.Ext(file); v.Has(file) && (ext == ".js" || ext == ".mjs" || ext == ".cjs") {
			return file
		}
	}
	return ""
}

// maxConditions bounds how deep conditions may be nested.
const maxConditions = 4

// exported finds the file of the package itself in its exports: a string, or the first condition of an object that fits,
// possibly nested. At the top the object may map paths, of which "." is the package.
func exported(exports json.RawMessage, depth int) string {
	var target string
	if depth < 0 || json.Unmarshal(exports, &target) == nil {
		return target
	}
	var object map[string]json.RawMessage
	if json.Unmarshal(exports, &object) != nil {
		return ""
	}
	if self, ok := object["."]; ok && depth == maxConditions {
		return exported(self, depth-1)
	}
	for _, condition := range []string{"node", "import", "require", "default"} {
		if target := exported(object[condition], depth-1); target != "" {
			return target
		}
	}
	return ""
}

// runImports imports each library in a process of its own, so that none finds what another has loaded.
func runImports(ctx context.Context, b check.Bench) check.Outcome {
	all := check.Outcome{}
	failed := 0
	for _, lib := range libraries(b.View, b.Tools) {
		res, out, _ := b.Command(ctx, guest.Command{Args: lib.args, Dir: lib.dir, Timeout: smokeTime, Grace: smokeGrace})
		all.Seconds, all.Peak = all.Seconds+out.Seconds, max(all.Peak, out.Peak)
		if out.Verdict == check.OOM || res.Killed || out.Verdict == check.Infra && res.Exit == 0 && res.Signal == "" {
			return out // how the import ended was not seen
		}
		r := importResult(b, lib, res)
		if r.Failed {
			failed++
			all.Output = check.Tail(all.Output+"\n"+out.Output, check.MaxTail)
		}
		all.Imports = append(all.Imports, r)
	}
	all.Detail = fmt.Sprintf("imported %d of %d packages and modules", len(all.Imports)-failed, len(all.Imports))
	return all
}

// importResult reads how the import of lib ended.
func importResult(b check.Bench, lib library, res guest.Result) check.ImportResult {
	r := check.ImportResult{Name: lib.name}
	if res.Exit == exitImported && !res.TimedOut {
		return r
	}
	// Without a report, the module ended the process or crashed.
	e := readEnding(res)
	r.Failed, r.Why = true, e.Where
	if len(e.Crashes) == 0 {
		r.Why = check.Finding{Rule: "import", Message: "the import did not finish: " + e.String()}
	}
	if r.Why.File == "" {
		r.Why.File, r.Why.Line = lib.file, 0
	}
	r.Why.Source = check.NewSources(b.View).Line(r.Why.File, r.Why.Line)
	if m := lackedModule.FindStringSubmatch(r.Why.Message); m != nil {
		r.Outside = !mentions(b.View, m[1]+m[2])
	}
	return r
}

// lackedModule matches the name of a missing module: Python's up to the first dot, and node's if it is not a path.
var lackedModule = lazyregexp.New(`No module named '(\w+)|Cannot find (?:module|package) '([^'./][^']*)'`)

// mentions reports whether a module of this name could be meant to lie in the workspace: a file or a directory has that
// name.
func mentions(v check.View, module string) bool {
	for _, p := range v.Paths() {
		for part := range strings.SplitSeq(p, "/") {
			if part == module || strings.TrimSuffix(part, path.Ext(part)) == module {
				return true
			}
		}
	}
	return false
}

// judgeImports holds against the patch what could be imported without it, and what fails for another reason than before.
// Which of several uninstalled modules is missed first depends on the order of imports, so all of them count as one reason.
func judgeImports(base, cand check.Outcome, _ check.Diff) check.Gate {
	g := check.GateOf(check.GateSmoke, cand)
	if g.Verdict != "" {
		return g
	}
	g.Verdict = check.Pass
	for _, now := range cand.Imports {
		then := check.ImportResult{}
		if i := slices.IndexFunc(base.Imports, func(r check.ImportResult) bool { return r.Name == now.Name }); i >= 0 {
			then = base.Imports[i]
		}
		same := then.Outside && now.Outside || then.Why.Rule == now.Why.Rule && check.SameMessage(then.Why.Message, now.Why.Message)
		switch {
		case !now.Failed && then.Failed:
			g.Fixed++
		case !now.Failed:
		case then.Failed && same:
			g.Old++
		default:
			f := now.Why
			f.Message = check.Shorten("import " + now.Name + ": " + f.Message)
			g.Verdict, g.Findings = check.Fail, append(g.Findings, f)
		}
	}
	return g
}

// proveImports requires a sound package to be imported and three faults to be found, one of them a module that ends its
// process without a complaint.
func proveImports(ctx context.Context, b check.Bench) error {
	out := runImports(ctx, b)
	if err := check.Judged(out); err != nil {
		return err
	}
	want := map[string]string{"broken/__init__.py": "ImportError", "quits.py": "import", "node/faulty.js": "ReferenceError"}
	return check.Exactly(judgeImports(check.Outcome{}, out, check.Diff{}).Findings, want)
}
