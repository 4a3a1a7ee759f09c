package node

import (
	"testing"

	"agent/sandbox/workspace"
	"agent/verify/check"
	"agent/verify/verifytest"
)

func TestAModuleThatIsThereIsNotMissed(t *testing.T) {
	t.Parallel()
	v := check.NewView(verifytest.Scan(t, map[string]string{
		"package.json": `{"main": "index.js", "devDependencies": {"tape": "5"}}`, "index.js": "1\n", "lib/utils.ts": "1\n", "lib/sub/index.js": "1\n", "web/package.json": `{"dependencies": {"vue": "3"}}`,
	}), workspace.Changeset{})
	said := func(module string) string {
		return "Cannot find module '" + module + "'. Did you mean to set the 'moduleResolution' option to 'nodenext', or to add aliases to the 'paths' option?"
	}
	for message, want := range map[string]bool{
		said(".."): true, said("../index"): true, said("../index.js"): true, said("../lib/utils"): true, said("../lib/sub"): true, said("tape"): true,
		said("../gone"): false, said("./index"): false, said("../lib"): false, said("tap"): false, said("vue"): false, said("../../../etc"): false,
		"Cannot find module '../index' or its corresponding type declarations.": false, "": false,
	} {
		if got := foundOtherwise(v, check.Finding{File: "test/a.test.js", Message: message}); got != want {
			t.Errorf("%s: %v", message, got)
		}
	}
}

func TestAnswersOfTheCompilerMustAccountForEveryFile(t *testing.T) {
	t.Parallel()
	const one = `{"findings":[{"file":"a.ts","line":2,"column":7,"rule":"TS2345","message":"m","help":"javascript:x"}],"checked":["a.ts"],"skipped":[{"file":"b.min.js","reason":"minified"}],"notes":["x\ny"]}`
	const none = `{"findings":[],"checked":["a.ts","b.min.js"],"skipped":[],"notes":[]}`
	for name, c := range map[string]struct {
		exit int
		out  string
		want int // -1 for an error
	}{
		"one": {1, one, 1}, "none": {0, none, 0}, "one, said sound": {0, one, -1}, "none, said faulty": {1, none, -1},
		"crashed": {2, none, -1}, "out of memory": {134, "", -1}, "cut": {1, one[:60], -1}, "nothing": {0, "", -1},
		"a file left out": {0, `{"findings":[],"checked":["a.ts"],"skipped":[]}`, -1},
	} {
		answer, err := parseScript(verifytest.Ended(c.exit, []byte(c.out), []byte("RangeError: x\n")), []string{"a.ts", "b.min.js"})
		if (err != nil) != (c.want < 0) || err == nil && len(answer.Findings) != c.want {
			t.Errorf("%s: %+v, %v", name, answer, err)
		}
		if c.want == 1 && (answer.Findings[0].Help != "" || answer.Findings[0].Line != 2 || answer.Notes[0] != "x y") {
			t.Errorf("%s: %+v", name, answer)
		}
	}
}
