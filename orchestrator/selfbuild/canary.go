package selfbuild

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"agent/sandbox"
)

// user is the user ID of the agent's image. Files that are put into a container belong to it; otherwise the agent could not write to
// its workspace.
const user = 10003

// together is how many cases of the battery run at the same time. Each case is an agent of its own with boxes on the same engine: with
// more of them, cases other than the intended one would time out.
const together = 3

// How long one command of an image may take. Without a bound, an image that hangs would hold its trial, and the journal, for ever. The
// toolchain may have to be built from remote sources.
const (
	errandTime = 5 * time.Minute
	toolsTime  = 30 * time.Minute
)

// Errands runs commands of images. *sandbox.Engine implements it. An exit code other than 0 is not an error: the error is trouble with
// the machine.
type Errands interface {
	Errand(ctx context.Context, x sandbox.Errand) (sandbox.ErrandEnd, error)
}

// A Prover has an image of the agent prove itself, in containers started from it.
type Prover struct {
	Errands Errands
	// Env is what the image needs of the machine: the address of a copy of the schema as AGENT_DATABASE_URL, and where packages come
	// from. Nothing else of the machine's environment goes in, least of all keys of models, since no case asks a model. It names no
	// password: anyone who may inspect a container can read what the engine knows of it.
	Env []string
	// Passwords is the file with the passwords that Env needs, in the form of PGPASSFILE; nil for none.
	Passwords []byte
	// Certificates are those that the machine trusts; nil leaves the image its own.
	Certificates []byte
}

// passwords is where an image finds Prover.Passwords.
const passwords = "/etc/agent-passwords"

// errand runs one command of the image. files are added after the certificates, and win if both name one path.
func (p Prover) errand(ctx context.Context, image string, env []string, files map[string][]byte, args ...string) (sandbox.ErrandEnd, error) {
	all := map[string][]byte{}
	if p.Certificates != nil {
		all["/etc/ssl/certs/ca-certificates.crt"] = p.Certificates
	}
	if p.Passwords != nil {
		all[passwords], env = p.Passwords, append(slices.Clone(env), "PGPASSFILE="+passwords)
	}
	maps.Copy(all, files)
	limit := errandTime
	if args[0] == "images" {
		limit = toolsTime
	}
	hangs := fmt.Errorf("it did not end within %v", limit)
	bounded, cancel := context.WithTimeoutCause(ctx, limit, hangs)
	defer cancel()
	end, err := p.Errands.Errand(bounded, sandbox.Errand{Image: image, Args: args, Env: slices.Concat(p.Env, env), Files: all, User: user})
	if err != nil && context.Cause(bounded) == hangs {
		return end, hangs
	}
	return end, err
}

// must runs a command that has to succeed, and returns its standard output. The error quotes the command and the end of its output.
func (p Prover) must(ctx context.Context, image string, args ...string) (string, error) {
	end, err := p.errand(ctx, image, nil, nil, args...)
	if err == nil && end.Exit != 0 {
		err = fmt.Errorf("exited with %d: %s", end.Exit, last(end))
	}
	if err != nil {
		return "", fmt.Errorf("`agent %s` of the image: %w", strings.Join(args, " "), err)
	}
	return string(end.Stdout), nil
}

// last returns the end of what an errand wrote, on one line. It prefers standard error, since the other stream may be a document. It is
// limited to sixty words, for a journal and a terminal.
func last(end sandbox.ErrandEnd) string {
	words := strings.Fields(string(end.Stderr))
	if len(words) == 0 {
		words = strings.Fields(string(end.Stdout))
	}
	return strings.Join(words[max(0, len(words)-60):], " ")
}

// Healthy checks an image: whether it is that version, and whether its doctor finds nothing missing. The version names the source,
// which reveals an image that was mistaken for another, and a program that got into it by other means than its build.
func (p Prover) Healthy(ctx context.Context, image, source string) error {
	version, err := p.must(ctx, image, "version")
	if err != nil {
		return err
	}
	if source = fmt.Sprintf("%.12s", source); !strings.Contains(version, source) {
		return fmt.Errorf("`agent version` of the image says %q, which does not name the source %s", strings.TrimSpace(version), source)
	}
	_, err = p.must(ctx, image, "doctor", "--json")
	return err
}

// Canary has an image prove itself: its migrations, its version and doctor, and the battery, whose verdicts it returns. The migrations
// run on the schema of Env, before anything that needs them. The first case without a verdict cancels the others and is the error. A
// verdict other than the expected one is not an error here: see compare.
func (p Prover) Canary(ctx context.Context, image, source string) (map[string]string, error) {
	// The toolchain with its guest first, before several cases need it at the same time.
	for _, args := range [][]string{{"images", "build"}, {"db", "up"}} {
		if _, err := p.must(ctx, image, args...); err != nil {
			return nil, err
		}
	}
	if err := p.Healthy(ctx, image, source); err != nil {
		return nil, err
	}
	var mu sync.Mutex
	verdicts := map[string]string{}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(together)
	for _, c := range battery {
		group.Go(func() error {
			verdict, err := p.judge(ctx, image, c)
			mu.Lock()
			defer mu.Unlock()
			verdicts[c.name] = verdict
			return err
		})
	}
	return verdicts, group.Wait()
}

// judge runs one case. It returns exit code and verdict together: a program that prints one and ends with the other is not to be
// trusted with either. The case has a container of its own, and so a workspace and a home of its own.
func (p Prover) judge(ctx context.Context, image string, c probe) (string, error) {
	files := map[string][]byte{"/home/agent/change": []byte(c.patch)}
	for name, text := range bench {
		files["/work/"+name] = []byte(text)
	}
	end, err := p.errand(ctx, image, c.env, files, "sandbox", "run", "--workspace", "/work", "--patch", "/home/agent/change", "--yes", "--json")
	if err != nil {
		return "", err
	}
	var doc struct {
		Verdict string `json:"verdict"`
	}
	// Trouble with the machine is not a verdict, and what the program says about it is what helps.
	if err := json.Unmarshal(end.Stdout, &doc); err != nil || doc.Verdict == "infra" {
		return "", fmt.Errorf("case %q of the battery has no verdict: it exited with %d: %s", c.name, end.Exit, last(end))
	}
	return fmt.Sprintf("%d %s", end.Exit, doc.Verdict), nil
}
