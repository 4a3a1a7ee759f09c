package python

import (
	"strings"
	"testing"

	"agent/sandbox"
	"agent/sandbox/guest"
	"agent/verify/check"
	"agent/verify/checktest"
)

// waiting has tests that wait for something that never happens, and others that take their time.
const waiting = `import subprocess
import sys
import threading
import time

import pytest


def wait_ready():
    while True:
        try:
            raise ConnectionError
        except Exception:
            time.sleep(0.05)


@pytest.fixture
def server():
    wait_ready()
    yield


def test_server(server):
    pass


def test_lock():
    threading.Lock().acquire()
    threading.Lock().acquire()
    lock = threading.Lock()
    lock.acquire()
    lock.acquire()


def test_pipe():
    subprocess.run(["sleep", "1000"])


def test_computes():
    end = time.monotonic() + 5
    while time.monotonic() < end:
        pass


def test_has_another_compute():
    subprocess.run([sys.executable, "-c", "import time\nend = time.monotonic() + 5\nwhile time.monotonic() < end: pass"], check=True)


def test_sees_nothing_of_it():
    assert threading.active_count() == 1


def test_quick():
    pass
`

// A test that waits while nothing in its box is running is interrupted, and the other tests run.
func TestATestThatWaitsForNothingIsInterrupted(t *testing.T) {
	t.Parallel()
	b := checktest.NewBench(t, map[string]string{"test_all.py": waiting}, sandbox.Limits{})
	res, _, _ := b.Command(t.Context(), guest.Command{
		Args: []string{b.Tools.Python, "-s", "-B", b.Tools.Tests, "/tmp/record", "-q"}, Dir: check.Work, Env: map[string]string{"AGENT_TEST_PATIENCE": "3,2"}, Collect: []string{"/tmp/record"},
	})
	run, err := check.ParseRecord(res.Files["/tmp/record"])
	if err != nil || !run.Finished {
		t.Fatalf("%v %s %s", err, res.Stdout.Head, res.Stderr.Head)
	}
	var ended []string
	for _, r := range run.Results {
		_, name, _ := strings.Cut(r.ID, "::")
		if r.Outcome != "passed" && !strings.Contains(r.Message, "it was waiting, and nothing in its box was running") {
			t.Errorf("%+v", r)
		}
		ended = append(ended, name+" "+r.Outcome)
	}
	want := "test_server error, test_lock failed, test_pipe failed, test_computes passed, test_has_another_compute passed, test_sees_nothing_of_it passed, test_quick passed"
	if got := strings.Join(ended, ", "); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
