package recipe

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var vendors = []string{"anthropic", "openai", "gemini", "compatible"}

func TestPresetsAreRight(t *testing.T) {
	t.Parallel()
	if got := strings.Join(Presets(), " "); got != "claude codex gemini opencode qwen" {
		t.Errorf("the presets are %s", got)
	}
	for name, r := range presets {
		if err := r.Check(vendors); err != nil || r.Vendor == "" || len(r.NPM) == 0 || len(r.Allow) > 0 {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
		// The address of the gateway and a dummy key are filled in.
		s := r.Begin([]string{name, "-p", "do it"}, "http://gate:1", "dummy")
		all := strings.Join(s.Command, " ")
		for _, v := range s.Env {
			all += " " + v
		}
		if !strings.Contains(all, "http://gate:1") || !strings.Contains(all, "dummy") || strings.Contains(all, "{gateway}") || strings.Contains(all, "{key}") {
			t.Errorf("%s is started with %q and %v", name, s.Command, s.Env)
		}
	}
}

func TestTheUsersWordComesFirst(t *testing.T) {
	t.Parallel()
	user := map[string]Recipe{
		"claude": {NPM: []string{}, Vendor: "openai", Env: map[string]string{"DISABLE_TELEMETRY": "0", "MORE": "{key}"}, Allow: []string{"example.org"}},
		"tidy":   {Debian: []string{"tidy"}},
	}
	name, r, ok := Find(user, "/usr/bin/claude")
	if !ok || name != "claude" || len(r.NPM) != 0 || r.Vendor != "openai" || r.Env["DISABLE_TELEMETRY"] != "0" || r.Env["IS_SANDBOX"] != "1" || !slices.Equal(r.Allow, []string{"example.org"}) || r.Program != "/usr/bin/claude" {
		t.Errorf("%s %+v", name, r)
	}
	if presets["claude"].Env["MORE"] != "" || presets["claude"].Env["DISABLE_TELEMETRY"] != "1" {
		t.Error("the preset is another now")
	}
	if _, r, ok := Find(user, "tidy"); !ok || !slices.Equal(r.Debian, []string{"tidy"}) || r.Vendor != "" {
		t.Errorf("%+v, %v", r, ok)
	}
	if _, r, ok := Find(user, "sed"); ok || r.Program != "" {
		t.Errorf("sed has %+v", r)
	}
}

func TestArgumentsFollowTheUsersOwn(t *testing.T) {
	t.Parallel()
	r := Recipe{Program: "p", Args: map[string][]string{"exec": {"--skip"}, "": {"--mode", "fast"}}}
	for want, command := range map[string][]string{
		"p exec x --mode fast --skip":             {"p", "exec", "x"},
		"p --mode fast":                           {"p"},
		"p exec --skip --mode=slow y --mode fast": {"p", "exec", "--skip", "--mode=slow", "y"},
		"p --mode slow":                           {"p", "--mode", "slow"},
	} {
		if got := strings.Join(r.Begin(command, "", "").Command, " "); got != want {
			t.Errorf("%q becomes %q, want %q", command, got, want)
		}
	}
}

func TestWhatIsNoRecipeIsRefused(t *testing.T) {
	t.Parallel()
	for want, r := range map[string]Recipe{
		"NAME@VERSION":                  {NPM: []string{"left-pad"}},
		"NAME@VERSION, with":            {NPM: []string{"left-pad@latest"}},
		"write NAME@VERSION":            {NPM: []string{"--registry=evil@1.0.0"}},
		"is not the name of a package":  {Debian: []string{"-o Apt::Run=1"}},
		`vendor "ollama"`:               {Vendor: "ollama"},
		"is not the name of a variable": {Env: map[string]string{"A=B": "c"}},
		"below the home":                {Files: map[string]string{"../up": "x"}},
		"below node_modules":            {Bin: map[string]string{"x": "../../etc/passwd"}},
		"write a path":                  {Files: map[string]string{"/etc/x": "x"}},
		"is not a port":                 {Allow: []string{"https://x"}},
	} {
		if err := r.Check(vendors); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", r, err, want)
		}
	}
}

// The files of a recipe exist when the program starts, whatever they contain, and nothing in them is executed.
func TestFilesAreWrittenBeforeTheProgramStarts(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	hostile := "$(touch hooked)`touch hooked`'\"\n%s\\n{gateway}\n"
	r := Recipe{Program: "sh", Files: map[string]string{".config/it's/a b.json": hostile, "plain": "x"}}
	s := r.Begin([]string{"sh", "-c", `cat "$HOME/.config/it's/a b.json"; env | grep -c AGENT_EXEC_FILE; echo "$1"`, "sh", "two words"}, "GATE", "KEY")
	cmd := exec.Command(s.Command[0], s.Command[1:]...)
	cmd.Dir, cmd.Env = home, []string{"HOME=" + home, "PATH=" + os.Getenv("PATH")}
	for name, v := range s.Env {
		cmd.Env = append(cmd.Env, name+"="+v)
	}
	out, err := cmd.CombinedOutput()
	want := strings.Replace(hostile, "{gateway}", "GATE", 1) + "0\ntwo words\n"
	if err != nil || string(out) != want {
		t.Errorf("%q, %v; want %q", out, err, want)
	}
	if _, err := os.Stat(filepath.Join(home, "hooked")); err == nil {
		t.Error("a file was run")
	}
	if info, err := os.Stat(filepath.Join(home, "plain")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
}
