package mcp

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"agent/sandbox/workspace/lazyregexp"
)

// The arguments of the tools.
type (
	proveIn struct {
		Patch string `json:"patch" jsonschema:"the whole change: a unified diff, SEARCH/REPLACE blocks, XML or JSON edits, or whole files in blocks with their path"`
		File  string `json:"file,omitempty" jsonschema:"the file that blocks without a path mean, relative to the workspace"`
	}
	runIn struct {
		Run string `json:"run" jsonschema:"the ID of a run, as prove_patch returns it"`
	}
	undoIn struct {
		Run string `json:"run,omitempty" jsonschema:"the ID of the applied run; the last one of the workspace without it"`
	}
	historyIn struct {
		Limit int `json:"limit,omitempty" jsonschema:"how many runs at most, 1 to 100; 20 without it"`
	}
	symbolIn struct {
		Name string `json:"name" jsonschema:"the name of a function, type, method or constant, without its file"`
	}
)

// addTools adds every tool, one in each row.
func (s *server) addTools(to *sdk.Server) {
	yes, no := true, false
	reads := &sdk.ToolAnnotations{ReadOnlyHint: true, OpenWorldHint: &no}
	proves := &sdk.ToolAnnotations{DestructiveHint: &no, IdempotentHint: true, OpenWorldHint: &no}
	writes := &sdk.ToolAnnotations{DestructiveHint: &yes, OpenWorldHint: &no}
	sdk.AddTool(to, &sdk.Tool{Name: "prove_patch", Annotations: proves, Description: "Prove a patch in a throwaway container: format, lint, types, smoke test and tests, compared with the " +
		"workspace as it is. Nothing is written to the workspace. Returns the verdict, findings with file and line, and what to do next."}, s.prove)
	sdk.AddTool(to, &sdk.Tool{Name: "apply_run", Annotations: writes, Description: "Write a run that passed to the workspace, all of it or nothing. A person approves it."}, s.apply)
	sdk.AddTool(to, &sdk.Tool{Name: "undo", Annotations: writes, Description: "Take an applied run back, all of it or nothing. A person approves it."}, s.undo)
	sdk.AddTool(to, &sdk.Tool{Name: "run_status", Annotations: reads, Description: "How a run ended: verdict, findings, what holds it, its diff."}, s.status)
	sdk.AddTool(to, &sdk.Tool{Name: "findings", Annotations: reads, Description: "What the gates reported of a run: each new finding with gate, file, line and rule."}, s.findings)
	sdk.AddTool(to, &sdk.Tool{Name: "history", Annotations: reads, Description: "The latest runs of this workspace, the newest first."}, s.history)
	sdk.AddTool(to, &sdk.Tool{Name: "search_symbols", Annotations: reads, Description: "Where a name is defined in the workspace."}, s.symbols)
	sdk.AddTool(to, &sdk.Tool{Name: "users_of", Annotations: reads, Description: "Which files and lines use a name that the workspace defines: what a change of it touches."}, s.users)
}

// prove proves a patch and writes nothing.
func (s *server) prove(ctx context.Context, req *sdk.CallToolRequest, in proveIn) (*sdk.CallToolResult, Proof, error) {
	if strings.TrimSpace(in.Patch) == "" {
		return nil, Proof{}, errors.New("the patch is empty")
	}
	args := []string{"sandbox", "run", "--json", "--no-promote", "--patch", "-"}
	if in.File != "" {
		args = append(args, "--file="+in.File)
	}
	ended, err := s.run(ctx, req, in.Patch, args...)
	if err != nil {
		return nil, Proof{}, err
	}
	return proofOf(ended)
}

// named matches the IDs of runs and their prefixes. Nothing else ever becomes an argument.
var named = lazyregexp.New(`^[0-9a-z]{3,40}$`)

// runName refuses a text that is not the ID of a run.
func runName(run string) error {
	if !named.MatchString(run) {
		return fmt.Errorf("%q is not the ID of a run: history lists them", run)
	}
	return nil
}

// apply writes a run that passed to the workspace, once it is approved.
func (s *server) apply(ctx context.Context, req *sdk.CallToolRequest, in runIn) (*sdk.CallToolResult, Proof, error) {
	if err := runName(in.Run); err != nil {
		return nil, Proof{}, err
	}
	shown, err := s.run(ctx, req, "", "runs", "show", "--json", in.Run)
	if err != nil {
		return nil, Proof{}, err
	}
	_, proof, err := proofOf(shown)
	if err != nil {
		return nil, Proof{}, err
	}
	text := fmt.Sprintf("Apply run %s to the workspace? Verdict: %s. Files: %s", proof.Run, proof.Verdict, strings.Join(filesOf(proof.Diff), ", "))
	if result, err := s.approved(ctx, req, text, "agent runs apply "+in.Run); result != nil || err != nil {
		return result, Proof{}, err
	}
	ended, err := s.run(ctx, req, "", "runs", "apply", "--yes", "--json", in.Run)
	if err != nil {
		return nil, Proof{}, err
	}
	return proofOf(ended)
}

// undo takes an applied run back, once it is approved.
func (s *server) undo(ctx context.Context, req *sdk.CallToolRequest, in undoIn) (*sdk.CallToolResult, Said, error) {
	args, what := []string{"undo", "--yes", "--json"}, "the last applied run"
	if in.Run != "" {
		if err := runName(in.Run); err != nil {
			return nil, Said{}, err
		}
		args, what = append(args, in.Run), "run "+in.Run
	}
	if result, err := s.approved(ctx, req, "Undo "+what+" in the workspace?", strings.TrimSpace("agent undo "+in.Run)); result != nil || err != nil {
		return result, Said{}, err
	}
	ended, err := s.run(ctx, req, "", args...)
	if err != nil {
		return nil, Said{}, err
	}
	return saidOf(ended)
}

// status describes a run.
func (s *server) status(ctx context.Context, req *sdk.CallToolRequest, in runIn) (*sdk.CallToolResult, Proof, error) {
	if err := runName(in.Run); err != nil {
		return nil, Proof{}, err
	}
	ended, err := s.run(ctx, req, "", "runs", "show", "--json", in.Run)
	if err != nil {
		return nil, Proof{}, err
	}
	return proofOf(ended)
}

// Findings is the answer of the tool findings.
type Findings struct {
	Findings []Finding `json:"findings"`
}

// findings lists what the gates reported about a run.
func (s *server) findings(ctx context.Context, req *sdk.CallToolRequest, in runIn) (*sdk.CallToolResult, Findings, error) {
	result, proof, err := s.status(ctx, req, in)
	return result, Findings{append([]Finding{}, proof.Findings...)}, err
}

// mostRuns bounds how many runs history lists.
const mostRuns = 100

// history lists the latest runs.
func (s *server) history(ctx context.Context, req *sdk.CallToolRequest, in historyIn) (*sdk.CallToolResult, Said, error) {
	limit := in.Limit
	if limit == 0 {
		limit = 20
	}
	ended, err := s.run(ctx, req, "", "runs", "list", "--json", "--limit="+strconv.Itoa(min(max(limit, 1), mostRuns)))
	if err != nil {
		return nil, Said{}, err
	}
	return saidOf(ended)
}

// symbols lists where a name is defined.
func (s *server) symbols(ctx context.Context, req *sdk.CallToolRequest, in symbolIn) (*sdk.CallToolResult, Places, error) {
	return s.places(ctx, req, in.Name, definitions)
}

// users lists where a name is used.
func (s *server) users(ctx context.Context, req *sdk.CallToolRequest, in symbolIn) (*sdk.CallToolResult, Places, error) {
	return s.places(ctx, req, in.Name, references)
}

// approved returns neither result nor error if a run may be written: whoever started the server allows all, or the person at the
// client this one. A result carries the question to the client. byHand is the command for a person without the client.
func (s *server) approved(ctx context.Context, req *sdk.CallToolRequest, text, byHand string) (*sdk.CallToolResult, error) {
	refused := func(why string) (*sdk.CallToolResult, error) {
		return nil, fmt.Errorf("not done: %s. A person can run `%s` in the workspace", why, byHand)
	}
	switch s.approve {
	case Always:
		return nil, nil
	case Never:
		return refused("this server applies nothing")
	}
	ask := &sdk.ElicitParams{Message: text, RequestedSchema: &jsonschema.Schema{
		Type: "object", Properties: map[string]*jsonschema.Schema{"approve": {Type: "boolean", Title: "Approve"}}, Required: []string{"approve"},
	}}
	if init := req.Session.InitializeParams(); init == nil || init.Capabilities == nil || init.Capabilities.Elicitation == nil {
		return refused("the client cannot ask its user")
	}
	var answer *sdk.ElicitResult
	if req.ProtocolVersion() < roundTrips {
		var err error
		if answer, err = req.Session.Elicit(ctx, ask); err != nil {
			return refused("the question was not answered: " + err.Error())
		}
	} else {
		if req.Params.RequestState == "" {
			return &sdk.CallToolResult{InputRequests: sdk.InputRequestMap{approvalID: ask}, RequestState: s.questions.put(text)}, nil
		}
		// An answer counts only for the question that was asked, and only once.
		if !s.questions.take(req.Params.RequestState, text) {
			return refused("the answer does not belong to a question of this server")
		}
		answer, _ = req.Params.InputResponses[approvalID].(*sdk.ElicitResult)
	}
	if answer == nil || answer.Action != "accept" || answer.Content["approve"] != true {
		return refused("the person at the client did not approve")
	}
	return nil, nil
}

// filesOf lists the files that a diff names.
func filesOf(diff string) (files []string) {
	for line := range strings.Lines(diff) {
		if _, to, ok := strings.Cut(strings.TrimSuffix(line, "\n"), " b/"); ok && strings.HasPrefix(line, "diff --git ") {
			files = append(files, to)
		}
	}
	slices.Sort(files)
	return slices.Compact(files)
}

// Said is the document of a command as printed, one JSON value.
type Said struct {
	Exit   int `json:"exit" jsonschema:"0 done, 1 refused, 2 usage, 3 infrastructure, 4 approval needed, 5 budget, 6 conflict"`
	Result any `json:"result" jsonschema:"an object or a list, as the command prints it with --json"`
}
