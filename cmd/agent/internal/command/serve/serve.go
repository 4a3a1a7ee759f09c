// Package serve implements `agent serve`: the agent as a participant on a forge, which does what people there ask it to do.
package serve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/urfave/cli/v2"

	"agent/cmd/agent/internal/cmdline"
	"agent/cmd/agent/internal/command/pr"
	"agent/cmd/agent/internal/config"
	"agent/cmd/agent/internal/fault"
	"agent/cmd/agent/internal/term"
	"agent/cmd/agent/internal/wire"
	"agent/orchestrator/forge"
	"agent/orchestrator/serve/bot"
	"agent/sandbox/owner"
)

type command struct{ *cmdline.Line }

// leastPoll is the shortest interval at which a forge is polled.
const leastPoll = 10 * time.Second

// Command returns the command that does what people on a forge ask for.
func Command(line *cmdline.Line) *cli.Command {
	c := command{line}
	return &cli.Command{
		Name: "serve", Usage: "do what people on a forge ask for: by comments, labels and assigned issues",
		Description: "Takes the webhooks of GitHub, Gitea, Forgejo or GitLab on " + bot.HookPath + ", signed with AGENT_SERVE_SECRET, or asks\n" +
			"the forge for comments (--poll). A comment whose first line is /agent fix, review, integrate, run or stop,\n" +
			"the label `agent`, or an issue that is assigned to the agent's account is a job, if the person who asked may write\n" +
			"to the repository or is listed in serve.people. Jobs are done by `agent pr run`, `review` and `fix-ci`, one\n" +
			"after the other, within the limits of serve.*, and answered where they were asked for. They are kept in\n" +
			"Postgres: a restart continues them, nothing is done twice, and several processes may share the work.\n" +
			"Texts of issues and comments are data: no word in them widens a limit or approves anything.\n\n" + cmdline.Examples(
			"agent serve --repo shop/till", "webhooks on "+defaultAddress,
			"agent serve --repo shop/till --repo shop/web --http 127.0.0.1:9000", "two repositories, another port",
			"agent serve --repo shop/till --poll 1m", "if the forge cannot reach this machine",
			"agent sql v_bot_jobs", "what was asked for, and how it ended"),
		Flags: []cli.Flag{
			&cli.StringSliceFlag{Name: "repo", Usage: "serve `OWNER/NAME`; may be repeated"},
			&cli.StringFlag{Name: "http", Value: defaultAddress, Usage: "serve HTTP on `ADDR`; port 0 picks a free one"},
			&cli.DurationFlag{Name: "poll", Usage: "ask the forge for comments every `DURATION`, 10s or more; without a secret no webhooks are accepted", DefaultText: "never"},
		},
		Action: c.serve,
	}
}

// defaultAddress is where webhooks are received: a proxy that speaks TLS is in front of it.
const defaultAddress = "127.0.0.1:8420"

// A service is one run of the command.
type service struct {
	command
	set  config.Settings
	bot  *bot.Bot
	kind forge.Kind
	me   string
}

// serve serves until the process is asked to end.
func (c command) serve(ctx *cli.Context) error {
	set, err := config.Load(ctx, c.Getenv)
	if err != nil {
		return err
	}
	poll, secret := ctx.Duration("poll"), set["serve.secret"].Text
	switch {
	case len(ctx.StringSlice("repo")) == 0:
		return fault.Usage("name a repository to serve: agent serve --repo OWNER/NAME", "no repository was named")
	case poll != 0 && poll < leastPoll:
		return fault.Usage("use 10s or more", "--poll %v", poll)
	case secret == "" && poll == 0:
		return fault.Usage("set AGENT_SERVE_SECRET to what the forge signs its webhooks with, or poll the forge with --poll 1m", "there is neither a webhook secret nor --poll: no request could arrive")
	}
	return c.With(ctx.Context, set, false, func(s *wire.Session) error {
		v := &service{command: c, set: set}
		if err := v.prepare(ctx.Context, s, ctx.StringSlice("repo")); err != nil {
			return err
		}
		v.bot.Poll = poll
		under, stop := context.WithCancel(ctx.Context)
		defer stop()
		var listening sync.WaitGroup
		var lerr error
		if secret != "" {
			listener, err := v.listen(ctx.Context, ctx.String("http"))
			if err != nil {
				return err
			}
			listening.Go(func() { defer stop(); lerr = v.take(under, listener, secret) })
		}
		v.bot.Serve(under)
		listening.Wait()
		return lerr
	})
}

// prepare opens the repositories and assembles the bot.
func (v *service) prepare(ctx context.Context, s *wire.Session, names []string) error {
	b := &bot.Bot{Queue: s.DB.Jobs(), Forges: map[string]forge.Forge{}, Allow: config.ParseList(v.set["serve.people"].Text), Owner: cmp.Or(owner.Name(), fmt.Sprintf("process %d", os.Getpid())), Dead: bot.Silent(owner.Alive)}
	for _, name := range names {
		api, kind, address, err := pr.Connect(ctx, v.Line, v.set, name)
		if err != nil {
			return err
		}
		b.Forges[address.Slug()], b.Host, v.kind = api, address.Host(), kind
		if v.me, err = api.Me(ctx); err != nil {
			return pr.ForgeFault(err)
		}
	}
	for name, field := range map[string]*int{
		"serve.person_hour": &b.Limits.PersonHour, "serve.person_day": &b.Limits.PersonDay,
		"serve.repository_hour": &b.Limits.RepositoryHour, "serve.repository_day": &b.Limits.RepositoryDay,
	} {
		var err error
		if *field, err = strconv.Atoi(v.set[name].Text); err != nil {
			return fmt.Errorf("read %s: %w", name, err)
		}
	}
	caches, err := os.UserCacheDir()
	if err != nil {
		return fault.Infra("set HOME or XDG_CACHE_HOME", "no directory for a cache: %w", err)
	}
	dir := filepath.Join(caches, "agent", "serve")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fault.Infra("make room for a cache, or set XDG_CACHE_HOME", "%w", err)
	}
	w := pr.NewWorker(v.Line, s.DB, dir, func(ctx context.Context, api forge.Forge, name string) (bool, error) {
		if slices.Contains(b.Allow, name) {
			return true, nil
		}
		return api.MayWrite(ctx, name)
	})
	b.Do, b.GiveUp = w.Do, w.GiveUp
	b.Tell = func(text string) { fmt.Fprintf(v.Stderr, "agent: %s\n", term.CleanLine(text)) }
	v.bot = b
	return nil
}

// listen opens the port.
func (v *service) listen(ctx context.Context, addr string) (net.Listener, error) {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, fault.Usage("use e.g. "+defaultAddress, "invalid address %q", addr)
	}
	// GitLab does not sign but sends its secret: anyone who overhears it can send whatever they want.
	if ip := net.ParseIP(host); v.kind == forge.GitLab && host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return nil, fault.Policy("have a TLS proxy pass webhooks on to "+defaultAddress, "GitLab would send its secret to %s in the clear", addr)
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, fault.Infra("choose another port, or 0 for a free one", "%w", err)
	}
	return listener, nil
}

// take accepts webhooks until ctx ends.
func (v *service) take(ctx context.Context, listener net.Listener, secret string) error {
	mux := http.NewServeMux()
	var names []string
	for name := range v.bot.Forges {
		names = append(names, name)
	}
	mux.Handle(bot.HookPath, &bot.Receiver{
		Kind: v.kind, Host: v.bot.Host, Secret: secret, Repositories: names, Me: v.me, Label: v.set["serve.label"].Text, Queue: v.bot.Queue, Wake: v.bot.Wake,
	})
	slices.Sort(names)
	fmt.Fprintf(v.Stderr, "agent: webhooks of %s on http://%s%s, Ctrl-C ends it\n", term.CleanLine(strings.Join(names, ", ")), listener.Addr(), bot.HookPath)
	served := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: 30 * time.Second, WriteTimeout: 30 * time.Second, IdleTimeout: time.Minute, MaxHeaderBytes: 64 << 10}
	ended := make(chan error, 1)
	go func() { ended <- served.Serve(listener) }()
	var err error
	select {
	case err = <-ended:
	case <-ctx.Done():
		err = errors.Join(served.Close(), <-ended)
	}
	if errors.Is(err, http.ErrServerClosed) || err == nil {
		return nil
	}
	return fault.Infra("run it again", "serve HTTP: %w", err)
}
