package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// Places lists where a name occurs.
type Places struct {
	Places  []Place `json:"places"`
	Omitted int     `json:"omitted,omitempty" jsonschema:"how many are left out"`
}

// A Place is a line of a file, with what is defined there.
type Place struct {
	File string `json:"file"`
	Line int    `json:"line"`
	// End, Kind and Signature belong to a definition.
	End       int    `json:"end,omitempty"`
	Kind      string `json:"kind,omitempty"`
	Signature string `json:"signature,omitempty"`
}

// mostPlaces bounds an answer.
const mostPlaces = 200

// An analysis is the part used here of what `agent analyze --json` prints.
type analysis struct {
	Files map[string]analysedFile `json:"files"`
}

type analysedFile struct {
	Definitions []struct {
		Name      string `json:"name"`
		Kind      string `json:"kind"`
		Line      int    `json:"line"`
		End       int    `json:"end"`
		Signature string `json:"signature"`
	} `json:"definitions"`
	References []struct {
		Name  string `json:"name"`
		Lines []int  `json:"lines"`
	} `json:"references"`
}

// definitions lists the places in a file that define a name; a method Type.name counts for name.
func definitions(file string, f analysedFile, name string) (list []Place) {
	for _, d := range f.Definitions {
		if d.Name == name || strings.HasSuffix(d.Name, "."+name) {
			list = append(list, Place{file, d.Line, d.End, d.Kind, d.Signature})
		}
	}
	return list
}

// references lists the places in a file that use a name.
func references(file string, f analysedFile, name string) (list []Place) {
	for _, r := range f.References {
		if r.Name == name {
			for _, line := range r.Lines {
				list = append(list, Place{File: file, Line: line})
			}
		}
	}
	return list
}

// places updates the analysis of the workspace and searches it.
func (s *server) places(ctx context.Context, req *sdk.CallToolRequest, name string, in func(string, analysedFile, string) []Place) (*sdk.CallToolResult, Places, error) {
	name = strings.TrimSpace(name)
	if name == "" {
		return nil, Places{}, errors.New("the name is empty")
	}
	ended, err := s.run(ctx, req, "", "analyze", "--json")
	if err != nil {
		return nil, Places{}, err
	}
	var a analysis
	if err := json.Unmarshal([]byte(ended.Stdout), &a); err != nil {
		return nil, Places{}, trouble(ended, err)
	}
	found := Places{Places: []Place{}}
	for _, file := range slices.Sorted(maps.Keys(a.Files)) {
		found.Places = append(found.Places, in(file, a.Files[file], name)...)
	}
	slices.SortStableFunc(found.Places, func(a, b Place) int { return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line)) })
	if over := len(found.Places) - mostPlaces; over > 0 {
		found.Places, found.Omitted = found.Places[:mostPlaces], over
	}
	return nil, found, nil
}
