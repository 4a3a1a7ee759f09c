package verify

import (
	"strings"
	"testing"

	"agent/sandbox"
)

// knowing are programs that behave where they are watched, as far as they know the place: the user and the host name
// that boxes once had, a variable that names the product, or no user at all.
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
	files := map[string]string{"neighbour.py": neighbour}
	for name, text := range knowing {
		files[name] = text
	}
	b := newBench(t, files, sandbox.Limits{})
	for name := range files {
		b.entry = startFile(b.view, b.tools, name)
		out := runSmoke(t.Context(), b)
		g := judgeSmoke(outcome{Ending: &ending{}}, out, diff{})
		if name != "neighbour.py" {
			if g.Verdict != Fail || len(g.Findings) != 1 || g.Findings[0].Rule != "AssertionError" {
				t.Errorf("%s: %+v", name, g)
			}
			continue
		}
		if g.Verdict != Pass || !strings.HasSuffix(out.Output, "host localhost 127.0.0.1\nuser\nuser\nuser/tmp") {
			t.Errorf("%s: %+v\n%s", name, g, out.Output)
		}
	}
}
