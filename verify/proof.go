package verify

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"agent/sandbox"
	"agent/sandbox/workspace"
	"agent/verify/check"
	"agent/verify/golang"
)

// plantedSyntax holds one fault a language, each of which every parser of it
// refuses, and what a parser that is too strict or too old stumbles over.
var plantedSyntax = map[string]string{
	"bad.py":   "def f(:\n    pass\n",
	"bad.json": "{\"a\": 1,}\n",
	"bad.toml": "a = [1\n",
	"bad.css":  "a { color: red;\n",
	"bad.js":   "const = 1;\n",
	"bad.mjs":  "export const = 1;\n",
	"bad.sh":   "if true; then\n",
	"bad.go":   "package bad\n\nfunc f( {\n",
	"bad.ts":   "const a: = 1;\n",
	"bad.jsx":  "const a = <b>;\n",
	"bad.yaml": "a: [1\n",
	"bad.xml":  "<a><b></a>\n",
	"bad.html": "<a href=\"x>a</a><p class=\"b\">b</p>\n",

	"good.py":   "def f():\n    pass\n",
	"good.json": "{\"a\": [1, null]}\n",
	"good.toml": "a = [1]\n",
	"good.css":  "@media print { a:hover { color: red } }\n",
	"good.js":   "const one = 1;\n",
	"good.mjs":  "import a from \"./b.mjs\";\nexport const two = await a;\n",
	"good.sh":   "if true; then :; fi\n",
	"good.go":   "package good\nfunc f[T any](t T) (n int) {\n\tfor n = range 3 { }\n\treturn undefined }\n",
	"good.ts":   "enum A { B }\nexport const a = <T,>(b: T): T => b satisfies T;\n",
	"good.tsx":  "export const a = <b c={1}>d</b>;\n",
	"good.yaml": "a: !Ref b\nc: &d [1]\n---\ne: {\"f\":1}\n",
	"good.xml":  "<?xml version=\"1.0\"?>\n<a><b/></a>\n",
	"good.html": "<!DOCTYPE html>\n<html><body><p @click=\"a > 'b'\">a<p>b &lt; c<br></body></html>\n",
}

// plantedSmoke are programs that crash and programs that do not, one of them a server.
var plantedSmoke = map[string]string{
	"sound.py":         check.PlantedSound,
	"crash.py":         "def start():\n    raise LookupError(\"planted\")\n\n\nstart()\n",
	"control/clean.js": "const answer = 42;\nconsole.log(answer);\n",
	"server.py": "import http.server\n\n\nclass Page(http.server.BaseHTTPRequestHandler):\n    def do_GET(self):\n        self.send_response(204)\n        self.end_headers()\n\n\n" +
		"http.server.HTTPServer((\"127.0.0.1\", 8000), Page).serve_forever()\n",
}

// proof finds out whether the checks of this session work in this toolchain
// image: from the cache, or on planted files in a box of the bare image. Each must
// find its fault and must leave the sound files alone, or nothing that it says in
// this image counts. It runs beside the candidate, so that the first run after a
// new image is hardly slower; the checks are judged when it is done. A check that
// nothing in the workspace needs is not proved, and so costs no one anything.
func (s *session) proof(ctx context.Context, wanted []check.Check) {
	var known []string // names of the checks that are proved
	if _, err := s.store.load(ctx, s.store.proofKey(), &known); err != nil {
		known = nil
		s.results.note(fmt.Sprintf("proof not read from the cache: %v", err))
	}
	reasons := map[string]string{}
	todo := slices.DeleteFunc(slices.Clone(wanted), func(c check.Check) bool { return slices.Contains(known, c.Name) })
	if len(todo) > 0 {
		err := s.withBox(ctx, Layer{Snapshot: s.req.Toolchain}, "", "proof", func(box *sandbox.Box) {
			reasons = prove(ctx, s.bench(box, check.View{}, check.Entry{}), todo)
		})
		if err != nil {
			for _, c := range todo {
				reasons[c.Name] = fmt.Sprintf("not proved on planted faults: %v", err)
			}
		}
	}
	s.results.proven(reasons)
	if ctx.Err() != nil || len(reasons) == len(todo) {
		return
	}
	for _, c := range todo {
		if reasons[c.Name] == "" {
			known = append(known, c.Name)
		}
	}
	slices.Sort(known)
	if err := s.store.save(ctx, s.store.proofKey(), known); err != nil {
		s.results.note(fmt.Sprintf("proof not kept: %v", err))
	}
}

// prove runs checks on their planted files in an empty box, one after the other:
// the files of each are taken away again, since a tool reads all that it finds. It
// returns, for each check that did not do as it must, the reason.
func prove(ctx context.Context, b check.Bench, list []check.Check) map[string]string {
	reasons := map[string]string{}
	// The workspace's own program and variables must not reach the planted ones.
	b.Smoke = check.Smoke{}
	for i, c := range list {
		// Each check has the box to itself: files of another one would be
		// findings in the wrong place.
		files := check.Plant(c.Planted)
		b.View = check.NewView(&workspace.Manifest{}, files)
		if err := b.Box.Apply(ctx, files); err != nil {
			reasons[c.Name] = fmt.Sprintf("not proved: plant faults: %v", err)
			continue
		}
		if err := c.Prove(ctx, b); err != nil {
			reasons[c.Name] = fmt.Sprintf("did not prove itself on planted faults: %v; rebuild the toolchain with: agent images build", err)
		}
		if err := b.Box.Apply(ctx, files.Reverse()); err != nil {
			// The box is of no use to the rest.
			for _, next := range list[i+1:] {
				reasons[next.Name] = fmt.Sprintf("not proved: take the planted faults of %s away: %v", c.Name, err)
			}
			break
		}
	}
	return reasons
}

// proveFormat wants a file of each language formatted, with its line endings kept
// where the formatter does, and a formatted one left alone.
func proveFormat(ctx context.Context, b check.Bench) error {
	for _, c := range []struct{ name, text, want string }{
		{"planted.py", "x   =  [ 1,2 ]\r\n", "x = [1, 2]\r\n"},
		{"planted.py", "x = 1\n", "x = 1\n"},
		{"planted.go", "package  planted\nvar x  = []int{1,2}\n", "package planted\n\nvar x = []int{1, 2}\n"},
		{"planted.go", golang.Planted, golang.Planted},
	} {
		// The formatters are asked for one text at a time, as by the gate itself.
		got, out := format(ctx, b, c.name, []byte(c.text))
		if out.Verdict != "" {
			return errors.New(out.Detail)
		}
		if string(got) != c.want {
			return fmt.Errorf("formatting %s makes %q of %q", c.name, got, c.text)
		}
	}
	return nil
}

// proveSmoke starts programs that crash and that do not, and wants the server
// among them seen and asked: where the box does not show what listens, no server
// could be told from a program that only waits.
func proveSmoke(ctx context.Context, b check.Bench) error {
	for file, want := range map[string]check.Verdict{"crash.py": check.Fail, "sound.py": check.Pass, "control/clean.js": check.Pass, "server.py": check.Pass} {
		b.Entry = startFile(b.View, b.Tools, file)
		out := runSmoke(ctx, b)
		if out.Verdict != "" {
			return errors.New(out.Detail)
		}
		g := judgeSmoke(check.Outcome{}, out, check.Diff{})
		if g.Verdict != want {
			return fmt.Errorf("the start of %s is judged %s: %s", file, g.Verdict, g.Detail)
		}
		if ports := out.Ending.Ports; file == "server.py" && (len(ports) != 1 || ports[0].Port != 8000 || ports[0].Status != 204) {
			return fmt.Errorf("of %s is seen: %s", file, out.Ending)
		}
		// A report without its place would be of no use to whoever must mend it.
		if want == check.Fail && (g.Findings[0].File != file || g.Findings[0].Line != 2) {
			return fmt.Errorf("the crash of %s is placed at %s:%d", file, g.Findings[0].File, g.Findings[0].Line)
		}
	}
	return nil
}

// proveSyntax wants one fault in each language, and none in the sound file beside
// each.
func proveSyntax(ctx context.Context, b check.Bench) error {
	out := runSyntax(ctx, b, touched(b.View))
	if err := check.Judged(out); err != nil {
		return err
	}
	want := map[string]string{}
	for file, rule := range map[string]string{
		"bad.py": "python", "bad.json": "json", "bad.toml": "toml", "bad.css": "css",
		"bad.js": "javascript", "bad.mjs": "javascript", "bad.sh": "shell", "bad.go": "go", "bad.ts": "typescript", "bad.jsx": "typescript",
		"bad.yaml": "yaml", "bad.xml": "xml", "bad.html": "html",
	} {
		want[file] = rule + "-syntax"
	}
	return check.Exactly(out.Findings, want)
}
