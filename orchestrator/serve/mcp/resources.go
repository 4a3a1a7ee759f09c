package mcp

import (
	"context"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// A view is a resource: what a command prints.
type view struct {
	name, template, mime, about string
	args                        []string // the run's ID follows them if the template has one
}

// views lists all of them, one in each row.
var views = []view{
	{"runs", "agent://runs", "application/json", "the latest runs of the workspace", []string{"runs", "list", "--json"}},
	{"run", "agent://runs/{run}", "application/json", "a run: states, gates, findings, files", []string{"runs", "show", "--json"}},
	{"diff", "agent://runs/{run}/diff", "text/x-diff", "the diff of a run, fit for git apply", []string{"runs", "diff"}},
	{"logs", "agent://runs/{run}/logs", "text/plain", "the events of a run in order, and who decided", []string{"runs", "logs"}},
}

// addResources adds every view.
func (s *server) addResources(to *sdk.Server) {
	for _, v := range views {
		before, after, whole := strings.Cut(v.template, "{run}")
		read := func(ctx context.Context, req *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
			args := v.args
			if whole {
				run := strings.TrimSuffix(strings.TrimPrefix(req.Params.URI, before), after)
				if runName(run) != nil {
					return nil, sdk.ResourceNotFoundError(req.Params.URI)
				}
				args = append(args[:len(args):len(args)], run)
			}
			ended, err := s.program.Run(ctx, args, "", func(string) {})
			if err != nil {
				return nil, err
			}
			if ended.Exit != 0 && ended.Stdout == "" {
				return nil, trouble(ended, nil)
			}
			return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{{URI: req.Params.URI, MIMEType: v.mime, Text: ended.Stdout}}}, nil
		}
		if whole {
			to.AddResourceTemplate(&sdk.ResourceTemplate{Name: v.name, Description: v.about, URITemplate: v.template, MIMEType: v.mime}, read)
			continue
		}
		to.AddResource(&sdk.Resource{Name: v.name, Description: v.about, URI: v.template, MIMEType: v.mime}, read)
	}
}
