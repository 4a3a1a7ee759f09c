package crew_test

import (
	"slices"
	"strings"
	"testing"

	"agent/orchestrator/crew"
)

// A task file has a head in TOML or YAML; its text is the goal.
func TestATaskFileIsRead(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"toml": "+++\nfiles = [\"./a.py\"]\n[limits]\nloops = 3\ncalls = 7\n[tools]\nuse = [\"read\", \"edit\"]\n[accept]\ncommand = [\"true\"]\n+++\n\n# Prices\n\n---\nhave a currency\n",
		"yaml": "---\r\nfiles: [a.py]\r\nlimits:\r\n  loops: 3\r\n  calls: 7\r\ntools: {use: [read, edit]}\r\naccept:\r\n  command: [\"true\"]\r\n---\r\n\r\n# Prices\n\n---\nhave a currency\r\n",
	} {
		goal, l, err := crew.ReadTask("TASK.md", []byte(text))
		if err != nil || goal != "# Prices\n\n---\nhave a currency" || l.Limits.Loops != 3 || l.Limits.Calls != 7 || l.Limits.Iterations != 30 || l.Limits.AtOnce != 10 ||
			!slices.Equal(l.Tools.Use, []string{"read", "edit"}) || l.Accept.String() != "`true` succeeds" || !slices.Equal(l.Files, []string{"a.py"}) || len(l.SHA256) != 64 {
			t.Errorf("%s: %q, %+v, %v", name, goal, l, err)
		}
		r := l.Role(crew.Role{Tools: []string{"read", "run", "finish"}})
		if strings.Join(r.Tools, " ") != "read finish" || r.Talk.Calls != 7 || r.Limits.Tries != 1 {
			t.Errorf("%s: the role is %+v", name, r)
		}
	}
}

func TestATaskFileThatCannotBeMeantIsRefused(t *testing.T) {
	t.Parallel()
	const accept = "[accept]\ntext = \"x\"\n"
	for text, want := range map[string]string{
		"# Do it\n": "it has no head", "+++\n" + accept: "it has no head", "": "it has no head",
		"+++\n" + accept + "+++\n \n":                                "no goal",
		"+++\n+++\ngoal":                                             "nothing says when it is done",
		"+++\nlimit = 3\n" + accept + "+++\ngoal":                    "unknown field",
		"---\nlimit: 3\n---\ngoal":                                   "field limit not found",
		"+++\nlimits = 3\n" + accept + "+++\ngoal":                   "its head",
		"+++\n[limits]\nloops = 21\n" + accept + "+++\ngoal":         "from 1 to 20",
		"+++\n[limits]\nloops = -1\n" + accept + "+++\ngoal":         "from 1 to 20",
		"+++\n[limits]\niterations = 41\n" + accept + "+++\ngoal":    "limits.iterations is 41",
		"+++\n[limits]\ncalls = 201\n" + accept + "+++\ngoal":        "limits.calls is 201",
		"+++\n[limits]\ncost = -1.0\n" + accept + "+++\ngoal":        "below 0",
		"+++\n[limits]\ntime = \"soon\"\n" + accept + "+++\ngoal":    "limits.time",
		"+++\nfiles = [\"../x\"]\n" + accept + "+++\ngoal":           "../x",
		"+++\n[accept]\ncommand = [\" \"]\n+++\ngoal":                "names no program",
		"+++\n[accept]\ntests = [\"/etc/passwd\"]\n+++\ngoal":        "/etc/passwd",
		"+++\n" + accept + "+++\n" + strings.Repeat("x", 17<<10):     "more than 16384",
		"+++\n" + accept + "+++\n" + strings.Repeat("x", 65<<10):     "more than 65536",
		"---\na: &a [x, x]\nfiles: *a\naccept: {text: y}\n---\ngoal": "field a not found",
	} {
		if _, _, err := crew.ReadTask("TASK.md", []byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60q: %v, want %q", text, err, want)
		}
	}
}
