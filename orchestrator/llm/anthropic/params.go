package anthropic

import (
	"encoding/base64"
	"encoding/json"
	"strings"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/packages/param"

	"agent/orchestrator/llm"
	"agent/orchestrator/llm/wire"
)

// params returns req in Anthropic's form.
//
// Instructions have a cache breakpoint. With the tools before them they are the same in many questions, and if they are shorter
// than Anthropic caches, it costs nothing. A conversation has another breakpoint after its last turn, since the next question
// begins with everything up to there. It has one more after the user's previous turn, which the last question wrote: Anthropic
// looks for that no further back than 20 blocks, and a turn may have more. A single question has none there, since data that is
// written and never read costs a quarter more.
func params(req llm.Request) sdk.MessageNewParams {
	p := sdk.MessageNewParams{Model: req.Model, MaxTokens: bound(req), Tools: tools(req)}
	if !strings.HasPrefix(req.Model, "claude-") || sampled.MatchString(req.Model) {
		p.Temperature = sdk.Float(req.Temperature)
		if req.TopK > 0 { // TopP is refused together with a temperature
			p.TopK = sdk.Int(int64(req.TopK))
		}
	}
	if req.System != "" {
		p.System = []sdk.TextBlockParam{{Text: req.System, CacheControl: sdk.NewCacheControlEphemeralParam()}}
	}
	switch req.Choice {
	case llm.MustCall:
		p.ToolChoice.OfAny = &sdk.ToolChoiceAnyParam{}
	case llm.NoCall:
		p.ToolChoice.OfNone = &sdk.ToolChoiceNoneParam{}
	}
	if len(req.Schema) > 0 {
		p.OutputConfig.Format = param.Override[sdk.JSONOutputFormatParam](map[string]any{"type": "json_schema", "schema": req.Schema})
	}
	for i, m := range req.Messages {
		content := blocksOf(req.Model, m)
		goesOn := len(req.Tools) > 0 || len(req.Messages) > 1
		if m.Role == llm.User && goesOn && i >= len(req.Messages)-3 {
			mark(&content[len(content)-1])
		}
		p.Messages = append(p.Messages, sdk.MessageParam{Role: sdk.MessageParamRole(m.Role), Content: content})
	}
	return p
}

// tools returns the tools of req. If no instructions with a cache breakpoint follow, the last tool has one.
func tools(req llm.Request) (list []sdk.ToolUnionParam) {
	for _, t := range req.Tools {
		tool := &sdk.ToolParam{Name: t.Name, InputSchema: param.Override[sdk.ToolInputSchemaParam](t.Schema)}
		if t.About != "" {
			tool.Description = sdk.String(t.About)
		}
		list = append(list, sdk.ToolUnionParam{OfTool: tool})
	}
	if n := len(list); n > 0 && req.System == "" {
		list[n-1].OfTool.CacheControl = sdk.NewCacheControlEphemeralParam()
	}
	return list
}

// mark puts a cache breakpoint after a block of the user's.
func mark(b *sdk.ContentBlockParamUnion) {
	cached := sdk.NewCacheControlEphemeralParam()
	switch {
	case b.OfText != nil:
		b.OfText.CacheControl = cached
	case b.OfToolResult != nil:
		b.OfToolResult.CacheControl = cached
	}
}

// blocksOf returns the parts of a message. The API refuses an empty text there, and results come first.
func blocksOf(model string, m llm.Message) (list []sdk.ContentBlockParamUnion) {
	for _, r := range m.Results {
		result := &sdk.ToolResultBlockParam{ToolUseID: wire.ID(r.ID)}
		if r.Error {
			result.IsError = sdk.Bool(true)
		}
		if r.Text != "" {
			result.Content = []sdk.ToolResultBlockParamContentUnion{{OfText: &sdk.TextBlockParam{Text: r.Text}}}
		}
		list = append(list, sdk.ContentBlockParamUnion{OfToolResult: result})
	}
	for _, p := range m.Pictures {
		list = append(list, sdk.NewImageBlockBase64(p.Type, base64.StdEncoding.EncodeToString(p.Data)))
	}
	var own []json.RawMessage
	if s := m.State; s != nil && s.Vendor == Vendor && s.Model == model && json.Unmarshal(s.Data, &own) == nil && len(own) > 0 {
		for _, raw := range own {
			list = append(list, param.Override[sdk.ContentBlockParamUnion](raw))
		}
		return list
	}
	if m.Text != "" || len(m.Results)+len(m.Calls)+len(m.Pictures) == 0 {
		list = append(list, sdk.NewTextBlock(m.Text))
	}
	for _, c := range m.Calls {
		list = append(list, sdk.NewToolUseBlock(wire.ID(c.ID), wire.Arguments(c), wire.Name(c)))
	}
	return list
}
