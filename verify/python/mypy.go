package python

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"agent/sandbox/guest"
	"agent/sandbox/workspace/lazyregexp"
	"agent/verify/check"
	"agent/verify/compare"
	"agent/verify/python/certain"
	"agent/verify/python/mypyhelp"
)

// Mypy checks the types of Python. The planted caller passes a wrong argument to a function declared in another file.
var Mypy = check.Check{
	Name: MypyName, Gate: check.GateTypes, Group: check.GroupStatic, Run: runTypes, Applies: typesApply(MypyName), Judge: compare.ByRoot(compare.RuleBlocked, compare.JudgeFindings),
	Tools: []string{"mypy"}, Config: mypyConfig, Inside: TypePlugins, Plugged: plugged, Variants: stubless,
	Planted: map[string]string{
		"sound.py":     check.PlantedSound,
		"undefined.py": "def area(r):\n    return pi * r * r\n",
		"caller.py":    "from sound import double\n\ntotal = double(\"21\")\n",
		// Later runs start with what mypy knows after its proof: most tests import pytest, which takes the longest.
		"test_sound.py": "import pytest  # type: ignore[import-not-found]\n",
	},
	Prove: check.Proves(runTypes, map[string]string{"caller.py": "arg-type", "undefined.py": "name-defined"}),
}

// typesCommand runs mypy over a root, usually the whole workspace, without the roots inside it. Module names come from the
// place of a file, so that two scripts of one name in two directories do not collide. A library without type stubs says
// nothing about a patch.
//
// If the project makes a promise (own), mypy checks it as the project does. Otherwise mypy also checks bodies without
// annotations, so that it sees a call with the wrong number of arguments anywhere.
func typesCommand(b check.Bench, roots []string, root string, own *typePromise, cache string) guest.Command {
	args, targets := []string{"--check-untyped-defs"}, []string{"."}
	if own != nil {
		args, targets = own.flags, own.targets
	}
	args = slices.Concat(mypyArgs(b), []string{"--output", "json", "--error-summary"}, args, []string{
		"--explicit-package-bases", "--namespace-packages", "--disable-error-code", "import-untyped", "--cache-dir", cache, "--no-sqlite-cache",
	})
	cmd := guest.Command{Args: append(args, targets...), Dir: path.Join(check.Work, root), MaxOutput: check.MaxToolOutput}
	if others := importPaths(b.View, root)[1:]; len(others) > 0 {
		for i, dir := range others {
			others[i] = path.Join(check.Work, dir)
		}
		cmd.Env = map[string]string{"MYPYPATH": strings.Join(others, ":")}
	}
	if root != "." {
		// Two roots may have files of one name, so each has its own cache.
		cmd.Args = append(cmd.Args, "--show-absolute-path", "--cache-dir", below(cache, "roots", root))
	}
	for _, inner := range slices.Concat(check.InsideOf(roots, root), b.View.LoopsInside(root)) {
		cmd.Args = append(cmd.Args, "--exclude", "^"+regexp.QuoteMeta(strings.TrimPrefix(inner, root+"/"))+"/")
	}
	if own == nil {
		for _, p := range dataFiles(b.View, root) {
			cmd.Args = append(cmd.Args, "--exclude", "^"+regexp.QuoteMeta(p)+"$")
		}
	}
	return cmd
}

// mostDataFiles bounds how many files of test data are named to mypy.
const mostDataFiles = 500

// dataFiles lists the Python files in a root that tests read and nothing imports. One that is broken on purpose would keep
// mypy from judging all the others.
func dataFiles(v check.View, root string) (files []string) {
	for _, p := range v.Paths() {
		if check.IsPython(p) && check.InTestData(p) && check.Below(path.Dir(p), root) && len(files) < mostDataFiles && check.IsTestData(v, p) {
			files = append(files, within(root, p))
		}
	}
	return files
}

// runTypes runs mypy with what it knows from an earlier box, if anything, and packs what it knows now.
func runTypes(ctx context.Context, b check.Bench) check.Outcome {
	start := time.Now()
	warm := unpackTypes(ctx, b)
	run := func() check.Outcome {
		return typed(b, MypyName, func(b check.Bench, roots []string, root string) check.Outcome { return runMypy(ctx, b, roots, root) })
	}
	out := run()
	// What mypy was given to know must never be the reason that it fails.
	if warm && (out.Verdict == check.Infra || out.AnyBlocked()) {
		forgetTypes(ctx, b)
		out = run()
	}
	if out.Verdict == "" && !out.AnyBlocked() {
		out.Learned = packTypes(ctx, b)
	}
	if b.Kept != "" {
		out.Detail += ", with plugins as they were before the patch"
	}
	out.Seconds = time.Since(start).Seconds()
	return out
}

// runMypy runs mypy over what the project promises, if it uses mypy, and looks for certain faults in the rest.
func runMypy(ctx context.Context, b check.Bench, roots []string, root string) check.Outcome {
	promise, uses := mypyPromise(b.View, root)
	if !uses {
		out := mypyReadable(ctx, b, root, typesCommand(b, roots, root, nil, cacheDir(b.View)))
		out.Findings = certain.Faults(b.View, out.Findings)
		out.Detail += ", which the project does not use: faults that are certain"
		return out
	}
	own := mypyOnce(ctx, b, typesCommand(b, roots, root, &promise, cacheDir(b.View)))
	own.Findings = slices.DeleteFunc(promised(own.Findings, promise.blind), func(f check.Finding) bool {
		return f.File != "" && !promise.covers(f.File) || certain.Absent(b.View, f)
	})
	own.Detail = "mypy as the project runs it"
	if own.Verdict != "" || own.Blocked != "" || promise.everything {
		return own
	}
	// If something keeps mypy from checking more than the project does, that is not a fault. Under these other options mypy
	// knows different things about a file, hence the separate cache.
	rest := mypyReadable(ctx, b, root, typesCommand(b, roots, root, nil, below(cacheDir(b.View), "rest")))
	if rest.Verdict == check.Timeout || rest.Verdict == check.OOM || rest.Blocked != "" {
		own.Detail += "; elsewhere it could not look for faults: " + check.Join([]string{rest.Blocked, rest.Detail}, ", ")
		return own
	}
	own = check.AddCost(own, rest)
	own.Findings = alsoFound(own.Findings, certain.Faults(b.View, rest.Findings))
	own.Detail += ", and elsewhere only for faults that are certain"
	return own
}

// mostUnread bounds how many files that mypy cannot read are left out; each takes another run.
const mostUnread = 10

// mypyReadable runs mypy over code that the project does not ask it to judge. A file that mypy could not read before the
// patch either, such as one in Python 2, would keep it from reporting on all the others, so it is left out.
func mypyReadable(ctx context.Context, b check.Bench, root string, cmd guest.Command) check.Outcome {
	var left []string
	base := check.OnBase(b.View.Base)
	out := mypyOnce(ctx, b, cmd)
	for out.Blocked != "" && len(left) < mostUnread {
		i := slices.IndexFunc(out.Findings, func(f check.Finding) bool {
			return f.Rule == "syntax" && !slices.Contains(left, f.File) && holdsLine(base.Text(f.File), f.Source)
		})
		if i < 0 {
			break // the patch breaks it, other files import it, or there is no file
		}
		left = append(left, out.Findings[i].File)
		cmd.Args = append(slices.Clone(cmd.Args), "--exclude", "^"+regexp.QuoteMeta(within(root, left[len(left)-1]))+"$")
		out = check.AddCost(mypyOnce(ctx, b, cmd), out)
	}
	if out.Blocked == "" && len(left) > 0 {
		out.Detail += ", except what it cannot read: " + check.Shorten(strings.Join(left, ", "))
	}
	return out
}

// holdsLine reports whether a text has a line, in the form in which a finding shows it.
func holdsLine(text, line string) bool {
	return line != "" && slices.ContainsFunc(strings.Split(text, "\n"), func(l string) bool { return check.Shorten(l) == line })
}

// alsoFound adds the findings at places where the same rule has none yet.
func alsoFound(own, more []check.Finding) []check.Finding {
	type place struct {
		file, rule string
		line       int
	}
	told := map[place]bool{}
	for _, f := range own {
		told[place{f.File, f.Rule, f.Line}] = true
	}
	for _, f := range more {
		if !told[place{f.File, f.Rule, f.Line}] {
			own = append(own, f)
		}
	}
	return own
}

// emptied lists the codes that mypy reports when it knows nothing of a type, as for every library that is not installed.
var emptied = []string{"unused-ignore", "no-any-return", "no-any-unimported", "redundant-cast", "untyped-decorator"}

// emptiedMessage matches such reports under mypy's code for everything else.
var emptiedMessage = lazyregexp.New(`^(?:Class cannot subclass .* has type "Any"|Untyped decorator makes function)`)

// promised leaves out the findings that mypy reports only because libraries are not installed here. Where the project runs
// mypy, they are installed.
func promised(found []check.Finding, blind bool) []check.Finding {
	if !blind && !slices.ContainsFunc(found, func(f check.Finding) bool { return f.Rule == "import-not-found" || f.Rule == "import-untyped" }) {
		return found
	}
	return slices.DeleteFunc(found, func(f check.Finding) bool {
		return slices.Contains(emptied, f.Rule) || emptiedMessage.MatchString(f.Message)
	})
}

// mypyOnce runs mypy and reads its findings. A plugin that the workspace's configuration names runs inside mypy and is
// workspace code. So this gate is the last one in its box, and nothing but findings leaves the box afterwards.
func mypyOnce(ctx context.Context, b check.Bench, cmd guest.Command) check.Outcome {
	res, out, done := b.Command(ctx, cmd)
	if !done {
		return out
	}
	out.Output = check.Tail(check.Clean(check.Bytes(res.Stderr)), check.MaxTail)
	out.Detail = "mypy over the workspace"
	findings, blocked, err := parseMypy(res)
	if err != nil {
		out.Verdict, out.Detail = check.Infra, fmt.Sprintf("read the output of mypy: %v", err)
		return out
	}
	out.Blocked = blocked
	out.Findings = check.NewSources(b.View).Fill(findings)
	return out
}

// A mypyLine is one message as mypy prints it with --output json. Notes explain the error before them and are left out.
type mypyLine struct {
	File string `json:"file"`
	Line int    `json:"line"`
	// Column counts from 0, unlike that of every other tool.
	Column  int    `json:"column"`
	Message string `json:"message"`
	Code    string `json:"code"`
	// Severity is "error" or "note".
	Severity string `json:"severity"`
}

// blocking matches an error that keeps mypy from going on. mypy always prints it as text, whatever the output format:
// "a.py:1: error: invalid syntax  [syntax]".
var blocking = lazyregexp.New(`^(.+?):(\d+)?(?::(\d+))?:? error: (.*?)(?:  \[([\w-]+)\])?$`)

// parseMypy reads mypy's findings. Status 0 must come with no error and with mypy's summary, and status 1 with errors. With
// status 2 mypy gave up: blocked says what it met in the workspace, and its blocking errors are the findings. Giving up for
// another reason, such as its own crash, is an error.
func parseMypy(res guest.Result) (found []check.Finding, blocked string, err error) {
	if res.Stdout.Dropped > 0 {
		return nil, "", fmt.Errorf("more than %d MiB of findings", check.MaxToolOutput>>20)
	}
	text := check.Clean(check.Bytes(res.Stderr))
	// Only with this status is standard output not JSON: mypy gives up before it formats.
	if res.Exit == 2 {
		return parseBlocked(text, check.Clean(check.Bytes(res.Stdout)))
	}
	for line := range bytes.Lines(res.Stdout.Head) {
		if line = bytes.TrimSpace(line); len(line) == 0 {
			continue
		}
		var l mypyLine
		if err := json.Unmarshal(line, &l); err != nil {
			return nil, "", fmt.Errorf("line %q: %w", check.Shorten(string(line)), err)
		}
		// Notes only explain; if they counted, status 0 would disagree.
		if l.Severity != "error" {
			continue
		}
		found = append(found, check.Finding{
			File: check.Relative(l.File, check.Work), Line: max(l.Line, 0), Column: max(l.Column+1, 0),
			Rule: l.Code, Message: check.Shorten(l.Message), Help: mypyhelp.Of(l.Code),
		})
	}
	if res.Exit != 0 && res.Exit != 1 || (res.Exit == 1) != (len(found) > 0) {
		return nil, "", fmt.Errorf("exit status %d with %d errors: %s", res.Exit, len(found), check.FirstLine(text))
	}
	if text := res.Stdout.Head; res.Exit == 0 && !bytes.Equal(text, mypyEnd) && !bytes.HasSuffix(text, append([]byte("\n"), mypyEnd...)) {
		return nil, "", errors.New("exit status 0 without the line that mypy ends with: something else ended it")
	}
	return found, "", nil
}

// mypyEnd is what remains of mypy's summary with --output json when there are no errors. Anything that ends the process
// early, such as a plugin, leaves it out too.
var mypyEnd = []byte("\n")

// parseBlocked reads what mypy prints when it gives up.
func parseBlocked(stderr, stdout string) (found []check.Finding, blocked string, err error) {
	// mypy reports its own crash in the form of a blocking error, with the file that it was at. Blaming that file would
	// blame its last author.
	if strings.Contains(stderr, "INTERNAL ERROR") || strings.Contains(stderr, "Traceback (most recent call last)") {
		return nil, "", fmt.Errorf("mypy crashed: %s", check.FirstLine(stderr))
	}
	for line := range strings.Lines(stderr + "\n" + stdout) {
		m := blocking.FindStringSubmatch(strings.TrimSpace(line))
		if m == nil {
			continue
		}
		// Without a number this is 0, which is the line of a finding without one.
		number, _ := strconv.Atoi(m[2])
		column, _ := strconv.Atoi(m[3])
		file := check.Relative(m[1], check.Work)
		if m[1] == "mypy" {
			file = "" // mypy puts its own name before an error about an option
		}
		found = append(found, check.Finding{File: file, Line: number, Column: column, Rule: m[5], Message: check.Shorten(m[4]), Help: mypyhelp.Of(m[5])})
	}
	if len(found) == 0 {
		return nil, "", fmt.Errorf("exit status 2: %s", check.FirstLine(stderr))
	}
	first := found[0]
	return found, strings.TrimPrefix(fmt.Sprintf("%s: %s", first.File, first.Message), ": "), nil
}
