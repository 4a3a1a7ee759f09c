package sandbox

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"agent/cmd/agent/internal/config"
	"agent/cmd/agent/internal/fault"
	"agent/cmd/agent/internal/term"
	"agent/cmd/agent/internal/wire"
	"agent/images"
	"agent/orchestrator/exec"
	"agent/orchestrator/exec/recipe"
	"agent/orchestrator/gateway"
	"agent/orchestrator/llm"
	"agent/orchestrator/run"
	"agent/sandbox/egress"
	"agent/verify"
)

// A following is a recipe applied to one command.
type following struct {
	name    string
	recipe  recipe.Recipe
	gateway *wire.GatewayMaker // nil if it asks no model
	allow   egress.List
}

// follow applies to w the recipe of its program, and checks everything that can be checked before anything is built. It
// returns nil for a program without a recipe.
func follow(set config.Settings, w *exec.Work) (*following, error) {
	name, r, ok := recipe.Find(set.Recipes(), w.Command[0])
	if !ok {
		return nil, nil
	}
	f := &following{name: name, recipe: r}
	var err error
	if f.allow, err = egress.Parse(r.Allow); err != nil { // checked with the settings
		return nil, err
	}
	start := r.Begin(w.Command, gateway.Address, gateway.Key)
	if r.Vendor != "" {
		if f.gateway, err = wire.NewGatewayMaker(set, name, r.Vendor); err != nil {
			return nil, err
		}
	}
	if f.gateway != nil {
		for _, text := range append([]string{strings.Join(start.Command, "\x00")}, values(start.Env)...) {
			for _, k := range f.gateway.Keys() {
				if strings.Contains(text, k.Secret()) {
					return nil, fault.Usage("write {key} instead: the program asks through a gateway, which has the key", "exec.%s would put key %s into the box", name, k)
				}
			}
		}
	}
	w.Start, w.Env, w.Model = start.Command, start.Env, r.Vendor != "" || len(r.Allow) > 0
	return f, nil
}

// values returns the values of a map, in any order.
func values(m map[string]string) (list []string) {
	for _, v := range m {
		list = append(list, v)
	}
	return list
}

// open adds to w what needs a session.
func (f *following) open(s *wire.Session, w *exec.Work) {
	q := images.Equipment{NPM: f.recipe.NPM, Debian: f.recipe.Debian, Bin: f.recipe.Bin}
	if !q.Empty() {
		w.Equip = func(ctx context.Context, on images.Image) (images.Image, error) { return s.Builder.Equip(ctx, on, q) }
	}
	w.Connect = func(ctx context.Context, x *run.Execution) (exec.Way, error) { return f.connect(ctx, s, x) }
}

// connect opens the way out of a box: the vendor's API, and the hosts that the user allows.
func (f *following) connect(ctx context.Context, s *wire.Session, x *run.Execution) (exec.Way, error) {
	way := &gateway.Way{Proxy: &egress.Proxy{Allow: f.allow, Setting: "[exec." + f.name + "] allow", Record: func(r egress.Request) {
		// A request that cannot be recorded is at least in the log; then the end of the run is not recorded either.
		_ = x.Requested(ctx, verify.Event{Gate: "exec", Request: &r})
	}}}
	told := func() (string, *run.Problem) { return "", nil }
	if f.gateway != nil {
		g, err := s.Gateway(f.gateway, x.ID())
		if err != nil {
			return exec.Way{}, err
		}
		way.API = g
		told = func() (string, *run.Problem) { return spent(g) }
	}
	return exec.Way{Egress: way, Told: told}, nil
}

// spent says what a program asked, and why its result is not judged.
func spent(g *gateway.Gateway) (note string, problem *run.Problem) {
	sum, err := g.Spent()
	if sum.Requests > 0 {
		note = "the command asked its model: " + sum.String()
	}
	var capped *llm.BudgetError
	switch {
	case errors.As(err, &capped):
		problem = &run.Problem{Kind: run.ProblemBudget, Message: capped.Error(), Next: "nothing was judged or written; " + capped.Next()}
	case errors.Is(err, llm.ErrUnpriced):
		problem = &run.Problem{Kind: run.ProblemUsage, Message: err.Error(), Next: "set the price in [prices] of the user configuration, or remove the cap on cost"}
	case err != nil:
		problem = &run.Problem{Kind: run.ProblemInfra, Message: fmt.Sprintf("record what the command asked: %s", term.CleanLine(err.Error())), Next: "run `agent doctor`"}
	}
	return note, problem
}
