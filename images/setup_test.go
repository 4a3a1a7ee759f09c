package images

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// setUp runs engine.sh with these settings on top of an environment that names no engine, and returns its output and
// its exit code.
func setUp(t *testing.T, prefix []string, env ...string) (string, int) {
	t.Helper()
	argv := append(prefix, "./engine.sh")
	cmd := exec.CommandContext(t.Context(), argv[0], argv[1:]...)
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "DOCKER_HOST=") && !strings.HasPrefix(v, "AGENT_ENGINE_") {
			cmd.Env = append(cmd.Env, v)
		}
	}
	cmd.Env = append(cmd.Env, env...)
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

func TestSetUpIsSilentWhereAnEngineAnswers(t *testing.T) {
	t.Parallel()
	socket := strings.TrimPrefix(newEngine(t).DaemonHost(), "unix://")
	if out, code := setUp(t, nil, "AGENT_ENGINE_SOCKET="+socket); code != 0 || out != "" {
		t.Errorf("exit %d: %s", code, out)
	}
	// A bare Debian has perl but no curl.
	bin := t.TempDir()
	for _, name := range []string{"bash", "perl", "id"} {
		program, err := exec.LookPath(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(program, filepath.Join(bin, name)); err != nil {
			t.Fatal(err)
		}
	}
	script, err := os.ReadFile("engine.sh")
	if err != nil {
		t.Fatal(err)
	}
	_, body, _ := strings.Cut(string(script), "answers() {")
	body, _, _ = strings.Cut(body, "\n}\n")
	cmd := exec.CommandContext(t.Context(), "bash", "-euc", "socket=$1\nanswers() {"+body+"\n}\nPATH=$2\nanswers", "bash", socket, bin)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("without curl the engine is not found: %v: %s", err, out)
	}
}

func TestSetUpLeavesAnEngineElsewhereToDoctor(t *testing.T) {
	t.Parallel()
	out, code := setUp(t, nil, "DOCKER_HOST=tcp://engine.example:2375", "AGENT_ENGINE_SOCKET=/nowhere")
	if code != 0 || !strings.Contains(out, "agent doctor") {
		t.Errorf("exit %d: %s", code, out)
	}
}

// TestSetUpWithoutRootSaysWhatToDo runs the script as user nobody.
func TestSetUpWithoutRootSaysWhatToDo(t *testing.T) {
	t.Parallel()
	var prefix []string
	if os.Getuid() == 0 {
		prefix = []string{"setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "bash"}
		// User nobody may have no access to the tree, so the script is passed as an argument.
		script, err := os.ReadFile("engine.sh")
		if err != nil {
			t.Fatal(err)
		}
		prefix = append(prefix, "-c", string(script))
	}
	out, code := setUp(t, prefix, "AGENT_ENGINE_SOCKET=/nowhere/docker.sock")
	if code != 3 || !strings.Contains(out, "sudo") || !strings.Contains(out, "DOCKER_HOST") {
		t.Errorf("exit %d: %s", code, out)
	}
}

// privately runs the script where its engine cannot disturb another one: in its own network and mount namespaces, with
// all its files in dir. The engine ends when the commands are over.
func privately(t *testing.T, dir, commands string) (string, int) {
	t.Helper()
	args := fmt.Sprintf("--data-root %[1]s/root --exec-root %[1]s/docker --pidfile %[1]s/docker.pid --bridge=none --iptables=false", dir)
	script := `ip link set lo up 2>/dev/null || true
end() { kill "$(cat "$AGENT_ENGINE_STATE/docker.pid")" && while [ -e "$AGENT_ENGINE_STATE/docker.pid" ]; do sleep 0.1; done; umount -R "$AGENT_ENGINE_STATE"/docker/netns; }
trap 'end 2>/dev/null || true' EXIT
` + commands
	return setUp(t, []string{"unshare", "--net", "--mount", "bash", "-c", script},
		"AGENT_ENGINE_SOCKET="+dir+"/docker.sock", "AGENT_ENGINE_STATE="+dir, "AGENT_ENGINE_LOG="+dir+"/log", "AGENT_ENGINE_ARGS="+args)
}

// shortDir returns a directory whose path is short enough for the kernel's limit of 108 bytes for a socket name.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "eng")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

func TestSetUpStartsAnEngineOnceOverWhatADeadOneLeft(t *testing.T) {
	t.Parallel()
	dir := shortDir(t)
	if err := os.MkdirAll(dir+"/docker/containerd", 0o700); err != nil {
		t.Fatal(err)
	}
	// One file names a process that does not exist, the other a process that is something else.
	for file, pid := range map[string]int{"docker.pid": 1 << 22, "docker/containerd/containerd.pid": os.Getpid()} {
		if err := os.WriteFile(filepath.Join(dir, file), fmt.Append(nil, pid), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	out, code := privately(t, dir, `
./engine.sh & ./engine.sh; wait "$!"
pid=$(cat "$AGENT_ENGINE_STATE/docker.pid")
keeper=$(ps -o ppid= -p "$pid" | tr -d ' ')
echo "sessions: $(ps -o sid= -p "$pid" | tr -d ' ') $keeper"
ls -l "/proc/$pid/fd" "/proc/$keeper/fd" | grep -c agent-engine.lock || true
gone() { while [ "$(cut -d ' ' -f 3 "/proc/$1/stat" 2>/dev/null || echo Z)" != Z ]; do sleep 0.1; done; }
kill -KILL "$pid" "$(cat "$AGENT_ENGINE_STATE/docker/containerd/containerd.pid")"
gone "$pid"
until [ "$(curl -s --unix-socket "$AGENT_ENGINE_SOCKET" http://engine/_ping)" = OK ]; do kill -0 "$keeper"; sleep 0.2; done
echo "again: $(( $(cat "$AGENT_ENGINE_STATE/docker.pid") != pid ))"
pid=$(cat "$AGENT_ENGINE_STATE/docker.pid")
kill -KILL "$keeper" "$pid" "$(cat "$AGENT_ENGINE_STATE/docker/containerd/containerd.pid")"
gone "$pid"
echo killed
./engine.sh
pid=$(cat "$AGENT_ENGINE_STATE/docker.pid")
keeper=$(ps -o ppid= -p "$pid" | tr -d ' ')
kill -TERM "$keeper"
gone "$keeper"
ls -l "$AGENT_ENGINE_STATE/docker.pid" 2>&1 | grep -c 'No such file'
`)
	if code != 0 {
		t.Fatalf("exit %d: %s", code, out)
	}
	alive, again, ok := strings.Cut(out, "killed\n")
	if !ok || strings.Count(alive, "removing the stale") != 2 || strings.Count(alive, "starting dockerd") != 1 {
		t.Errorf("two at once over stale files:\n%s", alive)
	}
	_, facts, _ := strings.Cut(alive, "sessions: ")
	var sid, keeper, locks, other int
	_, err := fmt.Sscanf(facts, "%d %d\n%d\nagain: %d\n", &sid, &keeper, &locks, &other)
	if err != nil || sid != keeper || locks != 0 {
		t.Errorf("session %d of process %d, %d locks held (%v): the engine is tied to who started it", sid, keeper, locks, err)
	}
	if other != 1 {
		t.Errorf("an engine that was killed did not come back:\n%s", alive)
	}
	if !strings.Contains(again, "starting dockerd") || !strings.Contains(again, "the engine answers") {
		t.Errorf("after kill -9 of all:\n%s", again)
	}
	if !strings.HasSuffix(again, "\n1\n") {
		t.Errorf("an engine that was ended is there again:\n%s", again)
	}
}

func TestSetUpOfABrokenEngineTriesTwiceAndShowsTheLog(t *testing.T) {
	t.Parallel()
	dir := shortDir(t)
	out, code := privately(t, dir, "export AGENT_ENGINE_ARGS=--no-such-flag\nexec ./engine.sh\n")
	if code != 3 || strings.Count(out, "starting dockerd") != 2 || !strings.Contains(out, "unknown flag: --no-such-flag") {
		t.Errorf("exit %d: %s", code, out)
	}
}
