package node

import (
	"fmt"
	"strings"
	"testing"

	"agent/verify/check"
	"agent/verify/verifytest"
)

func TestErrorsOfTheCompilerMustFitItsExit(t *testing.T) {
	t.Parallel()
	const one = "web/a.ts(2,7): error TS2322: Type 'string'\x1b[0m is not.\n  Why it is not.\n"
	for name, c := range map[string]struct {
		exit int
		out  string
		want string
	}{
		"none": {0, "", "[]"}, "one": {1, one, "[web/a.ts:2:7 TS2322 Type 'string' is not.]"},
		"with output": {2, "../etc/b.ts(1,1): error TS2304: x\n", "[:1:1 TS2304 x]"},
		"no place":    {1, "error TS18003: No inputs.\nerror TS5023: Unknown.\n", "[:0:0 TS5023 Unknown.]"},
		"its call":    {1, "a.ts(1,1): error TS6305: Output file has not been built.\n", "[]"},
		"sound, with": {0, one, "exit status 0 does not match its 1 errors"}, "faulty, without": {1, "Segmentation fault\n", "exit status 1 does not match its 0 errors"},
		"crashed": {134, one, "exit status 134 does not match"},
	} {
		var got []string
		found, trouble := parseCompiler(verifytest.Ended(c.exit, []byte(c.out), nil))
		for _, f := range found {
			got = append(got, fmt.Sprintf("%s:%d:%d %s %s", f.File, f.Line, f.Column, f.Rule, f.Message))
		}
		if text := fmt.Sprint(got) + trouble; !strings.Contains(text, c.want) || (trouble == "") != strings.HasPrefix(c.want, "[") {
			t.Errorf("%s: %s, want %s", name, text, c.want)
		}
	}
	flood := verifytest.Ended(1, []byte(one), nil)
	flood.Stdout.Dropped = 1
	if _, trouble := parseCompiler(flood); trouble == "" {
		t.Error("what was cut is an answer")
	}
}

func TestCompilerIsThatOfThePackagesThatNameIt(t *testing.T) {
	t.Parallel()
	base := verifytest.Scan(t, map[string]string{"package.json": plantedNeed, "tsconfig.json": "{}", "a.ts": "", "web/package.json": "{}"})
	cs := verifytest.Change(t, base, map[string]string{"package.json": "{}", "web/package.json": plantedNeed})
	if uses := compilerUses(check.NewView(base, cs)); len(uses) != 1 || uses[0].root != "." {
		t.Errorf("%+v", uses)
	}
}

// A compiler whose API lacks what our script needs is asked through its program, which writes nothing.
func TestAnOlderCompilerIsAskedByItsProgram(t *testing.T) {
	t.Parallel()
	out := runCompiler(t.Context(), installedBench(t, map[string]string{
		"package.json":  `{"devDependencies": {"typescript": "4.9.5"}}`,
		"tsconfig.json": `{"compilerOptions": {"strict": true, "composite": true, "outDir": "dist", "plugins": [{"name": "x"}]}, "include": ["*.ts"]}`,
		"a.ts":          "export const n: number = 'a';\n",
		"b.ts":          "import { n } from './a';\n\nexport const m = n + 1;\n",
	}))
	if len(out.Findings) != 1 || out.Findings[0].Rule != "TS2322" || out.Findings[0].File != "a.ts" || out.Blocked != "" || !strings.Contains(out.Detail, "TypeScript 4.9.5") {
		t.Errorf("%+v", out)
	}
}
