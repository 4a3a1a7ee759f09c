package images

import (
	"cmp"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"agent/images/dependencies"
	"agent/images/registries"
	"agent/sandbox/workspace/lazyregexp"
)

// An InstallError says that what a workspace depends on could not be installed: because of a registry, for which nobody who
// wrote code is to blame, or because of what the workspace asks for.
type InstallError struct {
	// Step is the step that failed, in the order of dependencies.Set.Steps; -1 for all of them.
	Step int
	// Registry is the address that did not answer, or broke off; "" if all answered.
	Registry string
	// Setting is the variable that names the registry, "" for any of them.
	Setting string
	// Said is the start of the package manager's complaint, a few lines.
	Said string
	// Err contains the end of the installer's output.
	Err error
}

// Error names the registry, if it is to blame.
func (e *InstallError) Error() string {
	if e.Registry != "" {
		return e.Registry + " does not answer: " + e.Said
	}
	return e.Said
}

// Unwrap returns the error of the build.
func (e *InstallError) Unwrap() error { return e.Err }

// Next says what to do about it.
func (e *InstallError) Next() string {
	if e.Setting == aptSources {
		return "name packages that the image's Debian has (environment.packages), or skip installation with --no-install"
	}
	if e.Registry == "" {
		return "fix the manifest or lock file that is named, or skip installation with --no-install"
	}
	return "set " + cmp.Or(e.Setting, "NPM_CONFIG_REGISTRY, PIP_INDEX_URL or GOPROXY") + " to a registry that responds, or skip installation with --no-install"
}

// The lines by which the script reports that a step could not be installed, and that a registry cannot be reached. An engine
// this old gives the exit status of a step as text only, so a line of its output is as good. A package that prints these
// lines during installation only blames its own failure on something else, and makes nothing pass.
const (
	notInstalled = "agent: not installed: "
	unanswered   = "agent: registry does not answer: "
	outOfTime    = "agent: no end within "
)

// aptSources stands for the setting that names Debian's archive, which is not a variable.
const aptSources = "/etc/apt"

// brokenOff matches what package managers print about a broken connection, or a registry in trouble.
var brokenOff = lazyregexp.New(`\b(ECONNRESET|ETIMEDOUT|ECONNREFUSED|ENOTFOUND|EAI_AGAIN|ERR_SOCKET_TIMEOUT|FETCH_ERROR|E429|E5\d\d)\b|` +
	`(?i)connection (reset|broken|refused|aborted)|timed? ?out|tls handshake|unexpected eof|ERR_PNPM_FETCH_5\d\d|\b(429|50[0234])\b[^\n]*(error|bad gateway|unavailable|too many)`)

// maxSaid bounds how many lines of a package manager are shown.
const maxSaid = 4

// installError interprets the failure of a build: it returns an *InstallError if a package manager failed, and err itself if
// it was the engine or the machine.
func installError(err error, d dependencies.Set, from registries.Set) error {
	text := err.Error()
	at := strings.LastIndex(text, notInstalled)
	if at < 0 {
		if errors.Is(err, errInstallTime) {
			return &InstallError{Step: -1, Registry: from.NPM, Said: errInstallTime.Error(), Err: err}
		}
		return err
	}
	number, said, _ := strings.Cut(text[at+len(notInstalled):], "\n")
	step, numberErr := strconv.Atoi(strings.TrimSpace(number))
	if numberErr != nil || step < 0 || step >= len(d.Steps())/2 {
		return err
	}
	address, setting := from.NPM, "NPM_CONFIG_REGISTRY"
	switch d.Part(step).Manager {
	case "apt":
		return &InstallError{Step: step, Setting: aptSources, Said: firstLines(said), Err: err}
	case "pip":
		address, setting = from.PyPI, "PIP_INDEX_URL"
	case "go":
		address, setting = from.GoProxy, "GOPROXY"
	}
	failure := &InstallError{Step: step, Setting: setting, Said: firstLines(said), Err: err}
	if _, rest, ok := strings.Cut(text, unanswered); ok {
		failure.Registry, _, _ = strings.Cut(rest, "\n")
	} else if strings.Contains(said, outOfTime) || brokenOff.MatchString(said) {
		failure.Registry = address
	}
	return failure
}

// saysNothing matches lines that report progress or warn, and complains those with which a package manager begins to complain.
var (
	saysNothing = lazyregexp.New(`^(?:Progress: |Packages: |[+-]+$|Lockfile is |Already up to date|Downloading |\[?WARN\b|npm (?:warn|notice)\b|➤ YN0000)|A complete log of this run`)
	complains   = lazyregexp.New(`\b(?:ERR_[A-Z_]+|E[A-Z]{4,})\b|^(?i:npm err|(?:\w+ )?error)\b`)
)

// firstLines returns the first meaningful lines: from the first complaint on, if one is recognized.
func firstLines(text string) string {
	var lines []string
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" && !saysNothing.MatchString(line) {
			lines = append(lines, line)
		}
	}
	if at := slices.IndexFunc(lines, complains.MatchString); at > 0 {
		lines = lines[at:]
	}
	return strings.Join(lines[:min(len(lines), maxSaid)], "\n")
}

// spareFailure is how long a failure counts in this process: several steps of one run ask for the same.
const spareFailure = 30 * time.Second

// A failureLog remembers which installations failed. The zero value is ready.
type failureLog struct {
	mu   sync.Mutex
	list map[string]failure
}

// A failure is how an installation failed, and when.
type failure struct {
	err error
	at  time.Time
}

// recent returns how an installation failed a moment ago in this process, or nil.
func (l *failureLog) recent(key string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if f := l.list[key]; time.Since(f.at) < spareFailure {
		return f.err
	}
	return nil
}

// keep remembers an *InstallError, and returns err.
func (l *failureLog) keep(key string, err error) error {
	var lacking *InstallError
	if !errors.As(err, &lacking) {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.list == nil {
		l.list = map[string]failure{}
	}
	l.list[key] = failure{err, time.Now()}
	return err
}

// A slowMark is a file that exists after an installation ran out of time, or something dispensable could not be had, so that
// the next runs wait less.
type slowMark string

// markOf returns the mark of the dependencies with this digest, or "" if there is no place for one.
func markOf(digest string) slowMark {
	dir, err := cacheDir()
	if err != nil {
		return ""
	}
	return slowMark(filepath.Join(dir, "deps-slow-"+digest[:12]))
}

// patience returns how long a package manager may take.
func (m slowMark) patience() time.Duration {
	if m.recent() {
		return shortTime
	}
	return managerTime
}

// recent reports whether the mark was left within spareSlow.
func (m slowMark) recent() bool {
	info, err := os.Stat(string(m))
	return err == nil && time.Since(info.ModTime()) < spareSlow
}

// leave makes the mark. If that fails, only time is lost.
func (m slowMark) leave() {
	if m != "" {
		_ = os.WriteFile(string(m), nil, 0o600)
		_ = os.Chtimes(string(m), time.Time{}, time.Now())
	}
}

// set makes or removes the mark, depending on how an installation ended. If that fails, only time is lost.
func (m slowMark) set(err error) {
	var lacking *InstallError
	switch {
	case m == "":
	case !errors.As(err, &lacking) || !strings.Contains(lacking.Said, outOfTime):
		_ = os.Remove(string(m))
	case m.patience() == managerTime: // otherwise the hour would never end
		m.leave()
	}
}
