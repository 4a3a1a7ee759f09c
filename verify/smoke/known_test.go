package smoke

import (
	"strings"
	"testing"
	"time"

	"agent/sandbox"
	"agent/verify/check"
	"agent/verify/checktest"
)

// knowing has programs that behave well if they recognize that they are watched: by the user and the host name that boxes once had, by a
// variable that names the product, or because there is no user.
var knowing = map[string]string{
	"user.py":     "import os\n\nassert os.getuid() == 10001\n",
	"name.py":     "import getpass\n\nassert getpass.getuser() == \"agent\"\n",
	"host.py":     "import socket\n\nassert \"box\" in socket.gethostname()\n",
	"variable.py": "import os\n\nassert any(\"agent\" in f\"{k}={v}\".lower() for k, v in os.environ.items())\n",
	"nobody.py":   "import os, pwd\n\ntry:\n    pwd.getpwuid(os.getuid())\nexcept KeyError:\n    raise SystemExit\nassert False\n",
}

// neighbour does what ordinary programs do with the user and the host.
const neighbour = `import getpass, grp, os, pathlib, pwd, socket, subprocess, tempfile

uid = os.getuid()
name = f"user{uid}"
assert pwd.getpwuid(uid) == pwd.getpwnam(name) and pwd.getpwuid(uid).pw_gid == os.getgid()
assert grp.getgrgid(os.getgid()).gr_name == getpass.getuser() == pathlib.Path(tempfile.mkdtemp()).owner() == name
assert os.path.expanduser("~") == os.path.expanduser("~" + name) == "/tmp"
print("uid", uid, "host", socket.gethostname(), socket.gethostbyname(socket.gethostname()))
for command in ["whoami"], ["id", "-gn"], ["node", "-p", "os.userInfo().username + os.userInfo().homedir"]:
    print(subprocess.run(command, capture_output=True, text=True, check=True).stdout.replace(name, "user"), end="")
`

func TestAProgramKnowsABoxByNothingThatABoxIsGiven(t *testing.T) {
	t.Parallel()
	files := map[string]string{"neighbour.py": neighbour, "bomb.py": "import time\n\ntime.sleep(99)\nassert False\n", "date.py": "import time\n\nassert time.gmtime().tm_year < 2099\n"}
	for name, text := range knowing {
		files[name] = text
	}
	b := checktest.NewBench(t, files, sandbox.Limits{})
	for name := range knowing {
		b.Entry = startFile(b.View, b.Tools, name)
		out := run(t.Context(), b)
		g := judge(check.Outcome{Ending: &check.Ending{}}, out, check.Diff{})
		if g.Verdict != check.Fail || len(g.Findings) != 1 || g.Findings[0].Rule != "AssertionError" {
			t.Errorf("%s: %+v", name, g)
		}
	}
	b.Entry = startFile(b.View, b.Tools, "neighbour.py")
	out := run(t.Context(), b)
	if g := judge(check.Outcome{}, out, check.Diff{}); g.Verdict != check.Pass || !strings.HasSuffix(out.Output, "host localhost 127.0.0.1\nuser\nuser\nuser/tmp") {
		t.Errorf("%+v\n%s", g, out.Output)
	}

	// A program that waits longer than the watch passes, and the record says that it was not seen to its end. A program that waits for a
	// date cannot be told from a good one.
	for name, want := range map[string]string{"bomb.py": ": still running when the watch was over", "date.py": ": exit status 0"} {
		b.Entry = startFile(b.View, b.Tools, name)
		if name == "bomb.py" {
			b.Smoke.Seconds = 2
		} else {
			b.Smoke.Seconds = 10 // time to end in on a busy machine
		}
		out := run(t.Context(), b)
		if g := judge(check.Outcome{}, out, check.Diff{}); g.Verdict != check.Pass || !strings.HasSuffix(g.Detail, want) {
			t.Errorf("%s: %+v", name, g)
		}
		// Waiting instead of working does not pass.
		g := judge(check.Outcome{Ending: &check.Ending{Wrote: 10, Wall: time.Millisecond, CPU: time.Minute}}, out, check.Diff{})
		if waits := g.Verdict == check.Fail && g.Findings[0].Rule == ruleWait; waits != (name == "bomb.py") {
			t.Errorf("%s in the place of work: %+v", name, g)
		}
	}
}
